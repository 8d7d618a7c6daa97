"""A privacy budget that survives crashes, races and people: SQLite or PostgreSQL, exact sums, a hash chain."""

from zcdp.ledger.book import Ledger
from zcdp.ledger.chain import Entry
from zcdp.ledger.model import Account, Spend
from zcdp.ledger.store import BudgetExceeded, KeyConflict, LedgerBusy, LedgerError
from zcdp.ledger.verification import Verification

__all__ = [
    "Account",
    "BudgetExceeded",
    "Entry",
    "KeyConflict",
    "Ledger",
    "LedgerBusy",
    "LedgerError",
    "Spend",
    "Verification",
]
