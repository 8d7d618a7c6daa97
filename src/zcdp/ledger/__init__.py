"""A durable privacy budget shared by many programs: a database (SQLite or PostgreSQL), exact sums, a hash chain.

`Ledger` is a privacy filter (Rogers et al. 2016) whose state is on disk: each spend may depend on earlier results.
"""

from zcdp.ledger.book import Ledger
from zcdp.ledger.chain import Entry
from zcdp.ledger.model import Account, Reservation, Spend
from zcdp.ledger.store import AccountClosed, BudgetExceeded, KeyConflict, LedgerBusy, LedgerError, NothingReserved
from zcdp.ledger.verification import Verification

__all__ = [
    "Account",
    "AccountClosed",
    "BudgetExceeded",
    "Entry",
    "KeyConflict",
    "Ledger",
    "LedgerBusy",
    "LedgerError",
    "NothingReserved",
    "Reservation",
    "Spend",
    "Verification",
]
