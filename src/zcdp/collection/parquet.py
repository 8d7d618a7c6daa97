"""Reports in Arrow and Parquet: blocks or rows with a *label* that says which mechanism made them, on how many values.

The parts of this file: the label, conversion of reports to Arrow batches and back, and Parquet files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zcdp.errors import BadValue, MissingExtra

if TYPE_CHECKING:
    from zcdp.estimation.frequency_estimates import Counts

__all__ = [
    "BLOCK",
    "LABEL",
    "Label",
    "arrow",
    "count_files",
    "each_once",
    "in_file",
    "labels",
    "opened",
    "package",
    "read_reports",
    "schema",
    "table",
    "unpacked",
    "whole_batches",
    "write_reports",
]


LABEL = "design"
"""The column that holds the label, the same text in every row, which takes hardly any space. It is a column because
data frames do not pass on the metadata of a Parquet footer."""

FORMAT = 2  # version of the label
TYPES = ("|u1", "<u2", "<u4", "<u8")  # numpy types of the numbers in a report


def package(module: str, needs: str, extra: str) -> Any:
    """An optional module; if it is not installed, `MissingExtra` names the command that installs the extra."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        name = module.split(".", maxsplit=1)[0]
        if error.name is None or error.name.split(".", maxsplit=1)[0] != name:
            raise
        raise MissingExtra(f"{needs} {name}", extra=extra, name=name) from None


@dataclass(frozen=True)
class Label:
    """The label of a block of reports, or of rows with one report each (`rows`).

    >>> Label.read("a file", Label("m", 3, rows=True, type="|u1", width=None).text).k
    3
    """

    mechanism: str
    k: int
    rows: bool
    type: str
    """The numpy type of the numbers in a report."""
    width: int | None
    """How many numbers a report has; None if it is a single number."""

    @classmethod
    def of(cls, mechanism: Any, k: int, block: NDArray[Any], *, rows: bool) -> Label:
        """The label for all reports of the mechanism in the form of `block`, with the smallest sufficient type."""
        kind = np.dtype(np.uint8)
        if block.dtype != np.uint8:
            most = mechanism._outputs(k) if block.ndim == 1 else k
            kind = np.min_scalar_type(most - 1).newbyteorder("<")
        return cls(repr(mechanism), k, rows, kind.str, block.shape[1] if block.ndim == 2 else None)

    @classmethod
    def read(cls, where: object, text: Any) -> Label:
        """The label from its JSON text; `where` names the file or frame in messages."""
        try:
            said = json.loads(text)
            known = said.pop("format") == FORMAT and said["type"] in TYPES and type(said["rows"]) is bool
            known = known and type(said["k"]) is int and (said["width"] is None or int(said["width"]) > 0)
            found = cls(**said)
        except (ValueError, TypeError, KeyError, AttributeError):
            known = False
        if not known:
            raise BadValue(f"{where}: says what its reports are in a way that this version does not read")
        return found

    @classmethod
    def common(cls, where: object, texts: list[Any], mechanism: Any, k: int) -> Label:
        """The label that all these texts state, checked to be of this mechanism on k values."""
        labels = [cls.read(where, text) for text in texts]
        for one in labels:
            if (one.mechanism, one.k) != (repr(mechanism), k):
                has = f"has reports of {one.mechanism} on {one.k} values"
                raise BadValue(f"{where}: {has}, not of {mechanism!r} on {k}")
        if len(set(labels)) != 1:
            raise BadValue(f"{where}: mixes reports of different forms")
        return labels[0]

    @property
    def text(self) -> str:
        """The label as JSON text."""
        return json.dumps({"format": FORMAT, **asdict(self)})

    @property
    def numbers(self) -> np.dtype[Any]:
        """The numpy type of the numbers in a report."""
        return np.dtype(self.type)


# Reports as Arrow tables and back: packed blocks of many reports, or one report in each row, with their label.


def arrow() -> Any:
    """The module pyarrow, with pyarrow.parquet loaded."""
    package("pyarrow.parquet", "Parquet files and Arrow tables need", "collection")
    return package("pyarrow", "Parquet files and Arrow tables need", "collection")


def schema(label: Label) -> Any:
    """The Arrow schema: (reports, block, design) for blocks, (report, design) for rows."""
    pa = arrow()
    if not label.rows:
        return pa.schema([("reports", pa.int64()), ("block", pa.large_binary()), (LABEL, pa.string())])
    one = pa.from_numpy_dtype(label.numbers.newbyteorder("="))
    kind = one if label.width is None else pa.binary(label.width * label.numbers.itemsize)
    return pa.schema([("report", kind), (LABEL, pa.dictionary(pa.int32(), pa.string()))])


def table(label: Label, block: NDArray[Any]) -> Any:
    """These reports as an Arrow table of the form that the label states."""
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
    """The reports of a batch as one array; a block whose size does not match its number of reports is refused."""
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


# Files of reports in Parquet, read and written block by block: never a whole file in memory.

BLOCK = 1 << 18
"""How many reports a packed block has."""

BYTES_AT_ONCE = 1 << 24  # of reports stored as rows, read in one batch


def opened(path: Path) -> Any:
    """The Parquet file, opened; a file that is damaged or not Parquet is refused."""
    pa = arrow()
    try:
        return pa.parquet.ParquetFile(path)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: no such file") from None
    except (pa.ArrowException, OSError) as error:
        raise BadValue(f"{path}: not a whole Parquet file: {str(error).splitlines()[0]}") from None


def whole_batches(path: Path, file: Any, *, size: int = BLOCK, **options: Any) -> Iterator[Any]:
    """The batches of an opened Parquet file; a truncated file is refused."""
    pa = arrow()
    try:
        yield from file.iter_batches(batch_size=size, **options)
    except (pa.ArrowException, OSError) as error:
        raise BadValue(f"{path}: cannot be read to its end: {str(error).splitlines()[0]}") from None


def write_reports(path: Path, mechanism: Any, k: int, blocks: Iterable[NDArray[Any]], *, rows: bool = False) -> int:
    """Write blocks of reports to a file as they come; returns the number of reports.

    A report is a number, or a row of bytes or numbers.
    """
    pa = arrow()
    writer, written, label = None, 0, None
    try:
        for block in blocks:
            if label is None or writer is None:
                label = Label.of(mechanism, k, block, rows=rows)
                options = {"compression": "zstd" if rows else "none", "use_dictionary": [LABEL]}
                writer = pa.parquet.ParquetWriter(path, schema(label), **options)
            writer.write_table(table(label, block))
            written += len(block)
    finally:
        if writer is not None:
            writer.close()
    return written


def read_reports(path: Path, mechanism: Any, k: int) -> Iterator[NDArray[Any]]:
    """The reports of a file, block by block; their labels are checked first: this mechanism, on k values."""
    file = opened(path)
    if LABEL not in file.schema_arrow.names:
        raise BadValue(f"{path}: does not say which design its reports are of: `zcdp randomize` writes that")
    texts = {text for batch in whole_batches(path, file, columns=[LABEL]) for text in labels(batch)}
    if not texts:
        return
    label = Label.common(path, sorted(texts, key=str), mechanism, k)
    one = label.numbers.itemsize * (label.width or 1)
    names, size = (["report"], max(1, BYTES_AT_ONCE // one)) if label.rows else (["reports", "block"], 1)
    if not set(names) <= set(file.schema_arrow.names):
        raise BadValue(f"{path}: has no column {names[-1]}")
    for batch in whole_batches(path, file, size=size, columns=names):
        yield unpacked(path, batch, label)


def each_once(paths: Iterable[Path]) -> Iterator[Path]:
    """The files; one given twice, even under two names, is refused, as its reports would count twice."""
    seen: dict[tuple[int, int], Path] = {}
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"{path}: no such file")
        found = path.stat()
        first = seen.setdefault((found.st_dev, found.st_ino), path)
        if first is not path:
            raise BadValue(f"{path}: is given twice, first as {first}: each report counts once")
        yield path


def in_file(path: Path, mechanism: Any, reports: NDArray[Any], k: int) -> tuple[int, NDArray[Any]]:
    """The number of these reports and their sums to decode; an error names the file."""
    try:
        added: tuple[int, NDArray[Any]] = mechanism._sums(reports, k)
    except BadValue as error:
        raise BadValue(f"{path}: {error}") from None
    return added


def _sums(path: Path, mechanism: Any, k: int) -> Iterator[tuple[int, NDArray[Any]]]:
    """Pairs (number of reports, sums to decode) of the blocks of a file."""
    for reports in read_reports(path, mechanism, k):
        yield in_file(path, mechanism, reports, k)


def count_files(paths: Iterable[Path], mechanism: Any, k: int) -> Counts:
    """The counts of all files together, each checked to be of this mechanism and k."""
    parts = (part for path in each_once(paths) for part in _sums(path, mechanism, k))
    counts: Counts = mechanism._counts(parts, k=k)
    return counts
