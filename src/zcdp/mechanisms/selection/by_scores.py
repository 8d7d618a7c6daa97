"""Selection by scores: what all mechanisms share that pick the best of the candidates after noise."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from flint import arb

from zcdp.errors import BadType, BadValue
from zcdp.numeric.balls import at_precision, lift, upper_float
from zcdp.numeric.exact import Exact, Value, integer, positive_rational, probability
from zcdp.numeric.threads import cached_property
from zcdp.privacy.relation import Relation
from zcdp.text.suggestions import thing

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from zcdp.samplers.lazy_inversion import Real
    from zcdp.samplers.selection_draws import Selection

__all__ = ["Selects", "checked_monotone", "checked_noise", "monotone_relation"]


BITS = 128
STEPS = 1 << 20
"""How finely reach is told, in units of the noise."""


class _Noise(NamedTuple):
    """One kind of noise on scores, in units of its scale."""

    sampler: Callable[[Real], Selection]
    deviation: Callable[[], arb]
    misses: Callable[[int, arb], arb]
    """Given how many others there are, a bound on the chance to select one that is behind by this or more."""


def _gumbel(rate: Real) -> Selection:
    from zcdp.samplers.selection_draws import ExponentialSelection

    return ExponentialSelection(rate)


def _exponential(rate: Real) -> Selection:
    from zcdp.samplers.selection_draws import PermuteAndFlip

    return PermuteAndFlip(rate)


def _laplace(rate: Real) -> Selection:
    from zcdp.samplers.lazy_laplace import LaplaceMax

    return LaplaceMax(rate)


NOISES = {
    "laplace": _Noise(_laplace, lambda: arb(2).sqrt(), lambda others, x: others * (-x).exp() * (2 + x) / 4),
    "gumbel": _Noise(_gumbel, lambda: arb.pi() / arb(6).sqrt(), lambda others, x: others / (others + x.exp())),
    "exponential": _Noise(_exponential, lambda: arb(1), lambda others, x: others * (-x).exp() / 2),
}


def checked_noise(noise: str) -> str:
    """One of the kinds of noise."""
    if not isinstance(noise, str) or noise not in NOISES:
        raise BadValue(f"noise ({thing(noise)}) must be one of {', '.join(map(repr, NOISES))}")
    return noise


def checked_monotone(monotone: bool) -> bool:
    """True or False, and nothing that only looks like it."""
    if not isinstance(monotone, bool):
        raise BadType(f"monotone ({thing(monotone)}) must be True or False")
    return monotone


def monotone_relation(*, monotone: bool) -> Relation:
    """The neighbours of scores that all move the same way are a data set and the same without one person."""
    return Relation.ADD_REMOVE if monotone else Relation.EITHER


class Selects:
    """The best of the candidates after noise of scale 2 sensitivity/epsilon, or sensitivity/epsilon if `monotone`.

    `monotone` says that between neighbours all scores move the same way, as counts do when a person comes or goes: then
    half the noise costs the same, and the neighbours are add_remove, as a person who is replaced may move scores both
    ways. Theorem: docs/theorems/monotone-selection.md.
    """

    epsilon: Exact
    monotone: bool

    @property
    def relation(self) -> Relation:
        """`ADD_REMOVE` where the scores are monotone, else `EITHER`."""
        return monotone_relation(monotone=self.monotone)

    @property
    @abstractmethod
    def _noise(self) -> str:
        """The noise on each score that selects by the same law."""

    @property
    def _each(self) -> Exact:
        """The epsilon of one selection."""
        return self.epsilon

    @property
    def _rounds(self) -> int:
        """How many selections are made, each among those that are left."""
        return 1

    @property
    def _spread(self) -> int:
        """By how many sensitivities two scores may move against each other."""
        return 1 if self.monotone else 2

    @property
    def relative_error(self) -> float:
        """Standard deviation over sensitivity of noise on each score that selects by the same law."""
        return upper_float(lambda: self._spread * NOISES[self._noise].deviation() / lift(self._each))

    @cached_property
    def _selections(self) -> dict[Fraction, Selection]:
        """The samplers that were built, by the sensitivity."""
        return {}

    def _selection(self, sensitivity: Value) -> Selection:
        distance = positive_rational(sensitivity, "sensitivity")  # first: True == 1 would find the sampler of 1
        if (known := self._selections.get(distance)) is not None:
            return known
        spread, epsilon = self._spread * distance, self._each
        return self._selections.setdefault(distance, NOISES[self._noise].sampler(lambda: lift(epsilon) / lift(spread)))

    def release(self, scores: ArrayLike, *, sensitivity: Value) -> Any:
        """The index of the selected score; a float score is its exact binary value."""
        return self._selection(sensitivity).select(scores)

    def falls_behind(self, candidates: Value, *, sensitivity: Value = 1, level: Value = Fraction(19, 20)) -> float:
        """How far the selected score is below the best at most, with a probability of at least `level`; rounded up.

        Whatever the scores of so many candidates are. Of several selections, all of them at once: each is so far below
        the best that is left. Theorem: docs/theorems/monotone-selection.md.

        >>> from zcdp import ExponentialMechanism
        >>> ExponentialMechanism(epsilon=1).falls_behind(100)
        15.0791...
        """
        chance, distance = probability(level, "level"), positive_rational(sensitivity, "sensitivity")
        others = integer(candidates, "candidates", self._rounds) - 1
        each = (1 - chance) / self._rounds
        steps = _least(lambda n: NOISES[self._noise].misses(others, arb(n) / STEPS) <= lift(each))
        return upper_float(lambda: self._spread * lift(distance) * steps / STEPS / lift(self._each)) if steps else 0.0


def _least(fits: Callable[[int], bool]) -> int:
    """The least number that fits, where all after it do: in balls, so that one that fits does so in truth."""

    def sure(n: int) -> bool:
        return at_precision(BITS, lambda: bool(fits(n)))

    high = 0
    while not sure(high):
        high = 2 * high or 1
    low = high // 2 if high else -1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if sure(middle) else (middle, high)
    return high
