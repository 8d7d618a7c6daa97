"""Derived columns: every engine gives what the definition says, from one row, or from one person's rows, alone."""

from __future__ import annotations

import hashlib
import unicodedata
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from release.derived_by_hand import ASKED, LOOKUP, images, people, plan
from release.engines_table import connection

from zcdp.errors import BadValue
from zcdp.plans.plan_file import read_plan
from zcdp.release.bounding import cells, exact_table
from zcdp.release.expressions import source_of
from zcdp.release.frame_engines import DuckDB, Polars, fold_text, narwhals
from zcdp.tables.declaration import Declaration


def pandas(frame: pl.DataFrame) -> Any:
    made = frame.to_pandas()
    import pandas

    made["hours"] = pandas.array(frame["hours"].to_list(), dtype="Int64")
    return made


ENGINES: dict[str, Any] = {
    "polars": lambda frame, folder: frame,
    "lazy": lambda frame, folder: frame.lazy(),
    "duckdb": lambda frame, folder: connection().from_arrow(frame.to_arrow()),
    "pyarrow": lambda frame, folder: frame.to_arrow(),
    "pandas": lambda frame, folder: pandas(frame),
    "parquet": lambda frame, folder: (frame.write_parquet(folder / "a.parquet"), folder / "a.parquet")[1],
    "csv": lambda frame, folder: (frame.write_csv(folder / "a.csv"), folder / "a.csv")[1],
}


def declared(folder: Path) -> Declaration:
    (folder / "plan.toml").write_text(plan(folder), encoding="utf-8")
    tables = read_plan(folder / "plan.toml").tables
    assert tables is not None
    return tables


def computed(data: Any, tables: Declaration) -> dict[int, dict[str, Any]]:
    """What each row gives, by its number, as the engine computes it."""
    with source_of(data, tables) as source:
        columns, names = [source.whole("n", "number") or source.column("n", "number")], ["n"]
        for name, kind in ASKED.items():
            columns.append(source.day(name)[:2] if kind == "date" else source.column(name, kind))
            names.append(name)
        made = {f"c{n}_{m}": one for n, pair in enumerate(columns) for m, one in enumerate(pair)}
        rows = source.engine.rows(source.frame.with_columns(**made).select(*made))
    found: dict[int, dict[str, Any]] = {}
    for row in rows:
        assert None not in row
        values = {name: row[2 * n + 1] if row[2 * n] else None for n, name in enumerate(names)}
        for name, kind in ASKED.items():
            if kind == "date" and values[name] is not None:
                values[name] = date.fromordinal(int(values[name]))
        found[int(values.pop("n"))] = values
    return found


def in_file(engine: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The table as a CSV file holds it: an empty text is missing."""
    if engine != "csv":
        return frame
    return frame.with_columns(pl.col(pl.String).replace("", None))


def differing(found: dict[int, dict[str, Any]], expected: dict[int, dict[str, Any]]) -> list[Any]:
    assert set(found) == set(expected)
    return [
        (n, name, found[n][name], value)
        for n, image in expected.items()
        for name, value in image.items()
        if found[n][name] != value
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_gives_what_the_definition_says(engine: str, tmp_path: Path) -> None:
    frame = in_file(engine, people(3, 120))
    if engine == "csv":  # in which integers are read as doubles
        frame = frame.filter(pl.col("hours").is_null() | (pl.col("hours").abs() < 2**53))
    expected = images(frame)
    for name in ASKED:  # the table has rows with a value, and with another or none
        assert len({repr(image[name]) for image in expected.values()}) > 1
    found = computed(ENGINES[engine](frame, tmp_path), declared(tmp_path))
    assert differing(found, expected) == []


def test_a_connection_that_refuses_division_by_zero_and_overflow_is_no_exception(tmp_path: Path) -> None:
    frame, opened = people(4, 60), connection()
    opened.execute("SET ieee_floating_point_ops = false")
    assert differing(computed(opened.from_arrow(frame.to_arrow()), declared(tmp_path)), images(frame)) == []


PERSONAL = ("rows", "jobs", "paid", "most", "least", "share")
"""What is derived from all rows of a person."""


def check_removals(engine: str, seed: int, size: int, folder: Path) -> None:
    """Numbers of a person may change if one of that person's rows is removed; nothing else may."""
    tables, frame = declared(folder), people(seed, size)
    owner = dict(frame.select("n", "who").iter_rows())
    whole = computed(ENGINES[engine](frame, folder), tables)
    for n, who in owner.items():
        less = computed(ENGINES[engine](frame.filter(pl.col("n") != n), folder), tables)
        assert set(less) == set(whole) - {n}
        for other, image in less.items():
            same = who is not None and who == owner[other]
            changed = [name for name in ASKED if image[name] != whole[other][name]]
            assert [name for name in changed if not (same and name in PERSONAL)] == []


@pytest.mark.parametrize("engine", ["polars", "duckdb", "pandas"])
def test_a_row_gives_the_same_when_another_row_is_removed(engine: str, tmp_path: Path) -> None:
    check_removals(engine, 10, {"polars": 5}.get(engine, 2), tmp_path)


@pytest.mark.deep
@pytest.mark.parametrize("engine", ["polars", "duckdb", "pandas", "pyarrow", "lazy"])
@pytest.mark.parametrize("seed", range(3))
def test_a_row_gives_the_same_when_any_other_row_is_removed(engine: str, seed: int, tmp_path: Path) -> None:
    check_removals(engine, 20 + seed, 16, tmp_path)


@pytest.mark.parametrize("engine", ["polars", "duckdb", "pandas"])
def test_rows_without_an_id_are_not_those_of_person_0(engine: str, tmp_path: Path) -> None:
    text = """
[data]
unit = "who"
[derive]
rows = { per = "person", count = true }
total = { per = "person", total = "x" }
[[query]]
name = "a"
measure = "count"
max_rows = 9
where = [["rows", "==", 2], ["total", "==", 3]]
mechanism = "DiscreteGaussian(sigma=2)"
"""
    tables = read_plan("plan.toml", text).tables
    assert tables is not None
    frame = pl.DataFrame({"who": [0, 0, None, None, None], "x": [1.0, 2.0, 50.0, 1.0, 2.0]}, strict=False)
    data = {
        "polars": frame,
        "duckdb": connection().from_arrow(frame.to_arrow()),
        "pandas": frame.to_arrow().to_pandas(types_mapper=arrow),
    }
    with source_of(data[engine], tables) as source:
        assert exact_table(source, tables, tables.queries[0], 5).counts == [2]


def arrow(kind: Any) -> Any:
    import pandas

    return pandas.ArrowDtype(kind)


def test_letters_are_folded_alike_in_every_engine() -> None:
    """All characters of Unicode 14, that of Python 3.11; later ones are lowered as an engine knows them."""
    letters = [chr(code) for code in range(1, 0x110000) if not 0xD800 <= code <= 0xDFFF]
    kept = [one for one in letters if unicodedata.category(one) != "Cn" and unicodedata.name(one, "") and known(one)]
    assert len(kept) > 138_000
    frame = pl.DataFrame({"x": [*kept, "\u0391\u03a3", "\u03a3\u0391", "A\u03a3 b", "  a b\t\u3000", "e\u0301"]})
    ways = ("nfc", "case", "trim")
    expected = [fold_text(one, ways) for one in frame["x"]]
    nw = narwhals()
    for engine, native in ((Polars(), frame.lazy()), (DuckDB(), connection().from_arrow(frame.to_arrow()))):
        folded = engine.folded(nw.from_native(native), "x", ways, "y")
        found = dict(engine.rows(folded.select("x", "y")))
        assert [one for one, other in zip(frame["x"], expected, strict=True) if found[one] != other] == []


def known(one: str) -> bool:
    """Whether the character is one of Unicode 14: later ones are among these blocks of letters with two cases."""
    return not (
        0x1C89 <= ord(one) <= 0x1C8A
        or 0xA7CB <= ord(one) <= 0xA7DC
        or 0x10D50 <= ord(one) <= 0x10D85
        or 0x16EA0 <= ord(one) <= 0x16ED3
    )


KEYED = """
[data]
unit = "row"
[lookup.geo]
file = "geo.csv"
sha256 = "{digest}"
on = "town"
key = "code"
add = ["region"]
[derive]
age = {{ years_between = ["born", 2026-01-01] }}
year = {{ part = "year", of = "born" }}
group = {{ first = [[["age", "<", 18], "child"], [["age", ">=", 18], "adult"]] }}
rate = {{ quotient = ["wage", 2] }}
entry = {{ value = "born", missing = 2020-05-05 }}
[domain]
region = {{ values = ["R1", "R2"], other = "none" }}
group = ["child", "adult"]
ages = {{ column = "age", from = 0, to = 100, step = 50 }}
years = {{ column = "year", values = [1990, 2015] }}
halves = {{ column = "rate", values = [1, 2, 3] }}
months = {{ column = "entry", from = 2020-01-01, to = 2020-07-01, step = "month" }}
{queries}
"""
CELLS = {
    "region": [1, 1, 3],
    "group": [1, 2],
    "ages": [3, 0],
    "years": [2, 1],
    "halves": [1, 0, 1],
    "months": [0] * 4 + [2, 0],
}


@pytest.mark.parametrize("engine", ENGINES)
def test_derived_columns_are_keys_bins_days_and_amounts(engine: str, tmp_path: Path) -> None:
    (tmp_path / "geo.csv").write_text(LOOKUP, encoding="utf-8")
    noise = 'mechanism = "DiscreteGaussian(sigma=2)"'
    queries = "\n".join(f'[[query]]\nname = "{name}"\nmeasure = "count"\nby = ["{name}"]\n{noise}' for name in CELLS)
    queries += f'\n[[query]]\nname = "sum"\nmeasure = "sum"\nof = "rate"\nclip = [-9, 9]\ngrid = 0.5\n{noise}'
    text = KEYED.format(digest=hashlib.sha256(LOOKUP.encode()).hexdigest(), queries=queries)
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    tables = read_plan(tmp_path / "plan.toml").tables
    assert tables is not None
    frame = pl.DataFrame(
        {
            "town": ["M1", "M2", "m1", None, "x"],
            "born": [date(1990, 6, 1), date(2015, 1, 1), date(1990, 1, 1), None, None],
            "wage": [2.0, 5.0, 6.0, 1e300, None],
            "hours": pl.Series([None] * 5, dtype=pl.Int64),
        }
    )
    with source_of(ENGINES[engine](frame, tmp_path), tables) as source:
        found = {query.name: exact_table(source, tables, query, 5) for query in tables.queries}
    assert {name: found[name].counts for name in CELLS} == CELLS
    assert found["sum"].amounts == [2 + 5 + 6]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_derived_column_with_the_name_of_a_column_of_the_data_is_refused(engine: str, tmp_path: Path) -> None:
    frame = people(3, 5).with_columns(age=pl.lit(3))
    with pytest.raises(BadValue, match="column 'age' is in the data, and the plan derives one"):
        computed(ENGINES[engine](frame, tmp_path), declared(tmp_path))


def chain(depth: int, rule: str) -> Declaration:
    """A plan by the last of a chain of columns, each of which uses the one before it several times."""
    columns = "\n".join(f"c{n} = {rule.replace('last', f'c{n - 1}')}" for n in range(1, depth + 1))
    text = (
        f'[data]\nunit = "row"\n[derive]\n{columns}\n[domain]\n'
        f'key = {{ column = "c{depth}", from = 0, to = 8, step = 1 }}\n'
        f'[[query]]\nname = "a"\nmeasure = "count"\nby = ["key"]\nwhere = [["c{depth}", "<", 6]]\n'
        'mechanism = "DiscreteGaussian(sigma=1)"\n'
    )
    tables = read_plan("plan.toml", text).tables
    assert tables is not None
    return tables


RULES: dict[str, Any] = {
    '{ first = [[["last", "<", 1], 1], [["last", "<", 2], 2], [["last", "<", 3], 3], [true, 0]] }': [1, 2, 3] + [0] * 9,
    '{ difference = [9, "last"] }': list(range(9, -1, -1)),
    '{ product = ["last", "last"] }': [0, 1] + [8] * 8,
}
"""Rules of a chain, each with what it gives for the whole numbers from 0 on; 8 stands for all that count nowhere."""


@pytest.mark.parametrize("engine", ["polars", "duckdb", "pyarrow", "pandas"])
def test_long_chains_of_columns_are_computed_and_counted(engine: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"c0": [float(n % 7) for n in range(50)]})
    data = frame.to_pandas() if engine == "pandas" else ENGINES[engine](frame, tmp_path)
    for rule, gives in RULES.items():
        tables = chain(24, rule)
        with source_of(data, tables) as source:
            found = exact_table(source, tables, tables.queries[0], 5).counts
        values = frame["c0"].to_list()
        for _ in range(24):
            values = [gives[int(one)] for one in values]
        assert found == [sum(one == key and key < 6 for one in values) for key in range(8)]


def test_no_condition_is_moved_below_a_chain_of_columns() -> None:
    """It would be written out anew wherever a column is used: exponentially many times."""
    relation = connection().from_arrow(pl.DataFrame({"c0": [1.0, 2.0]}).to_arrow())
    tables = chain(4, next(iter(RULES)))
    with source_of(relation, tables) as source:
        plan = cells(source, tables, tables.queries[0], 5).to_native().explain()
    assert plan.lower().index("filter") < plan.index("zcdp_value_3"), plan
