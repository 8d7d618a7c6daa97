"""Top-k: the best candidates, selected one after another among those that are left."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

from flint import arb

from zcdp.errors import BadValue
from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.selection.bounded_range import BoundedRange, ExponentialMechanism
from zcdp.mechanisms.selection.by_scores import Selects, checked_monotone, checked_noise
from zcdp.mechanisms.selection.permute_and_flip import PermuteAndFlip
from zcdp.mechanisms.selection.report_noisy_max import ReportNoisyMax
from zcdp.numeric.balls import enclose, lift
from zcdp.numeric.exact import Exact, Value, integer, positive
from zcdp.numeric.functions import Number
from zcdp.numeric.threads import cached_property
from zcdp.privacy.curve import Curve, Peak
from zcdp.privacy.loss import LossLaw, laplace_pair, three_point_pair

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["TopK", "select_top"]


FEW = 3
"""Selections that an audit looks at: more tell little more."""


class _Again:
    """One of several selections by Laplace or exponential noise: its two worst candidates do not come again and again.

    What very many ties come near to does: binary randomized response at half the range.
    """

    epsilon: Exact

    def pair(self) -> LossLaw:
        """The Laplace pair dominates."""
        half = enclose(lambda: lift(self.epsilon) / 2)[0]
        return laplace_pair(self.epsilon, witness=three_point_pair(Fraction(half), exact=True) if half else None)


class _FlipsAgain(_Again, PermuteAndFlip):
    def __repr__(self) -> str:
        return repr(PermuteAndFlip(epsilon=self.epsilon))


class _MaxAgain(_Again, ReportNoisyMax):
    def __repr__(self) -> str:
        return repr(ReportNoisyMax(epsilon=self.epsilon))


def select_top(one: Selects, k: int, scores: ArrayLike, *, sensitivity: Value) -> list[int]:
    """k candidates, each selected by `one` among those that are left: to be accounted for k times."""
    from zcdp.samplers.selection_draws import peel

    return peel(one._selection(sensitivity), scores, k)


@dataclass(frozen=True, init=False, repr=False)
class TopK(Selects, Mechanism):
    """The k best candidates, in the order they are selected, each among those left: of epsilon/k each, epsilon in all.

    With Gumbel noise, the default, each is selected by the exponential mechanism, and all together have the law of one
    noise of scale 2k sensitivity/epsilon on each score and the k largest sums ("one-shot"). With exponential noise each
    is permute-and-flip; that, and Laplace noise, is drawn anew for each. With `monotone=True`, if all scores move the
    same way between neighbours, half the noise is enough. rho is exact for Gumbel noise as the supremum over any number
    of candidates; else a proven upper bound for k > 1. Theorem: docs/theorems/top-k.md.

    >>> m = TopK(epsilon=1, k=10)
    >>> m.rho, m.is_tight
    (0.012498264..., True)
    >>> m.release([3, 1000, 2, 2000, *range(8)], sensitivity=1)[:2]
    [3, 1]
    """

    theorem: ClassVar[str] = "top-k"
    epsilon: Exact
    k: int
    noise: str = "gumbel"
    monotone: bool = False

    is_envelope = True
    adds_up = True

    def __init__(self, *, epsilon: Value, k: Value, noise: str = "gumbel", monotone: bool = False) -> None:
        total, rounds = positive(epsilon, "epsilon"), integer(k, "k", 1)
        if rounds > 1 and not isinstance(total, Fraction):
            raise BadValue(f"epsilon ({epsilon}) must be a rational number, which k ({k}) divides without a rest")
        self._set(epsilon=total, k=rounds, noise=checked_noise(noise), monotone=checked_monotone(monotone))

    @property
    def _noise(self) -> str:
        return self.noise

    @property
    def _each(self) -> Exact:
        return self.epsilon / self.k if isinstance(self.epsilon, Fraction) else self.epsilon

    @property
    def _rounds(self) -> int:
        return self.k

    @cached_property
    def _round(self) -> Mechanism:
        """One selection."""
        if self.noise == "gumbel":
            return ExponentialMechanism(epsilon=self._each)
        return (PermuteAndFlip if self.noise == "exponential" else ReportNoisyMax)(epsilon=self._each)

    @property
    def is_tight(self) -> bool:
        return self._round.is_tight and (self.k == 1 or self.noise == "gumbel")

    def usual_losses(self) -> tuple[tuple[int, float], ...]:
        """Each selection is charged by itself."""
        return ((self.k, self._round.pure_epsilon),)

    def usual_divisor(self) -> int:
        return self._round.usual_divisor()

    def pair(self) -> LossLaw | None:
        """That of one selection; of several each has its own, see `coordinates`."""
        return self._round.pair() if self.k == 1 else None

    @property
    def coordinates(self) -> tuple[tuple[Curve, int], ...]:
        """The selections one by one, each with a pair that dominates it."""
        if self.k == 1:
            return ((self, 1),)
        again = {"gumbel": ExponentialMechanism, "exponential": _FlipsAgain, "laplace": _MaxAgain}
        return ((again[self.noise](epsilon=self._each), self.k),)

    def cumulant(self, s: Number) -> Number:
        return self.k * self._round.cumulant(s)

    def _divergence(self, excess: Fraction) -> float:
        plain = super()._divergence(excess)
        one = self._round._divergence(excess) if self.noise == "laplace" else inf  # it knows better than its curve
        return plain if one == inf else min(plain, enclose(lambda: lift(self.k * Fraction(one)))[1])

    def kl(self) -> arb:
        return self.k * self._round.kl()

    def peak(self) -> Peak:
        rho, order = self._round.peak()
        return Peak(self.k * rho, order)

    def witness(self) -> arb:
        """The larger of one selection alone, and k of bounded range, to which very many tied candidates come near."""
        alone = self._round.peak().rho if self._round.is_tight else self._round.witness()
        return alone.max(self.k * BoundedRange(eta=self._each).peak().rho)

    def release(self, scores: ArrayLike, *, sensitivity: Value) -> list[int]:
        """The indices of the selected scores, the first selected one first; a float score is its exact binary value."""
        return select_top(self, self.k, scores, sensitivity=sensitivity)

    def neighbouring_outputs(self, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """How many of the first few are of four tied candidates, that fall behind four others."""
        from zcdp.samplers.selection_draws import count_first

        selection, rounds, other = self._selection(1), min(self.k, FEW), 0 if self.monotone else 1
        return count_first(selection, 1, 0, rounds, size), count_first(selection, 0, other, rounds, size)
