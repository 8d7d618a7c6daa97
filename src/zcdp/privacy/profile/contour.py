"""The exact profile of many mechanisms: a contour integral by the trapezoidal rule, with rigorous error bounds."""

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
from zcdp.privacy.profile.engine import Engine, Offer
from zcdp.privacy.profile.question import BOUND, CHEAP, CONTOUR, TRANSFORM, Effort, Line, Question

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from zcdp.privacy.loss.decay import Floats

__all__ = ["Contour", "shortest_period"]

OCTAVES = 44
LOWER = (0.75, 0.55, 0.4, 0.3, 0.2, 0.13, 0.08)  # Lines left of the saddle point that are tried too.


class Contour(Engine):
    """delta(epsilon) = (1/2 pi i) integral over Re z = c of M(z) e^{-z epsilon}/(z(z+1)) dz.

    With step h and period P = 2 pi/h the whole trapezoidal sum is sum over j of e^{cjP} delta(epsilon + jP), all terms
    of it non-negative: it is an upper bound as it stands. Nodes are left out where |M| is proven negligible, and
    their bound is added. Theorem: docs/theorems/contour.md.
    """

    name = "contour"

    @classmethod
    def offer(cls, question: Question) -> Offer | None:
        """Wherever something decays: atoms alone never do."""
        if all(factor.atomic for factor, _ in question.transform.factors):
            return None
        best = cls._at(question, lambda: question.line)
        if question.transform.quick and (best is None or best.cost > CHEAP):
            # Where losses are large but rare, the saddle point is not where the fewest nodes are needed.
            for lower in LOWER:
                other = cls._at(question, partial(question.left, lower))
                if best is not None and (other is None or other.cost >= best.cost):
                    break
                best = other
        return None if best is None else Offer(best.cost, lambda: best)

    @classmethod
    def _at(cls, question: Question, line: Callable[[], Line]) -> Contour | None:
        try:
            with quietly():
                return cls(line(), question.part(CONTOUR), guess=question.epsilon)
        except TooManyNodes:
            return None
        except NotCertified:
            if question.transform.quick:  # Another line may do better.
                return None
            raise

    def __init__(self, line: Line, effort: Effort, *, guess: Fraction = Fraction(0), rough: bool = False) -> None:
        """Within the effort, or `TooManyNodes`; `rough` stops where the middle of the integrand ends, for proposals."""
        import numpy

        self.line, self.guess = line, guess
        self.period = arb(line.period)
        self.step = 2 * arb.pi() / self.period
        h = below(self.step)
        if not h > 0:  # The period is beyond floats.
            raise TooManyNodes
        self.low, self.high = h * DOWN, above(self.step) * UP
        most = max(int(effort.nodes / (TRANSFORM * line.transform.weight)), LEAST_WORK)
        self.slack = arb(0)  # What the nodes left out weigh, before the factor M(c) e^{-c epsilon}.
        if rough:
            last = int(min(line.decay.least_near_end / h, 2.0**30))  # Gaussian noise alone has no end at all.
        else:
            if line.head + log(SHORT_CELL / most / most) - log(pi * h) - line.decay.most > line.limit:
                raise TooManyNodes  # The shortest cell beyond as many nodes as are allowed is not negligible.
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
        """A lower bound on the decay at the nodes i < k <= j."""
        return self.line.bound((i + 1) * self.low, j * self.high)

    def _negligible(self, i: Floats, j: Floats) -> NDArray[np.bool_]:
        import numpy

        weight = numpy.log((j - i) / (i * j)) - log(pi * self.low)
        return self.line.head + weight - self._decay(i, j) <= self.line.limit

    @property
    def cost(self) -> float:
        """What the nodes take, in nanoseconds."""
        return len(self.kept) * self.line.transform.weight * TRANSFORM

    @cached_property
    def nodes(self) -> list[acb]:
        """M(z)/(z(z+1)) at the nodes that are kept, the first one halved."""
        points = [acb(self.line.c, self.step * k) for k in self.kept]
        moments = self.line.moments(self.step, self.kept)
        values = [moment / (z * (z + 1)) for z, moment in zip(points, moments, strict=True)]
        values[0] /= 2
        return values

    @cached_property
    def _spread(self) -> tuple[Phases, acb_mat]:
        phases = Phases(self.kept)
        return phases, phases.spread([self.nodes])

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """See `Engine`."""
        point = lift(epsilon)
        total, slack = self._sum(point)
        return total - slack - self.line.aliases(self.period, point), total + slack

    def upper(self, epsilon: Fraction) -> arb:
        """See `Engine`."""
        total, slack = self._sum(lift(epsilon))
        return total + slack

    def _sum(self, epsilon: arb) -> tuple[arb, arb]:
        """The trapezoidal sum, and what the nodes left out weigh at most."""
        phases, matrix = self._spread
        [total] = phases.sums(matrix, self.step * epsilon)
        total *= self.step / arb.pi() * (-self.line.c * epsilon).exp()
        return total, self.slack * self.line.size(epsilon)

    @cached_property
    def _floats(self) -> tuple[Floats, NDArray[np.complex128]]:
        """Heights and values in floating point, relative to M(c)."""
        import numpy

        size = self.line.weight
        values = numpy.array([complex(value / size) for value in self.nodes])
        return numpy.array(self.kept) * float(self.step), values

    def estimate(self, epsilon: float) -> float:
        """log delta(epsilon), near enough: for proposals."""
        import numpy

        heights, values = self._floats
        total = float((values * numpy.exp(-1j * epsilon * heights)).real.sum())
        total = max(total, 1e-15 * float(numpy.abs(values).sum()))  # Far away there is nothing but noise.
        if not total > 0:
            return -inf
        scale = self.line.tilt.value - self.line.c * epsilon + (self.step / arb.pi()).log()
        return log(total) + float(scale.mid())


def shortest_period(question: Question) -> arb:
    """The line, at the saddle point or left of it, on which the trapezoidal rule needs the shortest period."""
    lines = []
    for lower in (1.0, *LOWER):
        with suppress(NotCertified):
            lines.append(question.left(lower))
    return min(lines, key=lambda line: line.period).c if lines else question.c
