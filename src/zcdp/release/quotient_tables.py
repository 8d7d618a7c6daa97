"""Published quotients: means, with the sum and the persons they are of, ratios of two sums, and variances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import inf, sqrt
from typing import Any

from zcdp.accounting.quotient_accuracy import (
    HALF_LEVEL,
    mean_quotients,
    ratio_quotients,
    square_quotients,
    sum_accuracy,
)
from zcdp.mechanisms.noise.quotients import End, Quotients, magnitude
from zcdp.plans.plan_file import Entry
from zcdp.release import table_noise
from zcdp.release.bounding import Exact
from zcdp.release.table_noise import LEVEL, Table, deviation, half_width, in_values, keys_of, mechanism_of, plain_error
from zcdp.tables.clipped_sums import Amount
from zcdp.tables.table_query import Statistic, TableQuery
from zcdp.text.numbers import grouped

__all__ = ["mean_table", "ratio_table", "variance_table"]

SILENT = (
    "where persons is within its noise nothing is known of it: value and sd are left out, and the interval is all of "
    "the clip"
)


def _noisy(entries: Sequence[Entry], *exact: list[int]) -> list[list[int]]:
    """Each of the exact columns with the noise of its entry."""
    return [table_noise.drawn(entry, values) for entry, values in zip(entries, exact, strict=True)]


def mean_table(query: TableQuery, entries: Sequence[Entry], exact: Exact, _: Sequence[Statistic]) -> Table:
    """Means: the middle of the clip plus noisy sum of distances from it over noisy count, brought into the clip.

    The sum of the values themselves is that sum and the middle times the count.
    """
    assert query.amount is not None
    one, columns = query.amount, keys_of(query)
    sums, counts = _noisy(entries, exact.amounts, exact.counts)
    if "sum" in query.publish:
        columns |= _whole_sums(one, entries, sums, counts)
    quotients = mean_quotients(one, *map(mechanism_of, entries))
    columns |= _spelled(_means(one, quotients, sums, counts))
    about = f"each interval holds at {float(LEVEL):.0%}, for the mean over persons of what each has in the cell"
    if "persons" in query.publish:
        columns |= {"persons": counts}
        about += f"; sd is of first order; noise of standard deviation {grouped(deviation(entries[1]))} on persons"
        if "sum" in query.publish:
            half = half_width(entries[1])
            columns["persons_lower"] = [count - half for count in counts]
            columns["persons_upper"] = [count + half for count in counts]
    return Table(query.name, f"{about}; {SILENT}", columns)


def _whole_sums(one: Amount, entries: Sequence[Entry], sums: list[int], counts: list[int]) -> dict[str, list[Any]]:
    """The columns of the sum, which is made of the same noisy numbers as the mean."""
    accuracy = sum_accuracy(one, *map(mechanism_of, entries))
    half = int(accuracy.half_width)
    values = [above + one.middle * persons for above, persons in zip(sums, counts, strict=True)]
    return {
        "sum": in_values(values, one.grid),
        "sum_sd": [plain_error(accuracy.standard_deviation, one.grid)] * len(values),
        "sum_lower": in_values((value - half for value in values), one.grid),
        "sum_upper": in_values((value + half for value in values), one.grid),
    }


Figure = tuple[float | None, float | None, float, float]
"""Value, standard deviation, and the ends of the interval; no value where the interval is all that is possible."""


def _spelled(figures: Iterator[Figure]) -> dict[str, list[Any]]:
    """The columns of the figures."""
    return {name: list(column) for name, column in zip(COLUMNS, zip(*figures, strict=True), strict=True)}


COLUMNS = ("value", "sd", "lower", "upper")


def _means(one: Amount, quotients: Quotients, sums: list[int], counts: list[int]) -> Iterator[Figure]:
    """The figures of means, in the unit of the values."""
    ends = Fraction(one.low - one.middle), Fraction(one.high - one.middle)
    for above, persons in zip(sums, counts, strict=True):
        value = min(max(Fraction(above, max(persons, 1)), ends[0]), ends[1])
        # of less than nobody there is no mean, and what seems so is noise
        low, high = quotients.ends(above, persons, *ends) if persons > 0 else ends
        error = quotients.deviation(float(value)) / max(persons, 1)
        found = (float((steps + one.middle) * one.grid) for steps in (value, low, high))
        centre, lower, upper = found
        yield (*_known((low, high) != ends, centre, plain_error(error, one.grid)), lower, upper)


def _known(known: bool, value: float, error: float) -> tuple[float | None, float | None]:
    """Value and error, or neither: a number that is noise alone would be taken for a figure."""
    return (value, error) if known else (None, None)


def ratio_table(query: TableQuery, entries: Sequence[Entry], exact: Exact, _: Sequence[Statistic]) -> Table:
    """Ratios of two sums, each with noise; without an end where the second may be 0."""
    assert query.amount is not None
    assert query.over is not None
    above, below = _noisy(entries, exact.amounts, exact.others)
    quotients = ratio_quotients(query, *map(mechanism_of, entries))
    grid = query.amount.grid / query.over.grid

    def made() -> Iterator[Figure]:
        for a, b in zip(above, below, strict=True):
            value = Fraction(a, b) if b else Fraction(0)
            error = quotients.deviation(float(value)) / max(abs(b), 1)
            low, high = quotients.ends(a, b)
            known = _known((low, high) != (-inf, inf), float(value * grid), plain_error(error, grid))
            yield (*known, _end(low, grid), _end(high, grid))

    columns = keys_of(query) | _spelled(made())
    columns["over"] = in_values(below, query.over.grid)
    spread = plain_error(deviation(entries[1]), query.over.grid)
    about = (
        f"each interval holds at {float(LEVEL):.0%}, for the ratio of the two sums; sd is of first order; noise of "
        f"standard deviation {grouped(spread)} on over, the sum below the line; where that is within its noise nothing "
        "is known of the ratio: value and sd are left out, and the interval has no ends"
    )
    return Table(query.name, about, columns)


def _end(end: End, grid: Fraction) -> float:
    return float(end * grid) if isinstance(end, Fraction) else end


def variance_table(query: TableQuery, entries: Sequence[Entry], exact: Exact, _: Sequence[Statistic]) -> Table:
    """Variances over persons: the mean square of the distance from the middle of the clip less the square of its mean.

    The interval follows from those of both means, each at 97.5%.
    """
    assert query.amount is not None
    one = query.amount
    sums, squares, counts = _noisy(entries, exact.amounts, exact.others, exact.counts)
    first, second = (
        mean_quotients(one, *(mechanism_of(entries[n]) for n in (0, 2)), level=HALF_LEVEL),
        square_quotients(one, *(mechanism_of(entries[n]) for n in (1, 2))),
    )
    square, middle = one.grid**2, query.middles[1]
    most = Fraction(one.high - one.low) ** 2 / 4  # of numbers between two ends, half at either
    whole = Fraction(one.low - one.middle), Fraction(one.high - one.middle)
    all_squares = Fraction(-middle), Fraction(one.farthest**2 - middle)

    def made() -> Iterator[Figure]:
        for a, b, persons in zip(sums, squares, counts, strict=True):
            n = max(persons, 1)
            mean = min(max(Fraction(a, n), whole[0]), whole[1])
            value = min(max(Fraction(b, n) + middle - mean**2, Fraction(0)), most)
            low, high = Fraction(0), most
            if persons > 0 and first.tells(persons):
                about, around = first.ends(a, persons, *whole), second.ends(b, persons, *all_squares)
                far = max(map(magnitude, about)) ** 2
                near = 0 if about[0] <= 0 <= about[1] else min(map(magnitude, about)) ** 2
                low = min(max(Fraction(around[0] + middle - far), low), most)
                high = max(min(Fraction(around[1] + middle - near), high), Fraction(0))
                low, high = min(low, value), max(high, value)
            # in first order the value moves with the sum, the squares and the count by these slopes over n
            slopes = -2 * float(mean), 1.0, float(2 * mean**2 - Fraction(b, n))
            error = sqrt(sum((s * deviation(e)) ** 2 for s, e in zip(slopes, entries, strict=True))) / n
            known = _known((low, high) != (Fraction(0), most), float(value * square), plain_error(error, square))
            yield (*known, float(low * square), float(high * square))

    columns = keys_of(query) | _spelled(made()) | {"persons": counts}
    about = (
        f"each interval holds at {float(LEVEL):.0%}, for the variance over persons of what each has in the cell; sd is "
        f"of first order; noise of standard deviation {grouped(deviation(entries[2]))} on persons; {SILENT}"
    )
    return Table(query.name, about.replace("all of the clip", "all that the clip allows"), columns)
