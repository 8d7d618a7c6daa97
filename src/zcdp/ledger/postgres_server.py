"""A connection to PostgreSQL, and what goes wrong with one: in plain words, and never with a password in them."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from zcdp.errors import BadValue, MissingExtra
from zcdp.ledger.errors import BudgetExceeded, KeyTaken, LedgerBusy, LedgerError, UnknownAccount
from zcdp.ledger.model import amount, refusal

if TYPE_CHECKING:
    import psycopg

__all__ = ["connect", "driver", "failure", "shown_address"]

OLDEST = 130000


def shown_address(address: str) -> str:
    """Which server and database: without user, password or options.

    >>> shown_address("postgresql://someone:secret@db.example:5433/budgets?sslpassword=other")
    'postgresql://db.example:5433/budgets'
    """
    try:
        parts = urlsplit(address)
        place = parts.netloc.rpartition("@")[2]
        given = dict(parse_qsl(parts.query))
        database = parts.path.lstrip("/") or given.get("dbname", "")
        return f"postgresql://{place or unquote(given.get('host', ''))}/{database}"
    except ValueError:
        return "postgresql://"


def driver() -> ModuleType:
    """psycopg, or the command that installs it."""
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("a ledger on PostgreSQL needs psycopg", extra="postgres") from None
    return psycopg


def connect(address: str, name: str, timeout: float) -> psycopg.Connection[Any]:
    """A connection on which a commit that was acknowledged is on the server's disk."""
    driver()
    import psycopg

    try:
        wait = max(2, round(timeout))
        connection = psycopg.connect(address, autocommit=True, connect_timeout=wait)
    except psycopg.OperationalError as error:
        raise LedgerError(f"{name} cannot be reached: {_why(error, address)}") from None
    except psycopg.Error:  # its text may quote the address
        raise LedgerError("the address of the ledger is not a valid postgresql:// address") from None
    try:
        connection.execute("SET client_encoding = 'UTF8'")  # whatever the database, the role or the environment says
        connection.execute("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED")
        connection.execute(f"SET lock_timeout = {max(1, round(1000 * timeout))}")
        row = connection.execute(
            "SELECT current_setting('server_version_num')::int, current_setting('server_encoding'), "
            "current_setting('fsync'), current_setting('full_page_writes')"
        ).fetchone()
        assert row is not None
        _sound(name, *row)
    except BaseException:
        connection.close()
        raise
    return connection


def _sound(name: str, version: int, encoding: str, fsync: str, full_pages: str) -> None:
    if version < OLDEST:
        raise LedgerError(f"{name}: a ledger needs PostgreSQL 13 or newer")
    if encoding != "UTF8":
        raise LedgerError(f"{name}: the database must have the encoding UTF8, not {encoding}")
    if fsync != "on" or full_pages != "on":
        raise LedgerError(
            f"{name}: the server runs without fsync or full_page_writes: it may lose what it acknowledged"
        )


def _why(error: Exception, address: str) -> str:
    """The first line of what the driver says, unless something secret is in it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else "no answer"
    return "the connection failed" if any(secret in text for secret in _secrets(address)) else text


def _secrets(address: str) -> set[str]:
    try:
        parts = urlsplit(address)
        user = parts.netloc.rpartition("@")[0]
        found = {user.partition(":")[2], *(value for key, value in parse_qsl(parts.query) if "pass" in key.lower())}
    except ValueError:
        return {""}  # what cannot be taken apart is not shown at all
    return {form for one in found if one for form in (one, unquote(one))}


def failure(name: str, error: psycopg.Error, timeout: float, request: Any) -> Exception:
    """What the server's refusal means here."""
    code, detail = error.sqlstate or "", (error.diag.message_detail or "") if error.diag else ""
    asked = request[0] if isinstance(request, list) and request else request
    if code == "ZC001":
        budget, spent = (amount(part) for part in detail.split(" "))
        return BudgetExceeded(refusal(amount(asked.amount), budget - spent))
    if code == "ZC002":
        return KeyTaken(asked) if asked.key else FileExistsError(asked.account)
    if code == "ZC003":
        return UnknownAccount(asked.account)
    if code == "ZC004" and "budget" in (error.diag.message_primary or ""):
        return BadValue("a budget is raised, with a reason")
    if code.startswith("ZC"):
        return LedgerError(f"{name}: {error.diag.message_primary}")
    if code == "55P03":
        return LedgerBusy(f"{name} is in use by another program (waited {timeout:g} s): nothing was changed")
    words = {
        "42501": "this login may not do that: see roles.sql (zcdp ledger sql roles)",
        "42883": "the ledger there is of another version: zcdp ledger upgrade brings it up",
        "25006": "it is read-only: nothing was changed",
        "53100": "the server's disk is full: nothing was acknowledged, repeat with the same key",
    }
    if code in words:
        return LedgerError(f"{name}: {words[code]}")
    if not code or code.startswith(("08", "57")):
        return LedgerError(f"{name}: the connection was lost: it is not known what was done, repeat with the same key")
    return LedgerError(f"{name}: the server refused ({code})")
