"""The contour integral of a smoothed composition in doubles: many more nodes, with a bound on every rounding."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from math import inf, isqrt
from typing import TYPE_CHECKING, Any

from flint import acb, arb

from zcdp.numeric.balls import below, lift
from zcdp.privacy.line import Line, log_size
from zcdp.privacy.transform import Factor, Parts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Complexes = NDArray[np.complex128]

__all__ = ["FloatContour", "node_cost"]

ULP = 2.0**-53
CHUNK = 1 << 14  # nodes at a time: what fits into the cache
DEVIATIONS, WIDEST = 10, 400  # atoms of discrete Gaussian noise that are listed, and the largest variance for that
PER_UNIT, LAST_UNIT = 32, 64  # e^{-x} from a table of 32 entries a unit, up to 64


def node_cost(parts: Parts) -> float:
    """Time that one node takes, in units of 3 ns; infinite where a pair has too long a list of atoms."""
    total = 0.0
    for pair, count in parts:
        rows = 0.0
        if pair.terms is not None:
            rows = len(pair.terms())
        elif pair.normal is not None:
            rows = 2 * pair.normal.reach(DEVIATIONS) if pair.normal.variance <= WIDEST else inf
        total += 1.5 + 0.5 * rows + 0.7 * (count.bit_length() - 1)
    return total


class FloatContour:
    """The trapezoidal sum of `Contour` over the nodes k < K, all of them; a Gaussian pair bounds the others.

    M(c + iy)/M(c) is a product of polynomials in e^{-iy step}, and of a phase that is left to `delta`. Each operation
    errs by a multiple of 2^-53, and no factor is above 1: so the errors add up. Theorem: docs/theorems/profile.md, 12.
    """

    def __init__(self, line: Line, nodes: int, mu: arb) -> None:
        import numpy

        self.np, self.line = numpy, line
        self.step = below(2 * arb.pi() / arb(line.period))
        self.period = 2 * arb.pi() / self.step
        self.width = 1 << isqrt(nodes).bit_length()
        self.height = nodes // self.width + 1
        with numpy.errstate(all="ignore"):  # what overflows is no number, and then no answer
            self.values, self.each = self._evaluate()
        self.error = self.each * (arb.pi() / (2 * line.c * self.step) + 1 / (2 * line.c * (line.c + 1)))
        end = arb(self.step) * (self.width * self.height)
        self.rest = (-((mu * end) ** 2) / 2).exp() / ((end - self.step) * arb.pi())
        """What the nodes left out weigh, before the factor M(c) e^{-c epsilon}."""

    def _evaluate(self) -> tuple[Complexes, arb]:
        """M(z_k)/(M(c) z_k (z_k + 1)) but for the phase, the first one halved; and E of the theorem."""
        np, c = self.np, float(self.line.c)
        x, near, far = c + 0.5, c * c, (c + 1) * (c + 1)
        if arb(c) != self.line.c:
            raise ValueError(f"c ({self.line.c}) must be a float")
        factors = self._rows
        gauss = sum((f.curvature * f.count for f in self.line.transform.factors if f.curvature is not None), arb(0))
        half_gauss, table = float((gauss / 2).mid()), _table(np)
        values = np.empty((self.height, self.width), dtype=complex)
        rows = max(CHUNK // self.width, 1)
        for start in range(0, self.height, rows):
            place = slice(start, min(start + rows, self.height))
            k = np.arange(place.start * self.width, place.stop * self.width, dtype=float).reshape(-1, self.width)
            y = k * self.step
            square = y * y
            value = (c - 1j * y) * (1 / (near + square)) * ((c + 1 - 1j * y) * (1 / (far + square)))
            value *= _decay(np, table, square * half_gauss)
            turn = (x - 1j * y) * (x / (x * x + square))  # x/w
            for factor in factors:
                value *= factor.at(place, turn)
            values[place] = value
        values[0, 0] /= 2
        return values, sum((factor.error for factor in factors), arb(100 * ULP)).expm1()

    def waves(self, angle: arb) -> tuple[Complexes, Complexes]:
        """e^{i k angle} for k < width, and e^{i k width angle} for k < height: their products are all of them."""
        return self._powers(angle, self.width), self._powers(angle * self.width, self.height)

    def _powers(self, angle: arb, count: int) -> Complexes:
        powers = [acb(1), acb(0, angle).exp()]
        for k in range(2, count):
            powers.append(powers[k // 2] * powers[k - k // 2])  # by halves: balls hardly grow
        return self.np.array([complex(power) for power in powers[:count]])

    @cached_property
    def _rows(self) -> list[_Rows]:
        return [_Rows(self, factor) for factor in self.line.transform.factors if factor.curvature is None]

    @cached_property
    def _phase(self) -> arb:
        """Of all factors together at y = 1."""
        x = self.line.c + arb(1) / 2
        gauss = (f.curvature * x * f.count for f in self.line.transform.factors if f.curvature is not None)
        return sum(gauss, sum((rows.top * rows.count for rows in self._rows), arb(0)))

    @cached_property
    def _weight(self) -> arb:
        return arb(float(self.np.abs(self.values).sum())) * (1 + arb(2) ** -20)

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """Numbers below and above delta(epsilon) of the smoothed composition."""
        point = lift(epsilon)
        short, long = self.waves((self._phase - point) * self.step)
        total = arb(float(((self.values @ short) @ long).real))
        error = self.error + self._weight * (8 * (self.width + self.height + 8) * ULP)
        size = self.line.size(point)
        scale = size * self.step / arb.pi()
        lower = (total - error) * scale - self.rest * size - self.line.aliases(self.period, point)
        return lower.lower(), ((total + error) * scale + self.rest * size).upper()

    def estimate(self, epsilon: float) -> float:
        """log delta(epsilon), near enough: for proposals."""
        value = self.delta(Fraction(epsilon))[1]
        return log_size(value)


class _Rows:
    """M_i(c + iy)^n/M_i(c)^n but for its phase: (sum over k of (q_k0 + q_k1 x/w) e^{-iky step})^n, w = x + iy."""

    def __init__(self, contour: FloatContour, factor: Factor) -> None:
        weights, self.top, gap, unknown = _tilted(factor, contour.line.c)
        self.rows = [[float(q.mid()) for q in row] for row in weights]
        self.count = factor.count
        self.short, self.long = contour.waves(-gap * contour.step)
        unknown += sum((q.rad() for row in weights for q in row), arb(0))
        rounding = sum((abs(q) * (16 * ULP * (k + 1)) for k, row in enumerate(weights) for q in row), arb(4 * ULP))
        self.error = (rounding + unknown) * factor.count

    def at(self, place: slice, turn: Complexes) -> Complexes:
        wave = self.long[place, None] * self.short
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


def _table(np: Any) -> Any:
    """e^{-n/32}, rounded to nearest."""
    return np.array([float((-arb(n) / PER_UNIT).exp().mid()) for n in range(PER_UNIT * LAST_UNIT + 1)])


def _decay(np: Any, table: Any, x: Any) -> Any:
    """e^{-x} for 0 <= x, and 0 beyond the table: from its nearest entry and the first terms of the series."""
    whole = np.minimum(np.floor(x * PER_UNIT), PER_UNIT * LAST_UNIT)
    r = np.minimum(x - whole / PER_UNIT, 1 / PER_UNIT)
    series = 1 - r * (1 - r / 2 * (1 - r / 3 * (1 - r / 4 * (1 - r / 5 * (1 - r / 6 * (1 - r / 7))))))
    return np.where(whole < PER_UNIT * LAST_UNIT, table[whole.astype(np.int64)] * series, 0.0)
