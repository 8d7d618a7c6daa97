"""Random histories of budgets, with clocks that step back, against the rules in memory: on both databases."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from ledger.budget_model import History
from ledger.server import Server

from zcdp.ledger import Ledger

TOGETHER = 25
"""Histories in one ledger, each with accounts of its own."""


def histories(
    first: int, count: int, place: Callable[[int], str], clock: Callable[[Ledger, str], None]
) -> dict[str, int]:
    outcomes: dict[str, int] = {}
    for start in range(first, first + count, TOGETHER):
        with Ledger(place(start)) as ledger:
            for seed in range(start, min(start + TOGETHER, first + count)):
                for name, times in History(ledger, clock, seed).run(22, f"h{seed}").items():
                    outcomes[name] = outcomes.get(name, 0) + times
            assert ledger.verify().findings == ()
    return outcomes


def on_sqlite(folder: Path, monkeypatch: pytest.MonkeyPatch, first: int, count: int) -> dict[str, int]:
    def clock(_: Ledger, at: str) -> None:
        for module in ("sqlite", "writing"):
            monkeypatch.setattr(f"zcdp.ledger.{module}.now", lambda: at)

    return histories(first, count, lambda n: str(folder / f"{n}.db"), clock)


def on_postgres(server: Server, monkeypatch: pytest.MonkeyPatch, first: int, count: int) -> dict[str, int]:
    """The clock is a setting of the ledger's own connection, set only where time has moved."""
    shown = ""

    def place(_: int) -> str:
        nonlocal shown
        where = server.fresh()
        with Ledger(where) as ledger:
            ledger.open_account("any", unit="person", rho=1)
        with psycopg.connect(where, autocommit=True) as connection:
            connection.execute(
                "CREATE OR REPLACE FUNCTION zcdp_ledger.stamp() RETURNS text LANGUAGE sql VOLATILE AS "
                "$$SELECT current_setting('zcdp.clock')$$"
            )
        shown = ""
        return where

    def clock(ledger: Ledger, at: str) -> None:
        nonlocal shown
        if at != shown:
            monkeypatch.setattr("zcdp.ledger.writing.now", lambda: at)
            set_clock = "SELECT set_config('zcdp.clock', %s, false)"
            ledger._store._run(lambda connection: connection.execute(set_clock, (at,)))
            shown = at

    return histories(first, count, place, clock)


KINDS = {"Spend", "Reservation", "BudgetExceeded", "KeyConflict", "NothingReserved", "AccountClosed", "Account"}


def test_histories_on_sqlite(quick: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(on_sqlite(quick, monkeypatch, 0, 150)) >= KINDS


def test_histories_on_postgres(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(on_postgres(server, monkeypatch, 10**6, 10)) >= {"Spend", "Reservation", "BudgetExceeded"}


@pytest.mark.deep
def test_ten_thousand_histories_on_sqlite(quick: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = on_sqlite(quick, monkeypatch, 0, 10000)
    print(outcomes)  # noqa: T201 - with -s: how often each answer was seen
    assert set(outcomes) >= KINDS


@pytest.mark.deep
def test_ten_thousand_histories_on_postgres(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = on_postgres(server, monkeypatch, 0, 10000)
    print(outcomes)  # noqa: T201
    assert set(outcomes) >= KINDS
