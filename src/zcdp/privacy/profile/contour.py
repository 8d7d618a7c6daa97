"""The exact profile of a composition by Fourier inversion through the saddle point, with rigorous error bounds.

The integral of the moment generating function along Re z = c, c near the saddle point, is taken by the trapezoidal
rule. It is the characteristic function accountant (Zhu, Dong and Wang 2022; Gopi, Lee and Wutschitz 2021) on a
shifted contour, on which few digits of a small delta cancel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from functools import partial
from math import inf, log, pi
from typing import TYPE_CHECKING, NamedTuple

from flint import acb, acb_mat, arb

from zcdp.numeric.balls import NotCertified, above, below, lift
from zcdp.numeric.threads import cached_property
from zcdp.numeric.work import BOUND, TRANSFORM, TooManyNodes, count_functions, count_products
from zcdp.privacy.loss.decay import DOWN, UP
from zcdp.privacy.profile.engine import CHEAP, CONTOUR, Effort, Engine, Line, Offer, Question

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from zcdp.privacy.loss.decay import Floats

    Indices = NDArray[np.int64]

__all__ = ["Contour", "Nodes", "Phases", "charge", "choose_nodes", "octaves", "quietly", "shortest_period"]

OCTAVES = 44  # Nodes up to the index 8 * 2^43 are considered.
PARTS_OF_SADDLE = (0.75, 0.55, 0.4, 0.3, 0.2, 0.13, 0.08)  # Lines at these parts of the saddle point are tried too.
# From so many laws on, to set up a line takes as long as its nodes: then the line at this part is taken as it is.
MANY_LAWS, USUAL_PART = 16, 0.65


class Contour(Engine):
    """delta(epsilon) = (1/2 pi i) integral over Re z = c of M(z) e^{-z epsilon}/(z(z+1)) dz.

    For many uses of noise with a density, as 1000 Laplace counts or DP-SGD: the characteristic function accountant of
    Zhu, Dong and Wang (2022), through the saddle point.

    With step h and period P = 2 pi/h the infinite trapezoidal sum equals the sum over all integers j of
    e^{cjP} delta(epsilon + jP). Its terms are non-negative, so it is an upper bound on delta(epsilon) as it stands.
    Nodes at which |M| is proven negligible are not evaluated; their bound is added. Theorem: docs/theorems/contour.md.
    """

    name = "contour"

    @classmethod
    def offer(cls, question: Question) -> Offer | None:
        """For compositions with some law that is not made of atoms alone: of atoms alone, |M| does not decay."""
        if all(factor.atomic for factor, _ in question.transform.factors):
            return None
        if question.transform.quick and len(question.transform.factors) >= MANY_LAWS:
            usual = cls._at(question, partial(question.left, USUAL_PART))
            if usual is not None:
                return Offer(usual.cost, lambda: usual)
        best = cls._at(question, lambda: question.line)
        if question.transform.quick and (best is None or best.cost > CHEAP):
            # If large losses are rare, a line left of the saddle point may need fewer nodes.
            for lower in PARTS_OF_SADDLE:
                other = cls._at(question, partial(question.left, lower))
                if best is not None and (other is None or other.cost >= best.cost):
                    break
                best = other
        return None if best is None else Offer(best.cost, lambda: best)

    @classmethod
    def _at(cls, question: Question, line: Callable[[], Line]) -> Contour | None:
        """The contour on a line; None if it needs too many nodes."""
        try:
            with quietly():
                return cls(line(), question.part(CONTOUR), guess=question.epsilon)
        except TooManyNodes:
            return None
        except NotCertified:
            if question.transform.quick:  # Another line may work.
                return None
            raise

    def __init__(self, line: Line, effort: Effort, *, guess: Fraction = Fraction(0), rough: bool = False) -> None:
        """Choose the nodes; raises `TooManyNodes` beyond the effort.

        With `rough` the sum stops where the central part of the integrand ends, and is only heuristic.
        """
        import numpy

        self.line, self.guess = line, guess
        self.period = arb(line.period)
        self.step = 2 * arb.pi() / self.period
        h = below(self.step)
        if not h > 0:  # The step underflows.
            raise TooManyNodes
        self.low, self.high = h * DOWN, above(self.step) * UP
        most = max(int(effort.nodes / (TRANSFORM * line.transform.weight)), LEAST_WORK)
        self.slack = arb(0)  # a bound on the nodes left out, to be multiplied by M(c) e^{-c epsilon}
        if rough:
            last = int(min(line.decay.least_near_end / h, 2.0**30))  # This end is infinite for Gaussian noise alone.
        else:
            if line.head + log(SHORT_CELL / most / most) - log(pi * h) - line.decay.most > line.limit:
                raise TooManyNodes  # Even the shortest cell beyond the allowed number of nodes is not negligible.
            begin = numpy.array([float(FIRST_NODES << n) for n in range(OCTAVES)])
            tails = line.bound((begin + 1) * self.low, begin * inf)
            enough = numpy.nonzero(line.head - numpy.log(pi * h * begin) - tails <= line.limit)[0]
            if not len(enough):
                raise TooManyNodes
            last = FIRST_NODES << int(enough[0])
            self.slack = (-arb(float(tails[enough[0]]))).exp() / (self.step * last * arb.pi())
        work = max(effort.cells // (BOUND * line.decay.size), LEAST_WORK)
        nodes = choose_nodes(octaves(last), self._negligible, most=most, work=work)
        self.kept = nodes.kept
        i, j = nodes.begin.astype(float), nodes.end.astype(float)
        self.slack += charge((j - i) / (i * j), self._decay(i, j)) / (self.step * arb.pi())

    def _decay(self, i: Floats, j: Floats) -> Floats:
        """Certified lower bounds on the decay log(M(c)/|M(z_k)|) at the nodes i < k <= j of each cell."""
        return self.line.bound((i + 1) * self.low, j * self.high)

    def _negligible(self, i: Floats, j: Floats) -> NDArray[np.bool_]:
        """Which cells i < k <= j may be left out."""
        import numpy

        weight = numpy.log((j - i) / (i * j)) - log(pi * self.low)
        return self.line.head + weight - self._decay(i, j) <= self.line.limit

    @property
    def cost(self) -> float:
        """The expected work for all nodes, in nanoseconds."""
        return len(self.kept) * self.line.transform.weight * TRANSFORM

    @cached_property
    def nodes(self) -> list[acb]:
        """M(z)/(z(z+1)) at the nodes that are evaluated, the first one (k = 0) halved."""
        points = [acb(self.line.c, self.step * k) for k in self.kept]
        moments = self.line.moments(self.step, self.kept)
        values = [moment / (z * (z + 1)) for z, moment in zip(points, moments, strict=True)]
        values[0] /= 2
        return values

    @cached_property
    def _spread(self) -> tuple[Phases, acb_mat]:
        """The nodes as a matrix, for sums with phases."""
        phases = Phases(self.kept)
        return phases, phases.spread([self.nodes])

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """Certified bounds below and above delta(epsilon)."""
        point = lift(epsilon)
        total, slack = self._sum(point)
        return total - slack - self.line.aliases(self.period, point), total + slack

    def upper(self, epsilon: Fraction) -> arb:
        """A certified upper bound on delta(epsilon)."""
        total, slack = self._sum(lift(epsilon))
        return total + slack

    def _sum(self, epsilon: arb) -> tuple[arb, arb]:
        """The trapezoidal sum over the evaluated nodes, and an upper bound on the others."""
        phases, matrix = self._spread
        [total] = phases.sums(matrix, self.step * epsilon)
        total *= self.step / arb.pi() * (-self.line.c * epsilon).exp()
        return total, self.slack * self.line.size(epsilon)

    @cached_property
    def _floats(self) -> tuple[Floats, NDArray[np.complex128]]:
        """Im z and M(z)/(M(c) z(z+1)) at the nodes, in floats."""
        import numpy

        size = self.line.weight
        values = numpy.array([complex(value / size) for value in self.nodes])
        return numpy.array(self.kept) * float(self.step), values

    def estimate(self, epsilon: float) -> float:
        """Heuristic log delta(epsilon), in floats."""
        import numpy

        heights, values = self._floats
        total = float((values * numpy.exp(-1j * epsilon * heights)).real.sum())
        total = max(total, 1e-15 * float(numpy.abs(values).sum()))  # Below this there is only rounding noise.
        if not total > 0:
            return -inf
        scale = self.line.tilt.value - self.line.c * epsilon + (self.step / arb.pi()).log()
        return log(total) + float(scale.mid())


def shortest_period(question: Question) -> arb:
    """The c, at the saddle point or left of it, at which the trapezoidal rule needs the shortest period."""
    lines = []
    for lower in (1.0, *PARTS_OF_SADDLE):
        with suppress(NotCertified):
            lines.append(question.left(lower))
    return min(lines, key=lambda line: line.period).c if lines else question.c


# A trapezoidal sum over nodes 0, 1, 2, ...: which are evaluated, a bound on the others, and the sum with phases.

FIRST_NODES = 8  # The nodes 0 to 8 are always evaluated.
LEAST_WORK = 100  # So many nodes, and cells, are allowed however small the work limit is.
SHORT_CELL = 4  # A cell of so few nodes that is not negligible is evaluated rather than divided.
BLOCK = 32  # So many consecutive nodes share one exponential of the phase.
GROUPS_PER_UNIT = 8  # Cells whose decay exponents share an eighth of a unit are bounded together.


@contextmanager
def quietly() -> Iterator[None]:
    """Turn off numpy's warnings on overflow and NaN: comparisons with inf or NaN then prove nothing, and are safe."""
    import numpy

    with numpy.errstate(all="ignore"):
        yield


class Nodes(NamedTuple):
    """The indices of the nodes to evaluate, and the cells begin < k <= end of the nodes that are only bounded."""

    kept: list[int]
    begin: Indices
    end: Indices


def octaves(last: int) -> list[tuple[int, int]]:
    """Cells begin < k <= end that cover FIRST_NODES < k <= `last`, each twice as long as the one before."""
    cells, begin = [], FIRST_NODES
    while begin < last:
        cells.append((begin, min(2 * begin, last)))
        begin *= 2
    return cells


def choose_nodes(
    cells: list[tuple[int, int]], negligible: Callable[[Floats, Floats], NDArray[np.bool_]], *, most: int, work: int
) -> Nodes:
    """Halve the cells until each is negligible or short; the nodes of the short ones are to be evaluated.

    `negligible` says which cells, given by arrays of begins and ends, may be bounded instead. Raises `TooManyNodes`
    if more than `most` nodes would be evaluated or more than `work` cells examined.
    """
    import numpy

    begin = numpy.array([cell[0] for cell in cells], dtype=numpy.int64)
    end = numpy.array([cell[1] for cell in cells], dtype=numpy.int64)
    kept, left = list(range(FIRST_NODES + 1)), []
    while len(begin):
        work -= len(begin)
        if work < 0:
            raise TooManyNodes
        out = negligible(begin.astype(float), end.astype(float))
        left.append((begin[out], end[out]))
        begin, end = begin[~out], end[~out]
        short = end - begin <= SHORT_CELL
        if len(kept) + int((end - begin)[short].sum()) > most or len(begin) > most:
            raise TooManyNodes
        for i, j in zip(begin[short].tolist(), end[short].tolist(), strict=True):
            kept.extend(range(i + 1, j + 1))
        begin, end = begin[~short], end[~short]
        middle = (begin + end) // 2
        begin, end = numpy.concatenate([begin, middle]), numpy.concatenate([middle, end])
    kept.sort()
    return Nodes(
        kept,
        numpy.concatenate([cell[0] for cell in left]) if left else begin,
        numpy.concatenate([cell[1] for cell in left]) if left else end,
    )


def charge(weight: Floats, decay: Floats) -> arb:
    """A certified upper bound on the sum of weight e^{-decay}, for arrays of non-negative floats.

    Decays are rounded down to multiples of 1/8, so that few exponentials are needed.
    """
    import numpy

    groups = numpy.minimum(numpy.floor(decay * GROUPS_PER_UNIT), 1e9).astype(numpy.int64)
    which, inverse = numpy.unique(groups, return_inverse=True)
    sums = numpy.bincount(inverse, weights=weight, minlength=len(which))
    total = arb(0)
    for group, size in zip(which.tolist(), sums.tolist(), strict=True):
        total += arb(size) * (-arb(group) / GROUPS_PER_UNIT).exp()
    return total * (1 + (len(weight) + 8) * 2.0**-52)  # Each weight and each addition has a relative error of 2^-53.


class Phases:
    """Sums of value_k e^{-i k angle} over the evaluated nodes k, as matrix products.

    With k = 32 q + r, only the exponentials of the 32 remainders r and of the blocks q that occur are needed.
    """

    def __init__(self, kept: list[int]) -> None:
        self.blocks = sorted({k // BLOCK for k in kept})
        place = {q: n * BLOCK for n, q in enumerate(self.blocks)}
        self.places = [place[k // BLOCK] + k % BLOCK for k in kept]

    def spread(self, rows: list[list[acb]]) -> acb_mat:
        """The matrix that `sums` takes, from rows of one value for each evaluated node.

        It has one row of 32 entries for each given row and each block, with zeros for nodes that are not evaluated.
        """
        size = len(self.blocks) * BLOCK
        entries = [acb(0)] * (size * len(rows))
        for n, row in enumerate(rows):
            for place, value in zip(self.places, row, strict=True):
                entries[n * size + place] = value
        return acb_mat(len(rows) * len(self.blocks), BLOCK, entries)

    def sums(self, matrix: acb_mat, angle: arb) -> list[arb]:
        """For each row given to `spread`, the real part of the sum of value_k e^{-i k angle}."""
        count_products(matrix.nrows() * BLOCK)
        count_functions(2 * len(self.blocks))
        short = [acb(1), acb(0, -angle).exp()]
        for r in range(2, BLOCK):
            short.append(short[r // 2] * short[r - r // 2])  # Few factors in each power keep the balls thin.
        long = [acb(0, -angle * (q * BLOCK)).exp() for q in self.blocks]
        inner = (matrix * acb_mat(BLOCK, 1, short)).entries()
        outer = acb_mat(len(inner) // len(long), len(long), inner) * acb_mat(len(long), 1, long)
        return [x.real for x in outer.entries()]
