"""Where a ledger lives: an address of PostgreSQL, or the path of a SQLite file."""

from __future__ import annotations

from pathlib import Path

from zcdp.errors import BadValue
from zcdp.ledger.store import Store

__all__ = ["store_at"]


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
