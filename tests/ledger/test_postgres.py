"""On PostgreSQL a program may spend and nothing else, no password gets into a message, no setting loses a commit."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from ledger.server import USER, Server

from zcdp import Laplace
from zcdp.accounting.filter import GRID
from zcdp.ledger import (
    AccountClosed,
    BudgetExceeded,
    KeyConflict,
    Ledger,
    LedgerBusy,
    LedgerError,
    NothingReserved,
)
from zcdp.ledger.migrations import script
from zcdp.ledger.postgres import FIND_ENTRY as POSTGRES
from zcdp.ledger.postgres import _secrets, _sound, _why, shown_address
from zcdp.ledger.postgres import failure as refused
from zcdp.ledger.store import KeyTaken, Request, UnknownAccount

TENTH = Laplace(epsilon="0.1")


@pytest.fixture
def addresses(server: Server) -> dict[str, str]:
    address = server.fresh()
    with Ledger(address) as ledger:
        ledger.open_account("census", unit="person", rho="0.01")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("SET client_min_messages = warning")
        connection.execute(script("roles.sql"))
        connection.execute(script("roles.sql"))  # a second time changes nothing
        for name in ("program", "auditor", "stranger"):
            connection.execute(f"DROP ROLE IF EXISTS {name}")
            connection.execute(f"CREATE ROLE {name} LOGIN")
        connection.execute("GRANT zcdp_spender TO program; GRANT zcdp_reader TO auditor")
    names = (USER, "program", "auditor", "stranger")
    return {name: address.replace(f"//{USER}@", f"//{name}@") for name in names}


def test_a_program_spends_through_the_functions(addresses: dict[str, str]) -> None:
    with Ledger(addresses["program"]) as ledger:
        ledger.release("census", TENTH, lambda: b"noisy", key="a", who="not me")
        with pytest.raises(BudgetExceeded):
            ledger.spend("census", Laplace(epsilon=1), key="b")
        assert ledger.verify()
        assert [entry.login for entry in ledger.history("census")] == [USER, "program", "program", "program"]
        for refused in (
            lambda: ledger.raise_budget("census", rho=9, why="mine"),
            lambda: ledger.open_account("own", unit="person", rho=9),
            lambda: ledger.lower_budget("census", rho="0.009", why="mine"),
            lambda: ledger.close_account("census", why="mine"),
        ):
            with pytest.raises(LedgerError, match="this login may not do that"):
                refused()


FORBIDDEN = [
    "UPDATE zcdp_ledger.account SET spent = '0'",
    "UPDATE zcdp_ledger.ledger SET head = head",
    "INSERT INTO zcdp_ledger.entry VALUES (99, '', 'spend', 'census', 'x', '', '0', '', '', '', '', '')",
    "DELETE FROM zcdp_ledger.entry",
    "TRUNCATE zcdp_ledger.entry",
    "DELETE FROM zcdp_ledger.sealed",
    "DROP TRIGGER entry_stays ON zcdp_ledger.entry",
    "ALTER TABLE zcdp_ledger.entry DISABLE TRIGGER ALL",
    "DROP SCHEMA zcdp_ledger CASCADE",
    "CREATE TABLE zcdp_ledger.mine (a int)",
    "CREATE OR REPLACE FUNCTION zcdp_ledger.grid() RETURNS numeric LANGUAGE sql AS 'SELECT 1.0'",
    "SELECT zcdp_ledger.append('', 'spend', 'census', 'x', '', '0', '', '', '')",
    "SELECT zcdp_ledger.change_budget(2, 'raise', 'census', '{}', '99', 'why', '', '')",
    "SELECT zcdp_ledger.close_account(2, 'census', 'why', '', '')",
    "DELETE FROM zcdp_ledger.reservation",
    "SELECT zcdp_ledger.begin_ledger(2, 'x', 'y')",
    "SET SESSION AUTHORIZATION ledger_owner",
    "SET session_replication_role = replica",
]


@pytest.mark.parametrize("who", ["program", "auditor", "stranger"])
def test_nobody_but_the_owner_edits(addresses: dict[str, str], who: str) -> None:
    with Ledger(addresses["program"]) as ledger:
        ledger.release("census", TENTH, lambda: b"noisy", key="a")
        head = ledger.head
    with psycopg.connect(addresses[who], autocommit=True) as connection:
        for statement in FORBIDDEN:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)
        if who != "program":
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("SELECT zcdp_ledger.spend(2, 'census', 'k', 'w', '1/1000', '', '', '', false)")
    with Ledger(addresses[USER]) as ledger:
        assert ledger.verify(expect_head=head)
    if who == "stranger":
        with Ledger(addresses[who]) as ledger, pytest.raises(LedgerError, match="may not do that"):
            ledger.accounts()


@pytest.mark.parametrize(
    "cost",
    ["-1/10", "0", "0.1", "1/0", "2/20", "1/1", "1e-3", "NaN", "Infinity", "", " 1", "1/101", "0/1", "9" * 3000, None],
)
def test_the_function_accepts_only_amounts(addresses: dict[str, str], cost: str | None) -> None:
    with psycopg.connect(addresses["program"], autocommit=True) as connection, pytest.raises(psycopg.Error) as found:
        connection.execute("SELECT zcdp_ledger.spend(2, 'census', 'k', 'w', %s, '', '', '', false)", (cost,))
    assert found.value.sqlstate in ("ZC005", "ZC001")
    with Ledger(addresses[USER]) as ledger:
        assert ledger.verify()
        assert len(list(ledger.history())) == 2


def test_the_function_is_no_way_around_the_rules(addresses: dict[str, str]) -> None:
    """Under the right of its caller to set what a session may set: isolation, search path, commit without the disk."""
    with psycopg.connect(addresses["program"], autocommit=True) as connection:
        connection.execute("SET synchronous_commit = off; SET search_path = pg_temp, public")
        connection.execute("CREATE FUNCTION pg_temp.gcd(numeric, numeric) RETURNS numeric LANGUAGE sql AS 'SELECT 1.0'")
        connection.execute("CREATE FUNCTION pg_temp.sha256(bytea) RETURNS bytea LANGUAGE sql AS 'SELECT $1'")
        with connection.transaction():
            connection.execute("SELECT zcdp_ledger.spend(2, 'census', 'k', 'w', '1/1000', '', '', '', false)")
            assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
        connection.execute("SET default_transaction_isolation = 'repeatable read'")
        with pytest.raises(psycopg.Error, match="READ COMMITTED"):
            connection.execute("SELECT zcdp_ledger.spend(2, 'census', 'm', 'w', '1/1000', '', '', '', false)")
        for name, key in (("census", ""), ("census", "a\tb"), ("", "k"), ("x" * 201, "k"), ("census", "k" * 201)):
            with pytest.raises(psycopg.Error) as found:
                connection.execute("SELECT zcdp_ledger.spend(2, %s, %s, 'w', '1/1000', '', '', '', false)", (name, key))
            assert found.value.sqlstate == "ZC005"
    with Ledger(addresses[USER]) as ledger:
        found = ledger.verify().findings
        assert len(found) == 1
        assert "has a plan that this zcdp cannot read" in found[0]  # the lie is on the record, and seen


def test_a_price_that_a_program_made_up_is_found(addresses: dict[str, str]) -> None:
    with psycopg.connect(addresses["program"], autocommit=True) as connection:
        what = '[{"count": 1, "mechanism": "Laplace(epsilon=9)"}]'
        connection.execute("SELECT zcdp_ledger.spend(2, 'census', 'k', %s, '1/1000', '', '', '', false)", (what,))
    with Ledger(addresses["auditor"]) as ledger:
        assert any("less than what its plan costs" in text for text in ledger.verify().findings)


SECRETS = ["geheim", "p%40ss", "100%zz", "a b"]


@pytest.mark.parametrize("secret", SECRETS)
def test_no_password_is_ever_shown(secret: str) -> None:
    address = f"postgresql://someone:{secret}@127.0.0.1:1/budgets?connect_timeout=2&sslpassword={secret}"
    texts = [repr(Ledger(address)), shown_address(address)]
    for call in (
        lambda: Ledger(address, timeout=1).accounts(),
        lambda: Ledger(f"{address}&no_such_option=1").accounts(),
    ):
        with pytest.raises(LedgerError) as found:
            call()
        texts += [str(found.value), "".join(traceback.format_exception(found.value))]
    for text in texts:
        assert secret not in text
        assert "p@ss" not in text


def test_a_server_that_may_lose_commits_is_refused(server: Server) -> None:
    from zcdp.ledger.postgres import _sound

    for given in ((120000, "UTF8", "on", "on"), (150000, "LATIN1", "on", "on"), (150000, "UTF8", "off", "on")):
        with pytest.raises(LedgerError):
            _sound("here", *given)
    _sound("here", 150000, "UTF8", "on", "on")


def test_without_the_driver_the_error_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'psycopg\[binary\]>=3\.1' \(the extra postgres\)"):
        Ledger("postgresql://localhost/x").accounts()


# Whatever a server, a database or a session is set to, a ledger there is kept as the script says, or is refused.


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
    with (
        psycopg.connect(address, autocommit=True) as connection,
        pytest.raises(psycopg.Error, match="only added to"),
    ):
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
                "SELECT zcdp_ledger.spend(2, '日本', 'k', '{\"rho\": \"1/1000\"}', '1/1000', '', '', '', false)"
            )
            assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
    with Ledger(address) as ledger:
        assert ledger.verify().findings == ()


def test_a_database_that_is_only_read(address: str) -> None:
    with database(address, {"default_transaction_read_only": "on"}), Ledger(address) as ledger:
        with pytest.raises(LedgerError, match="it is read-only: nothing was changed"):
            ledger.spend("census", TENTH, key="b")
        assert ledger.verify()


def test_a_key_is_found_by_the_index_on_postgres(server: Server) -> None:
    import psycopg

    address = server.fresh()
    with Ledger(address) as ledger:
        ledger.open_account("census", unit="person", rho=1)
    with psycopg.connect(address) as connection:
        connection.execute("SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan")
        query = POSTGRES.replace("%s", "$1", 1).replace("%s", "$2", 1).replace("%s", "$3", 1)
        connection.execute(f"PREPARE one (text, text, text) AS {query}")
        how = "\n".join(row[0] for row in connection.execute("EXPLAIN EXECUTE one ('a', 'b', 'c')"))
    assert "entry_once" in how
    assert "Seq Scan" not in how


ASKED = Request("census", "a key", "what", "3/4")


def told(code: str | None, primary: str = "", detail: str = "") -> Any:
    return SimpleNamespace(
        sqlstate=code, diag=SimpleNamespace(message_primary=primary, message_detail=detail), __str__=lambda: "x"
    )


@pytest.mark.parametrize(
    ("error", "request_", "kind", "words"),
    [
        (
            told("ZC001", detail=f"cost {3 * GRID // 4} {GRID // 2} census"),
            [ASKED],
            BudgetExceeded,
            "the cost (0.75) exceeds what remains (0.5): nothing was spent",
        ),
        (
            told("ZC001", detail=f"delta {3 * GRID // 4} {GRID // 2} all people"),
            ASKED,
            BudgetExceeded,
            "the delta (0.75) exceeds what remains (0.5) of 'all people', above 'census': nothing was spent",
        ),
        (told("ZC007", detail="all people"), ASKED, AccountClosed, "the account 'all people' is closed"),
        (told("ZC008"), ASKED, NothingReserved, "nothing is reserved under the key 'a key'"),
        (told("ZC010"), ASKED, KeyConflict, "reserve under another key"),
        (told("ZC002"), ASKED, KeyTaken, "the key 'a key' was used for something else"),
        (told("ZC002"), Request("census"), FileExistsError, "census"),
        (told("ZC003"), [ASKED], UnknownAccount, "census"),
        (told("ZC004", "a budget is raised, with a reason"), ASKED, ValueError, "a budget is raised or lowered"),
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
def test_settings_that_may_lose_what_was_acknowledged_are_refused(
    given: tuple[int, str, str, str], sound: bool
) -> None:
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


def test_a_dump_is_restored_as_a_whole_ledger(server: Server) -> None:
    """pg_dump and psql, as an administrator runs them: the chain, the sums and the functions are there again."""
    import subprocess

    address = server.fresh()
    with Ledger(address) as ledger:
        ledger.open_account("census", unit="person", rho=1)
        ledger.open_account("cap", unit="person", rho="1/2", under="census", every="month")
        ledger.release("cap", TENTH, lambda: b"noisy", key="a")
        ledger.reserve("census", rho="1/4", key="r", expires=10**6)
        head = ledger.head
    dump = subprocess.run([str(server.bin / "pg_dump"), address], capture_output=True, check=True).stdout
    restored = server.database("restored")
    psql = [str(server.bin / "psql"), "-q", "-v", "ON_ERROR_STOP=1", restored]
    subprocess.run(psql, input=dump, capture_output=True, check=True)
    with Ledger(restored, expect_head=head) as ledger:
        assert ledger.verify().findings == ()
        assert ledger.sealed("cap", "a") == b"noisy"
        ledger.commit("census", "r")
        assert ledger.account("census").reserved == 0
        assert ledger.verify()
        later = ledger.head
    with pytest.raises(LedgerError, match="a restored backup"):
        Ledger(address, expect_head=later)
