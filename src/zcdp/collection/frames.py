"""Counting reports in the data frame that one has: pandas, Polars, PyArrow, DuckDB, PySpark, through narwhals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from zcdp.errors import BadType, BadValue, MissingExtra
from zcdp.numeric.exact import Value

if TYPE_CHECKING:
    from zcdp.estimation.counts import Counts

__all__ = ["count_frame"]


def count_frame(mechanism: Any, frame: Any, column: str, *, k: Value | None = None) -> Counts:
    """The counts of a column of reports that are whole numbers: the engine groups them, and we decode the tally.

    A lazy frame must hold reports that have been written: one that draws them would draw anew at each action.
    """
    try:
        import narwhals as nw
    except ModuleNotFoundError:
        raise MissingExtra("data frames need narwhals", extra="collection", name="narwhals") from None
    if not hasattr(mechanism, "tally"):
        raise BadValue(f"reports of {mechanism!r} are rows, not whole numbers: count them as an array")
    lazy = nw.from_native(frame).lazy()
    found = lazy.group_by(column).agg(nw.len().alias("zcdp_times")).collect()
    reports, often = (found.get_column(name) for name in (column, "zcdp_times"))
    if reports.is_null().any():
        raise BadValue(f"column {column} has missing reports")
    if not reports.dtype.is_integer():
        raise BadType(f"column {column} must hold integers, not {reports.dtype}")
    places, times = np.asarray(reports.to_list(), dtype=np.int64), np.asarray(often.to_list(), dtype=np.int64)
    size = mechanism._outputs(mechanism._values(k))
    if places.size and (int(places.min()) < 0 or int(places.max()) >= size):
        raise BadValue(f"reports must lie in 0 .. {size - 1}: these are of another design")
    tally = np.zeros(size, dtype=np.int64)
    tally[places] = times
    counts: Counts = mechanism.tally(tally, k=k)
    return counts
