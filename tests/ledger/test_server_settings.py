"""Whatever a server, a database or a session is set to, a ledger there is kept as the script says, or is refused."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from ledger.server import Server

from zcdp import Laplace
from zcdp.ledger import BudgetExceeded, Ledger, LedgerError

psycopg = pytest.importorskip("psycopg")
TENTH = Laplace(epsilon="0.1")


@pytest.fixture
def address(server: Server) -> str:
    found = server.fresh()
    with Ledger(found) as ledger:
        ledger.open_account("census", unit="person", rho="0.01")
        ledger.release("census", TENTH, lambda: b"noisy", key="a")
    return found


@pytest.mark.parametrize("table", ["entry", "sealed"])
@pytest.mark.parametrize("change", ["UPDATE {} SET key = key", "DELETE FROM {}", "TRUNCATE {}"])
def test_even_the_owner_only_adds_to_the_record(address: str, table: str, change: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection, pytest.raises(psycopg.Error, match="only added to"):
        connection.execute(change.format(f"zcdp_ledger.{table}"))
    with Ledger(address) as ledger:
        assert ledger.verify()
        assert ledger.sealed("census", "a") == b"noisy"


@contextmanager
def system(server: Server, name: str, value: str) -> Iterator[None]:
    """A setting of the whole server, which takes effect when the server has read its files again."""

    def change(statement: str, wanted: str) -> None:
        with psycopg.connect(server.address("postgres"), autocommit=True) as connection:
            connection.execute(statement)
            connection.execute("SELECT pg_reload_conf()")
        for _ in range(200):
            with psycopg.connect(server.address("postgres")) as connection:
                if connection.execute(f"SHOW {name}").fetchone() == (wanted,):
                    return
            time.sleep(0.02)
        raise AssertionError(name)

    change(f"ALTER SYSTEM SET {name} = {value}", value)
    try:
        yield
    finally:
        change(f"ALTER SYSTEM RESET {name}", "on")


@pytest.mark.parametrize("name", ["fsync", "full_page_writes"])
def test_a_server_that_may_lose_what_it_acknowledged_is_refused(server: Server, address: str, name: str) -> None:
    with system(server, name, "off"), Ledger(address) as ledger:
        for call in (
            lambda: ledger.spend("census", TENTH, key="b"),
            ledger.accounts,
            lambda: ledger.open_account("new", unit="person", rho=1),
        ):
            with pytest.raises(LedgerError, match="may lose what it acknowledged"):
                call()
    with Ledger(address) as ledger:
        assert len(list(ledger.history())) == 5
        assert ledger.verify()


def test_a_database_of_another_encoding_is_refused(server: Server) -> None:
    with psycopg.connect(server.address("postgres"), autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS old")
        connection.execute("CREATE DATABASE old ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    with pytest.raises(LedgerError, match="must have the encoding UTF8, not LATIN1"):
        Ledger(server.address("old")).open_account("census", unit="person", rho=1)


SETTINGS = {
    "synchronous_commit": "off",
    "default_transaction_isolation": "'serializable'",
    "default_transaction_deferrable": "on",
    "search_path": "pg_temp, public",
    "standard_conforming_strings": "off",
    "escape_string_warning": "off",
    "TimeZone": "'Asia/Kathmandu'",
    "DateStyle": "'German'",
    "bytea_output": "'escape'",
    "extra_float_digits": "-15",
    "client_encoding": "'LATIN1'",
    "transform_null_equals": "on",
    "array_nulls": "off",
    "check_function_bodies": "off",
    "row_security": "off",
}


@contextmanager
def database(address: str, settings: dict[str, str]) -> Iterator[None]:
    """What every session of the database starts with."""
    with psycopg.connect(address, autocommit=True) as connection:
        for name, value in settings.items():
            connection.execute(f"ALTER DATABASE shared SET {name} = {value}")
    try:
        yield
    finally:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute("ALTER DATABASE shared RESET ALL")


@pytest.mark.parametrize("fresh", [True, False], ids=["a new ledger", "one that is there"])
def test_settings_of_a_database_change_nothing(server: Server, address: str, fresh: bool) -> None:
    with database(address, SETTINGS):
        if fresh:
            server.fresh()
        with Ledger(address) as ledger:
            ledger.open_account("日本", unit="person", rho="0.01")
            ledger.release("日本", TENTH, lambda: b"\x00\xff\\noisy", key="Ä\\b", why="ü\\'\u20ac", who="\\")
            assert ledger.sealed("日本", "Ä\\b") == b"\x00\xff\\noisy"
            with pytest.raises(BudgetExceeded):
                ledger.spend("日本", Laplace(epsilon=1), key="b")
            with pytest.raises(ValueError, match="must"):
                ledger.spend("日本", TENTH, key="b\x07")
            times = [entry.at for entry in ledger.history()]
            assert times == sorted(times)
            assert ledger.verify().findings == ()
        with psycopg.connect(address, client_encoding="UTF8") as connection:
            connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
            assert connection.execute("SHOW synchronous_commit").fetchone() == ("off",)
            connection.execute(
                "SELECT zcdp_ledger.spend(1, '日本', 'k', '{\"rho\": \"1/1000\"}', '1/1000', '', '', '')"
            )
            assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
    with Ledger(address) as ledger:
        assert ledger.verify().findings == ()


def test_a_database_that_is_only_read(address: str) -> None:
    with database(address, {"default_transaction_read_only": "on"}), Ledger(address) as ledger:
        with pytest.raises(LedgerError, match="it is read-only: nothing was changed"):
            ledger.spend("census", TENTH, key="b")
        assert ledger.verify()
