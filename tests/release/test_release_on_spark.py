"""Tables of a Spark frame: bounds hold, the integers are those of the definition, and noise is drawn once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
from release import test_discovery
from release import test_nested_lists as nested
from release.adversary import cases
from release.derived_by_hand import images
from release.derived_by_hand import people as table_of_odd_values
from release.test_derivation import RULES, chain, declared, differing
from release.test_derivation import computed as derived
from release.test_fairness import CELLS, PEOPLE, SHARED, assert_fair, counted, everybody
from release.test_remove_each_person import moved_too_far, tables_of
from release.test_same_integers import PLAN, by_hand, computed, people
from spark_session import pytestmark, spark

from zcdp.plans.plan_file import read_plan
from zcdp.release import frame_engines as engines
from zcdp.release import release
from zcdp.release.bounding import cells
from zcdp.release.expressions import source_of

__all__ = ["pytestmark", "spark"]


def on(spark: Any, frame: pl.DataFrame) -> Any:
    names = {pl.String: "string", pl.Int64: "long", pl.Float64: "double", pl.Boolean: "boolean", pl.Date: "date"}
    schema = ", ".join(f"{name} {names[type(kind)]}" for name, kind in frame.schema.items())  # type: ignore[index]
    return spark.createDataFrame(frame.rows(), schema)


def test_whoever_is_removed_the_bounds_hold(spark: Any) -> None:
    seen = 0
    for case in list(cases(5, 2))[1:]:
        whole = tables_of(on(spark, case.frame), case.tables)
        for person in case.persons[:3]:
            less = tables_of(on(spark, case.without(person)), case.tables)
            for query, one, other in zip(case.tables.queries, whole, less, strict=True):
                assert moved_too_far(query, "add-remove", one, other) == ""
                seen += 1
    assert seen >= 14


def test_every_cell_has_the_same_chance_to_be_kept(spark: Any) -> None:
    frame = everybody("integer", bins=[(cell, 0) for cell in range(CELLS)])
    for most in (1, 2):
        shared = counted(frame, lambda one: on(spark, one), SHARED.format("persons", most))
        assert sum(shared) == most * PEOPLE
        assert_fair(Counter(dict(enumerate(shared))), CELLS)


def test_the_integers_are_those_of_the_definition(spark: Any) -> None:
    frame = people(150)
    assert computed(on(spark, frame)) == by_hand(frame)


def test_the_integers_of_nested_lists_are_those_of_the_words(spark: Any) -> None:
    frame = nested.people(150)
    assert nested.published(on(spark, frame)) == nested.by_words(frame)


def test_a_lazy_frame_is_computed_once_for_each_table(spark: Any, monkeypatch: Any) -> None:
    plan, frame = read_plan("plan.toml", PLAN), on(spark, people(40))
    asked = []
    rows = engines.Spark.rows
    monkeypatch.setattr(engines.Spark, "rows", lambda self, one: asked.append(1) or rows(self, one))
    made = release(plan, frame, ledger=None)
    assert [table.rows for table in made.tables.values()] == [table.rows for table in made.tables.values()]
    assert len(asked) == len(made.tables) == PLAN.count("[[query]]")


def test_derived_columns_are_those_of_the_definition(spark: Any, tmp_path: Path) -> None:
    frame = table_of_odd_values(3, 120)
    found = derived(on(spark, frame), declared(tmp_path))
    assert differing(found, images(frame)) == []


def test_found_keys_are_counted_as_in_other_engines(spark: Any) -> None:
    frame = test_discovery.people(3, 200)
    assert test_discovery.counted(on(spark, frame), 1000) == test_discovery.counted(frame, 1000)
    assert max(test_discovery.counted(on(spark, frame), 1).values()) >= 1


def test_no_condition_is_moved_below_a_chain_of_columns(spark: Any) -> None:
    """It would be written out anew wherever a column is used: exponentially many times."""
    frame, sizes = spark.createDataFrame([(1.0,), (2.0,)], "c0 double"), []
    for depth in (2, 4):
        tables = chain(depth, next(iter(RULES)))
        with source_of(frame, tables) as source:
            query = cells(source, tables, tables.queries[0], 5).to_native()._jdf.queryExecution()
            sizes.append(len(query.optimizedPlan().toString()))
    assert sizes[1] < 2.5 * sizes[0]
