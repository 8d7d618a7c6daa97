"""Mechanisms on a Poisson sample against true neighbours: every data set of up to four records, all of it in fractions.

The law of the output on a data set is the mean over all of its subsets; the truth of several uses is a sum over all
outcomes. Where the pair is exact some neighbours attain the bound.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, product
from math import log

import pytest

from zcdp import (
    BinaryRandomizedResponse,
    Channel,
    DiscreteLaplace,
    Log,
    Mechanism,
    PureDP,
    RandomizedResponse,
    Subsampled,
)

Output = tuple[Fraction, ...]
Base = Callable[[tuple[int, ...]], Output]

HALF, CELLS = Fraction(1, 2), 5
ROWS = (
    (Fraction(3, 4), Fraction(1, 4), Fraction(0)),
    (Fraction(2, 5), Fraction(3, 5), Fraction(0)),
    (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)),
)


def geometric(records: tuple[int, ...]) -> Output:
    """The sum of the records with noise of mass proportional to 2^-|x|; what is CELLS or further from 2 is one outcome.

    Beyond 0 and 4 all ratios are the same: nothing is lost.
    """
    centre, ratio = sum(records), HALF
    masses = [(1 - ratio) / (1 + ratio) * ratio ** abs(y - centre) for y in range(2 - CELLS, 3 + CELLS)]
    masses[0] += ratio ** (centre - 1 + CELLS) / (1 + ratio)
    masses[-1] += ratio ** (3 + CELLS - centre) / (1 + ratio)
    assert sum(masses) == 1
    return tuple(masses)


def reports(row: Callable[[int], Output]) -> Base:
    """The report of the one person of interest, who is record 1 or 2; one who is not there reports 0."""

    def base(records: tuple[int, ...]) -> Output:
        return row(next((record for record in records if record), 0))

    return base


def response(value: int) -> Output:
    """Three values, the true one twice as likely as each other one."""
    return tuple(Fraction(2 if y == value else 1, 4) for y in range(3))


def sampled(base: Base, records: tuple[int, ...], rate: Fraction) -> Output:
    """The mean over all samples."""
    total: list[Fraction] | None = None
    for size in range(len(records) + 1):
        chance = rate**size * (1 - rate) ** (len(records) - size)
        for chosen in combinations(range(len(records)), size):
            law = base(tuple(records[n] for n in chosen))
            more = [chance * mass for mass in law]
            total = more if total is None else [a + b for a, b in zip(total, more, strict=True)]
    assert total is not None
    return tuple(total)


def delta(p: Output, q: Output, uses: int, growth: Fraction) -> Fraction:
    """The hockey stick of so many uses, outcomes of one ratio taken together."""
    ratios: dict[tuple[Fraction, Fraction], int] = {}
    for a, b in zip(p, q, strict=True):
        if a or b:
            ratios[a, b] = ratios.get((a, b), 0) + 1
    total = Fraction(0)
    for chosen in product(ratios.items(), repeat=uses):
        one = other = Fraction(1)
        for (a, b), often in chosen:
            one, other = one * a * often, other * b  # as often in both: the second is weighted below
        ways = Fraction(1)
        for _, often in chosen:
            ways *= often
        total += max(one - growth * other * ways, Fraction(0))
    return total


@cache
def neighbours(base: Base, values: tuple[int, ...], rate: Fraction) -> list[tuple[Output, Output]]:
    """All data sets of one to four records, each with every one that lacks one of them."""
    found = []
    for size in range(1, 5):
        for records in combinations_with_replacement(values, size):
            whole = sampled(base, records, rate)
            found += [(whole, sampled(base, records[:n] + records[n + 1 :], rate)) for n in range(size)]
    return list(dict.fromkeys(found))


CASES = [
    (DiscreteLaplace(epsilon=Log(2)), geometric, (0, 1), True),
    (PureDP(epsilon=Log(2)), geometric, (0, 1), False),
    (RandomizedResponse(epsilon=Log(2), k=3), reports(response), (1, 2), True),
    (Channel(ROWS[:2]), reports(lambda value: ROWS[value]), (1,), False),
]


@pytest.mark.parametrize(("mechanism", "base", "values", "exact"), CASES, ids=["noise", "pure", "response", "channel"])
@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(4, 5)], ids=str)
@pytest.mark.parametrize("uses", [1, 2, 3])
def test_never_below_true_neighbours(
    mechanism: Mechanism, base: Base, values: tuple[int, ...], exact: bool, rate: Fraction, uses: int
) -> None:
    if base is geometric and uses == 3:
        pytest.skip("too many outcomes")
    plan = uses * Subsampled(mechanism, rate=rate)
    for growth in (Fraction(1), Fraction(21, 20), Fraction(13, 10)):
        promised = plan.delta_at(epsilon=log(growth))
        truths = [
            delta(*direction, uses, growth)
            for pair in neighbours(base, values, rate)
            for direction in (pair, pair[::-1])
        ]
        worst = max(truths)
        assert promised >= float(worst) * (1 - 1e-13)  # the logarithm is rounded
        if exact:
            assert promised <= float(worst) * (1 + 1e-9) + 1e-15


def test_the_other_order_counts() -> None:
    """Ten uses at rate 4/5: the promise is above the truth of either order, and near the larger one."""
    p, q = (Fraction(2, 3), Fraction(1, 3)), (Fraction(1, 3), Fraction(2, 3))
    mixed = tuple(Fraction(4, 5) * a + Fraction(1, 5) * b for a, b in zip(p, q, strict=True))
    plan = 6 * Subsampled(PureDP(epsilon=Log(2)), rate="4/5")
    growth = Fraction(9)
    truths = [delta(mixed, q, 6, growth), delta(q, mixed, 6, growth)]
    assert max(truths) <= plan.delta_at(epsilon=log(9)) * (1 + 1e-12)
    assert plan.delta_at(epsilon=log(9)) <= float(max(truths)) * (1 + 1e-9)


def test_the_lower_end_of_rho_is_of_true_neighbours() -> None:
    """Rows that are not mirror images: their envelope costs more than they do, in either order."""
    p, q, rate = Fraction(52, 100), Fraction(5, 100), Fraction(1, 10)
    sampled = Subsampled(BinaryRandomizedResponse(p, q), rate=rate)
    largest = 0.0
    for one, other in ((p, q), (q, p)):  # the report of the record, and of the fixed value
        mixed = rate * one + (1 - rate) * other
        rows = [(float(mixed), float(other)), (float(1 - mixed), float(1 - other))]
        for first, second in (rows, [(b, a) for a, b in rows]):
            orders = [1 + 10 ** (n / 100) for n in range(-400, 200)]
            sums = ((alpha, log(sum(a**alpha * b ** (1 - alpha) for a, b in (first, second)))) for alpha in orders)
            largest = max(largest, *(moment / (alpha * (alpha - 1)) for alpha, moment in sums))
    lower, upper = sampled.rho_bounds
    assert not sampled.is_tight
    assert lower <= largest * (1 + 1e-4)
    assert largest <= upper
