"""Whole moves of bounded Euclidean length under discrete Gaussian noise: a Gaussian pair that dominates all of them.

Theorem: docs/theorems/discrete-gaussian-vectors.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
import math
from math import exp, inf, isqrt, pi, sqrt

from flint import arb

from zcdp.numeric.balls import lift
from zcdp.numeric.certify import Undecided
from zcdp.numeric.theta import Theta
from zcdp.privacy.loss import LossLaw, discrete_gaussian_pair, gaussian_pair

__all__ = ["partitions", "whole_normal_pair"]

SHARES = [2 ** (-n / 16) for n in range(1, 400)]
"""Of the variance, in search of the best part to give away."""
Moves = Sequence[tuple[int, int]]
"""So many coordinates that move so far."""


def whole_normal_pair(variance: Fraction, squares: int, neighbours: Sequence[Moves]) -> LossLaw | None:
    """The Gaussian pair for whole moves whose squares add up to at most `squares`; None where there is none.

    Of the variance v a part t is given away: a normal variable of variance v - t, reweighed by theta of t, can be
    rounded at random to the noise. What the weights add is made up for by a slightly larger move.
    """
    try:
        part = _part(float(variance), float(squares))
    except (OverflowError, ZeroDivisionError):  # beyond floats
        return None
    if part is None:
        return None
    given = variance * Fraction(part)

    def curvature() -> arb:
        ripple = Theta(given)(arb(0)) - 1
        excess = squares * ((1 + ripple) / (1 - ripple)).log()
        mu = (squares / lift(variance - given)).sqrt()
        room = mu / 64
        more = excess * (2 * arb.pi()).sqrt() * ((mu + room) ** 2 / 8).exp()
        if not (ripple < 1 and more <= room):
            raise Undecided
        return (mu + more) ** 2

    parts = tuple(tuple((discrete_gaussian_pair(variance, d), n) for n, d in moves) for moves in neighbours)
    return replace(gaussian_pair(curvature), neighbours=parts)


def _part(variance: float, squares: float) -> float | None:
    """The share of the variance to give away for the least mu, in floats; None where none leaves room."""

    def mu(share: float) -> float:
        given, root = variance * share, sqrt(squares / (variance * (1 - share)))
        exponent = math.log(4 * squares * sqrt(2 * pi)) - 2 * pi**2 * given + (root * 65 / 64) ** 2 / 8
        more = exp(exponent) if exponent < 0 else inf
        return root + more if more < root / 65 and 2 * pi**2 * given > 1.5 else inf

    best = min(SHARES, key=mu)
    return best if mu(best) < inf else None


def partitions(squares: int) -> list[Moves]:
    """Some whole moves whose squares add up to this: a few largest parts, and then whatever fits.

    >>> partitions(6)
    [[(1, 2), (2, 1)], [(6, 1)]]
    """
    root, found = isqrt(squares), list[Moves]()
    for largest in sorted({root, (root + 1) // 2, 1}, reverse=True):
        moves: dict[int, int] = {}
        rest, part = squares, largest
        while rest:
            part = min(part, isqrt(rest))
            count = rest // part**2
            moves[part] = moves.get(part, 0) + count
            rest -= count * part**2
        found.append([(count, part) for part, count in moves.items()])
    return found
