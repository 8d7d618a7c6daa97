"""The sparse vector technique: reports which of many queries exceed a noisy threshold, until c of them do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

from flint import arb

from zcdp.errors import BadType
from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.noise.additive import shift_cumulant
from zcdp.mechanisms.selection.chord_bounds import Chords
from zcdp.mechanisms.selection.scores_base import monotone_relation
from zcdp.mechanisms.selection.sparse_vector_lower import witness
from zcdp.mechanisms.selection.sparse_vector_upper import Move, ShiftedThreshold, near_laplace
from zcdp.numeric.balls import NotCertified, above, at_precision, enclose, lift
from zcdp.numeric.exact import Value, integer, positive_rational, rational
from zcdp.numeric.functions import Number, expm1
from zcdp.numeric.threads import cached_property
from zcdp.privacy.curve import Peak
from zcdp.privacy.envelope import real_s
from zcdp.privacy.loss import Claim, laplace_pair
from zcdp.privacy.relation import Relation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zcdp.samplers.lazy_laplace import AboveThreshold

__all__ = ["SparseVector"]


CLOSED_FORM_BITS = 512
"""Working precision of the closed forms: enough at every point of `Chords` and at every rate that is not extreme.

Where balls of this precision are still not finite, the bound by pure epsilon is used."""
CLEARLY_BELOW = 0.999
"""If the bound by shifting is below this multiple of the plain bounds in floats, the latter are not certified.

This is safe, as each of the bounds is valid by itself."""


@dataclass(frozen=True, init=False, repr=False)
class SparseVector(Mechanism):
    """Threshold noise Laplace(sensitivity/e1) once, query noise Laplace(2c sensitivity/e2), stops after c positives.

    Any number of adaptive queries may be asked; the outputs are above or below, not the noisy values. If all queries
    move the same way between neighbours, as counts do, `monotone=True` is the mechanism with half the query
    noise, Laplace(c sensitivity/e2). rho and the Renyi curve are proven upper bounds, `is_tight` is False.
    Theorem: docs/theorems/sparse-vector.md.

    >>> m = SparseVector(epsilon_threshold=0.5, epsilon_queries=0.5, positives=20)
    >>> m.rho, m.is_tight, m.pure_epsilon
    (0.00556666..., False, 1.0)
    """

    theorem: ClassVar[str] = "sparse-vector"
    budget = None
    epsilon_threshold: Fraction
    """Budget of the noise on the threshold."""
    epsilon_queries: Fraction
    """Budget of the noise on the queries."""
    positives: int = 1
    """How many answers above the threshold end the stream."""
    monotone: bool = False

    def __init__(
        self,
        *,
        epsilon_threshold: Value,
        epsilon_queries: Value,
        positives: Value = 1,
        monotone: bool = False,
    ) -> None:
        if not isinstance(monotone, bool):
            raise BadType(f"monotone ({monotone!r}) must be True or False")
        self._set(
            epsilon_threshold=positive_rational(epsilon_threshold, "epsilon_threshold"),
            epsilon_queries=positive_rational(epsilon_queries, "epsilon_queries"),
            positives=integer(positives, "positives", 1),
            monotone=monotone,
        )

    @property
    def is_tight(self) -> bool:
        return False

    @property
    def largest_loss(self) -> Fraction:
        return self.epsilon_threshold + self.epsilon_queries

    is_envelope = True

    @property
    def relation(self) -> Relation:
        return monotone_relation(monotone=self.monotone)

    def pair(self) -> Claim:
        """The Laplace pair at e1 + e2, which dominates. Theorem: docs/theorems/lipschitz.md."""
        return Claim(laplace_pair(self.largest_loss))

    @cached_property
    def _shift(self) -> ShiftedThreshold:
        share = self.epsilon_queries / self.positives
        return ShiftedThreshold(self.epsilon_threshold, share, self.positives, Move.UP if self.monotone else Move.ANY)

    @property
    def _plain(self) -> tuple[tuple[tuple[Fraction, int], ...], ...]:
        """Two upper bounds on K that are sums of Laplace cumulants, each as a list of (epsilon, how many).

        The first composes the threshold with the queries, by V <= e^{2 K_L}; the second is one Laplace at e1 + e2.
        """
        return ((self.epsilon_threshold, 1), (self._shift.eta, 2 * self.positives)), ((self.largest_loss, 1),)

    def _plain_cumulant(self, s: Number, steps: tuple[tuple[Fraction, int], ...]) -> Number:
        (first, count), *others = steps
        total = count * shift_cumulant(s, lift(first), s / (1 + s))
        for epsilon, times in others:
            total = total + times * shift_cumulant(s, lift(epsilon), s / (1 + s))
        return total

    @cached_property
    def _plain_rho(self) -> tuple[float, int]:
        """The least rho of the plain bounds, certified and attained at order 1; and the index of this bound."""

        def rho(steps: tuple[tuple[Fraction, int], ...]) -> arb:
            return sum((count * (lift(epsilon) + expm1(-lift(epsilon))) for epsilon, count in steps), arb(0))

        return min((enclose(partial(rho, steps))[1], n) for n, steps in enumerate(self._plain))

    def _bound(self, s: Fraction) -> float:
        """A certified upper bound on K(s), the best of the theorems; at s = 0 one on the slope K'(0)."""
        if s == 0:
            return min(self._plain_rho[0], self._shift.bound(s))

        shift = self._shift.bound(s)
        if shift < CLEARLY_BELOW * min(
            sum(n * near_laplace(float(s), float(e)) for e, n in steps) for steps in self._plain
        ):
            return shift

        def least() -> float:
            bounds = [self._plain_cumulant(lift(s), steps) for steps in self._plain]
            return min(above(bound) if bound.is_finite() else inf for bound in (*bounds, lift(self.largest_loss * s)))

        return min(at_precision(CLOSED_FORM_BITS, least), shift)

    @cached_property
    def _chords(self) -> Chords:
        return Chords(self._bound, self._bound(Fraction(0)), self.largest_loss)

    def cumulant(self, s: Number) -> Number:
        """An upper bound on K: chords between certified points, as the largest cumulant over neighbours is convex."""
        if self._shift.extreme:
            return self._plain_cumulant(s, self._plain[self._plain_rho[1]])
        value: Number = self._chords.value(real_s(s))  # type: ignore[assignment]
        return value

    def kl(self) -> arb:
        return arb(self._plain_rho[0] if self._shift.extreme else self._chords.kl)

    @cached_property
    def _steepest(self) -> tuple[float, float, float]:
        if self._shift.extreme:
            return 0.0, self._plain_rho[0], 0.0
        return self._chords.steepest()

    @cached_property
    def _peak_bounds(self) -> tuple[float, float]:
        return self._steepest[0], min(self._steepest[1], self.pure_epsilon)

    @cached_property
    def rho_order(self) -> float:
        """The order at which the bound on D(alpha)/alpha is largest (heuristic); 1.0 means in the limit alpha -> 1."""
        return 1 + self._steepest[2]

    def peak(self) -> Peak:
        raise NotCertified("the peak of sparse vector is searched, see `Chords.steepest`")

    def _divergence(self, excess: Fraction) -> float:
        by_rho = at_precision(CLOSED_FORM_BITS, lambda: above(lift(1 + excess) * self.rho))
        return min(self.pure_epsilon, super()._divergence(excess), by_rho)

    def group(self, size: Value) -> SparseVector:
        """Group privacy: the mechanism at `size` times the sensitivity with the same noise."""
        steps = integer(size, "size", 1)
        return SparseVector(
            epsilon_threshold=steps * self.epsilon_threshold,
            epsilon_queries=steps * self.epsilon_queries,
            positives=self.positives,
            monotone=self.monotone,
        )

    def witness(self) -> arb:
        """A lower bound on rho: K(s)/(s(1+s)) of one concrete stream of queries, at one s."""
        return witness(self.epsilon_threshold, self._query_rate, monotone=self.monotone)

    @property
    def _query_rate(self) -> Fraction:
        return self.epsilon_queries / (self.positives if self.monotone else 2 * self.positives)

    def run(self, queries: Iterable[Value], *, sensitivity: Value, threshold: Value = 0) -> Iterator[bool]:
        """Yields for each query whether it exceeds the threshold, after noise on both; ends after the last positive.

        The next query is taken from the iterator after the last answer was yielded, so that it may depend on it. Each
        call is a new run with new noise, and its privacy cost must be accounted for again.

        >>> m = SparseVector(epsilon_threshold=1, epsilon_queries=1, positives=2)
        >>> list(m.run([-500, 500, -500, 500, 500], sensitivity=1))
        [False, True, False, True]
        """
        distance = positive_rational(sensitivity, "sensitivity")
        level = rational(threshold, "threshold")
        return self._sampler.run((rational(query, "query") - level) / distance for query in queries)

    @cached_property
    def _sampler(self) -> AboveThreshold:
        from zcdp.samplers.lazy_laplace import AboveThreshold

        return AboveThreshold(self.epsilon_threshold, self._query_rate, self.positives)

    def neighbouring_outputs(self, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        level = -1 / (4 * self._query_rate)
        moved = [level + 1] * 5 + [level - (not self.monotone)] * 5
        return self._sampler.draw([level] * 10, size), self._sampler.draw(moved, size)
