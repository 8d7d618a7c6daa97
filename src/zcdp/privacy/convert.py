"""From a Renyi curve, or from rho alone, to (epsilon, delta): the conversion of Canonne, Kamath and Steinke 2020.

This is the Chernoff bound, or moments accountant, of a composition: the RDP route. The order alpha is optimised over
all reals, not over a grid. The search is heuristic; the answer at the order found
is certified.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor, frexp, inf, ldexp
from typing import Any, TypeAlias

from flint import arb

from zcdp.errors import BadValue
from zcdp.numeric.balls import Undecided, at_precision, enclose, growing_precision, lift
from zcdp.numeric.exact import Value, positive_rational, probability, rational
from zcdp.numeric.functions import tail_factor
from zcdp.numeric.parameter_domains import unlimited
from zcdp.numeric.search import false_position
from zcdp.numeric.work import SECOND, TooMuchWork, within
from zcdp.text.calls import spoken

__all__ = ["rdp_to_delta", "rdp_to_epsilon", "zcdp_to_delta", "zcdp_to_epsilon"]


CORNER_STEPS = 1 << 13  # Curves made of chords have their corners at s = n 2^(k - 13), n < 2^13.
LAST_HEURISTIC_BITS = 4096  # the highest working precision of the search for s; the answer is certified at any s
SEARCH_WORK, ANSWER_WORK = SECOND, 2 * SECOND  # work limits of the search for s, and of the certified answer at it

Cumulant: TypeAlias = Callable[[Any], Any]
"""K(s) for real balls, complex balls and series: a generic Callable[[Number], Number], which cannot be typed."""


def rdp_to_epsilon(cumulant: Cumulant, delta: Fraction, *, guess: float = 1.0, worth: float = inf) -> float:
    """Certified epsilon at `delta`: min over s > 0 of ( K(s) + s log s - (1+s) log(1+s) - log delta )/s, rounded up.

    Canonne, Kamath and Steinke 2020, Proposition 12. Theorem: docs/theorems/rdp-to-approx.md.
    `guess` is a value of s near the best one. If it gives more than `worth`, it is not refined, because the caller
    knows a smaller epsilon already.

    >>> rdp_to_epsilon(lambda s: s * (1 + s) / 2, Fraction(1, 10**6))  # rho = 1/2
    5.221534...
    """

    def exponent(s: Any) -> Any:
        return cumulant(s) + tail_factor(s) - lift(delta).log()

    def rising(s: float) -> float:
        """s^2 times the slope of exponent(s)/s, heuristic; it increases in s, because the exponent is convex."""
        value, slope = _slope(exponent, s)
        return float((s * slope - value).mid())

    best = arb(guess)
    if guess == 1.0 or enclose(lambda: (exponent(best) / best).max(arb(0)))[0] < worth:  # else any s will do
        best = _corner(lambda s: exponent(s) / s, _best_s(rising, guess))
    return within(ANSWER_WORK, lambda: enclose(lambda: (exponent(best) / best).max(arb(0))))[1]


def rdp_to_delta(cumulant: Cumulant, epsilon: Fraction, *, guess: float = 1.0) -> float:
    """Certified delta at `epsilon`: min over s > 0 of exp( K(s) - s epsilon + s log s - (1+s) log(1+s) ), rounded up.

    >>> rdp_to_delta(lambda s: s * (1 + s) / 2, Fraction(5))
    2.896...e-06
    """

    def exponent(s: Any) -> Any:
        return cumulant(s) + tail_factor(s) - s * lift(epsilon)

    best = _corner(exponent, _best_s(lambda s: float(_slope(exponent, s)[1].mid()), guess))
    return min(within(ANSWER_WORK, lambda: enclose(lambda: exponent(best).exp()))[1], 1.0)


def _slope(exponent: Cumulant, s: float) -> tuple[arb, arb]:
    """Value and heuristic slope at s, by a difference quotient, because not every curve has a Taylor series."""
    here, step = arb(s), arb(s) * arb(2) ** -50
    value = exponent(here)
    return value, (exponent(here + step) - value) / step


def _best_s(rising: Callable[[float], float], guess: float) -> float:
    """Heuristic root s of `rising` to nine digits, or the best s found within the work limit.

    The answer is certified at any s; a poor s only makes it less tight.
    """
    nearest = inf, guess

    def noted(s: float) -> float:
        nonlocal nearest
        value = rising(s)
        nearest = min(nearest, (abs(value), s))
        return value

    for _ in growing_precision(256, last=LAST_HEURISTIC_BITS, factor=4):
        try:
            return within(SEARCH_WORK, lambda: false_position(noted, guess=guess, step=1.25, tolerance=1e-9))
        except TooMuchWork:
            break
        except Undecided:
            continue
    return nearest[1]


def _corner(value: Cumulant, s: float) -> arb:
    """The best of s and its two neighbours of 13 bits, heuristic.

    If K is piecewise linear (made of chords), the minimum is at one of its corners, and these have 13 bits.
    """
    mantissa, exponent = frexp(s)
    corners = [arb(ldexp(round_(mantissa * CORNER_STEPS) / CORNER_STEPS, exponent)) for round_ in (floor, ceil)]
    try:
        return min((arb(s), *corners), key=lambda point: at_precision(256, lambda: float(value(point).mid())))
    except Undecided:
        return arb(s)


# From rho-zCDP alone to (epsilon, delta): the conversions above for the Renyi curve D(alpha) = alpha rho.


@spoken
def zcdp_to_epsilon(rho: Value, delta: Value) -> float:
    """The epsilon that rho-zCDP gives at `delta`, rounded up.

    Canonne, Kamath and Steinke 2020, Proposition 12; at small delta no formula in rho alone is better by 1e-6.

    >>> zcdp_to_epsilon("0.1", "1e-6")
    2.14193...
    """
    budget = _total(rho)
    return rdp_to_epsilon(lambda s: lift(budget) * s * (1 + s), probability(delta, "delta"))


@spoken
def zcdp_to_delta(rho: Value, epsilon: Value) -> float:
    """The delta that rho-zCDP gives at `epsilon`, rounded up.

    >>> zcdp_to_delta("0.1", 2)
    4.325...e-06
    """
    budget = _total(rho)
    point = rational(epsilon, "epsilon")
    if point <= 0:
        raise BadValue(f"epsilon ({epsilon}) must be positive")
    return rdp_to_delta(lambda s: lift(budget) * s * (1 + s), point)


@unlimited
def _total(rho: Value) -> Fraction:
    """A rho above zero, of whatever size: it may be that of 10^12 uses."""
    return positive_rational(rho, "rho")
