"""From rows to cells: what one person adds is bounded by the plan, and depends on that person's rows alone.

Theorem: docs/theorems/table-sensitivity.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zcdp.release.columns import Source
from zcdp.release.engines import narwhals
from zcdp.release.expressions import amount, between, condition, every, key
from zcdp.tables.amounts import LIMB, Amount
from zcdp.tables.declaration import Declaration
from zcdp.tables.query import TableQuery

__all__ = ["cells"]

PERSON, ROWS, PERSONS, AMOUNT = "zcdp_person", "zcdp_rows", "zcdp_persons", "zcdp_amount"
HIGH, LOW, STEP = "zcdp_high", "zcdp_low", "zcdp_step"


def cells(source: Source, declaration: Declaration, query: TableQuery, salt: int) -> Any:
    """A lazy frame of the cells that are not empty: keys, persons, rows, and the parts of the amounts less `low`."""
    nw = narwhals()
    base, keys = _rows(source, declaration.person, query)
    added = base
    if declaration.person is not None:
        added = _few(source, _together(base, keys, query), keys, query, salt)
    sums = [nw.len().alias(PERSONS)]
    if query.measure in ("count", "histogram", "top") and declaration.person is not None:
        sums.append(nw.col(ROWS).sum())
    if query.amount is not None:
        above = nw.col(AMOUNT) - query.amount.low if query.amount.low else nw.col(AMOUNT)
        added = _parts(added, above, query.amount.high - query.amount.low)
        sums += [nw.col(name).sum() for name in _names(query.amount.high - query.amount.low)]
    return added.group_by(*keys).agg(*sums)


def _rows(source: Source, person: str | None, query: TableQuery) -> tuple[Any, list[str]]:
    """The rows that count, with person, keys and grid steps; keys are those of release, nothing is mapped later."""
    nw = narwhals()
    conditions = [condition(source, one) for one in query.where]
    columns = {}
    if person is not None:
        there, columns[PERSON] = source.column(person, "person")
        conditions.append(there)
    domains = (*query.by, *([query.of] if query.of else []))
    for n, domain in enumerate(domains):
        found, columns[f"zcdp_key_{n}"] = key(source, domain)
        conditions.append(found)
    if query.amount is not None:
        # of a person the total is clipped, of a row the row itself
        ends = (-query.amount.reach, query.amount.reach) if person else (query.amount.low, query.amount.high)
        there, columns[AMOUNT if person is None else STEP] = amount(source, query.amount, *ends)
        conditions.append(there)
    if not domains:  # one cell, whose key is always the same
        columns["zcdp_key_0"] = nw.lit(0, nw.Int64)
        conditions.append(nw.lit(value=True))
    keys = [name for name in columns if name.startswith("zcdp_key_")]
    chosen = source.frame.with_columns(**{"zcdp_chosen": every(conditions), **columns})
    return chosen.filter(nw.col("zcdp_chosen")).select(*columns), keys


def _together(base: Any, keys: Sequence[str], query: TableQuery) -> Any:
    """One row for each person and cell: rows up to max_rows, and the total within its clip."""
    nw = narwhals()
    parts: list[str] = []
    if query.amount is not None:
        base = _parts(base, nw.col(STEP) + query.amount.reach, 2 * query.amount.reach)
        parts = _names(2 * query.amount.reach)
    pairs = base.group_by(PERSON, *keys).agg(nw.len().alias(ROWS), *(nw.col(name).sum() for name in parts))
    pairs = pairs.with_columns(nw.col(name).cast(nw.Int64) for name in (ROWS, *parts))
    if query.amount is not None:
        pairs = pairs.with_columns(_total(query.amount).alias(AMOUNT))
    return pairs.with_columns(nw.min_horizontal(ROWS, nw.lit(query.max_rows)).alias(ROWS))


def _few(source: Source, pairs: Any, keys: list[str], query: TableQuery, salt: int) -> Any:
    """At most so many cells of each person; of quantiles, first one bin in each cell."""
    cell = keys
    if query.measure == "top":  # however many keys a person has, the selection costs the same
        return pairs
    if query.measure == "quantiles":
        pairs = source.engine.keep(pairs, [PERSON, *keys[:-1]], keys[-1:], 1, salt)
        cell = keys[:-1]
    if query.reached < query.cells:
        pairs = source.engine.keep(pairs, [PERSON], cell, query.reached, salt)
    return pairs


def _names(most: int) -> list[str]:
    return [LOW] if most <= 2 * LIMB else [HIGH, LOW]


def _parts(frame: Any, value: Any, most: int) -> Any:
    """A value from 0 to `most` in one part, or as high LIMB + low."""
    if most <= 2 * LIMB:
        return frame.with_columns(value.alias(LOW))
    return frame.with_columns((value // LIMB).alias(HIGH), (value % LIMB).alias(LOW))


def _total(one: Amount) -> Any:
    """The sum of a person's grid steps in a cell, clipped: from the sums of its parts, in 64 bits throughout.

    The parts are of steps + reach, so that n reach is to be taken off; with reach = a LIMB + b it is
    (high - n a - n) LIMB + (low + n (LIMB - b)), in which the second bracket is not negative.
    """
    nw = narwhals()
    n, low = nw.col(ROWS), nw.col(LOW)
    if 2 * one.reach <= 2 * LIMB:
        return between(low - n * one.reach, one.low, one.high)
    a, b = divmod(one.reach, LIMB)
    rest = low + n * (LIMB - b)
    high = between(nw.col(HIGH) - n * (a + 1) + rest // LIMB, -(2**29), 2**29)
    return between(high * LIMB + rest % LIMB, one.low, one.high)
