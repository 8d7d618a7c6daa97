"""Published quantiles: bins selected by rank, or read off cumulated counts with intervals; and those of a histogram."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate
from math import inf
from typing import Any

from zcdp.accounting.rank_accuracy import RankErrors, rank_errors, selected_rank_errors
from zcdp.plans.plan_file import Entry
from zcdp.release import table_noise
from zcdp.release.bounding import Exact
from zcdp.release.table_noise import LEVEL, Table, keys_of, mechanism_of
from zcdp.tables.cumulated_counts import CumulatedCounts, crossing, group_sizes
from zcdp.tables.domain import Bins, plain
from zcdp.tables.table_query import Statistic, TableQuery

__all__ = ["from_histogram", "quantile_table", "rank_scores"]

Bin = tuple[Any, ...]
"""What is published of one quantile of one cell, column by column."""


def quantile_table(query: TableQuery, entries: Sequence[Entry], exact: Exact, statistics: Sequence[Statistic]) -> Table:
    """The table of quantiles, by the method of the query."""
    return (_selected if query.method == "select" else _cumulated)(query, entries[0], exact, statistics)


def _selected(query: TableQuery, entry: Entry, exact: Exact, statistics: Sequence[Statistic]) -> Table:
    """For each cell and quantile the bin that the exponential mechanism selects by rank score, in rising order."""
    bins, mechanism = _bins(query), mechanism_of(entry)
    levels = sorted(zip(query.quantiles, (one.distance for one in statistics), strict=True))
    quantiles, distances = tuple(q for q, _ in levels), [distance for _, distance in levels]
    errors = selected_rank_errors(mechanism, distances, quantiles, bins.size)

    def made(counts: Sequence[int]) -> Iterator[Bin]:
        places = [
            mechanism.release(rank_scores(counts, q), sensitivity=distance)
            for q, distance in zip(quantiles, distances, strict=True)
        ]
        for q, place, error in zip(quantiles, sorted(places), sorted_errors(places, errors), strict=True):
            yield (float(q), *_edges(bins, place), error)

    together = "" if len(quantiles) == 1 else ", for all quantiles of a cell at once"
    about = (
        f"the bin of each quantile; at {float(LEVEL):.0%}{together}, the rank of the quantile is at most rank_error "
        "from those of the bin, which go from the number of those below it to that of those not above it"
    )
    return _table(query, about, ("rank_error",), [exact.counts], lambda parts: made(parts[0]))


def sorted_errors(places: Sequence[int], errors: Sequence[float]) -> list[float]:
    """The errors of ranks after bins were sorted: where some changed their places, the largest error of these.

    Theorem: docs/theorems/table-sensitivity.md.

    >>> sorted_errors([3, 7, 5], [1.0, 2.0, 4.0])
    [1.0, 4.0, 4.0]
    """
    made: list[float] = []
    start = 0
    for n, highest in enumerate(accumulate(places, max)):
        if highest <= min(places[n + 1 :], default=highest):  # nothing from here on goes before
            made += [max(errors[start : n + 1])] * (n + 1 - start)
            start = n + 1
    return made


def _cumulated(query: TableQuery, entry: Entry, exact: Exact, _: Sequence[Statistic]) -> Table:
    """For each cell and quantile the bin in which the noisy ranks cross it, and an interval of bins."""
    bins = _bins(query)
    counts = CumulatedCounts(group_sizes(bins.size))
    cells = [counts.exact(exact.counts[n * bins.size : (n + 1) * bins.size]) for n in range(query.cells)]
    # one table for each level, the coarsest first, so that each count has noise of its own
    noisy = [
        table_noise.drawn(entry, [one for cell in cells for one in cell[level]]) for level in range(len(counts.sizes))
    ]
    errors = rank_errors(counts.sizes, mechanism_of(entry))
    *groups, each = counts.sizes
    larger = f", and of {', '.join(map(str, groups))} groups of them" if groups else ""
    about = f"{ABOUT}; from noisy counts of {each} bins{larger}"
    return _table(query, about, ENDS, noisy, lambda parts: _read_off(query, bins, errors, parts))


ENDS = ("lower", "upper")
ABOUT = (
    f"the bin of each quantile, and an interval from lower to upper that holds it at {float(LEVEL):.0%}: without an "
    "end (inf) where a clip puts what lies outside into the last bin; no bin where the interval is everything, and so "
    "nothing is known"
)


def from_histogram(query: TableQuery, table: Table, histogram: Entry) -> Table:
    """The quantiles of a histogram that was published with noise: of its figures alone, so that they cost nothing."""
    bins = _bins(query)
    errors = rank_errors((bins.size,), mechanism_of(histogram))
    about = f"{ABOUT}; read off the published table {table.name!r}, at no cost"
    return _table(query, about, ENDS, [table.columns["value"]], lambda parts: _read_off(query, bins, errors, parts))


def _read_off(query: TableQuery, bins: Bins, errors: RankErrors, noisy: Sequence[Sequence[int]]) -> Iterator[Bin]:
    """The bin and the interval of each quantile of a cell, from the noisy counts of each level."""
    quantiles = sorted(query.quantiles)
    found = [errors.counts.ranks(noisy, q) for q in quantiles]
    # of a noisy total below 0 the crossings fall where they should rise
    places = sorted(crossing(ranks) for ranks, _ in found)
    for q, (ranks, below), place in zip(quantiles, found, places, strict=True):
        first, last = errors.span(q, ranks, below)
        first, last = min(first, place), max(last, place)
        lower = -inf if bins.clip and first == 0 else _edges(bins, first)[0]
        upper = inf if bins.clip and last == bins.size - 1 else _edges(bins, last)[1]
        is_known = first > 0 or last < bins.size - 1 or bins.size == 1
        yield (float(q), *(_edges(bins, place) if is_known else (None, None)), lower, upper)


def _bins(query: TableQuery) -> Bins:
    assert isinstance(query.of, Bins)
    return query.of


def _edges(bins: Bins, place: int) -> tuple[int | float, int | float]:
    """The ends of a bin."""
    start = bins.start + place * bins.step
    return plain(start), plain(start + bins.step)


def _table(query: TableQuery, about: str, more: Sequence[str], parts: Sequence[Sequence[int]], made: Any) -> Table:
    """The table with a row for each cell and quantile; `made` makes them from a cell's share of each of `parts`."""
    keys = keys_of(query)
    columns: dict[str, list[Any]] = {name: [] for name in (*keys, "quantile", "from", "to", *more)}
    for cell in range(query.cells):
        for row in made(_shares_of(cell, query.cells, parts)):
            for name, value in zip(columns, (*(values[cell] for values in keys.values()), *row), strict=True):
                columns[name].append(value)
    return Table(query.name, about, columns)


def _shares_of(cell: int, cells: int, parts: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    """What belongs to a cell of each of the lists, in which all cells have equally many numbers."""
    return [part[cell * len(part) // cells : (cell + 1) * len(part) // cells] for part in parts]


def rank_scores(counts: Sequence[int], q: Fraction) -> list[int]:
    """The score of each bin for the quantile q = a/c: -c times the distance of its rank from the ranks of the bin.

    A bin has the ranks from `below` to `below + count`, so that the bin that holds the quantile has score 0, however
    many other rows it holds. Theorem: docs/theorems/table-sensitivity.md.

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
