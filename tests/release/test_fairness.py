"""Which cells of a person are kept: nobody else has a say in it, people differ, and every cell has the same chance."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import polars as pl
import pytest
from release.engines_table import ENGINES

from zcdp.plans.plan_file import read_plan
from zcdp.release.bounding import exact_table
from zcdp.release.expressions import source_of

PEOPLE, CELLS, KEPT = 600, 6, 2
SALTS = 12345, 2**62 + 99
UNLIKELY = {CELLS - 1: 36, CELLS * (CELLS - 1) // 2 - 1: 56}
"""What chi-square of so many degrees of freedom exceeds once in a million times."""
PLAN = """[data]
unit = "who"
[domain]
name = {{ from = 0, to = {people}, step = 1 }}
cell = {{ from = 0, to = 6, step = 1 }}
bin = {{ from = 0, to = 6, step = 1 }}
[[query]]
name = "kept"
{query}
"""
COUNT = 'measure = "{}"\nby = ["name", "cell"]\nmax_cells = {}\nmechanism = "DiscreteGaussian(sigma=2)"'
SUM = COUNT.format("sum", KEPT) + '\nof = "one"\nclip = [0, 9]\ngrid = 1'
BINS = 'measure = "quantiles"\nof = "bin"\nquantiles = [0.5]\nper = "row"\nmax_rows = 1\n'
BINS += 'by = ["name", "cell"]\nmax_cells = {}\n'
BINS += 'mechanism = "ExponentialMechanism(epsilon=1)"'
SHARED = COUNT.replace('"name", ', "")
"""All people in one table, whose cells have the same numbers for all of them."""
QUERIES = {
    "rows": COUNT.format("count", KEPT),
    "persons": COUNT.format("persons", KEPT),
    "sums": SUM,
}


def everybody(kind: str, *, bins: Sequence[tuple[int, int]]) -> pl.DataFrame:
    """All people are in the same cells and bins; the number of a person stands beside the name as a key."""
    rows = [(person, cell, place) for person in range(PEOPLE) for cell, place in bins]
    frame = pl.DataFrame(rows, schema={"name": pl.Int64, "cell": pl.Int64, "bin": pl.Int64}, orient="row")
    who = pl.col("name") * 7919 if kind == "integer" else "person " + pl.col("name").cast(pl.String)
    return frame.with_columns(who.alias("who"), pl.lit(1, pl.Int64).alias("one"))


Made = Callable[[pl.DataFrame], Any]
"""A frame in an engine."""
MADE: dict[str, Made] = {**ENGINES, "pandas": pl.DataFrame.to_pandas}


def counted(frame: pl.DataFrame, engine: str | Made, query: str, salt: int = SALTS[0]) -> list[int]:
    tables = read_plan("plan.toml", PLAN.format(people=PEOPLE, query=query)).tables
    assert tables is not None
    with source_of((MADE[engine] if isinstance(engine, str) else engine)(frame), tables) as source:
        return exact_table(source, tables, tables.queries[0], salt).counts


def kept(frame: pl.DataFrame, engine: str | Made, query: str, salt: int = SALTS[0]) -> list[tuple[int, ...]]:
    """The cells, or bins, of each person that count."""
    counts = counted(frame, engine, query, salt)
    each = len(counts) // PEOPLE
    return [tuple(n for n in range(each) if counts[person * each + n]) for person in range(PEOPLE)]


def chi_square(seen: Counter[Any], outcomes: int) -> float:
    expected = sum(seen.values()) / outcomes
    return sum((count - expected) ** 2 / expected for count in seen.values()) + (outcomes - len(seen)) * expected


def assert_fair(seen: Counter[Any], outcomes: int) -> None:
    assert len(seen) <= outcomes
    assert chi_square(seen, outcomes) < UNLIKELY[outcomes - 1], seen


@pytest.mark.parametrize("kind", ["integer", "text"])
@pytest.mark.parametrize("engine", ENGINES)
def test_every_cell_and_every_two_of_them_have_the_same_chance(engine: str, kind: str) -> None:
    frame = everybody(kind, bins=[(cell, 0) for cell in range(CELLS)])
    for name, query in QUERIES.items():
        mine = kept(frame, engine, query)
        assert {len(one) for one in mine} == {KEPT}, name
        assert_fair(Counter(cell for one in mine for cell in one), CELLS)
        assert_fair(Counter(mine), CELLS * (CELLS - 1) // 2)
        assert set(mine) == set(combinations(range(CELLS), KEPT)), "people differ, and nobody is always left out"
    for most in range(1, CELLS):
        shared = counted(frame, engine, SHARED.format("persons", most))
        assert sum(shared) == most * PEOPLE
        assert_fair(Counter(dict(enumerate(shared))), CELLS)
    again = kept(frame, engine, QUERIES["persons"], SALTS[1])
    same = sum(one == other for one, other in zip(kept(frame, engine, QUERIES["persons"]), again, strict=True))
    assert same < PEOPLE / 6, "another key keeps other cells: one in fifteen is the same by chance"


@pytest.mark.parametrize("engine", ENGINES)
def test_every_bin_and_every_cell_of_quantiles_has_the_same_chance(engine: str) -> None:
    """Of the rows that a person has in a cell one is kept, then of the cells: one with many rows has no more chance."""
    bins = [(0, place) for place in range(CELLS)]
    assert_fair(Counter(one for (one,) in kept(everybody("integer", bins=bins), engine, BINS.format(1))), CELLS)
    uneven = [*bins, *((cell, 3) for cell in range(1, CELLS))]
    mine = kept(everybody("integer", bins=uneven), engine, BINS.format(1))
    assert_fair(Counter(one // CELLS for (one,) in mine), CELLS)
    two = kept(everybody("integer", bins=uneven), engine, BINS.format(KEPT))
    assert_fair(Counter(tuple(place // CELLS for place in one) for one in two), CELLS * (CELLS - 1) // 2)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_row_of_a_cell_has_the_same_chance_however_many_are_in_its_bin(engine: str) -> None:
    """Four rows in one bin and one in each of two others: two of the six are kept."""
    rows = [(0, 0)] * 4 + [(0, 3), (0, 5)]
    counts = counted(everybody("integer", bins=rows), engine, BINS.format(1).replace("max_rows = 1", "max_rows = 2"))
    each = [counts[person * 36 : person * 36 + 6] for person in range(PEOPLE)]
    assert all(sum(one) == 2 for one in each)
    seen = Counter(tuple(n for n, many in enumerate(one) for _ in range(many)) for one in each)
    assert set(seen) == {(0, 0), (0, 3), (0, 5), (3, 5)}
    # of fifteen pairs of rows six are in the first bin, four in it and each of the others, one in both of these
    assert abs(seen[0, 0] / PEOPLE - 6 / 15) < 7 * (6 * 9 / 15**2 / PEOPLE) ** 0.5
    assert abs(seen[0, 3] / PEOPLE - 4 / 15) < 7 * (4 * 11 / 15**2 / PEOPLE) ** 0.5


@pytest.mark.parametrize("kind", ["integer", "text"])
@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_kept_of_a_person_depends_on_nobody_else(engine: str, kind: str) -> None:
    rng = random.Random(7)
    whole = everybody(kind, bins=[(cell, cell) for cell in range(CELLS)])
    few = rng.sample(range(PEOPLE), 40)
    some = whole.filter(pl.col("name").is_in(few)).sample(fraction=1, shuffle=True, seed=3)
    # the others have other rows, other cells, and come first
    others = whole.filter(~pl.col("name").is_in(few)).filter(pl.col("cell") > pl.col("name") % 4)
    changed = pl.concat([others, others, some])
    for query in (QUERIES["rows"], BINS.format(KEPT)):
        mine = [kept(frame, engine, query) for frame in (whole, some, changed)]
        for person in few:
            assert mine[0][person] == mine[1][person] == mine[2][person] != ()
