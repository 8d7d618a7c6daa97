"""Noise, drawn once: exact tables become published ones, by the samplers of the very mechanisms that are accounted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import product
from math import inf, sqrt
from typing import Any

from zcdp.accounting.entry import Entry
from zcdp.mechanisms.top_k import select_top
from zcdp.release.accuracy import LEVEL, deviation, half_width, reach_of_selection
from zcdp.release.exact import Exact
from zcdp.release.table import Table
from zcdp.tables.domain import Bins, plain
from zcdp.tables.query import Statistic, TableQuery

__all__ = ["drawn", "in_values", "keys_of", "plain_error", "published"]

WIDE = 2.0**100
BOTH = (1 + LEVEL) / 2
"""The level of each of two intervals that hold together at LEVEL."""


def published(query: TableQuery, entries: Sequence[Entry], exact: Exact, statistics: Sequence[Statistic]) -> Table:
    """The table that may leave."""
    if query.measure == "mean":
        return _mean(query, entries, exact)
    make: Callable[..., Table] = {"quantiles": _quantiles, "top": _top}.get(query.measure, _noisy)
    return make(query, entries, exact, statistics)


def drawn(entry: Entry, values: list[int]) -> list[int]:
    """Each value with noise of its own, as Python integers, which do not overflow."""
    mechanism: Any = entry.plan.parts[0][0] if entry.plan else None
    if float(mechanism.variance) > WIDE:  # decided by the plan alone: such draws need not fit 64 bits
        return [mechanism.release(value) for value in values]
    return [value + noise for value, noise in zip(values, mechanism.sample(len(values)).tolist(), strict=True)]


def keys_of(query: TableQuery) -> dict[str, list[Any]]:
    """The keys of all cells, in the order of the domains, the last running fastest."""
    places = list(product(*(range(domain.size) for domain in query.by)))
    return {
        name: [values[place[n]] for place in places]
        for n, domain in enumerate(query.by)
        for name, values in domain.columns().items()
    }


def _noisy(query: TableQuery, entries: Sequence[Entry], exact: Exact, statistics: Sequence[Statistic]) -> Table:
    entry, grid = entries[0], statistics[0].grid
    values = drawn(entry, exact.amounts if query.measure == "sum" else exact.counts)
    spread, half = plain_error(deviation(entry), grid), half_width(entry)
    least: Any = 0 if query.non_negative else -inf
    columns = keys_of(query) | {
        "value": in_values((max(value, least) for value in values), grid),
        "sd": [spread] * len(values),
        "lower": in_values((max(value - half, least) for value in values), grid),
        "upper": in_values((max(value + half, least) for value in values), grid),
    }
    about = f"noise of standard deviation {spread:.6g} on each value; each interval holds at {float(LEVEL):.0%}"
    if query.non_negative:  # the truth is at least 0, so that an interval without what is below loses nothing
        about += "; values and intervals are cut at 0, so that sums of small cells are too large on average"
    return Table(query.name, about, columns)


def in_values(steps: Iterable[int], grid: Fraction) -> list[int | float]:
    """Grid steps in the unit of the values.

    >>> in_values([3, -1], Fraction(1, 2))
    [1.5, -0.5]
    """
    if grid.denominator == 1:
        return [step * grid.numerator for step in steps]
    return [plain(step * grid) for step in steps]


def plain_error(steps: float, grid: Fraction) -> float:
    """A standard deviation in the unit of the values, to six digits.

    >>> plain_error(90000.00000000001, Fraction(10))
    900000.0
    """
    return float(f"{steps * float(grid):.6g}")


def _mean(query: TableQuery, entries: Sequence[Entry], exact: Exact) -> Table:
    """The middle of the clip, plus noisy sum of what is above it over noisy count; within the clip."""
    assert query.amount is not None
    total, count = entries
    one = query.amount
    sums, counts = drawn(total, exact.amounts), drawn(count, exact.counts)
    reach, off = half_width(total, BOTH), half_width(count, BOTH)
    spreads = deviation(total), deviation(count)
    ends = Fraction(one.low - one.middle), Fraction(one.high - one.middle)
    columns = {**keys_of(query), "value": [], "sd": [], "lower": [], "upper": [], "persons": counts}
    for above, persons in zip(sums, counts, strict=True):
        value = min(max(Fraction(above, max(persons, 1)), ends[0]), ends[1])
        low, high = ends
        if persons > off:
            low = max(low, min(Fraction(above - reach, n) for n in (persons - off, persons + off)))
            high = min(high, max(Fraction(above + reach, n) for n in (persons - off, persons + off)))
            low, high = min(low, ends[1]), max(high, ends[0])
        error = sqrt(spreads[0] ** 2 + float(value) ** 2 * spreads[1] ** 2) / max(persons, 1)
        for name, steps in (("value", value), ("lower", low), ("upper", high)):
            columns[name].append(float((steps + one.middle) * one.grid))
        columns["sd"].append(plain_error(error, one.grid))
    about = (
        f"each interval holds at {float(LEVEL):.0%}, for the mean over persons of what each has in the cell; sd is of "
        f"first order; noise of standard deviation {spreads[1]:.6g} on persons"
    )
    return Table(query.name, about, columns)


def _quantiles(query: TableQuery, entries: Sequence[Entry], exact: Exact, statistics: Sequence[Statistic]) -> Table:
    """For each cell and quantile the bin that the exponential mechanism selects by rank."""
    assert isinstance(query.of, Bins)
    mechanism: Any = entries[0].plan.parts[0][0] if entries[0].plan else None
    bins, keys = query.of.size, keys_of(query)
    columns: dict[str, list[Any]] = {name: [] for name in (*keys, "quantile", "from", "to", "rank_error")}
    edges = query.of.columns()
    for cell in range(query.cells):
        counts = exact.counts[cell * bins : (cell + 1) * bins]
        for q, statistic in zip(query.quantiles, statistics, strict=True):
            place = mechanism.release(rank_scores(counts, q), sensitivity=statistic.distance)
            for name, values in keys.items():
                columns[name].append(values[cell])
            columns["quantile"].append(float(q))
            columns["from"].append(edges[f"{query.of.name}_from"][place])
            columns["to"].append(edges[f"{query.of.name}_to"][place])
            reach = reach_of_selection(entries[0], statistic.distance, bins)
            columns["rank_error"].append(reach / q.denominator)
    about = (
        f"the bin of each quantile; at {float(LEVEL):.0%} each the rank of the quantile is at most rank_error from "
        "those of the bin, which go from the number of those below it to that of those not above it"
    )
    return Table(query.name, about, columns)


def rank_scores(counts: Sequence[int], q: Fraction) -> list[int]:
    """How far q of the rows, a rank, is from the ranks of each bin: -c times that distance, for q = a/c.

    A bin has the ranks from `below` to `below + count`, so that one that holds the quantile has 0, however many rows it
    holds beside. Theorem: docs/theorems/table-sensitivity.md.

    >>> rank_scores([1, 1, 1], Fraction(1, 2))
    [-1, 0, -1]
    >>> rank_scores([9, 0, 1], Fraction(1, 2))
    [0, -8, -8]
    """
    a, c, total = q.numerator, q.denominator, sum(counts)
    scores, below = [], 0
    for count in counts:
        scores.append(-max(0, c * below - a * total, a * total - c * (below + count)))
        below += count
    return scores


def _top(query: TableQuery, entries: Sequence[Entry], exact: Exact, statistics: Sequence[Statistic]) -> Table:
    """One selection after another, each among those that are left."""
    assert query.of is not None
    mechanism: Any = entries[0].plan.parts[0][0] if entries[0].plan else None
    distance = statistics[0].distance
    chosen = select_top(mechanism, query.k, exact.counts, sensitivity=distance)
    reach = reach_of_selection(entries[0], distance, query.of.size, selections=query.k)
    names = {name: [values[n] for n in chosen] for name, values in query.of.columns().items()}
    columns = {"rank": list(range(1, query.k + 1)), **names, "count_error": [reach] * query.k}
    about = (
        f"selected one after another; at {float(LEVEL):.0%} none of them falls behind the best that is left by more "
        "than count_error"
    )
    return Table(query.name, about, columns)
