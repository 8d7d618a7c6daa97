"""Randomizing a file of values at most once a round: a receipt beside the file records what was done.

A second report of the same value would cost as much privacy again. Receipts hold a digest of the values, so that a copy
under another name is recognized.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from zcdp.collection.client_values import read_strings, read_values
from zcdp.collection.parquet import write_reports
from zcdp.errors import BadValue
from zcdp.mechanisms.local.number_randomizer import rounded
from zcdp.samplers.source import secure

if TYPE_CHECKING:
    from zcdp.collection.heavy_hitters import HeavyHitters

__all__ = ["Receipt", "randomize_file", "randomize_strings", "receipt_of"]


# Receipts: which values were randomized already, and in which rounds.

SUFFIX = ".randomized"


def receipt_of(values: Path, turn: int = 1) -> Path:
    """The path of the receipt, a file beside the values; `turn` is the round, from 1."""
    mark = "" if turn == 1 else f".round-{turn}"
    return values.resolve().with_name(f"{values.resolve().name}{mark}{SUFFIX}")


@dataclass(frozen=True)
class Receipt:
    """A receipt, written before any report is drawn and only if the plan allows the draw; as secret as the values.

    Values of the same content, under whatever name in the folder, may be randomized once in each round, and in no more
    rounds than a client answers. A copy in another folder, or with permuted rows, is not recognized.
    """

    path: Path
    digest: str

    @classmethod
    def make(cls, values: Path, digest: str, turn: int, answered: int, facts: dict[str, Any]) -> Receipt:
        """Write the receipt of a round; refused after an earlier draw in it, or draws in `answered` other rounds."""
        own = cls(receipt_of(values, turn), digest)
        again = "a second report of the same value costs as much again"
        try:
            with own.path.open("x", encoding="utf-8") as file:
                json.dump({**facts, "round": turn, "digest": digest}, file)
        except FileExistsError:
            raise BadValue(f"{values}: was randomized already, says {own.path.name}: {again}") from None
        try:  # checked after writing: of two concurrent runs under different names each then sees the other's receipt
            earlier = own._earlier()
            for path, said in earlier:
                if said["round"] == turn:
                    raise BadValue(f"{values}: was randomized already, says {path.name}: {again}")
            if len(earlier) >= answered:
                raise BadValue(
                    f"{values}: was randomized in {len(earlier)} rounds, says {earlier[0][0].name}: "
                    f"the plan accounts for {answered}"
                )
        except BaseException:
            own.path.unlink()
            raise
        return own

    def _earlier(self) -> list[tuple[Path, dict[str, Any]]]:
        """The other receipts of the same content in the folder."""
        found = []
        for path in sorted(self.path.parent.glob(f"*{SUFFIX}")):
            if path != self.path:
                try:
                    said = json.loads(path.read_text(encoding="utf-8"))
                    same, counted = said["digest"] == self.digest, type(said["round"]) is int
                except (OSError, ValueError, KeyError, TypeError):
                    counted = False
                if not counted:
                    raise BadValue(f"{path}: is no receipt that this version reads: move it away on purpose")
                if same:
                    found.append((path, said))
        return found


# Randomizing a file of values.


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
    ends: tuple[Fraction, Fraction] | None = None,
) -> int:
    """Write one report for each value to a new file; returns their number. All values are checked before any draw.

    A receipt beside the values is written first, and a second run on the same values is refused (`Receipt`). `turn` is
    the round that the reports are for, `answered` the number of rounds that a client answers. With `ends` the values
    are real numbers between these. If the run fails, nobody has seen a report, and the receipt is removed.
    """
    if not hasattr(mechanism, "_drawn") or hasattr(mechanism, "remember"):
        raise BadValue(f"{mechanism!r} is not run on a file of values")

    def draw(block: NDArray[Any]) -> NDArray[Any]:
        points = rounded(block, *ends, k - 1, secure) if ends else block.astype("int64")
        drawn: NDArray[Any] = mechanism._drawn(points, k, secure)
        return drawn

    def read() -> Iterator[NDArray[Any]]:
        return read_values(values, column, k, names, ends)

    return _once(mechanism, k, values, out, read, draw, rows=rows, turn=turn, answered=answered)


def randomize_strings(design: HeavyHitters, values: Path, out: Path, *, column: str | None = None) -> int:
    """Write one report for each string to a new file, once, as `randomize_file` does; returns their number."""

    def read() -> Iterator[NDArray[Any]]:
        return (design.code.digits(block, design.g) for block in read_strings(values, column))

    return _once(design, design.length, values, out, read, lambda digits: design._drawn(digits, secure))


def _once(
    mechanism: Any,
    k: int,
    values: Path,
    out: Path,
    read: Callable[[], Iterator[NDArray[Any]]],
    draw: Callable[[NDArray[Any]], NDArray[Any]],
    *,
    rows: bool = False,
    turn: int = 1,
    answered: int = 1,
) -> int:
    """Read the values twice: first to check all of them and make the receipt, then to draw."""
    if out.exists():
        raise BadValue(f"{out}: exists already: reports are written to a new file")
    digest = _Digest()
    for block in read():
        digest.add(block)
    if not digest.seen:
        raise BadValue(f"{values}: has no values")
    facts = {"mechanism": repr(mechanism), "k": k, "reports": str(out)}
    receipt = Receipt.make(values, digest.text, turn, answered, facts)
    try:
        with tempfile.TemporaryDirectory(dir=out.absolute().parent, prefix=".zcdp-") as folder:
            whole, drawn = Path(folder) / out.name, _Digest()
            reports = (draw(drawn.add(block)) for block in read() if len(block))
            written = write_reports(whole, mechanism, k, reports, rows=rows)
            if drawn.text != digest.text:
                raise BadValue(f"{values}: changed while it was read")
            os.link(whole, out)  # fails if another process has made the file meanwhile
    except BaseException:
        receipt.path.unlink()
        raise
    return written


class _Digest:
    """The digest of a sequence of values, independent of the format of their file; `seen` counts them."""

    def __init__(self) -> None:
        self._hash, self.seen = hashlib.sha256(), 0

    def add(self, block: NDArray[Any]) -> NDArray[Any]:
        """The block itself, after it was counted."""
        self._hash.update(block.astype("<f8" if block.dtype.kind == "f" else "<i8").tobytes())
        self.seen += len(block)
        return block

    @property
    def text(self) -> str:
        return self._hash.hexdigest()
