"""The exact profile of many mechanisms: a contour integral by the trapezoidal rule, with rigorous error bounds."""

from __future__ import annotations

from cmath import exp
from fractions import Fraction
from functools import cached_property
from math import inf, log, pi

from flint import acb, arb

from zcdp.numeric.balls import below, lift
from zcdp.privacy.lattice import Lattice
from zcdp.privacy.rdp_to_approx import tail_factor
from zcdp.privacy.transform import Tilt, Transform

__all__ = ["Contour", "TooManyNodes"]

TOLERANCE = 1e-17
FIRST = 8
HOLES = 64  # how many nodes may be left out for one that is kept


class TooManyNodes(ArithmeticError):
    """The integrand decays too slowly for the nodes that are allowed."""


class Contour:
    """delta(epsilon) = (1/2 pi i) integral over Re z = c of M(z) e^{-z epsilon}/(z(z+1)) dz, or its lattice form.

    With step h and period P = 2 pi/h the whole trapezoidal sum is sum over j of e^{cjP} delta(epsilon + jP), all terms
    of it non-negative: it is an upper bound as it stands. Nodes are left out where |M| is proven negligible, and
    their bound is added. Theorem: docs/theorems/profile.md.
    """

    def __init__(
        self,
        transform: Transform,
        c: arb,
        epsilon: arb,
        *,
        lattice: Lattice | None = None,
        most: int,
        rough: bool = False,
    ) -> None:
        """At most `most` nodes; `rough` stops where the central part of the integrand ends, for proposals."""
        self.rough = rough
        self.spacing = lift(lattice.spacing) * lattice.scale() if lattice else arb(0)
        self.transform, self.c, self.lattice = transform, c, lattice
        self.tilt = Tilt(transform, c)
        self.weight = self.tilt.value.exp()
        bend = self.tilt.variance + 1 / (c * c) + 1 / ((1 + c) * (1 + c))
        estimate = self.tilt.value - c * epsilon - (c * (1 + c)).log() - (2 * arb.pi() * bend).log() / 2
        self.log_delta = float(estimate.mid())
        period = self._period(epsilon)
        if lattice:
            self.count = 2 * int(period / float(self.spacing.mid()) / 2) + 3  # odd: no node where M is real
            self.period = self.spacing * self.count
        else:
            self.count = 0
            self.period = arb(period)
        self.step = 2 * arb.pi() / self.period
        self.slack = arb(0)  # of the nodes left out, before the factor M(c) e^{-c epsilon}
        self.epsilon = epsilon
        self.kept = self._keep(float((self.tilt.value - c * epsilon).mid()) - self.log_delta, most)

    @cached_property
    def nodes(self) -> list[tuple[acb, acb]]:
        """The points z_k and M(z_k) at the nodes that are kept."""
        points = [acb(self.c, self.step * k) for k in self.kept]
        return [(z, self.transform.moment(z) / (1 if z.imag > 0 else 2)) for z in points]

    @cached_property
    def chernoff(self) -> list[tuple[arb, arb]]:
        """Orders s > c with log of the Chernoff bound on delta(0) at s."""
        orders = [(self.c * factor).mid() for factor in (1.25, 1.6, 2.5, 5)]
        return [(s, self.transform.log_moment(s) + tail_factor(s)) for s in orders]

    def _period(self, epsilon: arb) -> float:
        """Long enough that both neighbours in the sum over j are negligible; only accuracy rests on it."""
        tiny, c = -log(TOLERANCE), float(self.c)
        left = (tiny - self.log_delta + 2) / c
        right = inf
        if self.transform.largest_loss is not None:
            right = max(float((self.transform.largest_loss - epsilon).mid()), 0.0)
        for s, size in self.chernoff:
            bound = float((size - s * epsilon).mid())
            right = min(right, (bound - self.log_delta + tiny) / (float(s) - c))
        return max(left, right)

    def _keep(self, head: float, most: int) -> list[int]:
        """The nodes to evaluate. `head` is log(M(c) e^{-c epsilon}/delta); the others are bounded in `self.slack`."""
        h = below(self.step)
        last = (self.count - 1) // 2 if self.lattice else 1 << 62
        kept = list(range(min(FIRST, last) + 1))
        mean = log(2 / self.count / float(self.c)) if self.lattice else 0.0
        begin, end = FIRST, 2 * FIRST
        horizon = most * HOLES
        if self.rough:
            last = int(min(last, max(self.tilt.near_end / h, FIRST)))  # no end at all for Gaussian noise alone
        elif not self.lattice and head - log(pi * horizon * h) - self.tilt.decay(horizon * h, inf) > log(TOLERANCE):
            raise TooManyNodes  # at once, rather than after the many cells on the way there

        def handle(i: int, j: int) -> None:
            """Nodes i < k <= j."""
            decay = self.tilt.decay((i + 1) * h, j * h * (1 + 1e-12))
            share = mean + log(j - i) if self.lattice else log((1 / (i * h) - 1 / (j * h)) / pi)
            if head + share - decay <= log(TOLERANCE):
                self._leave(i, j, decay)
            elif j - i <= 32:
                if len(kept) + j - i > most:
                    raise TooManyNodes
                kept.extend(range(i + 1, j + 1))
            else:
                middle = (i + j) // 2
                handle(i, middle)
                handle(middle, j)

        while begin < last:
            if not self.lattice:
                decay = self.tilt.decay((begin + 1) * h, inf)
                if head - log(pi * begin * h) - decay <= log(TOLERANCE):
                    self._leave(begin, None, decay)
                    return kept
                if end > 4 * horizon:
                    raise TooManyNodes
            handle(begin, min(end, last))
            begin, end = end, 2 * end
        return kept

    def _leave(self, i: int, j: int | None, decay: float) -> None:
        """Nodes i < k <= j stay out: charge them what they can weigh at most."""
        if self.lattice:
            assert j is not None
            share = arb(2 * (j - i)) / self.count
        else:
            share = (1 / (self.step * i) - (1 / (self.step * j) if j else 0)) / arb.pi()
        self.slack += share * (-arb(decay)).exp()

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """Balls whose lower end is below, and whose upper end is above delta(epsilon)."""
        total, point = arb(0), lift(epsilon)
        if self.lattice:
            g, first = self.spacing, lift(self.lattice.first(epsilon)) * self.lattice.scale()
            drop = (point - first).exp()

            def kernel(z: acb) -> acb:
                return (-z * first).exp() * (drop / (-(z + 1) * g).expm1() - 1 / (-z * g).expm1())

            for z, moment in self.nodes:
                total += (moment * kernel(z)).real
            total = total * 2 / self.count
            slack = self.slack * self.weight * kernel(acb(self.c)).real
        else:
            for z, moment in self.nodes:
                total += (moment * (-z * point).exp() / (z * (z + 1))).real
            total = total * self.step / arb.pi()
            slack = self.slack * self.weight * (-self.c * point).exp()
        return total - slack - self._aliases(point), total + slack

    @cached_property
    def _floats(self) -> list[tuple[complex, complex]]:
        """Points and summands in floating point, relative to the middle one."""
        size = self.weight * (-self.c * self.epsilon).exp()
        return [
            (complex(z), complex(moment * (-z * self.epsilon).exp() / (z * (z + 1)) / size)) for z, moment in self.nodes
        ]

    def estimate(self, epsilon: float) -> float:
        """log delta(epsilon), near enough: for proposals."""
        if self.lattice:  # its kernel jumps from point to point
            value = self.delta(Fraction(epsilon))[1]
            return float(value.log().mid()) if value > 0 else -inf
        move = epsilon - float(self.epsilon)
        total = sum((value * exp(-1j * z.imag * move)).real for z, value in self._floats)
        if total <= 0:
            return -inf
        scale = float((self.tilt.value - self.c * epsilon + (self.step / arb.pi()).log()).mid())
        return log(total) + scale

    def _aliases(self, epsilon: arb) -> arb:
        """An upper bound on sum over j != 0 of e^{cjP} delta(epsilon + jP)."""
        c, period = self.c, self.period
        q = (-c * period).exp()
        left = q / (1 - q)
        top = self.transform.largest_loss
        if top is not None and epsilon + period >= top:
            return left
        best = None
        for s, size in self.chernoff:
            q = ((c - s) * period).exp()
            bound = (size - s * epsilon).exp() * q / (1 - q)
            best = bound if best is None else best.min(bound)
        assert best is not None
        return left + best
