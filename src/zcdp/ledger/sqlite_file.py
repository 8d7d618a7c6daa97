"""A connection to the SQLite file of a ledger, set so that what is acknowledged survives; errors in plain words."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import quote

from zcdp.ledger.errors import LedgerBusy, LedgerError
from zcdp.ledger.filesystem import network_mount

__all__ = ["APPLICATION", "LOST", "Opened", "connect", "failure", "prepare"]

APPLICATION = 0x7A636470
"""The file says what it is: "zcdp" in ASCII."""


@dataclass(frozen=True)
class Opened:
    """A connection, the process that made it, and whether it can only read."""

    connection: sqlite3.Connection
    process: int
    readonly: bool


LOST: list[Opened] = []
"""Connections inherited by a fork: kept, so that they are never closed here."""


def prepare(path: Path, mode: int) -> None:
    """Make an empty file that only its owner (or whom the mode names) may read and write."""
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
    """The file, opened for writing where that is allowed, else for reading."""
    _local(path)
    try:
        folder, missing = path.is_dir(), not path.exists() or (path.stat().st_size == 0 and not create)
    except OSError as error:  # such as a folder that may not be entered
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
    """A file that cannot be written may lie where not even SQLite's shared memory can: then it cannot change either."""
    try:
        _is_ledger(connection, path, create=False)
        return connection
    except sqlite3.OperationalError:
        beside = path.resolve()  # SQLite keeps the log beside the file itself, not beside a link to it
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
    """A commit waits until its log is on the disk; on macOS, until the disk itself says so."""
    until = monotonic() + timeout
    while True:  # SQLite does not wait here by itself
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
    """One clear sentence for what SQLite says."""
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
