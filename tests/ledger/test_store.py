"""What every store keeps to: seals are measured in bytes, and an error in the middle of a write leaves nothing."""

from __future__ import annotations

from array import array
from pathlib import Path

import pytest

from zcdp import Laplace
from zcdp.ledger import Ledger, LedgerError, book
from zcdp.ledger.migrations import STEPS
from zcdp.ledger.sqlite import SQLite
from zcdp.ledger.store import Request, Store


def test_a_seal_is_measured_in_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book, "LARGEST_SEAL", 16)
    with Ledger(tmp_path / "a.db") as ledger:
        ledger.open_account("census", unit="person", rho=1)
        for n in range(2):
            ledger.spend("census", Laplace(epsilon="0.1"), key=f"{n}")
        for large in (b"x" * 17, memoryview(array("d", [1.0, 2.0, 3.0]))):
            with pytest.raises(ValueError, match="must have at most"):
                ledger.seal("census", "0", large)  # type: ignore[arg-type]
        with pytest.raises(LedgerError, match="nothing is sealed under the key '0'"):
            ledger.sealing("census", "0")
        assert ledger.seal("census", "0", b"x" * 16, who="me") == b"x" * 16
        numbers = memoryview(array("d", [1.0, 2.0]))
        assert ledger.seal("census", "1", numbers) == bytes(numbers)  # type: ignore[arg-type]
        sealing = ledger.sealing("census", "0")
        assert (sealing.kind, sealing.key, sealing.who) == ("seal", "0", "me")
        assert ledger.verify()


def test_an_account_of_a_newer_schema_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    newer = SQLite(path, timeout=5, steps=[*STEPS["sqlite"], "CREATE TABLE note (a INTEGER);"])
    with Ledger(path) as ledger:
        ledger.open_account("census", unit="person", rho=1)
        assert newer.account("census") == ledger._store.account("census")  # an older one is read, and not written
        with pytest.raises(LedgerError, match="zcdp ledger upgrade brings it up"):
            newer.close_account(Request("census", why="old"))
        newer.upgrade()
        assert newer.account("census") is not None
        with pytest.raises(LedgerError, match="newer than this zcdp"):
            ledger.account("census")
    newer.close()


def test_an_error_in_the_middle_of_a_write_leaves_nothing(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second of three debits fails half way: the first is gone with it."""
    store: Store = ledger._store
    before = ledger.head
    asked = [Request("census", f"k{n}", '{"rho": "1/10"}', "1/10" if n != 1 else "0.1", version="1") for n in range(3)]
    with pytest.raises(LedgerError):
        store.spend(asked)
    assert ledger.head == before
    assert ledger.verify()
