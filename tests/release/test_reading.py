"""Objects of pandas one by one: which are numbers, integers, booleans, texts, days or persons, and which are none."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from math import inf, nan
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from zcdp.plans.plan_file import read_plan
from zcdp.release.bounding import exact_table
from zcdp.release.expressions import source_of
from zcdp.release.reading import Use, read_pandas, read_polars
from zcdp.release.table_noise import exact_margins

FAR = 2**62  # beyond all keys and edges
MEANT: list[tuple[Any, dict[str, Any]]] = [
    # an object, and its value by kind; a kind that is not there has none
    (3, {"number": 3.0, "integer": 3}),
    (-(10**30), {"number": -1e30, "integer": -FAR}),
    (10**400, {"number": inf, "integer": FAR}),
    (-(10**400), {"number": -inf, "integer": -FAR}),
    (2**53 + 1, {"number": 2.0**53, "integer": 2**53 + 1}),
    (2.0, {"number": 2.0, "integer": 2}),
    (-2.5, {"number": -2.5}),
    (1e30, {"number": 1e30, "integer": FAR}),
    (nan, {}),
    (inf, {"number": inf}),
    (np.int8(-4), {"number": -4.0, "integer": -4}),
    (np.uint64(2**64 - 1), {"number": 2.0**64, "integer": FAR}),
    (np.float32(0.5), {"number": 0.5}),
    (np.float64(7), {"number": 7.0, "integer": 7}),
    (Decimal("1.25"), {"number": 1.25}),
    (Decimal(6), {"number": 6.0, "integer": 6}),
    (Decimal("sNaN"), {}),
    (True, {"boolean": True}),
    (np.bool_(0), {"boolean": False}),
    ("3", {"text": "3", "person": "3"}),
    ("", {"text": "", "person": ""}),
    ("a\0b", {"text": "a\0b"}),
    ("\ud83d", {}),
    (date(2024, 2, 29), {"date": date(2024, 2, 29)}),
    (datetime(1969, 12, 31, 23, 59), {"date": date(1969, 12, 31)}),
    (pd.Timestamp("2024-12-31 23:59"), {"date": date(2024, 12, 31)}),
    (datetime(2024, 1, 1, tzinfo=UTC), {}),
    (pd.NaT, {}),
    (pd.NA, {}),
    (None, {}),
    ([1], {}),
    (b"a", {}),
    (1j, {}),
]


@pytest.mark.parametrize("kind", ["number", "integer", "boolean", "text", "date", "person"])
def test_an_object_is_a_value_of_a_kind_or_missing(kind: str) -> None:
    use = Use(0, "x", kind, "object")
    series = pd.Series([None] * len(MEANT), dtype=object)
    for n, (one, _) in enumerate(MEANT):
        series.iat[n] = one
    frame = read_pandas(pd.DataFrame({"x": series}), [use])
    for (one, meant), there, value in zip(MEANT, frame[use.there], frame[use.value], strict=True):
        if kind == "person" and isinstance(one, str) and "\0" in one:
            assert there
            assert "\0" not in value
            continue
        assert there == (kind in meant), one
        if there:
            true = meant[kind]
            assert value == (true.toordinal() if kind == "date" else true), one
    if kind == "date":
        days = [meant["date"] for _, meant in MEANT if "date" in meant]
        assert frame[use.month][frame[use.there]].to_list() == [12 * day.year + day.month - 1 for day in days]


def test_two_persons_are_never_one() -> None:
    """Not even those whose names differ by what stands for a NUL."""
    names = ["a\0b", "a\\0b", "a\\\\0b", "a", "a\0", "a\\", "a\0\0", "\0", "\\0", "A", "a "]
    use = Use(0, "x", "person", "object")
    frame = read_pandas(pd.DataFrame({"x": pd.Series(names, dtype=object)}), [use])
    assert frame[use.there].all()
    assert frame[use.value].nunique() == len(names)
    wide = Use(0, "x", "person", "wide")
    numbers = pd.Series([2**64 - 1, 2**64 - 2, 2**63, 2**62, 2**62 + 1, 0], dtype="uint64")
    assert read_pandas(pd.DataFrame({"x": numbers}), [wide])[wide.value].nunique() == 6


ENDS = {-719163: None, -719162: date.min, 0: date(1970, 1, 1), 2932896: date.max, 2932897: None, 3652059: None}
"""Days since 1970 at both ends of the years 1 to 9999."""


@pytest.mark.parametrize("form", ["date", "ms", "us", "s"])
def test_days_outside_of_the_years_1_to_9999_are_missing(form: str) -> None:
    use = Use(0, "x", "date", form)
    numbers = np.array(list(ENDS), np.int64)
    scale = {"date": 1, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000}[form]
    frames = []
    if form != "s":
        kind = pl.Date if form == "date" else pl.Datetime(form)  # type: ignore[arg-type]
        column = pl.Series((numbers * scale).astype(np.int32 if form == "date" else np.int64)).cast(kind)
        frames.append(read_polars(pl.DataFrame({"x": column}), [use]).collect().to_dict(as_series=False))
    if form != "date":
        moments = pd.Series((numbers * scale).astype(f"datetime64[{form}]"))
        frames.append(read_pandas(pd.DataFrame({"x": moments}), [use]).to_dict("list"))
    for frame in frames:
        assert frame[use.there] == [day is not None for day in ENDS.values()]
        for day, value, month in zip(ENDS.values(), frame[use.value], frame[use.month], strict=True):
            if day is not None:
                assert (value, month) == (day.toordinal(), 12 * day.year + day.month - 1)


# A time belongs to the day that Python's calendar says, before 1970 too, in every unit. (bug R21)


TIMES = [datetime(1969, 12, 31, 23), datetime(1900, 2, 28, 12, 1), datetime(1970, 1, 1), datetime(2024, 2, 29, 23, 59)]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_pandas(unit: str) -> None:
    frame = pd.DataFrame({"day": pd.Series(TIMES).astype(f"datetime64[{unit}]")})
    use = Use(0, "day", "date", unit)
    read = read_pandas(frame, [use])
    assert read[use.value].tolist() == [one.date().toordinal() for one in TIMES]
    assert read[use.month].tolist() == [12 * one.year + one.month - 1 for one in TIMES]


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_polars(unit: str) -> None:
    use = Use(0, "day", "date", unit)
    read = read_polars(pl.DataFrame({"day": pl.Series(TIMES, dtype=pl.Datetime(unit))}), [use]).collect()
    assert read[use.value].to_list() == [one.date().toordinal() for one in TIMES]


# Persons whose ids hold a NUL stay different, though pandas before 3 cuts texts there when it groups and hashes.


PLAN = """
[data]
unit = "who"
[domain]
region = ["R1", "R2"]
[[query]]
name = "a"
measure = "count"
by = ["region"]
max_cells = 1
mechanism = "DiscreteGaussian(sigma=2)"
"""


PAIRS = [("a\0b", "a\0c"), ("a", "a\0"), ("a\0", "a\\0"), ("\\", "\\\\"), ("\0", "\\0")]


@pytest.mark.parametrize("kind", ["object", "string"])
@pytest.mark.parametrize("persons", PAIRS, ids=repr)
def test_they_are_two_persons(persons: tuple[str, str], kind: str) -> None:
    """Each in a region of their own: with one cell a person both are counted, whatever the salt."""
    tables = read_plan("a plan", PLAN).tables
    assert tables is not None
    frame = pd.DataFrame({"who": pd.Series(persons, dtype=kind), "region": ["R1", "R2"]})
    for salt in range(8):
        with source_of(frame, tables) as source:
            assert exact_table(source, tables, tables.queries[0], salt).counts == [1, 1]


def test_no_nul_is_left_for_an_engine_to_cut_at() -> None:
    from zcdp.release.reading import _person

    texts = {text for pair in PAIRS for text in pair}
    read = {_person(text) for text in texts}
    assert len(read) == len(texts)
    assert not any("\0" in str(text) for text in read)


# Persons whose numbers need all 64 bits stay different persons in every engine. (bug R20)


PLAN_PERSONS_BEYOND_63_BITS = """
[data]
unit = "who"
[[query]]
name = "rows"
measure = "count"
mechanism = "DiscreteGaussian(sigma=2)"
[[query]]
name = "persons"
measure = "persons"
mechanism = "DiscreteGaussian(sigma=2)"
"""


WHO = [2**62, 2**62 + 1, 2**63, 2**63 + 1, 2**64 - 1, 2**64 - 1]


@pytest.mark.parametrize("engine", ["polars", "pandas", "nullable"])
def test_each_is_counted(engine: str) -> None:
    data = pl.DataFrame({"who": pl.Series(WHO, dtype=pl.UInt64)})
    frame = data if engine == "polars" else pd.DataFrame({"who": pd.Series(WHO, dtype="uint64")})
    if engine == "nullable":
        frame = frame.astype("UInt64")
    plan = read_plan("plan.toml", PLAN_PERSONS_BEYOND_63_BITS)
    assert plan.tables is not None
    with source_of(frame, plan.tables) as source:
        found = [exact_table(source, plan.tables, one, 0).counts for one in plan.tables.queries]
    assert found == [[5], [5]]


# Bytes of a CSV that are no text name nobody: they are not one common person. (bug R14)


PLAN_PERSONS_THAT_ARE_NO_TEXT = """
[data]
unit = "who"
[domain]
word = { values = ["\\uFFFD", "a"], other = "z" }
[[query]]
name = "persons"
measure = "persons"
mechanism = "DiscreteGaussian(sigma=2)"
[[query]]
name = "words"
measure = "count"
by = ["word"]
mechanism = "DiscreteGaussian(sigma=2)"
"""


def test_they_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(b"who,word\n\xff,a\n\xfe,a\np1,a\np2,\xff\n")
    plan = read_plan("plan.toml", PLAN_PERSONS_THAT_ARE_NO_TEXT)
    assert plan.tables is not None
    with source_of(path, plan.tables) as source:
        found = [exact_table(source, plan.tables, one, 0).counts for one in plan.tables.queries]
    assert found == [[2], [0, 1, 1]]


# A missing value is `other`, never the key that an engine fills gaps with: 0, "" or false. (bugs R12, R13)


PLAN_MISSING_IS_OTHER = """
[data]
unit = "row"
[domain]
number = { values = [0, 1, 5], other = 9 }
word = { values = ["", "a"], other = "z" }
yes = { values = [false], other = true }
"""


QUERY = '[[query]]\nname = "{0}"\nmeasure = "count"\nby = ["{0}"]\nmechanism = "DiscreteGaussian(sigma=2)"\n'
FRAME = pl.DataFrame(
    {"number": [0, None, None, 7, 5], "word": ["", None, "b", None, "a"], "yes": [False, None, None, True, None]}
)
TRUTH = {"number": [1, 0, 1, 3], "word": [1, 1, 3], "yes": [1, 4]}
ENGINES: dict[str, Any] = {
    "polars": lambda: FRAME,
    "pandas": lambda: FRAME.to_pandas(use_pyarrow_extension_array=True),
    "duckdb": lambda: duckdb.from_arrow(FRAME.to_arrow()),
}


@pytest.mark.parametrize("engine", ["polars", "pandas", "duckdb"])
def test_missing_values(engine: str) -> None:
    plan = read_plan("plan.toml", PLAN_MISSING_IS_OTHER + "".join(map(QUERY.format, TRUTH)))
    assert plan.tables is not None
    with source_of(ENGINES[engine](), plan.tables) as source:
        found = {one.name: exact_table(source, plan.tables, one, 0).counts for one in plan.tables.queries}
    assert found == TRUTH


# A column of Python objects: what fulfils a condition on an integer has a key too, so that no row is lost.


WHERE = 'where = [["sex", "in", [1, 2]]]\nadds_up = "t"\nmechanism = "DiscreteGaussian(sigma=2)"\n'


PLAN_OBJECTS_AS_KEYS = f"""
[data]
unit = "row"
[domain]
sex = [1, 2]
[[query]]
name = "all"
measure = "count"
{WHERE}
[[query]]
name = "by sex"
measure = "count"
by = ["sex"]
{WHERE}
"""


def test_whole_numbers_of_every_type_are_keys() -> None:
    tables = read_plan("a plan", PLAN_OBJECTS_AS_KEYS).tables
    assert tables is not None
    together = tables.together[0]
    people = pd.DataFrame({"sex": pd.Series([1, 2, 1.0, Decimal(2), 2.5, "1", None, True], dtype=object)})
    with source_of(people, tables) as source:
        margins = exact_margins(together, exact_table(source, tables, together.finest, 0))
    assert [list(map(int, one)) for one in margins] == [[4], [2, 2]]
