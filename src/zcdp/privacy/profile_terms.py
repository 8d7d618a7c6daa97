"""The exact profile of few mechanisms: a finite sum, one term for each exponent and power."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest
from math import inf
from typing import TypeAlias

from flint import arb, arb_poly, ctx

from zcdp.numeric.balls import at_precision, lift
from zcdp.numeric.exact import Log, gcd
from zcdp.privacy.pair import Pair
from zcdp.privacy.rdp_to_approx import tail_factor
from zcdp.privacy.transform import Parts, Transform

__all__ = ["Cut", "FiniteSum", "cut_degree", "finite_size", "whole_degree"]

LARGEST_COUNT = 10_000_000
MOST_PARTS = 24
LARGEST_LATTICE = 20_000
NEGLIGIBLE = 36  # e^-36 of delta

Exponent: TypeAlias = tuple[Fraction, tuple[tuple[Fraction, Fraction], ...]]
"""A rational plus rational multiples of logarithms: (rational, ((argument, multiple), ...))."""


@dataclass(frozen=True)
class Cut:
    """Which terms of the finite sum to keep: exponents above `threshold`, powers of 1/w up to `degree`.

    What the powers above weigh at most is exp(log_rest - c epsilon).
    """

    threshold: Fraction
    degree: int
    c: arb
    log_rest: arb
    ceiling: float = inf
    """Exponents above it are left out too; they weigh at most exp(log_above - c epsilon)."""
    log_above: arb = arb("-inf")  # noqa: RUF009 - balls are immutable


def whole_degree(parts: Parts) -> int:
    """The largest power of 1/w there is."""
    return sum(count * (max(map(len, pair.terms())) - 1) for pair, count in parts if pair.terms is not None)


def finite_size(parts: Parts, threshold: float = 0.0, ceiling: float = inf) -> float:
    """How many exponents between the two the sum has at most; infinite where a pair has no such sum."""
    if len(parts) > MOST_PARTS:
        return inf
    if any(pair.terms is None or pair.largest_loss is None or count > LARGEST_COUNT for pair, count in parts):
        return inf
    losses = [float(lift(pair.largest_loss).mid()) for pair, _ in parts if pair.largest_loss is not None]
    room = min(sum(loss * count for loss, (_, count) in zip(losses, parts, strict=True)), ceiling) - threshold
    free, atoms = 1.0, 1.0
    for (pair, count), loss in zip(parts, losses, strict=True):
        assert pair.terms is not None
        points = min(count * (len(pair.terms()) - 1), max(room, 0.0) / (loss * float(pair.ratio))) + 1
        if pair.atomic and isinstance(pair.largest_loss, Fraction):
            atoms *= points
        else:
            free *= points
    met = _lattice_points(_rational_atoms(parts))
    return free * (min(atoms, float(met)) if met <= LARGEST_LATTICE else atoms)


def _rational_atoms(parts: Parts) -> Parts:
    """The parts that are atoms at rational points: they meet on a common lattice."""
    return tuple((pair, n) for pair, n in parts if pair.atomic and isinstance(pair.largest_loss, Fraction))


def _lattice_points(atoms: Parts) -> Fraction:
    """How many points the common lattice has from the least loss to the largest."""
    spacing, most = Fraction(0), Fraction(0)
    for pair, count in atoms:
        assert isinstance(pair.largest_loss, Fraction)
        spacing, most = gcd(spacing, pair.largest_loss * pair.ratio), most + pair.largest_loss * count
    return 2 * most / spacing + 1 if atoms else Fraction(1)


def cut_degree(transform: Transform, c: arb, epsilon: arb, log_delta: float, threshold: Fraction) -> Cut:
    """Keep as many powers as carry weight: the number of draws from a density is nearly Poisson.

    Marking each density by v > 1 gives the Chernoff bound v^{-degree-1} times the marked transform at c.
    """
    w = c + arb(1) / 2
    shares: list[tuple[arb, arb, int]] = []
    most, mean = 0, 0.0
    for factor in transform.factors:
        assert factor.loss is not None
        assert factor.terms is not None
        whole = factor.once(c, w, 1 / w)
        atoms = sum(
            (row[0] * (factor.loss * (1 - k * factor.ratio) * w).exp() for k, row in enumerate(factor.terms)), arb(0)
        )
        width = max(map(len, factor.terms)) - 1
        if width > 1:
            raise NotImplementedError("a density takes one power")
        shares.append((atoms, (whole - atoms) * width, factor.count))
        most += width * factor.count
        mean += float((width * (1 - atoms / whole)).mid()) * factor.count
    degree = int(mean)
    while True:
        degree = min(int(degree * 1.1) + 4, most)
        v = arb(max((degree + 1) / max(mean, 1e-9), 2.0))
        marked = sum(((atoms + v * rest).log() * count for atoms, rest, count in shares), arb(0))
        log_rest = marked - (degree + 1) * v.log() + tail_factor(c)
        if degree == most:
            log_rest = arb("-inf")
        if degree == most or log_rest - c * epsilon < log_delta - NEGLIGIBLE:
            ceiling, log_above = _ceiling(transform, w, epsilon, log_delta)
            return Cut(threshold, degree, c, log_rest, ceiling, log_above)


def _ceiling(transform: Transform, w: arb, epsilon: arb, log_delta: float) -> tuple[float, arb]:
    """An exponent above which all terms together are negligible, and the bound; for a single pair.

    f_j(t) <= e^{xt} x^{1-j}/(x^2 - 1/4), and e^{xa} <= e^{ya - (y-x)A} for a > A, y > x: sum absolute coefficients.
    """
    best = inf, arb("-inf")
    if len(transform.factors) > 1:
        return best
    [factor] = transform.factors
    assert factor.loss is not None
    assert factor.terms is not None
    front = (w / (w * w - arb(1) / 4)).log()
    weights = [sum((abs(x) / w**j for j, x in enumerate(row)), arb(0)) for row in factor.terms]
    for n in range(1, 13):
        y = w * (1 + arb(n) / 4)
        growth = sum((b * (factor.loss * (1 - k * factor.ratio) * y).exp() for k, b in enumerate(weights)), arb(0))
        size = growth.log() * factor.count + front
        ceiling = float(((size - (w - arb(1) / 2) * epsilon - log_delta + NEGLIGIBLE) / (y - w)).mid())
        if ceiling < best[0]:
            best = ceiling, size - (y - w) * arb(ceiling)
    return best


def _power(pair: Pair, count: int, least: int, most: int, degree: int) -> list[list[arb]]:
    """Rows of M^count from k = least to k = most: coefficients of powers of 1/w, up to the degree."""
    assert pair.terms is not None
    rows = pair.terms()
    most = min(most, count * (len(rows) - 1))
    if all(len(row) == 1 for row in rows):
        if len(rows) == 2:
            return [
                [rows[0][0] ** (count - k) * rows[1][0] ** k * arb.bin_uiui(count, k)] for k in range(least, most + 1)
            ]
        whole = arb_poly([row[0] for row in rows]) ** count
        return [[whole[k]] for k in range(least, most + 1)]
    if len(rows) != 2:
        raise NotImplementedError("a density takes two exponents")
    (a, b), (c, d) = rows
    if a.is_zero() and c.is_zero():
        if count > degree:
            raise NotImplementedError("a density without atoms cannot be cut")
        zeros = [arb(0)] * count
        return [[*zeros, b ** (count - k) * d**k * arb.bin_uiui(count, k)] for k in range(least, most + 1)]
    # (a + b u)^(n-k) (c + d u)^k, from one k to the next: times c + d u, divided by a + b u
    row = _product(_binomial(a, b, count - least, degree), _binomial(c, d, least, degree), degree)
    answer = [row]
    for _ in range(least, most):
        longer: list[arb] = []
        previous = before = arb(0)
        for coefficient in row:
            previous = (c * coefficient + d * before - b * previous) / a
            longer.append(previous)
            before = coefficient
        row = longer
        answer.append(row)
    choices = arb.bin_uiui(count, least)
    for k, row in enumerate(answer, least):
        answer[k - least] = _product([choices], row, degree)
        choices = choices * (count - k) / (k + 1)
    return answer


def _binomial(constant: arb, linear: arb, count: int, degree: int) -> list[arb]:
    """(constant + linear u)^count, up to the degree."""
    return [constant ** (count - n) * linear**n * arb.bin_uiui(count, n) for n in range(min(count, degree) + 1)]


def _on_lattice(parts: Parts, room: arb, c: arb) -> dict[Exponent, list[arb]]:
    """All atoms at rational points together: polynomials in e^{-g w}, g their common spacing.

    Products of polynomials are exact up to a part of the largest coefficient, so they are tilted to where it matters.
    """
    spacing, top = Fraction(0), Fraction(0)
    for pair, count in parts:
        assert isinstance(pair.largest_loss, Fraction)
        spacing, top = gcd(spacing, pair.largest_loss * pair.ratio), top + pair.largest_loss * count
    tilt = (-lift(spacing) * (c + arb(1) / 2)).exp()
    whole = arb_poly([1])
    for pair, count in parts:
        assert pair.terms is not None
        assert isinstance(pair.largest_loss, Fraction)
        stride = int(pair.largest_loss * pair.ratio / spacing)
        rows = pair.terms()
        tilted = [arb(0)] * (stride * (len(rows) - 1) + 1)
        for k, row in enumerate(rows):
            tilted[k * stride] = row[0] * tilt ** (k * stride)
        whole *= arb_poly(tilted) ** count
    last = int(float((room / lift(spacing)).upper())) + 1
    sums: dict[Exponent, list[arb]] = {}
    back = arb(1)
    for n, coefficient in enumerate(whole.coeffs()[: last + 1]):
        if not coefficient.is_zero():
            sums[top - n * spacing, ()] = [coefficient * back]
        back /= tilt
    return sums


def _product(one: list[arb], other: list[arb], degree: int) -> list[arb]:
    if len(one) == 1:
        return [one[0] * x for x in other]
    if len(other) == 1:
        return [other[0] * x for x in one]
    return (arb_poly(one) * arb_poly(other)).coeffs()[: degree + 1]


def _sum(one: list[arb], other: list[arb]) -> list[arb]:
    return [x + y for x, y in zip_longest(one, other, fillvalue=arb(0))]


_Closed: TypeAlias = tuple[arb_poly, arb, arb]


class FiniteSum:
    """delta(epsilon) = e^{epsilon/2} sum of C_{a,j} f_j(a - epsilon) over the exponents a > epsilon.

    M(z) = sum of C_{a,j} e^{a w} w^{-j}, and f_j(t) = sum over m >= 0 of 4^{-m} t^{j+1+2m}/(j+1+2m)!.
    Theorem: docs/theorems/profile.md.
    """

    def __init__(self, parts: Parts, cut: Cut) -> None:
        self.cut = cut
        # the powers t^n/n! of `_closed` and the alternating signs of a density cancel: so many more bits
        self.bits = ctx.prec + cut.degree * (4 + cut.degree.bit_length())
        self.sums = at_precision(self.bits, lambda: self._expand(parts))

    def _expand(self, parts: Parts) -> list[tuple[arb, _Closed]]:
        degree, start = self.cut.degree, lift(self.cut.threshold)
        top = sum((lift(pair.largest_loss) * count for pair, count in parts if pair.largest_loss is not None), arb(0))
        room = (top - start).upper()
        atoms = _rational_atoms(parts)
        if len(parts) == 1 or _lattice_points(atoms) > LARGEST_LATTICE:
            atoms = ()
        sums: dict[Exponent, list[arb]] = {(Fraction(0), ()): [arb(1)]}
        if atoms:
            sums = _on_lattice(atoms, room, self.cut.c)
        for pair, count in parts:
            if (pair, count) in atoms:
                continue
            loss = pair.largest_loss
            assert loss is not None
            most = int(float((room / (lift(loss) * lift(pair.ratio))).upper())) + 1
            longer: dict[Exponent, list[arb]] = {}
            least = 0 if self.cut.ceiling == inf else self._first(top, lift(loss) * lift(pair.ratio))
            rows = _power(pair, count, least, most, degree)
            for (rational, logs), series in sums.items():
                for k, row in enumerate(rows, least):
                    multiple = count - k * pair.ratio
                    if isinstance(loss, Log):
                        exponent = (rational, _add(logs, loss.argument, multiple))
                    else:
                        exponent = (rational + loss * multiple, logs)
                    product = _product(series, row, degree)
                    longer[exponent] = _sum(longer[exponent], product) if exponent in longer else product
            sums = longer
        inverse_factorials = [arb(1)]
        for n in range(1, degree + 2):
            inverse_factorials.append(inverse_factorials[-1] / n)
        balls = ((_ball(exponent), row) for exponent, row in sums.items())
        return [(exponent, _closed(row, inverse_factorials)) for exponent, row in balls if not exponent <= start]

    def _first(self, top: arb, step: arb) -> int:
        """The first k whose exponent is at or below the ceiling."""
        return max(int(float(((top - self.cut.ceiling) / step).lower())), 0)

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """Balls whose lower end is below, and whose upper end is above delta(epsilon)."""
        if epsilon < self.cut.threshold:
            raise ValueError(f"epsilon ({epsilon}) is below the threshold {self.cut.threshold}")
        return at_precision(self.bits, lambda: self._delta(lift(epsilon)))

    def _delta(self, epsilon: arb) -> tuple[arb, arb]:
        total = arb(0)
        for exponent, (poly, even, odd) in self.sums:
            t = exponent - epsilon
            if t <= 0:
                continue
            if not t > 0:
                t = t.max(arb(0))
            sinh, cosh = (t / 2).sinh_cosh()
            total += poly(t) + even * cosh + odd * sinh
        value, shift = total * (epsilon / 2).exp(), self.cut.c * epsilon
        above = (self.cut.log_above - shift).exp()
        return value - above, value + above + (self.cut.log_rest - shift).exp()

    def estimate(self, epsilon: float) -> float:
        """log delta(epsilon), near enough: for proposals."""
        value = self.delta(Fraction(epsilon))[0]
        return float(value.log().mid()) if value > 0 else -inf


def _add(
    logs: tuple[tuple[Fraction, Fraction], ...], argument: Fraction, multiple: Fraction
) -> tuple[tuple[Fraction, Fraction], ...]:
    combined = dict(logs)
    combined[argument] = combined.get(argument, Fraction(0)) + multiple
    return tuple(sorted(combined.items()))


def _ball(exponent: Exponent) -> arb:
    rational, logs = exponent
    return lift(rational) + sum((lift(Log(argument)) * lift(multiple) for argument, multiple in logs), arb(0))


def _closed(row: list[arb], inverse_factorials: list[arb]) -> _Closed:
    """Sum over j of C_j f_j(t), as a polynomial in t plus multiples of cosh(t/2) and sinh(t/2).

    It is sum over n >= 1 of d_n t^n/n! with d_n = C_{n-1} + d_{n-2}/4; beyond the last C_j only the quarters go on,
    which are a hyperbolic function less its first terms.
    """
    quarter, last = arb(0.25), len(row)
    d = [arb(0), row[0]]
    for coefficient in row[1:]:
        d.append(d[-2] * quarter + coefficient)
    ends = [d[last - last % 2], d[last - 1 + last % 2]]  # of the even and of the odd n
    ends = [ends[0] * 2 ** (last - last % 2), ends[1] * 2 ** (last - 1 + last % 2)]
    even, odd = ends[0], ends[1] / 2
    coefficients = []
    for n in range(last - 1):
        coefficients.append((d[n] - even) * inverse_factorials[n])
        even, odd = odd, even * quarter
    return arb_poly(coefficients), ends[0], ends[1]
