"""Tables from Parquet beside the bare group-by of the same engine, as ratios of processor time in one run.

    python benchmarks/release.py [rows] [--keep FILE]

Targets: where every row is a person, at most 2.5 times the plain group-by; with bounds on persons, at most 2.2 times
the bare group-by of persons and cells. `--once FILE` times one release of a file that is there, with its peak memory.
"""

from __future__ import annotations

import argparse
import resource
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import duckdb

from zcdp.plans.plan_file import read_plan
from zcdp.release import release
from zcdp.release.bounding import exact_table
from zcdp.release.expressions import source_of

MAKE = """
COPY (
    SELECT (hash(i) % {persons})::BIGINT AS person_id,
           'R' || lpad((1 + hash(i, 1) % 17)::VARCHAR, 2, '0') AS region,
           (hash(i, 2) % 105)::INTEGER AS age,
           round(exp(10 + (hash(i, 3) % 1000) / 500.0), 2)::DOUBLE AS income
    FROM range({rows}) t(i)
) TO '{path}' (FORMAT parquet)
"""
PLAN = """
[data]
unit = "{unit}"
[domain]
region = [{regions}]
age = {{ from = 0, to = 105, step = 5 }}
[[query]]
name = "income by region and age"
measure = "{measure}"
of = "income"
clip = [0, 200000]
grid = 1
by = ["region", "age"]
{bound}
mechanism = "DiscreteGaussian(sigma=2000000)"
{more}
"""
PLAIN = "SELECT region, age // 5 AS a, count(*), sum(income) FROM '{path}' GROUP BY region, a"
DERIVED = """
[data]
unit = "person_id"
[lookup.geo]
file = "geo.csv"
sha256 = "{digest}"
on = "region"
add = ["land"]
[derive]
half = {{ quotient = ["income", 2] }}
years = {{ difference = ["age", 3] }}
group = {{ first = [[["years", "<", 18], "child"], [["years", "<", 65], "adult"], [true, "old"]] }}
[domain]
land = ["L0", "L1", "L2", "L3", "L4"]
group = ["child", "adult", "old"]
age = {{ from = 0, to = 105, step = 5 }}
[[query]]
name = "half the income by land, group and age"
measure = "mean"
of = "half"
clip = [0, 200000]
grid = 1
by = ["land", "group", "age"]
max_cells = 5
mechanism = "DiscreteGaussian(sigma=2000000)"
count_mechanism = "DiscreteGaussian(sigma=20)"
"""
BARE_DERIVED = (
    "SELECT count(*), sum(n), sum(s) FROM (SELECT person_id, land, age // 5 AS a, CASE WHEN age - 3 < 18 THEN 'child' "
    "WHEN age - 3 < 65 THEN 'adult' ELSE 'old' END AS g, count(*) AS n, sum(income / 2) AS s FROM '{path}' "
    "JOIN read_csv('{folder}/geo.csv') USING (region) GROUP BY person_id, land, a, g)"
)
BARE = (
    "SELECT count(*), sum(n), sum(s) FROM (SELECT person_id, region, age // 5 AS a, count(*) AS n, sum(income) AS s "
    "FROM '{path}' GROUP BY person_id, region, a)"
)


def plan(unit: str) -> str:
    regions = ", ".join(f'"R{n:02}"' for n in range(1, 18))
    # a mean has count and sum, as the group-bys beside it have
    more = 'count_mechanism = "DiscreteGaussian(sigma=20)"'
    return PLAN.format(
        unit=unit, regions=regions, measure="mean", more=more, bound="" if unit == "row" else "max_cells = 5"
    )


def best(run: Callable[[], object], times: int = 2) -> float:
    """The least processor time of a few runs, over all threads."""
    spent = []
    for _ in range(times):
        start = process_time()
        run()
        spent.append(process_time() - start)
    return min(spent)


def ours(path: Path, unit: str) -> None:
    tables = read_plan("plan.toml", plan(unit)).tables
    assert tables is not None
    with source_of(path, tables) as source:
        exact_table(source, tables, tables.queries[0], 7)


def plain(query: str, path: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute(query.format(path=path)).fetchall()


def compare(path: Path) -> None:
    rows = (("row", PLAIN, "plain group-by", 2.5), ("person_id", BARE, "persons and cells", 2.2))
    print(f"{'unit':12} {'ours, s':>9} {'bare, s':>9} {'ratio':>7}  beside")
    for unit, query, name, target in rows:
        mine, bare = best(lambda unit=unit: ours(path, unit)), best(lambda query=query: plain(query, path))
        print(f"{unit:12} {mine:9.2f} {bare:9.2f} {mine / bare:7.2f}  {name} (target {target})")


def derived(path: Path) -> None:
    """Derived columns and a lookup table, beside DuckDB's own join and group-by of the same expressions."""
    content = "region,land\n" + "".join(f"R{n:02},L{n % 5}\n" for n in range(1, 18))
    (path.parent / "geo.csv").write_text(content)
    digest = sha256(content.encode()).hexdigest()
    tables = read_plan(str(path.parent / "plan.toml"), DERIVED.format(digest=digest)).tables
    assert tables is not None

    def release_them() -> None:
        with source_of(path, tables) as source:
            exact_table(source, tables, tables.queries[0], 7)

    mine = best(release_them)
    bare = best(lambda: plain(BARE_DERIVED.replace("{folder}", str(path.parent)), path))
    print(f"{'derived':12} {mine:9.2f} {bare:9.2f} {mine / bare:7.2f}  the same by hand (target 2.2)")


def once(path: Path) -> None:
    for unit in ("row", "person_id"):
        start, used = perf_counter(), process_time()
        release(read_plan("plan.toml", plan(unit)), path, ledger=None)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        wall, spent = perf_counter() - start, process_time() - used
        print(f"{unit:12} {wall:.0f} s, {spent:.0f} s of processor time, peak {peak:.2f} GiB")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", nargs="?", type=int, default=10_000_000)
    parser.add_argument("--keep", type=Path, help="write the table here, and leave it")
    parser.add_argument("--once", type=Path, help="release this file once")
    options = parser.parse_args()
    if options.once:
        once(options.once)
        return
    with TemporaryDirectory() as folder:
        path = options.keep or Path(folder) / "rows.parquet"
        if not path.exists():
            duckdb.sql(MAKE.format(persons=options.rows // 10, rows=options.rows, path=path))
        print(f"{options.rows:,} rows, {options.rows // 10:,} persons, 357 cells; DuckDB {duckdb.__version__}")
        compare(path)
        derived(path)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
