"""Nested lists from the plan to the published figures: the same integers in every engine, sums, intervals, accounts."""

from __future__ import annotations

import random
from collections import Counter
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from release.adversary import PERSONS, SCHEMA, row
from release.engines_table import ENGINES

from zcdp.accounting import account, adjusted_accuracy
from zcdp.accounting.adjusted_accuracy import adjustment
from zcdp.errors import BadValue
from zcdp.plans.plan_file import PlanFile, read_plan
from zcdp.release import release
from zcdp.release.bounding import exact_table
from zcdp.release.expressions import source_of
from zcdp.release.table_noise import adjusted_tables, keys_of
from zcdp.tables.totals import Together

REST = 'other = "abroad", unknown = "?"'
LISTS = f"""[data]
unit = "UNIT"
[domain]
region = {{ values = ["R1", "R2", "\u00e9"], column = "region", other = "abroad" }}
town = {{ within = "region", values = {{ R1 = ["a", "R1"], R2 = ["b"], "\u00e9" = ["\u00e9"] }}, {REST} }}
age = {{ from = 0, to = 20, step = 5, other = "not stated" }}
day = {{ from = 2024-01-01, to = 2026-01-01, step = "year", other = "no day" }}
sex = {{ values = [1, 2], other = 0, flat = true }}
"""


def query(name: str, by: str, *more: str, noise: str = "DiscreteGaussian(sigma=20)") -> str:
    lines = (f'name = "{name}"', 'measure = "count"', f"by = [{by}]", f'mechanism = "{noise}"')
    return "\n".join(("[[query]]", *lines, *more, ""))


# The same integers in every engine, and those of the words.

ALONE = (
    LISTS.replace("UNIT", "row")
    + 'code = { column = "town", values = ["aa", "ab", "b1"], other = "none" }\nletter = { prefix = 1, of = "code" }\n'
    + query("regions", '"region"')
    + query("towns", '"region", "town", "sex"')
    + query("ages", '"age"')
    + query("days", '"day", "letter"')
)
TOWN_OF = {"a": "R1", "R1": "R1", "b": "R2", "\u00e9": "\u00e9"}


def people(size: int) -> pl.DataFrame:
    rng = random.Random(11)
    rows = [{"who": rng.choice(PERSONS["text"]), **row(rng)} for _ in range(size)]
    for one in rows[: size // 3]:
        one["town"] = rng.choice(("aa", "ab", "b1", "c1", None))
    return pl.DataFrame(rows, schema={"who": pl.String, **SCHEMA}, strict=False)


def by_words(frame: pl.DataFrame) -> list[Counter[Any]]:
    """Each table as a count by published keys."""
    found: list[Counter[Any]] = [Counter() for _ in range(4)]
    for one in frame.to_dicts():
        region, town = "abroad", "abroad"
        if one["town"] in TOWN_OF:
            region, town = TOWN_OF[one["town"]], one["town"]
        elif one["region"] in ("R1", "R2", "\u00e9"):
            region, town = one["region"], "?"
        found[0][region,] += 1
        found[1][region, town, one["sex"] if one["sex"] in (1, 2) else 0] += 1
        age = one["age"]
        known = age is not None and 0 <= age < 20  # NaN is not
        found[2][int(age // 5 * 5) if known else "not stated",] += 1
        letter = one["town"][0] if one["town"] in ("aa", "ab", "b1") else "none"
        year = one["day"].year if one["day"] is not None and one["day"].year in (2024, 2025) else None
        found[3]["no day" if year is None else f"{year}-01-01", letter] += 1
    return found


def published(data: Any) -> list[Counter[Any]]:
    tables = read_plan("plan.toml", ALONE).tables
    assert tables is not None
    found = []
    with source_of(data, tables) as source:
        for one in tables.queries:
            exact, keys = exact_table(source, tables, one, 1).counts, keys_of(one)
            columns = [values for name, values in keys.items() if not name.endswith("_to")]
            found.append(Counter({key: n for key, n in zip(zip(*columns, strict=True), exact, strict=True) if n}))
    return found


@pytest.mark.parametrize("engine", [*ENGINES, "lazy", "pyarrow", "parquet", "csv"])
def test_every_engine_gives_the_integers_of_the_words(engine: str, tmp_path: Path) -> None:
    frame = people(300)
    data: Any = {"lazy": frame.lazy(), "pyarrow": frame.to_arrow()}.get(engine)
    if engine in ENGINES:
        data = ENGINES[engine](frame)
    elif engine == "parquet":
        data = tmp_path / "a.parquet"
        frame.write_parquet(data)
    elif engine == "csv":
        data = tmp_path / "a.csv"
        frame.write_csv(data)
    assert published(data) == by_words(frame)
    assert all(len(one) > 3 for one in by_words(frame))


def test_no_cell_is_published_that_the_list_has_not() -> None:
    made = release(read_plan("plan.toml", ALONE), people(50), ledger=None).tables["towns"]
    pairs = set(zip(made.columns["region"], made.columns["town"], strict=True))
    assert pairs == {
        *((region, town) for town, region in TOWN_OF.items()),
        *((r, "?") for r in ("R1", "R2", "\u00e9")),
        ("abroad", "abroad"),
    }
    assert len(made.rows) == 3 * 8


# Figures that add up, with intervals that hold at each level.

POPULATION = (
    query("all", "", 'adds_up = "p"')
    + query("regions", '"region"', 'adds_up = "p"')
    + query("towns", '"town"', 'adds_up = "p"')
)
CROSSED = query("sexes", '"sex"', 'adds_up = "p"') + query("regions by sex", '"sex", "region"', 'adds_up = "p"')


def read(text: str) -> tuple[PlanFile, Together]:
    plan = read_plan("plan.toml", text)
    assert plan.tables is not None
    [together] = plan.tables.together
    return plan, together


@pytest.mark.parametrize("more", ["", "non_negative = true\n"])
@pytest.mark.parametrize("tables", [POPULATION, POPULATION + CROSSED], ids=["forest", "crossed"])
def test_every_published_region_is_the_sum_of_its_towns(tables: str, more: str) -> None:
    text = LISTS.replace("UNIT", "who") + tables.replace('adds_up = "p"\n', f'adds_up = "p"\n{more}')
    made = release(read_plan("plan.toml", text), people(200), ledger=None)
    values = {
        name: dict(
            zip(
                zip(*[one.columns[k] for k in one.columns if k in ("region", "town", "sex")], strict=True),
                one.columns["value"],
                strict=True,
            )
        )
        for name, one in made.tables.items()
        if name != "all"
    }
    [total] = made.tables["all"].columns["value"]
    assert total == sum(values["regions"].values()) == sum(values["towns"].values())
    for (region,), value in values["regions"].items():
        assert value == sum(one for (where, _), one in values["towns"].items() if where == region)
        if "sexes" in values:
            assert value == sum(one for (_, where), one in values["regions by sex"].items() if where == region)
    for (sex,), value in values.get("sexes", {}).items():
        assert value == sum(one for (who, _), one in values["regions by sex"].items() if who == sex)
    everything = [(low, value, high) for one in made.tables.values() for *_, value, _, low, high in one.rows]
    assert all(low <= value <= high and type(value) is int for low, value, high in everything)
    assert (min(low for low, *_ in everything) >= 0) == bool(more)
    told = made.tables["towns"].about
    assert ("large cells of a group too small" in told) == bool(more)
    assert "follows from its key of 'town', by the public list" in made.tables["regions"].about
    assert "follows" not in told


def towns(count: int, seed: int) -> str:
    """A plan of 5 regions that have from 1 to many towns."""
    rng = random.Random(seed)
    keys = [[f"t{n}", f"R{rng.randrange(5) if n > 4 else n}"] for n in range(count)]
    listed = ", ".join(f'["{a}", "{b}"]' for a, b in keys)
    lists = f'town = {{ within = "region", values = [{listed}], other = "x" }}\n'
    regions = 'region = { values = ["R0", "R1", "R2", "R3", "R4"], other = "x" }\n'
    return '[data]\nunit = "row"\n[domain]\nsex = { values = [1, 2], other = 0, flat = true }\n' + regions + lists


def simulated(text: str, runs: int, noise: int = 20, sizes: tuple[int, int] = (100, 900)) -> list[tuple[float, ...]]:
    """For each table how often intervals hold, and the ratio of simulated to told deviations: mean, and largest."""
    plan, together = read(text)
    ways = adjustment(together, plan.entries)
    rng = np.random.default_rng(5)
    truth = together.margins_of([int(x) for x in rng.integers(*sizes, together.finest.cells)])
    held = [np.zeros(len(one)) for one in truth]
    squares = [np.zeros(len(one)) for one in truth]
    for _ in range(runs):
        noisy = [
            [x + int(z) for x, z in zip(one, np.rint(rng.normal(0, noise, len(one))), strict=True)] for one in truth
        ]
        estimates = ways.estimates(noisy)
        for k, made in enumerate(adjusted_tables(ways, plan.entries, noisy)):
            low, high = np.array(made.columns["lower"]), np.array(made.columns["upper"])
            held[k] += (low <= truth[k]) & (truth[k] <= high)
            cells, below = estimates[k]
            squares[k] += (np.array([cell / below for cell in cells]) - truth[k]) ** 2
    found = []
    for k, one in enumerate(truth):
        told = np.array([ways.errors[k].kinds[n].standard_deviation for n in ways.errors[k].which])
        ratio = np.sqrt(squares[k] / runs) / told
        found.append((float(np.mean(held[k]) / runs), float(np.mean(ratio)), float(np.max(np.abs(ratio - 1)))))
        assert len(one) == len(told)
    return found


@pytest.mark.parametrize("most", [64, 0], ids=["exact law", "one factor"])
def test_intervals_hold_at_95_percent_on_each_level_and_deviations_are_those_told(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adjusted_accuracy, "MOST_LAWS", most)
    runs = 200
    for coverage, mean, far in simulated(towns(30, 1) + POPULATION + CROSSED, runs):
        # of one cell alone 200 runs are off by 0.0154, thrice which is allowed; one factor is wider by 0.1 of 1.96
        assert 0.95 - 0.046 < coverage < (0.99 if most else 0.995)
        assert mean == pytest.approx(1, abs=0.17)
        assert far < 5 / sqrt(2 * runs)


@pytest.mark.parametrize("sizes", [(0, 4), (100, 900)], ids=["few", "many"])
def test_intervals_hold_where_none_is_below_zero(sizes: tuple[int, int]) -> None:
    """Of cells that hold nearly nobody, whose figures and ends are moved up to 0, as of large ones."""
    text = towns(30, 1) + (POPULATION + CROSSED).replace("measure =", "non_negative = true\nmeasure =")
    for coverage, *_ in simulated(text, 100, sizes=sizes):
        assert coverage > 0.95 - 0.065  # of one cell alone 100 runs are off by 0.0218, thrice which is allowed


@pytest.mark.deep
@pytest.mark.parametrize("most", [64, 0], ids=["exact law", "one factor"])
def test_intervals_hold_over_many_runs(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adjusted_accuracy, "MOST_LAWS", most)
    for coverage, mean, _ in simulated(towns(60, 2) + POPULATION + CROSSED, 6000):
        assert 0.945 < coverage < (0.958 if most else 0.972)
        assert mean == pytest.approx(1, abs=0.03)


def test_one_factor_is_a_little_wider_than_exact_laws(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, together = read(towns(30, 1) + POPULATION)
    exact = adjustment(together, plan.entries).errors
    monkeypatch.setattr(adjusted_accuracy, "MOST_LAWS", 0)
    quick = adjustment(together, plan.entries).errors
    for one, other in zip(exact, quick, strict=True):
        assert len(one.kinds) > 1 or len(one.which) == 1
        for n, m in zip(one.which, other.which, strict=True):
            a, b = one.kinds[n], other.kinds[m]
            assert b.standard_deviation == pytest.approx(a.standard_deviation, rel=1e-9)
            assert 1.0 < b.half_width / a.half_width < 1.06


def test_the_account_tells_the_widest_cell_of_each_level_and_costs_the_same() -> None:
    plan, together = read(towns(30, 1) + POPULATION)
    rows = account(plan, curve=False).queries
    told = adjustment(together, plan.entries)
    alone = account(read_plan("plan.toml", plan.text.replace('adds_up = "p"\n', "")), curve=False)
    for k, (mine, other) in enumerate(zip(rows, alone.queries, strict=True)):
        assert mine.rho == other.rho
        assert mine.alone == other.accuracy
        assert mine.accuracy == told.errors[k].widest
        assert mine.accuracy is not None
        assert other.accuracy is not None
        assert mine.accuracy.standard_deviation < other.accuracy.standard_deviation == pytest.approx(20)


def test_many_errors_need_gaussian_noise() -> None:
    tables = "".join(
        query(name, by, 'adds_up = "p"', noise="DiscreteLaplace(scale=9)")
        for name, by in (("all", ""), ("regions", '"region"'), ("towns", '"town"'))
    )
    plan, together = read(towns(30, 1) + tables)
    assert adjustment(together, plan.entries).errors[2].widest.half_width > 20  # few enough for exact laws
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adjusted_accuracy, "MOST_LAWS", 3)
        with pytest.raises(BadValue, match="must be DiscreteGaussian"):
            account(plan, curve=False)


def test_a_region_of_many_towns_is_charged_for_all_that_one_person_may_be_in() -> None:
    """Of 30 towns one region has 12: with 5 cells a person moves it by 5, and a region of a single town too."""
    lists = towns(30, 1).replace('unit = "row"', 'unit = "who"')
    tables = POPULATION.replace("adds_up", "max_cells = 5\nmax_rows = 2\nadds_up")
    plan, together = read(lists + tables)
    fans = [int(n) for n in together.tree.leaves(1)] if together.tree else []
    assert [one.merges for one in together.queries] == [31, max(fans), 1]
    total, regions, all_towns = plan.entries
    assert (total.text, total.count) == ("DiscreteGaussian(sigma=20, sensitivity=10)", 1)
    assert (regions.text, regions.count) == ("DiscreteGaussian(sigma=20, sensitivity=L1LInf(10, 10))", 1)
    assert (all_towns.text, all_towns.count) == ("DiscreteGaussian(sigma=20, sensitivity=2)", 5)
