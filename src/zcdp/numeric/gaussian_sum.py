"""The mass of a discrete Gaussian beyond an integer, and its second moment, on balls: sums and what they leave out."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from flint import arb, arb_series

from zcdp.numeric.balls import lift, working_bits
from zcdp.numeric.functions import log
from zcdp.numeric.theta import NARROW, Theta

__all__ = ["mass_beyond", "second_moment"]

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


def second_moment(variance: Fraction) -> arb:
    """The mean of x^2 under the same law: by theta, or for narrow noise by the sums, of which no digits cancel.

    Theorem: docs/theorems/accuracy.md.

    >>> second_moment(Fraction(1, 50))       # 2 e^{-25}, nearly
    [2.777588...e-11...]
    """
    square = lift(variance)
    if variance >= NARROW:
        # a tilt by d has the logarithm of a moment d^2/2v + log theta(d), whose second derivative times v^2 it is
        return square + square**2 * 2 * log(Theta(variance)(arb_series([0, 1], prec=3)))[2]
    last = 1 + isqrt(working_bits())
    terms = [(-(arb(x) ** 2) / (2 * square)).exp() for x in range(1, last + 2)]
    # each term, and each term times x^2, is less than half of the one before it
    rest = arb(0).union(4 * terms[-1])
    above = 2 * sum((x * x * term for x, term in enumerate(terms[:-1], 1)), arb(0)) + rest * (last + 1) ** 2
    return above / (1 + 2 * sum(terms[:-1], arb(0)) + rest)
