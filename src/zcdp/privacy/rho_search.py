"""rho of a plan by a certified search over all Renyi orders, and quick Renyi divergences at a single order."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from math import inf, nextafter
from typing import TYPE_CHECKING, NamedTuple

from flint import arb, arb_series

from zcdp.errors import BadValue
from zcdp.numeric.balls import NotCertified, Undecided, above, at_precision, below, enclose, growing_precision, lift
from zcdp.numeric.exact import Value, rational
from zcdp.numeric.functions import derivatives
from zcdp.numeric.supremum import Convex, steepest_ratio
from zcdp.numeric.work import SECOND, within

if TYPE_CHECKING:
    from zcdp.privacy.curve import Curve, Plan

__all__ = [
    "LARGEST_QUICK_ORDER",
    "TOLERANCES",
    "Peak",
    "from_below",
    "is_infinite",
    "quick_divergence",
    "search",
    "searched_rho",
    "sum_of_divergences",
    "summand",
]


QUICK_BITS = 128  # working precision of `quick_divergence`
LARGEST_QUICK_ORDER = 1e15  # The end of the domain. For a float alpha from 1 to 2^53, alpha - 1 is exact as a float.


class Peak(NamedTuple):
    """rho, the supremum over orders of D(alpha)/alpha, and the order alpha that attains it (1 may mean the limit)."""

    rho: arb
    order: arb


def is_infinite(order: Value) -> bool:
    """Whether an order is +inf, given as a number or as text."""
    if isinstance(order, float):
        return order == inf
    if isinstance(order, str):
        return order.strip().lower().removeprefix("+") in ("inf", "infinity")
    if isinstance(order, Decimal):
        return order.is_infinite() and order > 0
    return False


def quick_divergence(cumulant: Callable[[arb], arb], order: float) -> float | None:
    """The Renyi divergence K(s)/s at s = order - 1, rounded up, for 1 < order < 2^53.

    It evaluates K once; None means that this precision did not determine the float.

    >>> quick_divergence(lambda s: s * (1 + s) / 2, 3.0)  # Gaussian noise of rho = 1/2
    1.5
    """

    def attempt() -> float | None:
        s = arb(order - 1.0)
        ball = cumulant(s) / s
        if not ball.is_finite():
            return None
        upper = above(ball)
        return upper if upper <= nextafter(max(below(ball), 0.0), inf) else None

    try:
        return at_precision(QUICK_BITS, attempt)
    except (ArithmeticError, ValueError):  # The caller goes on to `enclose`, which takes more bits or raises.
        return None


# rho of plans whose parts peak at different orders, by a search; and lower ends of rho.

TOLERANCES = 1e-10, 1e-6, 1e-4  # relative widths of the enclosure that are tried in turn
SEARCH_WORK = 2 * SECOND, SECOND, SECOND  # work limits for them, and as much again for each PARTS_PER_SEARCH parts
PARTS_PER_SEARCH = 300
LOOK_WORK = SECOND  # work limit for a lower end at one order
MOST_TRIES = 2  # the number of working precisions that are tried; more seldom help
LAST_BITS_FROM_BELOW = 256  # A lower end is optional, so the precision is raised once only.
ORDERS_FROM_BELOW = 4  # the number of orders at which a lower end of rho is computed before the search


def search(plan: Plan, tolerance: float) -> tuple[float, float]:
    """Certified floats around rho by a search over all orders.

    Parts of unbounded loss, for which the search does not work, are added at their own rho (for Gaussian noise the
    ratio D(alpha)/alpha is rho at every order). The lower end is then the ratio of the whole plan at the order that is
    worst for the other parts, or at order 1.
    """
    bounded = [count * part for part, count in plan.parts if part.pure_epsilon < inf]
    unbounded = [(part.rho_fraction, count) for part, count in plan.parts if part.pure_epsilon == inf]
    if not unbounded:
        return steepest_ratio(plan.convexes, tolerance, most_tries=MOST_TRIES)[:2]
    most, lower = sum((rho * count for rho, count in unbounded), Fraction(0)), enclose(plan.kl)[0]
    if bounded:
        rest = steepest_ratio(plan.sum_of(*bounded).convexes, tolerance, most_tries=MOST_TRIES)
        most, lower = most + Fraction(rest.upper), max(lower, _ratio(plan, Fraction(rest.point)))
    return lower, enclose(lambda: lift(most))[1]


def summand(part: Curve) -> Convex:
    """The cumulant of a part of a plan, as `zcdp.numeric.supremum` takes it."""

    def taylor(s: arb) -> tuple[arb, arb, arb]:
        return derivatives(part.cumulant(arb_series([s, 1], prec=4)))

    return Convex(part.cumulant, part.kl(), arb(part.pure_epsilon), None if part.is_envelope else taylor)


def searched_rho(plan: Plan, upper: float) -> tuple[float, float]:
    """Certified floats around rho, which is at most `upper`; the search runs only if a quick lower end is not close."""
    number = len(plan.parts)
    some = plan.parts[:: -(-number // ORDERS_FROM_BELOW)]
    lower = min(max(_ratio_from_below(plan, part) for part, _ in some), upper)
    for tolerance, work in zip(TOLERANCES, SEARCH_WORK, strict=True):
        if upper == inf or upper - lower <= tolerance * lower:  # The search cannot help if some part has rho = inf.
            break
        try:
            searched = within(work * (1 + number / PARTS_PER_SEARCH), partial(plan.search_rho, tolerance))
        except NotCertified:  # It takes too much work, as with huge counts: try for a wider enclosure.
            continue
        return max(lower, searched[0]), min(upper, searched[1])
    return lower, upper


def _ratio_from_below(plan: Plan, part: Curve) -> float:
    """D(alpha)/alpha of the plan at the order that is worst for one part: a lower end of rho; 0 if it is not known."""
    try:
        order = rational(part.rho_order, "order")
        return within(LOOK_WORK, lambda: _ratio(plan, order - 1))
    except (NotCertified, BadValue):
        return 0.0


def _ratio(plan: Plan, s: Fraction) -> float:
    """D(alpha)/alpha of the plan at alpha = 1 + s, rounded down."""
    return from_below(lambda: plan.cumulant(lift(s)) / (lift(s) * lift(1 + s)) if s else plan.kl())


def sum_of_divergences(plan: Plan, excess: Fraction) -> float:
    """The sum of the parts' Renyi divergences of order 1 + excess, rounded up.

    It can be below the divergence of the summed cumulants, if a part has a better bound than its cumulant gives.
    """
    each = [(part._divergence(excess), count) for part, count in plan.parts]
    if any(one == inf for one, _ in each):
        return inf
    return enclose(lambda: lift(sum((Fraction(one) * count for one, count in each), Fraction(0))))[1]


def from_below(evaluate: Callable[[], arb]) -> float:
    """A certified lower end of a divergence, tight to about six digits if 256 bits suffice; else 0."""
    for _ in growing_precision(last=LAST_BITS_FROM_BELOW):
        try:
            ball = evaluate()
        except Undecided:
            continue
        if ball.is_finite() and ball.rel_accuracy_bits() > 20 and (lower := below(ball)) > 0:
            return lower
    return 0.0
