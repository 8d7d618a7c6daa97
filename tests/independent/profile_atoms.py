"""Independent privacy profiles of up to 10^6 mechanisms on lattices: exact convolution in fixed point.

Losses are tilted first, by exp(c L), so that the masses that matter are not small; then small masses can be dropped.
A few mechanisms with Laplace or logistic noise may be composed on top, by their closed profile.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import gcd

import gmpy2
from gmpy2 import mpfr, mpz

from independent.profile_laws import Law, Laws, number

# Bits of the fixed point, and bits of the least mass that is kept. The error of a million mechanisms, in a window of
# 2^17 points, is 2^38 times as large: so much more than 2^-86, which is 1e-26, must remain of the answer.
BITS = ((176, 144), (288, 240))
LARGEST_WINDOW = 60_000
MOST_POINTS = 20_000


@dataclass(frozen=True)
class Window:
    """Masses, times 2^bits, of the points top - step * (first + i), tilted and of total 1."""

    top: mpfr
    step: mpfr
    bits: int
    first: int
    masses: list[mpz]

    def points(self) -> list[tuple[mpfr, mpfr]]:
        start, unit = self.top - self.step * self.first, mpfr(2) ** -self.bits
        return [(start - self.step * i, mass * unit) for i, mass in enumerate(self.masses) if mass]


Row = tuple[int, list[mpz]]


class FixedPoint:
    """Polynomials of positive coefficients up to 1, times 2^bits; what is below 2^-kept at both ends is dropped."""

    def __init__(self, bits: int, kept: int) -> None:
        self.bits, self.least = bits, 1 << (bits - kept)

    def row(self, masses: list[mpfr]) -> Row:
        return self._trim(0, [mpz(gmpy2.floor(gmpy2.mul_2exp(mass, self.bits))) for mass in masses])

    def _trim(self, first: int, masses: list[mpz]) -> Row:
        low, high = 0, len(masses)
        while masses[low] < self.least:
            low += 1
        while masses[high - 1] < self.least:
            high -= 1
        return first + low, masses[low:high]

    def product(self, one: Row, other: Row) -> Row:
        """As one long integer each: exact, then rounded down."""
        slot = 2 * self.bits + 24
        left = gmpy2.pack(one[1], slot)
        whole = gmpy2.unpack(left * (left if other is one else gmpy2.pack(other[1], slot)), slot)
        return self._trim(one[0] + other[0], [x >> self.bits for x in whole])

    def power(self, row: Row, count: int) -> Row:
        answer: Row | None = None
        while True:
            if count % 2:
                answer = row if answer is None else self.product(answer, row)
            count //= 2
            if not count:
                assert answer is not None
                return answer
            row = self.product(row, row)


def lattices(laws: Laws) -> list[tuple[Fraction, Laws]]:
    """The laws in groups that share a lattice, each with its step in units."""
    groups: list[tuple[str, Fraction, Laws]] = []
    for one, count in sorted(laws, key=lambda pair: pair[0].lattice):
        unit, step = one.lattice
        for place, (other_unit, other, members) in enumerate(groups):
            common = _common(step, other)
            if unit == other_unit and max(step, *(member.lattice[1] for member, _ in members)) <= 60 * common:
                groups[place] = unit, common, [*members, (one, count)]
                break
        else:
            groups.append((unit, step, [(one, count)]))
    return [(step, members) for _, step, members in groups]


def _common(a: Fraction, b: Fraction) -> Fraction:
    return (
        Fraction(gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator)
        if a and b
        else a or b
    )


def window(step: Fraction, members: Laws, c: mpfr, numbers: FixedPoint) -> Window:
    """The tilted loss of mechanisms on one lattice."""
    unit = members[0][0].step / number(members[0][0].lattice[1])
    spacing, top, row = number(step) * unit, mpfr(0), None
    for one, count in members:
        stride = one.lattice[1] / step
        assert stride.denominator == 1
        moment = _moment(one, c)
        masses = [mpfr(0)] * (int(stride) * (len(one.masses) - 1) + 1)
        for i, mass in enumerate(one.masses):
            masses[i * int(stride)] = mass * gmpy2.exp(-c * one.step * i) / moment
        new = numbers.power(numbers.row(masses), count)
        row = new if row is None else numbers.product(row, new)
        top += one.top * count
    assert row is not None
    return Window(top, spacing, numbers.bits, *row)


def _moment(one: Law, c: mpfr) -> mpfr:
    """E exp(c (L - top))."""
    return gmpy2.fsum([mass * gmpy2.exp(-c * one.step * i) for i, mass in enumerate(one.masses)])


class Densities:
    """Profile of a few Laplace and logistic mechanisms: e^{t/2} times the sum of C_{a,j} f_j(a - t).

    M(z) = sum of C_{a,j} e^{aw}/w^j, w = z + 1/2, and f_j is the j-fold integral of 2 sinh(x/2) from 0.
    """

    def __init__(self, laws: Laws) -> None:
        self.terms: list[tuple[mpfr, list[mpfr]]] = [(mpfr(0), [mpfr(1)])]
        self.top = mpfr(0)
        for one, count in laws:
            e = one.top
            size = gmpy2.exp(-e / 2) / 4 if one.family == "laplace" else 1 / (4 * gmpy2.sinh(e / 2))
            atom = 2 * size if one.family == "laplace" else mpfr(0)
            for _ in range(count):
                self.top += e
                self.terms = [
                    (a + sign * e, [atom * x + sign * size * y for x, y in zip([*row, 0], [0, *row], strict=True)])
                    for a, row in self.terms
                    for sign in (1, -1)
                ]

    def delta(self, t: mpfr) -> mpfr:
        if t >= self.top:
            return mpfr(0)
        if t <= -self.top:
            return -gmpy2.expm1(t)
        total = mpfr(0)
        for a, row in self.terms:
            if (x := a - t) <= 0:
                continue
            sinh, cosh = gmpy2.sinh_cosh(x / 2)
            f = [2 * sinh, 4 * cosh - 4]
            for j in range(2, len(row)):  # f_j = 4 (f_{j-2} - x^{j-1}/(j-1)!)
                f.append(4 * (f[j - 2] - x ** (j - 1) / gmpy2.fac(j - 1)))
            total += sum(one * other for one, other in zip(row, f, strict=False))
        return gmpy2.exp(t / 2) * total


class Profile:
    """delta(epsilon) of lattices and a few densities, tilted by a c >= 0 that suits the epsilon."""

    def __init__(self, laws: Laws, c: mpfr, densities: Laws) -> None:
        self.laws, self.c = laws, c
        self.log_moment = gmpy2.fsum([gmpy2.log(_moment(one, c)) * n for one, n in laws])
        self.top = gmpy2.fsum([one.top * n for one, n in laws])
        self.densities = Densities(densities) if densities else None
        self.sums: dict[int, _Sums] = {}

    def delta(self, epsilon: Fraction) -> mpfr:
        point = number(epsilon)
        if point >= self.top + (self.densities.top if self.densities else 0):
            return mpfr(0)
        for bits, kept in BITS:
            if bits not in self.sums:
                self.sums[bits] = _Sums(self.laws, self.c, self.densities, FixedPoint(bits, kept))
            total = self.sums[bits].above(point)
            if total > mpfr(2) ** (38 + 86 - kept):
                return gmpy2.exp(self.log_moment + self.c * (self.top - point)) * total
        raise AssertionError(f"the tilt {self.c} does not suit epsilon {float(epsilon)}")


class _Sums:
    """What remains of delta when e^{-c epsilon} E exp(c L) is taken out."""

    def __init__(self, laws: Laws, c: mpfr, densities: Densities | None, numbers: FixedPoint) -> None:
        self.c, self.densities = c, densities
        windows = [window(step, members, c, numbers) for step, members in lattices(laws)]
        windows.sort(key=lambda one: len(one.masses))
        self.last = None if densities else windows.pop()
        self.points = [(mpfr(0), mpfr(1))]
        for one in windows:
            self.points = [(a + b, m * n) for (a, m), (b, n) in product(self.points, one.points())]
        self.sums = []
        if self.last is not None:  # sums of mass e^{-c (b - last point)} and of mass e^{-(c+1) (b - last point)}
            u = v = mpfr(0)
            rho, sigma = gmpy2.exp(-c * self.last.step), gmpy2.exp(-(c + 1) * self.last.step)
            unit = mpfr(2) ** -numbers.bits
            for mass in self.last.masses:
                x = mass * unit
                u, v = u * rho + x, v * sigma + x
                self.sums.append((u, v))

    def above(self, point: mpfr) -> mpfr:
        total = mpfr(0)
        if self.densities is None:
            for loss, mass in self.points:
                total += mass * self._above(point - loss)
            return total
        for loss, mass in self.points:
            if value := self.densities.delta(point - loss):
                total += mass * gmpy2.exp(self.c * (point - loss)) * value
        return total

    def _above(self, t: mpfr) -> mpfr:
        """sum over points b > t of the last lattice of mass e^{-c(b-t)} (1 - e^{-(b-t)})."""
        assert self.last is not None
        start = self.last.top - self.last.step * self.last.first
        index = min(int(gmpy2.ceil((start - t) / self.last.step)) - 1, len(self.sums) - 1)
        if index < 0:
            return mpfr(0)
        x = start - self.last.step * index - t
        u, v = self.sums[index]
        return gmpy2.exp(-self.c * x) * (u - v * gmpy2.exp(-x))
