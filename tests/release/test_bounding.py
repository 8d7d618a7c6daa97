"""What a person adds to a cell, of whole numbers of any size: the clipped total of plain Python."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest

from zcdp.plans.plan_file import read_plan
from zcdp.release.bounding import Exact, exact_table
from zcdp.release.expressions import source_of

MOST = 2**53 - 1
ENGINES = ["polars", "duckdb", "pandas"]


def totals(engine: str, rows: list[tuple[str, float]], low: int, high: int, unit: str = "who") -> Exact:
    text = f'[data]\nunit = "{unit}"\n[[query]]\nname = "a"\nmeasure = "sum"\nof = "pay"\nclip = [{low}, {high}]\n'
    tables = read_plan("plan.toml", text + 'grid = 1\nmechanism = "DiscreteGaussian(sigma=1000)"\n').tables
    assert tables is not None
    frame = pl.DataFrame(rows, schema={"who": pl.String, "pay": pl.Float64}, orient="row")
    data: Any = {"duckdb": frame.to_arrow, "pandas": frame.to_pandas}.get(engine, lambda: frame)()
    with source_of(data, tables) as source:
        return exact_table(source, tables, tables.queries[0], 5)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_person_with_very_many_large_rows_is_at_the_end_of_the_clip(engine: str, sign: int) -> None:
    """Their sum has more than 64 bits, so that it would come round to the other end."""
    rows = [("a", float(sign * MOST))] * 3000 + [("b", 3.0)]
    found = totals(engine, rows, -MOST, MOST)
    assert (found.amounts, found.counts) == ([sign * MOST + 3], [2])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("low", "high"), [(-(2**40), 2**45), (3, 2**27), (-(2**52), -5), (-(2**26), 2**26), (-9, 4)])
def test_totals_are_clipped_person_by_person_and_added_up_exactly(engine: str, low: int, high: int) -> None:
    rng, reach = random.Random(8), max(abs(low), abs(high))
    rows = [(rng.choice("abcde"), float(rng.randrange(-2 * reach, 2 * reach))) for _ in range(60)]
    rows += [("f", float(high)), ("f", -1.0), ("g", float(low)), ("h", float(reach // 2 + 1)), ("h", 1.0)]
    held: dict[str, int] = {}
    for who, pay in rows:
        held[who] = held.get(who, 0) + min(max(int(pay), -reach), reach)
    found = totals(engine, rows, low, high)
    assert found.amounts == [sum(min(max(one, low), high) for one in held.values())]
    assert found.counts == [len(held)]
    found = totals(engine, rows, low, high, unit="row")
    assert found.amounts == [sum(min(max(int(pay), low), high) for _, pay in rows)]
    assert found.counts == [len(rows)]
