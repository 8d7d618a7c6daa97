"""A ledger in a SQLite file: where the file may be, a durable connection, and the implementation of `Store`."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from threading import RLock
from time import monotonic, sleep
from urllib.parse import quote

from zcdp.errors import BadValue
from zcdp.ledger.chain import START, Entry, Head, digest, sealed_digest
from zcdp.ledger.migrations import STEPS, check_format, script, statements
from zcdp.ledger.model import admitted, amount
from zcdp.ledger.store import BATCH, KeyTaken, LedgerBusy, LedgerError, Request, Row, Store, UnknownAccount
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
    """A connection, the id of the process that opened it, and whether it is read-only."""

    connection: sqlite3.Connection
    process: int
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
        if readonly:
            return Opened(_readable(connection, path, timeout), os.getpid(), True)
        _is_ledger(connection, path, create=create)
        _durable(connection, path, timeout)
    except BaseException:
        connection.close()
        raise
    return Opened(connection, os.getpid(), False)


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
        _is_ledger(connection, path, create=False)
        return connection


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
                    self._check(connection)
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

    def _check(self, connection: sqlite3.Connection) -> None:
        """Check the schema version, within the transaction: another program may have just upgraded the file."""
        [(version,)] = connection.execute("PRAGMA user_version")
        if version == 0:  # the program that created the file was killed before it finished
            raise LedgerError(f"{self.name}: there is no ledger yet: zcdp ledger open makes one")
        check_format(self.name, version, self._format)

    def create(self) -> None:
        with self._write(create=True, check=False) as connection:
            [(version,)] = connection.execute("PRAGMA user_version")
            if version:
                self._check(connection)
                return
            self._schema(connection, 0)
            connection.execute("INSERT INTO ledger VALUES (1, ?, 0, ?)", (self._format, START))
            self._append(connection, "ledger", Request("", what=token_hex(16), version=_version()))

    def _schema(self, connection: sqlite3.Connection, version: int) -> None:
        for step in self._steps[version:]:
            for statement in statements(script(step) if step.endswith(".sql") else step):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {self._format}")

    def upgrade(self) -> int:
        with self._write(check=False) as connection:
            [(version,)] = connection.execute("PRAGMA user_version")
            if version >= self._format:
                self._check(connection)
                return int(version)
            self._schema(connection, version)
            connection.execute("UPDATE ledger SET format = ?", (self._format,))
            self._append(connection, "upgrade", Request("", what=f"{version} to {self._format}", version=_version()))
            return int(version)

    def _append(self, connection: sqlite3.Connection, kind: str, request: Request) -> Entry:
        length, head = self._head(connection)
        r = request
        made = Entry(length + 1, now(), kind, r.account, r.key, r.what, r.amount, r.why, r.who, login(), r.version, "")
        made = made._replace(hash=digest(head, made))
        connection.execute(INSERT_ENTRY, made)
        connection.execute("UPDATE ledger SET length = ?, head = ?", (made.seq, made.hash))
        return made

    def open_account(self, request: Request) -> Entry | None:
        with self._write() as connection:
            if connection.execute("SELECT 1 FROM account WHERE name = ?", (request.account,)).fetchone():
                return None
            row = (request.account, request.what, request.amount, "0")
            connection.execute("INSERT INTO account VALUES (?, ?, ?, ?)", row)
            return self._append(connection, "open", request)

    def spend(self, requests: Sequence[Request]) -> list[tuple[Entry, bool]]:
        with self._write() as connection:
            return [self._spend(connection, request) for request in requests]

    def _spend(self, connection: sqlite3.Connection, request: Request) -> tuple[Entry, bool]:
        budget, spent = self._sums(connection, request.account)
        found = connection.execute(FIND_ENTRY, (request.account, request.key, "spend")).fetchone()
        if found:
            before = Entry(*found)
            if before.what != request.what:
                raise KeyTaken(request)
            return before, True
        total = admitted(amount(budget), amount(spent), amount(request.amount))
        made = self._append(connection, "spend", request)
        connection.execute("UPDATE account SET spent = ? WHERE name = ?", (str(total), request.account))
        return made, False

    def _sums(self, connection: sqlite3.Connection, account: str) -> tuple[str, str]:
        found = connection.execute("SELECT budget, spent FROM account WHERE name = ?", (account,)).fetchone()
        if not found:
            raise UnknownAccount(account)
        return found[0], found[1]

    def raise_budget(self, request: Request) -> Entry:
        with self._write() as connection:
            budget, _ = self._sums(connection, request.account)
            if amount(request.amount) <= amount(budget) or not request.why:
                raise BadValue("a budget is raised, with a reason")
            made = self._append(connection, "raise", request)
            update = "UPDATE account SET budget = ?, terms = ? WHERE name = ?"
            connection.execute(update, (request.amount, request.what, request.account))
            return made

    def seal(self, request: Request, data: bytes) -> bytes:
        with self._write() as connection:
            if (there := self._bytes(connection, request)) is not None:
                return there
            if not connection.execute(FIND_ENTRY, (request.account, request.key, "spend")).fetchone():
                raise LedgerError("nothing was spent under this key: spend first, then seal")
            connection.execute("INSERT INTO sealed VALUES (?, ?, ?)", (request.account, request.key, data))
            digested = Request(request.account, request.key, sealed_digest(data), who=request.who, version=_version())
            self._append(connection, "seal", digested)
            return data

    def deliver(self, request: Request) -> bytes:
        with self._write() as connection:
            there = self._bytes(connection, request)
            if there is None:
                raise LedgerError("nothing is sealed under this key: only what is sealed leaves")
            if not connection.execute(FIND_ENTRY, (request.account, request.key, "deliver")).fetchone():
                self._append(connection, "deliver", request)
            return there

    def _bytes(self, connection: sqlite3.Connection, request: Request) -> bytes | None:
        there = "SELECT bytes FROM sealed WHERE account = ? AND key = ?"
        found = connection.execute(there, (request.account, request.key)).fetchone()
        if found is None:
            return None
        return found[0] if isinstance(found[0], bytes) else str(found[0]).encode()

    def state(self) -> tuple[Head, list[Row]]:
        with self._read() as connection:
            return self._head(connection), list(connection.execute("SELECT * FROM account ORDER BY name"))

    def _head(self, connection: sqlite3.Connection) -> Head:
        rows = connection.execute("SELECT length, head FROM ledger").fetchall()
        if len(rows) != 1 or type(rows[0][0]) is not int or type(rows[0][1]) is not str:
            raise LedgerError(f"{self.name}: the row that holds the head of the chain is damaged")
        return Head(*rows[0])

    def account(self, name: str) -> Row | None:
        # One statement is its own snapshot: it reads the schema version too, and needs no transaction.
        query = "SELECT name, terms, budget, spent, (SELECT format FROM ledger) FROM account WHERE name = ?"
        with self._lock:
            try:
                found = self._connection().connection.execute(query, (name,)).fetchone()
            except sqlite3.Error:  # no such table, busy or damaged: the query below reports which
                found = None
        if found is not None and found[4] == self._format:
            return found[0], found[1], found[2], found[3]
        with self._read() as connection:
            row: Row | None = connection.execute("SELECT * FROM account WHERE name = ?", (name,)).fetchone()
            return row

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

    def load(self, entries: Iterable[Entry], rows: Sequence[Row], sealed: Iterable[tuple[str, str, bytes]]) -> None:
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
            connection.executemany("INSERT INTO account VALUES (?, ?, ?, ?)", rows)
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
