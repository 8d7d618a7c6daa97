"""Every condition on every kind of column, and every kind of key, row by row as Python has them, in three engines."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import date
from operator import eq, ge, gt, le, lt, ne
from typing import Any

import pandas as pd
import polars as pl
import pytest

from zcdp.errors import BadValue
from zcdp.plans.plan_file import read_plan
from zcdp.release.bounding import exact_table
from zcdp.release.expressions import quotient, source_of, uses
from zcdp.release.frame_engines import engine_of, narwhals

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


# The end of the last bin is in no bin, and its start is, for integers, floats and days alike. (bug R11)


PLAN = """
[data]
unit = "row"
[domain]
age = { from = 0, to = 30, step = 10 }
day = { from = 2024-01-01, to = 2024-01-22, step = "week" }
month = { column = "day", from = 2024-01-01, to = 2024-03-01, step = "month" }
"""


QUERY = '[[query]]\nname = "{0}"\nmeasure = "count"\nby = ["{0}"]\nmechanism = "DiscreteGaussian(sigma=2)"\n'
NAMES = "age", "day", "month"
AGES = [-1, 0, 9, 10, 29, 30, 31]
DAYS_END_OF_BINS = [date(2023, 12, 31), *(date(2024, 1, n) for n in (1, 7, 8, 21, 22)), date(2024, 3, 1)]
TRUTH = {"age": [2, 1, 1], "day": [2, 1, 1], "month": [5, 0]}


@pytest.mark.parametrize("kind", [int, float])
@pytest.mark.parametrize("engine", [pl, pd])
def test_ends(kind: type, engine: object) -> None:
    plan = read_plan("plan.toml", PLAN + "".join(map(QUERY.format, NAMES)))
    frame = pl.DataFrame({"age": list(map(kind, AGES)), "day": DAYS_END_OF_BINS})
    data = (
        frame if engine is pl else pd.DataFrame({"age": list(map(kind, AGES)), "day": pd.to_datetime(DAYS_END_OF_BINS)})
    )
    assert plan.tables is not None
    with source_of(data, plan.tables) as source:
        found = {one.name: exact_table(source, plan.tables, one, 0).counts for one in plan.tables.queries}
    assert found == TRUTH


# Which types of column a plan may read as which kind of value, and which columns it asks for.


TYPES = {
    "integer": pl.Int64,
    "short": pl.UInt8,
    "wide": pl.UInt64,
    "float": pl.Float32,
    "decimal": pl.Decimal(9, 2),
    "text": pl.String,
    "category": pl.Categorical,
    "enum": pl.Enum(["a"]),
    "boolean": pl.Boolean,
    "date": pl.Date,
    "time": pl.Datetime("us"),
    "zoned": pl.Datetime("us", "UTC"),
    "duration": pl.Duration("us"),
    "clock": pl.Time,
    "list": pl.List(pl.Int64),
    "bytes": pl.Binary,
}


NUMBERS, TEXTS = {"integer", "short", "wide"}, {"text", "category", "enum"}
KINDS = {
    "text": ('[domain]\nx = ["a"]\n', TEXTS),
    "integer": ("[domain]\nx = [1, 2]\n", NUMBERS),
    "boolean": ("[domain]\nx = [true, false]\n", {"boolean"}),
    "number": ("[domain]\nx = { from = 0, to = 4, step = 1 }\n", NUMBERS | {"float", "decimal"}),
    "date": ('[domain]\nx = { from = 2024-01-01, to = 2025-01-01, step = "month" }\n', {"date", "time"}),
}
COUNT = '[[query]]\nname = "a"\nmeasure = "count"\nby = ["x"]\nmechanism = "DiscreteGaussian(sigma=2)"\n'
PERSON = '[data]\nunit = "x"\n[[query]]\nname = "a"\nmeasure = "count"\nmechanism = "DiscreteGaussian(sigma=2)"\n'


@pytest.mark.parametrize("kind", [*KINDS, "person"])
def test_a_kind_of_value_is_read_from_columns_that_hold_it_and_from_no_other(kind: str) -> None:
    words, fits = KINDS.get(kind, ("", NUMBERS | TEXTS))
    tables = read_plan("plan.toml", PERSON if kind == "person" else '[data]\nunit = "row"\n' + words + COUNT).tables
    assert tables is not None
    for name, dtype in TYPES.items():
        frame = pl.DataFrame({"x": pl.Series([None], dtype=dtype)})
        refused: Any = nullcontext() if name in fits else pytest.raises(BadValue, match="column 'x' must hold")
        with refused, source_of(frame, tables):
            assert name in fits


def test_a_plan_reads_the_columns_that_it_names_each_as_the_kinds_of_value_that_it_needs() -> None:
    text = """
[data]
unit = "who"
[domain]
age = { column = "years", from = 0, to = 20, step = 5 }
region = ["R1"]
unused = ["R1"]
[[query]]
name = "a"
measure = "quantiles"
of = "age"
quantiles = [0.5]
per = "person"
by = ["region"]
where = [["years", ">", 3], ["seen", "<", 2024-01-01], ["region", "!=", "R9"]]
mechanism = "ExponentialMechanism(epsilon=1)"
[[query]]
name = "b"
measure = "sum"
of = "pay"
clip = [0, 9]
grid = 1
where = [["ok", "==", true], ["who", "!=", "x"]]
mechanism = "DiscreteGaussian(sigma=2)"
"""
    tables = read_plan("plan.toml", text).tables
    assert tables is not None
    assert uses(tables)[0] == ("who", "person")
    assert set(uses(tables)) == {
        ("who", "person"),
        ("who", "text"),
        ("years", "number"),
        ("region", "text"),
        ("seen", "date"),
        ("pay", "number"),
        ("ok", "boolean"),
    }


@pytest.mark.parametrize("engine", ["polars", "duckdb", "pandas"])
@pytest.mark.parametrize("rows", [1, 2, 300])
def test_a_quotient_is_rounded_alike_however_many_rows_there_are(engine: str, rows: int) -> None:
    """49 times the double next to 1/49 is below 1: an engine that multiplies puts 49 into the bin of 48."""
    for divisor in (3, 10, 49, 98, 103, 400, 64):
        values = [float(divisor * n + more) for n in range(1, 60) for more in (0, -1, 0.3)][:rows]
        frame = pl.DataFrame({"x": values[-rows:] if rows > 2 else [float(49 * rows)] * rows})
        data: Any = {"duckdb": frame.to_arrow, "pandas": frame.to_pandas}.get(engine, lambda one=frame: one)()
        kind, native = engine_of(data)
        made = narwhals().from_native(native).lazy().select(quotient(narwhals().col("x"), divisor).alias("y"))
        assert [one for (one,) in kind.rows(made)] == [one / divisor for one in frame["x"]]


@pytest.mark.parametrize("engine", ["polars", "duckdb", "pandas"])
@pytest.mark.parametrize("kind", [pl.Int64, pl.Float64])
def test_a_value_at_an_edge_is_in_its_bin_alone_and_among_others(engine: str, kind: Any) -> None:
    text = '[data]\nunit = "row"\n[domain]\nx = { from = 0, to = 980, step = 49 }\n[[query]]\nname = "a"\n'
    text += 'measure = "count"\nby = ["x"]\nmechanism = "DiscreteGaussian(sigma=2)"\n'
    tables = read_plan("plan.toml", text).tables
    assert tables is not None
    for values in ([49], [49, 98], [49 * n for n in range(20)]):
        frame = pl.DataFrame({"x": pl.Series(values, dtype=kind)})
        data: Any = {"duckdb": frame.to_arrow, "pandas": frame.to_pandas}.get(engine, lambda one=frame: one)()
        with source_of(data, tables) as source:
            found = exact_table(source, tables, tables.queries[0], 5).counts
        assert found == [values.count(49 * n) for n in range(20)]
