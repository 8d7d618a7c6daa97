"""Whoever is removed, no exact table moves further than the sensitivity that was derived for it.

The five tempting wrong versions are planted, and must fail.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest
from release.adversary import Case, cases
from release.engines_table import ENGINES

from zcdp.release import bounding
from zcdp.release import frame_engines as engines
from zcdp.release.bounding import Exact, exact_table
from zcdp.release.expressions import source_of
from zcdp.release.quantile_tables import rank_scores
from zcdp.tables.declaration import Declaration
from zcdp.tables.table_query import Statistic, TableQuery

SALT = 12345


def tables_of(data: Any, tables: Declaration) -> list[Exact]:
    with source_of(data, tables) as source:
        return [exact_table(source, tables, query, SALT) for query in tables.queries]


def moved_too_far(query: TableQuery, neighbours: str, one: Exact, other: Exact) -> str:
    """In what way the tables of neighbours are further apart than the statistics of the query say; "" if not."""
    statistics = query.statistics(neighbours)
    counts = [a - b for a, b in zip(one.counts, other.counts, strict=True)]
    amounts = [a - b for a, b in zip(one.amounts, other.amounts, strict=True)]
    if query.measure == "top":
        spread = max([*counts, 0]) - min([*counts, 0])
        top = statistics[0]
        return f"top by {spread}" if spread > (1 if top.monotone else 2) * top.distance else ""
    if query.method == "cumulated":
        return levels_moved_too_far(query, statistics[0], counts)
    if query.measure == "quantiles":
        assert query.of is not None
        size = query.of.size
        cells = [slice(n * size, (n + 1) * size) for n in range(query.cells)]
        changed = [cell for cell in cells if any(counts[cell])]
        if len(changed) > statistics[0].moves:
            return f"{len(changed)} cells"
        for q, statistic in zip(query.quantiles, statistics, strict=True):
            for cell in changed:
                pairs = zip(rank_scores(one.counts[cell], q), rank_scores(other.counts[cell], q), strict=True)
                if max(abs(a - b) for a, b in pairs) > statistic.distance:
                    return f"scores of {q}"
        return ""
    others = [a - b for a, b in zip(one.others, other.others, strict=True)]
    moves = {
        "sum": [amounts],
        "mean": [amounts, counts],
        "ratio": [amounts, others],
        "variance": [amounts, others, counts],
    }.get(query.measure, [counts])
    for statistic, move in zip(statistics, moves, strict=True):
        far = [abs(size) for size in move if size]
        if len(far) > statistic.moves or max(far, default=0) > statistic.distance:
            return f"{len(far)} cells of {statistic.moves}, by {max(far)} of {statistic.distance}"
    return ""


def levels_moved_too_far(query: TableQuery, statistic: Statistic, counts: list[int]) -> str:
    """The same of counts of bins and of groups of them: on each level the share of it that is charged for one."""
    assert query.of is not None
    size, groups = query.of.size, [2, 8]  # of eight bins, which all plans here have
    assert size == 8
    for many in groups:
        far = [
            abs(sum(counts[cell * size + group * size // many : cell * size + (group + 1) * size // many]))
            for cell in range(query.cells)
            for group in range(many)
        ]
        far = [size for size in far if size]
        uses = statistic.moves // len(groups)
        together = sum(far) > statistic.total if statistic.total else len(far) > uses
        if together or max(far, default=0) > statistic.distance:
            return f"{far} on a level of {many} groups, against {statistic}"
    return ""


def broken(case: Case, engine: str, neighbours: list[pl.DataFrame]) -> Iterator[str]:
    """What is wrong with any of these neighbours of the table."""
    whole = tables_of(ENGINES[engine](case.frame), case.tables)
    for frame in neighbours:
        less = tables_of(ENGINES[engine](frame), case.tables)
        for query, one, other in zip(case.tables.queries, whole, less, strict=True):
            if wrong := moved_too_far(query, case.tables.neighbours, one, other):
                yield f"{engine}, {query.measure}: {wrong}\n{case.text}"


def check(engine: str, seed: int, count: int, most: int | None = None) -> int:
    """Removes every person of random tables; how many neighbours that were, each for a dozen queries."""
    seen = 0
    for case in cases(seed, count):
        neighbours = [case.without(person) for person in case.persons[:most]]
        assert next(broken(case, engine, neighbours), "") == ""
        seen += len(neighbours) * len(case.tables.queries)
    return seen


@pytest.mark.parametrize("engine", ENGINES)
def test_no_table_moves_further_than_its_sensitivity(engine: str) -> None:
    assert check(engine, 5, {"polars": 6, "duckdb": 2, "pandas": 2}[engine], most=3) >= 21


@pytest.mark.deep
@pytest.mark.parametrize("engine", ENGINES)
def test_thousands_of_neighbours(engine: str) -> None:
    cases, neighbours = {"polars": (150, 5000), "duckdb": (25, 900), "pandas": (25, 900)}[engine]
    assert check(engine, 2, cases) >= neighbours


def test_a_person_who_is_replaced_moves_tables_by_no_more() -> None:
    rng = random.Random(3)
    for case in cases(4, 3, neighbours="replace"):
        neighbours = [case.replaced(person, rng) for person in case.persons]
        assert next(broken(case, "polars", neighbours), "") == ""


def shuffled(self: Any, frame: Any, within: Any, order: Any, most: int, salt: int) -> Any:
    """Wrong: an order that the engine draws, with a seed, is not one of each person's own rows."""
    lazy = frame.to_native().lazy()
    ranked = lazy.with_columns(pl.int_range(pl.len()).shuffle(seed=salt).alias("r")).sort("r")
    return engines.narwhals().from_native(ranked.group_by(*within).head(most).drop("r"))


def dense(self: Any, frame: Any, within: Any, order: Any, most: int, salt: int) -> Any:
    """Wrong: the number of a person among all persons changes with each of them."""
    lazy = frame.to_native().lazy()
    hashed = pl.struct(pl.col(within[0]).rank("dense"), order).hash(salt).alias("r")
    ranked = lazy.with_columns(hashed).sort("r", order).group_by(*within).head(most).drop("r")
    return engines.narwhals().from_native(ranked)


def tied(self: Any, frame: Any, within: Any, order: Any, most: int, salt: int) -> Any:
    """Wrong: a rank that ties share lets all of them through."""
    lazy = frame.to_native().lazy()
    hashed = (pl.struct(*within, order).hash(salt) % 3).alias("r")
    ranked = lazy.with_columns(hashed).filter(pl.col("r").rank("min").over(*within) <= most).drop("r")
    return engines.narwhals().from_native(ranked)


def early(base: Any, query: TableQuery) -> Any:
    """Wrong: rows are cut to so many of each person before they have the keys of the table."""
    pairs = right_together(base, query).to_native().lazy()
    return engines.narwhals().from_native(pl.concat([pairs, pairs]))


right_together = bounding._together


def floats(frame: Any, limbs: int, n: int) -> Any:
    """Wrong: floats round what is small beside what is large, up as well as down."""
    nw = engines.narwhals()
    amount, high, low = (bounding._nth(name, n) for name in (bounding.AMOUNT, bounding.HIGH, bounding.LOW))
    zero = [nw.lit(0).alias(high)] if limbs == 2 else []
    return frame.with_columns(nw.col(amount).cast(nw.Float32).alias(low), *zero)


WRONG = {
    "engine randomness": (engines.Polars, "keep", shuffled),
    "dense-rank ids": (engines.Polars, "keep", dense),
    "ties by rank": (engines.Polars, "keep", tied),
    "truncation before a key change": (bounding, "_together", early),
    "float sums": (bounding, "_parts", floats),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_tempting_wrong_version_is_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, function, wrong = WRONG[name]
    monkeypatch.setattr(owner, function, wrong)
    for case in cases(1, 40):
        if next(broken(case, "polars", [case.without(person) for person in case.persons]), ""):
            return
    pytest.fail(f"{name} was not noticed")
