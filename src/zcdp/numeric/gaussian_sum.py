"""The mass of a discrete Gaussian beyond an integer, on balls: a sum, or an integral and what it leaves out."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from zcdp.numeric.balls import lift
from zcdp.numeric.theta import Theta

__all__ = ["mass_beyond"]

MOST_TERMS = 1 << 14


def mass_beyond(h: int, variance: Fraction) -> arb:
    """The probability that |x| > h, for mass proportional to exp(-x^2/(2 variance)) on the integers.

    A sum of h terms, or for large h by Euler and Maclaurin's formula to the third derivative: then the ball has a
    radius of 0.0125 sigma^-3. Theorem: docs/theorems/accuracy.md.

    >>> mass_beyond(1, Fraction(1))          # 1 - (1 + 2 e^{-1/2})/2.5066...
    [0.11711...]
    """
    twice = 2 * lift(variance)
    whole = (arb.pi() * twice).sqrt() * Theta(variance)(arb(0))
    if h <= MOST_TERMS:
        # e^{-(x+1)^2/2v} = e^{-x^2/2v} e^{-(2x+1)/2v}: two products a term
        ratio, square = (-1 / twice).exp(), (-2 / twice).exp()
        term, inside = arb(1), arb(1)
        for _ in range(h):
            term = term * ratio
            ratio = ratio * square
            inside = inside + 2 * term
        return 1 - inside / whole
    edge = (-(arb(h) ** 2) / twice).exp()
    inside = (arb.pi() * twice).sqrt() * (h / twice.sqrt()).erf() + edge - edge * h / (3 * twice)
    by_formula = 1 - (inside + arb(0, (arb("0.0304") * 2 / twice).upper())) / whole
    # the density falls, so that the tail lies between two integrals of it
    least, most = (((h + step) / twice.sqrt()).erfc() * (arb.pi() * twice).sqrt() / whole for step in (1, 0))
    between = least.union(most)
    return by_formula.intersection(between)
