"""Contribution bounding: from rows to exact cells, with each person's contribution limited by the bounds of the plan.

What a person contributes depends on that person's rows alone, and not on those of others.

Theorem: docs/theorems/table-sensitivity.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from zcdp.release.expressions import Source, amount, between, condition, every, key, listed, quotient
from zcdp.release.frame_engines import narwhals
from zcdp.tables.clipped_sums import LIMB, Amount
from zcdp.tables.declaration import Declaration
from zcdp.tables.table_query import TableQuery

__all__ = ["Exact", "cells", "exact_table", "joined_parts", "split_parts"]


PERSON, CELL, OUTER = "zcdp_person", "zcdp_cell", "zcdp_outer"
ROWS, PERSONS, AMOUNT = "zcdp_rows", "zcdp_persons", "zcdp_amount"
HIGH, LOW = "zcdp_high", "zcdp_low"


def cells(source: Source, declaration: Declaration, query: TableQuery, salt: int) -> Any:
    """A lazy frame of the cells that are not empty: index of the cell, persons, then rows or the parts of the sum.

    `salt` is the secret key of the hash that decides which cells of a person are kept.
    """
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
    """The rows that count: columns for the person, the index of the published cell, and the amount in grid steps."""
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
    # 32 bits for the index of a cell make grouping and sorting faster
    columns[CELL] = nw.lit(0, nw.Int32) if cell is None else cell.cast(nw.Int32)
    if query.amount is not None:
        # a person's total is clipped later, and rows only to its reach; if the unit is a row, the row is clipped here
        one = query.amount
        ends = (-one.reach, one.reach) if person else (one.low, one.high)
        there, columns[AMOUNT] = amount(source, one, *ends)
        conditions.append(there)
    if conditions:
        frame = frame.filter(every(conditions))
    if cell is None and len(columns) == 1:  # some engines return a single row if only a constant is selected
        return frame.with_columns(**columns).select(CELL)
    return frame.select(**columns)


def _together(base: Any, query: TableQuery) -> Any:
    """One row for each person and cell: the number of rows, at most max_rows, or the total amount, clipped."""
    nw = narwhals()
    if query.amount is None:
        pairs = base.group_by(PERSON, CELL).agg(nw.len().alias(ROWS))
        rows = between(nw.col(ROWS).cast(nw.Int64), 0, query.max_rows)
        return pairs.select(PERSON, CELL, rows.alias(ROWS))
    base = _parts(base, query.amount)
    pairs = base.group_by(PERSON, CELL).agg(*(nw.col(name).sum() for name in _names(query.amount)))
    return pairs.select(PERSON, CELL, _total(query.amount).alias(AMOUNT))


def _few(source: Source, pairs: Any, query: TableQuery, salt: int) -> Any:
    """At most `query.reached` cells of each person; for quantiles, before that, one bin in each cell."""
    if query.measure == "top":  # a selection costs the same however many keys a person has
        return pairs
    if query.measure == "quantiles":
        assert query.of is not None
        outer = _quotient(narwhals().col(CELL), query.of.size)
        pairs = source.engine.keep(pairs.with_columns(outer.alias(OUTER)), [PERSON, OUTER], CELL, 1, salt)
    if query.reached < query.cells:
        pairs = source.engine.keep(pairs, [PERSON], CELL, query.reached, salt)
    return pairs


def _names(one: Amount) -> list[str]:
    """The columns that hold the parts of an amount."""
    return [LOW] if one.limbs == 1 else [HIGH, LOW]


def _parts(frame: Any, one: Amount) -> Any:
    """The frame with columns for the parts of the amount: LOW alone, or HIGH and LOW with value = HIGH * LIMB + LOW."""
    nw = narwhals()
    value = nw.col(AMOUNT)
    if one.limbs == 1:
        return frame.with_columns(value.alias(LOW))
    high, low = split_parts(value)
    return frame.with_columns(high.alias(HIGH), low.alias(LOW))


def split_parts(value: Any) -> tuple[Any, Any]:
    """Two parts of an integer of 53 bits: value = high * LIMB + low. Sums of either stay within 64 bits."""
    high = _quotient(value, LIMB)
    return high, value - high * LIMB


def joined_parts(high: Any, low: Any) -> Any:
    """high * LIMB + low of two sums of parts; beyond 2^54 in size it is another number beyond 2^54."""
    carry = _quotient(low, LIMB)
    return between(high + carry, -(2**29), 2**29) * LIMB + (low - carry * LIMB)


def _quotient(value: Any, divisor: int) -> Any:
    """floor(value/divisor) in doubles: exact below 2^53, else about that, and callers take the remainder from it."""
    return quotient(value, divisor).floor().cast(narwhals().Int64)


def _total(one: Amount) -> Any:
    """The clipped sum of a person's grid steps in a cell, from the sums of its parts, without overflow of 64 bits."""
    nw = narwhals()
    low = nw.col(LOW).cast(nw.Int64)
    if one.limbs == 1:
        return between(low, one.low, one.high)
    return between(joined_parts(nw.col(HIGH).cast(nw.Int64), low), one.low, one.high)


# The exact table: an integer for every declared cell. It must never be published without noise.


@dataclass(frozen=True)
class Exact:
    """The exact counts and amounts of all cells, the last key running fastest.

    For quantiles and selections a cell here is a bin or a candidate. `amounts` are in grid steps; for a mean each
    person's is less the middle of the clip.
    """

    counts: list[int]
    amounts: list[int]


def exact_table(source: Source, declaration: Declaration, query: TableQuery, salt: int) -> Exact:
    """The exact table, by one pass over the data; cells that nobody is in are 0."""
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
