"""`Curve`: anything with a privacy-loss cumulant K(s), and what follows from K: rho, Renyi DP, (epsilon, delta)."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from math import inf, nextafter
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, overload

from flint import arb, arb_series

from zcdp.errors import BadValue
from zcdp.numeric.balls import NotCertified, enclose, lift
from zcdp.numeric.exact import Exact, Value, rational
from zcdp.numeric.functions import Number, coefficient, derivatives
from zcdp.numeric.search import float_above
from zcdp.numeric.supremum import Convex, steepest_ratio
from zcdp.numeric.threads import cached_property
from zcdp.privacy.loss import LossLaw, three_point_pair
from zcdp.privacy.relation import Relation
from zcdp.privacy.rho_search import LARGEST_QUICK_ORDER, Peak, from_below, is_infinite, quick_divergence
from zcdp.text.calls import spoken_class
from zcdp.text.names import NEIGHBOURS, table
from zcdp.text.numbers import at_most

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike

    from zcdp.privacy.plan import Plan
    from zcdp.privacy.profile.profile import Profile
    from zcdp.privacy.routes import Routes

__all__ = ["AUTHORS_ONLY", "Curve", "Peak"]

AUTHORS_ONLY = {
    *("adds_up", "budget", "convexes", "coordinates", "cumulant", "forms", "is_envelope", "kl", "laws", "local"),
    *("loss_ball", "noise", "pair", "peak", "profile", "shape", "theorems", "usual_divisor", "usual_losses", "witness"),
}
"""Members for authors of mechanisms; `dir` and the reference pages show users only the others."""


@spoken_class
class Curve(metaclass=ABCMeta):
    """A mechanism or a composition, whose privacy loss L = log dP/dQ has the cumulant K(s) = log E_P exp(s L).

    K is that of the worst pair of neighbours (P, Q). With alpha = 1 + s, the Renyi divergence of order alpha is K(s)/s,
    its limit at order 1 is the KL divergence K'(0), and rho is the supremum over s > 0 of K(s)/(s(1+s)).
    Theorem: docs/theorems/cumulant.md.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        """A call of a mechanism that does not fit is refused in the words of the one who calls."""
        super().__init_subclass__(**options)
        spoken_class(cls)

    def __dir__(self) -> list[str]:
        """The members for users, without those for authors of mechanisms."""
        return [name for name in super().__dir__() if name not in AUTHORS_ONLY]

    @abstractmethod
    def cumulant(self, s: Number) -> Number:
        """K(s), s = alpha - 1, at the working precision; K(0) = 0."""

    @property
    @abstractmethod
    def largest_loss(self) -> Exact | None:
        """The exact supremum of the privacy loss; None if it is unbounded."""

    is_envelope: ClassVar[bool] = False
    """Whether K is a maximum over several pairs, another one at each order: it is convex, but not a cumulant itself."""

    @abstractmethod
    def peak(self) -> Peak:
        """rho and the order alpha that attains it, at the working precision, as a theorem states them."""

    @property
    def is_tight(self) -> bool:
        """True: rho is the exact value. False: rho is a proven upper bound, and rho_bounds an enclosure."""
        return True

    @property
    def unbounded(self) -> bool:
        """Whether the Renyi divergence is infinite at every order, as if some outcome reveals the input; rho is inf."""
        return False

    def witness(self) -> arb:
        """A lower bound on rho that a concrete pair attains, as a ball; for curves whose `peak` is an upper bound."""
        raise NotCertified(f"{self!r} has no concrete pair for a lower bound")

    @cached_property
    def pure_epsilon(self) -> float:
        """The least float epsilon for which pure epsilon-DP holds; inf if there is none."""
        loss = self.largest_loss
        if isinstance(loss, Fraction):
            return float_above(loss)
        return inf if loss is None else enclose(lambda: lift(loss))[1]

    def _repr_html_(self) -> str:
        """The table that a notebook shows: rho, and whether it is exact, pure epsilon, neighbours and theorem."""
        rows = [("\u03c1 (zCDP)", at_most(self.rho) + ("" if self.is_tight else ", a proven upper bound"))]
        rows.append(("pure \u03b5", at_most(self.pure_epsilon)))
        rows.append(("neighbours", NEIGHBOURS[self.relation.value]))
        if theorem := getattr(self, "theorem", None):
            rows.append(("theorem", f"docs/theorems/{theorem}.md"))
        return table(repr(self), rows)

    @cached_property
    def rho_bounds(self) -> tuple[float, float]:
        """Certified floats (lower, upper) around the tight zCDP parameter."""
        return self._peak_bounds if self.is_tight else (from_below(self.witness), self.rho)

    @property
    def rho(self) -> float:
        """The tight zCDP parameter (see `is_tight`), rounded up: never below the truth."""
        return self._peak_bounds[1]

    @cached_property
    def _peak_bounds(self) -> tuple[float, float]:
        """Certified floats around the rho of `peak`."""
        return self._certified(lambda: self.peak().rho)

    @cached_property
    def rho_fraction(self) -> Fraction:
        """`rho` as an exact rational, for sums that must not be rounded; raises if rho is infinite."""
        return rational(self.rho, "rho")

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
        if (type(order) is float or type(order) is int) and 1 < order < LARGEST_QUICK_ORDER:
            found = self._quick(float(order))
            if found is not None:
                return found
        if isinstance(order, Real | Decimal | str):
            return self._rdp(order)
        import numpy as np

        # An array of objects keeps each order exact: numpy would convert a large int beside a float to a float.
        orders = order if isinstance(order, np.ndarray) else np.array(order, dtype=object)
        flat = [self._rdp(one) for one in orders.ravel().tolist()]
        return np.array(flat, dtype=np.float64).reshape(orders.shape)

    def _quick(self, order: float) -> float | None:
        """The divergence, rounded up, if one evaluation pins it down and no subclass overrides `_divergence`."""
        if self.unbounded or type(self)._divergence is not Curve._divergence:
            return None
        found = quick_divergence(self.cumulant, order)
        return None if found is None else min(found, self.pure_epsilon)

    def _rdp(self, order: Value) -> float:
        if is_infinite(order):
            return self.pure_epsilon
        excess = rational(order, "order") - 1
        if excess < 0:
            raise BadValue(f"order ({order}) must be at least 1")
        return self._divergence(excess)

    def _divergence(self, excess: Fraction) -> float:
        """The Renyi divergence of order 1 + excess, rounded up."""
        if self.unbounded:
            return inf

        def divergence() -> arb:
            if not excess:
                return self.kl()
            s = lift(excess)
            return self.cumulant(s) / s

        # If K is only a bound, K(s)/s may exceed the largest loss, which bounds every divergence.
        try:
            return min(self._certified(divergence)[1], self.pure_epsilon)
        except NotCertified:  # K cannot be evaluated at this order, but D(alpha) <= alpha rho always holds.
            if self.rho == inf:
                raise
            return min(self._divergence_by_rho(excess), self.pure_epsilon)

    def _divergence_by_rho(self, excess: Fraction) -> float:
        """The bound alpha rho on the Renyi divergence of order alpha = 1 + excess, rounded up."""
        return enclose(lambda: lift((1 + excess) * Fraction(self.rho)))[1]

    def _certified(self, evaluate: Callable[[], arb]) -> tuple[float, float]:
        """Certified floats around a divergence, which is at most the largest loss."""
        lower, upper = enclose(evaluate)
        if upper > nextafter(lower, inf):  # The value is close to the float in between, which may be the largest loss.
            upper = min(upper, self.pure_epsilon)
        return lower, upper

    def loss_ball(self) -> arb:
        """The largest loss as a ball, or as the float above it if it has no exact form; +inf if it is unbounded."""
        try:
            loss = self.largest_loss
        except (AttributeError, TypeError, ValueError):  # The largest loss has no exact form.
            loss = None
        return arb(self.pure_epsilon) if loss is None else lift(loss)

    def kl(self) -> arb:
        """K'(0), the divergence of order 1 (KL), at the working precision, from the power series of K at 0."""
        return coefficient(self.cumulant(arb_series([0, 1], prec=3)), 1)

    def convexes(self) -> Sequence[Convex]:
        """The cumulants whose maximum is K, for the certified search for rho, at the working precision."""
        loss = self.largest_loss
        if loss is None:
            raise NotCertified("the search over orders needs a bounded privacy loss")

        def taylor(s: arb) -> tuple[arb, arb, arb]:
            # Three terms are needed; a removable singularity may use up a fourth.
            return derivatives(self.cumulant(arb_series([s, 1], prec=4)))

        return [Convex(self.cumulant, self.kl(), lift(loss), None if self.is_envelope else taylor)]

    def search_rho(self, tolerance: float = 1e-10) -> tuple[float, float]:
        """Certified floats around rho by a search over all orders, which uses no theorem about the peak."""
        return steepest_ratio(self.convexes, tolerance)[:2]

    @property
    def relation(self) -> Relation:
        """The neighbouring relation; `EITHER` if the mechanism is stated for whatever relation the plan has."""
        return Relation.EITHER

    def pair(self) -> LossLaw | None:
        """A dominating pair: a symmetric pair whose privacy profile is at least the mechanism's; None if none is known.

        By default that is binary randomized response, which dominates every pure epsilon-DP mechanism.
        """
        loss = self.pure_epsilon
        return None if loss == inf else three_point_pair(Fraction(loss))

    @property
    def parts(self) -> tuple[tuple[Curve, int], ...]:
        """The mechanisms that are composed, each with its number of uses."""
        return ((self, 1),)

    @property
    def coordinates(self) -> tuple[tuple[Curve, int], ...]:
        """The independent coordinates of one mechanism, each with its multiplicity; the mechanism itself by default."""
        return ((self, 1),)

    @property
    def laws(self) -> Sequence[tuple[LossLaw | None, int]]:
        """The dominating law of each coordinate (None if none is known), with its multiplicity."""
        return [(one.pair(), count) for one, count in self.coordinates]

    @cached_property
    def _approximate(self) -> Routes:
        """The routes to approximate DP, (epsilon, delta)."""
        from zcdp.privacy.routes import Routes  # imported late, because rho does not need the engines of the profile

        return Routes(self)

    @property
    def profile(self) -> Profile | None:
        """The exact privacy profile of the composed dominating pairs; None if some part has no such pair."""
        return self._approximate.profile

    def epsilon_at(self, *, delta: Value) -> float:
        """The least epsilon that any route certifies for (epsilon, delta)-DP, rounded up."""
        return self._approximate.epsilon_at(delta)

    def epsilon_bounds(self, *, delta: Value) -> tuple[float, float]:
        """Certified floats (lower, upper) around the least epsilon at `delta`."""
        return self._approximate.epsilon_bounds(delta)

    def delta_at(self, *, epsilon: Value) -> float:
        """The least delta that any route certifies for (epsilon, delta)-DP, rounded up."""
        return self._approximate.delta_bounds(epsilon, upper_only=True)[1]

    def _curve_in_haste(self, epsilons: Sequence[Fraction], haste: int) -> list[float]:
        """Certified upper bounds on delta at increasing epsilons, by the profile alone: for curves of large plans.

        Neighbouring epsilons share engines; `haste` divides the work.
        """
        return self._approximate.curve_above(epsilons, haste=haste)

    def _delta_in_haste(self, epsilon: Value, haste: int) -> float:
        """A certified upper bound on delta like `delta_at`, with the work divided by `haste`: possibly less tight."""
        return self._approximate.delta_bounds(epsilon, upper_only=True, haste=haste)[1]

    def delta_bounds(self, *, epsilon: Value) -> tuple[float, float]:
        """Certified floats (lower, upper) around the least delta at `epsilon`."""
        return self._approximate.delta_bounds(epsilon)

    def routes(self, *, delta: Value) -> dict[str, float]:
        """Certified epsilon at `delta` by each route: exact profile, Renyi curve, rho alone, largest loss."""
        return self._approximate.epsilons(delta)

    def __add__(self, other: Curve) -> Plan:
        from zcdp.privacy.plan import Plan  # imported late, because Plan is a Curve

        return Plan.sum_of(self, other)

    def __radd__(self, other: int) -> Plan:
        from zcdp.privacy.plan import Plan

        return Plan.sum_of(self) if isinstance(other, int) and other == 0 else NotImplemented  # for sum()

    def __mul__(self, count: int) -> Plan:
        from zcdp.privacy.plan import Plan

        return Plan.repeated(self, count)

    __rmul__ = __mul__
