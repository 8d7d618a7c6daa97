"""From a Renyi curve to (epsilon, delta): the best order of all, not of a grid, and certified at it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flint import arb

from zcdp.numeric.balls import lift
from zcdp.numeric.certify import enclose

__all__ = ["rdp_to_delta", "rdp_to_epsilon", "tail_factor"]

Cumulant = Callable[[arb], arb]


def tail_factor(s: arb) -> arb:
    """log max over u of (1 - e^{-u}) e^{-s u} = s log s - (1+s) log(1+s)."""
    return s * s.log() - (1 + s) * (1 + s).log()


def rdp_to_epsilon(cumulant: Cumulant, delta: Fraction) -> float:
    """Least over s > 0 of ( K(s) + s log s - (1+s) log(1+s) - log delta )/s, rounded up.

    Canonne, Kamath and Steinke 2020, Proposition 12. Theorem: docs/theorems/rdp-to-approx.md.

    >>> rdp_to_epsilon(lambda s: s * (1 + s) / 2, Fraction(1, 10**6))  # rho = 1/2
    5.221533...
    """

    def exponent(s: arb) -> arb:
        return cumulant(s) + tail_factor(s) - lift(delta).log()

    best = _best_order(lambda s: s * _slope(exponent, s) - exponent(s))
    return max(enclose(lambda: (exponent(arb(best)) / best).max(arb(0)))[1], 0.0)


def rdp_to_delta(cumulant: Cumulant, epsilon: Fraction) -> float:
    """Least over s > 0 of exp( K(s) - s epsilon + s log s - (1+s) log(1+s) ), rounded up.

    >>> rdp_to_delta(lambda s: s * (1 + s) / 2, Fraction(5))
    2.98...e-06
    """

    def exponent(s: arb) -> arb:
        return cumulant(s) + tail_factor(s) - s * lift(epsilon)

    best = _best_order(lambda s: _slope(exponent, s))
    return min(enclose(lambda: exponent(arb(best)).exp())[1], 1.0)


def _slope(function: Cumulant, s: arb) -> arb:
    step = s * arb(2) ** -40
    return (function(s + step) - function(s - step)) / (2 * step)


def _best_order(increasing: Cumulant) -> float:
    """The root s > 0 of an increasing function, to nine digits: any s at all gives a certified answer."""
    from zcdp.numeric.balls import at_precision

    def search() -> float:
        def below_root(s: float) -> bool:
            return bool(increasing(arb(s)) < 0)

        low = high = 1.0
        factor = 4.0
        if below_root(1.0):
            while high < 1e300 and below_root(high):
                low, high, factor = high, min(high * factor, 1e300), min(factor * factor, 1e16)
        else:
            while low > 1e-300 and not below_root(low):
                low, high, factor = max(low / factor, 1e-300), low, min(factor * factor, 1e16)
        while high > low * (1 + 1e-9):
            middle = low * (high / low) ** 0.5
            low, high = (middle, high) if below_root(middle) else (low, middle)
        return low

    return at_precision(256, search)
