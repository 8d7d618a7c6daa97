"""Running a mechanism that adds noise: release of values, samples of the noise, outputs for a worst-case pair."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from math import frexp
from typing import TYPE_CHECKING, Any

from zcdp.errors import BadValue
from zcdp.mechanisms.accuracy import IntegerNoise as IntegerLaw
from zcdp.mechanisms.accuracy import RealNoise as RealLaw
from zcdp.mechanisms.sensitivity import Sensitivity
from zcdp.numeric.exact import Value, positive_rational
from zcdp.numeric.once import cached_property

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from zcdp.samplers.arrays import Overflow
    from zcdp.samplers.release import IntegerNoise, RealNoise

LARGEST = 1000
"""Noise of a scale of up to 2^1000 is never beyond floats, which end at 2^1024."""

__all__ = ["AddsIntegers", "AddsReals", "default_grid"]


def default_grid(scale: Fraction | float) -> Fraction:
    """A power of two between scale/2^21 and scale/2^20: chosen by the scale alone, never by the data.

    >>> default_grid(Fraction(2))
    Fraction(1, 524288)
    """
    try:
        exponent = frexp(scale)[1]
    except OverflowError:
        raise BadValue(f"scale ({scale}) is beyond floats: give a grid") from None
    if exponent > LARGEST:
        raise BadValue(f"scale ({float(scale):.6g}) must be below 2^{LARGEST}: noisy values would be beyond floats")
    return Fraction(2) ** (exponent - 21)


def _distance(sensitivity: Any) -> Any:
    if not isinstance(sensitivity, Sensitivity):
        return sensitivity
    if (single := sensitivity.single()) is None:
        raise BadValue(f"sensitivity ({sensitivity}) is of vectors: no one pair of numbers is the worst")
    return single


class AddsIntegers(IntegerLaw):
    """Integer-valued noise on an integer-valued query."""

    sensitivity: Any

    @abstractmethod
    def noise(self) -> IntegerNoise:
        """The exact sampler of the noise, built once."""

    @cached_property
    def _sampler(self) -> IntegerNoise:
        return self.noise()

    def _noise(self) -> IntegerNoise:
        return self._sampler

    def release(self, values: ArrayLike, *, overflow: Overflow = "raise") -> Any:
        """values + noise: an int for an int, and for an array of integers one of the same shape and type.

        A noisy value that does not fit the type raises OverflowError, or is moved to its nearest end
        with overflow='saturate'.
        """
        from zcdp.samplers.release import noisy_integers

        return noisy_integers(self._noise, values, overflow)

    def sample(self, size: int | tuple[int, ...] | None = None) -> Any:
        """The noise itself: an int, or an array of int64 of that size."""
        from zcdp.samplers.release import sample_integers

        return sample_integers(self._noise(), size)

    def neighbouring_outputs(self, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """So many outputs for each of two neighbouring inputs."""
        return self.sample(size), self.sample(size) + int(_distance(self.sensitivity))


class AddsReals(RealLaw):
    """Continuous noise on a real-valued query, rounded to a grid. See docs/theorems/grid-rounding.md."""

    sensitivity: Any

    @property
    def _spread(self) -> Fraction | float:
        """A length of the order of the noise, which chooses the default grid."""
        spread: Fraction | float = self.scale  # type: ignore[attr-defined]
        return spread

    @abstractmethod
    def noise(self, grid: Fraction) -> RealNoise:
        """The exact sampler of the rounded sum, built once for each grid."""

    @cached_property
    def _samplers(self) -> dict[Fraction | None, RealNoise]:
        """Those that were built, by their grid; None is the default one."""
        return {}

    def _noise(self, grid: Value | None) -> RealNoise:
        step = None if grid is None else positive_rational(grid, "grid")  # first: True == 1 would find that of 1
        if (sampler := self._samplers.get(step)) is None:
            sampler = self._samplers[step] = self.noise(default_grid(self._spread) if step is None else step)
        return sampler

    def release(self, values: Any, *, grid: Value | None = None) -> Any:
        """The continuous mechanism, rounded to multiples of `grid`: a float for a number, an array for an array.

        The default grid is a power of two near scale/2^20. Each value is taken exactly, a float as its binary value.
        A noisy value beyond floats raises OverflowError.
        """
        from zcdp.samplers.release import noisy_reals

        return noisy_reals(lambda: self._noise(grid), values)

    def sample(self, size: int | tuple[int, ...] | None = None, *, grid: Value | None = None) -> Any:
        """The noise itself, rounded to the grid: a float, or an array of float64 of that size."""
        from zcdp.samplers.release import sample_reals

        return sample_reals(self._noise(grid), size)

    def neighbouring_outputs(self, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """So many outputs for each of two neighbouring inputs."""
        import numpy as np

        return self.sample(size), self.release(np.full(size, float(_distance(self.sensitivity))))
