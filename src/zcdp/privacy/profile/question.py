"""What is answered about a profile: two floats around the truth, or why there are none."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from fractions import Fraction
from math import inf, isfinite, log, log1p
from typing import TYPE_CHECKING, NamedTuple

from flint import acb, arb

from zcdp.numeric.balls import NotCertified, Undecided, above, below, lift
from zcdp.numeric.functions import tail_factor
from zcdp.numeric.quadrature import LARGEST_INDEX
from zcdp.numeric.search import crossing
from zcdp.numeric.threads import cached_property
from zcdp.privacy.loss.decay import Decay
from zcdp.privacy.loss.lattice import Lattice, common_lattice
from zcdp.privacy.loss.law import Ends, Parts
from zcdp.privacy.loss.transform import Transform

if TYPE_CHECKING:
    from zcdp.privacy.loss.decay import Floats

__all__ = ["Answer", "Effort", "Line", "NoAnswer", "Question", "line_for_delta", "line_for_epsilon", "saddle_estimate"]


class NoAnswer(NotCertified):
    """The profile is too extreme to be certified; other routes may know more."""

    def __init__(self, reason: str, s: float) -> None:
        super().__init__(reason)
        self.s = s
        """alpha - 1 of the last attempt: where the Renyi route may begin its search."""


class Answer(NamedTuple):
    """Two floats around the truth, and how they were found."""

    lower: float
    upper: float
    method: str
    """The name of the engine, or of the argument that needed none."""
    s: float = 1.0
    """alpha - 1 at the saddle point: where the Renyi route may begin its search."""
    attained: bool = False
    """Whether the lower end is one of the mechanisms themselves, not only of the laws that dominate them."""
    cost: float = 0.0
    """What the engine was expected to cost, in nanoseconds."""


# What an answer may cost: every price and every budget of the engines, in nanoseconds on one common core.
#
# Only how tight an answer is, and how soon it comes, rests on these numbers; none of them is part of a proof.

MILLISECOND = 1_000_000

# Prices: what each of these takes.
TRANSFORM = 8_000  # One plain law at one node, in balls.
BOUND = 200  # The bound on the decay of one plain law over one cell.
TERM = 500  # One term of a whole finite sum.
CUT_TERM = 80_000  # One term of a sum that is cut, with the bits that its cancellation takes.
CUT_TERM_OF_ONE = 1_920  # The same of a single law, which needs no search among exponents.
DOUBLES = 3  # One complex product of doubles at one node.
DOUBLE_NODE = 20 * DOUBLES  # A node in doubles, beside its factors.
GRID_POINT = 120_000  # a point of the grid of losses, of one law
GAME_STATE = 20  # One state of the adaptive recursion at one use.

# Budgets: what each of these may take.
WHOLE_SUM = 1 * MILLISECOND  # A whole finite sum that takes less is taken without looking further.
CHEAP = 16 * MILLISECOND  # No other engine is asked where one takes less.
CUT_SUM = 480 * MILLISECOND
SMOOTH_DOUBLES = 640 * MILLISECOND
GRID = 960 * MILLISECOND
GAME = 40 * MILLISECOND  # The recursion for one delta.


class Effort(NamedTuple):
    """The work that a contour in balls may take."""

    nodes: int = 800 * MILLISECOND
    """To evaluate them."""
    cells: int = 100 * MILLISECOND
    """To find out which nodes are needed."""


CONTOUR = Effort()
ROUGH = Effort(32 * MILLISECOND)
SMOOTH = Effort(320 * MILLISECOND, 40 * MILLISECOND)


# One composition near one epsilon: what is asked, what is known at once, and the line of the contour for it.
#
# Where to look is proposed only: speed and tightness rest on it, and no proof.

TOLERANCE = 1e-17
MARGIN = 5.0  # Errors of the nodes are so many e-folds below what is negligible.
ORDERS = (1.07, 1.15, 1.25, 1.4, 1.6, 1.9, 2.5, 3.5, 5.0)  # The orders of Chernoff bounds, as multiples of c.


class Question:
    """delta at an epsilon, or epsilon at a delta, of one composition in one order, at the working precision."""

    def __init__(
        self,
        parts: Parts,
        share: int = 1,
        *,
        epsilon: Fraction | None = None,
        delta: Fraction | None = None,
        transform: Transform | None = None,
    ) -> None:
        """`share` divides the effort; `transform` is that of the parts, where it was made before."""
        self.parts, self.share = parts, share
        self.transform = transform or Transform(parts)
        # The largest finite loss, and the probability of an infinite one.
        self.largest, self.revealed = self.transform.largest, self.transform.revealed
        self.given = epsilon  # where delta is asked for
        self.target = arb(0) if delta is None else lift(delta) - self.revealed  # what is left of it for finite losses
        self.from_zero = False  # Whether the answer must hold for every epsilon >= 0, not only near the proposed one.
        self.s = 1.0  # The line as a float, once it was needed: a guess for others.
        self._left: dict[float, Line] = {}

    def known(self) -> Answer | None:
        """What is known without any engine: beyond the largest loss, close to it, and where delta is next to 1."""
        if self.given is None:
            if self.target < 0:
                return Answer(inf, inf, "largest loss")
            if not self.target > 0:
                raise Undecided
            if self.largest <= 0:
                return Answer(0.0, 0.0, "largest loss")
            ends = self.transform.at_top(self.target)
            return None if ends is None else Answer(*ends, "largest loss")
        point, more = lift(self.given), self.revealed
        if self.largest <= point or more == 1:
            return Answer(max(below(more), 0.0), min(above(more), 1.0), "largest loss")
        lower = self.transform.near_one(point) if self.formula is None else None
        return None if lower is None else Answer(below(lower), 1.0, "Chernoff bound")

    @cached_property
    def formula(self) -> Ends | None:
        """The profile itself, of one use with nothing beside it; None where it is not known."""
        [(law, count), *others] = self.parts
        return law.ends_alone() if count == 1 and not others else None

    @cached_property
    def lattice(self) -> Lattice | None:
        """The common lattice of all parts, if there is one that is not too fine."""
        found = common_lattice(self.parts)
        return found if found is not None and self.line.period < LARGEST_INDEX * float(found.gap()) else None

    @cached_property
    def _saddle(self) -> tuple[arb, Fraction]:
        if self.given is not None:
            c, epsilon = line_for_epsilon(self.transform, self.given), self.given
        else:
            c, epsilon = line_for_delta(self.transform, float(self.target.log()))
        self.s = float(c)
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
        return self.line_at(self.c)

    def left(self, lower: float) -> Line:
        """So much of the way to the saddle point; each is made once, as several engines look at them."""
        if lower not in self._left:
            self._left[lower] = self.line_at((self.c * lower).mid())
        return self._left[lower]

    def line_at(self, c: arb) -> Line:
        """Another one."""
        return Line(self.transform, c, lift(self.epsilon), log_delta=self.log_delta)

    @property
    def log_delta(self) -> float | None:
        """The given one, where estimates by the saddle point formula may be far off; else None."""
        return float(self.target.log()) if self.transform.quick and self.given is None else None

    @property
    def least(self) -> Fraction:
        """An epsilon that is hardly above the answer, where a given delta leads to `epsilon`."""
        if self.from_zero:
            return Fraction(0)
        if self.given is not None:
            return self.given
        room = min(1 / float(self.c), float(self.largest - lift(self.epsilon)))
        return max(Fraction(float(self.epsilon - Fraction(room))), Fraction(0))  # The search wants a float.

    def whole(self) -> Question:
        """The same from epsilon 0 on."""
        other = copy(self)
        other.from_zero = True
        return other

    def part(self, effort: Effort) -> Effort:
        """Its share of an effort."""
        return Effort(effort.nodes // self.share, effort.cells // self.share)


class Line:
    """Re z = c, chosen for the delta near `epsilon`. Theorem: docs/theorems/contour.md."""

    def __init__(
        self,
        transform: Transform,
        c: arb,
        epsilon: arb,
        *,
        tolerance: float = TOLERANCE,
        log_delta: float | None = None,
    ) -> None:
        """What weighs less than `tolerance` of delta may be left out; `log_delta` where it is known beforehand."""
        self.transform, self.c, self.epsilon = transform, c, epsilon
        self.limit = log(tolerance)
        self.tilt = transform.tilt(c)
        self.decay = Decay(self.tilt.shares, c)
        self.weight = self.tilt.value.exp()
        bend = self.tilt.variance + 1 / (c * c) + 1 / ((1 + c) * (1 + c))
        estimate = self.tilt.value - c * epsilon - (c * (1 + c)).log() - (2 * arb.pi() * bend).log() / 2
        self.log_delta = float(estimate.mid()) if log_delta is None else log_delta
        self.head = float((self.tilt.value - c * epsilon).mid()) - self.log_delta
        """log(M(c) e^{-c epsilon}/delta), near enough."""
        if not isfinite(self.head):
            raise Undecided

    def moments(self, step: arb, kept: Sequence[int]) -> list[acb]:
        """M at the points c + ik step, for the k that are kept, as well as is needed."""
        return self.transform.moments(self.c, step, kept, max(self.head, 0.0) - self.limit + MARGIN)

    def bound(self, low: Floats, high: Floats) -> Floats:
        """See `Decay`."""
        return self.decay.bound(low, high)

    def bound_images(self, low: Floats, high: Floats, distance: float) -> Floats:
        """See `Decay`."""
        return self.decay.bound_images(low, high, distance)

    def size(self, epsilon: arb) -> arb:
        """M(c) e^{-c epsilon}."""
        return self.weight * (-self.c * epsilon).exp()

    @cached_property
    def chernoff(self) -> list[tuple[arb, arb]]:
        """Orders s > c with log of the Chernoff bound on delta(0) at s."""
        factors = [self._best_order()] if self.transform.quick else [1.25, 1.6, 2.5, 5]
        orders = [(self.c * factor).mid() for factor in factors]
        return [(s, self.transform.log_moment(s) + tail_factor(s)) for s in orders]

    def _best_order(self) -> float:
        """The order, as a multiple of c, that makes the period shortest: by estimates."""
        c, epsilon = float(self.c), float(self.epsilon.mid())

        def right(factor: float) -> float:
            s = c * factor
            size = self.transform.estimate(s)[0] + s * log(s) - (1 + s) * log(1 + s) - s * epsilon
            return (size - self.log_delta - self.limit) / (s - c)

        return min(ORDERS, key=right)

    @cached_property
    def period(self) -> float:
        """Long enough that both neighbours in the sum over j are negligible; only accuracy rests on it."""
        tiny, c = -self.limit, float(self.c)
        left = (tiny - self.log_delta + 2) / c
        right = max(float((self.transform.largest - self.epsilon).mid()), 0.0)
        for s, size in self.chernoff:
            bound = float((size - s * self.epsilon).mid())
            right = min(right, (bound - self.log_delta + tiny) / (float(s) - c))
        return max(left, right)

    def aliases(self, period: arb, epsilon: arb) -> arb:
        """An upper bound on sum over j != 0 of e^{cjP} delta(epsilon + jP)."""
        q = (-self.c * period).exp()
        left = q / (1 - q)
        if epsilon + period >= self.transform.largest:
            return left
        best = None
        for s, size in self.chernoff:
            q = ((self.c - s) * period).exp()
            bound = (size - s * epsilon).exp() * q / (1 - q)
            best = bound if best is None else best.min(bound)
        assert best is not None
        return left + best


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
    if (epsilon := min(bound, tangent)) > 0:
        return arb(c), Fraction(epsilon)
    return line_for_epsilon(transform, Fraction(0)), Fraction(0)


def saddle_estimate(transform: Transform, c: arb, epsilon: arb) -> float:
    """log delta(epsilon) by the saddle point formula."""
    value, _, bend = _exponent(transform, c)
    return float((value - c * epsilon - (2 * arb.pi() * abs(bend)).log() / 2).mid())
