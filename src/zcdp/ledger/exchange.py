"""Export and import: a ledger as JSON lines, one entry each, sealed bytes with the entry that sealed them."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Iterable, Iterator
from typing import IO, Any

from zcdp.errors import BadType
from zcdp.ledger.chain import Entry, sealed_digest
from zcdp.ledger.errors import LedgerError
from zcdp.ledger.replay import Replay
from zcdp.ledger.store import Store

__all__ = ["export", "load"]

FIELDS = Entry._fields


def export(store: Store, file: IO[str]) -> int:
    """Write every entry; how many there are."""
    encode, count = json.JSONEncoder(ensure_ascii=True).encode, 0
    for entry in store.entries():
        line: dict[str, Any] = dict(zip(FIELDS, entry, strict=True))
        if entry.kind == "seal":
            data = store.sealed(entry.account, entry.key)
            if data is None:
                raise LedgerError(f"entry {entry.seq}: the sealed bytes are missing: zcdp ledger verify says more")
            line["sealed"] = b64encode(data).decode()
        file.write(encode(line) + "\n")
        count += 1
    return count


def load(store: Store, lines: Iterable[str]) -> int:
    """Make a ledger of exported lines; it is checked like any other, and refused as a whole if anything is wrong."""
    replay, sealed = Replay(), []

    def entries() -> Iterator[Entry]:
        for number, line in enumerate(lines, 1):
            entry, data = _line(number, line)
            if data is not None:
                if sealed_digest(data) != entry.what:
                    raise LedgerError(f"line {number}: the sealed bytes are not those on the record")
                sealed.append((entry.account, entry.key, data))
            yield entry

    def checked() -> Iterator[Entry]:
        for entry in replay.checked(entries()):
            if replay.findings:
                raise LedgerError(replay.findings[0])
            yield entry
        if replay.head.seq == 0:
            raise LedgerError("there is nothing to import")

    held = list(checked())
    rows = [(a.name, a.terms.to_json(), str(a.budget), str(a.spent)) for a in replay.accounts.values()]
    store.load(held, rows, sealed)
    return len(held)


def _line(number: int, line: str) -> tuple[Entry, bytes | None]:
    try:
        data = json.loads(line)
        sealed = data.pop("sealed", None)
        entry = Entry(**data)
        if type(entry.seq) is not int or not all(type(value) is str for value in entry[1:]):
            raise BadType(line)
        if (sealed is not None) != (entry.kind == "seal"):
            raise BadType(line)
        return entry, None if sealed is None else b64decode(sealed, validate=True)
    except (ValueError, TypeError, AttributeError, RecursionError, Error):
        raise LedgerError(f"line {number}: not an entry of a ledger") from None
