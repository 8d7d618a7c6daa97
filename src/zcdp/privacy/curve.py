"""The one abstraction: a privacy-loss cumulant, and all that is derived from it once for everybody."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import inf, nextafter
from numbers import Real
from typing import TYPE_CHECKING, NamedTuple, overload

from flint import arb, arb_series

from zcdp.numeric.balls import lift
from zcdp.numeric.certify import NotCertified, enclose
from zcdp.numeric.exact import Exact, Log, Value, positive_rational, rational
from zcdp.numeric.functions import Number, derivatives
from zcdp.numeric.supremum import Convex, steepest_ratio
from zcdp.privacy.pair import Pair, three_point_pair
from zcdp.privacy.profile import Profile
from zcdp.privacy.routes import Routes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike

    from zcdp.privacy.plan import Plan

__all__ = ["Curve", "Peak"]


class Peak(NamedTuple):
    """The supremum over orders of D(alpha)/alpha, and the order that attains it (1: in the limit)."""

    rho: arb
    order: arb


class Curve(ABC):
    """Anything whose privacy loss L = log dP/dQ has the cumulant K(s) = log E_P exp(s L) in the worst case.

    With alpha = 1 + s: the Renyi divergence is K(s)/s, its limit at order 1 is KL = K'(0), and
    rho = sup over s > 0 of K(s)/(s(1+s)). See docs/theorems/cumulant.md.
    """

    @abstractmethod
    def cumulant(self, s: Number) -> Number:
        """K(s), at the working precision; K(0) = 0."""

    @property
    @abstractmethod
    def largest_loss(self) -> Exact | None:
        """The exact supremum of the privacy loss; None where it is unbounded."""

    @property
    def spread(self) -> Exact | None:
        """Length of an interval that holds the loss; None where there is none, or K is an envelope of many pairs."""
        loss = self.largest_loss
        return Log(loss.argument**2) if isinstance(loss, Log) else loss and 2 * loss

    @abstractmethod
    def peak(self) -> Peak:
        """rho and its order at the working precision, from a theorem."""

    @cached_property
    def pure_epsilon(self) -> float:
        """The least float epsilon for which pure epsilon-DP holds; inf where there is none."""
        loss = self.largest_loss
        return inf if loss is None else enclose(lambda: lift(loss))[1]

    @cached_property
    def rho_bounds(self) -> tuple[float, float]:
        """Floats (lower, upper) that enclose the tight zCDP parameter."""
        return self._certified(lambda: self.peak().rho)

    @property
    def rho(self) -> float:
        """The tight zCDP parameter, rounded up: never below the truth."""
        return self.rho_bounds[1]

    @cached_property
    def rho_fraction(self) -> Fraction:
        """`rho` as an exact rational, for sums that must not be rounded; an infinite one is refused."""
        return positive_rational(self.rho, "rho")

    @cached_property
    def rho_order(self) -> float:
        """The order alpha at which D(alpha)/alpha attains rho; 1.0 means in the limit alpha -> 1."""
        return enclose(lambda: self.peak().order, floor=1.0)[0]

    @overload
    def rdp(self, order: Value) -> float: ...

    @overload
    def rdp(self, order: ArrayLike) -> float | np.ndarray: ...

    def rdp(self, order: Value | ArrayLike) -> float | np.ndarray:
        """Tight Renyi divergence at an order in [1, inf], or at each of an array of orders; rounded up.

        Order 1 is the Kullback-Leibler divergence, order infinity the pure epsilon.
        """
        if isinstance(order, Real | Decimal | str):
            return self._rdp(order)
        import numpy as np

        orders = np.asarray(order)
        flat = [self._rdp(one) for one in orders.ravel().tolist()]
        return np.array(flat, dtype=np.float64).reshape(orders.shape)

    def _rdp(self, order: Value) -> float:
        if order == inf or (isinstance(order, str) and order.strip() == "inf"):
            return self.pure_epsilon
        excess = rational(order, "order") - 1
        if excess < 0:
            raise ValueError(f"order ({order}) must be at least 1")

        def divergence() -> arb:
            if excess == 0:
                return self.kl()
            s = lift(excess)
            return self.cumulant(s) / s

        return self._certified(divergence)[1]

    def _certified(self, evaluate: Callable[[], arb]) -> tuple[float, float]:
        lower, upper = enclose(evaluate)
        if upper > nextafter(lower, inf):  # on a float, or just below one: and no divergence exceeds the largest loss
            upper = min(upper, self.pure_epsilon)
        return lower, upper

    def kl(self) -> arb:
        """K'(0), the divergence of order 1, at the working precision: the removable singularity, solved once."""
        return self.cumulant(arb_series([0, 1], prec=3))[1]

    def convex(self) -> Convex:
        """What the certified search over orders needs, at the working precision."""
        loss, spread = self.largest_loss, self.spread
        if loss is None:
            raise NotCertified("the search over orders needs a bounded privacy loss")

        def taylor(s: arb) -> tuple[arb, arb, arb]:
            return derivatives(self.cumulant(arb_series([s, 1], prec=3)))

        if spread is None:
            return Convex(self.cumulant, self.kl(), lift(loss))
        return Convex(self.cumulant, self.kl(), lift(loss), taylor, lift(spread))

    def search_rho(self, tolerance: float = 1e-10) -> tuple[float, float]:
        """Floats around rho by a certified search over all orders, which uses no theorem on where the peak is."""
        return steepest_ratio(lambda: [self.convex()], tolerance)

    def pair(self) -> Pair | None:
        """A symmetric pair whose privacy profile is at least this one's; None where none is known.

        Unless a mechanism knows better, binary randomized response, which dominates all of pure DP.
        """
        loss = self.largest_loss
        return None if loss is None else three_point_pair(loss, exact=False)

    @property
    def parts(self) -> tuple[tuple[Curve, int], ...]:
        """What is composed here, each with how often."""
        return ((self, 1),)

    @cached_property
    def _approximate(self) -> Routes:
        return Routes(self)

    @property
    def profile(self) -> Profile | None:
        """The exact privacy profile of the dominating pairs; None where some part has none."""
        return self._approximate.profile

    def epsilon_at(self, *, delta: Value) -> float:
        """The least epsilon certified for (epsilon, delta)-DP: the best of all routes, rounded up."""
        return self._approximate.epsilon_at(delta)

    def epsilon_bounds(self, *, delta: Value) -> tuple[float, float]:
        """Floats (lower, upper) that enclose the least epsilon at `delta`."""
        return self._approximate.epsilon_bounds(delta)

    def delta_at(self, *, epsilon: Value) -> float:
        """The least delta certified for (epsilon, delta)-DP: the best of all routes, rounded up."""
        return self._approximate.delta_bounds(epsilon, upper_only=True)[1]

    def delta_bounds(self, *, epsilon: Value) -> tuple[float, float]:
        """Floats (lower, upper) that enclose the least delta at `epsilon`."""
        return self._approximate.delta_bounds(epsilon)

    def routes(self, *, delta: Value) -> dict[str, float]:
        """epsilon at `delta` by each certified route: exact profile, Renyi curve, rho alone, largest loss."""
        return self._approximate.epsilons(delta)

    def __add__(self, other: Curve) -> Plan:
        from zcdp.privacy.plan import Plan  # the sum of curves is a curve

        return Plan.sum_of(self, other)

    def __radd__(self, other: int) -> Plan:
        from zcdp.privacy.plan import Plan

        return Plan.sum_of(self) if isinstance(other, int) and other == 0 else NotImplemented  # for sum()

    def __mul__(self, count: int) -> Plan:
        from zcdp.privacy.plan import Plan

        return Plan.repeated(self, count)

    __rmul__ = __mul__
