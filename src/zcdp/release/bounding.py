"""From rows to cells: what one person adds is bounded by the plan, and depends on that person's rows alone.

Theorem: docs/theorems/table-sensitivity.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from zcdp.release.expressions import Source, amount, between, condition, every, key, listed
from zcdp.release.frame_engines import narwhals
from zcdp.tables.amounts import LIMB, Amount
from zcdp.tables.declaration import Declaration
from zcdp.tables.table_query import TableQuery

__all__ = ["Exact", "cells", "exact_table"]


PERSON, CELL, OUTER = "zcdp_person", "zcdp_cell", "zcdp_outer"
ROWS, PERSONS, AMOUNT = "zcdp_rows", "zcdp_persons", "zcdp_amount"
HIGH, LOW = "zcdp_high", "zcdp_low"


def cells(source: Source, declaration: Declaration, query: TableQuery, salt: int) -> Any:
    """A lazy frame of the cells that are not empty: number of the cell, persons, then rows or the parts of the sum."""
    nw = narwhals()
    added = _rows(source, declaration.person, query)
    if declaration.person is not None:
        added = _few(source, _together(added, query), query, salt)
    sums = [nw.len().alias(PERSONS)]
    if query.measure in ("count", "histogram", "top") and declaration.person is not None:
        sums.append(nw.col(ROWS).sum())
    if query.amount is not None:
        added = _parts(added, query.amount)
        sums += [nw.col(name).sum() for name in _names(query.amount)]
    return added.group_by(CELL).agg(*sums)


def _rows(source: Source, person: str | None, query: TableQuery) -> Any:
    """The rows that count, with person, cell and grid steps; the cell is that of release, nothing is mapped later."""
    nw = narwhals()
    conditions = [condition(source, one) for one in query.where]
    columns = {}
    if person is not None:
        there, columns[PERSON] = source.column(person, "person")
        conditions.append(there)
    frame, cell = source.frame, None
    for domain in query.domains:
        frame = listed(source, frame, domain)
        found, place = key(source, domain)
        cell = place if cell is None else cell * domain.size + place
        conditions += found
    # the number of a cell is short, so that groups and orders are
    columns[CELL] = nw.lit(0, nw.Int32) if cell is None else cell.cast(nw.Int32)
    if query.amount is not None:
        # of a person the total is clipped, of a row the row itself
        one = query.amount
        ends = (-one.reach, one.reach) if person else (one.low, one.high)
        there, columns[AMOUNT] = amount(source, one, *ends)
        conditions.append(there)
    if conditions:
        frame = frame.filter(every(conditions))
    if cell is None and len(columns) == 1:  # of a constant alone some engines would make one row
        return frame.with_columns(**columns).select(CELL)
    return frame.select(**columns)


def _together(base: Any, query: TableQuery) -> Any:
    """One row for each person and cell: rows up to max_rows, or the total within its clip."""
    nw = narwhals()
    if query.amount is None:
        pairs = base.group_by(PERSON, CELL).agg(nw.len().alias(ROWS))
        rows = between(nw.col(ROWS).cast(nw.Int64), 0, query.max_rows)
        return pairs.select(PERSON, CELL, rows.alias(ROWS))
    base = _parts(base, query.amount)
    pairs = base.group_by(PERSON, CELL).agg(*(nw.col(name).sum() for name in _names(query.amount)))
    return pairs.select(PERSON, CELL, _total(query.amount).alias(AMOUNT))


def _few(source: Source, pairs: Any, query: TableQuery, salt: int) -> Any:
    """At most so many cells of each person; of quantiles, first one bin in each cell."""
    if query.measure == "top":  # however many keys a person has, the selection costs the same
        return pairs
    if query.measure == "quantiles":
        assert query.of is not None
        outer = _quotient(narwhals().col(CELL), query.of.size)
        pairs = source.engine.keep(pairs.with_columns(outer.alias(OUTER)), [PERSON, OUTER], CELL, 1, salt)
    if query.reached < query.cells:
        pairs = source.engine.keep(pairs, [PERSON], CELL, query.reached, salt)
    return pairs


def _names(one: Amount) -> list[str]:
    return [LOW] if one.limbs == 1 else [HIGH, LOW]


def _parts(frame: Any, one: Amount) -> Any:
    """The amounts in one part, or as high LIMB + low."""
    nw = narwhals()
    value = nw.col(AMOUNT)
    if one.limbs == 1:
        return frame.with_columns(value.alias(LOW))
    high = _quotient(value, LIMB)
    return frame.with_columns(high.alias(HIGH), (value - high * LIMB).alias(LOW))


def _quotient(value: Any, divisor: int) -> Any:
    """value/divisor as an integer: rounded down, but for the rounding of a double; what is left is taken from it."""
    return (value / divisor).floor().cast(narwhals().Int64)


def _total(one: Amount) -> Any:
    """The sum of a person's grid steps in a cell, clipped: from the sums of its parts, in 64 bits throughout."""
    nw = narwhals()
    low = nw.col(LOW).cast(nw.Int64)
    if one.limbs == 1:
        return between(low, one.low, one.high)
    carry = _quotient(low, LIMB)
    high = between(nw.col(HIGH).cast(nw.Int64) + carry, -(2**29), 2**29)
    return between(high * LIMB + (low - carry * LIMB), one.low, one.high)


# The exact table: integers for every declared cell, in the order of the domains; never to leave without noise.


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
