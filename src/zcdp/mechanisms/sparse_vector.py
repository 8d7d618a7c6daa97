"""The sparse vector technique: which of many queries exceed a noisy threshold, up to some number of positives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

from flint import acb, arb, arb_series

from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.laplace import Laplace
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import Value, integer, positive_rational
from zcdp.numeric.functions import Number, derivatives
from zcdp.numeric.supremum import Convex, steepest_ratio
from zcdp.privacy.curve import Peak
from zcdp.privacy.envelope import real_order
from zcdp.privacy.pair import Pair, laplace_pair

__all__ = ["SparseVector"]


@dataclass(frozen=True, init=False, repr=False)
class SparseVector(Mechanism):
    """Threshold noise Laplace(sensitivity/e1) once, query noise Laplace(2c sensitivity/e2), stops after c positives.

    Any number of adaptive queries, outputs above/below only. With rho_L the Laplace value,
    rho = min( rho_L(e1) + 2c rho_L(e2/c), rho_L(e1 + e2) ) is an upper bound: `is_tight` is False.
    Theorem: docs/theorems/sparse-vector.md.

    >>> m = SparseVector(epsilon_threshold=0.5, epsilon_queries=0.5, positives=20)
    >>> m.rho, m.is_tight, m.pure_epsilon
    (0.11892714084594018, False, 1.0)
    """

    theorem: ClassVar[str] = "sparse-vector"
    budget = None
    epsilon_threshold: Fraction
    epsilon_queries: Fraction
    positives: int = 1

    def __init__(self, *, epsilon_threshold: Value, epsilon_queries: Value, positives: Value = 1) -> None:
        self._set(
            epsilon_threshold=positive_rational(epsilon_threshold, "epsilon_threshold"),
            epsilon_queries=positive_rational(epsilon_queries, "epsilon_queries"),
            positives=integer(positives, "positives", 1),
        )

    @property
    def is_tight(self) -> bool:
        return False

    @property
    def largest_loss(self) -> Fraction:
        return self.epsilon_threshold + self.epsilon_queries

    is_envelope = True  # of a class of pairs, for which the least of two bounds is known at each order

    @property
    def _parts(self) -> tuple[Laplace, Laplace, Laplace]:
        share = self.epsilon_queries / self.positives
        return Laplace(epsilon=self.epsilon_threshold), Laplace(epsilon=share), Laplace(epsilon=self.largest_loss)

    def pair(self) -> Pair:
        """The Laplace pair at the whole epsilon. Theorem: docs/theorems/lipschitz.md."""
        return laplace_pair(self.largest_loss, exact=False)

    def cumulant(self, s: Number) -> Number:
        order = real_order(s)
        threshold, query, whole = (part.cumulant(order) for part in self._parts)
        least: Number = (threshold + 2 * self.positives * query).min(whole)  # type: ignore[assignment]
        return least

    def kl(self) -> arb:
        return self.peak().rho

    def peak(self) -> Peak:
        threshold, query, whole = (part.peak().rho for part in self._parts)
        return Peak((threshold + 2 * self.positives * query).min(whole), arb(1))

    def search_rho(self, tolerance: float = 1e-10) -> tuple[float, float]:
        """The smaller of the searches over the two bounds: their minimum is not convex."""
        threshold, query, whole = self._parts

        def split(s: Number) -> Number:
            return threshold.cumulant(s) + 2 * self.positives * query.cumulant(s)

        def taylor(s: arb) -> tuple[arb, arb, arb]:
            return derivatives(split(arb_series([s, 1], prec=4)))

        def curve() -> list[Convex]:
            largest = lift(self.epsilon_threshold) + 2 * lift(self.epsilon_queries)
            return [Convex(split, threshold.kl() + 2 * self.positives * query.kl(), largest, taylor)]

        return min(steepest_ratio(curve, tolerance)[:2], whole.search_rho(tolerance))

    def witness(self) -> arb:
        """Five queries that are 1 higher on the neighbour, then twelve that are 1 lower: when is the first positive?

        On the input all queries lie a quarter unit of query noise below the threshold.
        """
        rate, query_rate = self.epsilon_threshold, self.epsilon_queries / (2 * self.positives)
        level = -1 / (4 * query_rate)
        flat = _first_positive([level] * 17, rate, query_rate)
        moved = _first_positive([level + 1] * 5 + [level - 1] * 12, rate, query_rate)
        best = arb(0)
        for left, right in ((flat, moved), (moved, flat)):
            logs = [(p.log(), q.log()) for p, q in zip(left, right, strict=True)]
            for n in range(-4, 16):
                s = arb(2) ** n
                moment = sum(((p * (1 + s) - q * s).exp() for p, q in logs), arb(0))
                best = best.max(moment.log() / (s * (1 + s)))
        return best


def _first_positive(levels: Sequence[Fraction], threshold: Fraction, query: Fraction) -> list[arb]:
    """Law of the index of the first noisy query above threshold noise around 0, for these rates; last: none."""
    rate, query_rate = lift(threshold), lift(query)
    reach = (80 / rate + 200 / query_rate).upper()
    balls = {level: lift(level) for level in {Fraction(0), *levels}}
    cuts = [-reach, *(balls[level] for level in sorted(balls)), reach]

    def stays_below(t: acb, level: arb, *, above: bool) -> acb:
        tail = ((level - t if above else t - level) * query_rate).exp() / 2
        return 1 - tail if above else tail

    def probability(index: int, low: arb, high: arb) -> arb:
        """Between two kinks of the integrand it is one analytic function, so the quadrature is rigorous."""
        middle = (low + high) / 2
        sides = [(balls[level], bool(middle > balls[level])) for level in levels]

        def integrand(t: acb, _: bool) -> acb:
            product = ((-t if middle > 0 else t) * rate).exp() * rate / 2
            for level, above in sides[:index]:
                product *= stays_below(t, level, above=above)
            if index < len(levels):
                product *= 1 - stays_below(t, sides[index][0], above=sides[index][1])
            return product

        return acb.integral(integrand, low, high).real

    outside = arb(0, (-rate * reach).exp().upper())
    return [
        sum((probability(index, low, high) for low, high in pairwise(cuts)), outside)
        for index in range(len(levels) + 1)
    ]
