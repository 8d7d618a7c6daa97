"""Where a decreasing function of a float meets a target: by tangents, and by halves where they lead nowhere."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

__all__ = ["solve"]


def solve(falling: Callable[[float], float], target: float, least: float, top: float, guess: float) -> float:
    """The x in [least, top] at which a decreasing function is nearest to the target, to the last bits: a proposal."""
    if falling(least) <= target:
        return least
    low, high = least, top
    if high == inf:
        high = max(2 * guess, 1e-10)
        while falling(high) > target:
            low, high = high, 2 * high
    x, before, reach = guess, inf, 1e-6
    for _ in range(200):
        if not low < x < high:
            x = (low + high) / 2
        if not low < x < high:
            break
        value = falling(x) - target
        low, high = (x, high) if value > 0 else (low, x)
        ahead = x * (1 + reach)
        slope = (falling(ahead) - target - value) / (ahead - x) if ahead < top else 0.0
        move = -value / slope if -inf < slope < 0 else inf
        if abs(move) <= 2e-16 * x or high - low <= 2e-16 * high:
            break
        if abs(value) < before / 2:
            x, before = x + move, abs(value)
        else:  # Near a kink tangents lead nowhere: go by halves, and then with a shorter one.
            x, before, reach = (low + high) / 2, inf, max(reach / 8, 1e-12)
    return x
