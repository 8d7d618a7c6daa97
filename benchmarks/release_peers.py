"""The same two tables from the same Parquet file: zcdp, OpenDP's Polars path and Tumult Analytics on Spark, in one run.

    python benchmarks/release_peers.py [rows]

Counts of persons and sums of income in 357 cells, of a person at most 5 cells and a row in each. Each system runs in
an environment of its own, alone, and its clocks start after its imports and, of Spark, after the start of the session
and a query that warms it up. Compared is processor time, over all threads and of Spark all processes, which other work
on the machine does not change much; the time that passed stands beside it. The peers get cells that are numbered
already; OpenDP keeps the first rows and cells of a person, as its random choice of both raises an error. Needs Linux
and Java 17. Targets: 5 times OpenDP, 6 times Tumult.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import duckdb
from peers import SPARK, peer_python, run_peer
from release import MAKE, ours, plan

from zcdp.plans.plan_file import read_plan
from zcdp.release import release

CELLED = """
COPY (SELECT *, ((substr(region, 2)::INTEGER - 1) * 21 + age // 5)::INTEGER AS cell FROM '{source}')
TO '{path}' (FORMAT parquet)
"""
OPENDP = """
import json, sys, warnings
from time import perf_counter, process_time
import polars as pl
import opendp.prelude as dp
warnings.simplefilter("ignore")
dp.enable_features("contrib")
[path] = json.loads(sys.argv[1])
keys = pl.LazyFrame({"cell": list(range(357))}, schema={"cell": pl.Int32})
taken = []
for _ in range(2):
    start, used = perf_counter(), process_time()
    context = dp.Context.compositor(
        data=pl.scan_parquet(path).select("person_id", "cell", "income"),
        privacy_unit=dp.unit_of(contributions=1, identifier="person_id"),
        privacy_loss=dp.loss_of(rho=0.25),
        split_evenly_over=1,
        # counts and sums are of at most so many rows
        margins=[dp.polars.Margin(by=["cell"], max_length=1 << 24), dp.polars.Margin(by=[], max_length=1 << 28)],
    )
    query = (
        context.query()
        .truncate_per_group(1, by=["cell"], keep="first")
        .truncate_num_groups(5, by=["cell"], keep="first")
        .group_by("cell")
        .agg(dp.len(), pl.col("income").cast(pl.Int64).fill_null(0).dp.sum((0, 200000)))
        .with_keys(keys)
    )
    rows = len(query.release().collect())
    taken.append((process_time() - used, perf_counter() - start))
print(json.dumps([*min(taken), rows]))
"""
TUMULT = (
    SPARK
    + """
path, _ = arguments
from tmlt.analytics import AddRowsWithID, KeySet, MaxGroupsPerID, MaxRowsPerGroupPerID, QueryBuilder
from tmlt.analytics import RhoZCDPBudget, Session
keys = KeySet.from_dict({"cell": list(range(357))})

def tables(source):
    session = Session.from_dataframe(RhoZCDPBudget(1.0), "rows", source, protected_change=AddRowsWithID("person_id"))
    bounded = (
        QueryBuilder("rows").enforce(MaxGroupsPerID("cell", 5)).enforce(MaxRowsPerGroupPerID("cell", 1)).groupby(keys)
    )
    found = [session.evaluate(bounded.count(), RhoZCDPBudget(0.5)).collect()]
    found.append(session.evaluate(bounded.sum("income", 0, 200000), RhoZCDPBudget(0.5)).collect())
    return found

frame = spark.read.parquet(path).select("person_id", "cell", "income")
tables(frame.limit(1000))
start, before = perf_counter(), used()
rows = len(tables(frame)[0])
print(json.dumps([used() - before, perf_counter() - start, rows]))
"""
)


def least(run: Callable[[], object], times: int = 2) -> tuple[float, float]:
    """Processor time and the time that passed, of the best of a few runs."""
    taken = []
    for _ in range(times):
        start, used = perf_counter(), process_time()
        run()
        taken.append((process_time() - used, perf_counter() - start))
    return min(taken)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", nargs="?", type=int, default=3_000_000)
    rows = parser.parse_args().rows
    opendp = peer_python("release-opendp", "opendp[polars]==0.16.0")
    tumult = peer_python(
        "release-tumult", "tmlt.analytics==0.21.0", "tmlt.core==0.19.1", "pyspark==3.5.9", "numpy==1.26.4"
    )
    with TemporaryDirectory() as folder:
        source, path = Path(folder) / "rows.parquet", Path(folder) / "cells.parquet"
        duckdb.sql(MAKE.format(persons=rows // 10, rows=rows, path=source))
        duckdb.sql(CELLED.format(source=source, path=path))
        print(f"{rows:,} rows, {rows // 10:,} persons, 357 cells: seconds of the processor, and seconds that passed")
        asked = read_plan("plan.toml", plan("person_id"))
        mine = least(lambda: release(asked, path, ledger=None))
        show("zcdp, from the file to files", mine)
        show("  the exact tables alone (DuckDB)", least(lambda: ours(path, "person_id")))
        for name, python, code, target in (("OpenDP, Polars", opendp, OPENDP, 5), ("Tumult, Spark", tumult, TUMULT, 6)):
            extra = [] if name.startswith("OpenDP") else [folder]
            *taken, cells = run_peer(python, code, str(path), *extra)
            assert cells == 357
            show(name, (taken[0], taken[1]), f"{taken[0] / mine[0]:6.1f} times zcdp (target {target})")


def show(name: str, taken: tuple[float, float], more: str = "") -> None:
    print(f"{name:36} {taken[0]:8.2f} {taken[1]:8.2f}  {more}", flush=True)


if __name__ == "__main__":
    main()
