"""Randomizing a file of values, once: a second draw over the same values would cost as much privacy again."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from zcdp.collection.parquet import read_values, write_reports
from zcdp.errors import BadValue
from zcdp.samplers.source import secure

__all__ = ["randomize_file", "receipt_of"]


def receipt_of(values: Path) -> Path:
    """The file beside the values that says that they have been randomized."""
    return values.with_name(f"{values.name}.randomized")


def randomize_file(
    mechanism: Any, k: int, values: Path, out: Path, *, column: str | None = None, rows: bool = False
) -> int:
    """Write one report for each value to a new file; returns how many. Values are all checked before any is drawn.

    A receipt beside the values is made first, and only if there is none: whoever comes second is refused. If nothing
    was written in the end, nothing was drawn that anyone saw, and the receipt goes again.
    """
    if out.exists():
        raise BadValue(f"{out}: exists already: reports are written to a new file")
    if not hasattr(mechanism, "_drawn") or hasattr(mechanism, "remember"):
        raise BadValue(f"{mechanism!r} is not run on a file of values")
    for _ in read_values(values, column, k):
        pass
    receipt = receipt_of(values)
    try:
        with receipt.open("x", encoding="utf-8") as file:
            json.dump({"mechanism": repr(mechanism), "k": k, "reports": str(out)}, file)
    except FileExistsError:
        made = f"{values}: was randomized already, says {receipt.name}"
        raise BadValue(f"{made}: a second report of the same value costs as much again") from None
    try:
        with tempfile.TemporaryDirectory(dir=out.absolute().parent, prefix=".zcdp-") as folder:
            whole = Path(folder) / out.name
            written = write_reports(whole, mechanism, k, _drawn(mechanism, k, values, column), rows=rows)
            if not written:
                raise BadValue(f"{values}: has no values")
            os.link(whole, out)  # fails where another has made it meanwhile
    except BaseException:
        receipt.unlink()
        raise
    return written


def _drawn(mechanism: Any, k: int, values: Path, column: str | None) -> Iterator[NDArray[Any]]:
    for block in read_values(values, column, k):
        if block.size:
            yield mechanism._drawn(block.astype("int64"), k, secure)
