"""Common parts of mechanisms that add noise: its accuracy, running them, and the privacy of exponential tails.

The first part is the accuracy of noise: its standard deviation, and how far from the truth an answer is at most, at a
level. The second releases noisy values, draws samples of the noise and makes outputs for a worst-case pair of inputs.
The third is shared by Laplace, discrete Laplace and logistic noise, for single answers and for vectors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import frexp, inf
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from flint import arb

from zcdp.errors import BadType, BadValue
from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.sensitivity import L2, Moves, Sensitivity
from zcdp.numeric.balls import Undecided, at_precision, enclose, lift, upper_float
from zcdp.numeric.exact import (
    Exact,
    Log,
    Value,
    in_domain,
    integer,
    positive,
    positive_rational,
    probability,
    readable,
    times,
)
from zcdp.numeric.functions import Number, expm1, log1p
from zcdp.numeric.parameter_domains import unlimited
from zcdp.numeric.search import least_integer
from zcdp.numeric.threads import cached_property
from zcdp.privacy.curve import Curve, Peak
from zcdp.text.calls import spoken_class

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from zcdp.samplers.run_samplers import DrawsIntegers, DrawsReals, Overflow

__all__ = [
    "Accuracy",
    "AddedNoise",
    "AddsIntegers",
    "AddsReals",
    "ExponentialNoise",
    "default_grid",
    "largest_move",
    "least_whole",
    "noise_accuracy",
    "noise_epsilon",
    "noise_relative_error",
    "noise_scale",
    "noise_variance",
    "shift_cumulant",
]

# The accuracy of noise.

PRECISIONS = (128, 512, 2048)
FARTHEST = 1 << 1100
"""Beyond floats: where noise reaches further no number says how far."""


@spoken_class
@dataclass(frozen=True)
class Accuracy:
    """With a probability of at least `level` all of so many `answers` are within `half_width` of the truth.

    Both numbers are rounded up: `standard_deviation` by less than two units in the last place, and so is `half_width`
    of real noise; of integer noise it is the least whole number that has the property.
    """

    standard_deviation: float
    half_width: float
    level: float
    answers: int = 1


class AddedNoise(ABC):
    """Independent noise on each answer, with a distribution that does not depend on the data, for `isinstance`.

    Classes that add noise register themselves and use `noise_accuracy`, `largest_move` and `noise_relative_error` as
    a method and two properties, so that they need not inherit from this one. Releases of real noise are rounded to a
    grid, which adds an error of at most half a grid step. Theorem: docs/theorems/accuracy.md.
    """

    sensitivity: Any

    @abstractmethod
    def _second_moment(self) -> arb:
        """The variance of the noise, at the working precision."""

    @abstractmethod
    def _half_width(self, miss: Callable[[], arb]) -> float:
        """The least h at which |noise| exceeds h with a probability of at most `miss`, rounded up."""

    @abstractmethod
    def accuracy(self, level: Value = Fraction(19, 20), *, answers: int = 1) -> Accuracy:
        """Standard deviation, and the half-width of an interval that holds the truth."""

    @property
    @abstractmethod
    def unit(self) -> Fraction:
        """The largest change of one answer between neighbours."""


class NoiseLaw(Protocol):
    """What `noise_accuracy` and `noise_relative_error` ask of the class whose methods they are."""

    def _second_moment(self) -> arb: ...

    def _half_width(self, miss: Callable[[], arb]) -> float: ...

    @property
    def unit(self) -> Fraction:
        """The largest change of one answer between neighbours."""


def noise_accuracy(self: NoiseLaw, level: Value = Fraction(19, 20), *, answers: int = 1) -> Accuracy:
    """Standard deviation of the noise on each answer, and the half-width of an interval that contains the truth.

    With a probability of at least `level` the noise on all of so many `answers` is at most the half-width in size,
    which is computed from the exact distribution of the noise. Theorem: docs/theorems/accuracy.md.

    >>> from zcdp import DiscreteLaplace, Laplace
    >>> Laplace(scale=10).accuracy()
    Accuracy(standard_deviation=14.142135623730..., half_width=29.95732273553991, level=0.95, answers=1)
    >>> DiscreteLaplace(scale=10).accuracy(level=0.99, answers=100).half_width
    92
    """
    chance, many = probability(level, "level"), integer(answers, "answers", 1)

    def miss() -> arb:
        return lift(1 - chance) if many == 1 else -(lift(chance).log() / many).expm1()

    deviation = enclose(lambda: self._second_moment().sqrt())[1]
    return Accuracy(deviation, self._half_width(miss), float(chance), many)


def largest_move(noise: Any) -> Fraction:
    """The largest change of one answer between neighbours."""
    sensitivity = noise.sensitivity
    return sensitivity.largest() if isinstance(sensitivity, Sensitivity) else Fraction(sensitivity)


def noise_relative_error(noise: NoiseLaw) -> float:
    """The standard deviation of the noise divided by the largest change of one answer; it has no unit."""
    return upper_float(lambda: noise._second_moment().sqrt() / lift(noise.unit))


def least_whole(outside: Callable[[int], arb], miss: Callable[[], arb], start: int) -> float:
    """The least h >= 0 with outside(h) <= miss, for a falling `outside`; inf beyond floats.

    Where balls of 2048 bits cannot tell, as where both are equal, the inequality is taken to fail: the answer is then
    too large by one. Theorem: docs/theorems/accuracy.md.

    >>> least_whole(lambda h: arb(2) ** -h, lambda: arb(1) / 1000, 0)
    10
    """

    def fits(h: int) -> bool:
        for bits in PRECISIONS:
            try:
                difference = at_precision(bits, lambda: outside(h) - miss())
            except Undecided:
                continue
            if difference <= 0:
                return True
            if difference > 0:
                return False
        return False

    found = least_integer(fits, start, least=0, most=FARTHEST)
    return inf if found == FARTHEST else found


# Running the mechanisms: releases, samples, and outputs for a worst-case pair of inputs.


def default_grid(scale: Fraction | float) -> Fraction:
    """A power of two between scale/2^21 and scale/2^20, which depends on the scale only, never on the data.

    >>> default_grid(Fraction(2))
    Fraction(1, 524288)
    """
    return Fraction(2) ** (frexp(scale)[1] - 21)


def _distance(sensitivity: Any) -> Any:
    """The sensitivity as a number, if one coordinate takes all of it; `BadValue` for other bounds on vectors."""
    if not isinstance(sensitivity, Sensitivity):
        return sensitivity
    if (single := sensitivity.single()) is None:
        raise BadValue(f"sensitivity ({sensitivity}) is of vectors: no one pair of numbers is the worst")
    return single


@AddedNoise.register
class AddsIntegers:
    """Integer-valued noise on an integer-valued query."""

    sensitivity: Any
    accuracy = noise_accuracy
    unit = property(largest_move)
    relative_error = property(noise_relative_error)

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
    def noise(self) -> DrawsIntegers:
        """A new exact sampler of the noise; `_noise` keeps one."""

    @cached_property
    def _sampler(self) -> DrawsIntegers:
        return self.noise()

    def _noise(self) -> DrawsIntegers:
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


@AddedNoise.register
class AddsReals:
    """Continuous noise on a real-valued query, rounded to a grid. Theorem: docs/theorems/grid-rounding.md."""

    sensitivity: Any
    accuracy = noise_accuracy
    unit = property(largest_move)
    relative_error = property(noise_relative_error)

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
    def noise(self, grid: Fraction) -> DrawsReals:
        """A new exact sampler of the sum rounded to the grid; `_noise` keeps one for each grid."""

    @cached_property
    def _samplers(self) -> dict[Fraction | None, DrawsReals]:
        """The samplers made so far, by their grid; the key None stands for the default grid."""
        return {}

    def _noise(self, grid: Value | None) -> DrawsReals:
        # The grid is checked first: True == 1, so that True would find the sampler of the grid 1.
        step = None if grid is None else positive_rational(grid, "grid")
        if (sampler := self._samplers.get(step)) is None:
            sampler = self._samplers[step] = self.noise(default_grid(self._spread) if step is None else step)
        return sampler

    def release(self, values: Any, *, grid: Value | None = None) -> Any:
        """The continuous mechanism, rounded to multiples of `grid`: a float for a number, an array for an array.

        The default grid is a power of two near scale/2^20. Each value is taken exactly, a float as its binary value.
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
    return in_domain(sensitivity / positive_rational(scale, "scale"), "epsilon", of="sensitivity/scale")


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
    @unlimited
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
