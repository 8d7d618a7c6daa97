"""Pieces of certified quadrature: Gauss-Legendre rules, and the largest value of a parabola."""

from __future__ import annotations

from functools import cache

from flint import arb

__all__ = ["highest_parabola", "legendre"]


def highest_parabola(second: arb, first: arb, left: arb, right: arb) -> arb:
    """Not below the maximum of second x^2 + first x between left and right, second <= 0."""

    def at(x: arb) -> arb:
        return (second * x + first) * x

    slopes = 2 * second * left + first, 2 * second * right + first
    if slopes[0] <= 0:
        return at(left)
    if slopes[1] >= 0:
        return at(right)
    if second < 0:
        return -first * first / (4 * second)
    return at(left).max(at(right))


@cache
def legendre(points: int, bits: int) -> list[tuple[arb, arb]]:
    """Places and weights of the Gauss-Legendre rule, at the working precision, which the caller names."""
    del bits
    return [arb.legendre_p_root(points, k, weight=True) for k in range(points)]
