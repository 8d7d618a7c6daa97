"""`Engine`: the interface of a method that computes delta(epsilon) of a composition, and how to write one.

An engine is built for a `Question`, which knows what needs no engine, the work allowed, and the `Line` of the inversion
integral through the saddle point; what comes out is an `Answer`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from fractions import Fraction
from math import inf, isfinite, log, log1p
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from flint import acb, arb

from zcdp.numeric.balls import NotCertified, Undecided, above, below, lift
from zcdp.numeric.functions import tail_factor
from zcdp.numeric.search import false_position
from zcdp.numeric.threads import cached_property
from zcdp.numeric.work import MILLISECOND
from zcdp.privacy.loss.decay import Decay
from zcdp.privacy.loss.lattice import Lattice, common_lattice
from zcdp.privacy.loss.law import Ends, Parts
from zcdp.privacy.loss.transform import Transform

if TYPE_CHECKING:
    from zcdp.privacy.loss.decay import Floats

__all__ = [
    "Answer",
    "Effort",
    "Engine",
    "Line",
    "NoAnswer",
    "Offer",
    "Question",
    "line_for_delta",
    "line_for_epsilon",
    "saddle_estimate",
]


class NoAnswer(NotCertified):
    """The profile gives no certified answer within its limits; other routes may give one."""

    def __init__(self, reason: str, s: float) -> None:
        super().__init__(reason)
        self.s = s
        """alpha - 1 at the saddle point of the last attempt: a guess for the search of the Renyi route."""


class Answer(NamedTuple):
    """Certified floats around delta or epsilon, and how they were found."""

    lower: float
    upper: float
    method: str
    """The name of the engine, or of the argument that answered without one."""
    s: float = 1.0
    """alpha - 1 at the saddle point: a guess for the search of the Renyi route."""
    attained: bool = False
    """Whether the lower end holds for the mechanisms themselves, not only for the laws that dominate them."""
    cost: float = 0.0
    """The expected work of the engine, in nanoseconds."""


# The work limits of the engines, in nanoseconds; what each operation costs stands in `zcdp.numeric.work`.
#
# These numbers decide how tight an answer is and how long it takes; no proof depends on them.

WHOLE_SUM = 1 * MILLISECOND  # a whole finite sum; if it takes less, no other engine is considered
CHEAP = 16 * MILLISECOND  # If an engine takes less, the others of its row are not considered.
CUT_SUM = 480 * MILLISECOND  # a cut finite sum, or a binomial sum
SMOOTH_DOUBLES = 640 * MILLISECOND  # a smoothed contour in doubles
CELLS = 600 * MILLISECOND  # cells of losses
GAME = 40 * MILLISECOND  # the adaptive recursion, for one delta


class Effort(NamedTuple):
    """The work limits of a contour in balls, in nanoseconds."""

    nodes: int = 800 * MILLISECOND
    """For the evaluation of the nodes."""
    cells: int = 150 * MILLISECOND
    """For the choice of the nodes that are evaluated."""


CONTOUR = Effort()  # for a certified contour
ROUGH = Effort(32 * MILLISECOND)  # for a heuristic one
SMOOTH = Effort(320 * MILLISECOND, 60 * MILLISECOND)  # for one with a Gaussian pair added


# One question about one composition: what is known without an engine, and the line of the contour, by the saddle point.
#
# The line is chosen heuristically: speed and tightness depend on it, correctness does not.

LARGEST_INDEX = 1 << 50  # Indices of nodes up to here are exact as floats, with room for sums.
TOLERANCE = 1e-17  # Parts of delta that are relatively smaller may be left out.
MARGIN = 5.0  # The errors of the nodes are a factor e^-5 below the tolerance.
CHERNOFF_FACTORS = (
    1.07,
    1.15,
    1.25,
    1.4,
    1.6,
    1.9,
    2.5,
    3.5,
    5.0,
)  # values s of the Chernoff bounds, as multiples of c


class Question:
    """delta at an epsilon, or epsilon at a delta, of one composition in one direction, at the working precision."""

    def __init__(
        self,
        parts: Parts,
        haste: int = 1,
        *,
        epsilon: Fraction | None = None,
        delta: Fraction | None = None,
        transform: Transform | None = None,
        size: float | None = None,
    ) -> None:
        """`haste` divides the work allowed; `transform` is that of the parts, if the caller has it already.

        `size` is the logarithm of about the delta that is asked for, if it is known from an answer with few digits.
        """
        self.parts, self.haste = parts, haste
        self.transform = transform or Transform(parts)
        # the largest finite loss, and the probability of an infinite one
        self.largest, self.revealed = self.transform.largest, self.transform.revealed
        self.given = epsilon  # None if epsilon is asked for
        self.target = arb(0) if delta is None else lift(delta) - self.revealed  # the part of delta for finite losses
        self.from_zero = False  # whether the engine must answer for every epsilon >= 0, not only near the proposed one
        self.s = 1.0  # the saddle point as a float, once it is computed: a guess for the Renyi route
        self._left: dict[float, Line] = {}
        self._size = size

    def known(self) -> Answer | None:
        """The answer if no engine is needed: epsilon close to the largest loss or beyond it, or delta close to 1."""
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
        """The law's own formula for delta, if a single use of one law is all there is; else None."""
        [(law, count), *others] = self.parts
        return law.ends_alone() if count == 1 and not others else None

    @cached_property
    def lattice(self) -> Lattice | None:
        """The common lattice of all parts, if there is one that is not too fine; else None."""
        found = common_lattice(self.parts)
        return found if found is not None and self.line.period < LARGEST_INDEX * float(found.gap()) else None

    @cached_property
    def _saddle(self) -> tuple[arb, Fraction]:
        """The saddle point and epsilon, both heuristic unless epsilon is given."""
        if self.given is not None:
            c, epsilon = line_for_epsilon(self.transform, self.given), self.given
        else:
            c, epsilon = line_for_delta(self.transform, float(self.target.log()))
        self.s = float(c)
        return c, epsilon

    @property
    def c(self) -> arb:
        """The saddle point c, heuristic: engines integrate along Re z = c."""
        return self._saddle[0]

    @property
    def epsilon(self) -> Fraction:
        """The given epsilon, or a heuristic one at which delta is near the given delta."""
        return self._saddle[1]

    @cached_property
    def line(self) -> Line:
        """The line Re z = c through the saddle point, with the size of the integrand on it."""
        return self.line_at(self.c)

    def left(self, lower: float) -> Line:
        """The line Re z = lower * c, 0 < lower <= 1; cached, because several engines use it."""
        if lower not in self._left:
            self._left[lower] = self.line_at((self.c * lower).mid())
        return self._left[lower]

    def line_at(self, c: arb) -> Line:
        """The line Re z = c, with the size of the integrand on it."""
        return Line(self.transform, c, lift(self.epsilon), log_delta=self.log_delta)

    @property
    def log_delta(self) -> float | None:
        """log of delta, if it is known and the saddle point formula may be far off; else None."""
        return float(self.target.log()) if self.transform.quick and self.given is None else self._size

    @property
    def least(self) -> Fraction:
        """The least epsilon for which an engine must answer: the given one, or one somewhat below the proposed one."""
        if self.from_zero:
            return Fraction(0)
        if self.given is not None:
            return self.given
        room = min(1 / float(self.c), float(self.largest - lift(self.epsilon)))
        return max(Fraction(float(self.epsilon - Fraction(room))), Fraction(0))  # The search needs a float.

    def log_chernoff(self) -> arb:
        """The log of a certified Chernoff bound on delta(epsilon), at the saddle point."""
        return self.transform.log_moment(self.c) + tail_factor(self.c) - self.c * lift(self.epsilon)

    def whole(self) -> Question:
        """The same question, for an engine that must answer for every epsilon >= 0."""
        other = copy(self)
        other.from_zero = True
        return other

    def part(self, effort: Effort) -> Effort:
        """The limits of an effort, divided by the haste of this question."""
        return Effort(effort.nodes // self.haste, effort.cells // self.haste)


class Line:
    """The line Re z = c of the inversion integral: decay of the integrand, period of the trapezoidal rule, aliases.

    Theorem: docs/theorems/contour.md.
    """

    def __init__(
        self,
        transform: Transform,
        c: arb,
        epsilon: arb,
        *,
        tolerance: float = TOLERANCE,
        log_delta: float | None = None,
    ) -> None:
        """Parts of delta(epsilon) that are relatively smaller than `tolerance` may be left out.

        `log_delta` is given if it is known; by default it is estimated by the saddle point formula.
        """
        self.transform, self.c, self.epsilon = transform, c, epsilon
        self.limit = log(tolerance)
        self.tilt = transform.tilt(c)
        self.decay = Decay(self.tilt.shares, c)
        self.weight = self.tilt.value.exp()
        bend = self.tilt.variance + 1 / (c * c) + 1 / ((1 + c) * (1 + c))
        estimate = self.tilt.value - c * epsilon - (c * (1 + c)).log() - (2 * arb.pi() * bend).log() / 2
        self.log_delta = float(estimate.mid()) if log_delta is None else log_delta
        self.head = float((self.tilt.value - c * epsilon).mid()) - self.log_delta
        """Heuristic log(M(c) e^{-c epsilon}/delta)."""
        if not isfinite(self.head):
            raise Undecided

    def moments(self, step: arb, kept: Sequence[int]) -> list[acb]:
        """M at the points c + ik step, for the k in `kept`, as accurately as the tolerance requires."""
        return self.transform.moments(self.c, step, kept, max(self.head, 0.0) - self.limit + MARGIN)

    def bound(self, low: Floats, high: Floats) -> Floats:
        """Certified lower bounds on log(M(c)/|M(c + iy)|) for low <= y <= high, element by element."""
        return self.decay.bound(low, high)

    def bound_images(self, low: Floats, high: Floats, distance: float) -> Floats:
        """The same over all images of these y under the period of a lattice, which are at least `distance` from 0."""
        return self.decay.bound_images(low, high, distance)

    def size(self, epsilon: arb) -> arb:
        """M(c) e^{-c epsilon}."""
        return self.weight * (-self.c * epsilon).exp()

    @cached_property
    def chernoff(self) -> list[tuple[arb, arb]]:
        """Pairs of s > c and the log of the Chernoff bound on delta(0) at s, certified."""
        factors = [self._best_factor()] if self.transform.quick else [1.25, 1.6, 2.5, 5]
        points = [(self.c * factor).mid() for factor in factors]
        return [(s, self.transform.log_moment(s) + tail_factor(s)) for s in points]

    def _best_factor(self) -> float:
        """The s of the Chernoff bound, as a multiple of c, that makes the period shortest; heuristic."""
        c, epsilon = float(self.c), float(self.epsilon.mid())

        def right(factor: float) -> float:
            s = c * factor
            size = self.transform.estimate(s)[0] + s * log(s) - (1 + s) * log(1 + s) - s * epsilon
            return (size - self.log_delta - self.limit) / (s - c)

        return min(CHERNOFF_FACTORS, key=right)

    @cached_property
    def period(self) -> float:
        """A period P long enough to make the aliases at j = -1 and j = 1 negligible; only tightness depends on it."""
        tiny, c = -self.limit, float(self.c)
        left = (tiny - self.log_delta + 2) / c
        right = max(float((self.transform.largest - self.epsilon).mid()), 0.0)
        for s, size in self.chernoff:
            bound = float((size - s * self.epsilon).mid())
            right = min(right, (bound - self.log_delta + tiny) / (float(s) - c))
        return max(left, right)

    def aliases(self, period: arb, epsilon: arb) -> arb:
        """A certified upper bound on the aliases, the sum over j != 0 of e^{cjP} delta(epsilon + jP)."""
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
    """Heuristic K(c) - log(c(1+c)) with its first two derivatives, by differences; of all parts or of a sample."""
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
    """The saddle point: heuristic c > 0 at which M(c) e^{-c epsilon}/(c(1+c)) is least."""
    point = lift(epsilon)
    return arb(false_position(lambda c: float((_exponent(transform, arb(c), sample=True)[1] - point).mid())))


def line_for_delta(transform: Transform, log_delta: float) -> tuple[arb, Fraction]:
    """Heuristic epsilon at which delta is near its target, with its saddle point, by the saddle point formula.

    If large losses are rare, that formula may be far off; then the best Chernoff bound is used.
    """
    if transform.quick:
        return _by_chernoff(transform, log_delta)

    def excess(c: float) -> float:
        value, slope, bend = _exponent(transform, arb(c), sample=True)
        return log_delta - float((value - c * slope - (2 * arb.pi() * abs(bend)).log() / 2).mid())

    c = arb(false_position(excess))
    epsilon = float(_exponent(transform, c)[1])
    if epsilon > 0:
        return c, Fraction(epsilon)
    return line_for_epsilon(transform, Fraction(0)), Fraction(0)


def _by_chernoff(transform: Transform, log_delta: float) -> tuple[arb, Fraction]:
    """Heuristic c that minimises the bound (K(c) + c log c - (1+c) log(1+c) - log delta)/c, and an epsilon near it."""

    def excess(c: float) -> float:
        """c^2 times the slope of the bound; it increases, because K is convex."""
        value, slope, _ = transform.estimate(c)
        return c * (slope + log(c) - log1p(c)) - (value + c * log(c) - (1 + c) * log1p(c) - log_delta)

    near = false_position(excess)
    # K rises steeply where rare large losses set in: a c slightly to the left may be far better.
    bounds = []
    for c in (near, 0.985 * near, 0.95 * near):
        value, slope, _ = transform.estimate(c)
        bounds.append(((value + c * log(c) - (1 + c) * log1p(c) - log_delta) / c, slope - 1 / c - 1 / (1 + c), c))
    bound, tangent, c = min(bounds)
    if (epsilon := min(bound, tangent)) > 0:
        return arb(c), Fraction(epsilon)
    return line_for_epsilon(transform, Fraction(0)), Fraction(0)


def saddle_estimate(transform: Transform, c: arb, epsilon: arb) -> float:
    """Heuristic log delta(epsilon) by the saddle point formula."""
    value, _, bend = _exponent(transform, c)
    return float((value - c * epsilon - (2 * arb.pi() * abs(bend)).log() / 2).mid())


# The interface of engines.


class Offer(NamedTuple):
    """An engine that applies to a question."""

    cost: float
    """The expected work, in nanoseconds."""
    build: Callable[[], Engine]
    """Makes the engine; may raise `NotCertified`."""


class Engine(ABC):
    """A method for delta(epsilon) of a composition, built for one question: it is tight near the question's epsilon.

    *To write one*, make a subclass in one file. `offer` returns the expected work and a function that builds the
    engine, or None if the engine does not apply or would take too long. `delta` must enclose the true value: whatever
    is left out is added to one end or the other, by a theorem. `estimate` is heuristic. Then add the class to the
    table `ENGINES` in src/zcdp/privacy/profile/profile.py. An engine uses the methods of laws and never tests their
    class. It is used at the working precision at which it was built, and caches no answers.
    """

    name: ClassVar[str]
    """The method's name in the answer."""
    only_rounding: ClassVar[bool] = True
    """Whether the two ends differ only by rounding and negligible terms, so that a higher precision helps."""
    attained: ClassVar[bool] = False
    """Whether the answer is exact for the mechanisms themselves, not only for the laws that dominate them."""

    most_laws: ClassVar[float] = inf
    """The engine is used for compositions of at most so many different laws."""
    most_uses: ClassVar[float] = inf
    """The engine is used for compositions of at most so many uses in total."""
    of_atoms: ClassVar[bool] = False
    """Whether the engine is used only if all laws are discrete, made of atoms alone."""
    on_lattice: ClassVar[bool] = False
    """Whether the engine is used only if all laws share a lattice."""

    guess: Fraction = Fraction(0)
    """The epsilon at which a search for the epsilon of a given delta begins."""
    least: Fraction = Fraction(0)
    """The least epsilon for which the engine can answer."""

    @classmethod
    @abstractmethod
    def offer(cls, question: Question) -> Offer | None:
        """The expected work and how to build the engine; None if it does not apply."""

    @abstractmethod
    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """Two balls: the lower end of the first is at most delta(epsilon), the upper end of the second at least."""

    def upper(self, epsilon: Fraction) -> arb:
        """A ball whose upper end is at least delta(epsilon): the second of `delta`, possibly with less work."""
        return self.delta(epsilon)[1]

    def near(self, epsilon: Fraction) -> tuple[arb, arb]:
        """Bounds at an epsilon for which the engine was not built. Only the upper end of the second is certified.

        The gap between the two says whether to build another engine.
        """
        return self.delta(epsilon)

    @abstractmethod
    def estimate(self, epsilon: float) -> float:
        """Heuristic log delta(epsilon)."""
