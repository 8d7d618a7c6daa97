"""An (epsilon, delta) budget counted at one Renyi order, fixed before anything is spent."""

from __future__ import annotations

from fractions import Fraction
from math import exp, inf, log

from flint import arb

from zcdp.errors import BadValue
from zcdp.numeric.balls import at_precision, below, lift
from zcdp.privacy.curve import Curve

__all__ = ["best_order", "renyi_budget", "renyi_left"]

BITS = 256


def renyi_budget(epsilon: Fraction, delta: Fraction, order: Fraction) -> Fraction:
    """How much divergence of that order may be spent in all, rounded down.

    epsilon + (log delta + log alpha)/(alpha - 1) - log(1 - 1/alpha). Theorem: docs/theorems/renyi-filter.md.

    >>> float(renyi_budget(Fraction(10), Fraction(1, 10**6), Fraction("3.066")))
    4.24996...
    """
    least = renyi_left(epsilon, delta, order)
    if not 0 < least < inf:
        raise BadValue(
            f"order ({float(order):g}) leaves nothing of epsilon = {float(epsilon):g} at delta = {float(delta):g}: "
            "take a larger order"
        )
    return Fraction(least)


def renyi_left(epsilon: Fraction, delta: Fraction, order: Fraction) -> float:
    """The same formula, rounded down, where it need not be positive: nothing may be spent then.

    >>> renyi_left(Fraction(1), Fraction(1, 10**6), Fraction(2)) < 0
    True
    """
    if order <= 1:
        raise BadValue(f"order ({order}) must be above 1")

    def budget() -> arb:
        alpha = lift(order)
        return lift(epsilon) + (lift(delta).log() + alpha.log()) / (alpha - 1) - (1 - 1 / alpha).log()

    return at_precision(BITS, lambda: below(budget()))


def best_order(workload: Curve, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The order, to six digits, at which the budget pays for the most of such a workload: any other is as sound.

    >>> from zcdp import RandomizedResponse
    >>> best_order(RandomizedResponse(epsilon=1, k=1000), Fraction(10), Fraction(1, 10**6))
    Fraction(..., ...)
    """
    target, chance = float(epsilon), log(delta)

    def pays_for(s: float) -> float:
        """Times that the workload fits, in floats; 0 where nothing does."""
        budget = target + (chance + log(1 + s)) / s - log(s / (1 + s))
        return budget / max(float(workload.rdp(1 + s)), 1e-300) if budget > 0 else 0.0

    steps = [n / 8 for n in range(-64, 97)]  # from e^-8 to e^12
    top = max(steps, key=lambda u: pays_for(exp(u)))
    if pays_for(exp(top)) == 0:
        raise BadValue(f"no order leaves anything of epsilon = {target:g} at delta = {float(delta):g}")
    low, high = top - 1 / 8, top + 1 / 8
    while high - low > 1e-7:
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (left, high) if pays_for(exp(left)) < pays_for(exp(right)) else (low, right)
    return Fraction(f"{1 + exp((low + high) / 2):.6g}")
