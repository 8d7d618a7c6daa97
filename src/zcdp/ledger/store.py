"""`Store`, the interface that a database implements for a ledger, with the ledger's errors and size limits.

The implementations are `ledger/sqlite.py` and `ledger/postgres.py`; `store_at` chooses one by the address.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from zcdp.accounting.filter import BudgetExceeded
from zcdp.errors import BadValue, ZcdpError
from zcdp.ledger.chain import Entry, Head

__all__ = [
    "BATCH",
    "CHANGED",
    "LARGEST_SEAL",
    "LONGEST_PLAN",
    "MOST_LEVELS",
    "NO_REFUND",
    "AccountClosed",
    "BudgetExceeded",
    "Kept",
    "KeyConflict",
    "KeyEnded",
    "KeyTaken",
    "LedgerBusy",
    "LedgerError",
    "NothingReserved",
    "Person",
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

    refused = True


class KeyTaken(KeyConflict):
    """Raised by a store if the key exists with another text; carries the request, so that plans can be compared."""

    def __init__(self, request: Request) -> None:
        super().__init__(f"the key {request.key!r} was used for something else: nothing was spent")
        self.request = request


class KeyEnded(KeyConflict):
    """A reservation is asked for under a key whose reservation has ended, or that was spent; nothing was reserved."""

    def __init__(self, key: str) -> None:
        super().__init__(f"the key {key!r} was used before, and what it stood for has ended: reserve under another key")


class NothingReserved(LedgerError):
    """There is no reservation under this key, or it was given back or has expired; nothing was changed."""

    refused = True

    def __init__(self, key: str) -> None:
        super().__init__(f"nothing is reserved under the key {key!r}, or no longer: nothing was changed")


class AccountClosed(LedgerError):
    """The `account`, or one above the one that was asked, is closed to further spends; nothing was changed."""

    refused = True

    def __init__(self, account: str) -> None:
        super().__init__(f"the account {account!r} is closed: nothing was changed")
        self.account = account


class UnknownAccount(LedgerError, LookupError):
    """There is no such account."""


# The interface: the kinds of write, each of them one transaction, and the reads.

BATCH = 5000
"""Entries read by one query."""
LONGEST_PLAN = 1_000_000
"""Characters of a plan as JSON."""
LARGEST_SEAL = 64 * 2**20
"""Bytes sealed under one key."""
CHANGED = {"raise": "raised", "lower": "lowered"}
"""The kinds of entries that change a budget, as verbs in messages."""
NO_REFUND = "what was reserved under this key is spent: there is no refund"
MOST_LEVELS = 16
"""Accounts that one spend is charged to."""


class Person(NamedTuple):
    """A name beside the record: entries have its commitment, which says nothing without the salt."""

    commitment: str
    salt: str
    name: str


class Kept(NamedTuple):
    """An open reservation as it is stored; amounts are whole numbers of 1/GRID, in decimal digits."""

    account: str
    key: str
    size: str
    delta: str
    until: str


class Row(NamedTuple):
    """An account as it is stored. Amounts are whole numbers of 1/GRID, in decimal digits.

    `above` are the names of the accounts above it, the nearest first, one on each line; `closed` is "closed" or empty.
    """

    name: str
    terms: str
    above: str
    budget: str
    spent: str
    reserved: str
    delta: str
    delta_spent: str
    delta_reserved: str
    period: str
    closed: str


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
    def spend(self, requests: Sequence[Request], *, reserved: bool = False) -> list[tuple[Entry, bool]]:
        """Record the spends, all or none; returns each entry and whether it existed before (then it is not charged).

        Each is charged to its account and to all above it. What is reserved under its key is freed first; with
        `reserved` it must be. Raises `BudgetExceeded` if one does not fit, `AccountClosed`, and `KeyTaken` if a key
        was used with another `what`.
        """

    @abstractmethod
    def reserve(self, request: Request, until: str) -> tuple[Entry, bool]:
        """Keep the cost back for the key until a time, at all levels; returns the entry, and whether it existed."""

    @abstractmethod
    def give_back(self, request: Request) -> Entry:
        """End the reservation under a key, and return the entry that ended it, which may be an earlier one."""

    @abstractmethod
    def change_budget(self, kind: str, request: Request) -> Entry:
        """Replace a budget, with a reason: `raise` by a larger one, `lower` by one that covers what is taken."""

    @abstractmethod
    def close_account(self, request: Request) -> Entry:
        """Close an account to further spends, with a reason; returns the entry, or that of an earlier close."""

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
    def present(self, at: str) -> tuple[list[Row], list[Kept]]:
        """A consistent snapshot of the accounts sorted by name, and of the reservations that are overdue at a time."""

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
    def load(
        self,
        entries: Iterable[Entry],
        rows: Sequence[Row],
        reservations: Sequence[Kept],
        sealed: Iterable[tuple[str, str, bytes]],
    ) -> None:
        """Create a ledger, which must not exist yet, from verified entries and what follows from them, and bytes."""

    @abstractmethod
    def remember(self, person: Person) -> None:
        """Keep a name beside the record, under the commitment that entries are to have."""

    @abstractmethod
    def people(self) -> list[Person]:
        """The names that are kept beside the record."""

    @abstractmethod
    def forget(self, name: str, request: Request) -> int:
        """Erase a name beside the record, and record that so many were erased; returns how many."""

    @abstractmethod
    def reservations(self) -> list[Kept]:
        """Every open reservation, sorted by account and key."""

    @abstractmethod
    def upgrade(self, *, dry_run: bool = False) -> int:
        """Bring the schema up to date; returns the version it had before. A dry run undoes all of it at the end."""

    @abstractmethod
    def damage(self) -> list[str]:
        """Corruption that the database itself reports about its files; empty if there is none."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection, if there is one."""

    def entries(self, account: str | None = None, *, up_to: int | None = None, after: int = 0) -> Iterator[Entry]:
        """All entries, oldest first, read in batches. No lock is needed, as entries are only ever added."""
        last = self.state()[0].seq if up_to is None else up_to
        after = after or -(2**62)  # from the first on, whatever its number: one that was edited is to be found
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
