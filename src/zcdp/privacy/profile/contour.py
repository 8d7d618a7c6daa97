"""The exact profile of a composition by Fourier inversion through the saddle point, with rigorous error bounds.

The integral of the moment generating function along Re z = c, c near the saddle point, is taken by the trapezoidal
rule. It is the characteristic function accountant (Zhu, Dong and Wang 2022; Gopi, Lee and Wutschitz 2021) on a
shifted contour, on which few digits of a small delta cancel.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import partial
from math import inf, log, pi
from typing import TYPE_CHECKING

from flint import acb, acb_mat, arb

from zcdp.numeric.balls import NotCertified, above, below, lift
from zcdp.numeric.quadrature import (
    FIRST_NODES,
    LEAST_WORK,
    SHORT_CELL,
    Phases,
    TooManyNodes,
    charge,
    choose,
    octaves,
    quietly,
)
from zcdp.numeric.threads import cached_property
from zcdp.privacy.loss.decay import DOWN, UP
from zcdp.privacy.profile.engine_base import Engine, Offer
from zcdp.privacy.profile.question import BOUND, CHEAP, CONTOUR, TRANSFORM, Effort, Line, Question

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from zcdp.privacy.loss.decay import Floats

__all__ = ["Contour", "shortest_period"]

OCTAVES = 44  # Nodes up to the index 8 * 2^43 are considered.
PARTS_OF_SADDLE = (0.75, 0.55, 0.4, 0.3, 0.2, 0.13, 0.08)  # Lines at these parts of the saddle point are tried too.


class Contour(Engine):
    """delta(epsilon) = (1/2 pi i) integral over Re z = c of M(z) e^{-z epsilon}/(z(z+1)) dz.

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
        nodes = choose(octaves(last), self._negligible, most=most, work=work)
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
