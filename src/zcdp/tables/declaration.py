"""The declaration of a release: whom it protects, the domains, and the tables, from a parsed plan file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zcdp.tables.domain import DeclarationError, Domain, known_fields, read_domain, text
from zcdp.tables.table_query import TableQuery
from zcdp.tables.totals import Together

__all__ = ["Declaration", "read_data", "read_domains"]

DATA = ("unit", "protects", "neighbours", "account")
NEIGHBOURS = ("add-remove", "replace")
MOST_CELLS = 1_000_000


@dataclass(frozen=True)
class Declaration:
    """What is published of whom; `unit` is the column that names a person, or "row", and `protects` what that is."""

    unit: str
    protects: str
    neighbours: str
    account: str | None
    domains: Mapping[str, Domain] = field(repr=False)
    queries: tuple[TableQuery, ...] = ()
    digest: str = ""
    together: tuple[Together, ...] = ()
    """The sets of tables that add up."""

    @property
    def person(self) -> str | None:
        """The column that names a person; None where every row is one."""
        return None if self.unit == "row" else self.unit


def read_data(data: Any) -> tuple[str, str, str, str | None]:
    """unit, what it protects, neighbours and account of [data]."""
    if not isinstance(data, dict):
        raise DeclarationError("", "must be a table: [data]")
    known_fields(data, DATA, "[data]")
    if "unit" not in data:
        raise DeclarationError("", 'unit is missing: the column that names a person, or "row"')
    neighbours = data.get("neighbours", "add-remove")
    if neighbours not in NEIGHBOURS:
        raise DeclarationError("neighbours", f"must be one of {', '.join(NEIGHBOURS)}, not {neighbours!r}")
    account = text(data["account"], "account") if "account" in data else None
    unit = text(data["unit"], "unit")
    return unit, text(data.get("protects", "row" if unit == "row" else "person"), "protects"), neighbours, account


def read_domains(data: Any, folder: Path | None) -> dict[str, Domain]:
    """All domains of [domain], by name."""
    if not isinstance(data, dict):
        raise DeclarationError("", "must be a table: [domain]")
    return {name: read_domain(name, one, folder) for name, one in data.items()}


def check_cells(queries: tuple[TableQuery, ...]) -> None:
    """What is published is sealed as a whole, and must fit."""
    if sum(query.cells * max(1, len(query.quantiles)) for query in queries) > MOST_CELLS:
        raise DeclarationError("", f"the tables of a release have at most {MOST_CELLS} cells together")
