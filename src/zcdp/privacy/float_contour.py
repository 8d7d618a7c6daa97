"""The contour integral of a smoothed composition in doubles: many more nodes, with a bound on every rounding."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from flint import arb

from zcdp.numeric.balls import above, below, lift
from zcdp.numeric.once import cached_property
from zcdp.privacy.line import Line, log_size
from zcdp.privacy.nodes import TooManyNodes
from zcdp.privacy.pair import gaussian_pair
from zcdp.privacy.transform import Factor, Parts, Transform
from zcdp.privacy.waves import decays, waves

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Complexes = NDArray[np.complex128]
    Floats = NDArray[np.float64]

__all__ = ["FloatContour"]

ULP = 2.0**-53
UP = 1 + 2.0**-38
WIDTH, HEIGHT = 1024, 16  # nodes at a time: what fits into the cache
TOGETHER = 16  # factors, after which nodes that have become negligible are left
NODE = 20  # what a node costs beside its factors, in units of 3 ns
TOLERANCE, NEGLIGIBLE, CLOSE = 1e-13, 1e-18, 5e-11
MOST = 1 << 22  # nodes
SMALL, LARGE = 1e-100, 1e100  # orders and steps whose squares and products neither overflow nor underflow
DEVIATIONS, WIDEST = 10, 400  # atoms of discrete Gaussian noise that are listed, and the largest variance for that


class FloatContour:
    """The trapezoidal sum of `Contour` over the nodes k < N, for the composition with a Gaussian pair of parameter mu.

    N is what the work allows, and mu as small as makes all other nodes negligible. M(c + iy)/M(c) is a product of
    polynomials in e^{-iy step}, and of a phase that is left to `delta`. A bound on the error of each value is carried
    along; nodes are left as soon as they have become negligible. Theorem: docs/theorems/profile.md, 12.
    """

    def __init__(self, parts: Parts, c: float, epsilon: Fraction, work: float) -> None:
        """`work` is in units of 3 ns; `TooManyNodes` where that is not enough, or doubles are."""
        import numpy

        self.np, self.c = numpy, arb(c)
        line = Line(Transform(parts), self.c, lift(epsilon), tolerance=TOLERANCE)
        self.step = below(2 * arb.pi() / arb(line.period))
        self.period = 2 * arb.pi() / self.step
        if not (SMALL < c < LARGE and SMALL < self.step < LARGE):
            raise TooManyNodes
        factors = [_Rows(factor, self.c, self.step) for factor in line.transform.factors if factor.curvature is None]
        factors.sort(key=lambda factor: -factor.strength)
        gauss = [f.curvature * f.count for f in line.transform.factors if f.curvature is not None]
        self.top = sum((rows.top * rows.count for rows in factors), sum(gauss, arb(0)) * (self.c + arb(1) / 2))
        # delta, before the factor M(c) e^{-c epsilon} h/pi, times what a block may be negligible by
        negligible = float((arb(-line.head).exp() * arb.pi() / self.step).mid()) * NEGLIGIBLE
        # a Gaussian pair moves log delta by mu^2 c (1 + c)/2, and epsilon by that over c
        needed = (2 * max(line.head - line.limit, 1.0)) ** 0.5
        weak = (2 * CLOSE * max(c * float(epsilon), 1.0) / (c * (1 + c))) ** 0.5
        blocks, self.nodes, error = self._evaluate(factors, work, min(needed / (self.step * weak), MOST), negligible)
        self.mu = Fraction(needed / (self.step * self.nodes))
        pair = gaussian_pair(partial(lift, self.mu**2))
        self.line = Line(Transform((*parts, (pair, 1))), self.c, lift(epsilon), tolerance=TOLERANCE)
        self.top += lift(self.mu) ** 2 * (self.c + arb(1) / 2)
        both = sum(gauss, lift(self.mu) ** 2) / 2
        half = float(both.mid())
        if not (both.rel_accuracy_bits() > 60 and half < LARGE):
            raise TooManyNodes
        self.values = numpy.concatenate([self._smoothed(block, half) for block in blocks])
        self.rows = numpy.concatenate([block.first + numpy.arange(HEIGHT) for block in blocks])
        weight = arb(float(sum(numpy.abs(block.value).sum() for block in blocks))) * UP
        self.error = error + weight * (8 * (WIDTH + len(self.rows) + 16) * ULP)
        """Of the sum over all nodes k < N, before the factor M(c) e^{-c epsilon} h/pi."""
        end = arb(self.step) * self.nodes
        self.beyond = (-((lift(self.mu) * end) ** 2) / 2).exp() / ((end - self.step) * arb.pi())
        """What the nodes from N on weigh, before the factor M(c) e^{-c epsilon}."""

    def _evaluate(
        self, factors: list[_Rows], work: float, enough: float, negligible: float
    ) -> tuple[list[_Block], int, arb]:
        """Blocks of M(z_k)/(M(c) z_k (z_k + 1)) but for the phase, how many nodes they cover, and the sum of errors."""
        np: Any = self.np
        c = float(self.c)
        groups = [factors[n : n + TOGETHER] for n in range(0, len(factors), TOGETHER)]
        errors = [above(sum((rows.error for rows in group), arb(0)).expm1()) for group in groups]
        costs = [WIDTH * HEIGHT * sum(rows.cost for rows in group) for group in groups]
        if sum(costs) > 8 * work:  # of one block alone
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
            work -= NODE * WIDTH * HEIGHT
            weight = inf
            for group, each, cost in zip(groups, errors, costs, strict=True):
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
        """Times the Gaussian pairs."""
        y = self._heights(block.first)
        return block.value * decays(y * y * half_gauss)

    def _heights(self, first: int) -> Floats:
        """Im z_k of the nodes of a block."""
        k: Floats = self.np.arange(first * WIDTH, (first + HEIGHT) * WIDTH, dtype=float).reshape(HEIGHT, WIDTH)
        return k * self.step

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """Numbers below and above delta(epsilon) of the smoothed composition."""
        point = lift(epsilon)
        angle = (self.top - point) * self.step
        inner = self.values @ waves(angle, self.np.arange(WIDTH))
        total = arb(float((inner @ waves(angle * WIDTH, self.rows)).real))
        size = self.line.size(point)
        scale = size * self.step / arb.pi()
        lower = (total - self.error) * scale - self.beyond * size - self.line.aliases(self.period, point)
        return lower.lower(), ((total + self.error) * scale + self.beyond * size).upper()

    def estimate(self, epsilon: float) -> float:
        """log delta(epsilon), near enough: for proposals."""
        return log_size(self.delta(Fraction(epsilon))[1])


class _Block(NamedTuple):
    first: int
    """The place of its first row of nodes."""
    value: Complexes


class _Rows:
    """M_i(c + iy)^n/M_i(c)^n but for its phase: (sum over k of (q_k0 + q_k1 x/w) e^{-iky step})^n, w = x + iy."""

    def __init__(self, factor: Factor, c: arb, step: float) -> None:
        weights, self.top, gap, unknown = _tilted(factor, c)
        self.rows = [[float(q.mid()) for q in row] for row in weights]
        self.count, self.angle = factor.count, -gap * step
        unknown += sum((q.rad() for row in weights for q in row), arb(0))
        rounding = sum((abs(q) * (48 * ULP * (k + 1)) for k, row in enumerate(weights) for q in row), arb(4 * ULP))
        self.error = (rounding + unknown) * factor.count
        self.cost = 1.5 + 0.5 * len(weights) + 0.7 * (factor.count.bit_length() - 1)
        self.strength = factor.count * (1 - sum(sum(map(abs, row)) ** 2 for row in self.rows))
        """How soon it makes nodes negligible: how often two draws differ."""
        self._long: tuple[int, Complexes] | None = None

    @cached_property
    def _short(self) -> Complexes:
        import numpy as np

        return waves(self.angle, np.arange(WIDTH))

    def at(self, first: int, turn: Complexes) -> Complexes:
        """On HEIGHT rows of WIDTH nodes from the given row on."""
        import numpy as np

        page, place = divmod(first, WIDTH)
        if self._long is None or self._long[0] != page:  # of many rows at once
            self._long = page, waves(self.angle * WIDTH, page * WIDTH + np.arange(WIDTH))
        wave = self._long[1][place : place + HEIGHT, None] * self._short
        total: Any = 0.0
        for n, row in enumerate(reversed(self.rows)):
            if n:
                total = total * wave
            total = total + row[0]
            if len(row) > 1 and row[1]:
                total = total + turn * row[1]
        answer: Complexes = total if self.count == 1 else _power(total, self.count)
        return answer


def _tilted(factor: Factor, c: arb) -> tuple[list[list[arb]], arb, arb, arb]:
    """The q_kj, the first exponent, the distance of two, and the mass of those not listed."""
    if (normal := factor.pair.normal) is not None:
        if normal.variance > WIDEST:
            raise TooManyNodes
        first, masses = normal.atoms(c, normal.reach(DEVIATIONS))
        rest = abs(1 - sum(masses, arb(0))).upper()
        return [[q] for q in masses], lift(normal.point - normal.spacing * first), lift(normal.spacing), rest
    assert factor.terms is not None
    assert factor.loss is not None
    x, gap = c + arb(1) / 2, factor.loss * factor.ratio
    grown, fall = (factor.loss * x).exp() / factor.once(c, x, 1 / x), (-gap * x).exp()
    rows = []
    for row in factor.terms:
        rows.append([coefficient * grown / x**j for j, coefficient in enumerate(row)])
        grown *= fall
    return rows, factor.loss, gap, arb(0)


def _power(base: Complexes, count: int) -> Complexes:
    answer = None
    while count:
        if count % 2:
            answer = base if answer is None else answer * base
        count //= 2
        if count:
            base = base * base
    assert answer is not None
    return answer
