"""Randomizing a file of values, once: a second draw over the same values would cost as much privacy again."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from zcdp.collection.parquet import write_reports
from zcdp.collection.receipt import Receipt
from zcdp.collection.values import read_values
from zcdp.errors import BadValue
from zcdp.samplers.source import secure

__all__ = ["randomize_file"]


def randomize_file(
    mechanism: Any,
    k: int,
    values: Path,
    out: Path,
    *,
    column: str | None = None,
    names: Sequence[str] | None = None,
    rows: bool = False,
    turn: int = 1,
    answered: int = 1,
) -> int:
    """Write one report for each value to a new file; returns how many. Values are all checked before any is drawn.

    A receipt beside the values is made first, and whoever comes second is refused: see `Receipt`. `turn` is the round
    that the reports are for, of which a client answers so many. If nothing was written in the end, nothing was drawn
    that anyone saw, and the receipt goes again.
    """
    if out.exists():
        raise BadValue(f"{out}: exists already: reports are written to a new file")
    if not hasattr(mechanism, "_drawn") or hasattr(mechanism, "remember"):
        raise BadValue(f"{mechanism!r} is not run on a file of values")
    digest = _Digest()
    for block in read_values(values, column, k, names):
        digest.add(block)
    if not digest.seen:
        raise BadValue(f"{values}: has no values")
    facts = {"mechanism": repr(mechanism), "k": k, "reports": str(out)}
    receipt = Receipt.make(values, digest.text, turn, answered, facts)
    try:
        with tempfile.TemporaryDirectory(dir=out.absolute().parent, prefix=".zcdp-") as folder:
            whole, drawn = Path(folder) / out.name, _Digest()
            written = write_reports(
                whole, mechanism, k, _reports(mechanism, k, read_values(values, column, k, names), drawn), rows=rows
            )
            if drawn.text != digest.text:
                raise BadValue(f"{values}: changed while it was read")
            os.link(whole, out)  # fails where another has made it meanwhile
    except BaseException:
        receipt.path.unlink()
        raise
    return written


class _Digest:
    """Of the values in their order, whatever file they are in."""

    def __init__(self) -> None:
        self._hash, self.seen = hashlib.sha256(), 0

    def add(self, block: NDArray[Any]) -> None:
        self._hash.update(block.astype("<i8").tobytes())
        self.seen += block.size

    @property
    def text(self) -> str:
        return self._hash.hexdigest()


def _reports(mechanism: Any, k: int, blocks: Iterator[NDArray[Any]], digest: _Digest) -> Iterator[NDArray[Any]]:
    for block in blocks:
        digest.add(block)
        if block.size:
            yield mechanism._drawn(block.astype("int64"), k, secure)
