"""Every condition on every kind of column, and every kind of key, row by row as Python has them, in three engines."""

from __future__ import annotations

from datetime import date
from operator import eq, ge, gt, le, lt, ne
from typing import Any

import polars as pl
import pytest

from zcdp.plans.plan_file import read_plan
from zcdp.release.bounding import exact_table
from zcdp.release.expressions import source_of

TRUE: dict[str, Any] = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
TRUE |= {"in": lambda x, listed: x in listed, "not in": lambda x, listed: x not in listed}
DAYS = [date(2024, 2, 28), date(2024, 2, 29), date(2024, 3, 1), None, date(2024, 3, 1)]
FRAME = pl.DataFrame(
    {
        "place": [1, 2, 3, 4, 5],
        "whole": pl.Series([2, 3, 4, None, 3], dtype=pl.Int64),
        "real": [2.5, 3.0, 3.5, None, 3.0],
        "text": ["a", "b", "c", None, "b"],
        "ok": [True, False, True, None, False],
        "day": pl.Series(DAYS, dtype=pl.Date),
    }
)
AT = {"whole": 3, "real": 3, "text": "b", "ok": False, "day": date(2024, 2, 29)}


def engines(engine: str) -> Any:
    if engine == "polars":
        return FRAME
    return FRAME.to_arrow() if engine == "duckdb" else FRAME.to_pandas().astype({"whole": "Int64", "ok": "boolean"})


def written(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    return {bool: str(value).lower(), str: f'"{value}"'}.get(type(value), str(value))


def cases() -> list[tuple[str, str, Any]]:
    found: list[tuple[str, str, Any]] = []
    for column, value in AT.items():
        ordered = column not in ("text", "ok")
        found += [(column, one, value) for one in ("==", "!=", *(("<", "<=", ">", ">=") if ordered else ()))]
        listed = [value, next(x for x in FRAME[column] if x != value)]
        found += [(column, one, some) for one in ("in", "not in") for some in (listed, [value])]
    return found


def counted(engine: str, some: list[tuple[str, str, Any]]) -> list[list[int]]:
    """For each condition the rows that fulfil it, all in one plan."""
    text = '[data]\nunit = "row"\n[domain]\nplace = { from = 1, to = 6, step = 1 }\n'
    for n, (column, operation, value) in enumerate(some):
        text += f'[[query]]\nname = "{n}"\nmeasure = "count"\nby = ["place"]\nmechanism = "DiscreteGaussian(sigma=2)"\n'
        text += f'where = [["{column}", "{operation}", {written(value)}]]\n'
    tables = read_plan("plan.toml", text).tables
    assert tables is not None
    with source_of(engines(engine), tables) as source:
        return [exact_table(source, tables, one, 0).counts for one in tables.queries]


@pytest.mark.parametrize("engine", ["polars", "duckdb", "pandas"])
def test_a_row_fulfils_a_condition_as_in_python_and_never_without_a_value(engine: str) -> None:
    some = cases() if engine == "polars" else cases()[1::4]
    for (column, operation, value), counts in zip(some, counted(engine, some), strict=True):
        true = [int(x is not None and TRUE[operation](x, value)) for x in FRAME[column]]
        assert counts == true, (column, operation, value)


KEYS = {
    # the domain, and the place of each row, None where it has none
    "texts": ('{ column = "text", values = ["c", "a"] }', [1, None, 0, None, None]),
    "texts and the rest": ('{ column = "text", values = ["c", "a"], other = "z" }', [1, 2, 0, 2, 2]),
    "a range": ('{ column = "whole", values = [3, 4] }', [None, 0, 1, None, 0]),
    "integers": ('{ column = "whole", values = [4, 2] }', [1, None, 0, None, None]),
    "integers and the rest": ('{ column = "whole", values = [4, 2], other = 0 }', [1, 2, 0, 2, 2]),
    "a range and the rest": ('{ column = "whole", values = [3, 4], other = 0 }', [2, 0, 1, 2, 0]),
    "booleans": ('{ column = "ok", values = [false, true] }', [1, 0, 1, None, 0]),
    "true": ('{ column = "ok", values = [true] }', [0, None, 0, None, None]),
    "true and the rest": ('{ column = "ok", values = [true], other = false }', [0, 1, 0, 1, 1]),
    "bins of integers": ('{ column = "whole", from = 3, to = 7, step = 2 }', [None, 0, 0, None, 0]),
    "clipped bins of integers": ('{ column = "whole", from = 3, to = 4, step = 1, clip = true }', [0, 0, 0, None, 0]),
    "bins of reals": ('{ column = "real", from = 2.5, to = 3.5, step = 0.5 }', [0, 1, None, None, 1]),
    "clipped bins of reals": ('{ column = "real", from = 2.9, to = 3.1, step = 0.1, clip = true }', [0, 1, 1, None, 1]),
    "bins of thirds": ('{ column = "real", from = 2, to = 4, step = "2/3" }', [0, 1, 2, None, 1]),
    "days": ('{ column = "day", from = 2024-02-28, to = 2024-03-01, step = "day" }', [0, 1, None, None, None]),
    "two days": ('{ column = "day", from = 2024-02-27, to = 2024-03-02, step = 2 }', [0, 1, 1, None, 1]),
    "months": ('{ column = "day", from = 2024-01-01, to = 2024-04-01, step = "month" }', [1, 1, 2, None, 2]),
    "clipped months": (
        '{ column = "day", from = 2024-03-01, to = 2024-05-01, step = "month", clip = true }',
        [0, 0, 0, None, 0],
    ),
    "quarters": ('{ column = "day", from = 2023-12-01, to = 2024-06-01, step = "quarter" }', [0, 0, 1, None, 1]),
}


@pytest.mark.parametrize("engine", ["polars", "duckdb", "pandas"])
def test_a_row_has_the_key_of_the_definition(engine: str) -> None:
    text = '[data]\nunit = "row"\n[domain]\nplace = { from = 1, to = 6, step = 1 }\n'
    text += "".join(f'"{name}" = {domain}\n' for name, (domain, _) in KEYS.items())
    for name in KEYS:
        text += f'[[query]]\nname = "{name}"\nmeasure = "count"\nby = ["place", "{name}"]\n'
        text += 'mechanism = "DiscreteGaussian(sigma=2)"\n'
    tables = read_plan("plan.toml", text).tables
    assert tables is not None
    with source_of(engines(engine), tables) as source:
        for query, (name, (_, places)) in zip(tables.queries, KEYS.items(), strict=True):
            counts = exact_table(source, tables, query, 0).counts
            size = len(counts) // 5
            assert counts == [int(place == n) for place in places for n in range(size)], name


@pytest.mark.parametrize("engine", ["polars", "duckdb", "pandas"])
def test_an_amount_is_the_nearest_step_halves_up_within_the_clip_of_a_row(engine: str) -> None:
    queries = [(-10, 10, "1", [3, 3, 4, 0, 3]), (-10, 10, "1/2", [5, 6, 7, 0, 6]), (-9, 9, "3", [1, 1, 1, 0, 1])]
    queries += [(0, 3, "1", [3, 3, 3, 0, 3]), (3, 9, "1", [3, 3, 4, 0, 3]), (-6, 2, "2", [1, 1, 1, 0, 1])]
    queries += [(-8, -4, "4", [-1, -1, -1, 0, -1]), (0, 2**40, "1", [3, 3, 4, 0, 3])]
    text = '[data]\nunit = "row"\n[domain]\nplace = { from = 1, to = 6, step = 1 }\n'
    for n, (low, high, grid, _) in enumerate(queries):
        text += f'[[query]]\nname = "{n}"\nmeasure = "sum"\nof = "real"\nclip = [{low}, {high}]\ngrid = "{grid}"\n'
        text += 'by = ["place"]\nmechanism = "DiscreteGaussian(sigma=2)"\n'
    tables = read_plan("plan.toml", text).tables
    assert tables is not None
    with source_of(engines(engine), tables) as source:
        for query, (*words, steps) in zip(tables.queries, queries, strict=True):
            found = exact_table(source, tables, query, 0)
            assert (found.amounts, found.counts) == (steps, [1, 1, 1, 0, 1]), words
