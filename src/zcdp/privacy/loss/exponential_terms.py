"""Transforms that are finite sums of C e^{aw} w^{-j}, w = z + 1/2, with exact exponents a; and their powers.

Such a sum can be inverted term by term, so that delta of a composition becomes a finite sum.
"""

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

LARGEST_WHOLE_DEGREE = 20_000  # Up to this degree a polynomial is raised to a power at once, beyond it term by term.
PLAIN_TERMS = 4  # The price of a power is that of so many terms; laws with more terms cost proportionally more.
SEARCH_COST = 4  # The price of an exponent with several logarithms, which must be searched for, in plain exponents.

Exponent: TypeAlias = tuple[Fraction, tuple[tuple[Fraction, Fraction], ...]]
"""A rational plus rational multiples of logarithms: (rational, ((argument, multiple), ...))."""

Rows: TypeAlias = list[list[arb]]
"""For each exponent the list of coefficients of 1, 1/w, 1/w^2, ..."""


def exponent_of(number: Exact, multiple: Fraction | int = 1) -> Exponent:
    """The product `multiple` * `number`, as an exponent."""
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
    """The terms of one law's transform, with coefficients at the working precision of the call that made it."""

    regular: ClassVar[bool] = True
    """Whether the exponents are equally spaced and listed downwards, so that equal ones need no search."""
    rational_row: tuple[Fraction, Fraction] | None = None
    """The largest loss and the spacing, if the law has atoms only, at equally spaced rational losses; else None."""

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
        """The price of `power`: a bound on the number of exponents within `room` of the largest, times a cost each."""

    @abstractmethod
    def power(self, count: int, room: arb, ahead: arb, degree: int) -> Iterable[tuple[Exponent, list[arb]]]:
        """The terms of M^count whose exponent is below the largest one by at least `ahead` and at most `room`.

        A few more may be returned. Each comes with its coefficients of 1, 1/w, ... up to 1/w^degree.
        """


class EqualRows(Expansion):
    """An expansion with the equally spaced exponents loss (1 - k ratio), k = 0, 1, ..."""

    def __init__(self, loss: Exact, ratio: Fraction, rows: Rows) -> None:
        super().__init__(lift(loss), rows)
        self.loss, self.ratio, self.part = loss, ratio, lift(ratio)
        if isinstance(loss, Fraction) and not self.width:
            self.rational_row = loss, loss * ratio

    def exponent(self, k: int) -> arb:
        """The k-th exponent; the first one is the largest."""
        return self.top * (1 - k * self.part)

    def points(self, count: int, room: float) -> float:
        """An estimate of the cost: how many exponents of M^count lie within `room` of the largest one."""
        points = min(count * (len(self.rows) - 1), max(room, 0.0) // (float(self.top.mid()) * float(self.ratio))) + 1
        if count > 1:  # The more terms a law has, the more each exponent of its power costs.
            points *= max(min(len(self.rows), points) / PLAIN_TERMS, 1)
        return float(points)

    def power(self, count: int, room: arb, ahead: arb, degree: int) -> Iterable[tuple[Exponent, list[arb]]]:
        """The terms of M^count between `ahead` and `room` below the largest exponent, up to 1/w^degree."""
        step = self.top * self.part
        most = int(float((room / step).upper())) + 1
        least = max(int(float((ahead / step).lower())), 0)
        for k, row in enumerate(_power(self.rows, count, least, most, degree), least):
            yield exponent_of(self.loss, count - k * self.ratio), row


class FreeAtoms(Expansion):
    """An expansion of atoms only, at arbitrary exponents, the largest one first."""

    regular = False

    def __init__(self, losses: list[Exact], coefficients: list[arb]) -> None:
        super().__init__(lift(losses[0]), [[coefficient] for coefficient in coefficients])
        self.losses = losses

    def exponent(self, k: int) -> arb:
        """The k-th exponent; the first one is the largest."""
        return lift(self.losses[k])

    def points(self, count: int, room: float) -> float:  # noqa: ARG002
        """The price of `power`: one term for each vector of counts, as if all sums of losses were different."""
        points = float(min(comb(count + len(self.rows) - 1, len(self.rows) - 1), 10**18))
        return points * max(len(self.rows) / PLAIN_TERMS, 1) * SEARCH_COST if count > 1 else points

    def power(self, count: int, room: arb, ahead: arb, degree: int) -> Iterable[tuple[Exponent, list[arb]]]:  # noqa: ARG002
        """All terms of M^count: one for each way to distribute the uses among the atoms."""
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
    """The rows of M^count from k = least to k = most, each with its coefficients of 1, 1/w, ..., 1/w^degree."""
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
    # (a + b u)^(n-k) (c + d u)^k, u = 1/w: from one k to the next, multiply by c + d u and divide by a + b u
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
    """The coefficients of x^0 .. x^most in P = R^count, R = row[0] + row[1] x + ..., from P' R = count P R'."""
    if count == 1:
        return row[: most + 1]
    if count * (len(row) - 1) <= LARGEST_WHOLE_DEGREE:
        return (arb_poly(row) ** count).coeffs()[: most + 1]
    found = [row[0] ** count]
    for k in range(1, most + 1):
        terms = ((j * (count + 1) - k) * row[j] * found[k - j] for j in range(1, min(k, len(row) - 1) + 1))
        found.append(sum(terms, arb(0)) / (k * row[0]))
    return found


def _binomial(constant: arb, linear: arb, count: int, degree: int) -> list[arb]:
    """The coefficients of (constant + linear u)^count up to u^degree."""
    return [constant ** (count - n) * linear**n * arb.bin_uiui(count, n) for n in range(min(count, degree) + 1)]


def product(one: list[arb], other: list[arb], degree: int) -> list[arb]:
    """The product of two polynomials in 1/w, up to 1/w^degree."""
    if len(one) == 1:
        return [one[0] * x for x in other]
    if len(other) == 1:
        return [other[0] * x for x in one]
    return (arb_poly(one) * arb_poly(other)).coeffs()[: degree + 1]
