"""Orders of divergences: the one of the peak, which are infinite, and floats, answered in one attempt."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from math import inf, nextafter
from typing import TYPE_CHECKING, NamedTuple

from flint import arb, arb_series

from zcdp.errors import BadValue
from zcdp.numeric.balls import NotCertified, Undecided, above, at_precision, below, enclose, lift
from zcdp.numeric.exact import Value, rational
from zcdp.numeric.functions import derivatives
from zcdp.numeric.supremum import Convex, steepest_ratio
from zcdp.numeric.work import SECOND, within

if TYPE_CHECKING:
    from zcdp.privacy.curve import Curve
    from zcdp.privacy.plan import Plan

__all__ = [
    "LARGEST",
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


BITS = 128
LARGEST = 2.0**53  # Below it and above 1, a float less 1 is a float: both are multiples of its last place.


class Peak(NamedTuple):
    """The supremum over orders of D(alpha)/alpha, and the order that attains it (1: in the limit)."""

    rho: arb
    order: arb


def is_infinite(order: Value) -> bool:
    """Whether it is +inf, as a number or in words."""
    if isinstance(order, float):
        return order == inf
    if isinstance(order, str):
        return order.strip().lower().removeprefix("+") in ("inf", "infinity")
    if isinstance(order, Decimal):
        return order.is_infinite() and order > 0
    return False


def quick_divergence(cumulant: Callable[[arb], arb], order: float) -> float | None:
    """K(s)/s at s = order - 1, rounded up, for 1 < order < 2^53; None where this precision does not pin it down.

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
        return at_precision(BITS, attempt)
    except (ArithmeticError, ValueError):  # `enclose` says what is wrong, or does better with more bits.
        return None


# rho where no theorem gives it: of parts that peak at different orders, and from below by a concrete pair.

TOLERANCES = 1e-10, 1e-6, 1e-4  # The search over orders is asked for the first, then for the second, and the third.
SEARCHES = 2 * SECOND, SECOND, SECOND  # what these may take, and as much again for each MANY kinds
MANY = 300
LOOK = SECOND // 4  # and a look from below at one order
TRIES = 2  # More bits seldom tell more, and any enclosure is as sound.
ORDERS = 4  # At so many orders a sum of many parts is looked at from below.


def search(plan: Plan, tolerance: float) -> tuple[float, float]:
    """Floats around rho by a certified search over all orders.

    Parts of unbounded loss go in at their own rho (Gaussian noise has it at every order); the lower end is then what
    the whole costs where the rest costs most, and at order 1.
    """
    bounded = [count * part for part, count in plan.parts if part.pure_epsilon < inf]
    unbounded = [(part.rho_fraction, count) for part, count in plan.parts if part.pure_epsilon == inf]
    if not unbounded:
        return steepest_ratio(plan.convexes, tolerance, most_tries=TRIES)[:2]
    most, lower = sum((rho * count for rho, count in unbounded), Fraction(0)), enclose(plan.kl)[0]
    if bounded:
        rest = steepest_ratio(plan.sum_of(*bounded).convexes, tolerance, most_tries=TRIES)
        most, lower = most + Fraction(rest.upper), max(lower, _ratio(plan, Fraction(rest.point)))
    return lower, enclose(lambda: lift(most))[1]


def summand(part: Curve) -> Convex:
    """A part of a plan as the search sees it."""

    def taylor(s: arb) -> tuple[arb, arb, arb]:
        return derivatives(part.cumulant(arb_series([s, 1], prec=4)))

    return Convex(part.cumulant, part.kl(), arb(part.pure_epsilon), None if part.is_envelope else taylor)


def searched_rho(plan: Plan, upper: float) -> tuple[float, float]:
    """Floats around rho, which is at most `upper`: by the search, where anything is left to find."""
    number = len(plan.parts)
    some = plan.parts[:: -(-number // ORDERS)]
    lower = min(max(_ratio_from_below(plan, part) for part, _ in some), upper)
    for tolerance, work in zip(TOLERANCES, SEARCHES, strict=True):
        if upper == inf or upper - lower <= tolerance * lower:  # No search makes an infinite part finite.
            break
        try:
            searched = within(work * (1 + number / MANY), partial(plan.search_rho, tolerance))
        except NotCertified:  # It takes too long, as where counts are huge: any enclosure is as sound.
            continue
        return max(lower, searched[0]), min(upper, searched[1])
    return lower, upper


def _ratio_from_below(plan: Plan, part: Curve) -> float:
    """D(alpha)/alpha where it is largest for a part: it bounds rho from below; 0 where it is not known."""
    try:
        order = rational(part.rho_order, "order")
        return within(LOOK, lambda: _ratio(plan, order - 1))
    except (NotCertified, BadValue):
        return 0.0


def _ratio(plan: Plan, s: Fraction) -> float:
    """D(alpha)/alpha at alpha = 1 + s, rounded down."""
    return enclose(lambda: plan.cumulant(lift(s)) / (lift(s) * lift(1 + s)) if s else plan.kl())[0]


def sum_of_divergences(plan: Plan, excess: Fraction) -> float:
    """That of all parts at one order, rounded up: each of them may know more than its curve."""
    each = [(part._divergence(excess), count) for part, count in plan.parts]
    if any(one == inf for one, _ in each):
        return inf
    return enclose(lambda: lift(sum((Fraction(one) * count for one, count in each), Fraction(0))))[1]


def from_below(evaluate: Callable[[], arb]) -> float:
    """A float below the value, to some digits if 256 bits give them; else 0, which bounds every divergence."""

    def attempt() -> float:
        ball = evaluate()
        return max(below(ball), 0.0) if ball.is_finite() and ball.rel_accuracy_bits() > 20 else 0.0

    for bits in (128, 256):
        try:
            if lower := at_precision(bits, attempt):
                return lower
        except Undecided:
            continue
    return 0.0
