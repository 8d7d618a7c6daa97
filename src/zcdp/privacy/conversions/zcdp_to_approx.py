"""From rho-zCDP alone to (epsilon, delta): the Renyi curve alpha rho, at its best order."""

from __future__ import annotations

from fractions import Fraction

from zcdp.display.calls import spoken
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import Value, positive_rational, probability
from zcdp.privacy.conversions.rdp_to_approx import rdp_to_delta, rdp_to_epsilon

__all__ = ["zcdp_to_delta", "zcdp_to_epsilon"]


@spoken
def zcdp_to_epsilon(rho: Value, delta: Value) -> float:
    """The epsilon that rho-zCDP gives at `delta`, rounded up.

    Canonne, Kamath and Steinke 2020, Proposition 12; at small delta no formula in rho alone is better by 1e-6.

    >>> zcdp_to_epsilon("0.1", "1e-6")
    2.14193...
    """
    budget = positive_rational(rho, "rho")
    return rdp_to_epsilon(lambda s: lift(budget) * s * (1 + s), probability(delta, "delta"))


@spoken
def zcdp_to_delta(rho: Value, epsilon: Value) -> float:
    """The delta that rho-zCDP gives at `epsilon`, rounded up.

    >>> zcdp_to_delta("0.1", 2)
    4.325...e-06
    """
    budget = positive_rational(rho, "rho")
    point: Fraction = positive_rational(epsilon, "epsilon")
    return rdp_to_delta(lambda s: lift(budget) * s * (1 + s), point)
