"""Reports as Arrow batches and back: packed blocks of many reports, or one report a row, each with its label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zcdp.collection.label import LABEL, Label, package
from zcdp.errors import BadValue

__all__ = ["arrow", "labels", "schema", "table", "unpacked"]


def arrow() -> Any:
    """The module."""
    package("pyarrow.parquet", "Parquet files and Arrow tables need", "collection")
    return package("pyarrow", "Parquet files and Arrow tables need", "collection")


def schema(label: Label) -> Any:
    """Of blocks: (reports, block, design). Of rows: (report, design)."""
    pa = arrow()
    if not label.rows:
        return pa.schema([("reports", pa.int64()), ("block", pa.large_binary()), (LABEL, pa.string())])
    one = pa.from_numpy_dtype(label.numbers.newbyteorder("="))
    kind = one if label.width is None else pa.binary(label.width * label.numbers.itemsize)
    return pa.schema([("report", kind), (LABEL, pa.dictionary(pa.int32(), pa.string()))])


def table(label: Label, block: NDArray[Any]) -> Any:
    """These reports, as the label says."""
    pa, form = arrow(), schema(label)
    packed = np.ascontiguousarray(block.astype(label.numbers, copy=False))
    if not label.rows:
        return pa.table([[len(packed)], [packed.tobytes()], [label.text]], schema=form)
    marks = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(packed), np.int32)), pa.array([label.text]))
    if label.width is None:
        return pa.table([pa.array(packed.reshape(-1)), marks], schema=form)
    kind = form.field("report").type
    column = pa.FixedSizeBinaryArray.from_buffers(kind, len(packed), [None, pa.py_buffer(packed)])
    return pa.table([column, marks], schema=form)


def labels(batch: Any) -> list[Any]:
    """The different labels of a batch, as text."""
    texts: list[Any] = batch.column(LABEL).unique().to_pylist()
    return texts


def unpacked(where: object, batch: Any, label: Label) -> NDArray[Any]:
    """The reports of a batch as one array; a block that does not hold what it says is refused."""
    kind, width = label.numbers, label.width
    if label.rows and width is None:
        column = batch.column("report")
        if column.null_count:
            raise BadValue(f"{where}: has missing reports")
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if label.rows:
        received, parts = [1] * batch.num_rows, batch.column("report").to_pylist()
    else:
        received, parts = batch.column("reports").to_pylist(), [one.as_buffer() for one in batch.column("block")]
    if any(one is None for one in (*received, *parts)):
        raise BadValue(f"{where}: has missing reports")
    if label.rows:
        received, parts = [batch.num_rows], [b"".join(parts)]
    arrays = [np.empty(0, kind)]
    for count, part in zip(received, parts, strict=True):
        if len(part) % kind.itemsize or len(part) != count * (width or 1) * kind.itemsize:
            size = len(part) // kind.itemsize
            raise BadValue(f"{where}: a block of {count} reports has {size} numbers: the file is damaged")
        arrays.append(np.frombuffer(part, dtype=kind))
    flat = arrays[1] if len(arrays) == 2 else np.concatenate(arrays)
    return flat if width is None else flat.reshape(-1, width)
