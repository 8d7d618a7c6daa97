"""Curves that are the largest of several: directions of a pair, pairs of rows, members of a class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from math import inf

from flint import arb

from zcdp.numeric.certify import enclose
from zcdp.numeric.functions import Number
from zcdp.numeric.supremum import Convex, Supremum, steepest_ratio
from zcdp.privacy.curve import Curve, Peak
from zcdp.privacy.finite_pair import FinitePair, max_ball

__all__ = ["FiniteEnvelope", "real_order"]


def real_order(s: Number) -> arb:
    """An envelope is not analytic: it has values at real orders only."""
    if isinstance(s, arb):
        return s
    raise TypeError("the cumulant of an envelope of several pairs is defined at real orders only")


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
        largest: Number = max_ball([pair.value(order) for pair in self.pairs()])  # type: ignore[assignment]
        return largest

    def kl(self) -> arb:
        return max_ball([pair.kl() for pair in self.pairs()])

    def convexes(self) -> Sequence[Convex]:
        return [pair.convex() for pair in self.pairs()]

    def peak(self) -> Peak:
        raise NotImplementedError("the peak of a finite envelope is searched, see `supremum`")

    @cached_property
    def pure_epsilon(self) -> float:
        """The least float epsilon for which pure epsilon-DP holds; inf where there is none."""
        if self.unbounded:
            return inf
        return enclose(lambda: max_ball([arb(0), *(pair.largest() for pair in self.pairs())]))[1]

    @cached_property
    def supremum(self) -> Supremum:
        """The certified search over all pairs and orders. Theorem: docs/theorems/supremum.md."""
        if self.unbounded:
            return Supremum(inf, inf, 0, inf)
        if not self.pairs():
            return Supremum(0.0, 0.0, 0, 0.0)
        return steepest_ratio(self.convexes, self.tolerance, self.candidates())

    @cached_property
    def rho_order(self) -> float:
        """The order alpha at which D(alpha)/alpha is largest, as found; 1.0 means in the limit alpha -> 1."""
        return 1 + self.supremum.point

    @cached_property
    def _peak_bounds(self) -> tuple[float, float]:
        return self.supremum[:2]

    def _divergence(self, excess: Fraction) -> float:
        if self.unbounded or not self.pairs():
            return self.pure_epsilon
        return super()._divergence(excess)
