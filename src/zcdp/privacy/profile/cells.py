"""Few uses by cells of losses that are not of one width: a law above and a law below, composed in doubles.

A composition of two laws with n losses each has n^2; they are moved to some thousand nodes, outward for the law above
and inward for the law below. The nodes lie where the loss is likely and where few losses are left beyond: so large
losses that are very rare keep their digits beside small ones, as in a few rounds that sample little.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import ceil, exp, inf
from typing import TYPE_CHECKING

from flint import arb

from zcdp.numeric.balls import NotCertified, above, at_precision, below, lift, log_size
from zcdp.numeric.doubles import power
from zcdp.numeric.work import CELL_PAIR, count_work
from zcdp.privacy.loss.law import LossLaw
from zcdp.privacy.loss.profile_polygons import KnownProfile
from zcdp.privacy.profile.engine import CELLS, Engine, Offer, Question

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Cells", "Loss", "fall", "rise"]


# 1 - e^{-t} and its inverse in doubles, with proven relative errors. Theorem: docs/theorems/cells.md.

WIDEST_CELL = 0.5  # the largest t
SERIES_TERMS = 16
SERIES_ERROR = 2.0**-46  # relative error of both series
LEAST_MASS = 1e-280  # Smaller products of masses may have lost digits: they are moved to infinity, or left out.


def fall(t: Floats) -> Floats:
    """1 - e^{-t} for 0 <= t <= 1/2, with a relative error of at most 2^-46."""
    inner = 1 - t / (SERIES_TERMS + 1)
    for k in range(SERIES_TERMS, 1, -1):
        inner = 1 - t / k * inner
    answer: Floats = t * inner
    return answer


def rise(r: Floats) -> Floats:
    """A lower bound on -log(1 - r) for 0 <= r <= 1/2, to a relative 2^-45: t with 1 - e^{-t} = r."""
    y = r / (2 - r)
    square = y * y
    inner = 1 / (2 * SERIES_TERMS + 1) + 0 * y
    for k in range(SERIES_TERMS - 1, -1, -1):
        inner = 1 / (2 * k + 1) + square * inner
    answer: Floats = 2 * y * inner * (1 - SERIES_ERROR)
    return answer


@dataclass(frozen=True)
class Loss:
    """Masses of finite losses under P, the losses increasing, and what was moved to infinity: a measure above or below.

    What it stands for is the function of x that is the sum of mass (1 - x e^{-loss})_+ over all losses: larger masses
    and larger losses raise it, and so do they in every composition. Theorem: docs/theorems/cells.md.
    """

    losses: Floats
    masses: Floats
    revealed: float
    upward: bool
    """Whether it is above; else below."""

    @classmethod
    def of(cls, atoms: Sequence[tuple[arb, arb]], revealed: arb, *, upward: bool) -> Loss:
        """The measure of outcomes with these P- and Q-masses, all positive, rounded to doubles upward or downward."""
        import numpy as np

        end = above if upward else below
        found = sorted((end((p / q).log()), max(end(p), 0.0)) for p, q in atoms)
        losses, masses = np.array([loss for loss, _ in found]), np.array([mass for _, mass in found])
        return cls(losses, masses, above(revealed) if upward else 0.0, upward)

    def times(self, other: Loss, count: int, floor: float) -> Loss:
        """The composition with another measure, moved to about `count` nodes.

        `floor` is a mass of losses beyond a point below which nodes need not be denser.
        """
        import numpy as np

        count_work(CELL_PAIR * len(self.losses) * len(other.losses))
        sums = np.add.outer(self.losses, other.losses).ravel()
        sums = np.nextafter(sums, inf if self.upward else -inf)
        masses = np.multiply.outer(self.masses, other.masses).ravel()
        return self._moved(sums, masses, self.revealed + other.revealed, count, floor)

    def fewer(self, count: int, floor: float) -> Loss:
        """The same measure, moved to about `count` nodes if it has more losses."""
        if len(self.losses) <= count:
            return self
        return self._moved(self.losses, self.masses, self.revealed, count, floor)

    def _moved(self, sums: Floats, masses: Floats, revealed: float, count: int, floor: float) -> Loss:
        """These masses, which have lost at most a rounding each, moved to nodes."""
        import numpy as np

        size = len(masses)
        kept = masses > LEAST_MASS
        lost = (size - int(kept.sum())) * LEAST_MASS * 2
        sums, masses = sums[kept], masses[kept]
        # Each sum of so many doubles, and each share, has a relative error below this.
        slack = 1 + (size + 64) * 2.0**-52 + 8 * SERIES_ERROR
        revealed = revealed * slack + lost if self.upward else 0.0
        if not len(sums):
            return Loss(np.zeros(0), np.zeros(0), revealed, self.upward)
        nodes = _nodes(sums, masses, count, floor)
        if self.upward:
            found, more = _spread(sums, masses, nodes)
            return Loss(nodes, found * slack, revealed + more * slack, upward=True)
        places, found = _merged(sums, masses, nodes)
        return Loss(places, found / slack, revealed, upward=False)


def _nodes(sums: Floats, masses: Floats, count: int, floor: float) -> Floats:
    """Where to keep losses: dense by the third root of their density over what is left beyond; heuristic."""
    import numpy as np

    least, most = float(sums.min()), float(sums.max())
    if most - least < 1e-300:
        return np.array([least, np.nextafter(most, inf)])
    fine = _candidates(sums, masses, least, most)
    place = np.clip(np.searchsorted(fine, sums, side="right") - 1, 0, len(fine) - 2)
    steps = _densities(fine, _sums(place, masses, len(fine) - 1), floor)
    level = np.concatenate([[0.0], np.cumsum(steps)])
    nodes = np.interp(np.linspace(0.0, level[-1], count), level, fine)
    nodes[0], nodes[-1] = least, most
    # No cell is wider than half a unit.
    even = np.linspace(least, most, ceil((most - least) / (WIDEST_CELL * 0.99)) + 1)
    nodes = np.unique(np.concatenate([nodes, even]))
    return np.append(nodes, np.nextafter(nodes[-1], inf))


def _densities(fine: Floats, inside: Floats, floor: float) -> Floats:
    """For the cells between points, with these masses, the parts of all nodes that each should have.

    Moving losses within a cell of width w changes delta by about density w^2, so that w should go with the root of
    delta over the density. Theorem: docs/theorems/cells.md.
    """
    import numpy as np

    width = np.diff(fine)
    beyond = np.cumsum((inside * np.exp(-fine[1:]))[::-1])[::-1]  # under Q
    delta = np.cumsum((np.exp(fine[:-1]) * np.expm1(width) * beyond)[::-1])[::-1]
    density = np.sqrt(inside * width / np.maximum(delta, floor))
    whole = float(density.sum())
    even = np.full(len(density), 1 / len(density))
    answer: Floats = 0.9 * density / whole + 0.1 * even if whole > 0 else even
    return answer


def _candidates(sums: Floats, masses: Floats, least: float, most: float) -> Floats:
    """Points of all scales between the least and the largest loss, around where most of the mass is."""
    import numpy as np

    middle = float((sums * masses).sum() / masses.sum())
    size = max(most - middle, middle - least)
    small = max(float(np.sqrt(((sums - middle) ** 2 * masses).sum() / masses.sum())) * 1e-9, size * 1e-14)
    steps = np.geomspace(small, size, 3_000)
    points = np.concatenate([[least, most], middle - steps, [middle], middle + steps])
    found: Floats = np.unique(np.clip(points, least, most))
    return found


def _sums(places: NDArray[np.int64], masses: Floats, size: int) -> Floats:
    """The sum of the masses at each place."""
    import numpy as np

    answer: Floats = np.bincount(places, masses, size).astype(float)
    return answer


def _spread(sums: Floats, masses: Floats, nodes: Floats) -> tuple[Floats, float]:
    """Each mass divided among the two nodes around it, P- and Q-mass kept; beyond the last node it is infinite."""
    import numpy as np

    place = np.searchsorted(nodes, sums, side="right") - 1
    over = place >= len(nodes) - 1
    beyond = float(masses[over].sum())
    place = np.clip(place, 0, len(nodes) - 2)
    left, right = nodes[place], nodes[place + 1]
    share = masses * ~over
    whole = fall(right - left)
    behind = np.maximum(sums - left, 0.0)
    up = np.minimum(fall(np.minimum(behind, right - left)) / whole, 1.0)
    down = np.minimum(fall(np.clip(right - sums, 0.0, right - left)) / whole, 1.0)  # times e^{-(sum - left)} <= 1
    down = down * (1 - fall(np.minimum(behind, right - left)) * (1 - 4 * SERIES_ERROR))
    size = len(nodes)
    return _sums(place, share * down, size) + _sums(place + 1, share * up, size), beyond


def _merged(sums: Floats, masses: Floats, nodes: Floats) -> tuple[Floats, Floats]:
    """All masses of one cell as one loss, P- and Q-mass kept, and the loss rounded down."""
    import numpy as np

    place = np.clip(np.searchsorted(nodes, sums, side="right") - 1, 0, len(nodes) - 2)
    left = nodes[place]
    found = _sums(place, masses, len(nodes))
    lost = _sums(place, masses * fall(np.clip(sums - left, 0.0, WIDEST_CELL)), len(nodes))
    kept = found > 0
    part = np.minimum(lost[kept] / found[kept] * (1 - len(sums) * 2.0**-51 - 8 * SERIES_ERROR), 0.5)
    places = np.nextafter(nodes[kept] + rise(np.maximum(part, 0.0)), -inf)
    return places, found[kept]


# The engine.

POINTS = 700  # nodes of a measure
KNOWN_POINTS = 2_000  # points of a profile that is given by a formula
TESTED_DECADES, TESTED_OF_DECADE = 14, 16  # losses at which such a profile is looked at first
NEGLIGIBLE = 1e-3  # the part of delta below which the mass of all losses beyond a point needs no accuracy
# delta of all uses at epsilon = 0 up to which large losses count as rare: over the given delta, and by itself; and by
# itself alone if losses are unbounded, of which a smoothed contour has no end
RARE_FACTOR, RARE_TOTAL, RARE_UNBOUNDED = 50, 1e-3, 1e-4
RARE = 1e-40  # the mass beyond the last point of such a profile
BITS = 320
NEAR = arb(2) ** -150  # the distance at which slopes are taken, and what a tangent is lowered by
LARGEST_LOSS = 600.0


class Cells(Engine):
    """For each law a measure above and one below it, on nodes of unequal distances, composed by repeated squaring.

    For a few steps at small sampling rates, as 2 at a rate of 1e-5, whose rare large losses no uniform grid holds
    beside the small ones; and for compositions of finite laws with hundreds of losses, as epochs of random allocation.
    Both ends are off by the order of 1/POINTS^2. Theorem: docs/theorems/cells.md.
    """

    name = "cells of losses"
    only_rounding = False
    most_laws, most_uses = 8, 4096

    @classmethod
    def offer(cls, question: Question) -> Offer | None:
        """For few uses in which losses of a whole epoch, or very rare large ones, decide; `second` is for all others.

        There the smoothed contour takes seconds, and its ends are far apart.
        """
        late = any(law.late for law, _ in question.parts)
        return cls.second(question) if late or _rare(question) else None

    @classmethod
    def second(cls, question: Question) -> Offer | None:
        """For all laws with finitely many losses, or with a formula for one use in both directions."""
        uses = sum(count for _, count in question.parts)
        if not 1 < uses <= cls.most_uses or not all(_known(law) for law, _ in question.parts):
            return None
        return Offer(CELLS / question.haste, lambda: cls(question, max(int(POINTS / question.haste**0.5), 100)))

    def __init__(self, question: Question, points: int) -> None:
        self.guess = question.epsilon
        log_delta = question.log_delta
        if log_delta is None:
            log_delta = min(question.line.log_delta, 0.0)
        if question.given is None:
            log_delta = float(question.target.log())
        self.log_delta = max(log_delta, -80.0)
        floor = exp(self.log_delta) * NEGLIGIBLE
        laws = [(at_precision(BITS, partial(_measures, law, points, floor)), count) for law, count in question.parts]
        self.sums = []
        for side in (0, 1):
            whole = None
            for both, count in laws:
                part = power(both[side], count, lambda a, b: a.times(b, points, floor))
                whole = part if whole is None else whole.times(part, points, floor)
            assert whole is not None
            self.sums.append(_Tails(whole))

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """Certified bounds below and above delta(epsilon)."""
        return self.sums[1].delta(lift(epsilon)), self.sums[0].delta(lift(epsilon))

    def upper(self, epsilon: Fraction) -> arb:
        """A certified upper bound on delta(epsilon)."""
        return self.sums[0].delta(lift(epsilon))

    def estimate(self, epsilon: float) -> float:
        """Heuristic log delta(epsilon)."""
        return log_size(self.upper(Fraction(epsilon)))


class _Tails:
    """The sums of masses and of mass e^{-loss} over all losses from each one on, as balls."""

    def __init__(self, loss: Loss) -> None:
        self.losses = loss.losses.tolist()
        self.revealed = arb(loss.revealed)
        self.p, self.q = [arb(0)], [arb(0)]
        for place, mass in zip(reversed(self.losses), reversed(loss.masses.tolist()), strict=True):
            weight = arb(mass)
            self.p.append(self.p[-1] + weight)
            self.q.append(self.q[-1] + weight * (-arb(place)).exp())
        self.p.reverse()
        self.q.reverse()

    def delta(self, epsilon: arb) -> arb:
        """The sum of mass (1 - e^{epsilon - loss})_+: over all losses beyond epsilon, which makes it largest."""
        place = bisect(self.losses, float(epsilon.mid()))
        best = arb(0)
        for n in {max(place - 1, 0), place, min(place + 1, len(self.losses))}:
            best = best.max(self.p[n] - epsilon.exp() * self.q[n])
        return best + self.revealed


def _rare(question: Question) -> bool:
    """Whether all uses together have a small delta at epsilon = 0, hardly above the given one: large losses are rare.

    If losses are unbounded a small one is enough. Of losses that are not rare the smoothed contour says more, in as
    much time.
    """
    if question.given is not None or not question.transform.quick or not question.revealed.is_zero():
        return False
    formulas = [(law.alone(), count) for law, count in question.parts]
    total = sum((formula(arb(0)) * count for formula, count in formulas if formula is not None), arb(0))
    if total < RARE_UNBOUNDED and not question.largest.is_finite():
        return True
    return bool(total < RARE_FACTOR * question.target and total < RARE_TOTAL)


def _known(law: LossLaw) -> bool:
    """Whether the law has a list of its outcomes, or formulas for one use in both directions."""
    if law.late or law.few:
        return True
    both = law, law.reverse()  # Formulas do not count infinite losses, of which there must be none.
    return all(one.alone() is not None and one.factor().revealed.is_zero() for one in both)


def _measures(law: LossLaw, points: int, floor: float) -> tuple[Loss, Loss]:
    """A measure above and one below the law, without its own infinite losses, at the working precision."""
    listed = law.listed()
    if listed is not None:
        atoms = [(p, q) for p, q in listed if p > 0 and q > 0]
        return Loss.of(atoms, arb(0), upward=True), Loss.of(atoms, arb(0), upward=False)
    x, height = _points(law)
    values = [height(place) for place in x]
    (rest, _), *atoms = KnownProfile(x, values, values).above()
    tests = [(arb(0), arb(0))]
    for place, value in zip(reversed(x), reversed(values), strict=True):
        q = (height(place - NEAR) - value).lower() / NEAR  # a slope of H at the point, up to NEAR
        tests.append((q, (value + place * q).lower() - NEAR))
    inner = [(b[1] - a[1], b[0] - a[0]) for a, b in _concave(tests)]
    return (
        Loss.of([(p, q) for p, q in atoms if p > 0 and q > 0], rest, upward=True).fewer(points, floor),
        Loss.of([(p, q) for p, q in inner if p > 0 and q > 0], arb(0), upward=False).fewer(points, floor),
    )


def _concave(tests: Sequence[tuple[arb, arb]]) -> Iterator[tuple[tuple[arb, arb], tuple[arb, arb]]]:
    """The edges of a concave chain through some of the points, from left to right: what is below it is left out."""
    chain: list[tuple[arb, arb]] = []
    for test in tests:
        if chain and not (test[0] > chain[-1][0] and test[1] > chain[-1][1]):
            continue
        while len(chain) > 1:
            (x, y), (a, b) = chain[-2:]
            if (b - y) * (test[0] - a) > (test[1] - b) * (a - x):
                break
            chain.pop()
        chain.append(test)
    return pairwise(chain)


def _points(law: LossLaw) -> tuple[list[arb], Callable[[arb], arb]]:
    """Points x that are dense where the loss is likely, in both directions, and the profile H of one use."""
    import numpy as np

    right, left = law.alone(), law.reverse().alone()
    assert right is not None
    assert left is not None

    def height(x: arb) -> arb:
        if x >= 1:
            return right(x.log()) if x.log() < law.largest() else arb(0)
        back = left(-x.log()) if -x.log() < law.reverse().largest() else arb(0)
        return 1 - x + x * back

    ends = _reach(right, law.largest()), _reach(left, law.reverse().largest())
    steps = np.geomspace(10.0**-TESTED_DECADES, 1.0, TESTED_DECADES * TESTED_OF_DECADE)
    tested = np.unique(np.exp(np.concatenate([-ends[1] * steps, [0.0], ends[0] * steps])))
    heights = [height(arb(x)) for x in tested.tolist()]
    falls = [
        float(((a - b) / (arb(y) - arb(x))).mid())
        for (a, b), (x, y) in zip(pairwise(heights), pairwise(tested.tolist()), strict=True)
    ]
    jumps = np.maximum(-np.diff(np.array(falls)), 0.0) * tested[1:-1]
    losses = np.log(tested)
    density = _densities(losses, np.append(jumps, 0.0), RARE)
    level = np.concatenate([[0.0], np.cumsum(density)])
    places = np.exp(np.interp(np.linspace(0.0, level[-1], KNOWN_POINTS), level, losses))
    return [arb(place) for place in np.unique(places).tolist()], height


def _reach(formula: Callable[[arb], arb], top: arb) -> float:
    """A loss beyond which the profile is negligible, or the largest one; heuristic."""
    most, end = float(top.upper()) if top.is_finite() else inf, 1e-3
    while end < most and not formula(arb(end)) < RARE:
        end *= 1.25
        if end > LARGEST_LOSS:
            raise NotCertified("the losses of one use are too large for cells")
    return min(end, most)
