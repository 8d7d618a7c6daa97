"""Engines and their versions, and files: what is read from each row, whatever the file and its other rows say."""

from __future__ import annotations

import gzip
import json
import re
import tomllib
from collections.abc import Callable
from contextlib import nullcontext
from math import nan
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest
from release.engines_table import connection
from versions import ENGINES, REACH, minima

from zcdp.errors import BadType, BadValue, MissingExtra
from zcdp.plans.plan_file import read_plan
from zcdp.release import frame_engines as engines
from zcdp.release import release
from zcdp.release.bounding import exact_table
from zcdp.release.expressions import source_of
from zcdp.release.frame_engines import engine_of

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PLAN = '[data]\nunit = "row"\n[[query]]\nname = "a"\nmeasure = "count"\nmechanism = "DiscreteGaussian(sigma=2)"\n'


def test_what_is_declared_is_what_is_refused_below() -> None:
    extras = PROJECT["optional-dependencies"]
    for extra in ("dev", "release"):
        for name, version in re.findall(r"([\w-]+)>=([\d.]+)", " ".join(extras[extra])):
            if name in engines.OLDEST:
                assert (name, version) == (name, engines.OLDEST[name])
    assert [one.split("==")[0] for one in minima()][-len(ENGINES) :] == list(ENGINES)
    assert set(ENGINES) == set(engines.OLDEST) - {"pyspark"}
    assert "tests/release/test_remove_each_person.py" in REACH


@pytest.mark.parametrize("name", ["narwhals", "polars"])
@pytest.mark.parametrize("version", ["0.9", "1.31.9", "1.99999"])
def test_an_older_version_is_refused_before_anything_is_spent(
    name: str, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = engines.import_module

    def old(module: str) -> Any:
        found = right(module)
        if module != name:
            return found
        return SimpleNamespace(**{**vars(found), "__version__": version})

    monkeypatch.setattr(engines, "import_module", old)
    if name == "polars" and version == "1.99999":
        assert release(read_plan("plan.toml", PLAN), pl.DataFrame({"x": [1]}), ledger=None)
        return
    with pytest.raises(MissingExtra, match=rf"a release needs {name} [\d.]+ or newer: with {version}"):
        release(read_plan("plan.toml", PLAN), pl.DataFrame({"x": [1]}), ledger=None)


# Odd names and keys in every engine: quotes, spaces and signs are letters like any other.


KEYS = ["it's", 'a "b"', "a\\b", "'; DROP TABLE x; --", "%", "a b", "\u00e9", "R1", "r1"]


COLUMNS = ['the "key"', "who's", "a b", "Select"]


def made(engine: str, frame: pl.DataFrame) -> Any:
    return {"duckdb": frame.to_arrow, "pandas": frame.to_pandas}.get(engine, lambda: frame)()


@pytest.mark.parametrize("engine", ["polars", "duckdb", "pandas"])
def test_keys_and_columns_may_have_any_letters(engine: str) -> None:
    key, who, number, unused = COLUMNS
    values, listed = [*KEYS, "R2", None], json.dumps(KEYS[:-1])
    frame = pl.DataFrame({key: values, who: list(range(11)), number: [-5] * 4 + [7] * 7, unused: [1] * 11})
    text = f"[data]\nunit = {json.dumps(who)}\n[domain]\n"
    text += f'"a key" = {{ column = {json.dumps(key)}, values = {listed}, other = "none" }}\n'
    text += f'whole = {{ column = {json.dumps(number)}, values = [7, -5, 3] }}\n[[query]]\nname = "a"\n'
    text += 'measure = "count"\nby = ["a key", "whole"]\nmechanism = "DiscreteGaussian(sigma=2)"\n'
    tables = read_plan("plan.toml", text).tables
    assert tables is not None
    with source_of(made(engine, frame), tables) as source:
        counts = exact_table(source, tables, tables.queries[0], 3).counts
    places = [*range(8), 8, 8, 8]  # r1 is not R1
    true = [0] * 27
    for place, whole in zip(places, frame[number], strict=True):
        true[3 * place + (0 if whole == 7 else 1)] += 1
    assert counts == true


@pytest.mark.parametrize("kind", ["HUGEINT", "UHUGEINT", "UBIGINT", "BIGINT"])
def test_integers_beyond_64_bits_are_beyond_all_keys_and_bins(kind: str) -> None:
    far = 2**63 - 1 if kind == "BIGINT" else 2**64 - 1 if kind == "UBIGINT" else 2**100
    text = '[data]\nunit = "row"\n[domain]\nkey = { column = "x", values = [1, 2] }\n'
    text += 'bins = { column = "x", from = 0, to = 4, step = 2, clip = true }\n'
    for name in ("key", "bins"):
        text += f'[[query]]\nname = "{name}"\nmeasure = "count"\nby = ["{name}"]\n'
        text += 'mechanism = "DiscreteGaussian(sigma=2)"\n'
    tables = read_plan("plan.toml", text).tables
    assert tables is not None
    with duckdb.connect() as opened:
        listed = ", ".join(f"({one}::{kind})" for one in (1, 2, 2, far, "NULL"))
        with source_of(opened.sql(f"SELECT * FROM (VALUES {listed}) AS t(x)"), tables) as source:
            found = [exact_table(source, tables, query, 3).counts for query in tables.queries]
    assert found == [[1, 2], [1, 3]]


@pytest.mark.parametrize("data", [3, None, {"a": [1]}, [1, 2], pl.Series([1])])
def test_what_is_no_frame_is_refused(data: Any) -> None:
    with pytest.raises(BadType, match="data must be a path or a frame"):
        engine_of(data)


def test_each_frame_has_its_engine() -> None:
    frame = pl.DataFrame({"a": [1]})
    found = {kind: engine_of(made(kind, frame))[0].name for kind in ("polars", "duckdb", "pandas")}
    assert found == {"polars": "polars", "duckdb": "duckdb", "pandas": "pandas"}
    assert engine_of(frame.lazy())[0].name == "polars"


PLAN_RECORDS = """
[data]
unit = "who"
[domain]
code = { values = ["01", "1", "two\\nlines", "a\\rb", "2024-01-01"], other = "else" }
[[query]]
name = "code"
measure = "count"
by = ["code"]
max_cells = 6
max_rows = 1000000
mechanism = "DiscreteGaussian(sigma=2)"
[[query]]
name = "pay"
measure = "sum"
of = "pay"
clip = [0, 100000]
grid = 1
mechanism = "DiscreteGaussian(sigma=2)"
"""
FINE = [b"p1,01,5", b"p2,1,6", b"p3,01,7"]
LINES: dict[str, tuple[bytes, list[int], int]] = {
    "a quoted new line": (b'p4,"two\nlines",8', [0, 0, 1, 0, 0, 0], 8),
    "a quoted new line in a column that is not used": (b'p4,1,8,"a\nb"', [0, 1, 0, 0, 0, 0], 8),
    "a quoted return": (b'p4,"a\rb",8', [0, 0, 0, 1, 0, 0], 8),
    "a new line that looks like records": (b'p4,"x\np1,01,5\np9,01,9",8', [0, 0, 0, 0, 0, 1], 8),
    "a short line": (b"p4", [0, 0, 0, 0, 0, 1], 0),
    "a long line": (b"p4,1,8,9,9,9", [0, 1, 0, 0, 0, 0], 8),
    "an empty line": (b"", [0] * 6, 0),
    "nothing but commas": (b",,", [0] * 6, 0),
    "bytes that are no text": (b"p4,\xff\xfe,8", [0, 0, 0, 0, 0, 1], 8),
    "a quote within": (b'p4,R"1,8', [0, 0, 0, 0, 0, 1], 8),
    "letters after a quote": (b'p4,"01"x,8', [0, 0, 0, 0, 0, 1], 8),
    "quoted quotes": (b'p4,"a""b",8', [0, 0, 0, 0, 0, 1], 8),
    "a zero byte": (b"p4,1\x00,8", [0, 0, 0, 0, 0, 1], 8),
    "a very long value": (b"p4," + b"x" * 3_000_000 + b",8", [0, 0, 0, 0, 0, 1], 8),
    "a number that is none": (b"p4,1,eight", [0, 1, 0, 0, 0, 0], 0),
    "a number that is not a number": (b"p4,1,NaN", [0, 1, 0, 0, 0, 0], 0),
    "a text like a date": (b"p4,2024-01-01,8", [0, 0, 0, 0, 1, 0], 8),
}


def tables_of(path: Path) -> tuple[list[int], int]:
    tables = read_plan("plan.toml", PLAN_RECORDS).tables
    assert tables is not None
    with source_of(path, tables) as source:
        code, pay = (exact_table(source, tables, query, 5) for query in tables.queries)
    return code.counts, pay.amounts[0]


@pytest.mark.parametrize("name", LINES)
def test_a_line_is_read_by_itself(name: str, tmp_path: Path) -> None:
    line, code, pay = LINES[name]
    path = tmp_path / "a.csv"
    path.write_bytes(b"\n".join([b"who,code,pay,more", *FINE[:2], line, FINE[2]]) + b"\n")
    assert tables_of(path) == ([a + b for a, b in zip([2, 1, 0, 0, 0, 0], code, strict=True)], 18 + pay)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_may_end_in_any_way_in_one_file(end: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbfwho,code,pay\n" + end.join([*FINE, b"p4,1,9"]) + b"\r\np5,1,1"))
    assert tables_of(path) == ([2, 3, 0, 0, 0, 0], 28)


def test_no_type_is_guessed_from_the_first_lines(tmp_path: Path) -> None:
    """Thirty thousand codes that look like integers, and then texts."""
    path = tmp_path / "a.csv"
    lines = [b"who,code,pay", *(b"%d,01,1" % n for n in range(30_000)), b"x,1,1", b'y,"two\nlines",1.5', b"z,,nan"]
    path.write_bytes(b"\n".join(lines))
    assert tables_of(path) == ([30_000, 1, 1, 0, 0, 1], 30_003)


def test_a_column_of_one_missing_value_is_a_record(tmp_path: Path) -> None:
    text = '[data]\nunit = "row"\n[domain]\na = { values = ["x"], other = "y" }\n[[query]]\nname = "q"\n'
    text += 'measure = "count"\nby = ["a"]\nmechanism = "DiscreteGaussian(sigma=2)"'
    tables = read_plan("plan.toml", text).tables
    assert tables is not None
    (tmp_path / "a.csv").write_text('a\nx\n""\n')
    with source_of(tmp_path / "a.csv", tables) as source:
        assert exact_table(source, tables, tables.queries[0], 5).counts == [1, 1]


# A number of a CSV that is no integer has no key among integers, and is not rounded to one. (bug R15)


QUERY = '[[query]]\nname = "a"\nmeasure = "count"\nby = ["sex"]\nmechanism = "DiscreteGaussian(sigma=2)"\n'


TEXTS = ["1", "4", "4.0", "3.7", "2.5", "1.5", "0.9", "4.000001", "1e0", "", "x"]


@pytest.mark.parametrize(("domain", "truth"), [("[1, 2, 4]", [2, 0, 2]), ("[1, 2, 3, 4]", [2, 0, 0, 2])])
def test_only_integers_are_keys(domain: str, truth: list[int], tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("sex,more\n" + "".join(f"{one},1\n" for one in TEXTS))
    plan = read_plan("plan.toml", f'[data]\nunit = "row"\n[domain]\nsex = {domain}\n{QUERY}')
    assert plan.tables is not None
    with source_of(path, plan.tables) as source:
        assert exact_table(source, plan.tables, plan.tables.queries[0], 0).counts == truth


# Files of a release: which are read, what a record of a CSV is, and how long its values may be.


PLAN_RELEASE_FILES = (
    '[data]\nunit = "{}"\n[domain]\nregion = {{ values = ["R1"], other = "else" }}\n[[query]]\nname = "a"\n'
)


PLAN_RELEASE_FILES += 'measure = "count"\nby = ["region"]\nmechanism = "DiscreteGaussian(sigma=2)"\n'


def counted(path: Path, unit: str = "row") -> list[int]:
    tables = read_plan("plan.toml", PLAN_RELEASE_FILES.format(unit)).tables
    assert tables is not None
    with source_of(path, tables) as source:
        return exact_table(source, tables, tables.queries[0], 5).counts


@pytest.mark.parametrize("name", ["a.csv", "A.CSV", "a.csv.gz", "A.Csv.GZ"])
def test_each_line_with_values_is_a_row_and_the_header_is_none(name: str, tmp_path: Path) -> None:
    content = b"\xef\xbb\xbfregion,who\nR1,1\n\n\nR2,2\n,\nR1,3\n\n"
    (tmp_path / name).write_bytes(gzip.compress(content) if name.lower().endswith("gz") else content)
    assert counted(tmp_path / name) == [2, 2]


def test_a_file_without_rows_has_empty_tables(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("who,region\n")
    assert counted(tmp_path / "a.csv") == [0, 0]


def test_a_name_of_at_most_16384_letters_is_a_person(tmp_path: Path) -> None:
    """A longer one is missing, and so are its rows."""
    lines = ["who,region", *(f"{letter * size},R1" for letter in "ab" for size in (16384, 16385))]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    assert counted(tmp_path / "a.csv", "who") == [2, 0]
    assert counted(tmp_path / "a.csv") == [4, 0]


@pytest.mark.parametrize(
    ("name", "header", "said"),
    [
        ("a.txt", "who,region", "must be a .parquet or .csv file"),
        ("a.csv.zip", "who,region", "must be a .parquet or .csv file"),
        ("none.csv", None, "there is no such file"),
        ("none.parquet", None, "there is no such file"),
        ("a.csv", "who,region,who", "two columns have the same name"),
        ("a.csv", "who,region,Region", "two columns have the same name"),
        ("a.csv", "who,regio", "did you mean 'regio'"),
        ("a.csv", "", "there is no column"),
    ],
)
def test_a_file_that_cannot_be_read_as_the_plan_asks_is_refused(
    name: str, header: str | None, said: str, tmp_path: Path
) -> None:
    if header is not None:
        (tmp_path / name).write_text(header + "\n1,R1,2\n")
    with pytest.raises(BadValue, match=said):
        counted(tmp_path / name)


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_times_in_milliseconds_of_a_parquet_file_are_refused_where_the_plan_reads_them(
    unit: str, tmp_path: Path
) -> None:
    """DuckDB fails where one of them overflows, which would tell of a row."""
    frame = pl.DataFrame({"day": ["2024-02-01"], "region": ["R1"]}).with_columns(pl.col("day").str.to_datetime())
    frame.with_columns(pl.col("day").cast(pl.Datetime(unit))).write_parquet(tmp_path / "a.parquet")  # type: ignore
    assert counted(tmp_path / "a.parquet") == [1, 0]  # a column that is not used may be of any type
    text = PLAN_RELEASE_FILES.format("row") + 'where = [["day", "<", 2025-01-01]]\n'
    tables = read_plan("plan.toml", text).tables
    assert tables is not None
    refused: Any = pytest.raises(BadValue, match="must hold dates") if unit == "ms" else nullcontext()
    with refused, source_of(tmp_path / "a.parquet", tables) as source:
        assert exact_table(source, tables, tables.queries[0], 5).counts == [1, 0]


# NaN is missing whatever the statistics of a Parquet file say of it, which leave it out.


READ: dict[str, Callable[[Path], Any]] = {
    "a path": lambda path: path,
    "a relation": lambda path: connection().read_parquet(str(path)),
    "a filtered relation": lambda path: connection().sql(f"SELECT * FROM '{path}' WHERE y > 0"),
    "a lazy frame": pl.scan_parquet,
    "a frame": pl.read_parquet,
}


PLAN_STATISTICS_OF_FILES = """
[data]
unit = "row"
[domain]
bins = { column = "x", from = 0, to = 200.5, bins = 5, clip = true }
[[query]]
name = "below"
measure = "count"
where = [["x", "<", 100.5]]
mechanism = "DiscreteGaussian(sigma=2)"
[[query]]
name = "not"
measure = "count"
where = [["x", "!=", 1000]]
mechanism = "DiscreteGaussian(sigma=2)"
[[query]]
name = "bins"
measure = "count"
by = ["bins"]
mechanism = "DiscreteGaussian(sigma=2)"
[[query]]
name = "sum"
measure = "sum"
of = "x"
clip = [0, 500]
grid = 0.5
mechanism = "DiscreteGaussian(sigma=2)"
"""
NUMBERS = [0.3, 100.0, 7.5]


def tables_of_file(data: Any) -> list[list[int]]:
    tables = read_plan("plan.toml", PLAN_STATISTICS_OF_FILES).tables
    assert tables is not None
    with source_of(data, tables) as source:
        found = [exact_table(source, tables, query, 5) for query in tables.queries]
    return [one.amounts if any(one.amounts) else one.counts for one in found]


@pytest.mark.parametrize("read", READ)
@pytest.mark.parametrize("rows", [3, 1000])
def test_one_row_moves_counts_by_one(read: str, rows: int, tmp_path: Path) -> None:
    """Of groups of three rows one holds no NaN, and some nothing else."""
    expected = {False: [[3], [3], [2, 0, 1, 0, 0], [216]], True: [[3], [4], [2, 0, 1, 0, 1], [616]]}
    for more in (False, True):
        values = NUMBERS + [nan] * 50 + [200.0] * more
        frame = pl.DataFrame({"x": values, "y": [1] * len(values)})
        pq.write_table(frame.to_arrow(), tmp_path / "a.parquet", row_group_size=rows)
        assert tables_of_file(READ[read](tmp_path / "a.parquet")) == expected[more]


def test_a_group_of_nothing_but_nan_is_empty(tmp_path: Path) -> None:
    for writer in ("polars", "pyarrow"):
        frame = pl.DataFrame({"x": [nan] * 7, "y": [1] * 7})
        path = tmp_path / f"{writer}.parquet"
        _ = frame.write_parquet(path) if writer == "polars" else pq.write_table(frame.to_arrow(), path)
        assert tables_of_file(path) == [[0], [0], [0] * 5, [0]]


# A file is read by its own name: where that looks like a pattern, files beside it that match are not read.


pd = pytest.importorskip("pandas")


PLAN_NAMES_ARE_NO_PATTERNS = """
[data]
unit = "person"
[domain]
region = ["A", "B"]
[[query]]
name = "n"
measure = "count"
by = ["region"]
mechanism = "DiscreteLaplace(epsilon=60)"
"""
NAMES = [("d[1]", "d1"), ("d*", "d2"), ("d?", "d3"), ("[d]", "d"), ("d[!x]", "dy")]


@pytest.mark.parametrize(("name", "beside"), NAMES)
@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_a_release_reads_the_file_that_was_named(tmp_path: Path, name: str, beside: str, ending: str) -> None:
    asked, other = tmp_path / f"{name}{ending}", tmp_path / f"{beside}{ending}"
    for path, regions in ((asked, "AAB"), (other, "B" * 50)):
        frame = pd.DataFrame({"person": range(len(regions)), "region": list(regions)})
        frame.to_parquet(path) if ending == ".parquet" else frame.to_csv(path, index=False)
    (tmp_path / "plan.toml").write_text(PLAN_NAMES_ARE_NO_PATTERNS)
    rows = release(tmp_path / "plan.toml", asked, ledger=None).tables["n"].rows
    assert [row[1] for row in rows] == [2, 1]


def test_folders_that_look_like_partitions_add_no_column(tmp_path: Path) -> None:
    folder = tmp_path / "region=A"
    folder.mkdir()
    pd.DataFrame({"person": range(4), "region": list("BBBB")}).to_parquet(folder / "d.parquet")
    (tmp_path / "plan.toml").write_text(PLAN_NAMES_ARE_NO_PATTERNS)
    rows = release(tmp_path / "plan.toml", folder / "d.parquet", ledger=None).tables["n"].rows
    assert [row[1] for row in rows] == [0, 4]
    pd.DataFrame({"person": range(4)}).to_parquet(folder / "e.parquet")
    with pytest.raises(BadValue, match="region"):
        release(tmp_path / "plan.toml", folder / "e.parquet", ledger=None)


def test_what_cannot_be_said_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a\\[1].parquet"
    pd.DataFrame({"person": range(4), "region": list("BBBB")}).to_parquet(path)
    (tmp_path / "plan.toml").write_text(PLAN_NAMES_ARE_NO_PATTERNS)
    with pytest.raises(BadValue, match="rename the file"):
        release(tmp_path / "plan.toml", path, ledger=None)
