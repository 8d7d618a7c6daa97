"""Counting reports with a data frame engine: Parquet files by DuckDB, and frames of any engine through narwhals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zcdp.collection.parquet import LABEL, Label, arrow, each_once, in_file, package, unpacked
from zcdp.errors import BadType, BadValue, MissingExtra
from zcdp.estimation.linear_hash_decoding import SMALL_TABLE
from zcdp.numeric.exact import Value
from zcdp.text.sql import just

if TYPE_CHECKING:
    from zcdp.estimation.frequency_estimates import Counts

__all__ = ["count_duckdb", "count_frame"]


# Parquet files by DuckDB, which groups reports that are numbers, and streams all others to the counting kernels.

ROWS_AT_ONCE = 1 << 16
FILE = "read_parquet($1, hive_partitioning=false)"  # else folders named as partitions add columns


def count_duckdb(paths: Iterable[Path], mechanism: Any, k: int, *, memory: str | None = None) -> Counts:
    """The counts of all files together, each checked to be of this mechanism and k.

    `memory` is the memory limit of DuckDB, such as "2GB".
    """
    arrow()
    duckdb = package("duckdb", "files read by DuckDB need", "duckdb")
    with duckdb.connect() as engine:
        if memory is not None:
            engine.execute("set memory_limit = $1", [memory])
        parts = (part for path in each_once(paths) for part in _sums(duckdb, engine, path, mechanism, k))
        counts: Counts = mechanism._counts(parts, k=k)
    return counts


def _sums(duckdb: Any, engine: Any, path: Path, mechanism: Any, k: int) -> Iterator[tuple[int, NDArray[Any]]]:
    """Pairs (number of reports, sums to decode) of the blocks of a file."""
    try:
        names = [row[0] for row in engine.execute(f"describe from {FILE}", [just(path)]).fetchall()]
        if LABEL not in names:
            raise BadValue(f"{path}: does not say which design its reports are of: `zcdp randomize` writes that")
        texts = engine.execute(f"select distinct {LABEL} from {FILE}", [just(path)]).fetchall()
        if not texts:
            return
        label = Label.common(path, [row[0] for row in texts], mechanism, k)
        if label.rows and label.width is None and mechanism._outputs(k) <= SMALL_TABLE:
            yield _grouped(engine, path, mechanism, k)
            return
        wanted = "report" if label.rows else "reports, block"
        size = ROWS_AT_ONCE if label.rows else 1
        found = engine.sql(f"select {wanted} from {FILE}", params=[just(path)])
        for batch in _batches(found, size):
            yield in_file(path, mechanism, unpacked(path, batch, label), k)
    except duckdb.Error as error:
        raise BadValue(f"{path}: not a whole Parquet file: {str(error).splitlines()[0]}") from None


def _batches(found: Any, size: int) -> Iterator[Any]:
    """The Arrow batches of a DuckDB relation, by the method that this version of DuckDB has."""
    reader = found.to_arrow_reader(size) if hasattr(found, "to_arrow_reader") else found.fetch_arrow_reader(size)
    for batch in reader:
        if batch.num_rows:
            yield batch


def _grouped(engine: Any, path: Path, mechanism: Any, k: int) -> tuple[int, NDArray[Any]]:
    """The number of reports of a file, and how often each occurs, by a GROUP BY of DuckDB; reports must be numbers."""
    query = f"select report, count(*) as often from {FILE} group by report"
    rows = engine.execute(query, [just(path)]).fetchall()
    if any(report is None for report, _ in rows):
        raise BadValue(f"{path}: has missing reports")
    size = mechanism._outputs(k)
    if any(not 0 <= report < size for report, _ in rows):
        raise BadValue(f"{path}: reports must lie in 0 .. {size - 1}: these are of another design")
    tally = np.zeros(size, dtype=np.int64)
    for report, often in rows:
        tally[report] = often
    return int(tally.sum()), tally


# Data frames of pandas, Polars, PyArrow, DuckDB or PySpark, through narwhals.


def count_frame(mechanism: Any, frame: Any, column: str, *, k: Value | None = None) -> Counts:
    """The counts of a column of reports that are integers: the engine groups them, and the tally is decoded here.

    A lazy frame must read stored reports: one that draws them would draw them anew at each action.
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
