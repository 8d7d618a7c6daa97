"""Contribution bounding: from rows to exact cells, with each person's contribution limited by the bounds of the plan.

What a person contributes depends on that person's rows alone, and not on those of others.

Theorem: docs/theorems/table-sensitivity.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

from zcdp.release.expressions import Source, amount, between, condition, interval, key, listed, quotient
from zcdp.release.frame_engines import narwhals
from zcdp.tables.clipped_sums import LIMB, Amount
from zcdp.tables.declaration import Declaration
from zcdp.tables.discovered_keys import Discovered
from zcdp.tables.domain import Bins
from zcdp.tables.table_query import TableQuery

__all__ = ["Exact", "cells", "exact_table", "joined_parts", "key_counts", "split_parts"]


PERSON, CELL, OUTER = "zcdp_person", "zcdp_cell", "zcdp_outer"
ROWS, PERSONS, NUMBER = "zcdp_rows", "zcdp_persons", "zcdp_number"
AMOUNT, HIGH, LOW = "zcdp_amount", "zcdp_high", "zcdp_low"
"""Columns of an amount and of its parts; those of a second one end in 2."""
MOST_OF_ONE = 2**40  # rows that a person may have in one bin, so that cell and number of a row are one 64-bit integer


def cells(source: Source, declaration: Declaration, query: TableQuery, salt: int) -> Any:
    """A lazy frame of the cells that are not empty: index of the cell, persons, then rows or the parts of sums.

    `salt` is the secret key of the hash that decides which cells of a person are kept.
    """
    nw = narwhals()
    added = _rows(source, declaration.person, query)
    if declaration.person is not None:
        one_by_one = query.per == "row"
        added = (
            _few_rows(source, added, query, salt) if one_by_one else _few(source, _together(added, query), query, salt)
        )
    sums = [nw.len().alias(PERSONS)]
    if query.measure in ("count", "histogram", "top") and declaration.person is not None:
        sums.append(nw.col(ROWS).sum())
    if query.measure == "variance":
        added = _squared(added, query)
    for n, limbs in enumerate(_limbs(query)):
        added = _parts(added, limbs, n)
        sums += [nw.col(name).sum() for name in _names(limbs, n)]
    return added.group_by(CELL).agg(*sums)


def _limbs(query: TableQuery) -> list[int]:
    """In how many parts each of the amounts is added up that a cell holds."""
    if query.measure == "quantiles":
        return []
    return [one.limbs for one in query.amounts] + ([2] if query.measure == "variance" else [])


def _rows(source: Source, person: str | None, query: TableQuery) -> Any:
    """The rows that count: columns for the person, the index of the published cell, and the amount in grid steps."""
    nw = narwhals()
    conditions = [condition(source, one) for one in query.where]
    columns = {}
    if person is not None:
        there, columns[PERSON] = source.column(person, "person")
        conditions.append(there)
    frame, cell = source.frame, None
    for domain in query.row_domains:
        frame = listed(source, frame, domain)
        found, place = key(source, domain)
        cell = place if cell is None else cell * domain.size + place
        conditions += found
    # 32 bits for the index of a cell make grouping and sorting faster
    columns[CELL] = nw.lit(0, nw.Int32) if cell is None else cell.cast(nw.Int32)
    for n, one in enumerate(query.amounts):
        # a person's total is clipped later, and rows only to its reach; if the unit is a row, the row is clipped here
        ends = (-one.reach, one.reach) if person else (one.low, one.high)
        there, columns[_nth(AMOUNT, n)] = amount(source, one, *ends)
        conditions.append(there)
    if conditions:
        frame = source.filtered(frame, conditions)
    if cell is None and len(columns) == 1:  # some engines return a single row if only a constant is selected
        return frame.with_columns(**columns).select(CELL)
    return frame.select(**columns)


def _together(base: Any, query: TableQuery) -> Any:
    """One row for each person and cell: the number of rows, at most max_rows, or the total amount, clipped.

    For quantiles of totals the cell becomes that of the bin.
    """
    nw = narwhals()
    if not query.amounts:
        pairs = base.group_by(PERSON, CELL).agg(nw.len().alias(ROWS))
        rows = between(nw.col(ROWS).cast(nw.Int64), 0, query.max_rows)
        return pairs.select(PERSON, CELL, rows.alias(ROWS))
    for n, one in enumerate(query.amounts):
        base = _parts(base, one.limbs, n)
    names = [name for n, one in enumerate(query.amounts) for name in _names(one.limbs, n)]
    pairs = base.group_by(PERSON, CELL).agg(*(nw.col(name).sum() for name in names))
    totals = pairs.select(PERSON, CELL, *(_total(one, n).alias(_nth(AMOUNT, n)) for n, one in enumerate(query.amounts)))
    return totals if query.measure != "quantiles" else _binned(totals, query)


def _binned(totals: Any, query: TableQuery) -> Any:
    """The persons and cells of totals, with the bin of the total in the index of the cell; no row if it has no bin."""
    nw = narwhals()
    bins, one = query.of, query.amount
    assert isinstance(bins, Bins)
    assert one is not None
    start, step = int(bins.start / one.grid), int(bins.step / one.grid)
    [inside], place = interval(nw.lit(True), nw.col(AMOUNT), start, step, bins.size, clip=bins.clip)
    placed = totals if bins.clip else totals.filter(inside)
    return placed.select(PERSON, (nw.col(CELL) * bins.size + place).cast(nw.Int32).alias(CELL))


def _few(source: Source, pairs: Any, query: TableQuery, salt: int) -> Any:
    """At most `query.reached` cells of each person."""
    if query.measure == "top":  # a selection costs the same however many keys a person has
        return pairs
    if query.reached < query.cells:
        pairs = source.engine.keep(pairs, [PERSON], CELL, query.reached, salt)
    return pairs


def _few_rows(source: Source, base: Any, query: TableQuery, salt: int) -> Any:
    """Single rows of each person, for quantiles: at most max_rows in a cell, and in at most `query.reached` cells.

    Rows of a person in one bin are alike, so they are told apart by numbers, whichever has which. Then what is kept is
    a function of how many rows the person has in each bin, and each row of a cell has the same chance.
    """
    nw = narwhals()
    assert query.of is not None
    outer = _quotient(nw.col(CELL), query.of.size).alias(OUTER)
    rows = source.engine.numbered(base, [PERSON, CELL], NUMBER)
    told = nw.col(CELL).cast(nw.Int64) * MOST_OF_ONE + nw.col(NUMBER).cast(nw.Int64)
    rows = rows.select(PERSON, CELL, outer, told.alias(NUMBER))
    rows = source.engine.keep(rows, [PERSON, OUTER], NUMBER, query.max_rows, salt)
    if query.reached < query.cells:
        pairs = rows.select(PERSON, OUTER).unique()
        kept = source.engine.keep(pairs, [PERSON], OUTER, query.reached, salt)
        rows = rows.join(kept, on=[PERSON, OUTER], how="inner")
    return rows


def _nth(name: str, n: int) -> str:
    """The name of a column of amount n."""
    return name if n == 0 else f"{name}{n + 1}"


def _names(limbs: int, n: int) -> list[str]:
    """The columns that hold the parts of amount n."""
    return [_nth(LOW, n)] if limbs == 1 else [_nth(HIGH, n), _nth(LOW, n)]


def _parts(frame: Any, limbs: int, n: int) -> Any:
    """The frame with columns for the parts of amount n: LOW, or HIGH and LOW with value = HIGH * LIMB + LOW."""
    nw = narwhals()
    value = nw.col(_nth(AMOUNT, n))
    if limbs == 1:
        return frame.with_columns(value.alias(_nth(LOW, n)))
    high, low = split_parts(value)
    return frame.with_columns(high.alias(_nth(HIGH, n)), low.alias(_nth(LOW, n)))


def _squared(frame: Any, query: TableQuery) -> Any:
    """The frame with a second amount: the square of a person's distance from the middle of the clip."""
    assert query.amount is not None
    away = narwhals().col(AMOUNT) - query.amount.middle
    return frame.with_columns((away * away).alias(_nth(AMOUNT, 1)))


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


def _total(one: Amount, n: int) -> Any:
    """The clipped sum of a person's grid steps in a cell, from the sums of its parts, without overflow of 64 bits."""
    nw = narwhals()
    low = nw.col(_nth(LOW, n)).cast(nw.Int64)
    if one.limbs == 1:
        return between(low, one.low, one.high)
    return between(joined_parts(nw.col(_nth(HIGH, n)).cast(nw.Int64), low), one.low, one.high)


# Keys that are found in the data, each with the number of persons who have it.

KEY = "zcdp_key"
NO_KEY = r"[\x00-\x1f\x7f]"
"""A text with such a character is no key: pandas before 3 takes texts that differ after a NUL for equal."""


def key_counts(source: Source, person: str | None, domain: Discovered, salt: int) -> list[tuple[Any, int]]:
    """The keys that somebody has, each with the number of persons, of whom each has at most `domain.max_cells` keys.

    These are the first in the order of a hash of salt, person and key, so that which they are depends on the person's
    own keys alone. It must never be published without noise and threshold. Theorem: docs/theorems/discovered-keys.md.
    """
    nw = narwhals()
    there, label = source.label(domain.column, domain.kind)
    columns = {KEY: nw.col(label)}
    if domain.kind == "text":
        there = there & ~nw.col(label).str.contains(NO_KEY)
    if person is not None:
        named, columns[PERSON] = source.column(person, "person")
        there = there & named
    pairs = source.filtered(source.frame, [there]).select(**columns)
    if person is not None:
        pairs = pairs.group_by(PERSON, KEY).agg(nw.len().alias(ROWS)).select(PERSON, KEY)
        pairs = source.engine.keep(pairs, [PERSON], KEY, domain.max_cells, salt)
    rows = source.engine.rows(pairs.group_by(KEY).agg(nw.len().alias(PERSONS)))
    return [(key, int(persons)) for key, persons in rows]


# The exact table: an integer for every declared cell. It must never be published without noise.


@dataclass(frozen=True)
class Exact:
    """The exact counts and amounts of all cells, the last key running fastest.

    For quantiles and selections a cell here is a bin or a candidate. `amounts` are in grid steps; for a mean or a
    variance each person's is less the middle of the clip. `others` are the second amounts: what a ratio is over, or for
    a variance the squares of what is in `amounts`, each less the middle of those.
    """

    counts: list[int]
    amounts: list[int]
    others: list[int] = field(default_factory=list)


def exact_table(source: Source, declaration: Declaration, query: TableQuery, salt: int) -> Exact:
    """The exact table, by one pass over the data; cells that nobody is in are 0."""
    size = prod(domain.size for domain in query.domains)
    limbs = _limbs(query)
    counts, sums = [0] * size, [[0] * size for _ in limbs]
    for row in source.engine.rows(cells(source, declaration, query, salt)):
        cell, persons, *numbers = map(int, row)
        counts[cell] = persons
        if not limbs and numbers:
            counts[cell] = numbers[0]
        for n, parts in enumerate(limbs):
            mine, numbers = numbers[:parts], numbers[parts:]
            total = mine[0] * LIMB + mine[1] if parts == 2 else mine[0]
            sums[n][cell] = total - persons * query.middles[n]
    return Exact(counts, *(sums or [[0] * size]))
