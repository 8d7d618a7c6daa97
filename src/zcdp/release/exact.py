"""The exact table: integers for every declared cell, in the order of the domains; never to leave without noise."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

from zcdp.release.bounding import cells
from zcdp.release.columns import Source
from zcdp.tables.amounts import LIMB
from zcdp.tables.declaration import Declaration
from zcdp.tables.domain import Bins, Domain
from zcdp.tables.query import TableQuery

__all__ = ["Exact", "exact_table"]


@dataclass(frozen=True)
class Exact:
    """What each cell holds; of quantiles and selections a cell is a bin or a candidate, the last key running fastest.

    `amounts` are those of the query, of a mean less the middle of its clip.
    """

    counts: list[int]
    amounts: list[int]


def exact_table(source: Source, declaration: Declaration, query: TableQuery, salt: int) -> Exact:
    """One pass over the data; the cells that nobody is in are 0 like any other."""
    domains = (*query.by, *([query.of] if query.of else []))
    places = {labels: n for n, labels in enumerate(product(*(domain.labels for domain in domains)))}
    counts, amounts = [0] * len(places), [0] * len(places)
    rows = source.engine.rows(cells(source, declaration, query, salt))
    width = max(len(domains), 1)
    for row in rows:
        found, numbers = row[:width], [int(number) for number in row[width:]]
        place = places[tuple(_label(domain, value) for domain, value in zip(domains, found, strict=False))]
        persons = numbers[0]
        counts[place] = numbers[1] if len(numbers) > 1 and query.amount is None else persons
        if query.amount is not None:
            parts = numbers[1] * LIMB + numbers[2] if len(numbers) > 2 else numbers[1]
            centre = query.amount.middle if query.measure == "mean" else 0
            amounts[place] = parts + persons * (query.amount.low - centre)
    return Exact(counts, amounts)


def _label(domain: Domain, value: Any) -> Any:
    """A key as it was declared: engines give back integers and booleans of their own."""
    if isinstance(domain, Bins) or domain.kind == "integer":
        return int(value)
    return bool(value) if domain.kind == "boolean" else value
