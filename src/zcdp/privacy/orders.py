"""Orders of divergences: the one of the peak, which are infinite, and floats, answered in one attempt."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from math import inf, nextafter
from typing import NamedTuple

from flint import arb

from zcdp.numeric.balls import above, at_precision, below
from zcdp.numeric.exact import Value

__all__ = ["LARGEST", "Peak", "is_infinite", "quick_divergence"]

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
