"""Messages of clients: lines of JSON, each with one report and the design it is of, gathered into a file of reports.

A message is {"zcdp": 1, "design": ..., "day": ..., "id": ..., "report": ...}: the first 16 hexadecimal digits of the
SHA-256 of the design file, the day, a random id, and the bytes of the report in base64. A client that lost its
connection sends the same message again; of messages with one id the first counts. What no client of the design sends is
left out: the server takes messages of anybody.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zcdp.collection.client_reports import reports_from_wire, wire_check
from zcdp.collection.design_file import read_client_design
from zcdp.collection.heavy_hitters import FORMAT, HeavyHitters
from zcdp.collection.parquet import BLOCK, write_reports
from zcdp.errors import BadValue
from zcdp.plans.plan_text import parse

__all__ = ["Gathered", "design_id", "gather"]


def design_id(text: bytes) -> str:
    """What messages call a design file.

    >>> design_id(b"{}")
    '44136fa355b3678a'
    """
    return hashlib.sha256(text).hexdigest()[:16]


@dataclass
class Gathered:
    """How many messages there were."""

    reports: int = 0
    copies: int = 0
    """Messages that had been received before."""
    other_days: int = 0
    refused: int = 0
    """Messages that no client of this design sends: they were left out."""
    why: str = ""
    """Of the first of these: its line, and what is wrong."""


class _Design:
    """What reports of a design file look like: of values, or of strings."""

    def __init__(self, path: Path) -> None:
        whole = path.read_bytes()
        self.id, text = design_id(whole), whole.decode("utf-8")
        try:
            kind = json.loads(text).get("format")
        except (ValueError, AttributeError):
            raise BadValue(f"{path}: is no design file of a client: `zcdp choose --client` writes one") from None
        self.mechanism: Any
        if kind == FORMAT:
            self.mechanism = HeavyHitters.read(text, path)
            self.k, self.days, self.bytes = self.mechanism.length, 1, self.mechanism.report_bytes
        else:
            said = read_client_design(text, path)
            self.mechanism, self.k = parse(said["mechanism"]).parts[0][0], said["k"]
            self.days, self.bytes = said["days"]["of"], said["report"]["bytes"]
        self.may_be_sent: Callable[[bytes], bool] = (
            self.mechanism._may_be_sent if kind == FORMAT else wire_check(self.mechanism, self.k)
        )

    def rows(self, block: bytes) -> NDArray[Any]:
        """Reports in the form that files have."""
        if isinstance(self.mechanism, HeavyHitters):
            return np.frombuffer(block, dtype=np.uint8).reshape(-1, self.bytes)
        return reports_from_wire(self.mechanism, self.k, block)


def gather(design: Path, messages: Iterable[Path], out: Path, *, day: int = 1) -> Gathered:
    """Write the reports of one day to a new file.

    Messages that no client of this design sends are left out and counted: anybody can send some, and one of them must
    not keep the reports of all others from being counted.
    """
    said = _Design(design)
    if out.exists():
        raise BadValue(f"{out}: exists already: reports are written to a new file")
    if not 1 <= day <= said.days:
        raise BadValue(f"day ({day}) must be from 1 to {said.days}, the days of the design")
    found = Gathered()
    draft = out.with_name(f".{out.name}.part")
    try:
        write_reports(draft, said.mechanism, said.k, _blocks(said, messages, day, found))
        if not found.reports:
            raise BadValue(f"there is no report of day {day}" + (found.why and f": {found.why}"))
        draft.rename(out)
    finally:
        draft.unlink(missing_ok=True)
    return found


def _blocks(design: _Design, messages: Iterable[Path], day: int, found: Gathered) -> Iterator[NDArray[Any]]:
    seen: dict[bytes, bytes] = {}
    waiting: list[bytes] = []
    for path in messages:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    name, when, report = _message(line, design)
                    mark = hashlib.blake2b(report, digest_size=8).digest()
                    if when == day and seen.setdefault(name, mark) != mark:
                        raise BadValue("has the id of another report: an id is for one report")
                except BadValue as error:
                    found.refused += 1
                    found.why = found.why or f"{path}:{number}: {error}"
                    continue
                if when != day:
                    found.other_days += 1
                elif len(seen) == found.reports:
                    found.copies += 1
                else:
                    found.reports += 1
                    waiting.append(report)
                if len(waiting) == BLOCK:
                    yield design.rows(b"".join(waiting))
                    waiting = []
    if waiting:
        yield design.rows(b"".join(waiting))


def _message(line: bytes, design: _Design) -> tuple[bytes, int, bytes]:
    """The id, the day and the report of a message; `BadValue` for one that no client of this design sends."""
    try:
        said = json.loads(line)
        version, of, day, name, report = (said[one] for one in ("zcdp", "design", "day", "id", "report"))
        bits = bytes.fromhex(name)
        raw = base64.b64decode(report, validate=True)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadValue("is no message of a client") from None
    if version != 1 or type(day) is not int or len(bits) != 16:
        raise BadValue("is no message that this version reads")
    if of != design.id:
        raise BadValue(f"is of the design {str(of)[:16]}, not of {design.id}")
    if not 1 <= day <= design.days:
        raise BadValue(f"its day must be from 1 to {design.days}")
    if len(raw) != design.bytes:
        raise BadValue(f"the report has {len(raw)} bytes, not {design.bytes}")
    if not design.may_be_sent(raw):
        raise BadValue("the report is none that a client of this design sends")
    return bits, day, raw
