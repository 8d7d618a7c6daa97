"""The declaration of a release, from a parsed plan file: the unit of privacy, the domains, and the tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zcdp.tables.domain import DeclarationError, Domain, known_fields, text
from zcdp.tables.nested import read_all
from zcdp.tables.table_query import TableQuery
from zcdp.tables.totals import Together

__all__ = ["Declaration", "read_data", "read_domains"]

DATA = ("unit", "protects", "neighbours", "account")
NEIGHBOURS = ("add-remove", "replace")
MOST_CELLS = 1_000_000  # of all tables of a release


@dataclass(frozen=True)
class Declaration:
    """A declared release: `unit` is the column that identifies a person, or "row"; `protects` says what a unit is.

    `digest` is the SHA-256 of the plan file's data, `account` the ledger account to charge.
    """

    unit: str
    protects: str
    neighbours: str
    account: str | None
    domains: Mapping[str, Domain] = field(repr=False)
    queries: tuple[TableQuery, ...] = ()
    digest: str = ""
    together: tuple[Together, ...] = ()
    """The sets of tables that are adjusted to add up."""

    @property
    def person(self) -> str | None:
        """The column that identifies a person; None if the unit of privacy is a row."""
        return None if self.unit == "row" else self.unit


def read_data(data: Any) -> tuple[str, str, str, str | None]:
    """The fields (unit, protects, neighbours, account) of [data], checked and with defaults."""
    if not isinstance(data, dict):
        raise DeclarationError("", "must be a table: [data]")
    known_fields(data, DATA, "[data]")
    if "unit" not in data:
        raise DeclarationError("", 'unit is missing: the column that names a person, or "row"')
    neighbours = data.get("neighbours", "add-remove")
    if neighbours == "add_remove":  # as it is spelled everywhere else
        neighbours = "add-remove"
    if neighbours not in NEIGHBOURS:
        raise DeclarationError("neighbours", f"must be one of {', '.join(NEIGHBOURS)}, not {neighbours!r}")
    account = text(data["account"], "account") if "account" in data else None
    unit = text(data["unit"], "unit")
    return unit, text(data.get("protects", "row" if unit == "row" else "person"), "protects"), neighbours, account


def read_domains(data: Any, folder: Path | None) -> dict[str, Domain]:
    """All domains of [domain] by name; their files are looked up in `folder`."""
    if not isinstance(data, dict):
        raise DeclarationError("", "must be a table: [domain]")
    return read_all(data, folder)


def check_cells(queries: tuple[TableQuery, ...]) -> None:
    """Refuse a release of too many cells: all its tables are sealed together in one archive of limited size."""
    if sum(query.cells * max(1, len(query.quantiles)) for query in queries) > MOST_CELLS:
        raise DeclarationError("", f"the tables of a release have at most {MOST_CELLS} cells together")
