"""From exact to published tables, measure by measure; and the keys of largest counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from zcdp.mechanisms.selection.top_k import select_top
from zcdp.plans.plan_file import Entry
from zcdp.release import table_noise
from zcdp.release.bounding import Exact
from zcdp.release.quantile_tables import quantile_table
from zcdp.release.quotient_tables import mean_table, ratio_table, variance_table
from zcdp.release.table_noise import LEVEL, Table, deviation, half_width, mechanism_of, noisy_table, plain_error
from zcdp.tables.table_query import Statistic, TableQuery

__all__ = ["published"]


def published(query: TableQuery, entries: Sequence[Entry], exact: Exact, statistics: Sequence[Statistic]) -> Table:
    """The published table: noisy values with their errors, from the exact table."""
    return MAKERS.get(query.measure, noisy_table)(query, entries, exact, statistics)


def top_table(query: TableQuery, entries: Sequence[Entry], exact: Exact, statistics: Sequence[Statistic]) -> Table:
    """The k keys of about largest counts, selected one after another from the remaining ones; with their counts."""
    assert query.of is not None
    mechanism, distance = mechanism_of(entries[0]), statistics[0].distance
    chosen = select_top(mechanism, query.k, exact.counts, sensitivity=distance)
    reach = selection_reach(mechanism, query, distance)
    names = {name: [values[n] for n in chosen] for name, values in query.of.columns().items()}
    columns = {"rank": list(range(1, query.k + 1)), **names, "count_error": [reach] * query.k}
    about = (
        f"selected one after another; at {float(LEVEL):.0%} none of them falls behind the best that is left by more "
        "than count_error"
    )
    if query.counted:  # drawn after the keys were selected, so that the noise does not depend on which they are
        counts, half = table_noise.drawn(entries[1], [exact.counts[n] for n in chosen]), half_width(entries[1])
        spread = plain_error(deviation(entries[1]), statistics[1].grid)
        columns |= {"value": counts, "sd": [spread] * query.k}
        columns |= {"lower": [one - half for one in counts], "upper": [one + half for one in counts]}
        about += f"; value is the count of each, with noise of its own, and its interval holds at {float(LEVEL):.0%}"
    return Table(query.name, about, columns)


def selection_reach(mechanism: Any, query: TableQuery, distance: Any) -> float:
    """How far a selected key falls behind the best that is left at most; at LEVEL for all selections at once."""
    assert query.of is not None
    level = 1 - (1 - LEVEL) / query.k
    return float(mechanism.falls_behind(query.of.size, sensitivity=distance, level=level))


MAKERS: dict[str, Callable[[TableQuery, Sequence[Entry], Exact, Sequence[Statistic]], Table]] = {
    "mean": mean_table,
    "ratio": ratio_table,
    "variance": variance_table,
    "quantiles": quantile_table,
    "top": top_table,
}
