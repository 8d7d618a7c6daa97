"""The schema: published steps are never edited, and only this version is touched."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from zcdp import Laplace
from zcdp.ledger import Ledger, LedgerError
from zcdp.ledger.migrations import FORMAT, STEPS, check_format, script, statements
from zcdp.ledger.postgres import Postgres
from zcdp.ledger.sqlite import SQLite
from zcdp.ledger.store import Store

# Those of version 2 are added when 0.3.0 is published.
PUBLISHED = {
    "sqlite_1.sql": "b271da49d7dd7f30159c8e5db66edd0562f4e6d49094553de06e9f26aa30811a",
    "postgres_1.sql": "78fb18157dcb29aab0c7c987ae1562e1ab85b9c6b278a62f4e9e01728c57f1ba",
}


def test_a_published_step_of_the_schema_is_never_edited() -> None:
    """Ledgers that were made by it have its tables, triggers and functions: what is to change is a further step."""
    assert {name: sha256(script(name).encode()).hexdigest() for name in PUBLISHED} == PUBLISHED
    assert {name for steps in STEPS.values() for name in steps} - set(PUBLISHED) == {"sqlite_2.sql", "postgres_2.sql"}


def test_only_this_version_of_the_schema_is_touched() -> None:
    check_format("a.db", 3, 3)
    with pytest.raises(LedgerError, match="newer than this zcdp"):
        check_format("a.db", 4, 3)
    with pytest.raises(LedgerError, match="zcdp ledger upgrade brings it up"):
        check_format("a.db", 2, 3)
    found = statements(script(STEPS["sqlite"][0]))
    assert [one.split("(")[0].split(" BEFORE")[0].split(" ON")[0].split("\n")[-1].strip() for one in found] == [
        "CREATE TABLE ledger", "CREATE TABLE account", "CREATE TABLE entry", "CREATE UNIQUE INDEX entry_once",
        "CREATE TABLE sealed", "CREATE TRIGGER entry_is_not_edited", "CREATE TRIGGER entry_is_not_removed",
        "CREATE TRIGGER sealed_is_not_edited", "CREATE TRIGGER sealed_is_not_removed",
    ]  # fmt: skip


# --- versions of the schema ---

NEXT = {
    "sqlite": "CREATE TABLE note (seq INTEGER PRIMARY KEY, text TEXT NOT NULL); UPDATE ledger SET format = 3;",
    "postgres": "CREATE TABLE zcdp_ledger.note (seq bigint PRIMARY KEY, text text NOT NULL);",
}


def future(address: str, step: str | None = None) -> Store:
    """The store of a zcdp that is one version ahead."""
    kind = "postgres" if address.startswith("postgresql") else "sqlite"
    steps = [*STEPS[kind], NEXT[kind] if step is None else step]
    if kind == "sqlite":
        return SQLite(Path(address), timeout=5, steps=steps)
    return Postgres(address, timeout=5, steps=steps)


def ahead(address: str, step: str | None = None) -> Ledger:
    ledger = Ledger(address)
    ledger._store = future(address, step)
    return ledger


def test_an_old_ledger_is_upgraded_and_old_programs_are_refused(ledger: Ledger, address: str) -> None:
    ledger.spend("census", Laplace(epsilon="0.1"), key="a")
    head = ledger.head
    with ahead(address) as newer:
        with pytest.raises(LedgerError, match="zcdp ledger upgrade brings it up"):
            newer.spend("census", rho="0.1", key="b")
        assert newer.upgrade() == FORMAT
        assert newer.upgrade() == FORMAT + 1  # nothing more to do
        newer.spend("census", rho="0.1", key="b")
        assert newer.verify(expect_head=head)
        assert [entry.kind for entry in newer.history()] == ["ledger", "open", "spend", "upgrade", "spend"]
        # the old program had the ledger open all the time
        with pytest.raises(LedgerError, match=r"newer than this zcdp|is of schema 3, this zcdp knows 2"):
            ledger.spend("census", rho="0.1", key="c")
        with Ledger(address) as other, pytest.raises(LedgerError, match=r"newer than this zcdp"):
            other.spend("census", rho="0.1", key="c")
        assert newer.account("census").spent < 1


def test_an_upgrade_that_fails_changes_nothing(ledger: Ledger, address: str) -> None:
    head = ledger.head
    step = "CREATE TABLE note (a INTEGER); CREATE TABLE entry (a INTEGER); SELECT no_such_column FROM nowhere;"
    with ahead(address, step) as newer, pytest.raises(LedgerError):
        newer.upgrade()
    ledger.spend("census", rho="0.1", key="a")
    assert ledger.verify(expect_head=head)


def test_steps_are_as_many_on_both_databases() -> None:
    assert len(STEPS["sqlite"]) == len(STEPS["postgres"]) == FORMAT
