"""Files of reports in Parquet, read and written block by block: never a whole file in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from zcdp.collection.arrow import arrow, labels, schema, table, unpacked
from zcdp.collection.label import LABEL, Label
from zcdp.errors import BadValue

if TYPE_CHECKING:
    from zcdp.estimation.counts import Counts

__all__ = ["BLOCK", "count_files", "each_once", "in_file", "opened", "read_reports", "whole_batches", "write_reports"]

BLOCK = 1 << 18
"""Reports of one packed block."""

BYTES_AT_ONCE = 1 << 24


def opened(path: Path) -> Any:
    """The file, which is a whole Parquet file."""
    pa = arrow()
    try:
        return pa.parquet.ParquetFile(path)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: no such file") from None
    except (pa.ArrowException, OSError) as error:
        raise BadValue(f"{path}: not a whole Parquet file: {str(error).splitlines()[0]}") from None


def whole_batches(path: Path, file: Any, *, size: int = BLOCK, **options: Any) -> Iterator[Any]:
    """Its batches; a file that ends before it should is refused."""
    pa = arrow()
    try:
        yield from file.iter_batches(batch_size=size, **options)
    except (pa.ArrowException, OSError) as error:
        raise BadValue(f"{path}: cannot be read to its end: {str(error).splitlines()[0]}") from None


def write_reports(path: Path, mechanism: Any, k: int, blocks: Iterable[NDArray[Any]], *, rows: bool = False) -> int:
    """Write reports as they come; returns how many. A report is a number, or a row of bytes or numbers."""
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
    """The reports, block by block, all checked to be of this mechanism on k values."""
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
    """The files; one that comes twice, under whatever name, is refused: its reports would count twice."""
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
    """What these reports of the file add to the counts; an error says which file they are in."""
    try:
        added: tuple[int, NDArray[Any]] = mechanism._sums(reports, k)
    except BadValue as error:
        raise BadValue(f"{path}: {error}") from None
    return added


def _sums(path: Path, mechanism: Any, k: int) -> Iterator[tuple[int, NDArray[Any]]]:
    for reports in read_reports(path, mechanism, k):
        yield in_file(path, mechanism, reports, k)


def count_files(paths: Iterable[Path], mechanism: Any, k: int) -> Counts:
    """The counts of all files together, each checked to be of this mechanism and k."""
    parts = (part for path in each_once(paths) for part in _sums(path, mechanism, k))
    counts: Counts = mechanism._counts(parts, k=k)
    return counts
