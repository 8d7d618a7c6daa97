"""rho where no theorem gives it: of parts that peak at different orders, and from below by a concrete pair."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from flint import arb, arb_series

from zcdp.errors import BadValue
from zcdp.numeric.balls import at_precision, below, lift
from zcdp.numeric.certify import NotCertified, Undecided, enclose
from zcdp.numeric.exact import rational
from zcdp.numeric.functions import derivatives
from zcdp.numeric.supremum import Convex, steepest_ratio
from zcdp.numeric.work import SECOND, within

if TYPE_CHECKING:
    from zcdp.privacy.curve import Curve
    from zcdp.privacy.plan import Plan

__all__ = ["TOLERANCES", "from_below", "search", "searched_rho", "sum_of_divergences", "summand"]

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
