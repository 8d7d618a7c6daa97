"""The exact profile of few mechanisms: a finite sum, one term for each exponent and power."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest
from math import comb, inf
from typing import TypeAlias

from flint import arb, arb_poly, ctx

from zcdp.numeric.balls import lift
from zcdp.numeric.certify import Undecided
from zcdp.numeric.exact import Log, gcd
from zcdp.privacy.pair import Pair
from zcdp.privacy.rdp_to_approx import tail_factor
from zcdp.privacy.transform import Parts, Transform

__all__ = ["Cut", "FiniteSum", "cut_degree", "finite_size", "whole_degree"]

LARGEST_COUNT = 10_000

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


def whole_degree(parts: Parts) -> int:
    """The largest power of 1/w there is."""
    return sum(count * (max(map(len, pair.terms())) - 1) for pair, count in parts if pair.terms is not None)


def finite_size(parts: Parts, threshold: float = 0.0) -> float:
    """How many exponents above `threshold` the sum has at most; infinite where a pair has no such sum."""
    if any(pair.terms is None or pair.largest_loss is None or count > LARGEST_COUNT for pair, count in parts):
        return inf
    losses = [float(lift(pair.largest_loss).mid()) for pair, _ in parts if pair.largest_loss is not None]
    room = sum(loss * count for loss, (_, count) in zip(losses, parts, strict=True)) - threshold
    exponents, spacing = 1.0, Fraction(0)
    for (pair, count), loss in zip(parts, losses, strict=True):
        assert pair.terms is not None
        exponents *= min(count * (len(pair.terms()) - 1), max(room, 0.0) / (loss * float(pair.ratio))) + 1
        if isinstance(pair.largest_loss, Fraction):
            spacing = gcd(spacing, pair.largest_loss * pair.ratio)
        else:
            spacing = Fraction(1, 10**300)
    return min(exponents, max(room, 0.0) / float(spacing) + 1)


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
            return Cut(threshold, degree, c, arb("-inf"))
        if log_rest - c * epsilon < log_delta - 42:
            return Cut(threshold, degree, c, log_rest)


def _power(pair: Pair, count: int, most: int, degree: int) -> list[list[arb]]:
    """The first rows of M^count, up to k = most: coefficients of powers of 1/w, up to the degree."""
    assert pair.terms is not None
    rows = pair.terms()
    most = min(most, count * (len(rows) - 1))
    if all(len(row) == 1 for row in rows):
        if len(rows) == 2:
            return [[rows[0][0] ** (count - k) * rows[1][0] ** k * comb(count, k)] for k in range(most + 1)]
        whole = arb_poly([row[0] for row in rows]) ** count
        return [[whole[k]] for k in range(most + 1)]
    if len(rows) != 2:
        raise NotImplementedError("a density takes two exponents")
    (a, b), (c, d) = rows
    if a.is_zero() and c.is_zero():
        if count > degree:
            raise NotImplementedError("a density without atoms cannot be cut")
        zeros = [arb(0)] * count
        return [[*zeros, b ** (count - k) * d**k * comb(count, k)] for k in range(most + 1)]
    # (a + b u)^(n-k) (c + d u)^k, from one k to the next: times c + d u, divided by a + b u
    row = [a ** (count - n) * b**n * comb(count, n) for n in range(min(count, degree) + 1)]
    answer = [row]
    for k in range(1, most + 1):
        longer: list[arb] = []
        previous = before = arb(0)
        for coefficient in row:
            previous = (c * coefficient + d * before - b * previous) / a
            longer.append(previous)
            before = coefficient
        row = longer
        answer.append([coefficient * comb(count, k) for coefficient in row])
    return answer


def _product(one: list[arb], other: list[arb], degree: int) -> list[arb]:
    if len(one) == 1:
        return [one[0] * x for x in other]
    if len(other) == 1:
        return [other[0] * x for x in one]
    return (arb_poly(one) * arb_poly(other)).coeffs()[: degree + 1]


def _sum(one: list[arb], other: list[arb]) -> list[arb]:
    return [x + y for x, y in zip_longest(one, other, fillvalue=arb(0))]


class FiniteSum:
    """delta(epsilon) = e^{epsilon/2} sum of C_{a,j} f_j(a - epsilon) over the exponents a > epsilon.

    M(z) = sum of C_{a,j} e^{a w} w^{-j}, and f_j(t) = sum over m >= 0 of 4^{-m} t^{j+1+2m}/(j+1+2m)!.
    Theorem: docs/theorems/profile.md.
    """

    def __init__(self, parts: Parts, cut: Cut) -> None:
        self.cut, degree = cut, cut.degree
        start = lift(cut.threshold)
        sums: dict[Exponent, list[arb]] = {(Fraction(0), ()): [arb(1)]}
        top = sum((lift(pair.largest_loss) * count for pair, count in parts if pair.largest_loss is not None), arb(0))
        room = (top - start).upper()
        for pair, count in parts:
            loss = pair.largest_loss
            assert loss is not None
            most = int(float((room / (lift(loss) * lift(pair.ratio))).upper())) + 1
            longer: dict[Exponent, list[arb]] = {}
            rows = _power(pair, count, most, degree)
            for (rational, logs), series in sums.items():
                for k, row in enumerate(rows):
                    multiple = count - k * pair.ratio
                    if isinstance(loss, Log):
                        exponent = (rational, _add(logs, loss.argument, multiple))
                    else:
                        exponent = (rational + loss * multiple, logs)
                    product = _product(series, row, degree)
                    longer[exponent] = _sum(longer[exponent], product) if exponent in longer else product
            sums = longer
        balls = ((_ball(exponent), series) for exponent, series in sums.items())
        self.sums = [(exponent, series) for exponent, series in balls if not exponent <= start]

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """Balls whose lower end is below, and whose upper end is above delta(epsilon)."""
        if epsilon < self.cut.threshold:
            raise ValueError(f"epsilon ({epsilon}) is below the threshold {self.cut.threshold}")
        total, point = arb(0), lift(epsilon)
        for exponent, row in self.sums:
            t = exponent - point
            if t <= 0:
                continue
            if not t > 0:
                t = t.max(arb(0))
            total += _weigh(row, t)
        value = total * (point / 2).exp()
        return value, value + (self.cut.log_rest - self.cut.c * point).exp()

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


def _weigh(row: list[arb], t: arb) -> arb:
    """Sum over j of C_j f_j(t): f from the top down, by f_{j-2} = f_j/4 + t^{j-1}/(j-1)!, all terms positive."""
    degree = len(row) - 1
    if degree == 0:
        return row[0] * 2 * (t / 2).sinh()
    powers = [arb(1)]  # t^n/n!
    for n in range(1, degree + 2):
        powers.append(powers[-1] * t / n)
    last, last_but_one = (_series(powers[j + 1], t, j + 1) for j in (degree, degree - 1))
    total = row[degree] * last + row[degree - 1] * last_but_one
    for j in range(degree - 2, -1, -1):
        last, last_but_one = last_but_one, last / 4 + powers[j + 1]
        total += row[j] * last_but_one
    return total


def _series(first: arb, t: arb, n: int) -> arb:
    """Sum over m >= 0 of 4^{-m} t^{n+2m}/(n+2m)!, given t^n/n!; the rest of the series by a geometric one."""
    total, term, square = arb(0), first, t * t / 4
    for m in range(100000):
        total += term
        ratio = square / ((n + 2 * m + 1) * (n + 2 * m + 2))
        term *= ratio
        if ratio < 0.5 and (term.is_zero() or abs(term) < abs(total) * arb(2) ** -ctx.prec):
            rest = 2 * abs(term)
            return total + rest.union(arb(0))
    raise Undecided
