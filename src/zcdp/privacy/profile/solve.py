"""The epsilon at which an engine's delta is a given one: proposed by floats, and certified outward from there."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import frexp, inf

from flint import arb

from zcdp.numeric.balls import above
from zcdp.privacy.profile.engine import Engine

__all__ = ["ends_of_epsilon", "solve"]

SAME = -54  # A move by this power of two leaves every float where it is.


def ends_of_epsilon(engine: Engine, order: float, target: arb, top: arb) -> tuple[float, float] | None:
    """Floats around the epsilon at which the engine's delta is the target; None where more bits are needed."""
    least = engine.least
    root = solve(engine.estimate, float(target.log()), float(least), above(top), float(engine.guess))
    upper = _outward(root, lambda e: bool(engine.upper(e) <= target), least, up=True)
    if upper is None and top.is_finite() and not engine.only_rounding:  # What was smoothed in is in the way.
        upper = above(top)
    first = _apart(engine, root, order)
    lower = _outward(root, lambda e: bool(engine.delta(e)[0] >= target), least, up=False, first=first)
    return None if upper is None or lower is None else (lower, upper)


def _apart(engine: Engine, root: float, order: float) -> int:
    """The power of two nearest to how far below the root, as a part of it, the lower end crosses the target."""
    lower, upper = engine.delta(Fraction(root))
    gap = above((upper - lower) / upper / (root * order)) if root and upper > 0 else 0.0
    return frexp(gap)[1] - 1 if 2.0**SAME < gap < 1 else SAME


def _outward(
    root: float, holds: Callable[[Fraction], bool], least: Fraction, *, up: bool, first: int = SAME
) -> float | None:
    """The float nearest to `root`, on the given side, for which `holds` is certain; None if none is near."""
    if root <= least:
        return float(least) if not up or holds(least) else None
    for power in range(first, -2):
        move = 0.0 if power == SAME else 2.0**power  # 2^-53 goes to the next float, or stays
        moved = root * (1 + move if up else 1 - move)
        if moved < least:
            return None if least else 0.0
        if holds(Fraction(moved)):
            return moved
    return None if up else 0.0


def solve(log_delta: Callable[[float], float], target: float, least: float, top: float, guess: float) -> float:
    """The epsilon in [least, top] with log_delta(epsilon) nearest to the target; log_delta is decreasing."""
    if log_delta(least) <= target:
        return least
    low, high = least, top
    if high == inf:
        high = max(2 * guess, 1e-10)
        while log_delta(high) > target:
            low, high = high, 2 * high
    x, before, reach = guess, inf, 1e-6
    for _ in range(200):
        if not low < x < high:
            x = (low + high) / 2
        if not low < x < high:
            break
        value = log_delta(x) - target
        low, high = (x, high) if value > 0 else (low, x)
        ahead = x * (1 + reach)
        slope = (log_delta(ahead) - target - value) / (ahead - x) if ahead < top else 0.0
        move = -value / slope if -inf < slope < 0 else inf
        if abs(move) <= 2e-16 * x or high - low <= 2e-16 * high:
            break
        if abs(value) < before / 2:
            x, before = x + move, abs(value)
        else:  # Near a kink tangents lead nowhere: go by halves, and then with a shorter one.
            x, before, reach = (low + high) / 2, inf, max(reach / 8, 1e-12)
    return x
