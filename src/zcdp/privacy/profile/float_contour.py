"""Fourier inversion of a smoothed composition in doubles: many more nodes than in balls, with every rounding bounded.

`FloatContour` is the trapezoidal sum over blocks of nodes; its factors are the transforms of the laws, as powers of
polynomials (`_Rows`) or of sums of complex exponentials (`Waves`).
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from flint import arb

from zcdp.numeric.balls import above, below, lift, log_size
from zcdp.numeric.doubles import decays, power, product, waves
from zcdp.numeric.threads import cached_property
from zcdp.numeric.work import DOUBLE_NODE, DOUBLES, TooManyNodes, count_work
from zcdp.privacy.loss.gaussian_law import gaussian_pair
from zcdp.privacy.loss.law import Parts
from zcdp.privacy.loss.transform import MOST_TERMS, Exponentials, Polynomial, Tilted, Transform
from zcdp.privacy.profile.engine import Line

__all__ = ["HEIGHT", "ULP", "WIDTH", "FloatContour", "Waves"]


ULP = 2.0**-53
WIDTH, HEIGHT = 1024, 16  # A block is 16 rows of 1024 nodes, which fit into the cache.
POWERS_WORK = 250_000  # nanoseconds for the WIDTH powers of one exponential
POWER_ERROR = 64  # the largest error of one power of one exponential, in units of 2^-53


class Waves:
    """A factor (sum over j of g_j e^{iy l_j})^n at the nodes y = k step, with Im l_j >= 0.

    A block of nodes is one matrix product. Theorem: docs/theorems/doubles.md.
    """

    top = arb(0)

    def __init__(self, sum_of: Exponentials, count: int, step: float) -> None:
        import numpy

        terms = len(sum_of.rates)
        if terms > MOST_TERMS or not all(rate.imag.rad() * (step * 2.0**23) < ULP for rate in sum_of.rates):
            raise TooManyNodes
        self.rates, self.step, self.count = sum_of.rates, step, count
        self.weights = numpy.array([complex(weight) for weight in sum_of.weights])
        size = sum((abs(weight) for weight in sum_of.weights), arb(0))
        unknown = sum((weight.rad() for weight in sum_of.weights), sum_of.error)
        # Each term is a product of two powers and the weight; then so many complex terms are added.
        rounding = size * ((2 * POWER_ERROR + 16 + 4 * terms) * ULP) + 4 * ULP
        self.error = (rounding + unknown) * count
        self.cost = DOUBLES * (1.5 + 0.5 * terms + 0.7 * (count.bit_length() - 1))
        self.strength = float(count)
        self._long: tuple[int, Complexes] | None = None

    def _powers(self, times: int, first: int) -> Complexes:
        """e^{iky l_j} for y = times step and k = first, ..., first + WIDTH - 1, one row for each j."""
        import numpy as np

        count_work(POWERS_WORK * len(self.rates))
        k = np.arange(first, first + WIDTH)
        heights: Any = k.astype(float)
        rows = []
        for rate in self.rates:
            fall = above(rate.imag * (self.step * times))
            rows.append(waves(rate.real * (self.step * times), k) * decays(heights * max(fall, 0.0)))
        return np.array(rows)

    @cached_property
    def _short(self) -> Complexes:
        """The exponentials at the nodes of row 0."""
        return self._powers(1, 0)

    def at(self, first: int, turn: Complexes) -> Complexes:
        """The factor on a block: HEIGHT rows of WIDTH nodes, from the row `first` on."""
        del turn
        page, place = divmod(first, WIDTH)
        if self._long is None or self._long[0] != page:  # The exponentials for WIDTH rows are computed at once.
            self._long = page, (self._powers(WIDTH, page * WIDTH).T * self.weights)
        answer: Complexes = product(self._long[1][place : place + HEIGHT], self._short)
        return power(answer, self.count)


# The trapezoidal sum itself.

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Complexes = NDArray[np.complex128]
    Floats = NDArray[np.float64]


UP = 1 + 2.0**-38  # It covers the rounding of sums and products of non-negative doubles.
FACTORS_PER_GROUP = 16  # After each group of so many factors, a block that has become negligible is abandoned.
TOLERANCE = 1e-13  # relative error of delta at which nodes beyond the last one count as negligible
NEGLIGIBLE = 1e-18  # relative contribution to delta below which a block is abandoned
SMOOTHING_ERROR = 5e-11  # relative error of epsilon by smoothing below which more nodes are not worth the work
QUICK_SMOOTHING_ERROR = 5e-11  # the like if some transform takes a long sum at each node
MOST_NODES = 1 << 22
SMALL, LARGE = 1e-100, 1e100  # If c and the step lie in between, their squares and products do not over- or underflow.


class FloatContour:
    """The trapezoidal sum of `Contour` in doubles, for the composition with one more, weak Gaussian pair.

    It has the nodes k < N, N as large as the work limit allows. The parameter mu of the Gaussian pair is just large
    enough to make all other nodes negligible. M(c + iy)/M(c) is a product of factors and of a phase; the phase is left
    to `delta`. A bound on the error of each value is carried along, and blocks of nodes are abandoned as soon as they
    are negligible. Theorem: docs/theorems/doubles.md.
    """

    def __init__(self, parts: Parts, c: float, epsilon: Fraction, work: float) -> None:
        """`work` is the limit in nanoseconds. Raises `TooManyNodes` if it does not suffice, or doubles do not."""
        import numpy

        self.np, self.c = numpy, arb(c)
        line = Line(Transform(parts), self.c, lift(epsilon), tolerance=TOLERANCE)
        self.step = below(2 * arb.pi() / arb(line.period))
        self.period = 2 * arb.pi() / self.step
        if not (SMALL < c < LARGE and SMALL < self.step < LARGE):
            raise TooManyNodes
        terms, gauss = self._terms(line.transform)
        factors = [_factor(tilted, count, self.step) for tilted, count in terms]
        factors.sort(key=lambda factor: -factor.strength)
        self.top = sum((rows.top * rows.count for rows in factors), gauss * (self.c + arb(1) / 2))
        # NEGLIGIBLE times delta, divided by the factor M(c) e^{-c epsilon} h/pi
        negligible = float((arb(-line.head).exp() * arb.pi() / self.step).mid()) * NEGLIGIBLE
        # A Gaussian pair changes log delta by mu^2 c (1 + c)/2, and epsilon by that divided by c.
        needed = (2 * max(line.head - line.limit, 1.0)) ** 0.5
        close = QUICK_SMOOTHING_ERROR if line.transform.quick else SMOOTHING_ERROR
        weak = (2 * close * max(c * float(epsilon), 1.0) / (c * (1 + c))) ** 0.5
        # Blocks are not divided, and the last one must not exceed the height up to which the transforms are known.
        highest = min((tilted.exponentials.highest for tilted, _ in terms if tilted.exponentials), default=inf)
        most = min(MOST_NODES, highest * (1 - 2.0**-40) / self.step - 2 * WIDTH * HEIGHT)
        if not most > 0:
            raise TooManyNodes
        blocks, self.nodes, error = self._evaluate(factors, work, min(needed / (self.step * weak), most), negligible)
        self.mu = Fraction(needed / (self.step * self.nodes))
        pair = gaussian_pair(partial(lift, self.mu**2))
        self.line = Line(Transform((*parts, (pair, 1))), self.c, lift(epsilon), tolerance=TOLERANCE)
        self.top += lift(self.mu) ** 2 * (self.c + arb(1) / 2)
        both = (gauss + lift(self.mu) ** 2) / 2
        half = float(both.mid())
        if not (both.rel_accuracy_bits() > 60 and half < LARGE):
            raise TooManyNodes
        self.values = numpy.concatenate([self._smoothed(block, half) for block in blocks])
        self.rows = numpy.concatenate([block.first + numpy.arange(HEIGHT) for block in blocks])
        weight = arb(float(sum(numpy.abs(block.value).sum() for block in blocks))) * UP
        self.error = error + weight * (8 * (WIDTH + len(self.rows) + 16) * ULP)
        """A bound on the error of the sum over the nodes k < N, to be multiplied by M(c) e^{-c epsilon} h/pi."""
        end = arb(self.step) * self.nodes
        self.beyond = (-((lift(self.mu) * end) ** 2) / 2).exp() / ((end - self.step) * arb.pi())
        """A bound on the sum over the nodes from N on, to be multiplied by M(c) e^{-c epsilon}."""

    def _terms(self, transform: Transform) -> tuple[list[tuple[Tilted, int]], arb]:
        """The tilted laws that are finite sums, with their counts, and the sum of mu^2 over the Gaussian laws.

        Raises `TooManyNodes` if some law is neither.
        """
        terms, gauss = [], arb(0)
        laws = transform.tilted(self.c)
        if laws is None:
            raise TooManyNodes
        for tilted, count in laws:
            gauss += tilted.curvature * count
            if tilted.polynomials or tilted.exponentials:
                terms.append((tilted, count))
        return terms, gauss

    def _evaluate(
        self, factors: list[_Rows | Waves], work: float, enough: float, negligible: float
    ) -> tuple[list[_Block], int, arb]:
        """Blocks of M(z_k)/(M(c) z_k (z_k + 1)) without the phase, the number of nodes, and the sum of their errors.

        It stops after `enough` nodes, or when the work limit is reached.
        """
        np: Any = self.np
        c = float(self.c)
        groups = [factors[n : n + FACTORS_PER_GROUP] for n in range(0, len(factors), FACTORS_PER_GROUP)]
        errors = [above(sum((rows.error for rows in group), arb(0)).expm1()) for group in groups]
        costs = [WIDTH * HEIGHT * sum(rows.cost for rows in group) for group in groups]
        if sum(costs) > 8 * work:  # Even one block takes too much work, although it may be abandoned early.
            raise TooManyNodes
        blocks: list[_Block] = []
        unknown, nodes = 0.0, 0
        while work > 0 and nodes < enough:
            first = nodes // WIDTH
            y: Any = self._heights(first)
            square = y * y
            value = (c - 1j * y) * (1 / (c * c + square)) * ((c + 1 - 1j * y) * (1 / ((c + 1) * (c + 1) + square)))
            if not nodes:
                value[0, 0] /= 2
            size = np.abs(value) * UP
            error = size * (100 * ULP)
            x = c + 0.5
            turn = (x - 1j * y) * (x / (x * x + square))  # x/w
            work -= DOUBLE_NODE * WIDTH * HEIGHT
            count_work(DOUBLE_NODE * WIDTH * HEIGHT)
            weight = inf
            for group, each, cost in zip(groups, errors, costs, strict=True):
                count_work(cost)
                product = group[0].at(first, turn)
                for rows in group[1:]:
                    product = product * rows.at(first, turn)
                # |v g - v' g'| <= |v| |g - g'| + |v - v'| |g'|
                error = (size * each + error * np.minimum(np.abs(product) * UP + each, 1.0)) * UP
                value = value * product
                size = np.abs(value) * UP
                work -= cost
                weight = float((size + error).sum()) * UP
                if weight <= negligible:
                    break
            if weight <= negligible:
                unknown += weight
            else:
                unknown += float(error.sum()) * UP
                blocks.append(_Block(first, value))
            nodes += WIDTH * HEIGHT
        if not blocks:
            raise TooManyNodes
        return blocks, nodes, (arb(unknown) + nodes * arb("1e-300")) * UP

    def _smoothed(self, block: _Block, half_gauss: float) -> Complexes:
        """The values of a block times the transform of all Gaussian pairs."""
        y = self._heights(block.first)
        return block.value * decays(y * y * half_gauss)

    def _heights(self, first: int) -> Floats:
        """Im z_k at the nodes of a block that begins at the row `first`."""
        k: Floats = self.np.arange(first * WIDTH, (first + HEIGHT) * WIDTH, dtype=float).reshape(HEIGHT, WIDTH)
        return k * self.step

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """Certified bounds below and above delta(epsilon) of the smoothed composition."""
        count_work(DOUBLES * self.values.size)
        point = lift(epsilon)
        angle = (self.top - point) * self.step
        inner = product(self.values, waves(angle, self.np.arange(WIDTH)))
        total = arb(float((inner * waves(angle * WIDTH, self.rows)).sum().real))
        size = self.line.size(point)
        scale = size * self.step / arb.pi()
        lower = (total - self.error) * scale - self.beyond * size - self.line.aliases(self.period, point)
        return lower.lower(), ((total + self.error) * scale + self.beyond * size).upper()

    def estimate(self, epsilon: float) -> float:
        """Heuristic log delta(epsilon) of the smoothed composition."""
        return log_size(self.delta(Fraction(epsilon))[1])


class _Block(NamedTuple):
    """The values at HEIGHT rows of WIDTH nodes."""

    first: int
    """The number of its first row."""
    value: Complexes


def _factor(tilted: Tilted, count: int, step: float) -> _Rows | Waves:
    """The transform of `count` uses of a tilted law, as a factor of the integrand."""
    return Waves(tilted.exponentials, count, step) if tilted.exponentials else _Rows(tilted, count, step)


class _Rows:
    """A factor M_i(c + iy)^n/M_i(c)^n without its phase: (sum over k of (q_k0 + q_k1 x/w) e^{-iky gap})^n, w = x + iy.

    The base may also be a sum of several such polynomials, each with its own phase.
    """

    def __init__(self, tilted: Tilted, count: int, step: float) -> None:
        self.polynomials = [_Polynomial(polynomial, step) for polynomial in tilted.polynomials]
        self.count, self.top = count, tilted.top
        terms = [(k, q) for one in tilted.polynomials for k, row in enumerate(one.rows) for q in row]
        unknown = tilted.unlisted + sum((q.rad() for _, q in terms), arb(0))
        more = len(self.polynomials) - 1  # Each further polynomial takes one more product and one more sum.
        rounding = sum((abs(q) * (48 * ULP * (k + 1 + more)) for k, q in terms), arb(4 * ULP))
        self.error = (rounding + unknown) * count
        size = sum(len(one.rows) for one in tilted.polynomials)
        self.cost = DOUBLES * (1.5 + 0.5 * size + 0.7 * (count.bit_length() - 1))
        rows = [row for one in self.polynomials for row in one.rows]
        self.strength = count * (1 - sum(sum(map(abs, row)) ** 2 for row in rows))
        """Heuristic rank of the factor, which makes nodes negligible the faster the more often two draws differ."""

    def at(self, first: int, turn: Complexes) -> Complexes:
        """The factor on a block: HEIGHT rows of WIDTH nodes, from the row `first` on."""
        total = self.polynomials[0].at(first, turn)
        for polynomial in self.polynomials[1:]:
            total = total + polynomial.at(first, turn)
        return power(total, self.count)


class _Polynomial:
    """e^{-iy offset} times the sum over k of (q_k0 + q_k1 x/w) e^{-iky gap}, by Horner's rule."""

    def __init__(self, polynomial: Polynomial, step: float) -> None:
        self.rows = [[float(q.mid()) for q in row] for row in polynomial.rows]
        self.wave = _Wave(-polynomial.gap * step) if len(self.rows) > 1 else None
        self.phase = None if polynomial.offset.is_zero() else _Wave(-polynomial.offset * step)

    def at(self, first: int, turn: Complexes) -> Any:
        """The values on a block; `turn` is x/w there."""
        total: Any = 0.0
        wave = 1.0 if self.wave is None else self.wave.at(first)
        for n, row in enumerate(reversed(self.rows)):
            if n:
                total = total * wave
            total = total + row[0]
            if len(row) > 1 and row[1]:
                total = total + turn * row[1]
        return total if self.phase is None else total * self.phase.at(first)


class _Wave:
    """e^{ik angle} at the nodes k of a block."""

    def __init__(self, angle: arb) -> None:
        self.angle = angle
        self._long: tuple[int, Complexes] | None = None

    @cached_property
    def _short(self) -> Complexes:
        """The values at the nodes of row 0."""
        import numpy as np

        return waves(self.angle, np.arange(WIDTH))

    def at(self, first: int) -> Complexes:
        """The values on a block: HEIGHT rows of WIDTH nodes, from the row `first` on."""
        import numpy as np

        page, place = divmod(first, WIDTH)
        if self._long is None or self._long[0] != page:  # The values for WIDTH rows are computed at once.
            self._long = page, waves(self.angle * WIDTH, page * WIDTH + np.arange(WIDTH))
        return self._long[1][place : place + HEIGHT, None] * self._short
