"""Reports on Spark: tasks draw and count them in Arrow batches, and send only packed blocks or sums."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from zcdp.collection.keyed import KeyedNoise
from zcdp.collection.parquet import LABEL, Label, arrow, labels, package, table, unpacked
from zcdp.errors import BadValue
from zcdp.plans.plan_text import parse
from zcdp.samplers.source import secure

if TYPE_CHECKING:
    from zcdp.estimation.frequency_estimates import Counts

__all__ = ["count_spark", "keyed_spark", "randomize_spark"]

HERE = "the frame"  # its name in messages
BLOCKS = f"reports long, block binary, {LABEL} string"


def count_spark(mechanism: Any, frame: Any, *, k: int) -> Counts:
    """The counts of a Spark frame of stored reports, as blocks or rows, such as `read.parquet` gives.

    Every batch is checked to be of this mechanism and k by its column `design`.
    """
    package("pyspark", "Spark frames need", "spark")
    if LABEL not in frame.columns:
        raise BadValue(f"{HERE}: does not say which design its reports are of: it has no column {LABEL}")
    counted = frame.mapInArrow(_counting(repr(mechanism), k), "reports long, sums binary").toLocalIterator()
    parts = ((int(row["reports"]), np.frombuffer(row["sums"], dtype="<i8")) for row in counted)
    counts: Counts = mechanism._counts(parts, k=k)
    return counts


def _counting(text: str, k: int) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """The function that each task runs to add up its reports; the mechanism is sent as text and parsed in the task."""

    def count(batches: Iterable[Any]) -> Iterator[Any]:
        mechanism: Any = parse(text).parts[0][0]
        received, total = 0, None
        for batch in batches:
            if batch.num_rows:
                label = Label.common(HERE, labels(batch), mechanism, k)
                count, sums = mechanism._sums(unpacked(HERE, batch, label), k)
                received, total = received + count, sums if total is None else total + sums
        if total is not None:
            yield arrow().record_batch({"reports": [received], "sums": [total.astype("<i8").tobytes()]})

    return count


def randomize_spark(mechanism: Any, frame: Any, column: str, out: str, *, k: int) -> Any:
    """Draw one report for each value, write them to a new folder, and return the frame that reads it.

    All values are checked before any draw. If a task fails Spark draws its reports anew, and nothing of the first
    attempt stays in the folder. `keyed_spark` draws reports that no retry changes.
    """
    _checked(mechanism, frame, column, k)
    drawn = frame.select(column).mapInArrow(_drawing(repr(mechanism), k, None), BLOCKS)
    drawn.write.mode("errorifexists").parquet(out)
    return frame.sparkSession.read.parquet(out)


def keyed_spark(mechanism: Any, frame: Any, column: str, ids: str, noise: KeyedNoise, *, k: int) -> Any:
    """A lazy frame of reports with noise keyed by the column of ids, so that every action sees the same reports.

    The ids are checked to be distinct. The secret is sent to the workers with the task.
    """
    _checked(mechanism, frame, column, k)
    chosen = frame.select(column, ids)
    if chosen.where(chosen[ids].isNull() | (chosen[ids] < 0)).limit(1).count():
        raise BadValue(f"{HERE}: column {ids} must hold an id from 0 on for each value")
    if chosen.groupBy(ids).count().where("count > 1").limit(1).count():
        raise BadValue(f"{HERE}: ids must be distinct: two values under one id share their noise")
    return chosen.mapInArrow(_drawing(repr(mechanism), k, noise), BLOCKS)


def _checked(mechanism: Any, frame: Any, column: str, k: int) -> None:
    """Refuse a mechanism that cannot be run here, and a column that does not hold values 0 .. k-1."""
    package("pyspark", "Spark frames need", "spark")
    if not hasattr(mechanism, "_drawn") or hasattr(mechanism, "remember"):
        raise BadValue(f"{mechanism!r} is not run on a frame of values")
    mechanism._values(k)
    kind = dict(frame.dtypes).get(column)
    if kind not in ("tinyint", "smallint", "int", "bigint"):
        raise BadValue(f"{HERE}: column {column} must hold integers, not {kind}")
    value = frame[column]
    if frame.where(value.isNull() | (value < 0) | (value >= k)).limit(1).count():
        raise BadValue(f"{HERE}: values must lie in 0 .. {k - 1}, and none may be missing")


def _drawing(text: str, k: int, noise: KeyedNoise | None) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """The function that each task runs: from values, and ids if the noise is keyed, to packed blocks of reports."""

    def draw(batches: Iterable[Any]) -> Iterator[Any]:
        mechanism: Any = parse(text).parts[0][0]
        for batch in batches:
            if batch.num_rows:
                values = np.asarray(batch.column(0).to_numpy(zero_copy_only=False)).astype(np.int64)
                if noise is None:
                    reports = mechanism._drawn(values, k, secure)
                else:
                    reports = noise.release(mechanism, values, np.asarray(batch.column(1)), k=k)
                yield from table(Label.of(mechanism, k, reports, rows=False), reports).to_batches()

    return draw
