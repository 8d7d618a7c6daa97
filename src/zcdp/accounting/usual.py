"""What other accounting charges for the same queries: epsilon^2/2 and epsilon tanh(epsilon/2)."""

from __future__ import annotations

from math import inf, tanh

from zcdp.mechanisms import Mechanism
from zcdp.privacy.curve import Curve

__all__ = ["MOST_USES", "PURE", "SQUARE", "usual"]

MOST_USES = 10**300  # for floats
SQUARE, EIGHTH, PURE = "epsilon^2/2", "epsilon^2/8", "epsilon tanh(epsilon/2)"


def usual(curve: Curve, count: int = 1) -> dict[str, float | None]:
    """rho of `count` uses under the bounds in use elsewhere: floats to compare with, not guarantees.

    epsilon^2/2 is what is charged for any pure DP mechanism (epsilon^2/8 for bounded range), epsilon tanh(epsilon/2)
    the best bound that knows nothing but epsilon. Without a pure epsilon, as for Gaussian noise, there is none: None.

    >>> from zcdp import Laplace
    >>> usual(Laplace(epsilon=1), 2)
    {'epsilon^2/2': 1.0, 'epsilon tanh(epsilon/2)': 0.924234...}
    """
    square, pure, divisors = 0.0, 0.0, set()
    for part, times in curve.parts:
        assert isinstance(part, Mechanism)
        divisor = part.usual_divisor()
        divisors.add(divisor)
        for steps, epsilon in part.usual_losses():
            if epsilon == inf:
                return {SQUARE: None, PURE: None}
            uses = count * times * steps
            if uses > MOST_USES:  # Nothing to compare with is left in floats.
                return {SQUARE: None, PURE: None}
            square += uses * (epsilon * epsilon) / divisor
            pure += uses * epsilon * tanh(epsilon / 2)
    first = EIGHTH if divisors == {8} else SQUARE
    return {name: value if 0 < value < inf else None for name, value in ((first, square), (PURE, pure))}
