"""The exact profile of few mechanisms: a finite sum, one term for each exponent and power."""

from __future__ import annotations

from fractions import Fraction
from math import comb, inf
from typing import TypeAlias

from flint import arb, arb_poly, ctx

from zcdp.numeric.balls import lift
from zcdp.numeric.certify import Undecided
from zcdp.numeric.exact import Log, gcd
from zcdp.privacy.pair import Pair
from zcdp.privacy.transform import Parts

__all__ = ["FiniteSum", "finite_size"]

LARGEST_COUNT = 10_000

Exponent: TypeAlias = tuple[Fraction, tuple[tuple[Fraction, Fraction], ...]]
"""A rational plus rational multiples of logarithms: (rational, ((argument, multiple), ...))."""


def finite_size(parts: Parts, threshold: float = 0.0) -> float:
    """How many numbers the sum has at most, of exponents above `threshold`; infinite where a pair has no such sum."""
    if any(pair.terms is None or pair.largest_loss is None or count > LARGEST_COUNT for pair, count in parts):
        return inf
    losses = [float(lift(pair.largest_loss).mid()) for pair, _ in parts if pair.largest_loss is not None]
    room = sum(loss * count for loss, (_, count) in zip(losses, parts, strict=True)) - threshold
    exponents, degree, spacing = 1.0, 1, Fraction(0)
    for (pair, count), loss in zip(parts, losses, strict=True):
        rows, width = _shape(pair)
        exponents *= min(count * (rows - 1), max(room, 0.0) / (loss * float(pair.ratio))) + 1
        degree += count * (width - 1)
        if isinstance(pair.largest_loss, Fraction):
            spacing = gcd(spacing, pair.largest_loss * pair.ratio)
        else:
            spacing = Fraction(1, 10**300)
    return min(exponents, max(room, 0.0) / float(spacing) + 1) * degree


def _shape(pair: Pair) -> tuple[int, int]:
    assert pair.terms is not None
    rows = pair.terms()
    return len(rows), max(len(row) for row in rows)


def _power(pair: Pair, count: int, most: int) -> list[arb_poly]:
    """The first rows of M^count, up to k = most: polynomials in 1/w."""
    assert pair.terms is not None
    rows = [arb_poly(row) for row in pair.terms()]
    most = min(most, count * (len(rows) - 1))
    if len(rows) == 2:
        low, high = [rows[0] ** (count - most)], [arb_poly([1])]
        for _ in range(most):
            low.append(low[-1] * rows[0])
            high.append(high[-1] * rows[1])
        return [low[most - k] * high[k] * comb(count, k) for k in range(most + 1)]
    if any(row.degree() > 0 for row in rows):
        raise NotImplementedError("a density takes two exponents")
    whole = arb_poly([row[0] for row in rows]) ** count
    return [arb_poly([whole[k]]) for k in range(most + 1)]


class FiniteSum:
    """delta(epsilon) = e^{epsilon/2} sum of C_{a,j} f_j(a - epsilon) over the exponents a > epsilon.

    M(z) = sum of C_{a,j} e^{a w} w^{-j}, and f_j(t) = sum over m >= 0 of 4^{-m} t^{j+1+2m}/(j+1+2m)!.
    Theorem: docs/theorems/profile.md.
    """

    def __init__(self, parts: Parts, threshold: Fraction = Fraction(0)) -> None:
        """Exponents at or below the threshold are left out: they do not count at any epsilon from there on."""
        self.threshold = threshold
        sums: dict[Exponent, arb_poly] = {(Fraction(0), ()): arb_poly([1])}
        top = sum((lift(pair.largest_loss) * count for pair, count in parts if pair.largest_loss is not None), arb(0))
        room = (top - lift(threshold)).upper()
        for pair, count in parts:
            loss = pair.largest_loss
            assert loss is not None
            most = int(float((room / (lift(loss) * lift(pair.ratio))).upper())) + 1
            rows = _power(pair, count, most)
            longer: dict[Exponent, arb_poly] = {}
            for (rational, logs), poly in sums.items():
                for k, row in enumerate(rows):
                    multiple = count - k * pair.ratio
                    if isinstance(loss, Log):
                        exponent = (rational, _add(logs, loss.argument, multiple))
                    else:
                        exponent = (rational + loss * multiple, logs)
                    product = poly * row
                    longer[exponent] = longer[exponent] + product if exponent in longer else product
            sums = longer
        balls = ((_ball(exponent), poly) for exponent, poly in sums.items())
        self.sums = [(exponent, poly) for exponent, poly in balls if not exponent <= lift(threshold)]

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """A ball around delta(epsilon), twice: as lower and as upper bound."""
        if epsilon < self.threshold:
            raise ValueError(f"epsilon ({epsilon}) is below the threshold {self.threshold}")
        total, point = arb(0), lift(epsilon)
        for exponent, poly in self.sums:
            t = exponent - point
            if t <= 0:
                continue
            if not t > 0:
                t = t.max(arb(0))
            total += _weigh(poly, t)
        value = total * (point / 2).exp()
        return value, value

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


def _weigh(poly: arb_poly, t: arb) -> arb:
    """Sum over j of C_j f_j(t): f from the top down, by f_{j-2} = f_j/4 + t^{j-1}/(j-1)!, all terms positive."""
    degree = max(poly.degree(), 0)
    if degree == 0:
        return poly[0] * 2 * (t / 2).sinh()
    powers = [arb(1)]  # t^n/n!
    for n in range(1, degree + 2):
        powers.append(powers[-1] * t / n)
    f = [arb(0)] * (degree + 1)
    for j in (degree, degree - 1):
        f[j] = _series(powers[j + 1], t, j + 1)
    for j in range(degree, 1, -1):
        f[j - 2] = f[j] / 4 + powers[j - 1]
    return sum((poly[j] * f[j] for j in range(degree + 1)), arb(0))


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
