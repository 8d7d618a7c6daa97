"""A ledger on a PostgreSQL server: the connection, error messages without secrets, and the implementation of `Store`.

The checks and writes are functions in the database (`sql/postgres_2.sql`), so that a login without rights on the
tables can spend, but cannot edit the history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from os import getpid
from secrets import token_hex
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from zcdp.accounting.filter import units
from zcdp.errors import BadValue, MissingExtra
from zcdp.ledger.chain import Entry, Head
from zcdp.ledger.migrations import STEPS, check_format, script
from zcdp.ledger.model import amount, refusal
from zcdp.ledger.store import (
    BATCH,
    NO_REFUND,
    AccountClosed,
    Kept,
    KeyConflict,
    KeyEnded,
    KeyTaken,
    LedgerBusy,
    LedgerError,
    NothingReserved,
    Person,
    Request,
    Row,
    Store,
    UnknownAccount,
)
from zcdp.ledger.terms import Terms

if TYPE_CHECKING:
    import psycopg

__all__ = ["Postgres", "connect", "driver", "failure", "shown_address"]


OLDEST_SERVER = 130000
"""PostgreSQL 13, as server_version_num writes it."""


def shown_address(address: str) -> str:
    """Server and database of an address, without user, password or options: safe to show.

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
    """The module psycopg; raises `MissingExtra` with the command that installs it."""
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("a ledger on PostgreSQL needs psycopg", extra="postgres") from None
    return psycopg


def connect(address: str, name: str, timeout: float) -> psycopg.Connection[Any]:
    """Connect, and refuse a server whose settings could lose a commit that it acknowledged."""
    driver()
    import psycopg

    try:
        wait = max(2, round(timeout))
        connection = psycopg.connect(address, autocommit=True, connect_timeout=wait)
    except psycopg.OperationalError as error:
        raise LedgerError(f"{name} cannot be reached: {_why(error, address)}") from None
    except psycopg.Error:  # the message may quote the address, password and all
        raise LedgerError("the address of the ledger is not a valid postgresql:// address") from None
    try:
        connection.execute("SET client_encoding = 'UTF8'")  # whatever the database, the role or the environment sets
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
    if version < OLDEST_SERVER:
        raise LedgerError(f"{name}: a ledger needs PostgreSQL 13 or newer")
    if encoding != "UTF8":
        raise LedgerError(f"{name}: the database must have the encoding UTF8, not {encoding}")
    if fsync != "on" or full_pages != "on":
        raise LedgerError(
            f"{name}: the server runs without fsync or full_page_writes: it may lose what it acknowledged"
        )


def _why(error: Exception, address: str) -> str:
    """The first line of the driver's message, unless it contains a secret of the address."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else "no answer"
    return "the connection failed" if any(secret in text for secret in _secrets(address)) else text


def _secrets(address: str) -> set[str]:
    try:
        parts = urlsplit(address)
        user = parts.netloc.rpartition("@")[0]
        found = {user.partition(":")[2], *(value for key, value in parse_qsl(parts.query) if "pass" in key.lower())}
    except ValueError:
        return {""}  # every text contains the empty one: with an address that cannot be parsed nothing is shown
    return {form for one in found if one for form in (one, unquote(one))}


def failure(name: str, error: psycopg.Error, timeout: float, request: Any) -> Exception:
    """The exception to raise for an error of the server; codes that begin with ZC are those of our own functions."""
    code, detail = error.sqlstate or "", (error.diag.message_detail or "") if error.diag else ""
    asked = request[0] if isinstance(request, list) and request else request
    if code == "ZC001":
        what, cost, left, level = detail.split(" ", 3)
        return refusal(asked.account, level, int(cost), int(left), what=what)
    if code == "ZC002":
        return KeyTaken(asked) if asked.key else FileExistsError(asked.account)
    if code == "ZC003":
        return UnknownAccount(asked.account if asked.key or not asked.what else _under(asked))
    if code == "ZC004" and "budget" in (error.diag.message_primary or ""):
        return BadValue("a budget is raised or lowered, with a reason")
    if code == "ZC007":
        return AccountClosed(detail)
    if code == "ZC008":
        return NothingReserved(asked.key)
    if code == "ZC010":
        return KeyEnded(asked.key)
    if code == "ZC011":
        return KeyConflict(NO_REFUND)
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


def _under(request: Request) -> str:
    """The account above one that is to be opened, or the account itself: which of both is not known."""
    try:
        return Terms.from_json(request.what).under or request.account
    except LedgerError:
        return request.account


# The store: every write is one call of an SQL function that checks and records under one lock.

T = TypeVar("T")
COLUMNS = ", ".join(Entry._fields)
# The condition key <> '' lets the database use its partial index, which leaves out entries without a key.
FIND_ENTRY = f"SELECT {COLUMNS} FROM zcdp_ledger.entry WHERE account = %s AND key = %s AND kind = %s AND key <> ''"
SPEND = f"SELECT repeated, {', '.join(f'(made).{name}' for name in Entry._fields)} FROM zcdp_ledger.spend(" + (
    "%s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
RESERVE = SPEND.replace("zcdp_ledger.spend(", "zcdp_ledger.reserve(")
ROW = ", ".join(f"a.{name}::text" for name in Row._fields)
FIRST_ROW = "a.name, a.terms, '', a.budget, a.spent, '0', '0', '0', '0', '', ''"
"""The columns of `Row` in a ledger of schema 1, where sums were fractions."""
RESERVATIONS = "SELECT account, key, size::text, delta::text, until FROM zcdp_ledger.reservation"
LOCK_SCHEMA = "SELECT pg_advisory_xact_lock(2053334128)"
"""Serializes creation and upgrade: of two programs that start at once the second waits, and then finds it done."""


class Postgres(Store):
    """A ledger on a PostgreSQL server.

    It has one connection, opened on first use, and opened again after a fork or when the server closed it.
    """

    def __init__(self, address: str, *, timeout: float, steps: Sequence[str] | None = None) -> None:
        self._address, self.name, self._timeout = address, shown_address(address), timeout
        self._steps = STEPS["postgres"] if steps is None else steps
        self._held = RLock()
        self._connection: psycopg.Connection[Any] | None = None
        self._process = getpid()
        self._found = 0
        """The schema version of the ledger, as it was found on this connection; 0 until it was looked at."""

    @property
    def _format(self) -> int:
        return len(self._steps)

    def _run(
        self,
        work: Callable[[psycopg.Connection[Any]], T],
        *,
        check: bool = True,
        read: bool = False,
        request: Any = None,
    ) -> T:
        """Run `work` on a live connection. If the connection is lost it is run once more: all writes are idempotent."""
        psycopg = driver()
        with self._lock:
            for again in (True, False):
                try:
                    connection = self._live()
                    if check and self._found != self._format:
                        self._check(connection, read=read)
                    return work(connection)
                except psycopg.Error as error:
                    gone = self._connection is None or self._connection.broken
                    if gone:
                        self._drop()
                    if gone and again and isinstance(error, psycopg.OperationalError):
                        continue
                    raise failure(self.name, error, self._timeout, request) from None
        raise AssertionError("the second attempt returns or raises")

    def _live(self) -> psycopg.Connection[Any]:
        if self._connection is None or self._connection.closed:
            self._connection, self._found = connect(self._address, self.name, self._timeout), 0
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection, self._found = None, 0

    @property
    def _lock(self) -> RLock:
        """The lock around the connection. After a fork both are replaced: the socket belongs to the parent."""
        if self._process != getpid():
            self._kept, self._connection = self._connection, None
            self._held, self._process, self._found = RLock(), getpid(), 0
        return self._held

    def _version(self, connection: psycopg.Connection[Any]) -> int:
        # Query the catalogue itself: to_regclass may answer from a cache that the table does not exist.
        there = (
            "SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = 'zcdp_ledger' AND c.relname = 'ledger'"
        )
        if connection.execute(there).fetchone() is None:
            return 0
        found = connection.execute("SELECT format FROM zcdp_ledger.ledger").fetchone()
        return int(found[0]) if found else 0

    def _check(self, connection: psycopg.Connection[Any], *, read: bool = False) -> None:
        version = self._version(connection)
        if version == 0:
            raise LedgerError(f"{self.name}: there is no ledger yet: zcdp ledger open makes one")
        check_format(self.name, version, self._format, read=read)
        self._found = version

    def create(self) -> None:
        def work(connection: psycopg.Connection[Any]) -> None:
            if self._version(connection):
                return
            with connection.transaction():
                connection.execute(LOCK_SCHEMA)
                if self._version(connection) == 0:
                    self._schema(connection, 0)
                    connection.execute(
                        "SELECT zcdp_ledger.begin_ledger(%s, %s, %s)", (self._format, token_hex(16), _version())
                    )

        self._run(work, check=False)

    def _schema(self, connection: psycopg.Connection[Any], version: int) -> None:
        for step in self._steps[version:]:
            text = script(step) if step.endswith(".sql") else step
            connection.execute(text.encode())

    def upgrade(self, *, dry_run: bool = False) -> int:
        import psycopg

        def work(connection: psycopg.Connection[Any]) -> int:
            with connection.transaction():
                connection.execute(LOCK_SCHEMA)
                version = self._version(connection)
                if version == 0 or version >= self._format:
                    self._check(connection)
                    return version
                connection.execute("LOCK TABLE zcdp_ledger.ledger IN ACCESS EXCLUSIVE MODE")
                self._schema(connection, version)
                connection.execute("UPDATE zcdp_ledger.ledger SET format = %s", (self._format,))
                connection.execute(
                    "SELECT zcdp_ledger.append(zcdp_ledger.stamp(), 'upgrade', '', '', %s, '', '', '', %s)",
                    (f"{version} to {self._format}", _version()),
                )
                if dry_run:
                    raise psycopg.Rollback
                return version
            return version  # after a rollback, which ends the block without an error

        return self._run(work, check=False)

    def _entry(self, function: str, *values: object, request: Request) -> Entry:
        query = f"SELECT {COLUMNS} FROM zcdp_ledger.{function}(%s{', %s' * len(values)})"
        given = (self._format, *values)
        row = self._run(lambda connection: connection.execute(query, given).fetchone(), request=request)
        assert row is not None
        return Entry(*row)

    def open_account(self, request: Request) -> Entry | None:
        r = request
        try:
            return self._entry("open_account", r.account, r.what, r.amount, r.why, r.who, r.version, request=request)
        except FileExistsError:
            return None

    def spend(self, requests: Sequence[Request], *, reserved: bool = False) -> list[tuple[Entry, bool]]:
        at: list[Request] = []

        def one(connection: psycopg.Connection[Any], r: Request) -> tuple[Entry, bool]:
            at[:] = [r]
            values = (self._format, r.account, r.key, r.what, r.amount, r.why, r.who, r.version, reserved)
            row = connection.execute(SPEND, values).fetchone()
            assert row is not None
            return Entry(*row[1:]), row[0]

        def work(connection: psycopg.Connection[Any]) -> list[tuple[Entry, bool]]:
            if len(requests) == 1:
                return [one(connection, requests[0])]
            with connection.transaction():
                return [one(connection, request) for request in requests]

        return self._run(work, request=at)

    def reserve(self, request: Request, until: str) -> tuple[Entry, bool]:
        r = request
        values = (self._format, r.account, r.key, r.what, r.amount, until, r.why, r.who, r.version)
        row = self._run(lambda connection: connection.execute(RESERVE, values).fetchone(), request=request)
        assert row is not None
        return Entry(*row[1:]), row[0]

    def give_back(self, request: Request) -> Entry:
        r = request
        return self._entry("give_back", r.account, r.key, r.why, r.who, r.version, request=request)

    def change_budget(self, kind: str, request: Request) -> Entry:
        r = request
        return self._entry("change_budget", kind, r.account, r.what, r.amount, r.why, r.who, r.version, request=request)

    def close_account(self, request: Request) -> Entry:
        r = request
        return self._entry("close_account", r.account, r.why, r.who, r.version, request=request)

    def seal(self, request: Request, data: bytes) -> bytes:
        r = request
        return self._bytes(
            "SELECT zcdp_ledger.seal(%s, %s, %s, %s, %s, %s)", (self._format, r.account, r.key, data, r.who, r.version)
        )

    def deliver(self, request: Request) -> bytes:
        r = request
        return self._bytes(
            "SELECT zcdp_ledger.deliver(%s, %s, %s, %s, %s)", (self._format, r.account, r.key, r.who, r.version)
        )

    def _bytes(self, query: str, values: tuple[object, ...]) -> bytes:
        row = self._run(lambda connection: connection.execute(query, values, binary=True).fetchone())
        assert row is not None
        return bytes(row[0])

    def _rows(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self._run(lambda connection: connection.execute(query, values).fetchall(), read=True)

    def state(self) -> tuple[Head, list[Row]]:
        def work(connection: psycopg.Connection[Any]) -> tuple[Head, list[Row]]:
            # One statement, so that head and accounts come from one snapshot.
            query = (
                f"SELECT l.length, l.head, {self._columns} FROM zcdp_ledger.ledger l "
                "LEFT JOIN zcdp_ledger.account a ON true ORDER BY a.name"
            )
            rows = connection.execute(query).fetchall()
            if not rows:
                raise LedgerError(f"{self.name}: the row that holds the head is missing")
            return Head(rows[0][0], rows[0][1]), [self._row(row[2:]) for row in rows if row[2] is not None]

        return self._run(work, read=True)

    def present(self, at: str) -> tuple[list[Row], list[Kept]]:
        def work(connection: psycopg.Connection[Any]) -> tuple[list[Row], list[Kept]]:
            with connection.transaction():
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                found = connection.execute(f"SELECT {self._columns} FROM zcdp_ledger.account a ORDER BY a.name")
                rows = [self._row(row) for row in found.fetchall()]
                if self._found == 1:
                    return rows, []
                overdue = connection.execute(f"{RESERVATIONS} WHERE until <= %s ORDER BY account, key", (at,))
                return rows, [Kept(*row) for row in overdue.fetchall()]

        return self._run(work, read=True)

    @property
    def _columns(self) -> str:
        return FIRST_ROW if self._found == 1 else ROW

    def _row(self, values: Sequence[str]) -> Row:
        row = Row(*values)
        if self._found > 1:
            return row
        return row._replace(budget=str(units(amount(row.budget))), spent=str(units(amount(row.spent))))

    def account(self, name: str) -> Row | None:
        def work(connection: psycopg.Connection[Any]) -> Row | None:
            query = f"SELECT {self._columns} FROM zcdp_ledger.account a WHERE name = %s"
            found = connection.execute(query, (name,)).fetchone()
            return None if found is None else self._row(found)

        return self._run(work, read=True)

    def remember(self, person: Person) -> None:
        values = (self._format, *person)
        self._run(lambda connection: connection.execute("SELECT zcdp_ledger.remember(%s, %s, %s, %s)", values))

    def people(self) -> list[Person]:
        def work(connection: psycopg.Connection[Any]) -> list[Person]:
            if self._found == 1:
                return []
            query = "SELECT commitment, salt, name FROM zcdp_ledger.person ORDER BY commitment"
            return [Person(*row) for row in connection.execute(query).fetchall()]

        return self._run(work, read=True)

    def forget(self, name: str, request: Request) -> int:
        values = (self._format, name, request.why, request.who, request.version)
        query = "SELECT zcdp_ledger.forget(%s, %s, %s, %s, %s)"
        row = self._run(lambda connection: connection.execute(query, values).fetchone())
        assert row is not None
        return int(row[0])

    def reservations(self) -> list[Kept]:
        def work(connection: psycopg.Connection[Any]) -> list[Kept]:
            if self._found == 1:
                return []
            return [Kept(*row) for row in connection.execute(f"{RESERVATIONS} ORDER BY account, key").fetchall()]

        return self._run(work, read=True)

    def find(self, account: str, key: str, kind: str) -> Entry | None:
        rows = self._rows(FIND_ENTRY, (account, key, kind))
        return Entry(*rows[0]) if rows else None

    def batch(self, after: int, up_to: int, account: str | None) -> Sequence[Entry]:
        mine, values = ("", ()) if account is None else ("AND account = %s ", (account,))
        query = f"SELECT {COLUMNS} FROM zcdp_ledger.entry WHERE seq > %s AND seq <= %s {mine}ORDER BY seq LIMIT {BATCH}"
        return [Entry(*row) for row in self._rows(query, (after, up_to, *values))]

    def at(self, seq: int) -> Entry | None:
        rows = self._rows(f"SELECT {COLUMNS} FROM zcdp_ledger.entry WHERE seq = %s", (seq,))
        return Entry(*rows[0]) if rows else None

    def grouped(self, account: str) -> list[tuple[str, int]]:
        query = (
            "SELECT what, count(*) FROM zcdp_ledger.entry WHERE account = %s AND kind = 'spend' "
            "GROUP BY what ORDER BY min(seq)"
        )
        return [(row[0], row[1]) for row in self._rows(query, (account,))]

    def sealed(self, account: str, key: str) -> bytes | None:
        rows = self._rows("SELECT bytes FROM zcdp_ledger.sealed WHERE account = %s AND key = %s", (account, key))
        return bytes(rows[0][0]) if rows else None

    def seals(self) -> Iterator[tuple[str, str]]:
        yield from ((row[0], row[1]) for row in self._rows("SELECT account, key FROM zcdp_ledger.sealed"))

    def load(
        self,
        entries: Iterable[Entry],
        rows: Sequence[Row],
        reservations: Sequence[Kept],
        sealed: Iterable[tuple[str, str, bytes]],
    ) -> None:
        def work(connection: psycopg.Connection[Any]) -> None:
            last: Entry | None = None
            with connection.transaction():
                connection.execute(LOCK_SCHEMA)
                if self._version(connection):
                    raise LedgerError(f"{self.name} is a ledger already: import into a new one")
                self._schema(connection, 0)
                with connection.cursor().copy(f"COPY zcdp_ledger.entry ({COLUMNS}) FROM STDIN") as copy:
                    for last in entries:
                        copy.write_row(last)
                assert last is not None
                given = ", ".join(["%s"] * 3 + ["%s::text::numeric"] * 6 + ["%s"] * 2)
                insert = f"INSERT INTO zcdp_ledger.account ({', '.join(Row._fields)}) VALUES ({given})"
                for row in rows:
                    connection.execute(insert, row)
                insert = "INSERT INTO zcdp_ledger.reservation VALUES (%s, %s, %s::text::numeric, %s::text::numeric, %s)"
                for one in reservations:
                    connection.execute(insert, one)
                for held in sealed:
                    connection.execute("INSERT INTO zcdp_ledger.sealed VALUES (%s, %s, %s)", held)
                connection.execute(
                    "INSERT INTO zcdp_ledger.ledger (format, length, head) VALUES (%s, %s, %s)",
                    (self._format, last.seq, last.hash),
                )

        self._run(work, check=False)

    def damage(self) -> list[str]:
        return []  # the server checks its own files

    def close(self) -> None:
        with self._lock:
            self._drop()


def _version() -> str:
    from zcdp import __version__

    return __version__
