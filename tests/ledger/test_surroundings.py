"""What a ledger knows of its surroundings: the clock, the login, the disk, and what a database says when it fails."""

from __future__ import annotations

import os
import pwd
import sqlite3
import time
from array import array
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from zcdp import Laplace
from zcdp.ledger import BudgetExceeded, Ledger, LedgerBusy, LedgerError, book
from zcdp.ledger.migrations import STEPS, check_format, script, statements
from zcdp.ledger.postgres import _secrets, _sound, _why, shown_address
from zcdp.ledger.postgres import failure as refused
from zcdp.ledger.sqlite import SQLite, failure
from zcdp.ledger.store import KeyTaken, Request, UnknownAccount
from zcdp.ledger.writing import _name, login, now


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="NOT CHECKED: the zone of the clock cannot be set here")
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "XXX+11"])
def test_times_are_in_utc_wherever_the_machine_is(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        told = datetime.strptime(now(), "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
        assert abs((told - datetime.fromtimestamp(time.time(), UTC)).total_seconds()) < 600
    finally:
        monkeypatch.undo()
        time.tzset()


def test_the_login_is_the_systems_and_not_the_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "somebody-else")
    assert login() == pwd.getpwuid(os.getuid()).pw_name
    assert _name(3_999_999_999) == "uid 3999999999"


def test_every_promise_to_the_disk_is_asked_for(tmp_path: Path) -> None:
    with Ledger(tmp_path / "a.db") as ledger:
        ledger.open_account("census", unit="person", rho=1)
        connection = ledger._store._opened.connection  # type: ignore[attr-defined]
        asked = {"synchronous": 2, "fullfsync": 1, "checkpoint_fullfsync": 1, "cell_size_check": 1, "trusted_schema": 0}
        found = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in asked}
        assert found == asked
        assert connection.execute("PRAGMA application_id").fetchone() == (int.from_bytes(b"zcdp", "big"),)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (sqlite3.SQLITE_FULL, "the disk is full"),
        (sqlite3.SQLITE_READONLY, "it is read-only"),
        (sqlite3.SQLITE_IOERR, "the disk reports an error"),
        (sqlite3.SQLITE_IOERR_FSYNC, "the disk reports an error"),
        (sqlite3.SQLITE_CANTOPEN, "it cannot be opened"),
        (sqlite3.SQLITE_PERM, "permission denied"),
        (sqlite3.SQLITE_NOTADB, "it is not a ledger"),
        (sqlite3.SQLITE_CORRUPT, "it is damaged"),
        (sqlite3.SQLITE_ERROR, "something else"),
    ],
)
def test_what_sqlite_says_in_plain_words(code: int, words: str) -> None:
    error = sqlite3.OperationalError("something else")
    error.sqlite_errorcode = code  # type: ignore[misc]
    assert str(failure("a.db", error, 5, write=False)) == f"a.db cannot be read: {words}"
    written = failure("a.db", error, 5, write=True)
    assert str(written) == f"a.db cannot be written: {words}: nothing was acknowledged, repeat with the same key"
    assert not isinstance(written, LedgerBusy)


@pytest.mark.parametrize("code", [sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_BUSY_SNAPSHOT])
def test_a_busy_ledger_is_called_busy(code: int) -> None:
    error = sqlite3.OperationalError("locked")
    error.sqlite_errorcode = code  # type: ignore[misc]
    found = failure("a.db", error, 2.5, write=True)
    assert isinstance(found, LedgerBusy)
    assert str(found) == "a.db is in use by another program (waited 2.5 s): nothing was changed"


ASKED = Request("census", "a key", "what", "3/4")


def told(code: str | None, primary: str = "", detail: str = "") -> Any:
    return SimpleNamespace(
        sqlstate=code, diag=SimpleNamespace(message_primary=primary, message_detail=detail), __str__=lambda: "x"
    )


@pytest.mark.parametrize(
    ("error", "request_", "kind", "words"),
    [
        (told("ZC001", detail="1 1/2"), [ASKED], BudgetExceeded, "the cost (0.75) exceeds what remains (0.5)"),
        (told("ZC002"), ASKED, KeyTaken, "the key 'a key' was used for something else"),
        (told("ZC002"), Request("census"), FileExistsError, "census"),
        (told("ZC003"), [ASKED], UnknownAccount, "census"),
        (told("ZC004", "a budget is raised, with a reason"), ASKED, ValueError, "a budget is raised, with a reason"),
        (
            told("ZC004", "nothing is sealed under this key"),
            None,
            LedgerError,
            "here: nothing is sealed under this key",
        ),
        (told("ZC006", "the ledger is of schema 2"), None, LedgerError, "here: the ledger is of schema 2"),
        (told("55P03"), None, LedgerBusy, "here is in use by another program (waited 30 s): nothing was changed"),
        (told("42501"), None, LedgerError, "this login may not do that"),
        (told("25006"), None, LedgerError, "it is read-only: nothing was changed"),
        (told("53100"), None, LedgerError, "disk is full: nothing was acknowledged, repeat with the same key"),
        (told("08006"), None, LedgerError, "it is not known what was done, repeat with the same key"),
        (told("57P01"), None, LedgerError, "it is not known what was done, repeat with the same key"),
        (told(None), None, LedgerError, "it is not known what was done, repeat with the same key"),
        (told("22012"), None, LedgerError, "here: the server refused (22012)"),
    ],
)
def test_what_a_server_refuses_is_what_sqlite_would(error: Any, request_: Any, kind: type, words: str) -> None:
    found = refused("here", error, 30, request_)
    assert isinstance(found, kind)
    assert words in str(found)


@pytest.mark.parametrize(
    ("given", "sound"),
    [
        ((130000, "UTF8", "on", "on"), True),
        ((129999, "UTF8", "on", "on"), False),
        ((160000, "LATIN1", "on", "on"), False),
        ((160000, "UTF8", "off", "on"), False),
        ((160000, "UTF8", "on", "off"), False),
    ],
)
def test_a_server_that_may_lose_what_it_acknowledged_is_refused(given: tuple[int, str, str, str], sound: bool) -> None:
    if sound:
        return _sound("here", *given)
    with pytest.raises(LedgerError, match="here: "):
        _sound("here", *given)
    return None


def test_no_secret_of_an_address_is_shown() -> None:
    address = "postgresql://me:p%40ss@db:5433/x?sslpassword=oth%20er&application_name=job"
    assert _secrets(address) == {"p%40ss", "p@ss", "oth er"}
    assert shown_address(address) == "postgresql://db:5433/x"
    assert shown_address("postgresql:///?host=%2Frun%2Fpg&dbname=b") == "postgresql:///run/pg/b"
    assert shown_address("postgresql://me:a@b@db/x") == "postgresql://db/x"
    assert shown_address("postgresql://[bad/x") == "postgresql://"
    for secret in ("p@ss", "p%40ss", "oth er"):
        assert _why(Exception(f"\n no route for {secret} here \n second"), address) == "the connection failed"
    assert _why(Exception("\n  no route \n more"), address) == "no route"
    assert _why(Exception(""), address) == "no answer"
    assert _why(Exception("anything"), "postgresql://[bad/x") == "the connection failed"


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


def test_an_account_of_another_schema_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    newer = SQLite(path, timeout=5, steps=[*STEPS["sqlite"], "CREATE TABLE note (a INTEGER);"])
    with Ledger(path) as ledger:
        ledger.open_account("census", unit="person", rho=1)
        with pytest.raises(LedgerError, match="zcdp ledger upgrade brings it up"):
            newer.account("census")
        newer.upgrade()
        assert newer.account("census") is not None
        with pytest.raises(LedgerError, match="newer than this zcdp"):
            ledger.account("census")
    newer.close()
