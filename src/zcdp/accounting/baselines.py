"""What others charge: rho and epsilon of the same queries by bounds and accountants in use elsewhere.

Floats for comparison only, not guarantees. What these bounds know of a mechanism is in its class: `usual_losses`,
`usual_divisor` and `known_elsewhere`.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp, inf, log, log1p, sqrt, tanh

from zcdp.mechanisms import Mechanism
from zcdp.mechanisms.noise.own_noise import DensityNoise
from zcdp.numeric.exact import Value
from zcdp.privacy.convert import zcdp_to_epsilon
from zcdp.privacy.curve import Curve, Plan

__all__ = [
    "ADVANCED",
    "EIGHTH",
    "PURE",
    "PURE_SUM",
    "RENYI",
    "RHOS",
    "SQUARE",
    "SQUARES",
    "elsewhere",
    "usual",
    "usual_total",
]


SQUARE, EIGHTH, PURE = "epsilon^2/2", "epsilon^2/8", "epsilon tanh(epsilon/2)"


def _mechanisms(curve: Curve) -> list[tuple[Mechanism, int]]:
    """The mechanisms of a plan with their counts."""
    found = []
    for part, count in curve.parts:
        assert isinstance(part, Mechanism)
        found.append((part, count))
    return found


def usual(curve: Curve, count: int = 1) -> dict[str, float | None]:
    """rho of `count` uses by the usual bounds.

    epsilon^2/2 is the usual bound for any pure DP mechanism (epsilon^2/8 for bounded range), epsilon tanh(epsilon/2)
    the best bound from epsilon alone. Both are None without a pure epsilon, as for Gaussian noise.

    >>> from zcdp import Laplace
    >>> usual(Laplace(epsilon=1), 2)
    {'epsilon^2/2': 1.0, 'epsilon tanh(epsilon/2)': 0.924234...}
    """
    square, pure, parts = 0.0, 0.0, _mechanisms(curve)
    for part, times in parts:
        for steps, epsilon in part.usual_losses():
            uses = count * times * steps
            if epsilon == inf:
                return {SQUARE: None, PURE: None}
            square += uses * (epsilon * epsilon) / part.usual_divisor()
            pure += uses * epsilon * tanh(epsilon / 2)
    first = EIGHTH if all(part.usual_divisor() == 8 for part, _ in parts) else SQUARE
    return {name: value if 0 < value < inf else None for name, value in ((first, square), (PURE, pure))}


def usual_total(plan: Curve, delta: Value) -> dict[str, dict[str, float]]:
    """rho by the usual bounds, summed over the parts of a plan, and the epsilon at delta that zCDP gives for it.

    A part without a usual bound is charged its own rho. The answer is empty if no part is pure DP, as epsilon^2/2
    says nothing about Gaussian noise.
    """
    if all(part.pure_epsilon == inf for part, _ in plan.parts):
        return {}
    sums = {SQUARE: 0.0, PURE: 0.0}
    for part, count in plan.parts:
        for name, charge in zip(sums, usual(part, count).values(), strict=True):
            sums[name] += part.rho * count if charge is None else charge
    return {
        name: {"rho": rho, "epsilon": zcdp_to_epsilon(rho, delta) if 0 < rho < inf else rho}
        for name, rho in sums.items()
    }


# epsilon at delta of a whole plan by the methods that a careful user has without this library.

PURE_SUM = "pure epsilons added up"
ADVANCED = "advanced composition"
SQUARES = "epsilon^2/2 each (zCDP)"
RHOS = "rho added up (zCDP)"
RENYI = "RDP on a grid of orders"
# the grid of Renyi orders that RDP accountants typically use
ORDERS = (1.1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 48, 64, 128, 256, 512)
MOST_KINDS_FOR_RDP = 200
"""For a plan of more different mechanisms the RDP baseline is left out: it would take too long."""


def elsewhere(plan: Plan, delta: Fraction) -> dict[str, float]:
    """epsilon at delta by each method in use elsewhere.

    The methods: pure epsilons added up; advanced composition (Kairouz, Oh and Viswanath 2015); zCDP with epsilon^2/2
    for each part (epsilon^2/8 for bounded range, Gaussian noise at its own rho), converted at the best order; and RDP
    on a grid of orders, with the true Renyi curves of Laplace and Gaussian noise and of randomized response, and for
    every other mechanism the curve of pure DP.

    >>> from zcdp import Laplace
    >>> found = elsewhere(Plan.sum_of(Laplace(epsilon=1)), Fraction(1, 10**6))
    >>> [round(value, 2) for value in found.values()], min(found, key=found.get)
    ([1.0, 5.72, 5.22, 1.01], 'pure epsilons added up')
    """
    parts = _mechanisms(plan)
    losses = [(count * steps, loss) for part, count in parts for steps, loss in part.usual_losses()]
    found: dict[str, float] = {}
    chance = log(1 / delta)
    if all(loss < inf for _, loss in losses):
        found[PURE_SUM] = sum(count * loss for count, loss in losses)
        spread = sqrt(2 * chance * sum(count * loss * loss for count, loss in losses))
        found[ADVANCED] = sum(count * loss * tanh(loss / 2) for count, loss in losses) + spread
    squares = 0.0
    for part, count in parts:
        charge = next(iter(usual(part, count).values()))
        squares += part.rho * count if charge is None else charge
    if 0 < squares < inf:
        some = any(loss < inf for _, loss in losses)
        found[SQUARES if some else RHOS] = zcdp_to_epsilon(squares, delta)
    if len(parts) <= MOST_KINDS_FOR_RDP:
        best = min(_converted(parts, order, chance) for order in ORDERS)
        if best < inf:
            found[RENYI] = best
    return {name: value for name, value in found.items() if value < inf}


def _converted(parts: list[tuple[Mechanism, int]], order: float, chance: float) -> float:
    """epsilon from RDP at one order, by the conversion of Canonne, Kamath and Steinke 2020; chance = log(1/delta)."""
    total = sum(count * _divergence(part, order) for part, count in parts)
    return max(total + log1p(-1 / order) + (chance - log(order)) / (order - 1), 0.0)


def _divergence(part: Mechanism, order: float) -> float:
    """The Renyi divergence of one use at this order, as other accountants know it."""
    if isinstance(part, DensityNoise) and part.pure_epsilon == inf:
        return order * part.rho  # of noise of one's own density no other accountant has a curve
    if part.known_elsewhere or part.pure_epsilon == inf:
        return float(part.rdp(order))
    if part.usual_divisor() > 2:  # for bounded range others use rho = epsilon^2/8
        return order * sum(steps * loss * loss / part.usual_divisor() for steps, loss in part.usual_losses())
    return sum(steps * _pure(loss, order) for steps, loss in part.usual_losses())


def _pure(epsilon: float, order: float) -> float:
    """The Renyi divergence of binary randomized response, the largest of all epsilon-DP mechanisms."""
    s = order - 1
    # log(p^order q^-s + q^order p^-s)/s with p = e^epsilon/(1 + e^epsilon), q = 1 - p; the larger term is factored out
    return epsilon + (log1p(exp(-(2 * order - 1) * epsilon)) - log1p(exp(-epsilon))) / s if epsilon < 700 else epsilon
