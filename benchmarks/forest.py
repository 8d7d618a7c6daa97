"""Tables of nested lists: a release beside the bare group-by of DuckDB, and the adjustment of 100,000 leaves.

    python benchmarks/forest.py [rows] [leaves]

Targets: with bounds on persons at most 2.2 times the processor time of DuckDB's own group-by of persons and cells, in
one run; least squares, rounding and intervals of 100,000 leaves in at most 10 s.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import duckdb
import numpy as np

from zcdp.accounting.adjusted_accuracy import adjustment
from zcdp.plans.plan_file import PlanFile, read_plan
from zcdp.release.bounding import exact_table
from zcdp.release.expressions import source_of
from zcdp.release.table_noise import adjusted_tables, published_together

MAKE = """
COPY (
    SELECT p AS person_id,
           'M' || lpad((hash(CASE WHEN hash(i, 4) % 20 < {away} THEN i ELSE p END, 1) % 200)::VARCHAR, 3, '0') AS town,
           CASE hash({of}, 2) % 2 WHEN 0 THEN 'F' ELSE 'M' END AS sex,
           (hash({of}, 3) % 100)::BIGINT AS age
    FROM (SELECT i, (hash(i) % {persons})::BIGINT AS p FROM range({rows}) t(i))
) TO '{path}' (FORMAT parquet)
"""
BARE = (
    "SELECT count(*), sum(n) FROM (SELECT person_id, town, sex, count(*) AS n FROM '{path}' "
    "GROUP BY person_id, town, sex)"
)
BARE_DERIVED = (
    "SELECT count(*), sum(n) FROM (SELECT person_id, town, CASE WHEN age - 3 < 18 THEN 'child' WHEN age - 3 < 65 "
    "THEN 'adult' ELSE 'old' END AS g, count(*) AS n FROM '{path}' GROUP BY person_id, town, g)"
)
DERIVED = """[derive]
years = { difference = ["age", 3] }
group = { first = [[["years", "<", 18], "child"], [["years", "<", 65], "adult"], [true, "old"]] }
[domain]
group = { values = ["child", "adult", "old"], other = "x", flat = true }
"""


def plan(leaves: int, regions: int, by: list[list[str]], more: str = "", lists_before: str = "[domain]\n") -> PlanFile:
    """A plan of towns within regions, each town in a random one; sexes or groups by age beside them."""
    rng = random.Random(1)
    lists = ", ".join(f'["M{n:03}", "R{n if n < regions else rng.randrange(regions)}"]' for n in range(leaves))
    keys = ", ".join(f'"R{n}"' for n in range(regions))
    tables = "".join(
        f'[[query]]\nname = "{" ".join(keys) or "all"}"\nmeasure = "count"\nmax_rows = 20\nmax_cells = {cells}\n'
        f'by = [{", ".join(map(repr, keys))}]\nadds_up = "p"\n{more}mechanism = "DiscreteGaussian(sigma=40)"\n'
        for keys, cells in ((one, 5) for one in by)
    )
    return read_plan(
        "plan.toml",
        f'[data]\nunit = "person_id"\n{lists_before}region = {{ values = [{keys}], other = "x" }}\n'
        f'town = {{ within = "region", values = [{lists}], other = "x" }}\n'
        f'sex = {{ values = ["F", "M"], other = "x", flat = true }}\n{tables}',
    )


def timed(run: Callable[[], object], times: int = 5) -> float:
    """The least processor time of a few runs, over all threads."""
    spent = []
    for _ in range(times):
        start = process_time()
        run()
        spent.append(process_time() - start)
    return min(spent)


HOME, ANYWHERE = {"away": 1, "of": "p"}, {"away": 20, "of": "i"}
"""Persons who are nearly always in one town, and such as are in ten cells, of which most must be left out again."""


def beside_group_by(rows: int) -> None:
    by_sex = plan(200, 17, [[], ["region"], ["town"], ["town", "sex"]])
    grouped = plan(200, 17, [[], ["region"], ["town"], ["town", "group"]], lists_before=DERIVED)
    for people, told in ((HOME, "one row in twenty away from home"), (ANYWHERE, "each row anywhere")):
        _beside(rows, by_sex, BARE, f"by sex; {told}", people)
        _beside(rows, grouped, BARE_DERIVED, f"by a derived group of ages; {told}", people)


def _beside(rows: int, asked: PlanFile, query: str, what: str, people: Mapping[str, object]) -> None:
    tables = asked.tables
    assert tables is not None
    [together] = tables.together
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        duckdb.sql(MAKE.format(persons=rows // 10, rows=rows, path=path, **people))

        def exact() -> None:
            with source_of(path, tables) as source:
                exact_table(source, tables, together.finest, 7)

        def whole() -> None:
            with source_of(path, tables) as source:
                published_together(together, asked.entries, exact_table(source, tables, together.finest, 7))

        def bare() -> None:
            with duckdb.connect() as connection:
                connection.execute(query.format(path=path)).fetchall()

        beside = timed(bare)
        print(f"{rows:,} rows, {rows // 10:,} persons, 200 towns in 17 regions {what}, {together.finest.cells} cells")
        for name, run in (("exact table", exact), ("with noise, sums and intervals", whole)):
            mine = timed(run)
            print(f"  {name:32} {mine:6.2f} s, bare group-by {beside:6.2f} s: {mine / beside:.2f} (target 2.2)")


def adjusted(leaves: int) -> None:
    for name, by, more in (
        ("regions and towns", [[], ["region"], ["town"]], ""),
        ("none below 0", [[], ["region"], ["town"]], "non_negative = true\n"),
        ("crossed, none below 0", [[], ["region"], ["town"], ["town", "sex"], ["sex"]], "non_negative = true\n"),
    ):
        asked = plan(leaves, leaves // 40, by, more)
        assert asked.tables is not None
        [together] = asked.tables.together
        rng = np.random.default_rng(2)
        noise = list(asked.entries)
        noisy = [[int(x) for x in rng.normal(30, 40, query.cells)] for query in together.queries]
        start, used = perf_counter(), process_time()
        made = adjusted_tables(adjustment(together, asked.entries), noise, noisy)
        wall, spent = perf_counter() - start, process_time() - used
        half = Fraction(made[-1].columns["upper"][0] - made[-1].columns["lower"][0], 2)
        print(
            f"  {leaves:,} leaves, {name}: {sum(query.cells for query in together.queries):,} figures, intervals in "
            f"{spent:.1f} s of processor time, {wall:.1f} s on the clock (target 10); the first reaches {float(half)}"
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", nargs="?", type=int, default=10_000_000)
    parser.add_argument("leaves", nargs="?", type=int, default=100_000)
    options = parser.parse_args()
    beside_group_by(options.rows)
    adjusted(options.leaves)


if __name__ == "__main__":
    main()
