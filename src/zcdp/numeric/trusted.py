"""Doubles that code goes on to trust: made only from balls that are thin, whatever became of the working precision.

A wide ball is never wrong, but its midpoint may be far from the truth. Another thread can set flint's precision at any
moment, and a table outlives it: so no midpoint becomes a double unless its radius has been looked at, here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from flint import arb

from zcdp.numeric.balls import Undecided, at_precision
from zcdp.numeric.certify import NotCertified

__all__ = ["settled", "thin", "trusted"]

T = TypeVar("T")

KNOWN_BITS = 60
FIRST_BITS = 128
LAST_BITS = 1 << 13


def thin(ball: arb, *, within: float = 0.0) -> arb:
    """The ball, if its radius is at most 2^-60 of its size or at most `within`; else raises `Undecided`.

    >>> thin(arb(1) / 4)
    0.250000000000000
    """
    if ball.is_finite() and (ball.rel_accuracy_bits() >= KNOWN_BITS or ball.rad() <= within):
        return ball
    raise Undecided


def trusted(ball: arb, *, within: float = 0.0) -> float:
    """The float nearest to a thin ball: off by at most 2^-52 of itself, or `within` and 2^-1074; else `Undecided`.

    >>> trusted(arb(1) / 4)
    0.25
    """
    return float(thin(ball, within=within).mid())


def settled(evaluate: Callable[[], T], *, bits: int = FIRST_BITS) -> T:
    """Run `evaluate` at growing precision until nothing in it is undecided; `NotCertified` if that never is so.

    >>> settled(lambda: trusted(1 - (-arb(2) ** -300).exp()) * 2.0**300)
    1.0
    """
    while bits <= LAST_BITS:
        try:
            return at_precision(bits, evaluate)
        except Undecided:
            bits *= 2
    raise NotCertified(
        f"a number is not known to {KNOWN_BITS} bits at a working precision of {LAST_BITS}: "
        "another thread may be setting flint's precision"
    )
