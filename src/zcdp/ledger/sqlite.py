"""A ledger in one SQLite file: check and debit in one transaction that is on the disk before it is acknowledged."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from threading import RLock

from zcdp.errors import BadValue
from zcdp.ledger.chain import START, Entry, Head, digest, sealed_digest
from zcdp.ledger.errors import KeyTaken, LedgerError, UnknownAccount
from zcdp.ledger.migrations import STEPS, check_format, script, statements
from zcdp.ledger.model import admitted, amount
from zcdp.ledger.sqlite_file import LOST, Opened, connect, failure, prepare
from zcdp.ledger.store import BATCH, Request, Row, Store
from zcdp.ledger.system import login, now

__all__ = ["SQLite"]

ADD = f"INSERT INTO entry VALUES ({', '.join('?' * len(Entry._fields))})"
COLUMNS = ", ".join(Entry._fields)
# the last condition lets the database use its index, which has no entries without a key
ONE = f"SELECT {COLUMNS} FROM entry WHERE account = ? AND key = ? AND kind = ? AND key <> ''"


class SQLite(Store):
    """See `Store`. Safe between threads, processes, and after a fork."""

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
        """After a fork a new one: a thread that does not exist here may have held the old one."""
        if self._process != os.getpid():
            if self._opened is not None:
                LOST.append(self._opened)  # a child must not close its parent's connection: that would drop its locks
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
        """Inside of the transaction: another program may have upgraded the file a moment ago."""
        [(version,)] = connection.execute("PRAGMA user_version")
        if version == 0:  # killed while it was made
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
        connection.execute(ADD, made)
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
        found = connection.execute(ONE, (request.account, request.key, "spend")).fetchone()
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
            if not connection.execute(ONE, (request.account, request.key, "spend")).fetchone():
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
            if not connection.execute(ONE, (request.account, request.key, "deliver")).fetchone():
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
        # one statement sees one moment by itself: the version with it, and no transaction around it
        query = "SELECT name, terms, budget, spent, (SELECT format FROM ledger) FROM account WHERE name = ?"
        with self._lock:
            try:
                found = self._connection().connection.execute(query, (name,)).fetchone()
            except sqlite3.Error:  # no such table, busy, damaged: the careful way says what it is
                found = None
        if found is not None and found[4] == self._format:
            return found[0], found[1], found[2], found[3]
        with self._read() as connection:
            row: Row | None = connection.execute("SELECT * FROM account WHERE name = ?", (name,)).fetchone()
            return row

    def find(self, account: str, key: str, kind: str) -> Entry | None:
        with self._read() as connection:
            found = connection.execute(ONE, (account, key, kind)).fetchone()
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
                for last in entries:  # noqa: UP028 - the last one is wanted too
                    yield last

            connection.executemany(ADD, counted())
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
