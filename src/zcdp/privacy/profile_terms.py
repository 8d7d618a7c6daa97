"""The exact profile of few mechanisms: a finite sum, one term for each exponent and power."""

from __future__ import annotations

from fractions import Fraction
from itertools import zip_longest
from math import frexp, inf
from typing import TypeAlias

from flint import arb, arb_poly, ctx

from zcdp.numeric.balls import at_precision, below, lift
from zcdp.numeric.certify import NotCertified
from zcdp.numeric.exact import Log, gcd
from zcdp.privacy.finite_cut import LARGEST_LATTICE, Cut, lattice_points, rational_atoms
from zcdp.privacy.line import log_size
from zcdp.privacy.pair import Pair
from zcdp.privacy.transform import Parts

__all__ = ["FiniteSum"]

WHOLE_POWER = 2_000  # degree up to which a power is taken whole

Exponent: TypeAlias = tuple[Fraction, tuple[tuple[Fraction, Fraction], ...]]
"""A rational plus rational multiples of logarithms: (rational, ((argument, multiple), ...))."""


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
        return [[coefficient] for coefficient in _first_powers([row[0] for row in rows], count, most)[least:]]
    if len(rows) != 2:
        raise NotCertified("a density takes two exponents")
    (a, b), (c, d) = rows
    if a.is_zero() and c.is_zero():
        if count > degree:
            raise NotCertified("a density without atoms cannot be cut")
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


def _first_powers(row: list[arb], count: int, most: int) -> list[arb]:
    """The coefficients of x^0 .. x^most in (row[0] + row[1] x + ...)^count: P' row = count P row', term by term."""
    if count == 1:
        return row[: most + 1]
    if count * (len(row) - 1) <= WHOLE_POWER:
        return (arb_poly(row) ** count).coeffs()[: most + 1]
    found = [row[0] ** count]
    for k in range(1, most + 1):
        terms = ((j * (count + 1) - k) * row[j] * found[k - j] for j in range(1, min(k, len(row) - 1) + 1))
        found.append(sum(terms, arb(0)) / (k * row[0]))
    return found


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
        top = sum((lift(pair.largest_loss) * count for pair, count in parts if pair.largest_loss is not None), arb(0))
        small = max(0, -frexp(float((top - lift(cut.threshold)).mid()))[1])  # all t are below 2^-small
        self.bits = ctx.prec + (cut.degree + 1) * (4 + cut.degree.bit_length() + small)
        self.sums = at_precision(self.bits, lambda: self._expand(parts))

    def _expand(self, parts: Parts) -> list[tuple[arb, _Closed]]:
        degree, start = self.cut.degree, lift(self.cut.threshold)
        top = sum((lift(pair.largest_loss) * count for pair, count in parts if pair.largest_loss is not None), arb(0))
        room = (top - start).upper()
        atoms = rational_atoms(parts)
        if len(parts) == 1 or lattice_points(atoms) > LARGEST_LATTICE:
            atoms = ()
        sums: dict[Exponent, list[arb]] = {(Fraction(0), ()): [arb(1)]}
        if atoms:
            sums = _on_lattice(atoms, room, self.cut.c)
        ahead = top - sum((lift(p.largest_loss) * n for p, n in atoms if p.largest_loss is not None), arb(0))
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
                    if not product:  # flint drops what is exactly 0, as the middle mass of three points may be
                        continue
                    longer[exponent] = _sum(longer[exponent], product) if exponent in longer else product
            ahead -= lift(loss) * count
            floor = Fraction(below(start - ahead))  # from there the parts ahead lead to the threshold at most
            sums = {exponent: row for exponent, row in longer.items() if exponent[1] or exponent[0] > floor}
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

    def upper(self, epsilon: Fraction) -> arb:
        """A ball whose upper end is above delta(epsilon)."""
        return self.delta(epsilon)[1]

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
        return log_size(value)


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
