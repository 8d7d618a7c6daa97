"""What a ledger refuses, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zcdp.accounting.filter import BudgetExceeded
from zcdp.errors import ZcdpError

if TYPE_CHECKING:
    from zcdp.ledger.store import Request

__all__ = ["BudgetExceeded", "KeyConflict", "KeyTaken", "LedgerBusy", "LedgerError", "UnknownAccount"]


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
