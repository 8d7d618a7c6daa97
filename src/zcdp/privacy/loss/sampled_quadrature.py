"""Gauss-Legendre quadrature, with certified errors, for the transform of a sampled loss that has a density.

Sampling at rate q turns a base loss l = log dP/dQ into log w, w = 1 - q + q e^l. Its transform is an integral of w^e
over the density of l, which `Mixture` computes panel by panel. `progression` evaluates the resulting sum of
exponentials at many equally spaced heights. Theorem: docs/theorems/sampled-density.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import atan2, cos, exp, inf, isqrt, log, log1p, sin, sqrt
from typing import Any, NamedTuple, TypeAlias, TypeVar

from flint import acb, acb_mat, arb, ctx

from zcdp.numeric.balls import NotCertified, Undecided
from zcdp.numeric.work import TooManyNodes, count_functions, count_products, count_work

__all__ = ["BaseLoss", "Mixture", "Rule", "highest_parabola", "legendre", "progression"]


# Sums of exponentials at equally spaced heights, as one product of matrices.

# If less than one index in SPARSE is kept, rows have SPARSE_COLUMNS columns, and those without any are left out.
SPARSE, SPARSE_COLUMNS = 4, 16


def progression(values: Sequence[acb], rates: Sequence[acb], step: arb, kept: Sequence[int]) -> list[acb]:
    """The sums over j of value_j e^{ik step rate_j}, for each k in `kept`, which increases.

    With k = row * width + column they are entries of a product of two matrices.
    """
    points, last = len(values), kept[-1]
    dense = last < SPARSE * len(kept)
    width = isqrt(last) + 1 if dense else SPARSE_COLUMNS
    rows = list(range(last // width + 1)) if dense else sorted({k // width for k in kept})
    count_products(points * len(rows) * (width + 1))
    count_functions(2 * points * (2 if dense else len(rows)))
    turn = acb(0, step)
    short = _powers([(turn * x).exp() for x in rates], width)
    if dense:
        long = _powers([(turn * width * x).exp() for x in rates], len(rows))
    else:
        long = [[(turn * (row * width) * x).exp() for x in rates] for row in rows]
    left = acb_mat(len(rows), points, [x * y for row in long for x, y in zip(values, row, strict=True)])
    right = acb_mat(points, width, [row[n] for n in range(points) for row in short])
    found, place = (left * right).entries(), {row: n * width for n, row in enumerate(rows)}
    return [found[place[k // width] + k % width] for k in kept]


def _powers(base: Sequence[acb], count: int) -> list[list[acb]]:
    """The powers 0, 1, ..., count - 1 of each number, by halving exponents, so that radii of balls hardly grow."""
    powers = [[acb(1)] * len(base), list(base)][:count]
    for n in range(2, count):
        powers.append([x * y for x, y in zip(powers[n // 2], powers[n - n // 2], strict=True)])
    return powers


# The transform of a mixture (1-q) Q + q P by Gauss-Legendre quadrature.

POINT_COUNTS = (12, 16, 24, 32, 48, 64)  # possible numbers of points of one panel
# How far an ellipse may reach below the real axis (less than pi/2) and above it (less than pi).
MOST_BELOW_AXIS, MOST_ABOVE_AXIS = 1.45, 2.4
HIGHEST_PATH = 1.0  # imaginary part of a shifted path
ELLIPSES = 9  # ellipses that are tried on each panel
VARIATION_CELLS = 200  # cells in which `variation` bounds the largest density
# Panels of one question, and of one rule; losses that occur in practice take a third and a tenth of that.
MOST_PANELS_OF_QUESTION, MOST_PANELS = 1_500, 300
TOO_MANY = f"the law of a sample takes more than {MOST_PANELS} panels: more bits would not help"
PANEL_NANOSECONDS, POINT_FUNCTIONS = 1_000_000, 6  # cost of a panel, and elementary functions of each of its points

T = TypeVar("T", float, arb)
_Box: TypeAlias = tuple[T, T, T, T]
"""A rectangle of complex l: middle and half width of the real part, and how far it reaches below and above 0."""


@dataclass(frozen=True)
class BaseLoss:
    """The distribution under Q of l = log dP/dQ: a density exp(second l^2 + first l + constant), and atoms.

    The density goes from low to high; second <= 0, and an end is infinite only if second < 0. All numbers are at the
    working precision.
    """

    second: arb
    first: arb
    constant: arb
    low: arb
    high: arb
    atoms: Sequence[tuple[arb, arb]] = ()
    """Losses and their Q-masses."""

    def log_density(self, loss: Any) -> Any:
        """The logarithm of the density at a real or complex loss between the ends."""
        return (self.second * loss + self.first) * loss + self.constant


class Rule(NamedTuple):
    """The points of a quadrature: log w and a mass at each, and a bound on the error."""

    logs: list[acb]
    masses: list[acb]
    """Density times quadrature weight, without any power of w."""
    error: arb
    """A certified bound on the error of the sum of mass * w^{e + iy}, at every height y from 0 to the requested one."""


class _Panel(NamedTuple):
    """A straight piece of the path of l, along the real axis or perpendicular to it: l = middle + half t, |t| <= 1."""

    place: arb
    level: arb
    """`place` and `level` are the real and the imaginary part of the middle."""
    half: arb
    upright: bool
    """Whether the panel is perpendicular to the real axis: l = middle + i half t."""

    def halves(self) -> list[_Panel]:
        part = self.half / 2
        if self.upright:
            return [self._replace(level=self.level + side * part, half=part) for side in (1, -1)]
        return [self._replace(place=self.place + side * part, half=part) for side in (1, -1)]

    def point(self, t: arb) -> acb:
        if self.upright:
            return acb(self.place, self.level + self.half * t)
        return acb(self.place + self.half * t, self.level)


class Mixture:
    """Quadrature rules for the integral of w^{e + iy} over the base density, w = 1 - q + q e^l, for several e at once.

    The error of a panel follows from the largest modulus on an ellipse around it. There log |w| is bounded by a chord
    or a tangent and the log-density is a parabola, so that a parabola is to be maximised. Where y is large the path of
    l is shifted upward, where |w^{iy}| <= 1: the number of points then hardly depends on y.
    Theorem: docs/theorems/sampled-density.md.
    """

    def __init__(self, rate: arb, base: BaseLoss) -> None:
        self.rate, self.rest, self.base = rate, 1 - rate, base
        self.made = 0  # Panels of all rules so far. Counting them, not seconds, makes the limit reproducible.
        self.floats = tuple(float(x.mid()) for x in (rate, base.second, base.first, base.constant, base.low))

    def weight(self, loss: Any) -> Any:
        """w = 1 - q + q e^l, for a real or complex loss l."""
        return self.rest + self.rate * loss.exp()

    def slope(self, loss: arb) -> arb:
        """The derivative of log w with respect to l."""
        return self.rate / (self.rate + self.rest * (-loss).exp())

    def rule(
        self, exponents: Sequence[arb], height: float, log_error: float, *, shifted: bool = False, most: float = inf
    ) -> Rule:
        """A rule for the integrals of w^{e + iy}, e each of the exponents, 0 <= y <= height, to about e^log_error.

        With all points conjugate it serves for w^{e - iy}. With `shifted` the path runs above the real axis. Raises
        `TooManyNodes` if the rule has more than `most` points, `NotCertified` if it takes too many panels.
        """
        level = min(HIGHEST_PATH, 2.5 / sqrt(max(-2 * self.floats[1], 1e-300))) if shifted else 0.0
        end, error = self._end(exponents, log_error, arb(level))
        fitted: list[tuple[_Panel, int]] = []
        pending = self._path(arb(level), end, height)
        log_error -= log(len(pending))
        most_made = min(self.made + MOST_PANELS, MOST_PANELS_OF_QUESTION)
        while pending:
            panel = pending.pop()
            self.made += 1
            count_work(PANEL_NANOSECONDS)
            if self.made > most_made:
                raise NotCertified(TOO_MANY)
            points, slip = self._fitting(panel, exponents, height, log_error)
            if points:
                error += slip
                fitted.append((panel, points))
            else:
                pending += panel.halves()
        if sum(points for _, points in fitted) > most:
            raise TooManyNodes
        logs: list[acb] = []
        masses: list[acb] = []
        for panel, points in fitted:
            turn = acb(0, panel.half) if panel.upright else acb(panel.half)
            if panel.upright and panel.place > self.base.low:
                turn = -turn  # At the right end the path runs down to the real axis.
            count_functions(POINT_FUNCTIONS * points)
            for place, share in legendre(points, ctx.prec):
                loss = panel.point(place)
                logs.append(self.weight(loss).log())
                masses.append(self.base.log_density(loss).exp() * share * turn)
        return Rule(logs, masses, error)

    def _path(self, level: arb, end: arb, height: float) -> list[_Panel]:
        """The panels of the path: along the real axis or, if level > 0, up, along the shifted line and down.

        Upright panels get shorter towards the real axis.
        """
        narrow = min(0.5, 1 / sqrt(max(-2 * self.floats[1], 1e-300)))
        low, high = self.base.low, self.base.high
        count = max(int(float(((end - low) / (2 * narrow)).upper())) + 1, 1)
        if count > MOST_PANELS:
            raise NotCertified(TOO_MANY)
        half = (end - low) / (2 * count)
        found = [_Panel(low + half * (2 * n + 1), level, half, False) for n in range(count)]
        for edge in (low, high) if level > 0 else ():
            if not edge.is_finite():
                continue
            top = level
            while top * (self.slope(edge) * height + 1) > 1:
                found.append(_Panel(edge, top * 3 / 4, top / 4, True))
                top /= 2
            found.append(_Panel(edge, top / 2, top / 2, True))
        return found

    def _fitting(self, panel: _Panel, exponents: Sequence[arb], height: float, log_error: float) -> tuple[int, arb]:
        """The least number of points that suffices on one panel, and a certified error; (0, 0) if none suffices.

        The ellipse is chosen in floats, heuristically; its bound is then computed in balls.
        """
        half, level = float(panel.half.mid()), float(panel.level.mid())
        if not half > 0:  # The panel is narrower than floats resolve: the Renyi order is beyond all use.
            raise Undecided
        powers = [float(e.mid()) for e in exponents]
        stretches = [1 + 12.0 / 1.7**n for n in range(ELLIPSES)]
        if 1e-100 < half < MOST_BELOW_AXIS / stretches[0]:  # Without it, halving panels gains nothing at many bits.
            stretches.append(MOST_BELOW_AXIS / half)
        if level > 0:  # the ellipse that just touches the real axis
            near = level / half
            stretches.append((near + sqrt(near * near - 1) if panel.upright else near + sqrt(near * near + 1)) * 0.9999)
        best: tuple[float, float] = inf, 0.0
        for stretch in stretches:
            if not stretch > 1.05:
                continue
            box = _box(float(panel.place.mid()), level, half, stretch, panel.upright)
            if max(box[2], -box[3]) > MOST_BELOW_AXIS or box[3] > MOST_ABOVE_AXIS:
                continue
            size = max(self._log_size_in_floats(box, e, height) for e in powers)
            needed = (size + log(8 * half / (1 - 1 / stretch)) - log_error) / (2 * log(stretch))
            best = min(best, (needed, stretch))
        points = next((n for n in POINT_COUNTS if n >= best[0]), 0)
        if not points:
            return 0, arb(0)
        wide = arb(best[1])
        sides = _box(panel.place, panel.level, panel.half, wide, panel.upright)
        total = sum((self._log_size(sides, e, height).exp() for e in exponents), arb(0))
        slip = 8 * panel.half * total / wide ** (2 * points) / (1 - 1 / wide)
        return points, slip

    def _log_size(self, box: _Box[arb], e: arb, height: float) -> arb:
        """A certified upper bound on log |density w^{e + iy}| on the box, for 0 <= y <= height."""
        middle, reach, dip, top = box
        left, right, base = middle - reach, middle + reach, self.base
        tall = dip.max(top)
        if e >= 0:  # log w is convex: its chord is above it.
            ends = self.weight(left).log(), self.weight(right).log()
            value = e * (ends[0] + ends[1]) / 2
            slope = arb(0) if reach.is_zero() else e * (ends[1] - ends[0]) / (right - left)
        elif not e < 0:
            raise Undecided
        else:  # Its tangent is below it; and |w| >= cos(tall/2) w(Re l).
            value = e * (self.weight(middle).log() + (tall / 2).cos().log())
            slope = e * self.slope(middle)
        if height and not dip <= 0:
            front, angle = self.rate * right.exp(), dip.max(arb(0))
            value += arb(height) * acb(self.rest + front * angle.cos(), front * angle.sin()).arg()
        highest = highest_parabola(base.second, base.first + slope, left, right)
        bound: arb = value + base.constant - slope * middle - base.second * tall * tall + highest
        return bound

    def _log_size_in_floats(self, box: _Box[float], e: float, height: float) -> float:
        """A heuristic value of `_log_size` in floats, to choose an ellipse."""
        q, second, first, constant, _ = self.floats
        middle, reach, dip, top = box
        left, right, tall = middle - reach, middle + reach, max(dip, top)
        if e >= 0:
            ends = _log_weight(q, left), _log_weight(q, right)
            value = e * (ends[0] + ends[1]) / 2
            slope = e * (ends[1] - ends[0]) / (right - left) if right > left else 0.0
        else:
            slope = e * q / (q + (1 - q) * exp(-middle))
            value = e * (_log_weight(q, middle) + log(cos(tall / 2)))
        if dip > 0:
            front = q * exp(min(right, 700.0))
            value += height * atan2(front * sin(dip), 1 - q + front * cos(dip))
        rise = first + slope
        vertex = -rise / (2 * second) if second else (inf if rise > 0 else -inf)
        place = min(max(vertex, left), right)
        value += constant - slope * middle - second * tall * tall
        return value + (second * place + rise) * place

    def _end(self, exponents: Sequence[arb], log_error: float, level: arb) -> tuple[arb, arb]:
        """The real part at which the panels end, and a certified bound on the integral beyond it, on a shifted line."""
        base = self.base
        if base.high.is_finite():
            return base.high, arb(0)
        steepest = max(0.0, *(float(e.mid()) for e in exponents))
        deviation = 1 / sqrt(-2 * self.floats[1])
        last = (steepest + self.floats[2]) / (-2 * self.floats[1])  # Beyond it the bounds for all exponents fall.
        end = max(last, self.floats[4]) + deviation
        near = self._where_negligible(steepest, log_error)
        end = max(end, near) if near > end else end
        for _ in range(60):
            place, total = arb(end), arb(0)
            for e in exponents:
                size = self._log_size((place, arb(0), -level, level), e, 0.0).exp()
                fall = -(2 * base.second * place + base.first + e.max(arb(0)))
                if not fall > 0:
                    raise Undecided
                total += size / fall
            if total.upper() < arb(log_error).exp():
                return place, total
            end += deviation
        raise Undecided

    def _where_negligible(self, e: float, log_error: float) -> float:
        """A loss beyond which density times w^e is below e^log_error: a heuristic search in floats."""
        q, second, first, constant, low = self.floats
        place, step = low, 1 / sqrt(-2 * second)
        while (second * place + first) * place + constant + e * _log_weight(q, place) > log_error:
            place += step / 2
            if place > 1e6:
                raise Undecided
        return place

    def variation(self, e: arb, log_error: float) -> arb:
        """A number V with |integral of w^{e + iy}| <= V/y for all y > 0, by integration by parts.

        V is the total variation, ends included, of the density of log w times w^e. As a function of l that is
        density w^{e+1}/(q e^l), which has at most two maxima.
        """
        end, _ = self._end([e], log_error, arb(0))
        base = self.base
        width = (end - base.low) / (2 * VARIATION_CELLS)
        best = arb(0)
        for n in range(VARIATION_CELLS):
            middle = base.low + width * (2 * n + 1)
            size = self._log_size((middle, width, arb(0), arb(0)), e + 1, 0.0)
            best = best.max((size - (middle - width)).exp())
        return 2 * self._maxima(e) * best / self.rate

    def _maxima(self, e: arb) -> int:
        """An upper bound on the number of maxima of the density of log w times w^e: 1 if its logarithm is concave."""
        steep = 2 * self.base.second + (e + 1).max(arb(0)) / 4
        return 1 if steep <= 0 else 2


def _box(place: Any, level: Any, half: Any, stretch: Any, upright: bool) -> Any:
    """The box around the ellipse whose foci are the ends of a panel and whose half axes add up to half * stretch."""
    long, short = half * (stretch + 1 / stretch) / 2, half * (stretch - 1 / stretch) / 2
    if upright:
        return place, short, long - level, long + level
    return place, long, short - level, short + level


def _log_weight(q: float, loss: float) -> float:
    """log w = log(1 - q + q e^l), in floats."""
    return log1p(q * (exp(loss) - 1)) if loss < 700 else loss + log(q)


def highest_parabola(second: arb, first: arb, left: arb, right: arb) -> arb:
    """Certified upper bound on the maximum of second x^2 + first x for left <= x <= right, where second <= 0."""

    def at(x: arb) -> arb:
        return (second * x + first) * x

    slopes = 2 * second * left + first, 2 * second * right + first
    if slopes[0] <= 0:
        return at(left)
    if slopes[1] >= 0:
        return at(right)
    if second < 0:
        return -first * first / (4 * second)
    return at(left).max(at(right))


@cache
def legendre(points: int, bits: int) -> list[tuple[arb, arb]]:
    """Nodes in (-1, 1) and weights of the Gauss-Legendre rule, at the working precision.

    `bits` must be the working precision: it is only the key of the cache.
    """
    del bits
    return [arb.legendre_p_root(points, k, weight=True) for k in range(points)]
