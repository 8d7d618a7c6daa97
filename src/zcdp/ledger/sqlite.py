"""A ledger in a SQLite file: where the file may be, a durable connection, and the implementation of `Store`."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from secrets import token_hex
from threading import RLock
from time import monotonic, sleep
from urllib.parse import quote

from zcdp.accounting.filter import units
from zcdp.errors import BadValue
from zcdp.ledger.chain import START, Entry, Head, digest, sealed_digest
from zcdp.ledger.migrations import STEPS, check_format, script, statements
from zcdp.ledger.model import Cost, amount, check_depth, check_levels, digits, level_of, levels_of, whole
from zcdp.ledger.periods import period_at
from zcdp.ledger.store import (
    BATCH,
    CHANGED,
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
from zcdp.ledger.writing import login, now

__all__ = ["APPLICATION", "LOST", "Opened", "SQLite", "connect", "failure", "network_mount", "prepare"]


# A ledger file must be on a local disk: over a network neither locks nor fsync can be relied on.

NETWORK_KINDS = """9p afs afpfs beegfs ceph cifs coda davfs fuse.ceph fuse.curlftpfs fuse.davfs fuse.gcsfuse
fuse.glusterfs fuse.rclone fuse.s3fs fuse.smbnetfs fuse.sshfs gfs gfs2 glusterfs gpfs lustre ncpfs nfs nfs4 ocfs2
orangefs pvfs2 smb2 smb3 smbfs"""
NETWORK_FILE_SYSTEMS = frozenset(NETWORK_KINDS.split())
MOUNTS = Path("/proc/self/mountinfo")


def network_mount(path: Path, mounts: str | None = None) -> str | None:
    """The kind of network file system that the path is on; None for a local one, or if the system does not tell.

    SQLite's locks are unreliable over a network, and two machines would each have their own shared memory for the log.

    >>> network_mount(Path("/data/x.db"), "1 0 0:1 / / rw - ext4 /dev/a rw\\n2 1 0:2 / /data rw - nfs4 host:/d rw")
    'nfs4'
    """
    if mounts is None:
        try:
            mounts = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:  # not Linux: the kind is not known
            return None
    where = os.path.realpath(path)
    longest, kind = "", None
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields, what = before.split(" "), after.split(" ")
        if len(fields) < 5:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), fields[4])
        inside = where == point or where.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(longest):  # of two mounts at one point the later hides the earlier
            longest, kind = point, what[0]
    return kind if kind in NETWORK_FILE_SYSTEMS else None


# The connection: settings under which an acknowledged commit survives a crash, and SQLite's errors in plain words.

APPLICATION = 0x7A636470
"""SQLite's application_id of a ledger file: "zcdp" in ASCII."""


@dataclass(frozen=True)
class Opened:
    """A connection, and whether it is read-only."""

    connection: sqlite3.Connection
    readonly: bool


LOST: list[Opened] = []
"""Connections inherited through a fork. They are referenced here so that this process never closes them."""


def prepare(path: Path, mode: int) -> None:
    """Create an empty file with these permissions, unless there is one."""
    _local(path)
    if not path.parent.is_dir():
        raise LedgerError(f"{path}: there is no directory {str(path.parent)!r}")
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode))
    except FileExistsError:
        return
    except OSError as error:
        raise LedgerError(f"{path} cannot be made: {error.strerror}") from None


def _local(path: Path) -> None:
    if kind := network_mount(path):
        raise LedgerError(
            f"{path} lies on a network file system ({kind}), where locks cannot be trusted: "
            "keep the ledger on a local disk, or in PostgreSQL"
        )


def connect(path: Path, timeout: float, *, create: bool) -> Opened:
    """Open the file for writing if its permissions allow that, else for reading."""
    _local(path)
    try:
        folder, missing = path.is_dir(), not path.exists() or (path.stat().st_size == 0 and not create)
    except OSError as error:  # for example a folder without permission to enter
        raise LedgerError(f"{path} cannot be read: {error.strerror}") from None
    if folder:
        raise LedgerError(f"{path} is a directory, not a ledger")
    if missing:
        raise LedgerError(f"{path}: there is no ledger yet: zcdp ledger open makes one")
    readonly = not os.access(path, os.W_OK)
    connection = _open(path, "mode=ro" if readonly else "mode=rw", timeout)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.create_function("in_units", 1, _in_units, deterministic=True)
        if readonly:
            return Opened(_readable(connection, path, timeout), True)
        _is_ledger(connection, path, create=create)
        _durable(connection, path, timeout)
    except BaseException:
        connection.close()
        raise
    return Opened(connection, False)


def _open(path: Path, options: str, timeout: float) -> sqlite3.Connection:
    address = f"file:{quote(os.path.abspath(path))}?{options}"
    return sqlite3.connect(address, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False)


def _readable(connection: sqlite3.Connection, path: Path, timeout: float) -> sqlite3.Connection:
    """A read-only connection that works in a read-only folder too.

    There SQLite cannot create its shared memory file. Nobody can change the ledger either, so that it is opened as
    immutable, unless a write-ahead log beside it has entries that would be missed.
    """
    try:
        _is_ledger(connection, path, create=False)
        return connection
    except sqlite3.OperationalError:
        beside = path.resolve()  # the log is beside the file itself, not beside a symbolic link to it
        log = beside.with_name(beside.name + "-wal")
        if log.exists() and log.stat().st_size:
            raise LedgerError(
                f"{path} cannot be read: the log {log.name} beside it holds what was written last, and cannot be "
                "opened where nothing may be written: copy both files to a folder of your own"
            ) from None
        connection.close()
        connection = _open(path, "mode=ro&immutable=1", timeout)
        connection.create_function("in_units", 1, _in_units, deterministic=True)
        _is_ledger(connection, path, create=False)
        return connection


def _in_units(text: object) -> str:
    """A sum of schema 1, a fraction, as units of 1/GRID; what cannot be read stays, for `verify` to find."""
    try:
        return str(units(amount(text)))  # type: ignore[arg-type]
    except LedgerError:
        return str(text)


def _is_ledger(connection: sqlite3.Connection, path: Path, *, create: bool) -> None:
    [(application,)] = connection.execute("PRAGMA application_id")
    if application == APPLICATION:
        return
    [(pages,)] = connection.execute("SELECT count(*) FROM sqlite_schema")
    if not create or application or pages:
        raise LedgerError(f"{path} is a database, but not a ledger")


def _durable(connection: sqlite3.Connection, path: Path, timeout: float) -> None:
    """Make each commit wait until the write-ahead log is on the disk; on macOS, until the drive confirms it."""
    until = monotonic() + timeout
    while True:  # SQLite's own timeout does not apply to this pragma
        try:
            [(kept,)] = connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) or monotonic() > until:
                raise
            sleep(0.01)
    if kept != "wal":
        raise LedgerError(f"{path}: SQLite cannot keep a write-ahead log here: put the ledger on a local disk")
    for pragma in ("synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON", "cell_size_check = ON"):
        connection.execute(f"PRAGMA {pragma}")
    [(application,)] = connection.execute("PRAGMA application_id")
    if application != APPLICATION:
        connection.execute(f"PRAGMA application_id = {APPLICATION}")


def failure(name: str, error: sqlite3.Error, timeout: float, *, write: bool) -> LedgerError:
    """The exception to raise for an error of SQLite, in one sentence."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return LedgerBusy(f"{name} is in use by another program (waited {timeout:g} s): nothing was changed")
    words = {
        sqlite3.SQLITE_FULL: "the disk is full",
        sqlite3.SQLITE_READONLY: "it is read-only",
        sqlite3.SQLITE_IOERR: "the disk reports an error",
        sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
        sqlite3.SQLITE_PERM: "permission denied",
        sqlite3.SQLITE_NOTADB: "it is not a ledger",
        sqlite3.SQLITE_CORRUPT: "it is damaged",
    }
    what = words.get(code, str(error))
    done = ": nothing was acknowledged, repeat with the same key" if write else ""
    return LedgerError(f"{name} cannot be {'written' if write else 'read'}: {what}{done}")


# The store: check and record in one transaction, which is on the disk before the call returns.

INSERT_ENTRY = f"INSERT INTO entry VALUES ({', '.join('?' * len(Entry._fields))})"
COLUMNS = ", ".join(Entry._fields)
# The condition key <> '' lets the database use its partial index, which leaves out entries without a key.
FIND_ENTRY = f"SELECT {COLUMNS} FROM entry WHERE account = ? AND key = ? AND kind = ? AND key <> ''"
ROW = ", ".join(Row._fields)
INSERT_ROW = f"INSERT INTO account ({ROW}) VALUES ({', '.join('?' * len(Row._fields))})"
FIRST_ROW = "name, terms, '', in_units(budget), in_units(spent), '0', '0', '0', '0', '', ''"
"""The columns of `Row` in a ledger of schema 1, where sums were fractions."""


class SQLite(Store):
    """A ledger in one SQLite file, safe to use from several threads and processes, and after a fork."""

    def __init__(self, path: Path, *, timeout: float, steps: Sequence[str] | None = None, mode: int = 0o600) -> None:
        self.path, self.name, self._timeout, self._mode = path, str(path), timeout, mode
        self._steps = STEPS["sqlite"] if steps is None else steps
        self._held, self._process = RLock(), os.getpid()
        self._opened: Opened | None = None

    @property
    def _format(self) -> int:
        return len(self._steps)

    @property
    def _lock(self) -> RLock:
        """The lock around the connection. It is replaced after a fork: a thread of the parent may have held it."""
        if self._process != os.getpid():
            if self._opened is not None:
                LOST.append(self._opened)  # closing it in the child would drop the parent's locks on the file
            self._held, self._process, self._opened = RLock(), os.getpid(), None
        return self._held

    def _connection(self, *, create: bool = False) -> Opened:
        if self._opened is None:
            if create:
                prepare(self.path, self._mode)
            self._opened = connect(self.path, self._timeout, create=create)
        return self._opened

    @contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                connection = self._connection().connection
                connection.execute("BEGIN")
                try:
                    self._check(connection, read=True)
                    yield connection
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
            except sqlite3.Error as error:
                raise failure(self.name, error, self._timeout, write=False) from None

    @contextmanager
    def _write(self, *, create: bool = False, check: bool = True) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                opened = self._connection(create=create)
                if opened.readonly:
                    raise LedgerError(f"{self.name} cannot be written: it is read-only, and nothing was changed")
                connection = opened.connection
                connection.execute("BEGIN IMMEDIATE")
                try:
                    if check:
                        self._check(connection)
                    yield connection
                    connection.execute("COMMIT")
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
            except sqlite3.Error as error:
                raise failure(self.name, error, self._timeout, write=True) from None

    def _check(self, connection: sqlite3.Connection, *, read: bool = False) -> int:
        """The schema version, checked within the transaction: another program may have just upgraded the file."""
        [(version,)] = connection.execute("PRAGMA user_version")
        if version == 0:  # the program that created the file was killed before it finished
            raise LedgerError(f"{self.name}: there is no ledger yet: zcdp ledger open makes one")
        check_format(self.name, version, self._format, read=read)
        return int(version)

    def create(self) -> None:
        with self._write(create=True, check=False) as connection:
            [(version,)] = connection.execute("PRAGMA user_version")
            if version:
                self._check(connection)
                return
            self._schema(connection, 0)
            connection.execute("INSERT INTO ledger VALUES (1, ?, 0, ?)", (self._format, START))
            self._append(connection, now(), "ledger", Request("", what=token_hex(16), version=_version()))

    def _schema(self, connection: sqlite3.Connection, version: int) -> None:
        for step in self._steps[version:]:
            for statement in statements(script(step) if step.endswith(".sql") else step):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {self._format}")

    def upgrade(self, *, dry_run: bool = False) -> int:
        with self._write(check=False) as connection:
            [(version,)] = connection.execute("PRAGMA user_version")
            if version >= self._format:
                return self._check(connection)
            self._schema(connection, version)
            connection.execute("UPDATE ledger SET format = ?", (self._format,))
            asked = Request("", what=f"{version} to {self._format}", version=_version())
            self._append(connection, now(), "upgrade", asked)
            if dry_run:
                connection.execute("ROLLBACK")
                connection.execute("BEGIN")  # for the commit that follows, of nothing
            return int(version)

    def _append(self, connection: sqlite3.Connection, at: str, kind: str, request: Request) -> Entry:
        length, head = self._head(connection)
        r = request
        made = Entry(length + 1, at, kind, r.account, r.key, r.what, r.amount, r.why, r.who, login(), r.version, "")
        made = made._replace(hash=digest(head, made))
        connection.execute(INSERT_ENTRY, made)
        connection.execute("UPDATE ledger SET length = ?, head = ?", (made.seq, made.hash))
        return made

    def open_account(self, request: Request) -> Entry | None:
        terms = Terms.from_json(request.what)
        with self._write() as connection:
            if connection.execute("SELECT 1 FROM account WHERE name = ?", (request.account,)).fetchone():
                return None
            above: list[str] = []
            if terms.under is not None:
                upper = self._row(connection, terms.under)
                if upper.closed:
                    raise AccountClosed(upper.name)
                above = [upper.name, *upper.above.split("\n")] if upper.above else [upper.name]
                check_depth(above)
            budget, delta = units(amount(request.amount)), units(terms.approximate or Fraction(0))
            sums = (str(budget), "0", "0", str(delta), "0", "0")
            row = Row(request.account, request.what, "\n".join(above), *sums, period="", closed="")
            connection.execute(INSERT_ROW, row)
            return self._append(connection, now(), "open", request)

    def spend(self, requests: Sequence[Request], *, reserved: bool = False) -> list[tuple[Entry, bool]]:
        with self._write() as connection:
            return [self._spend(connection, request, reserved=reserved) for request in requests]

    def _spend(self, connection: sqlite3.Connection, request: Request, *, reserved: bool) -> tuple[Entry, bool]:
        mine = self._row(connection, request.account)
        if (before := self._found(connection, request, "spend")) is not None:
            if before.what != request.what:
                raise KeyTaken(request)
            return before, True
        at = now()
        levels = self._pass_time(connection, at, mine, request.version)
        if self._reserved(connection, request):
            kept = self._found(connection, request, "reserve")
            if kept is None or kept.what.partition(" ")[2] != request.what:
                raise KeyTaken(request)
            self._free(connection, request.account, request.key)
            levels = self._levels(connection, mine)
        elif reserved:
            raise NothingReserved(request.key)
        self._charge(connection, levels, Cost.parse(request.amount), "spent")
        return self._append(connection, at, "spend", request), False

    def _levels(self, connection: sqlite3.Connection, mine: Row) -> list[Row]:
        """The rows of an account and of all above it, the nearest first."""
        if not mine.above:
            return [self._row(connection, mine.name)]
        names = levels_of(mine)
        query = f"SELECT {ROW} FROM account WHERE name IN ({', '.join('?' * len(names))})"
        found = {row[0]: Row(*row) for row in connection.execute(query, names)}
        if len(found) < len(names):
            raise LedgerError(f"{self.name}: an account above {mine.name!r} is missing: it is damaged")
        return [found[name] for name in names]

    def _charge(self, connection: sqlite3.Connection, rows: Sequence[Row], cost: Cost, column: str) -> None:
        """Add a cost to `spent` or `reserved` at all levels, if there is room at each."""
        size, delta = units(cost.size), units(cost.delta)
        if size <= 0:
            raise LedgerError("a spend has a cost")
        check_levels([level_of(row) for row in rows], size, delta)
        update = f"UPDATE account SET {column} = ?, delta_{column} = ? WHERE name = ?"
        for row in rows:
            total, chance = getattr(row, column), getattr(row, f"delta_{column}")
            sums = digits(whole(total) + size), digits(whole(chance) + delta) if delta else chance
            connection.execute(update, (*sums, row.name))

    def _pass_time(self, connection: sqlite3.Connection, at: str, mine: Row | None, version: str) -> list[Row]:
        """What time does to a ledger: overdue reservations expire, and the periods of `mine` and above are opened.

        A period is opened if the clock shows a later one than the last. If the clock was set back, the last goes on.
        Returns the rows of `mine` and above as they are then.
        """
        overdue = "SELECT account, key FROM reservation WHERE until <= ? ORDER BY until, account, key"
        gone = connection.execute(overdue, (at,)).fetchall()
        for account, key in gone:
            self._free(connection, account, key)
            self._append(connection, at, "expire", Request(account, key, version=version))
        rows = [] if mine is None else self._levels(connection, mine) if mine.above or gone else [mine]
        for n, row in enumerate(rows):
            terms = Terms.from_json(row.terms)
            if terms.every is None or terms.zone is None:
                continue
            label = period_at(at, terms.every, terms.zone)
            if label > row.period:
                rows[n] = row._replace(period=label, spent="0", delta_spent="0")
                update = "UPDATE account SET period = ?, spent = '0', delta_spent = '0' WHERE name = ?"
                connection.execute(update, (label, row.name))
                self._append(connection, at, "period", Request(row.name, what=label, version=version))
        return rows

    def _free(self, connection: sqlite3.Connection, account: str, key: str) -> None:
        """Take an open reservation out of what is reserved at all levels; the caller puts the reason on the record."""
        query = "SELECT size, delta FROM reservation WHERE account = ? AND key = ?"
        [(size, delta)] = connection.execute(query, (account, key)).fetchall()
        connection.execute("DELETE FROM reservation WHERE account = ? AND key = ?", (account, key))
        for row in self._levels(connection, self._row(connection, account)):
            left = (whole(row.reserved) - whole(size), whole(row.delta_reserved) - whole(delta))
            if min(left) < 0:
                raise LedgerError(f"{self.name}: a reservation is larger than all that is reserved: it is damaged")
            update = "UPDATE account SET reserved = ?, delta_reserved = ? WHERE name = ?"
            connection.execute(update, (*map(digits, left), row.name))

    def _reserved(self, connection: sqlite3.Connection, request: Request) -> bool:
        query = "SELECT 1 FROM reservation WHERE account = ? AND key = ?"
        return connection.execute(query, (request.account, request.key)).fetchone() is not None

    def reserve(self, request: Request, until: str) -> tuple[Entry, bool]:
        with self._write() as connection:
            mine, at = self._row(connection, request.account), now()
            levels = self._pass_time(connection, at, mine, request.version)
            if (before := self._found(connection, request, "reserve")) is not None:
                if before.what.partition(" ")[2] != request.what:
                    raise KeyTaken(request)
                if not self._reserved(connection, request):
                    raise KeyEnded(request.key)
                return before, True
            if self._found(connection, request, "spend") is not None:
                raise KeyEnded(request.key)
            if until <= at:
                raise LedgerError("the time until which to reserve is over: nothing was reserved")
            cost = Cost.parse(request.amount)
            self._charge(connection, levels, cost, "reserved")
            sums = (digits(units(cost.size)), digits(units(cost.delta)))
            insert = "INSERT INTO reservation VALUES (?, ?, ?, ?, ?)"
            connection.execute(insert, (request.account, request.key, *sums, until))
            asked = replace(request, what=f"{until} {request.what}")
            return self._append(connection, at, "reserve", asked), False

    def give_back(self, request: Request) -> Entry:
        with self._write() as connection:
            self._row(connection, request.account)
            at = now()
            self._pass_time(connection, at, None, request.version)
            if self._reserved(connection, request):
                self._free(connection, request.account, request.key)
                return self._append(connection, at, "release", request)
            if self._found(connection, request, "spend") is not None:
                raise KeyConflict(NO_REFUND)
            ended = self._found(connection, request, "release") or self._found(connection, request, "expire")
            if ended is None:
                raise NothingReserved(request.key)
            return ended

    def _found(self, connection: sqlite3.Connection, request: Request, kind: str) -> Entry | None:
        found = connection.execute(FIND_ENTRY, (request.account, request.key, kind)).fetchone()
        return found and Entry(*found)

    def _row(self, connection: sqlite3.Connection, account: str) -> Row:
        found = connection.execute(f"SELECT {ROW} FROM account WHERE name = ?", (account,)).fetchone()
        if not found:
            raise UnknownAccount(account)
        return Row(*found)

    def change_budget(self, kind: str, request: Request) -> Entry:
        with self._write() as connection:
            at = now()
            self._pass_time(connection, at, None, request.version)
            row = self._row(connection, request.account)
            if row.closed:
                raise AccountClosed(row.name)
            budget, taken = whole(row.budget), whole(row.spent) + whole(row.reserved)
            wanted = units(amount(request.amount))
            fits = wanted > budget if kind == "raise" else taken <= wanted < budget
            if not fits or not request.why:
                raise BadValue(f"a budget is {CHANGED[kind]}, with a reason")
            update = "UPDATE account SET budget = ?, terms = ? WHERE name = ?"
            connection.execute(update, (str(wanted), request.what, request.account))
            return self._append(connection, at, kind, request)

    def close_account(self, request: Request) -> Entry:
        with self._write() as connection:
            if self._row(connection, request.account).closed:
                query = f"SELECT {COLUMNS} FROM entry WHERE account = ? AND kind = 'close'"
                return Entry(*connection.execute(query, (request.account,)).fetchone())
            if not request.why:
                raise LedgerError("an account is closed with a reason")
            connection.execute("UPDATE account SET closed = 'closed' WHERE name = ?", (request.account,))
            return self._append(connection, now(), "close", request)

    def seal(self, request: Request, data: bytes) -> bytes:
        with self._write() as connection:
            if (there := self._bytes(connection, request)) is not None:
                return there
            if self._found(connection, request, "spend") is None:
                raise LedgerError("nothing was spent under this key: spend first, then seal")
            connection.execute("INSERT INTO sealed VALUES (?, ?, ?)", (request.account, request.key, data))
            digested = Request(request.account, request.key, sealed_digest(data), who=request.who, version=_version())
            self._append(connection, now(), "seal", digested)
            return data

    def deliver(self, request: Request) -> bytes:
        with self._write() as connection:
            there = self._bytes(connection, request)
            if there is None:
                raise LedgerError("nothing is sealed under this key: only what is sealed leaves")
            if self._found(connection, request, "deliver") is None:
                self._append(connection, now(), "deliver", request)
            return there

    def _bytes(self, connection: sqlite3.Connection, request: Request) -> bytes | None:
        there = "SELECT bytes FROM sealed WHERE account = ? AND key = ?"
        found = connection.execute(there, (request.account, request.key)).fetchone()
        if found is None:
            return None
        return found[0] if isinstance(found[0], bytes) else str(found[0]).encode()

    def state(self) -> tuple[Head, list[Row]]:
        with self._read() as connection:
            columns = self._columns(connection)
            rows = connection.execute(f"SELECT {columns} FROM account ORDER BY name")
            return self._head(connection), [Row(*row) for row in rows]

    def present(self, at: str) -> tuple[list[Row], list[Kept]]:
        with self._read() as connection:
            found = connection.execute(f"SELECT {self._columns(connection)} FROM account ORDER BY name")
            rows = [Row(*row) for row in found]
            if self._check(connection, read=True) == 1:
                return rows, []
            overdue = connection.execute("SELECT * FROM reservation WHERE until <= ? ORDER BY account, key", (at,))
            return rows, [Kept(*row) for row in overdue]

    def _columns(self, connection: sqlite3.Connection) -> str:
        return FIRST_ROW if self._check(connection, read=True) == 1 else ROW

    def _head(self, connection: sqlite3.Connection) -> Head:
        rows = connection.execute("SELECT length, head FROM ledger").fetchall()
        if len(rows) != 1 or type(rows[0][0]) is not int or type(rows[0][1]) is not str:
            raise LedgerError(f"{self.name}: the row that holds the head of the chain is damaged")
        return Head(*rows[0])

    def account(self, name: str) -> Row | None:
        # One statement is its own snapshot: it reads the schema version too, and needs no transaction.
        query = f"SELECT {ROW}, (SELECT format FROM ledger) FROM account WHERE name = ?"
        with self._lock:
            try:
                found = self._connection().connection.execute(query, (name,)).fetchone()
            except sqlite3.Error:  # no such table or column, busy or damaged: the query below reports which
                found = None
        if found is not None and found[-1] == self._format:
            return Row(*found[:-1])
        with self._read() as connection:
            row = connection.execute(
                f"SELECT {self._columns(connection)} FROM account WHERE name = ?", (name,)
            ).fetchone()
            return None if row is None else Row(*row)

    def remember(self, person: Person) -> None:
        with self._write() as connection:
            connection.execute("INSERT INTO person VALUES (?, ?, ?)", person)

    def people(self) -> list[Person]:
        with self._read() as connection:
            if self._check(connection, read=True) == 1:
                return []
            return [Person(*row) for row in connection.execute("SELECT * FROM person ORDER BY commitment")]

    def forget(self, name: str, request: Request) -> int:
        with self._write() as connection:
            connection.execute("PRAGMA secure_delete = ON")  # the bytes of the name are overwritten, not left free
            count = connection.execute("DELETE FROM person WHERE name = ?", (name,)).rowcount
            if count:
                self._append(connection, now(), "forget", replace(request, what=str(count)))
        with self._lock:  # The log beside the file would keep the name: it is emptied, outside of a transaction.
            self._connection().connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return count

    def reservations(self) -> list[Kept]:
        with self._read() as connection:
            if self._check(connection, read=True) == 1:
                return []
            found = connection.execute("SELECT * FROM reservation ORDER BY account, key")
            return [Kept(*row) for row in found]

    def find(self, account: str, key: str, kind: str) -> Entry | None:
        with self._read() as connection:
            found = connection.execute(FIND_ENTRY, (account, key, kind)).fetchone()
            return found and Entry(*found)

    def batch(self, after: int, up_to: int, account: str | None) -> Sequence[Entry]:
        mine = "" if account is None else "AND account = :account "
        query = f"SELECT {COLUMNS} FROM entry WHERE seq > :after AND seq <= :up_to {mine}ORDER BY seq LIMIT {BATCH}"
        with self._read() as connection:
            found = connection.execute(query, {"after": after, "up_to": up_to, "account": account})
            return [Entry(*row) for row in found]

    def at(self, seq: int) -> Entry | None:
        with self._read() as connection:
            found = connection.execute(f"SELECT {COLUMNS} FROM entry WHERE seq = ?", (seq,)).fetchone()
            return found and Entry(*found)

    def grouped(self, account: str) -> list[tuple[str, int]]:
        query = "SELECT what, count(*) FROM entry WHERE account = ? AND kind = 'spend' GROUP BY what ORDER BY min(seq)"
        with self._read() as connection:
            return list(connection.execute(query, (account,)))

    def sealed(self, account: str, key: str) -> bytes | None:
        with self._read() as connection:
            return self._bytes(connection, Request(account, key))

    def seals(self) -> Iterator[tuple[str, str]]:
        with self._read() as connection:
            found = connection.execute("SELECT account, key FROM sealed ORDER BY account, key").fetchall()
        yield from found

    def load(
        self,
        entries: Iterable[Entry],
        rows: Sequence[Row],
        reservations: Sequence[Kept],
        sealed: Iterable[tuple[str, str, bytes]],
    ) -> None:
        with self._write(create=True, check=False) as connection:
            [(version,)] = connection.execute("PRAGMA user_version")
            if version:
                raise LedgerError(f"{self.name} is a ledger already: import into a new one")
            self._schema(connection, 0)
            last: Entry | None = None

            def counted() -> Iterator[Entry]:
                nonlocal last
                for last in entries:  # noqa: UP028 - `last` is used below
                    yield last

            connection.executemany(INSERT_ENTRY, counted())
            connection.executemany(INSERT_ROW, rows)
            connection.executemany("INSERT INTO reservation VALUES (?, ?, ?, ?, ?)", reservations)
            connection.executemany("INSERT INTO sealed VALUES (?, ?, ?)", sealed)
            assert last is not None
            connection.execute("INSERT INTO ledger VALUES (1, ?, ?, ?)", (self._format, last.seq, last.hash))

    def damage(self) -> list[str]:
        with self._read() as connection:
            return [text for (text,) in connection.execute("PRAGMA quick_check") if text != "ok"]

    def close(self) -> None:
        with self._lock:
            if self._opened is not None:
                self._opened.connection.close()
            self._opened = None


def _version() -> str:
    from zcdp import __version__

    return __version__
