"""Common parts of mechanisms that add noise: running them, and the privacy of noise with exponential tails.

The first part releases noisy values, draws samples of the noise and makes outputs for a worst-case pair of inputs. The
second part is shared by Laplace, discrete Laplace and logistic noise, for single answers and for vectors.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from math import frexp
from typing import TYPE_CHECKING, Any, ClassVar, Self

from flint import arb

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms.accuracy import Noise, largest_move, least_whole, noise_accuracy, noise_relative_error
from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.sensitivity import L2, Moves, Sensitivity
from zcdp.numeric.balls import enclose, lift
from zcdp.numeric.exact import Exact, Log, Value, integer, positive, positive_rational, readable, times
from zcdp.numeric.functions import Number, expm1, log1p
from zcdp.numeric.threads import cached_property
from zcdp.privacy.curve import Curve, Peak

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from zcdp.samplers.run_samplers import IntegerNoise, Overflow, RealNoise

__all__ = [
    "AddsIntegers",
    "AddsReals",
    "ExponentialNoise",
    "default_grid",
    "noise_epsilon",
    "noise_scale",
    "noise_variance",
    "shift_cumulant",
]


# Running the mechanisms.

MOST_BITS = 1000
"""Of a scale: noise with a scale of up to 2^1000 stays within the range of floats, which ends at 2^1024."""


def default_grid(scale: Fraction | float) -> Fraction:
    """A power of two between scale/2^21 and scale/2^20, which depends on the scale only, never on the data.

    >>> default_grid(Fraction(2))
    Fraction(1, 524288)
    """
    try:
        exponent = frexp(scale)[1]
    except OverflowError:
        raise BadValue(f"scale ({scale}) is beyond floats: give a grid") from None
    if exponent > MOST_BITS:
        raise BadValue(f"scale ({float(scale):.6g}) must be below 2^{MOST_BITS}: noisy values would be beyond floats")
    return Fraction(2) ** (exponent - 21)


def _distance(sensitivity: Any) -> Any:
    """The sensitivity as a number, if one coordinate takes all of it; `BadValue` for other bounds on vectors."""
    if not isinstance(sensitivity, Sensitivity):
        return sensitivity
    if (single := sensitivity.single()) is None:
        raise BadValue(f"sensitivity ({sensitivity}) is of vectors: no one pair of numbers is the worst")
    return single


@Noise.register
class AddsIntegers:
    """Integer-valued noise on an integer-valued query."""

    sensitivity: Any
    accuracy = noise_accuracy

    @property
    def unit(self) -> Fraction:
        """The largest change of one answer between neighbours."""
        return largest_move(self.sensitivity)

    @property
    def relative_error(self) -> float:
        """The standard deviation of the noise divided by the largest change of one answer; it has no unit."""
        return noise_relative_error(self)

    @abstractmethod
    def _second_moment(self) -> arb:
        """The variance of the noise, at the working precision."""

    @abstractmethod
    def _outside(self, h: int) -> arb:
        """The probability that |noise| exceeds h, at the working precision."""

    def _half_width(self, miss: Callable[[], arb]) -> float:
        """The least h at which |noise| exceeds h with a probability of at most `miss`, rounded up."""
        return least_whole(self._outside, miss, self._near(miss))

    def _near(self, _: Callable[[], arb]) -> int:
        """The integer at which the search for the half-width starts: a heuristic."""
        return 0

    @abstractmethod
    def noise(self) -> IntegerNoise:
        """A new exact sampler of the noise; `_noise` keeps one."""

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
        from zcdp.samplers.run_samplers import noisy_integers

        return noisy_integers(self._noise, values, overflow)

    def sample(self, size: int | tuple[int, ...] | None = None) -> Any:
        """The noise itself: an int, or an array of int64 of that size."""
        from zcdp.samplers.run_samplers import sample_integers

        return sample_integers(self._noise(), size)

    def neighbouring_outputs(self, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """`size` outputs for each of two neighbouring inputs at the largest distance."""
        return self.sample(size), self.sample(size) + int(_distance(self.sensitivity))


@Noise.register
class AddsReals:
    """Continuous noise on a real-valued query, rounded to a grid. Theorem: docs/theorems/grid-rounding.md."""

    sensitivity: Any
    accuracy = noise_accuracy

    @property
    def unit(self) -> Fraction:
        """The largest change of one answer between neighbours."""
        return largest_move(self.sensitivity)

    @property
    def relative_error(self) -> float:
        """The standard deviation of the noise divided by the largest change of one answer; it has no unit."""
        return noise_relative_error(self)

    @abstractmethod
    def _second_moment(self) -> arb:
        """The variance of the noise, at the working precision."""

    @abstractmethod
    def _quantile(self, miss: arb) -> arb:
        """The value that |noise| exceeds with probability `miss`, at the working precision."""

    def _half_width(self, miss: Callable[[], arb]) -> float:
        """The least h at which |noise| exceeds h with a probability of at most `miss`, rounded up."""
        return enclose(lambda: self._quantile(miss()))[1]

    @property
    def _spread(self) -> Fraction | float:
        """A length comparable to the size of the noise, from which the default grid is chosen."""
        spread: Fraction | float = self.scale  # type: ignore[attr-defined]
        return spread

    @abstractmethod
    def noise(self, grid: Fraction) -> RealNoise:
        """A new exact sampler of the sum rounded to the grid; `_noise` keeps one for each grid."""

    @cached_property
    def _samplers(self) -> dict[Fraction | None, RealNoise]:
        """The samplers made so far, by their grid; the key None stands for the default grid."""
        return {}

    def _noise(self, grid: Value | None) -> RealNoise:
        # The grid is checked first: True == 1, so that True would find the sampler of the grid 1.
        step = None if grid is None else positive_rational(grid, "grid")
        if (sampler := self._samplers.get(step)) is None:
            sampler = self._samplers[step] = self.noise(default_grid(self._spread) if step is None else step)
        return sampler

    def release(self, values: Any, *, grid: Value | None = None) -> Any:
        """The continuous mechanism, rounded to multiples of `grid`: a float for a number, an array for an array.

        The default grid is a power of two near scale/2^20. Each value is taken exactly, a float as its binary value.
        A noisy value beyond floats raises OverflowError.
        """
        from zcdp.samplers.run_samplers import noisy_reals

        return noisy_reals(lambda: self._noise(grid), values)

    def sample(self, size: int | tuple[int, ...] | None = None, *, grid: Value | None = None) -> Any:
        """The noise itself, rounded to the grid: a float, or an array of float64 of that size."""
        from zcdp.samplers.run_samplers import sample_reals

        return sample_reals(self._noise(grid), size)

    def neighbouring_outputs(self, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """`size` outputs for each of two neighbouring inputs at the largest distance."""
        import numpy as np

        return self.sample(size), self.release(np.full(size, float(_distance(self.sensitivity))))


# The privacy of additive noise with exponential tails: Laplace, discrete Laplace and logistic noise.


def noise_epsilon(epsilon: Value | None, scale: Value | None, sensitivity: Fraction) -> Exact:
    """epsilon as given, or sensitivity/scale if the scale is given; exactly one of them must be."""
    if epsilon is not None and scale is not None:
        raise BadValue(f"give epsilon ({epsilon}) or scale ({scale}), not both: epsilon = sensitivity/scale")
    if epsilon is not None:
        return positive(epsilon, "epsilon")
    if scale is None:
        raise BadType("give epsilon, or scale (with sensitivity)")
    return sensitivity / positive_rational(scale, "scale")


def noise_scale(epsilon: Exact, sensitivity: Fraction) -> Fraction | float:
    """sensitivity/epsilon: exact, or rounded up where epsilon is a logarithm."""
    if isinstance(epsilon, Log):
        return enclose(lambda: lift(sensitivity) / lift(epsilon))[1]
    return readable(sensitivity / epsilon)


def noise_variance(scale: Fraction | float) -> Fraction | float:
    """The variance 2 scale^2 of Laplace noise: exact, or rounded up where the scale is not rational."""
    return readable(2 * scale * scale) if isinstance(scale, Fraction) else enclose(lambda: 2 * arb(scale) ** 2)[1]


def shift_cumulant(s: Number, epsilon: arb, tails: Number) -> Number:
    """The cumulant K(s) = s epsilon + log( (1 + tails e^{-(1+2s) epsilon}) / (1 + tails) ), s = alpha - 1.

    `tails` is the weight of the far side relative to that of the near side: s/(1+s) for Laplace noise.
    Theorems: docs/theorems/laplace.md, docs/theorems/discrete-laplace.md.
    """
    return s * epsilon + log1p(tails * expm1(-(1 + 2 * s) * epsilon) / (1 + tails))


class ExponentialNoise(Mechanism):
    """Independent noise with exponential tails on each coordinate.

    Theorems: docs/theorems/vector-queries.md, docs/theorems/likelihood-ratio.md.
    epsilon is the largest move in the l1 norm divided by the scale, which is the pure epsilon. For real answers under
    `L2` it is b/scale, and there is no pure epsilon; rho is exactly the limit of many small moves, epsilon^2/2
    (logistic noise: epsilon^2/6), and the curve is rho alpha.
    """

    many: ClassVar[int] = 2
    """The d of rho = epsilon^2/d in the limit of many small moves."""

    epsilon: Exact
    sensitivity: Fraction | int | Sensitivity

    @property
    def theorems(self) -> tuple[str, ...]:
        """The theorem pages: for a vector of answers also the one on vectors."""
        return ("vector-queries", self.theorem) if isinstance(self.sensitivity, Sensitivity) else (self.theorem,)

    @abstractmethod
    def _move(self, s: Number, epsilon: arb, move: Fraction) -> Number:
        """The cumulant K(s) of one coordinate that moves by `move`, which is epsilon times the scale."""

    @abstractmethod
    def _rho(self, epsilon: arb, move: Fraction) -> arb:
        """rho of one coordinate that moves by `move`, which is epsilon times the scale."""

    @property
    def _moves(self) -> Moves | None:
        """The moves with the largest cumulant; None for real answers under `L2`."""
        if isinstance(self.sensitivity, Sensitivity):
            return self.sensitivity.moves()
        return ((1, Fraction(self.sensitivity)),)

    @property
    def _euclidean(self) -> bool:
        """Whether the bound is on the Euclidean length: the moves with the largest cumulant and profile then differ."""
        return isinstance(self.sensitivity, L2)

    @property
    def _length(self) -> Fraction:
        """epsilon times the scale: the largest move in the l1 norm or, for real answers under `L2`, its length b."""
        moves = self._moves
        if moves is None and isinstance(self.sensitivity, L2):
            return self.sensitivity.b
        return sum((count * move for count, move in moves or ()), Fraction(0))

    @cached_property
    def _shares(self) -> tuple[tuple[int, Fraction, Fraction], ...] | None:
        """For each kind of move its multiplicity, its fraction of the total length, and its distance."""
        moves, length = self._moves, self._length
        return None if moves is None else tuple((count, move / length, move) for count, move in moves)

    @property
    def _single(self) -> Fraction:
        """The sensitivity, if one coordinate takes all of it; else `BadValue`, as groups need it to be stated."""
        moves = self._moves
        if self._euclidean or moves is None or sum(count for count, _ in moves) > 1:
            raise BadValue(f"sensitivity ({self.sensitivity}) has no multiple for a group: state that of the group")
        return moves[0][1]

    @property
    def scale(self) -> Fraction | float:
        """The scale of the noise on each coordinate."""
        return noise_scale(self.epsilon, self._length)

    @property
    def largest_loss(self) -> Exact | None:
        return None if self._moves is None else self.epsilon

    @property
    def is_envelope(self) -> bool:  # type: ignore[override]
        """Whether the curve is an upper envelope of many pairs, as under `L2` for real answers."""
        return self._moves is None

    @property
    def coordinates(self) -> tuple[tuple[Curve, int], ...]:
        moves, epsilon = self._moves, self.epsilon
        if moves is None or self._euclidean or moves[0][0] + len(moves) == 2 or isinstance(epsilon, Log):
            return ((self, 1),)
        kind: Any = type(self)
        return tuple((kind(epsilon=epsilon * move / self._length, sensitivity=move), count) for count, move in moves)

    def _set_real(self, epsilon: Value | None, scale: Value | None, sensitivity: Value | Sensitivity) -> None:
        """Fill in the parameters of noise on real answers: a number, or a vector under any bound.

        `shape` is what equality sees of a vector's moves: their shares of the whole; empty for a single move.
        """
        if isinstance(sensitivity, Sensitivity):
            self._set(sensitivity=sensitivity)  # as given: it says what was assumed
        else:
            self._set(sensitivity=positive_rational(sensitivity, "sensitivity"))
        length, moves = self._length, self._moves
        shape = ("L2",) if moves is None else tuple((count, move / length) for count, move in moves)
        self._set(epsilon=noise_epsilon(epsilon, scale, length), shape=() if shape == ((1, Fraction(1)),) else shape)

    def group(self, size: Value) -> Self:
        """Inputs at a distance of `size` neighbours: the sensitivity times `size`, the noise as it is."""
        steps = integer(size, "size", 1)
        kind: Any = type(self)
        grouped: Self = kind(epsilon=times(steps, self.epsilon), sensitivity=self._single * steps)
        return grouped

    def usual_losses(self) -> tuple[tuple[int, float], ...]:
        """Numbers of steps with their pure epsilon in textbook bounds: each coordinate is one step."""
        if (moves := self._moves) is None:
            return super().usual_losses()
        return tuple((count, float(move / self._length) * self.pure_epsilon) for count, move in moves)

    def cumulant(self, s: Number) -> Number:
        epsilon, shares = lift(self.epsilon), self._shares
        if shares is None:
            return s * (1 + s) * epsilon**2 / self.many
        (first, part, move), *others = shares
        total = first * self._move(s, epsilon * lift(part), move)
        for count, part, move in others:
            total = total + count * self._move(s, epsilon * lift(part), move)
        return total

    def peak(self) -> Peak:
        epsilon, shares = lift(self.epsilon), self._shares
        if shares is None:
            return Peak(epsilon**2 / self.many, arb(1))
        parts = (count * self._rho(epsilon * lift(part), move) for count, part, move in shares)
        return Peak(sum(parts, arb(0)), arb(1))
