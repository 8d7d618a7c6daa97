"""On PostgreSQL a program may spend and nothing else; and no password gets into a message."""

from __future__ import annotations

import traceback

import psycopg
import pytest
from ledger.server import USER, Server

from zcdp import Laplace
from zcdp.ledger import BudgetExceeded, Ledger, LedgerError
from zcdp.ledger.migrations import script
from zcdp.ledger.postgres import shown_address

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
    "SELECT zcdp_ledger.append(l, 'spend', 'census', 'x', '', '0', '', '', '') FROM zcdp_ledger.ledger l",
    "SELECT zcdp_ledger.raise_budget(1, 'census', '{}', '99', 'why', '', '')",
    "SELECT zcdp_ledger.begin_ledger(1, 'x', 'y')",
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
                connection.execute("SELECT zcdp_ledger.spend(1, 'census', 'k', 'w', '1/1000', '', '', '')")
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
        connection.execute("SELECT zcdp_ledger.spend(1, 'census', 'k', 'w', %s, '', '', '')", (cost,))
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
            connection.execute("SELECT zcdp_ledger.spend(1, 'census', 'k', 'w', '1/1000', '', '', '')")
            assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
        connection.execute("SET default_transaction_isolation = 'repeatable read'")
        with pytest.raises(psycopg.Error, match="READ COMMITTED"):
            connection.execute("SELECT zcdp_ledger.spend(1, 'census', 'm', 'w', '1/1000', '', '', '')")
        for name, key in (("census", ""), ("census", "a\tb"), ("", "k"), ("x" * 201, "k"), ("census", "k" * 201)):
            with pytest.raises(psycopg.Error) as found:
                connection.execute("SELECT zcdp_ledger.spend(1, %s, %s, 'w', '1/1000', '', '', '')", (name, key))
            assert found.value.sqlstate == "ZC005"
    with Ledger(addresses[USER]) as ledger:
        found = ledger.verify().findings
        assert len(found) == 1
        assert "has a plan that this zcdp cannot read" in found[0]  # the lie is on the record, and seen


def test_a_price_that_a_program_made_up_is_found(addresses: dict[str, str]) -> None:
    with psycopg.connect(addresses["program"], autocommit=True) as connection:
        what = '[{"count": 1, "mechanism": "Laplace(epsilon=9)"}]'
        connection.execute("SELECT zcdp_ledger.spend(1, 'census', 'k', %s, '1/1000', '', '', '')", (what,))
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
