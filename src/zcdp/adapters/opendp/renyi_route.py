"""Conversion of a Renyi curve, given as a function of the order alpha, to (epsilon, delta): the Chernoff bound.

Every order gives a valid bound, which is certified; the search for a good order is heuristic.
Theorem: docs/theorems/rdp-to-approx.md.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp, inf, isfinite

from flint import arb

from zcdp.errors import BadValue
from zcdp.numeric.balls import enclose, lift
from zcdp.numeric.exact import Value, probability, rational
from zcdp.numeric.functions import tail_factor

__all__ = ["renyi_delta", "renyi_epsilon"]


Curve = Callable[[float], float]
LEAST_LOG_S, LARGEST_LOG_S, GRID_STEPS, TERNARY_STEPS = -8.0, 12.0, 40, 30
"""The search runs over log(s), s = alpha - 1: on a grid with this many steps, then by ternary search."""


def renyi_epsilon(curve: Curve, delta: Value) -> float:
    """The smallest certified epsilon at delta over the orders that were tried, rounded up.

    >>> renyi_epsilon(lambda order: order / 2, "1e-6")  # rho = 1/2
    5.22153...
    """
    target = probability(delta, "delta")

    def at(s: Fraction, divergence: Fraction) -> float:
        def epsilon() -> arb:
            return (lift(divergence) + (tail_factor(lift(s)) - lift(target).log()) / lift(s)).max(arb(0))

        return enclose(epsilon)[1]

    return _least_bound(curve, at)


def renyi_delta(curve: Curve, epsilon: Value) -> float:
    """The smallest certified delta at epsilon over the orders that were tried, rounded up.

    >>> renyi_delta(lambda order: order / 2, 5)
    2.896...e-06
    """
    point = rational(epsilon, "epsilon")
    if point < 0:
        raise BadValue(f"epsilon ({epsilon}) must not be negative")

    def at(s: Fraction, divergence: Fraction) -> float:
        def delta() -> arb:
            return (lift(s) * lift(divergence - point) + tail_factor(lift(s))).exp()

        return enclose(delta)[1]

    return min(_least_bound(curve, at), 1.0)


def _least_bound(curve: Curve, at: Callable[[Fraction, Fraction], float]) -> float:
    """The least bound `at(s, divergence)` found on a grid of log(s), then by ternary search around the best point."""

    def value(place: float) -> float:
        order = 1 + exp(place)
        divergence = curve(order)
        if not isfinite(divergence):
            return inf
        if divergence < 0:
            raise BadValue(f"the curve ({divergence} at order {order}) must not be negative")
        return at(Fraction(order) - 1, Fraction(divergence))

    step = (LARGEST_LOG_S - LEAST_LOG_S) / GRID_STEPS
    best = min((value(LEAST_LOG_S + n * step), LEAST_LOG_S + n * step) for n in range(GRID_STEPS + 1))
    low, high = best[1] - step, best[1] + step
    for _ in range(TERNARY_STEPS):
        one, other = low + (high - low) / 3, high - (high - low) / 3
        tried = (value(one), one), (value(other), other)
        best = min(best, *tried)
        low, high = (low, other) if tried[0] <= tried[1] else (one, high)
    return best[0]
