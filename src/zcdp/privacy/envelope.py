"""Curves that are the largest of several: directions of a pair, pairs of rows, members of a class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import inf

from flint import arb

from zcdp.errors import BadType
from zcdp.numeric.certify import NotCertified, enclose
from zcdp.numeric.functions import Number
from zcdp.numeric.once import cached_property
from zcdp.numeric.supremum import Convex, Supremum, steepest_ratio
from zcdp.privacy.curve import Curve, Peak
from zcdp.privacy.finite_pair import FinitePair, max_ball

__all__ = ["FiniteEnvelope", "real_order"]


def real_order(s: Number) -> arb:
    """An envelope is not analytic: it has values at real orders only."""
    if isinstance(s, arb):
        return s
    raise BadType("the cumulant of an envelope of several pairs is defined at real orders only")


class FiniteEnvelope(Curve):
    """The largest over finitely many finite pairs, at each order: so it may be summed with other cumulants.

    (Taking the largest only after composing would be unsound: see docs/theorems/directions.md.)
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
        """The pairs among which the steepest is expected; None: all."""
        return None

    def cumulant(self, s: Number) -> Number:
        order = real_order(s)
        largest: Number = self._largest(lambda pair: pair.value(order))  # type: ignore[assignment]
        return largest

    def kl(self) -> arb:
        return self._largest(lambda pair: pair.kl())

    def _largest(self, quantity: Callable[[FinitePair], arb]) -> arb:
        """Over all pairs; 0 if no two inputs differ."""
        return arb.pos_inf() if self.unbounded else max_ball([arb(0), *map(quantity, self.pairs())])

    def convexes(self) -> Sequence[Convex]:
        return [pair.convex() for pair in self.pairs()]

    def peak(self) -> Peak:
        raise NotCertified("the peak of a finite envelope is searched, see `supremum`")

    @cached_property
    def pure_epsilon(self) -> float:
        """The least float epsilon for which pure epsilon-DP holds; inf where there is none."""
        if self.unbounded:
            return inf
        return enclose(self.loss_ball)[1]

    def loss_ball(self) -> arb:
        return self._largest(lambda pair: pair.largest())

    def _search(self, tolerance: float) -> Supremum:
        if self.unbounded:
            return Supremum(inf, inf, 0, inf)
        if not self.pairs():
            return Supremum(0.0, 0.0, 0, 0.0)
        return steepest_ratio(self.convexes, tolerance, self.candidates())

    @cached_property
    def supremum(self) -> Supremum:
        """The certified search over all pairs and orders. Theorem: docs/theorems/supremum.md."""
        return self._search(self.tolerance)

    def search_rho(self, tolerance: float = 1e-10) -> tuple[float, float]:
        return self._search(tolerance)[:2]

    @cached_property
    def rho_order(self) -> float:
        """The order alpha at which D(alpha)/alpha is largest, as found; 1.0 means in the limit alpha -> 1."""
        return 1 + self.supremum.point

    @cached_property
    def _peak_bounds(self) -> tuple[float, float]:
        lower, upper = self.supremum[:2]
        return lower, min(upper, self.pure_epsilon)

    def _divergence(self, excess: Fraction) -> float:
        if self.unbounded or not self.pairs():
            return self.pure_epsilon
        return super()._divergence(excess)
