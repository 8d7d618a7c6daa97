"""The exact table: integers for every declared cell, in the order of the domains; never to leave without noise."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from zcdp.release.bounding import cells
from zcdp.release.columns import Source
from zcdp.tables.amounts import LIMB
from zcdp.tables.declaration import Declaration
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
    size = prod(domain.size for domain in query.domains)
    counts, amounts = [0] * size, [0] * size
    for row in source.engine.rows(cells(source, declaration, query, salt)):
        cell, persons, *numbers = map(int, row)
        counts[cell] = persons
        if query.amount is not None:
            total = numbers[0] * LIMB + numbers[1] if query.amount.limbs == 2 else numbers[0]
            amounts[cell] = total - (persons * query.amount.middle if query.measure == "mean" else 0)
        elif numbers:
            counts[cell] = numbers[0]
    return Exact(counts, amounts)
