"""Reports in Parquet files, as packed blocks or as rows; what they were made with travels in the file's metadata."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from zcdp.estimation.counts import Counts

__all__ = ["BLOCK", "count_files", "read_values", "write_reports"]

BLOCK = 1 << 18
"""Reports of one packed block."""

BLOCKS_AT_ONCE = 8
TYPES = ("|u1", "<u2", "<u4", "<u8")
KEY = b"zcdp.collection"


def _arrow() -> Any:
    try:
        import_module("pyarrow.parquet")
    except ModuleNotFoundError:
        hint = "Parquet files need pyarrow: pip install 'zcdp[collection]'"
        raise ModuleNotFoundError(hint, name="pyarrow") from None
    return import_module("pyarrow")


def _open(path: Path) -> Any:
    arrow = _arrow()
    try:
        return arrow.parquet.ParquetFile(path)
    except FileNotFoundError:
        raise
    except (arrow.ArrowException, OSError) as error:
        raise ValueError(f"{path}: not a whole Parquet file: {str(error).splitlines()[0]}") from None


def read_values(path: Path, column: str | None, k: int) -> Iterator[NDArray[Any]]:
    """The values, block by block, each checked to lie in 0 .. k-1."""
    arrow, file = _arrow(), _open(path)
    names = file.schema_arrow.names
    if column is None and len(names) != 1:
        raise ValueError(f"{path}: has the columns {', '.join(names)}: say which one holds the values")
    name = names[0] if column is None else column
    if name not in names:
        raise ValueError(f"{path}: has no column {name}, only {', '.join(names)}")
    if not arrow.types.is_integer(file.schema_arrow.field(name).type):
        raise ValueError(f"{path}: column {name} must hold integers, not {file.schema_arrow.field(name).type}")
    for batch in _batches(path, file, columns=[name]):
        array = batch.column(0)
        if array.null_count:
            raise ValueError(f"{path}: column {name} has missing values")
        values: NDArray[Any] = array.to_numpy(zero_copy_only=False)
        if values.size and (int(values.min()) < 0 or int(values.max()) >= k):
            raise ValueError(f"{path}: values must lie in 0 .. {k - 1}")
        yield values


def _batches(path: Path, file: Any, *, size: int = BLOCK, **options: Any) -> Iterator[Any]:
    arrow = _arrow()
    try:
        yield from file.iter_batches(batch_size=size, **options)
    except (arrow.ArrowException, OSError) as error:
        raise ValueError(f"{path}: cannot be read to its end: {str(error).splitlines()[0]}") from None


def write_reports(path: Path, mechanism: Any, k: int, blocks: Iterable[NDArray[Any]], *, rows: bool = False) -> int:
    """Write reports as they come; returns how many. A report is a number, or a row of bytes or numbers."""
    arrow = _arrow()
    writer, written, kind, width = None, 0, np.dtype(np.uint8), None
    try:
        for block in blocks:
            if writer is None:
                kind, width = _kind(mechanism, k, block), block.shape[1] if block.ndim == 2 else None
                said = {
                    "format": 1,
                    "mechanism": repr(mechanism),
                    "k": k,
                    "rows": rows,
                    "type": kind.str,
                    "width": width,
                }
                schema = arrow.schema(_fields(arrow, kind, width, rows=rows), {KEY: json.dumps(said).encode()})
                writer = arrow.parquet.ParquetWriter(path, schema, compression="zstd" if rows else "none")
            packed = np.ascontiguousarray(block.astype(kind, copy=False))
            writer.write_table(_table(arrow, writer.schema, packed, width, rows=rows))
            written += len(packed)
    finally:
        if writer is not None:
            writer.close()
    return written


def _kind(mechanism: Any, k: int, block: NDArray[Any]) -> np.dtype[Any]:
    """The smallest unsigned type that holds every report."""
    if block.dtype == np.uint8:
        return np.dtype(np.uint8)
    most = mechanism._outputs(k) if block.ndim == 1 else k
    return np.min_scalar_type(most - 1).newbyteorder("<")


def _fields(arrow: Any, kind: np.dtype[Any], width: int | None, *, rows: bool) -> list[Any]:
    if not rows:
        return [("reports", arrow.int64()), ("block", arrow.large_binary())]
    one = arrow.from_numpy_dtype(kind.newbyteorder("="))
    return [("report", one if width is None else arrow.binary(width * kind.itemsize))]


def _table(arrow: Any, schema: Any, packed: NDArray[Any], width: int | None, *, rows: bool) -> Any:
    if not rows:
        return arrow.table([[len(packed)], [packed.tobytes()]], schema=schema)
    if width is None:
        return arrow.table([arrow.array(packed.reshape(-1))], schema=schema)
    size = width * packed.dtype.itemsize
    column = arrow.FixedSizeBinaryArray.from_buffers(arrow.binary(size), len(packed), [None, arrow.py_buffer(packed)])
    return arrow.table([column], schema=schema)


def count_files(paths: Iterable[Path], mechanism: Any, k: int) -> Counts:
    """The counts of all files together, each checked to be of this mechanism and k."""
    total: Counts | None = None
    for path in paths:
        file = _open(path)
        said = _metadata(path, file, mechanism, k)
        for batch in _batches(path, file, size=BLOCK if said["rows"] else BLOCKS_AT_ONCE):
            counts = mechanism.count(_reports(path, batch, said), k=k)
            total = counts if total is None else total + counts
    if total is None:
        raise ValueError("there are no reports: nothing can be estimated")
    return total


def _metadata(path: Path, file: Any, mechanism: Any, k: int) -> dict[str, Any]:
    stored = (file.schema_arrow.metadata or {}).get(KEY)
    if stored is None:
        raise ValueError(f"{path}: does not say which design its reports are of: `zcdp randomize` writes that")
    try:
        said = json.loads(stored)
        design, size = said["mechanism"], said["k"]
        form = said["format"], said["type"] in TYPES, said["width"] is None or int(said["width"]) > 0, "rows" in said
    except (ValueError, TypeError, KeyError):
        form, design, size = (0, False, False, False), None, None
    if form != (1, True, True, True):
        raise ValueError(f"{path}: says what its reports are in a way that this version does not read")
    if (design, size) != (repr(mechanism), k):
        raise ValueError(f"{path}: has reports of {design} on {size} values, not of {mechanism!r} on {k}")
    return dict(said)


def _reports(path: Path, batch: Any, said: dict[str, Any]) -> NDArray[Any]:
    kind, width = np.dtype(said["type"]), said["width"]
    if said["rows"] and width is None:
        return np.asarray(batch.column(0).to_numpy(zero_copy_only=False))
    if said["rows"]:
        return np.frombuffer(b"".join(batch.column(0).to_pylist()), dtype=kind).reshape(-1, width)
    parts = [np.empty(0, kind)]
    for received, block in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
        part = np.frombuffer(block.as_buffer(), dtype=kind)
        if part.size != received * (width or 1):
            raise ValueError(f"{path}: a block of {received} reports has {part.size} numbers: the file is damaged")
        parts.append(part)
    flat = np.concatenate(parts)
    return flat if width is None else flat.reshape(-1, width)
