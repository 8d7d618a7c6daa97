"""Shards: counts of some of the reports, in a file with a receipt, which are added up later; none of them twice.

A shard is counted where its reports are, and only its file travels. It holds the digest of each file of reports that it
counts, and a number of its own, drawn when it was made.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np

from zcdp.errors import BadValue
from zcdp.estimation.frequency_estimates import Counts

__all__ = ["Shard", "add_up", "make_shard"]

FORMAT = "zcdp counts 1"
TELLING = 100  # Two files of so many reports with the same content are copies: independent reports would differ.
PIECE = 1 << 20


@dataclass(frozen=True)
class Shard:
    """The counts of some files of reports, and by what they are recognized."""

    counts: Counts
    receipt: str
    """A random number of 128 bits, in hexadecimal digits."""
    files: tuple[tuple[str, int], ...]
    """Of each file of reports: the SHA-256 of its bytes, and the number of its reports."""

    @property
    def text(self) -> str:
        """The file of the shard, JSON."""
        packed = zlib.compress(self.counts.supports.astype("<i8").tobytes())
        return json.dumps(
            {
                "format": FORMAT,
                "design": self.counts.design,
                "reports": self.counts.reports,
                "signed": self.counts.signed,
                "receipt": self.receipt,
                "files": [list(one) for one in self.files],
                "supports": base64.b64encode(packed).decode(),
            }
        )

    @classmethod
    def read(cls, path: Path) -> Shard:
        """A shard from its file; one that is damaged is refused."""
        try:
            said = json.loads(path.read_text(encoding="utf-8"))
            supports = np.frombuffer(zlib.decompress(base64.b64decode(said["supports"])), dtype="<i8")
            counts = Counts(said["design"], said["reports"], supports, signed=said["signed"])
            files = tuple((digest, reports) for digest, reports in said["files"])
            known = said["format"] == FORMAT and sum(reports for _, reports in files) == counts.reports
            known = known and all(_is_hex(digest, 64) and _is_count(reports) for digest, reports in files)
            known = known and _is_hex(receipt := said["receipt"], 32) and _is_count(counts.reports)
            known = known and type(counts.design) is str and type(counts.signed) is bool
        except (ValueError, KeyError, TypeError, RecursionError, OverflowError, zlib.error) as error:
            raise BadValue(f"{path}: is no shard of counts that this version reads: {error}") from None
        if not known:
            raise BadValue(f"{path}: is no shard of counts that this version reads")
        return cls(counts, receipt, files)


def _is_hex(text: object, digits: int) -> bool:
    return isinstance(text, str) and len(text) == digits and set(text) <= set("0123456789abcdef")


def _is_count(number: object) -> bool:
    return type(number) is int and 0 <= number < 1 << 63


def is_shard(path: Path) -> bool:
    """Whether a file is that of a shard: it begins as a JSON object."""
    with path.open("rb") as file:
        return file.read(1) == b"{"


def _digest(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            found.update(piece)
    return found.hexdigest()


Count = Callable[[Iterable[Path], Any, int], Counts]


def make_shard(paths: Sequence[Path], mechanism: Any, k: int, count: Count) -> Shard:
    """The shard of these files of reports, counted by `count` one by one."""
    parts = [(_digest(path), count([path], mechanism, k)) for path in paths]
    files = tuple((digest, one.reports) for digest, one in parts)
    whole: Counts = sum((one for _, one in parts[1:]), parts[0][1])
    shard = Shard(whole, token_hex(16), files)
    _refuse_twice([(shard.receipt, shard.files, paths)])
    return shard


def add_up(paths: Sequence[Path], mechanism: Any, k: int, count: Count) -> Counts:
    """The counts of all shards and files of reports together; what is counted in two of them is refused."""
    shards = [(path, Shard.read(path)) for path in paths if is_shard(path)]
    files = [path for path in paths if not is_shard(path)]
    if not shards:
        return count(files, mechanism, k)
    seen: list[tuple[str, tuple[tuple[str, int], ...], Sequence[Path]]] = []
    for path, shard in shards:
        if shard.counts.design != repr(mechanism) or shard.counts.signed != getattr(mechanism, "_signed", False):
            raise BadValue(f"{path}: has counts of {shard.counts.design}, not of {mechanism!r}")
        seen.append((shard.receipt, shard.files, [path] * len(shard.files)))
    parts = [shard.counts for _, shard in shards]
    if files:
        own = make_shard(files, mechanism, k, count)
        parts.append(own.counts)
        seen.append((own.receipt, own.files, files))
    _refuse_twice(seen)
    return sum(parts[1:], parts[0])


def _refuse_twice(seen: Iterable[tuple[str, tuple[tuple[str, int], ...], Sequence[Path]]]) -> None:
    """Refuse a receipt that is there twice, and a file of reports that is counted twice."""
    receipts: dict[str, Path] = {}
    digests: dict[str, Path] = {}
    for receipt, files, paths in seen:
        if receipt in receipts:
            raise BadValue(f"{paths[0]}: is the same shard as {receipts[receipt]}: each report counts once")
        receipts[receipt] = paths[0]
        for (digest, reports), path in zip(files, paths, strict=True):
            if digest in digests and reports >= TELLING:
                raise BadValue(f"{path}: counts reports that {digests[digest]} counts too: each report counts once")
            digests.setdefault(digest, path)
