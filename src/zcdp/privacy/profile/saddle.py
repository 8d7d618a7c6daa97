"""Where to put the contour, and roughly where epsilon is: proposals, on which only speed and tightness rest."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import inf, log, log1p

from flint import arb

from zcdp.numeric.balls import lift
from zcdp.numeric.crossing import crossing
from zcdp.privacy.profile.transform import Transform

__all__ = ["line_for_delta", "line_for_epsilon", "saddle_estimate", "solve"]


def _exponent(transform: Transform, c: arb, *, sample: bool = False) -> tuple[arb, arb, arb]:
    """K(c) - log(c(1+c)) with slope and second derivative, by differences; of all parts or of a sample."""
    if transform.quick:
        level, slope, bend = transform.estimate(float(c))
        near, far = 1 / c, 1 / (1 + c)
        return (level - (c * (1 + c)).log()).mid(), (slope - near - far).mid(), (bend + near * near + far * far).mid()

    def value(x: arb) -> arb:
        log_moment = transform.sample_log_moment(x) if sample else transform.log_moment(x)
        return log_moment - (x * (1 + x)).log()

    step = c * arb(2) ** -24
    left, here, right = value(c - step), value(c), value(c + step)
    return here.mid(), ((right - left) / (2 * step)).mid(), ((right + left - 2 * here) / (step * step)).mid()


def line_for_epsilon(transform: Transform, epsilon: Fraction) -> arb:
    """The c > 0 at which M(c) e^{-c epsilon}/(c(1+c)) is least."""
    point = lift(epsilon)
    return arb(crossing(lambda c: float((_exponent(transform, arb(c), sample=True)[1] - point).mid())))


def line_for_delta(transform: Transform, log_delta: float) -> tuple[arb, Fraction]:
    """The line for the epsilon at which delta is near its target, and that epsilon, by the saddle point formula.

    Where large losses are rare that formula may be far off: then by the best Chernoff bound.
    """
    if transform.quick:
        return _by_chernoff(transform, log_delta)

    def excess(c: float) -> float:
        value, slope, bend = _exponent(transform, arb(c), sample=True)
        return log_delta - float((value - c * slope - (2 * arb.pi() * abs(bend)).log() / 2).mid())

    c = arb(crossing(excess))
    epsilon = float(_exponent(transform, c)[1])
    if epsilon > 0:
        return c, Fraction(epsilon)
    return line_for_epsilon(transform, Fraction(0)), Fraction(0)


def _by_chernoff(transform: Transform, log_delta: float) -> tuple[arb, Fraction]:
    """The order of the least (K(c) + c log c - (1+c) log(1+c) - log delta)/c, and an epsilon hardly above it."""

    def excess(c: float) -> float:
        """c^2 times the slope: increasing, as K is convex."""
        value, slope, _ = transform.estimate(c)
        return c * (slope + log(c) - log1p(c)) - (value + c * log(c) - (1 + c) * log1p(c) - log_delta)

    near = crossing(excess)
    # where rare losses set in K rises steeply: just to the left of it may be far better than just to the right
    bounds = []
    for c in (near, 0.985 * near, 0.95 * near):
        value, slope, _ = transform.estimate(c)
        bounds.append(((value + c * log(c) - (1 + c) * log1p(c) - log_delta) / c, slope - 1 / c - 1 / (1 + c), c))
    bound, tangent, c = min(bounds)
    epsilon = min(bound, tangent)
    if epsilon > 0:
        return arb(c), Fraction(epsilon)
    return line_for_epsilon(transform, Fraction(0)), Fraction(0)


def saddle_estimate(transform: Transform, c: arb, epsilon: arb) -> float:
    """log delta(epsilon) by the saddle point formula."""
    value, _, bend = _exponent(transform, c)
    return float((value - c * epsilon - (2 * arb.pi() * abs(bend)).log() / 2).mid())


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
        else:  # near a kink tangents lead nowhere: by halves, and then with a shorter one
            x, before, reach = (low + high) / 2, inf, max(reach / 8, 1e-12)
    return x
