"""`Store`, the interface that a database implements for a ledger, with the ledger's errors and size limits.

The implementations are `ledger/sqlite.py` and `ledger/postgres.py`; `store_at` chooses one by the address.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from zcdp.accounting.filter import BudgetExceeded
from zcdp.errors import BadValue, ZcdpError
from zcdp.ledger.chain import Entry, Head

__all__ = [
    "BATCH",
    "LARGEST_SEAL",
    "LONGEST_PLAN",
    "BudgetExceeded",
    "KeyConflict",
    "KeyTaken",
    "LedgerBusy",
    "LedgerError",
    "Request",
    "Row",
    "Store",
    "UnknownAccount",
    "store_at",
]


class LedgerError(ZcdpError):
    """The ledger cannot be read or written, or is not what was expected; nothing was changed."""


class LedgerBusy(LedgerError):
    """Another program held the ledger for longer than we wait; nothing was changed."""


class KeyConflict(LedgerError):
    """The key was used before for something else; nothing was spent."""


class KeyTaken(KeyConflict):
    """Raised by a store if the key exists with another text; carries the request, so that plans can be compared."""

    def __init__(self, request: Request) -> None:
        super().__init__(f"the key {request.key!r} was used for something else: nothing was spent")
        self.request = request


class UnknownAccount(LedgerError, LookupError):
    """There is no such account."""


# The interface: five kinds of write, each of them one transaction, and the reads.

BATCH = 5000
"""Entries read by one query."""
LONGEST_PLAN = 1_000_000
"""Characters of a plan as JSON."""
LARGEST_SEAL = 64 * 2**20
"""Bytes sealed under one key."""
Row = tuple[str, str, str, str]
"""An account as it is stored: name, terms, budget, spent."""


@dataclass(frozen=True)
class Request:
    """The fields of an entry that the caller supplies; the store adds number, time, kind, login and hash."""

    account: str
    key: str = ""
    what: str = ""
    amount: str = ""
    why: str = ""
    who: str = ""
    version: str = ""


class Store(ABC):
    """A ledger in a database. Each write is atomic: if it raises, nothing was changed."""

    name: str
    """The ledger's name in messages, without passwords or other secrets."""

    @abstractmethod
    def create(self) -> None:
        """Create the ledger if it does not exist."""

    @abstractmethod
    def open_account(self, request: Request) -> Entry | None:
        """Open an account and return its entry; None if an account of this name exists."""

    @abstractmethod
    def spend(self, requests: Sequence[Request]) -> list[tuple[Entry, bool]]:
        """Record the spends, all or none; returns each entry and whether it existed before (then it is not charged).

        Raises `BudgetExceeded` if one does not fit, and `KeyTaken` if a key was used with another `what`.
        """

    @abstractmethod
    def raise_budget(self, request: Request) -> Entry:
        """Replace an account's budget by a larger one; the request must give a reason."""

    @abstractmethod
    def seal(self, request: Request, data: bytes) -> bytes:
        """Store the bytes beside their spend; returns the bytes that were sealed first under this key."""

    @abstractmethod
    def deliver(self, request: Request) -> bytes:
        """The sealed bytes; the first delivery is recorded as an entry."""

    @abstractmethod
    def state(self) -> tuple[Head, list[Row]]:
        """A consistent snapshot of the running totals: the head of the chain, and the accounts sorted by name."""

    @abstractmethod
    def account(self, name: str) -> Row | None:
        """The row of one account; None if there is none of this name."""

    @abstractmethod
    def find(self, account: str, key: str, kind: str) -> Entry | None:
        """The entry of this kind under a key, of which there is at most one; None if there is none."""

    @abstractmethod
    def batch(self, after: int, up_to: int, account: str | None) -> Sequence[Entry]:
        """The first BATCH entries with after < seq <= up_to, by number, of one account or of all."""

    @abstractmethod
    def at(self, seq: int) -> Entry | None:
        """The entry of this number; None if there is none."""

    @abstractmethod
    def grouped(self, account: str) -> list[tuple[str, int]]:
        """Each distinct stored spend (`what`) of an account with its count, the earliest first."""

    @abstractmethod
    def sealed(self, account: str, key: str) -> bytes | None:
        """The bytes sealed under a key; None if there are none."""

    @abstractmethod
    def seals(self) -> Iterator[tuple[str, str]]:
        """Account and key of every sealed result."""

    @abstractmethod
    def load(self, entries: Iterable[Entry], rows: Sequence[Row], sealed: Iterable[tuple[str, str, bytes]]) -> None:
        """Create a ledger, which must not exist yet, from verified entries, account rows and sealed bytes."""

    @abstractmethod
    def upgrade(self) -> int:
        """Bring the schema up to date; returns the version it had before."""

    @abstractmethod
    def damage(self) -> list[str]:
        """Corruption that the database itself reports about its files; empty if there is none."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection, if there is one."""

    def entries(self, account: str | None = None, *, up_to: int | None = None) -> Iterator[Entry]:
        """All entries, oldest first, read in batches. No lock is needed, as entries are only ever added."""
        last = self.state()[0].seq if up_to is None else up_to
        after = -(2**62)
        while rows := self.batch(after, last, account):
            yield from rows
            after = rows[-1].seq


# The choice of the database: a postgresql:// address, or the path of a SQLite file.


def store_at(where: str | Path, timeout: float) -> Store:
    """The store for an address or path. It connects on first use; only its own driver is imported."""
    if isinstance(where, str) and where.startswith(("postgresql://", "postgres://")):
        from zcdp.ledger.postgres import Postgres

        return Postgres(where, timeout=timeout)
    if str(where) == ":memory:":
        raise BadValue("a ledger in memory would forget: Filter is a budget for one process")
    if not str(where):
        raise BadValue("where ('') must be a file, or a postgresql:// address")
    from zcdp.ledger.sqlite import SQLite

    return SQLite(Path(where), timeout=timeout)
