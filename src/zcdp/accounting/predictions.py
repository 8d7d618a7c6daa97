"""The accuracy of a plan's tables before any data is read, for a guessed number of persons in a cell.

The guess is public text of the plan (`expect`), or 100, 1000 and 10,000: nothing is looked up in data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, sqrt
from statistics import NormalDist
from typing import Any

from zcdp.accounting.quotient_accuracy import HALF_LEVEL, mean_quotients, ratio_quotients, square_quotients
from zcdp.accounting.rank_accuracy import rank_errors, selected_rank_errors
from zcdp.plans.plan_file import Entry, PlanFile
from zcdp.tables.cumulated_counts import group_sizes
from zcdp.tables.table_query import Statistic, TableQuery

__all__ = ["Prediction", "predictions"]

GUESSES = (100, 1000, 10_000)
"""Numbers of persons of a cell that accuracies are told for, where the plan does not say what to expect."""
LEVEL = Fraction(19, 20)


@dataclass(frozen=True)
class Prediction:
    """What figures of a table are off by if a cell has so many persons; for quantiles of rows, so many rows."""

    what: str
    """mean, ratio or variance, in the unit of the values; rank, as a part of all persons; or count, of a top list."""
    persons: int | None
    """The guess; None if the accuracy does not depend on it."""
    half_width: float
    """Half of the interval at 95%, for the worst data: at an end of the clip, or at the worst edge of the bins."""
    typical: float | None = None
    """The same for means in the middle between the centre and an end of the clip, or values in the middle of it."""
    note: str | None = None
    """Advice, where another query would tell more for the same rho."""


def predictions(plan: PlanFile) -> dict[str, tuple[Prediction, ...]]:
    """The predictions for each query of tables, by its name; for counts and sums `Accuracy` says it all."""
    if plan.tables is None or any(entry.plan is None for entry in plan.entries):
        return {}
    mine: dict[str, list[Entry]] = {}
    entries = iter(plan.query_entries)
    for query in plan.tables.queries:
        fields = {one.field for one in query.statistics(plan.tables.neighbours)}
        mine[query.name] = [next(entries) for _ in fields]
    found = {}
    for query in plan.tables.queries:
        make = MAKERS.get(query.measure)
        statistics = query.statistics(plan.tables.neighbours)
        if query.histogram:
            laws = [_law(one) for one in mine[query.histogram]]
            found[query.name] = tuple(_ranks(query, laws, statistics))
        elif make is not None:
            found[query.name] = tuple(make(query, [_law(one) for one in mine[query.name]], statistics))
    return found


def _law(entry: Entry) -> Any:
    assert entry.plan is not None
    return entry.plan.parts[0][0]


def _guesses(query: TableQuery) -> Sequence[int]:
    return (query.expect,) if query.expect else GUESSES


def _means(query: TableQuery, laws: Sequence[Any], _: Sequence[Statistic]) -> Iterator[Prediction]:
    assert query.amount is not None
    one, quotients = query.amount, mean_quotients(query.amount, *laws)
    for n in _guesses(query):
        halves = (quotients.half_width(Fraction(one.farthest, part)) / n for part in (1, 2))
        # no interval is longer than the clip; where persons are within their noise it is all of that
        worst, typical = (
            float(min(half, Fraction(one.farthest)) * one.grid)
            if quotients.tells(n)
            else float(one.farthest * one.grid)
            for half in halves
        )
        yield Prediction("mean", n, worst, typical)


def _ratios(query: TableQuery, laws: Sequence[Any], _: Sequence[Statistic]) -> Iterator[Prediction]:
    """For persons whose two amounts are both in the middle of their clips."""
    assert query.amount is not None
    assert query.over is not None
    quotients, below = ratio_quotients(query, *laws), query.over
    if not below.middle:
        return
    ratio, grid = Fraction(query.amount.middle, below.middle), query.amount.grid / below.grid
    for n in _guesses(query):
        if quotients.tells(n * below.middle):
            half = float(quotients.half_width(ratio) * grid / (n * abs(below.middle)))
            yield Prediction("ratio", n, half, half)


def _variances(query: TableQuery, laws: Sequence[Any], _: Sequence[Statistic]) -> Iterator[Prediction]:
    """For values that are spread evenly over the clip."""
    assert query.amount is not None
    one, (total, squares, count) = query.amount, laws
    first = mean_quotients(one, total, count, level=HALF_LEVEL)
    second = square_quotients(one, squares, count)
    away = Fraction(one.farthest) ** 2
    for n in _guesses(query):
        half = second.half_width(away / 2 - away / 3) / n + (first.half_width(Fraction(0)) / n) ** 2 / 2
        told = float(min(half, away / 2) if first.tells(n) else away / 2) * float(one.grid) ** 2
        yield Prediction("variance", n, told, told)


def _ranks(query: TableQuery, laws: Sequence[Any], statistics: Sequence[Statistic]) -> Iterator[Prediction]:
    assert query.of is not None
    if query.method == "select":
        distances = [one.distance for one in statistics]
        worst = max(selected_rank_errors(laws[0], distances, query.quantiles, query.of.size))
    else:
        sizes = (query.of.size,) if query.histogram else group_sizes(query.of.size)
        worst = max(rank_errors(sizes, laws[0]).widest(q)[1] for q in query.quantiles)
    many = query.method == "select" and len(query.quantiles) > 2
    note = "noise such as DiscreteGaussian, method = cumulated, finds three quantiles and more better" if many else None
    for n in _guesses(query):
        yield Prediction("rank", n, min(worst / n, 1.0), note=note)


def _tops(query: TableQuery, laws: Sequence[Any], statistics: Sequence[Statistic]) -> Iterator[Prediction]:
    assert query.of is not None
    keys, distance = query.of.size, statistics[0].distance
    level = 1 - (1 - LEVEL) / query.k
    reach = float(laws[0].falls_behind(keys, sensitivity=distance, level=level))
    note = None
    if keys > 1:
        # all counts with noise for the same rho, one cell a person: by how much a key that seems larger may be smaller
        rho = float(laws[0].rho) * query.k
        apart = float(distance) * sqrt(1 / rho) * NormalDist().inv_cdf(1 - 0.05 / (keys - 1))
        cells = floor((reach / apart) ** 2)
        if cells >= 1:
            note = (
                f"for the same rho all counts (measure count by {query.of.name}, max_cells up to {cells}) tell the "
                f"largest about as well or better: within {apart:.3g} for max_cells = 1"
            )
    yield Prediction("count", None, reach, note=note)


MAKERS: dict[str, Callable[[TableQuery, Sequence[Any], Sequence[Statistic]], Iterator[Prediction]]] = {
    "mean": _means,
    "ratio": _ratios,
    "variance": _variances,
    "quantiles": _ranks,
    "top": _tops,
}
