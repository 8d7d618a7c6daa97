"""What an engine is asked: one composition near one epsilon, and where the contour for it lies best.

Where to look is proposed only: speed and tightness rest on it, and no proof.
"""

from __future__ import annotations

from fractions import Fraction
from math import log, log1p

from flint import arb

from zcdp.numeric.balls import lift
from zcdp.numeric.crossing import crossing
from zcdp.numeric.once import cached_property
from zcdp.privacy.loss.lattice import Lattice
from zcdp.privacy.loss.law import Parts
from zcdp.privacy.loss.snap import common_lattice
from zcdp.privacy.profile.integrand import Line, Transform

__all__ = ["Question", "line_for_delta", "line_for_epsilon", "saddle_estimate"]


class Question:
    """One composition in one order, near one epsilon: what an engine needs for an offer, at the working precision."""

    def __init__(
        self, transform: Transform, given: Fraction | float, share: int = 1, *, from_zero: bool = False
    ) -> None:
        self.transform = transform
        """M."""
        self.parts: Parts = transform.parts
        self.given = given
        """An epsilon (a Fraction), or the logarithm of a delta (a float)."""
        self.share = share
        """What the whole effort is divided by."""
        self.from_zero = from_zero
        """Whether the answer must hold for every epsilon >= 0, not only for those near the one that is proposed."""
        self.order = 1.0
        """The line as a float, once it was needed: a guess for others."""

    @cached_property
    def lattice(self) -> Lattice | None:
        """The common lattice of all parts, if there is one."""
        return common_lattice(self.parts)

    @cached_property
    def _saddle(self) -> tuple[arb, Fraction]:
        if isinstance(self.given, Fraction):
            c, epsilon = line_for_epsilon(self.transform, self.given), self.given
        else:
            c, epsilon = line_for_delta(self.transform, self.given)
        self.order = float(c)
        return c, epsilon

    @property
    def c(self) -> arb:
        """The line to integrate along."""
        return self._saddle[0]

    @property
    def epsilon(self) -> Fraction:
        """The given epsilon, or a proposal for the one at which delta is as given."""
        return self._saddle[1]

    @cached_property
    def line(self) -> Line:
        """The same with the size of the integrand on it."""
        return Line(self.transform, self.c, lift(self.epsilon), log_delta=self.log_delta)

    @property
    def log_delta(self) -> float | None:
        """The given one, where estimates by the saddle point formula may be far off; else None."""
        return self.given if self.transform.quick and isinstance(self.given, float) else None

    @cached_property
    def least(self) -> Fraction:
        """An epsilon that is hardly above the answer, where a given delta leads to `epsilon`."""
        if self.from_zero:
            return Fraction(0)
        if isinstance(self.given, Fraction):
            return self.given
        room, top = 1 / float(self.c), self.transform.largest
        room = min(room, float(top - lift(self.epsilon)))
        return max(Fraction(float(self.epsilon - Fraction(room))), Fraction(0))  # The search wants a float.

    def whole(self) -> Question:
        """The same from epsilon 0 on."""
        return Question(self.transform, self.given, self.share, from_zero=True)


def _exponent(transform: Transform, c: arb, *, sample: bool = False) -> tuple[arb, arb, arb]:
    """K(c) - log(c(1+c)) with slope and second derivative, by differences; of all parts or of a sample."""
    if transform.quick:
        level, slope, bend = transform.estimate(float(c))
        near, far = 1 / c, 1 / (1 + c)
        return (level - (c * (1 + c)).log()).mid(), (slope - near - far).mid(), (bend + near * near + far * far).mid()

    def value(x: arb) -> arb:
        return transform.log_moment(x, sample=sample) - (x * (1 + x)).log()

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
    # Where rare losses set in, K rises steeply: just left of it may be far better than just right of it.
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
