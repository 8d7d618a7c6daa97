"""Where bounds do not bind every engine gives the same integers, and they are those of plain Python."""

from __future__ import annotations

import random
from datetime import date
from fractions import Fraction
from math import floor, isnan
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from release.adversary import PERSONS, SCHEMA, row
from release.engines_table import ENGINES

from zcdp.plans.plan_file import read_plan
from zcdp.release.bounding import Exact, exact_table
from zcdp.release.expressions import source_of
from zcdp.tables.declaration import Declaration

PLAN = """
[data]
unit = "who"
[domain]
region = { values = ["R1", "R2", "\u00e9"], other = "elsewhere" }
age = { from = 0, to = 20, step = 2.5, clip = true }
sex = [1, 2, 0]
day = { from = 2024-01-01, to = 2026-01-01, step = "month", clip = true }
week = { column = "day", from = "2024-01-01", to = "2026-01-05", step = "week" }
pay_bins = { column = "pay", from = -30, to = 45, step = 2.5 }
all_pay = { column = "pay", from = -2147483648, to = 2147483648, bins = 4, clip = true }
[[query]]
name = "count"
measure = "count"
by = ["region", "sex"]
max_cells = 12
max_rows = 1000
where = [["ok", "!=", false], ["pay", ">", -1e12]]
mechanism = "DiscreteGaussian(sigma=2)"
[[query]]
name = "persons"
measure = "persons"
by = ["age"]
max_cells = 8
mechanism = "DiscreteGaussian(sigma=2)"
[[query]]
name = "months"
measure = "count"
by = ["day"]
max_cells = 24
max_rows = 1000
where = [["day", "!=", 2024-02-29]]
mechanism = "DiscreteGaussian(sigma=2)"
[[query]]
name = "weeks"
measure = "count"
by = ["week"]
max_cells = 105
max_rows = 1000
mechanism = "DiscreteGaussian(sigma=2)"
[[query]]
name = "narrow"
measure = "sum"
of = "pay"
clip = [-20, 30]
grid = 0.1
by = ["sex"]
max_cells = 3
mechanism = "DiscreteGaussian(sigma=2)"
[[query]]
name = "wide"
measure = "mean"
of = "pay"
clip = [-4398046511104, 8796093022208]
grid = 1
by = ["region"]
max_cells = 4
mechanism = "DiscreteGaussian(sigma=2)"
count_mechanism = "DiscreteGaussian(sigma=2)"
[[query]]
name = "two sums"
measure = "ratio"
of = "pay"
clip = [-20, 30]
grid = 0.1
over = "age"
over_clip = [0, 15]
over_grid = 0.5
by = ["sex"]
max_cells = 3
mechanism = "DiscreteGaussian(sigma=2)"
over_mechanism = "DiscreteGaussian(sigma=2)"
[[query]]
name = "squares"
measure = "variance"
of = "pay"
clip = [-20, 30]
grid = 0.1
by = ["sex"]
max_cells = 3
mechanism = "DiscreteGaussian(sigma=2)"
square_mechanism = "DiscreteGaussian(sigma=2)"
count_mechanism = "DiscreteGaussian(sigma=2)"
[[query]]
name = "totals in bins"
measure = "quantiles"
of = "pay_bins"
per = "person"
grid = 0.1
quantiles = [0.5]
by = ["sex"]
max_cells = 3
mechanism = "DiscreteGaussian(sigma=2)"
[[query]]
name = "totals in clipped bins"
measure = "quantiles"
of = "all_pay"
per = "person"
quantiles = [0.5]
mechanism = "ExponentialMechanism(epsilon=1)"
[[query]]
name = "rows in bins"
measure = "quantiles"
of = "pay_bins"
per = "row"
max_rows = 1000
quantiles = [0.5]
by = ["sex"]
max_cells = 3
mechanism = "DiscreteGaussian(sigma=2)"
"""


def declared() -> Declaration:
    tables = read_plan("plan.toml", PLAN).tables
    assert tables is not None
    return tables


def people(size: int) -> pl.DataFrame:
    rng = random.Random(9)
    rows = [{"who": rng.choice(PERSONS["text"]), **row(rng)} for _ in range(size)]
    return pl.DataFrame(rows, schema={"who": pl.String, **SCHEMA}, strict=False)


def computed(data: Any, salt: int = 5) -> list[Exact]:
    tables = declared()
    with source_of(data, tables) as source:
        return [exact_table(source, tables, query, salt) for query in tables.queries]


def steps(value: float | None, grid: Fraction, low: int, high: int) -> int | None:
    """A value in grid steps: by doubles, as every engine has them, halves up."""
    if value is None or isnan(value):
        return None
    reach = max(abs(low), abs(high))
    clipped = min(max(value, float(-reach * grid)), float(reach * grid))
    return min(max(floor(clipped * grid.denominator / grid.numerator + 0.5), -reach), reach)


def by_hand(frame: pl.DataFrame) -> list[Exact]:
    """The four tables, from their definitions."""
    rows = [one for one in frame.to_dicts() if one["who"] is not None]
    regions = ["R1", "R2", "\u00e9", "elsewhere"]

    def region(one: dict[str, Any]) -> int:
        return regions.index(one["region"]) if one["region"] in regions else 3

    count = [0] * 12
    for one in rows:
        if one["ok"] and one["sex"] in (1, 2, 0) and one["pay"] is not None and one["pay"] > -1e12:
            count[region(one) * 3 + (1, 2, 0).index(one["sex"])] += 1
    ages: set[tuple[str, int]] = set()
    for one in rows:
        if one["age"] is not None and not isnan(one["age"]):
            ages.add((one["who"], min(max(floor(min(max(one["age"], -1), 21) / 2.5), 0), 7)))
    persons = [sum(place == n for _, place in ages) for n in range(8)]
    months, weeks = [0] * 24, [0] * 105
    for day in (one["day"] for one in rows if one["day"] is not None):
        if day != date(2024, 2, 29):
            months[min(max(12 * (day.year - 2024) + day.month - 1, 0), 23)] += 1
        if date(2024, 1, 1) <= day < date(2026, 1, 5):
            weeks[(day - date(2024, 1, 1)).days // 7] += 1
    tables = [Exact(count, [0] * 12), Exact(persons, [0] * 8)]
    tables += [Exact(months, [0] * 24), Exact(weeks, [0] * 105)]
    for grid, low, high, key, size in (
        (Fraction(1, 10), -200, 300, lambda one: (1, 2, 0).index(one["sex"]) if one["sex"] in (1, 2, 0) else None, 3),
        (Fraction(1), -4398046511104, 8796093022208, region, 4),
    ):
        totals: dict[tuple[str, int], int] = {}
        for one in rows:
            value, cell = steps(one["pay"], grid, low, high), key(one)
            if value is not None and cell is not None:
                totals[one["who"], cell] = totals.get((one["who"], cell), 0) + value
        middle = (low + high) // 2 if size == 4 else 0
        clipped = [[min(max(t, low), high) - middle for (_, c), t in totals.items() if c == n] for n in range(size)]
        tables.append(Exact([len(one) for one in clipped], [sum(one) for one in clipped]))
    return [*tables, *more_by_hand(rows)]


def more_by_hand(rows: list[dict[str, Any]]) -> list[Exact]:
    """Two sums of one ratio, squares of a variance, and values in bins: of totals of persons, and of rows."""

    def totals(low: int, high: int, *, over: bool = False, sexes: bool = True) -> dict[tuple[str, int], list[int]]:
        """For each person and sex the totals of pay and age, of the rows that have both, or pay."""
        found: dict[tuple[str, int], list[int]] = {}
        for one in rows:
            pay, age = steps(one["pay"], Fraction(1, 10), low, high), steps(one["age"], Fraction(1, 2), 0, 30)
            if pay is None or (over and age is None) or (sexes and one["sex"] not in (1, 2, 0)):
                continue
            mine = found.setdefault((one["who"], (1, 2, 0).index(one["sex"]) if sexes else 0), [0, 0])
            mine[0], mine[1] = mine[0] + pay, mine[1] + (age or 0)
        return found

    ratio, squares = Exact([0] * 3, [0] * 3, [0] * 3), Exact([0] * 3, [0] * 3, [0] * 3)
    for (_, sex), (pay, age) in totals(-200, 300, over=True).items():
        ratio.counts[sex] += 1
        ratio.amounts[sex] += min(max(pay, -200), 300)
        ratio.others[sex] += min(max(age, 0), 30)
    for (_, sex), (pay, _age) in totals(-200, 300).items():
        away = min(max(pay, -200), 300) - 50
        squares.counts[sex] += 1
        squares.amounts[sex] += away
        squares.others[sex] += away**2 - 250**2 // 2
    persons, everyone, each = Exact([0] * 90, [0] * 90), Exact([0] * 4, [0] * 4), Exact([0] * 90, [0] * 90)
    for (_, sex), (pay, _age) in totals(-301, 450).items():  # in tenths, of which 25 are a bin
        if -300 <= pay < 450:
            persons.counts[sex * 30 + (pay + 300) // 25] += 1
    whole: dict[str, int] = {}
    for one in rows:
        if (pay := steps(one["pay"], Fraction(1), -(2**31) - 1, 2**31)) is not None:
            whole[one["who"]] = whole.get(one["who"], 0) + pay
        if one["pay"] is not None and -30 <= one["pay"] < 45 and one["sex"] in (1, 2, 0):
            each.counts[(1, 2, 0).index(one["sex"]) * 30 + floor((one["pay"] + 30) / 2.5)] += 1
    for pay in whole.values():
        everyone.counts[min(max((pay + 2**31) // 2**30, 0), 3)] += 1
    return [ratio, squares, persons, everyone, each]


@pytest.mark.parametrize("engine", [*ENGINES, "lazy", "pyarrow", "parquet", "csv"])
def test_every_engine_gives_the_integers_of_the_definition(engine: str, tmp_path: Path) -> None:
    frame = people(150)
    if engine == "csv":  # in which a text that is empty is missing, and names of values are not quoted
        frame = frame.with_columns(pl.col("who", "region").replace("", None))
        frame.write_csv(tmp_path / "a.csv")
    if engine == "parquet":
        frame.write_parquet(tmp_path / "a.parquet")
    others = {"lazy": frame.lazy(), "pyarrow": frame.to_arrow()}
    data = ENGINES[engine](frame) if engine in ENGINES else others.get(engine, tmp_path / f"a.{engine}")
    assert computed(data) == by_hand(frame)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_total_of_rows_counts_all_that_fulfil_the_conditions(engine: str) -> None:
    """A column of one constant has as many rows as the table, in engines too that would make one of it."""
    text = '[data]\nunit = "row"\n[[query]]\nname = "a"\nmeasure = "count"\nwhere = [["ok", "==", true]]\n'
    tables = read_plan("plan.toml", text + 'mechanism = "DiscreteGaussian(sigma=2)"').tables
    assert tables is not None
    for frame in (people(60), people(0)):
        with source_of(ENGINES[engine](frame), tables) as source:
            assert exact_table(source, tables, tables.queries[0], 5).counts == [frame["ok"].sum()]


def test_categories_are_their_texts() -> None:
    frame = people(80)
    coded = frame.with_columns(pl.col("who", "region").cast(pl.Categorical))
    assert computed(coded) == computed(frame) == by_hand(frame)
    assert computed(ENGINES["pandas"](frame).astype({"who": "category", "region": "category"})) == by_hand(frame)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("grid", "high"), [("1/100", 4179381374926070), ("7/10", 2663012034315187)])
def test_a_row_is_within_its_clip_where_doubles_are_coarser_than_the_grid(engine: str, grid: str, high: int) -> None:
    """The double nearest to the end of the clip, in grid steps, is one more than the end."""
    step = Fraction(grid)
    assert floor(float(high * step) * step.denominator / step.numerator + 0.5) == high + 1
    text = (
        f'[data]\nunit = "row"\n[[query]]\nname = "a"\nmeasure = "sum"\nof = "pay"\nclip = ["{-high * step}", '
        f'"{high * step}"]\ngrid = "{grid}"\nmechanism = "DiscreteGaussian(sigma=1000, sensitivity={high})"'
    )
    tables = read_plan("plan.toml", text).tables
    assert tables is not None
    for pay in (1e300, float(high * step), -1e300):
        frame = people(1).with_columns(pay=pl.lit(pay))
        with source_of(ENGINES[engine](frame), tables) as source:
            assert exact_table(source, tables, tables.queries[0], 5).amounts == [high if pay > 0 else -high]
