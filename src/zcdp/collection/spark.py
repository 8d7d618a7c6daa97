"""Counting reports on Spark: each task counts its own packed blocks or rows in Arrow, and only counts travel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from zcdp.accounting.parser import parse
from zcdp.collection.arrow import arrow, labels, unpacked
from zcdp.collection.label import LABEL, Label, package
from zcdp.errors import BadValue

if TYPE_CHECKING:
    from zcdp.estimation.counts import Counts

__all__ = ["count_spark"]

HERE = "the frame"


def count_spark(mechanism: Any, frame: Any, *, k: int) -> Counts:
    """The counts of a Spark frame of reports, blocks or rows, as `read.parquet` gives it from what was written.

    Every batch is checked to be of this mechanism and k: its column `design` says so.
    """
    package("pyspark", "Spark frames", "spark")
    if LABEL not in frame.columns:
        raise BadValue(f"{HERE}: does not say which design its reports are of: it has no column {LABEL}")
    counted = frame.mapInArrow(_task(repr(mechanism), k), "reports long, supports binary").collect()
    total: Counts | int = 0
    for row in counted:
        total += mechanism._counted(int(row["reports"]), np.frombuffer(row["supports"], dtype="<i8"))
    if isinstance(total, int):
        raise BadValue("there are no reports: nothing can be estimated")
    return total


def _task(text: str, k: int) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What each task runs: the mechanism travels as its text, and is read where it is used."""

    def count(batches: Iterable[Any]) -> Iterator[Any]:
        mechanism: Any = parse(text).parts[0][0]
        total: Counts | int = 0
        for batch in batches:
            if batch.num_rows:
                label = Label.common(HERE, labels(batch), mechanism, k)
                total += mechanism.count(unpacked(HERE, batch, label), k=k)
        if not isinstance(total, int):
            supports = total.supports.astype("<i8").tobytes()
            yield arrow().record_batch({"reports": [total.reports], "supports": [supports]})

    return count
