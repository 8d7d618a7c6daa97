"""The table of engines, from the first resort to the last, and the answers by them at one working precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from math import frexp, inf, isnan

from flint import arb

from zcdp.numeric.balls import NotCertified, Undecided, above, below, lift
from zcdp.numeric.quadrature import TooManyNodes, quietly
from zcdp.numeric.search import solve
from zcdp.privacy.loss.law import Parts
from zcdp.privacy.loss.transform import Transform
from zcdp.privacy.profile.adaptive import Adaptive
from zcdp.privacy.profile.binomial_sum import BinomialSum
from zcdp.privacy.profile.closed_form import ClosedForm
from zcdp.privacy.profile.contour import Contour
from zcdp.privacy.profile.engine import Engine, Offer
from zcdp.privacy.profile.finite_sum import CutSum, WholeSum
from zcdp.privacy.profile.grid_engine import Grid
from zcdp.privacy.profile.lattice_contour import LatticeContour
from zcdp.privacy.profile.question import CHEAP, CONTOUR, ROUGH, Answer, Line, Question, saddle_estimate
from zcdp.privacy.profile.smoothed import Smoothed

__all__ = [
    "ENGINES",
    "choose",
    "coarsely_above",
    "delta_by_engine",
    "deltas_by_engine",
    "epsilon_by_engine",
    "propose_log_delta",
]

FEW_USES = 8  # up to which a grid of losses may beat smoothing
TINY = 5e-324  # What is below it is as good as known.
NEAR = 1e-3  # Two ends that differ by this part are close enough for a curve.
IMPOSSIBLE = 1.0  # log delta: where the saddle point formula says so, rare losses decide, of which it knows nothing.
WIDE = 1e-4  # relative distance of two ends from which another engine is asked too
LOOSE, LAST_SHARE = 1e-10, 16  # Ends further apart are tried again with twice the bits, at most twice.
APART, TOO_FAR, POLISHES = 1e-9, 0.1, 8  # The first step of a secant, how far it may lead, and how many there are.
NEARER, BY_HALVES = (0.625, 0.8), -44  # A move by a power of two above the second may be shortened to these parts.
COARSE = 0.02  # What a contour may leave out, as a part of delta, that only compares one order with the other.
FIRST = -9  # The search for a lower end begins with this power of two at most, as the order may not be known.
ROUNDINGS = 1000  # Where the ends are so many roundings apart for other reasons, more bits tell no more.
SAME = -54  # A move by this power of two leaves every float where it is.

ENGINES: list[tuple[type[Engine], ...]] = [
    (ClosedForm,),
    (Adaptive,),
    (WholeSum,),
    (BinomialSum,),
    (Contour, LatticeContour),
    (CutSum,),
    (Smoothed,),
    (Grid,),
]
"""Engines of one row compete by cost; the next row is asked where none of them makes an offer, or can keep it."""


def choose(question: Question) -> tuple[Engine, float]:
    """The engine, and what it is expected to cost in nanoseconds."""
    reason = NotCertified("no engine has an offer: the composition is too extreme")
    for row in ENGINES:
        best: Offer | None = None
        for engine in row:
            try:
                offer = engine.offer(question) if _fits(engine, question) else None
            except NotCertified as error:
                reason = error
                continue
            if offer is not None and (best is None or offer.cost < best.cost):
                best = offer
                if best.cost <= CHEAP:
                    break
        if best is not None:
            try:
                return best.build(), best.cost
            except NotCertified as error:
                reason = error
    raise reason


def _fits(engine: type[Engine], question: Question) -> bool:
    """Whether the composition is one of those that the engine is for."""
    return (
        len(question.parts) <= engine.most_laws
        and (engine.most_uses == inf or sum(count for _, count in question.parts) <= engine.most_uses)
        and not (engine.of_atoms and any(not factor.atomic for factor, _ in question.transform.factors))
        and not (engine.on_lattice and question.lattice is None)
    )


def _second(question: Question, first: Engine) -> Engine | None:
    """Another engine that may know more, where the first one's answer is wide; of the same laws, so both hold."""
    uses = sum(count for _, count in question.parts)
    fits = uses <= FEW_USES and not isinstance(first, Grid) and _fits(Grid, question)
    offer = Grid.offer(question) if fits else None
    try:
        return None if offer is None else offer.build()
    except NotCertified:
        return None


def delta_by_engine(parts: Parts, epsilon: Fraction, share: int, asked: list[Question]) -> Answer | None:
    """Floats around delta(epsilon); None where more bits are needed. What engines were asked is noted."""
    question = Question(parts, share, epsilon=epsilon)
    if (known := question.known()) is not None:
        return known
    asked.append(question)
    engine, cost = choose(question)
    lower, upper = engine.delta(epsilon)
    hopeless = not lower > 0 and (not engine.only_rounding or question.line.log_delta > IMPOSSIBLE)
    if hopeless and (other := _second(question, engine)) is not None:
        more = other.delta(epsilon)
        if not upper <= more[1]:
            engine, (lower, upper) = other, more
    if not question.revealed.is_zero():  # A sum is rounded to the working precision, which an engine may exceed.
        lower, upper = lower + question.revealed, upper + question.revealed
    sharp = upper < TINY or (upper.is_finite() and upper.rel_accuracy_bits() >= 50)
    if not (sharp or (not engine.only_rounding and upper.rad() * ROUNDINGS <= upper - lower)):
        return None
    least = min(max(below(lower), 0.0), 1.0) if lower.is_finite() else 0.0
    return Answer(least, min(above(upper), 1.0), engine.name, question.s, engine.attained, cost)


def epsilon_by_engine(
    parts: Parts, delta: Fraction, share: int, asked: list[Question], found: Answer | None
) -> tuple[Answer | None, bool]:
    """Floats around the least epsilon with delta(epsilon) <= delta, and whether they will do, or more bits tell more.

    `found` is what fewer bits told.
    """
    question = Question(parts, share, delta=delta)
    if (known := question.known()) is not None:
        return known, True
    target, top = question.target, question.largest
    asked.append(question)
    engine, cost = choose(question)
    if engine.least and not engine.delta(engine.least)[0] >= target:
        question = question.whole()
        asked.append(question)
        engine, cost = choose(question)
    ends = _ends_of_epsilon(engine, question.s, target, top)
    if ends is None:
        return found, False
    wide = ends[1] - ends[0] > WIDE * ends[1] and not engine.only_rounding
    if wide and (other := _second(question, engine)) is not None:
        more = _ends_of_epsilon(other, question.s, target, top)
        ends = ends if more is None else (max(ends[0], more[0]), min(ends[1], more[1]))
    if found is not None and found.attained == engine.attained:  # Both hold for the same profile.
        ends = max(found.lower, ends[0]), min(found.upper, ends[1])
    found = Answer(ends[0], min(ends[1], above(top)), engine.name, question.s, engine.attained, cost)
    loose = found.upper - found.lower > LOOSE * found.upper and engine.only_rounding
    if loose and share < LAST_SHARE:
        return found, False  # It is sound, but more bits tell more.
    if top.is_finite() and found[:2] == (0.0, above(top)):
        raise NotCertified("nothing is known of epsilon but the largest loss")
    return found, True


def _ends_of_epsilon(engine: Engine, s: float, target: arb, top: arb) -> tuple[float, float] | None:
    """Floats around the epsilon at which the engine's delta is the target; None where more bits are needed.

    It is proposed by floats, and certified outward from there.
    """
    least = engine.least
    delta, upper_end = cache(engine.delta), cache(engine.upper)  # The search comes back to its root again and again.
    root = solve(engine.estimate, float(target.log()), float(least), above(top), float(engine.guess))
    root = _polished(upper_end, root, target, float(least), above(top))
    if isnan(root):
        raise OverflowError("no floats propose where to look")
    upper = _outward(root, lambda e: bool(upper_end(e) <= target), least, up=True)
    if upper is None and top.is_finite() and not engine.only_rounding:  # What was smoothed in is in the way.
        upper = above(top)
    near = delta(Fraction(root))
    if not (least or near[0] > 0 or delta(least)[0] >= target):
        return None if upper is None else (0.0, upper)  # No lower end is known anywhere.
    first = _apart(near, root, s)
    lower = _outward(root, lambda e: bool(delta(e)[0] >= target), least, up=False, first=first)
    return None if upper is None or lower is None else (lower, upper)


def _polished(upper_end: Callable[[Fraction], arb], root: float, target: arb, least: float, top: float) -> float:
    """The root by balls, where floats could not see it: on a line far from the saddle point most digits cancel."""

    def excess(x: float) -> float:
        upper = upper_end(Fraction(x))
        return float((upper / target).log().mid()) if upper > 0 else -inf

    near = root * (1 + APART)
    if not least < root < near < top:
        return root
    x, y, values = root, near, (excess(root), excess(near))
    for _ in range(POLISHES):
        slope = (values[1] - values[0]) / (y - x)
        move = -values[0] / slope if -inf < slope < 0 else 0.0
        after = x + move
        if abs(move) <= 2e-16 * x or not (least < after < top and abs(move) < TOO_FAR * x):
            break
        value = excess(after)
        if not abs(value) < abs(values[0]):
            break
        x, y, values = after, x, (value, values[0])
    return x


def _apart(near: tuple[arb, arb], root: float, s: float) -> int:
    """The power of two nearest to how far below the root, as a part of it, the lower end crosses the target."""
    lower, upper = near
    gap = above((upper - lower) / upper / (root * s)) if root and upper > 0 else 0.0
    return min(frexp(gap)[1] - 1, FIRST) if 2.0**SAME < gap < 1 else SAME


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
            for part in NEARER if power > BY_HALVES else ():
                nearer = root * (1 + part * move if up else 1 - part * move)
                if holds(Fraction(nearer)):
                    return nearer
            return moved
    return None if up else 0.0


def coarsely_above(question: Question) -> arb | None:
    """A number above delta at the given epsilon, to a few percent; None where it takes too many nodes."""
    line = Line(question.transform, question.c, lift(question.epsilon), tolerance=COARSE)
    try:
        with quietly():
            return Contour(line, CONTOUR).upper(question.epsilon)
    except TooManyNodes:
        return None


def deltas_by_engine(parts: Parts, epsilons: Sequence[Fraction], share: int) -> list[float]:
    """Floats above delta at increasing epsilons: an engine answers for others too, as far as it is close there."""
    found: list[float] = []
    transform, engine = Transform(parts), None
    more = transform.revealed
    for epsilon in epsilons:
        if transform.largest <= lift(epsilon):
            found.append(min(above(more), 1.0))
            continue
        upper = None if engine is None else _close(engine, epsilon)
        if upper is None:
            try:
                engine, _ = choose(Question(parts, share, epsilon=epsilon, transform=transform))
                upper = engine.upper(epsilon)
            except (NotCertified, Undecided, OverflowError, ZeroDivisionError):
                engine = None
        upper = arb(1) if upper is None or not upper.is_finite() else upper + more
        found.append(min(above(upper), 1.0))
    return found


def _close(engine: Engine, epsilon: Fraction) -> arb | None:
    """What is above delta(epsilon), if what is below it is not far away."""
    if epsilon < engine.least:
        return None
    lower, upper = engine.near(epsilon)
    return upper if upper.is_finite() and lower > 0 and upper - lower <= upper * NEAR else None


def propose_log_delta(parts: Parts, epsilon: Fraction, *, rough: bool) -> float:
    """log delta(epsilon) to a few digits (two where `rough`), in a few milliseconds: for proposals."""
    question, point = Question(parts, epsilon=epsilon), lift(epsilon)
    if question.largest <= point:
        return -inf
    if rough:
        return saddle_estimate(question.transform, question.c, point)
    try:
        with quietly():
            contour = Contour(question.line, ROUGH, rough=True)
        if (value := contour.delta(epsilon)[1]) > 0:
            return float(value.log().mid())
    except TooManyNodes:
        pass
    return saddle_estimate(question.transform, question.c, point)
