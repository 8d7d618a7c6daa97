"""Cumulants that are a maximum over several pairs: finite pairs, their envelope, and bounds for each direction."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf

from flint import arb

from zcdp.errors import BadType
from zcdp.numeric.balls import NotCertified, Undecided, above, at_precision, enclose, lift
from zcdp.numeric.functions import Number
from zcdp.numeric.supremum import Convex, Supremum, steepest_ratio
from zcdp.numeric.threads import cached_property
from zcdp.numeric.work import count_functions
from zcdp.privacy.curve import Curve, Peak
from zcdp.privacy.loss.law import LossLaw
from zcdp.privacy.relation import Relation

__all__ = ["Both", "FiniteEnvelope", "FinitePair", "rdp_each_way", "real_s"]


@dataclass(frozen=True)
class FinitePair:
    """A pair (P, Q) on finitely many outcomes: the P-masses and the losses log P/Q, at the working precision."""

    masses: Sequence[arb]
    losses: Sequence[arb]

    def value(self, s: arb) -> arb:
        """K(s) = log of the sum of mass e^{s loss}."""
        count_functions(1.5 * len(self.masses))
        return sum((mass * (s * loss).exp() for mass, loss in self._outcomes()), arb(0)).log()

    def taylor(self, s: arb) -> tuple[arb, arb, arb]:
        """K, K' and K'' at s; K' and K'' are mean and variance of the loss under the law tilted by e^{s loss}."""
        count_functions(3 * len(self.masses))
        total = first = second = arb(0)
        for mass, loss in self._outcomes():
            weight = mass * (s * loss).exp()
            moment = weight * loss
            total, first, second = total + weight, first + moment, second + moment * loss
        mean = first / total
        return total.log(), mean, second / total - mean * mean

    def kl(self) -> arb:
        """The mean loss, which is the KL divergence of P from Q."""
        return sum((mass * loss for mass, loss in self._outcomes()), arb(0))

    def largest(self) -> arb:
        """The largest loss."""
        return max_ball(self.losses)

    def convex(self) -> Convex:
        """The cumulant as `zcdp.numeric.supremum` takes it."""
        return Convex(self.value, self.kl(), self.largest(), self.taylor)

    def _outcomes(self) -> zip[tuple[arb, arb]]:
        return zip(self.masses, self.losses, strict=True)


def max_ball(balls: Sequence[arb]) -> arb:
    """A ball around the maximum of several numbers, each known as a ball."""
    largest = balls[0]
    for ball in balls[1:]:
        largest = largest.max(ball)
    return largest


# Curves that are a maximum over several pairs: the two directions of a pair, all pairs of rows, members of a class.


def real_s(s: Number) -> arb:
    """The argument s if it is a real ball; raises for series and complex balls, because an envelope is not analytic."""
    if isinstance(s, arb):
        return s
    raise BadType("the cumulant of an envelope of several pairs is defined at real orders only")


class FiniteEnvelope(Curve):
    """At each order the maximum of the cumulants of finitely many finite pairs; it may be added to other cumulants.

    (To compose each pair and take the maximum afterwards would be unsound: see docs/theorems/directions.md.)
    """

    is_envelope = True
    tolerance = 1e-10

    @abstractmethod
    def pairs(self) -> Sequence[FinitePair]:
        """All pairs, each in both directions, at the working precision; none if no two inputs differ."""

    @property
    def unbounded(self) -> bool:
        """Whether some outcome is possible under one input and impossible under another: then rho is inf."""
        return False

    def candidates(self) -> Sequence[int] | None:
        """The indices of the pairs among which the one with the largest rho is expected; None means all."""
        return None

    def cumulant(self, s: Number) -> Number:
        point = real_s(s)
        largest: Number = self._largest(lambda pair: pair.value(point))  # type: ignore[assignment]
        return largest

    def kl(self) -> arb:
        return self._largest(lambda pair: pair.kl())

    def _largest(self, quantity: Callable[[FinitePair], arb]) -> arb:
        """The maximum of a quantity over all pairs; 0 if no two inputs differ, +inf if the loss is unbounded."""
        return arb.pos_inf() if self.unbounded else max_ball([arb(0), *map(quantity, self.pairs())])

    def convexes(self) -> Sequence[Convex]:
        return [pair.convex() for pair in self.pairs()]

    def peak(self) -> Peak:
        raise NotCertified("the peak of a finite envelope is searched, see `supremum`")

    @cached_property
    def pure_epsilon(self) -> float:
        """The least float epsilon for which pure epsilon-DP holds; inf if there is none."""
        if self.unbounded:
            return inf
        return enclose(self.loss_ball)[1]

    def loss_ball(self) -> arb:
        return self._largest(lambda pair: pair.largest())

    def _search(self, tolerance: float) -> Supremum:
        """Certified floats around rho, and where it is nearly attained."""
        if self.unbounded:
            return Supremum(inf, inf, 0, inf)
        if not self.pairs():
            return Supremum(0.0, 0.0, 0, 0.0)
        return steepest_ratio(self.convexes, tolerance, self.candidates())

    @cached_property
    def supremum(self) -> Supremum:
        """Certified bounds on rho, by a search over all pairs and orders. Theorem: docs/theorems/supremum.md."""
        return self._search(self.tolerance)

    def search_rho(self, tolerance: float = 1e-10) -> tuple[float, float]:
        return self._search(tolerance)[:2]

    @cached_property
    def rho_order(self) -> float:
        """The order alpha at which the search found D(alpha)/alpha to be largest; 1.0 means in the limit alpha -> 1."""
        return 1 + self.supremum.point

    @cached_property
    def _peak_bounds(self) -> tuple[float, float]:
        lower, upper = self.supremum[:2]
        return lower, min(upper, self.pure_epsilon)

    def _divergence(self, excess: Fraction) -> float:
        if self.unbounded or not self.pairs():
            return self.pure_epsilon
        return super()._divergence(excess)


# The Renyi divergence in each of the two directions of add-remove neighbours.

DIVERGENCE_BITS = 192
Both = tuple[Fraction | None, Fraction | None]
"""A divergence for each direction: P with the person and Q without, then the reverse; None if it is infinite."""


def rdp_each_way(curve: Curve, order: Fraction) -> Both:
    """Certified upper bounds on the Renyi divergence of an order above 1, in each of the two directions.

    The first is for P with the person and Q without, the second for the reverse. Only mechanisms for add_remove
    neighbours distinguish the two, and all of them have the same direction; any other mechanism counts with the larger
    of its two divergences in both. Theorem: docs/theorems/renyi-filter.md.

    >>> from zcdp import LossPair
    >>> [float(x) for x in rdp_each_way(LossPair(p=["1/2", "1/2"], q=["1/10", "9/10"], ordered=True), Fraction(2))]
    [1.0216512475319814, 0.494696241836107...]
    """
    first = second = Fraction(0)
    for part, count in curve.parts:
        one, other = _of_one(part, order)
        if one is None or other is None:  # If one direction is infinite, a filter admits nothing in any case.
            return None, None
        first, second = first + count * one, second + count * other
    return first, second


def _of_one(part: Curve, order: Fraction) -> Both:
    """`rdp_each_way` of a single mechanism."""
    worst = part.rdp(order)
    largest = None if worst == inf else Fraction(worst)
    if largest is None or part.relation is not Relation.ADD_REMOVE:
        return largest, largest
    claims = part.claims
    known = [(claim.upper, times) for claim, times in claims if claim is not None]
    if len(known) < len(claims) or all(law.symmetric for law, _ in known):
        return largest, largest
    forward = min(largest, _of_laws(known, order - 1, largest))
    backward = min(largest, _of_laws([(law.reverse(), times) for law, times in known], order - 1, largest))
    return forward, backward


def _of_laws(laws: list[tuple[LossLaw, int]], s: Fraction, otherwise: Fraction) -> Fraction:
    """The sum of log M(s)/s over dominating laws, rounded up; `otherwise` if the balls are too wide."""

    def divergence() -> float:
        point = lift(s)
        total = sum((times * law.renyi(point) for law, times in laws), arb(0))
        return above(total) if total.is_finite() else inf

    try:
        found = at_precision(DIVERGENCE_BITS, divergence)
    except (Undecided, NotCertified, OverflowError):
        return otherwise
    return max(Fraction(found), Fraction(0)) if found < inf else otherwise
