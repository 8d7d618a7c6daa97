"""A ledger that zcdp 0.2.0 made, kept as it was: it opens, verifies and migrates, forwards only."""

from __future__ import annotations

import shutil
import sqlite3
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest
from ledger.server import Server

from zcdp import Laplace
from zcdp.ledger import Ledger, LedgerError
from zcdp.ledger.migrations import script
from zcdp.ledger.sqlite import SQLite

KEPT = Path(__file__).parent / "kept" / "budget-0.2.0.db"
HEAD = "18:321b7a531b6a915e239b47416995a3a10ac0037deeae7708fa6c357c6ca114d3"


@pytest.fixture(params=["sqlite", "postgres"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        shutil.copy(KEPT, tmp_path / "budget.db")
        return str(tmp_path / "budget.db")
    server: Server = request.getfixturevalue("server")
    address = server.fresh()
    kept = sqlite3.connect(f"file:{KEPT}?mode=ro&immutable=1", uri=True)
    with psycopg.connect(address) as connection:  # the same rows in the tables that 0.2.0 made on a server
        connection.execute(script("postgres_1.sql").encode())
        for table in ("entry", "account", "sealed"):
            for row in kept.execute(f"SELECT * FROM {table}"):
                connection.execute(f"INSERT INTO zcdp_ledger.{table} VALUES ({', '.join(['%s'] * len(row))})", row)
        [(_, version, length, head)] = kept.execute("SELECT * FROM ledger").fetchall()
        connection.execute("INSERT INTO zcdp_ledger.ledger VALUES (true, %s, %s, %s)", (version, length, head))
    kept.close()
    return address


def check(ledger: Ledger) -> None:
    assert [account.name for account in ledger.accounts()] == ["app", "census", "survey"]
    census = ledger.account("census")
    assert (census.budget, census.reserved, census.above, census.closed) == (2, 0, (), False)
    spends = [Laplace(epsilon="0.1").rho_fraction] * 3 + [Fraction(1, 7)]
    plan = Fraction(next(entry.amount for entry in ledger.history("census") if entry.key == "plan"))
    assert census.spent == sum(spends) + plan
    assert ledger.sealed("census", "key 1") == b"noisy 1"
    assert ledger.verify(expect_head=HEAD).findings == ()


def test_it_opens_and_verifies_as_it_is(old: str) -> None:
    with Ledger(old, expect_head=HEAD) as ledger:
        check(ledger)
        assert ledger.reservations() == []
        assert ledger.head == HEAD
        for write in (
            lambda: ledger.spend("census", rho="0.1", key="new"),
            lambda: ledger.reserve("census", rho="0.1", key="new", expires=5),
            lambda: ledger.open_account("new", unit="person", rho=1),
            lambda: ledger.close_account("census", why="old"),
        ):
            with pytest.raises(
                LedgerError, match="is of schema 1, this zcdp writes 2: zcdp ledger upgrade brings it up"
            ):
                write()
        assert ledger.head == HEAD


def test_a_dry_run_changes_nothing(old: str) -> None:
    with Ledger(old) as ledger:
        assert ledger.upgrade(dry_run=True) == 1
        assert ledger.head == HEAD
        check(ledger)
        assert ledger.upgrade(dry_run=True) == 1


def test_it_migrates_and_goes_on(old: str) -> None:
    with Ledger(old) as ledger:
        assert ledger.upgrade() == 1
        check(ledger)
        assert ledger.upgrade() == ledger.upgrade(dry_run=True) == 2
        left = ledger.remaining("census")
        ledger.open_account("cap", unit="person", rho=1, under="census")
        ledger.spend("cap", rho="1/4", key="new")
        assert ledger.remaining("census") == left - Fraction(1, 4)
        assert ledger.spend("census", rho="1/7", key="known otherwise").repeated
        assert [entry.kind for entry in ledger.history()][18:] == ["upgrade", "open", "spend"]
        assert ledger.verify(expect_head=HEAD)


def test_the_version_before_refuses_it_with_a_sentence(old: str) -> None:
    """As 0.2.0 does, which knows the first step alone."""
    if old.startswith("postgresql"):
        from zcdp.ledger.postgres import Postgres

        before = Postgres(old, timeout=5, steps=["postgres_1.sql"])
    else:
        before = SQLite(Path(old), timeout=5, steps=["sqlite_1.sql"])  # type: ignore[assignment]
    with Ledger(old) as ledger:
        ledger.upgrade()
    with pytest.raises(LedgerError, match=r"is of schema 2, newer than this zcdp \(schema 1\): install a newer one"):
        before.state()
    before.close()


def test_programs_of_a_server_go_on_after_the_migration(server: Server, request: pytest.FixtureRequest) -> None:
    """What roles.sql of 0.2.0 allowed is allowed of the functions that replace those of then."""
    address = server.fresh()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("SET client_min_messages = warning")
        connection.execute(script("postgres_1.sql").encode())
        connection.execute("SELECT zcdp_ledger.begin_ledger(1, 'id', '0.2.0')")
        terms = '{"measure": "rho", "neighbours": "add-remove", "unit": "person"}'
        connection.execute("SELECT zcdp_ledger.open_account(1, 'census', %s, '1', '', '', '0.2.0')", (terms,))
        for name in ("zcdp_reader", "zcdp_spender"):
            connection.execute(f"DO $$ BEGIN CREATE ROLE {name}; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
        connection.execute("DROP ROLE IF EXISTS program; CREATE ROLE program LOGIN; GRANT zcdp_spender TO program")
        connection.execute("GRANT USAGE ON SCHEMA zcdp_ledger TO zcdp_reader, zcdp_spender")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA zcdp_ledger TO zcdp_reader, zcdp_spender")
    with Ledger(address) as owner:
        assert owner.upgrade() == 1
    with Ledger(address.replace("//ledger_owner@", "//program@")) as program:
        program.reserve("census", rho="0.1", key="a", expires=100)
        program.commit("census", "a")
        assert program.verify()
