"""Selection by noisy scores: base class of the mechanisms that return the candidate of the largest noisy score."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from flint import arb

from zcdp.errors import BadType, BadValue
from zcdp.numeric.balls import at_precision, lift, upper_float
from zcdp.numeric.exact import Exact, Value, integer, positive_rational, probability
from zcdp.numeric.search import least_integer
from zcdp.numeric.threads import cached_property
from zcdp.privacy.relation import Relation
from zcdp.text.suggestions import thing

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from zcdp.samplers.lazy_inversion import Real
    from zcdp.samplers.selection_draws import Selection

__all__ = ["Selects", "checked_monotone", "checked_noise", "monotone_relation"]


COMPARISON_BITS = 128
"""Working precision at which `falls_behind` compares probabilities."""
STEPS_PER_SCALE = 1 << 20
"""`falls_behind` is a multiple of 1/STEPS_PER_SCALE of the scale of the noise."""


class _Noise(NamedTuple):
    """One kind of noise on scores, in units of its scale."""

    sampler: Callable[[Real], Selection]
    """Makes the sampler of the selection from the rate, which is 1/scale."""
    deviation: Callable[[], arb]
    """The standard deviation."""
    misses: Callable[[int, arb], arb]
    """(others, x) -> upper bound on the probability to select a candidate that is behind the best by x or more."""


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
    """`noise` if it names a kind of noise; else raises `BadValue`."""
    if not isinstance(noise, str) or noise not in NOISES:
        raise BadValue(f"noise ({thing(noise)}) must be one of {', '.join(map(repr, NOISES))}")
    return noise


def checked_monotone(monotone: bool) -> bool:
    """`monotone` if it is a bool; else raises `BadType`, also for 0 and 1."""
    if not isinstance(monotone, bool):
        raise BadType(f"monotone ({thing(monotone)}) must be True or False")
    return monotone


def monotone_relation(*, monotone: bool) -> Relation:
    """Monotone scores need add_remove neighbours (a data set, and the same without one person); others any relation."""
    return Relation.ADD_REMOVE if monotone else Relation.EITHER


class Selects:
    """Mixin: selects the largest score after noise of scale 2 sensitivity/epsilon, or sensitivity/epsilon if monotone.

    `monotone` means that between neighbours all scores move the same way, as counts do when a person comes or
    goes. Then half the noise has the same privacy cost, and the neighbours are add_remove: replacing a person may move
    some scores up and others down. Theorem: docs/theorems/monotone-selection.md.
    """

    epsilon: Exact
    monotone: bool

    @property
    def relation(self) -> Relation:
        """`ADD_REMOVE` if the scores are monotone, else `EITHER`."""
        return monotone_relation(monotone=self.monotone)

    @property
    @abstractmethod
    def _noise(self) -> str:
        """The key in `NOISES` of the noise on each score that selects by the law of this mechanism."""

    @property
    def _each(self) -> Exact:
        """The epsilon of one selection."""
        return self.epsilon

    @property
    def _rounds(self) -> int:
        """The number of selections, each made among the candidates that are left."""
        return 1

    @property
    def _spread(self) -> int:
        """By how many sensitivities the difference of two scores may change between neighbours."""
        return 1 if self.monotone else 2

    @property
    def relative_error(self) -> float:
        """Standard deviation of the noise on each score, divided by the sensitivity; rounded up."""
        return upper_float(lambda: self._spread * NOISES[self._noise].deviation() / lift(self._each))

    @cached_property
    def _selections(self) -> dict[Fraction, Selection]:
        """The samplers built so far, by sensitivity."""
        return {}

    def _selection(self, sensitivity: Value) -> Selection:
        """The sampler at this sensitivity, built once."""
        distance = positive_rational(sensitivity, "sensitivity")  # before the lookup, where True would find that of 1
        if (known := self._selections.get(distance)) is not None:
            return known
        spread, epsilon = self._spread * distance, self._each
        return self._selections.setdefault(distance, NOISES[self._noise].sampler(lambda: lift(epsilon) / lift(spread)))

    def release(self, scores: ArrayLike, *, sensitivity: Value) -> Any:
        """The index of the selected score. A float score stands for its exact binary value."""
        return self._selection(sensitivity).select(scores)

    def falls_behind(self, candidates: Value, *, sensitivity: Value = 1, level: Value = Fraction(19, 20)) -> float:
        """With probability at least `level` the selected score is at most this far below the best; rounded up.

        This is true whatever the scores of the `candidates` are. With several selections it is true of all of them at
        once: each is at most this far below the best that is left. Theorem: docs/theorems/monotone-selection.md.

        >>> from zcdp import ExponentialMechanism
        >>> ExponentialMechanism(epsilon=1).falls_behind(100)
        15.0791...
        """
        chance, distance = probability(level, "level"), positive_rational(sensitivity, "sensitivity")
        others = integer(candidates, "candidates", self._rounds) - 1
        each = (1 - chance) / self._rounds

        def sure(n: int) -> bool:
            misses = NOISES[self._noise].misses
            return at_precision(COMPARISON_BITS, lambda: bool(misses(others, arb(n) / STEPS_PER_SCALE) <= lift(each)))

        steps = least_integer(sure, least=0)
        return (
            upper_float(lambda: self._spread * lift(distance) * steps / STEPS_PER_SCALE / lift(self._each))
            if steps
            else 0.0
        )
