"""The exact profile if all exponents of the transform share a lattice: Fourier inversion over a single period.

The other periods are added in closed form, by Poisson summation.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, inf, log, log2, pi
from typing import TYPE_CHECKING

from flint import acb, acb_mat, acb_poly, acb_series, arb, ctx

from zcdp.numeric.balls import Undecided, above, at_precision, below, lift, log_size
from zcdp.numeric.threads import cached_property
from zcdp.numeric.work import BOUND, TRANSFORM, TooManyNodes
from zcdp.privacy.loss.decay import DOWN, UP
from zcdp.privacy.loss.lattice import Lattice
from zcdp.privacy.loss.transform import Factor, Transform
from zcdp.privacy.profile.contour import LEAST_WORK, Phases, charge, choose_nodes, octaves, quietly
from zcdp.privacy.profile.engine import CONTOUR, LARGEST_INDEX, Effort, Engine, Line, Offer, Question

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from zcdp.privacy.loss.decay import Floats

__all__ = ["LatticeContour"]

MOST_POWERS = 120  # the largest power of 1/w of which images are added in closed form


class LatticeContour(Engine):
    """The infinite trapezoidal sum of `Contour` with the step h = 2 pi/(g N), from N nodes; g is the lattice spacing.

    For many uses of noise on integers and of randomized response, as 100 discrete Gaussian counts. Without densities it
    is the Fourier accountant of Koskela, Jalko and Honkela (2020) on its own lattice, so that nothing is rounded to it.

    M(z) = sum over j of P_j(z) w^{-j}, w = z + 1/2, and P_j has the period 2 pi i/g up to a phase. So the images
    z + 2 pi i m/g of a node are added in closed form, power by power, up to the degree J. Higher powers are negligible
    at images other than m = 0, and are bounded there. Theorem: docs/theorems/lattice-contour.md.
    """

    name = "lattice"
    on_lattice = True

    @classmethod
    def offer(cls, question: Question) -> Offer | None:
        """For compositions whose exponents share a lattice that is not too fine."""
        assert question.lattice is not None
        try:
            with quietly():
                contour = cls(question.line, question.lattice, question.part(CONTOUR), guess=question.epsilon)
        except TooManyNodes:
            return None
        return Offer(contour.cost, lambda: contour)

    def __init__(self, line: Line, lattice: Lattice, effort: Effort, *, guess: Fraction = Fraction(0)) -> None:
        """Choose the degree J and the nodes; raises `TooManyNodes` beyond the effort."""
        self.line, self.lattice, self.guess = line, lattice, guess
        spacing = float(self.spacing)
        if not line.period < LARGEST_INDEX * spacing:
            raise TooManyNodes
        self.count = 2 * int(line.period / spacing / 2) + 3  # odd, so that no node but the first lies where M is real
        self.low, self.high = below(self.step) * DOWN, above(self.step) * UP
        self.distance = below(arb.pi() / self.spacing)
        self.degree, self.slack = self._powers()
        densities = sum(not factor.atomic for factor, _ in line.transform.factors)
        # the measured work for one node, in transforms of a plain law
        self.each = 0.7 * line.transform.weight + 3 + densities * (5 + 0.7 * self.degree)
        most = max(int(effort.nodes / (TRANSFORM * self.each)), LEAST_WORK)
        work = max(effort.cells // (2 * BOUND * line.decay.size), LEAST_WORK)
        last = (self.count - 1) // 2
        nodes = choose_nodes(octaves(last), self._negligible, most=most, work=work)
        self.kept = [k for k in nodes.kept if k <= last]
        i, j = nodes.begin.astype(float), nodes.end.astype(float)
        own, images = self._decays(i, j)
        self.slack += charge((j - i) / (i * j), own) / (self.step * arb.pi())
        self.slack += charge(j - i, images) * self.spacing / (2 * self.count)
        self._last: tuple[Fraction, list[arb]] | None = None

    @property
    def spacing(self) -> arb:
        """The lattice spacing g, at the working precision."""
        return self.lattice.gap()

    @property
    def step(self) -> arb:
        """The step h of the trapezoidal rule, at the working precision."""
        return 2 * arb.pi() / (self.spacing * self.count)

    def _powers(self) -> tuple[int, arb]:
        """The degree J up to which images are added, and a bound on the images of higher powers.

        The bound is v^{-J-1} prod (A_i + v B_i)^{n_i} g/4 for any v >= 1, with bounds A_i on the atoms' part and B_i on
        the density's part at the images; it is to be multiplied by M(c) e^{-c epsilon}.
        """
        import numpy

        decay = self.line.decay
        if not decay.density.any():
            return 0, arb(0)
        image = decay.density / self.distance
        room = self.line.head + log(float(self.spacing) / 4) - self.line.limit
        best, at = inf, 1.0
        for n in range(49):
            v = 2.0 ** (n / 3)
            size = float((numpy.log(decay.atoms + v * image) * decay.count).sum()) + room
            degree = -1 if size <= 0 else ceil(size / log(v)) - 1 if n else inf
            if degree < best:
                best, at = degree, v
        if best > MOST_POWERS:
            raise TooManyNodes
        degree, v, reach = int(best), arb(at), arb(self.distance)
        bounds = zip(self.line.transform.factors, decay.atoms.tolist(), decay.density.tolist(), strict=True)
        log_rest = sum(((a + v * b / reach).log() * count for (_, count), a, b in bounds), -(degree + 1) * v.log())
        return degree, log_rest.exp() * self.spacing / 4

    def _decays(self, i: Floats, j: Floats) -> tuple[Floats, Floats]:
        """Certified lower bounds on the decay at the nodes i < k <= j of each cell, and at all of their images."""
        low, high = (i + 1) * self.low, j * self.high
        return self.line.bound(low, high), self.line.bound_images(low, high, self.distance)

    def _negligible(self, i: Floats, j: Floats) -> NDArray[np.bool_]:
        """Which cells i < k <= j may be left out, with their images."""
        import numpy

        own, images = self._decays(i, j)
        own = numpy.log((j - i) / (i * j)) - log(pi * self.low) - own
        images = numpy.log(j - i) + log(float(self.spacing) / (2 * self.count)) - images
        return self.line.head + numpy.logaddexp(own, images) <= self.line.limit

    @property
    def cost(self) -> float:
        """The expected work for all nodes, in nanoseconds."""
        return len(self.kept) * self.each * TRANSFORM

    @cached_property
    def bits(self) -> int:
        """The working precision for the nodes: raised, because the powers t^n/n! in `_node` cancel."""
        largest = float(self.line.c) + float(self.step) * self.kept[-1] + 1
        return ctx.prec + 64 + int((self.degree + 2) * (2 + log2(2 * largest)))

    @cached_property
    def nodes(self) -> tuple[Phases, acb_mat, acb_mat | None]:
        """At the evaluated nodes (the first halved): powers above J over z(z+1), and coefficients of the image sum."""
        rest, columns = [], []
        step, spacing = self.step, self.spacing
        factors = [
            (factor, count, [arb.bin_uiui(count, j) for j in range(min(count, self.degree) + 1)])
            for factor, count in Transform(self.line.transform.parts).factors
        ]
        for n, k in enumerate(self.kept):
            own, column = self._node(acb(self.line.c, step * k), spacing, factors)
            half = 1 if n else 2
            rest.append(own / half)
            columns.append([x / half for x in column])
        phases = Phases(self.kept)
        rows = [list(row) for row in zip(*columns, strict=True)]
        return phases, phases.spread([rest]), phases.spread(rows) if rows else None

    def _node(self, z: acb, g: arb, factors: list[tuple[Factor, int, list[arb]]]) -> tuple[acb, list[acb]]:
        """For one node z: (M - sum over j <= J of P_j w^{-j})/(z(z+1)), and the coefficients of the sum over images.

        The latter are those of theta^r, r < J, of e^{t/2} and of e^{-t/2}; theta is the distance from epsilon to the
        next lattice point.
        """
        w, degree = z + arb(1) / 2, self.degree
        u = 1 / w
        scalar, series, moment = acb(1), acb_poly([1]), acb(1)
        for factor, count, choices in factors:
            if factor.atomic:
                scalar *= factor.once(z, w, u) ** count
                continue
            a, b = factor.split(w)
            moment *= (a + b * u) ** count
            if degree >= 0:
                series = (series * _binomial_series(a, b, count, choices)).truncate(degree + 1)
        moment, kernel = moment * scalar, z * (z + 1)
        if not moment.is_finite():
            raise Undecided
        if degree < 0:
            return moment / kernel, []
        powers = [series[j] * scalar for j in range(degree + 1)]
        own = moment - acb_poly(powers)(u)
        # sum over j of P_j f_j(t) = sum over n < J of c_n t^n/n! - c_0 cosh(t/2) - c_{-1} sinh(t/2)/2
        c = [acb(0)] * (degree + 3)
        for n in range(degree - 1, -2, -1):
            c[n + 1] = 4 * (c[n + 3] - powers[n + 1])
        even, odd = -c[1], -c[0] / 2
        # sum over i of e^{-w(t+gi)} (t+gi)^n/n! is e^{-wt} times the coefficient of s^n in e^{st}/(1 - e^{-wg+sg})
        column: list[acb] = []
        if degree:
            grid = acb_series([-w * g, g], prec=degree).exp()
            inverse = (1 / (1 - grid)).coeffs()
            if len(inverse) < degree:
                raise Undecided
            folded = acb_poly(c[degree:0:-1]) * acb_poly(inverse)
            factorial = arb(1)
            for r in range(degree):
                factorial *= max(r, 1)
                column.append(folded[degree - 1 - r] / factorial)
        plus, minus = (even + odd) / 2, (even - odd) / 2
        return own / kernel, [*column, -plus / (-z * g).expm1(), -minus / (-(z + 1) * g).expm1()]

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """Certified bounds below and above delta(epsilon)."""
        return at_precision(self.bits, lambda: self._delta(epsilon), terms=max(self.degree, 10))

    def upper(self, epsilon: Fraction) -> arb:
        """A certified upper bound on delta(epsilon); aliases matter only for the lower one."""
        return at_precision(self.bits, lambda: self._upper(epsilon), terms=max(self.degree, 10))

    def _delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        (total, slack), point = self._sum(epsilon), lift(epsilon)
        return total - slack - self.line.aliases(self.spacing * self.count, point), total + slack

    def _upper(self, epsilon: Fraction) -> arb:
        total, slack = self._sum(epsilon)
        return total + slack

    def _sum(self, epsilon: Fraction) -> tuple[arb, arb]:
        """The trapezoidal sum, and an upper bound on all that is left out."""
        point, c = lift(epsilon), self.line.c
        phases, rest, columns = self.nodes
        total = arb(0)
        if self.line.decay.density.any():
            total = phases.sums(rest, self.step * point)[0] * self.step / arb.pi() * (-c * point).exp()
        if columns is not None:
            first = self.lattice.first(epsilon)
            place = lift(first) * self.lattice.scale()
            if self._last is None or self._last[0] != first:  # Nearby epsilons have the same next lattice point.
                self._last = first, phases.sums(columns, self.step * place)
            *coefficients, plus, minus = self._last[1]
            theta = place - point
            power, polynomial = arb(1), arb(0)
            for coefficient in coefficients:
                polynomial += coefficient * power
                power *= theta
            sums = polynomial * (point / 2).exp() + plus * (place / 2).exp() + minus * (point - place / 2).exp()
            total += sums * (-(c + arb(1) / 2) * place).exp() * 2 / self.count
        return total, self.slack * self.line.size(point)

    def estimate(self, epsilon: float) -> float:
        """Heuristic log delta(epsilon)."""
        return log_size(self.upper(Fraction(epsilon)))


def _binomial_series(a: acb, b: acb, count: int, choices: list[arb]) -> acb_poly:
    """(a + b u)^count as a polynomial in u, up to the last binomial coefficient in `choices`; a may be 0."""
    last = len(choices) - 1
    falling, rising = [a ** (count - last)], [acb(1)]
    for _ in range(last):
        falling.append(falling[-1] * a)
        rising.append(rising[-1] * b)
    return acb_poly([x * y * z for x, y, z in zip(choices, reversed(falling), rising, strict=True)])
