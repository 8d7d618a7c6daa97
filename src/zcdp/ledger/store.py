"""What a ledger refuses, and why."""

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
    """Which request it was, for the ledger to look closer."""

    def __init__(self, request: Request) -> None:
        super().__init__(f"the key {request.key!r} was used for something else: nothing was spent")
        self.request = request


class UnknownAccount(LedgerError, LookupError):
    """There is no such account."""


# What a database must do for a ledger: five writes, each one transaction, and a few reads.

BATCH = 5000
LONGEST_PLAN = 1_000_000
LARGEST_SEAL = 64 * 2**20
Row = tuple[str, str, str, str]
"""An account as it is stored: name, terms, budget, spent."""


@dataclass(frozen=True)
class Request:
    """What one write puts on the record, before the store adds number, time, login and hash."""

    account: str
    key: str = ""
    what: str = ""
    amount: str = ""
    why: str = ""
    who: str = ""
    version: str = ""


class Store(ABC):
    """A ledger in a database. Writes raise before they change anything, or have changed everything."""

    name: str
    """How the ledger is called in messages: without anything secret."""

    @abstractmethod
    def create(self) -> None:
        """Make the ledger where there is none yet."""

    @abstractmethod
    def open_account(self, request: Request) -> Entry | None:
        """Open an account; None where there is one of this name."""

    @abstractmethod
    def spend(self, requests: Sequence[Request]) -> list[tuple[Entry, bool]]:
        """The debits, and whether each was there before: all of them, or by an exception none.

        `BudgetExceeded` where one does not fit, `KeyConflict` where its key stands for another `what`.
        """

    @abstractmethod
    def raise_budget(self, request: Request) -> Entry:
        """A larger budget, with a reason."""

    @abstractmethod
    def seal(self, request: Request, data: bytes) -> bytes:
        """Seal the bytes with their debit; what comes back is what was sealed first."""

    @abstractmethod
    def deliver(self, request: Request) -> bytes:
        """The sealed bytes; the first time goes on the record."""

    @abstractmethod
    def state(self) -> tuple[Head, list[Row]]:
        """The running totals as they stand at one moment: head of the chain, and accounts by name."""

    @abstractmethod
    def account(self, name: str) -> Row | None:
        """One account."""

    @abstractmethod
    def find(self, account: str, key: str, kind: str) -> Entry | None:
        """The one entry of this kind under a key."""

    @abstractmethod
    def batch(self, after: int, up_to: int, account: str | None) -> Sequence[Entry]:
        """Up to BATCH entries in their order, of one account or of all."""

    @abstractmethod
    def at(self, seq: int) -> Entry | None:
        """The entry of this number."""

    @abstractmethod
    def grouped(self, account: str) -> list[tuple[str, int]]:
        """Each different plan that was spent, with how often, in the order of their first spend."""

    @abstractmethod
    def sealed(self, account: str, key: str) -> bytes | None:
        """What is sealed under a key."""

    @abstractmethod
    def seals(self) -> Iterator[tuple[str, str]]:
        """The account and key of everything that is sealed."""

    @abstractmethod
    def load(self, entries: Iterable[Entry], rows: Sequence[Row], sealed: Iterable[tuple[str, str, bytes]]) -> None:
        """Fill a ledger that does not exist yet with checked entries from elsewhere."""

    @abstractmethod
    def upgrade(self) -> int:
        """Bring the schema up to date; the version it had."""

    @abstractmethod
    def damage(self) -> list[str]:
        """What the database itself finds wrong with its files."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the database."""

    def entries(self, account: str | None = None, *, up_to: int | None = None) -> Iterator[Entry]:
        """All entries in their order, in batches: entries are only ever added, so that no lock is needed."""
        last = self.state()[0].seq if up_to is None else up_to
        after = -(2**62)
        while rows := self.batch(after, last, account):
            yield from rows
            after = rows[-1].seq


# Where a ledger lives: an address of PostgreSQL, or the path of a SQLite file.


def store_at(where: str | Path, timeout: float) -> Store:
    """The database that the address names; it is opened on first use, and its driver imported here."""
    if isinstance(where, str) and where.startswith(("postgresql://", "postgres://")):
        from zcdp.ledger.postgres import Postgres

        return Postgres(where, timeout=timeout)
    if str(where) == ":memory:":
        raise BadValue("a ledger in memory would forget: Filter is a budget for one process")
    if not str(where):
        raise BadValue("where ('') must be a file, or a postgresql:// address")
    from zcdp.ledger.sqlite import SQLite

    return SQLite(Path(where), timeout=timeout)
