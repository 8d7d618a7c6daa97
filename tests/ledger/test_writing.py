"""The time and the login that a ledger writes are the system's own; names can be seen."""

from __future__ import annotations

import os
import pwd
import time
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from zcdp import Laplace, Ledger
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


def told(code: str | None, primary: str = "", detail: str = "") -> Any:
    return SimpleNamespace(
        sqlstate=code, diag=SimpleNamespace(message_primary=primary, message_detail=detail), __str__=lambda: "x"
    )


# What a user gets, on both databases: exact sums, one debit a key, sealed answers, budgets raised on the record.


TENTH = Laplace(epsilon="0.1")


BAD_NAMES = [
    "",
    " ",
    "a ",
    "a\nb",
    "a\0b",
    "a\x1b[2J",
    "a\u202eb",
    "a\u200bb",
    "\ud800",
    "x" * 201,
    "a\u2028b",
    "a\u00a0b",
]


@pytest.mark.parametrize("bad", BAD_NAMES, ids=ascii)
def test_names_that_cannot_be_seen_are_refused(ledger: Ledger, bad: str) -> None:
    before = ledger.head
    for call in (
        lambda: ledger.open_account(bad, unit="person", rho=1),
        lambda: ledger.spend("census", TENTH, key=bad),
        lambda: ledger.spend(bad, TENTH, key="a"),
        lambda: ledger.open_account("b", unit=bad, rho=1),
    ):
        with pytest.raises(ValueError, match="must"):
            call()
    assert ledger.head == before


def test_names_in_every_script(ledger: Ledger) -> None:
    for name in ("日本の調査", "перепись'; DROP TABLE entry; --", "a%s{}\\", "🧮", "cafe\u0301", "x" * 200):
        ledger.open_account(name, unit="Person", rho=1)
        ledger.spend(name, TENTH, key=name, why="\u202e<script>\x1b[31m\n'\"", who="\x07")
        assert ledger.spend(name, TENTH, key=name).repeated
    assert ledger.spend("caf\u00e9", TENTH, key="caf\u00e9").repeated  # one name, however it is composed
    assert ledger.verify()


@pytest.mark.parametrize("why", ["a\0b", "\ud800", "x" * 4001, 7])
def test_reasons_that_cannot_be_written_are_refused(ledger: Ledger, why: str) -> None:
    with pytest.raises((ValueError, TypeError), match="why"):
        ledger.spend("census", TENTH, key="a", why=why)
    assert len(list(ledger.history())) == 2
