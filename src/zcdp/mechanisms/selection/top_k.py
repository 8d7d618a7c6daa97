"""Top-k selection by peeling: k candidates are selected one after another, each among those that are left."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

from flint import arb

from zcdp.errors import BadValue
from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.selection.bounded_range import BoundedRange, ExponentialMechanism
from zcdp.mechanisms.selection.permute_and_flip import PermuteAndFlip
from zcdp.mechanisms.selection.report_noisy_max import ReportNoisyMax
from zcdp.mechanisms.selection.scores_base import Selects, checked_monotone, checked_noise
from zcdp.numeric.balls import enclose, lift
from zcdp.numeric.exact import Exact, Value, integer, positive
from zcdp.numeric.functions import Number
from zcdp.numeric.parameter_domains import unlimited
from zcdp.numeric.threads import cached_property
from zcdp.privacy.curve import Curve, Peak
from zcdp.privacy.loss import Claim, laplace_pair, three_point_pair

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["TopK", "select_top"]


AUDITED_SELECTIONS = 3
"""An audit looks at the first few selections only; more would tell little more."""


class _Again:
    """One of several selections by Laplace or exponential noise, with a lower law that is valid in each of them.

    The worst two candidates of a single selection are not there again in the next. Very many tied candidates are, and
    with them a selection comes near to binary randomized response at half the range: that is the lower law.
    """

    epsilon: Exact

    def pair(self) -> Claim:
        """The Laplace pair, which dominates, and what every selection attains."""
        half = enclose(lambda: lift(self.epsilon) / 2)[0]
        return Claim(laplace_pair(self.epsilon), lower=Claim.laws(three_point_pair(Fraction(half)) if half else None))


class _FlipsAgain(_Again, PermuteAndFlip):
    @unlimited
    def __repr__(self) -> str:
        return repr(PermuteAndFlip(epsilon=self.epsilon))


class _MaxAgain(_Again, ReportNoisyMax):
    @unlimited
    def __repr__(self) -> str:
        return repr(ReportNoisyMax(epsilon=self.epsilon))


def select_top(one: Selects, k: int, scores: ArrayLike, *, sensitivity: Value) -> list[int]:
    """The indices of k candidates, each selected by `one` among those that are left; costs k times what `one` does."""
    from zcdp.samplers.selection_draws import peel

    return peel(one._selection(sensitivity), scores, k)


@dataclass(frozen=True, init=False, repr=False)
class TopK(Selects, Mechanism):
    """k candidates, selected one after another among those left; each selection is epsilon/k-DP, all are epsilon-DP.

    With Gumbel noise, the default, each selection is the exponential mechanism. All of them together have the law of
    the "one-shot" mechanism, the k largest scores after one Gumbel noise of scale 2k sensitivity/epsilon on each score
    (Durfee and Rogers 2019). With exponential noise each selection is permute-and-flip, with Laplace noise it is report
    noisy max, and the noise is drawn anew for each. If all scores move the same way between neighbours,
    `monotone=True` halves the noise. rho is exact for Gumbel noise, as the supremum over any number of candidates; for
    other noise and k > 1 it is a proven upper bound. Theorem: docs/theorems/top-k.md.

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
    @unlimited
    def _round(self) -> Mechanism:
        """The mechanism of one selection, at epsilon/k."""
        if self.noise == "gumbel":
            return ExponentialMechanism(epsilon=self._each)
        return (PermuteAndFlip if self.noise == "exponential" else ReportNoisyMax)(epsilon=self._each)

    @property
    def is_tight(self) -> bool:
        return self._round.is_tight and (self.k == 1 or self.noise == "gumbel")

    def usual_losses(self) -> tuple[tuple[int, float], ...]:
        """Each of the k selections is charged separately."""
        return ((self.k, self._round.pure_epsilon),)

    def usual_divisor(self) -> int:
        return self._round.usual_divisor()

    def pair(self) -> Claim | None:
        """The dominating pair for k = 1; None for more, as then each selection has its own pair in `coordinates`."""
        return self._round.pair() if self.k == 1 else None

    @property
    @unlimited
    def coordinates(self) -> tuple[tuple[Curve, int], ...]:
        """The selections as separate curves with how many there are of each; each has a pair that dominates it."""
        if self.k == 1:
            return ((self, 1),)
        again = {"gumbel": ExponentialMechanism, "exponential": _FlipsAgain, "laplace": _MaxAgain}
        return ((again[self.noise](epsilon=self._each), self.k),)

    def cumulant(self, s: Number) -> Number:
        return self.k * self._round.cumulant(s)

    def _divergence(self, excess: Fraction) -> float:
        plain = super()._divergence(excess)
        # With Laplace noise one selection has a bound of its own, better than that by its curve.
        one = self._round._divergence(excess) if self.noise == "laplace" else inf
        return plain if one == inf else min(plain, enclose(lambda: lift(self.k * Fraction(one)))[1])

    def kl(self) -> arb:
        return self.k * self._round.kl()

    def peak(self) -> Peak:
        rho, order = self._round.peak()
        return Peak(self.k * rho, order)

    @unlimited
    def witness(self) -> arb:
        """A lower bound on rho: the larger of one selection alone and of k bounded-range mechanisms.

        The latter is the limit of very many tied candidates.
        """
        alone = self._round.peak().rho if self._round.is_tight else self._round.witness()
        return alone.max(self.k * BoundedRange(eta=self._each).peak().rho)

    def release(self, scores: ArrayLike, *, sensitivity: Value) -> list[int]:
        """The indices of the selected scores, the first selected first. A float score stands for its exact value."""
        return select_top(self, self.k, scores, sensitivity=sensitivity)

    def neighbouring_outputs(self, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """How many of the first few selections go to a group of four tied candidates, against four others.

        On the first input the group is ahead by 1; on the neighbour it is level with the others, or behind by 1 unless
        the scores are monotone.
        """
        from zcdp.samplers.selection_draws import count_first

        selection, rounds, other = self._selection(1), min(self.k, AUDITED_SELECTIONS), 0 if self.monotone else 1
        return count_first(selection, 1, 0, rounds, size), count_first(selection, 0, other, rounds, size)
