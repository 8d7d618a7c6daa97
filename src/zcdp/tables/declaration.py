"""The declaration of a release, from a parsed plan file: the unit of privacy, the domains, and the tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zcdp.tables.derived_columns import Derived
from zcdp.tables.discovered_keys import Discovered, read_discovered
from zcdp.tables.domain import DeclarationError, Domain, known_fields, text
from zcdp.tables.nested import read_all
from zcdp.tables.table_query import TableQuery
from zcdp.tables.totals import Together

__all__ = ["Declaration", "check_cells", "read_data", "read_domains"]

DATA = ("unit", "protects", "neighbours", "account", "vintage", "key")
NEIGHBOURS = ("add-remove", "replace")
MOST_CELLS = 1_000_000  # of all tables of a release
VINTAGE = "{vintage}"  # what stands for the vintage in a key
LONGEST_VINTAGE = 100


@dataclass(frozen=True)
class Declaration:
    """A declared release: `unit` is the column that identifies a person, or "row"; `protects` says what a unit is.

    `digest` is the SHA-256 of the plan file's data, `account` the ledger account to charge, and `key` the name of this
    release there. `vintage` is a public label of the data set, such as 2026-Q2, which is printed in every table.
    """

    unit: str
    protects: str
    neighbours: str
    account: str | None
    domains: Mapping[str, Domain | Discovered] = field(repr=False, default_factory=dict)
    queries: tuple[TableQuery, ...] = ()
    digest: str = ""
    together: tuple[Together, ...] = ()
    """The sets of tables that are adjusted to add up."""
    vintage: str | None = None
    key: str | None = None
    derived: Mapping[str, Derived] = field(default_factory=dict, repr=False)
    """The columns that are derived from each row, or from each person's rows, by name."""
    lists: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The text of each public file that the plan names, by its name there."""

    @property
    def discovered(self) -> list[Discovered]:
        """The domains whose keys are found in the data, in the order of the plan."""
        return [one for one in self.domains.values() if isinstance(one, Discovered)]

    @property
    def person(self) -> str | None:
        """The column that identifies a person; None if the unit of privacy is a row."""
        return None if self.unit == "row" else self.unit


def read_data(data: Any) -> Declaration:
    """The fields of [data], checked and with defaults, as a declaration without domains and tables.

    >>> read_data({"unit": "who", "vintage": "2026-Q2", "key": "persons {vintage}"}).key
    'persons 2026-Q2'
    """
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
    unit = text(data["unit"], "unit")
    protects = text(data.get("protects", "row" if unit == "row" else "person"), "protects")
    account = text(data["account"], "account") if "account" in data else None
    vintage = _vintage(data["vintage"]) if "vintage" in data else None
    key = _key(text(data["key"], "key"), vintage) if "key" in data else None
    return Declaration(unit, protects, neighbours, account, vintage=vintage, key=key)


def _vintage(data: Any) -> str:
    """The label of the data set: one short line, as it stands in every row of every table."""
    vintage = text(data, "vintage")
    if len(vintage) > LONGEST_VINTAGE or not vintage.isprintable() or vintage != vintage.strip():
        raise DeclarationError("vintage", f"must be one line of at most {LONGEST_VINTAGE} letters, as 2026-Q2")
    return vintage


def _key(written: str, vintage: str | None) -> str:
    """The key of the release, with the vintage in place of {vintage}."""
    if VINTAGE in written and vintage is None:
        raise DeclarationError("key", f"{VINTAGE} stands for the vintage, and [data] has none")
    rest = written.replace(VINTAGE, "")
    if "{" in rest or "}" in rest:
        raise DeclarationError("key", f"{VINTAGE} is all that may stand in braces, not {written!r}")
    return written.replace(VINTAGE, vintage or "")


def read_domains(data: Any, folder: Path | None, unit: str = "row") -> dict[str, Domain | Discovered]:
    """All domains of [domain] by name; their files are looked up in `folder`."""
    if not isinstance(data, dict):
        raise DeclarationError("", "must be a table: [domain]")
    found = {name for name, one in data.items() if isinstance(one, dict) and "discover" in one}
    listed = read_all({name: one for name, one in data.items() if name not in found}, folder)
    return {name: read_discovered(name, one, unit) if name in found else listed[name] for name, one in data.items()}


def read_lookups(data: Any) -> dict[str, Any]:
    """The fields of each lookup table, by name."""
    if not isinstance(data, dict) or not all(isinstance(one, dict) for one in data.values()):
        raise DeclarationError("", "must be tables: [lookup.NAME]")
    return data


def check_cells(queries: tuple[TableQuery, ...]) -> None:
    """Refuse a release of too many cells: all its tables are sealed together in one archive of limited size."""
    if sum(query.cells * max(1, len(query.quantiles)) for query in queries) > MOST_CELLS:
        raise DeclarationError("", f"the tables of a release have at most {MOST_CELLS} cells together")
