"""A transform as a finite sum of C e^{aw} w^{-j}, w = z + 1/2: exact exponents a, and powers of the whole."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from fractions import Fraction
from math import comb
from typing import ClassVar, TypeAlias

from flint import arb, arb_poly

from zcdp.numeric.balls import NotCertified, lift
from zcdp.numeric.exact import Exact, Log

__all__ = ["EqualRows", "Expansion", "Exponent", "FreeAtoms", "exponent_of", "product", "sum_of"]

WHOLE_POWER = 2_000  # Up to this degree a power is taken whole.
LONG = 4  # Powers of a law with more terms cost more.
SEARCH = 4  # An exponent of many logarithms costs as much as so many plain ones.

Exponent: TypeAlias = tuple[Fraction, tuple[tuple[Fraction, Fraction], ...]]
"""A rational plus rational multiples of logarithms: (rational, ((argument, multiple), ...))."""

Rows: TypeAlias = list[list[arb]]
"""For each exponent the coefficients of 1, 1/w, 1/w^2, ..."""


def exponent_of(number: Exact, multiple: Fraction | int = 1) -> Exponent:
    """A multiple of a number, as an exponent."""
    if isinstance(number, Log):
        return Fraction(0), ((number.argument, Fraction(multiple)),)
    return number * multiple, ()


def sum_of(one: Exponent, other: Exponent) -> Exponent:
    """The sum of two exponents."""
    if not other[1]:
        return one[0] + other[0], one[1]
    logs = dict(one[1])
    for argument, multiple in other[1]:
        logs[argument] = logs.get(argument, Fraction(0)) + multiple
    return one[0] + other[0], tuple(sorted(logs.items()))


class Expansion(ABC):
    """The terms of one law; rows hold the coefficients at the precision at which it was asked for."""

    regular: ClassVar[bool] = True
    """Whether exponents come in order, at equal distances: then no search among them is needed."""
    rational_row: tuple[Fraction, Fraction] | None = None
    """The largest loss and the spacing, where all of it is atoms at equally spaced rational points."""

    def __init__(self, top: arb, rows: Rows) -> None:
        self.top = top
        """The largest exponent."""
        self.rows = rows
        self.width = max(map(len, rows)) - 1
        """The largest power of 1/w."""

    @abstractmethod
    def exponent(self, k: int) -> arb:
        """The k-th exponent; the first is the largest."""

    @abstractmethod
    def points(self, count: int, room: float) -> float:
        """How many exponents of M^count lie within `room` of the largest, at most, each times what it costs."""

    @abstractmethod
    def power(self, count: int, room: arb, ahead: arb, degree: int) -> Iterable[tuple[Exponent, list[arb]]]:
        """The terms of M^count within `room` of the largest exponent but not within `ahead`, powers up to `degree`."""


class EqualRows(Expansion):
    """Exponents loss (1 - k ratio), k = 0, 1, ..."""

    def __init__(self, loss: Exact, ratio: Fraction, rows: Rows) -> None:
        super().__init__(lift(loss), rows)
        self.loss, self.ratio, self.part = loss, ratio, lift(ratio)
        if isinstance(loss, Fraction) and not self.width:
            self.rational_row = loss, loss * ratio

    def exponent(self, k: int) -> arb:
        """See `Expansion`."""
        return self.top * (1 - k * self.part)

    def points(self, count: int, room: float) -> float:
        """See `Expansion`."""
        points = min(count * (len(self.rows) - 1), max(room, 0.0) // (float(self.top.mid()) * float(self.ratio))) + 1
        if count > 1:  # Each of them costs the more, the longer the law.
            points *= max(min(len(self.rows), points) / LONG, 1)
        return float(points)

    def power(self, count: int, room: arb, ahead: arb, degree: int) -> Iterable[tuple[Exponent, list[arb]]]:
        """See `Expansion`."""
        step = self.top * self.part
        most = int(float((room / step).upper())) + 1
        least = max(int(float((ahead / step).lower())), 0)
        for k, row in enumerate(_power(self.rows, count, least, most, degree), least):
            yield exponent_of(self.loss, count - k * self.ratio), row


class FreeAtoms(Expansion):
    """Atoms alone, at any exponents, the largest one first."""

    regular = False

    def __init__(self, losses: list[Exact], coefficients: list[arb]) -> None:
        super().__init__(lift(losses[0]), [[coefficient] for coefficient in coefficients])
        self.losses = losses

    def exponent(self, k: int) -> arb:
        """See `Expansion`."""
        return lift(self.losses[k])

    def points(self, count: int, room: float) -> float:  # noqa: ARG002
        """All compositions of `count` into so many parts: losses that meet are not foreseen."""
        points = float(min(comb(count + len(self.rows) - 1, len(self.rows) - 1), 10**18))
        return points * max(len(self.rows) / LONG, 1) * SEARCH if count > 1 else points

    def power(self, count: int, room: arb, ahead: arb, degree: int) -> Iterable[tuple[Exponent, list[arb]]]:  # noqa: ARG002
        """See `Expansion`; one term for each way to share the uses out among the atoms."""
        powers = []
        for [coefficient] in self.rows:
            row = [arb(1)]
            for _ in range(count):
                row.append(row[-1] * coefficient)
            powers.append(row)
        stack: list[tuple[int, int, Exponent, arb]] = [(0, count, (Fraction(0), ()), arb(1))]
        last = len(self.rows) - 1
        while stack:
            atom, left, exponent, mass = stack.pop()
            loss, row = self.losses[atom], powers[atom]
            if atom == last:
                yield sum_of(exponent, exponent_of(loss, left)), [mass * row[left]]
                continue
            for n in range(left + 1):
                place = sum_of(exponent, exponent_of(loss, n)) if n else exponent
                stack.append((atom + 1, left - n, place, mass * row[n] * arb.bin_uiui(left, n)))


def _power(rows: Rows, count: int, least: int, most: int, degree: int) -> Rows:
    """Rows of M^count from k = least to k = most: coefficients of powers of 1/w, up to the degree."""
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
    row = product(_binomial(a, b, count - least, degree), _binomial(c, d, least, degree), degree)
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
        answer[k - least] = product([choices], row, degree)
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


def product(one: list[arb], other: list[arb], degree: int) -> list[arb]:
    """The product of two polynomials in 1/w, up to the degree."""
    if len(one) == 1:
        return [one[0] * x for x in other]
    if len(other) == 1:
        return [other[0] * x for x in one]
    return (arb_poly(one) * arb_poly(other)).coeffs()[: degree + 1]
