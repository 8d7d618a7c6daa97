"""The database schema as a list of migrations: a new ledger runs them all, an old one those it lacks."""

from __future__ import annotations

from importlib.resources import files

from zcdp.accounting.filter import GRID
from zcdp.ledger.store import LedgerError

__all__ = ["FORMAT", "STEPS", "check_format", "script", "statements"]

STEPS = {"sqlite": ["sqlite_1.sql", "sqlite_2.sql"], "postgres": ["postgres_1.sql", "postgres_2.sql"]}
"""The step at index n migrates from version n to n + 1. A step is never edited once it was published."""
FORMAT = len(STEPS["sqlite"])
"""The schema version that this zcdp writes. Older ones are read, verified and brought up, never the other way."""


def script(name: str) -> str:
    """The SQL text of a step or of roles.sql, by file name.

    >>> script("roles.sql").count("CREATE ROLE")
    2
    """
    return files("zcdp.ledger").joinpath("sql", name).read_text(encoding="utf-8").replace("@GRID@", str(GRID))


def statements(text: str) -> list[str]:
    """Split a SQLite script into its statements: sqlite3's executescript would commit before running them.

    >>> statements("CREATE TABLE a (b); CREATE TABLE c (d);")
    ['CREATE TABLE a (b);', 'CREATE TABLE c (d);']
    """
    from sqlite3 import complete_statement

    found, rest = [], ""
    for piece in text.split(";"):
        rest += piece + ";"
        if complete_statement(rest):
            found.append(rest.strip())
            rest = ""
    return [one for one in found if one.strip(" ;\n")]


def check_format(where: str, version: int, known: int, *, read: bool = False) -> None:
    """Raise `LedgerError` unless the ledger's schema version is the one that this zcdp knows, or an older to `read`."""
    if version > known:
        raise LedgerError(f"{where} is of schema {version}, newer than this zcdp (schema {known}): install a newer one")
    if version < known and not read:
        raise LedgerError(f"{where} is of schema {version}, this zcdp writes {known}: zcdp ledger upgrade brings it up")
