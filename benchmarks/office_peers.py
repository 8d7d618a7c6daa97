"""What an office publishes, from the same Parquet file at the same rho: zcdp, OpenDP's Polars path, Tumult Analytics.

    python benchmarks/office_peers.py [persons]

One row a person in 17 regions; one person in eight has an income of 0, all others 16,000 and more. Asked are the 10%,
50% and 90% quantiles and the mean of income by region, half of rho each. Told are processor time, as in
release_peers.py, and errors beside the truth: how far the rank of a published quantile is from its own, in percent of
the persons of the cell, where what is published is a value or the bin of one; in how many cells the 10% quantile, which
is 0, is published as something that begins above 1000; and the mean size of the error of means. Neither peer publishes
an interval with quantiles or means. Counts of nested lists that add up have no counterpart there.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
from peers import SPARK, peer_python, run_peer
from release_peers import least

from zcdp.plans.plan_file import read_plan
from zcdp.release import release

RHO = 0.02
MAKE = """
COPY (SELECT i AS person_id, 'R' || lpad((1 + hash(i) % 17)::VARCHAR, 2, '0') AS region,
             CASE WHEN hash(i, 1) % 8 = 0 THEN 0
                  ELSE 16000 + (hash(i, 2) % 1000003) * 84000 // 1000003 * (hash(i, 3) % 1000003) // 1000003 END::BIGINT
             AS income
      FROM range({persons}) t(i)) TO '{path}' (FORMAT parquet)
"""
PLAN = """
[data]
unit = "person_id"
[domain]
region = [{regions}]
bins = {{ column = "income", from = 0, to = 100000, step = 1000, clip = true }}
[[query]]
name = "quantiles"
measure = "quantiles"
of = "bins"
per = "person"
by = ["region"]
quantiles = [0.1, 0.5, 0.9]
mechanism = "{quantiles}"
[[query]]
name = "means"
measure = "mean"
of = "income"
clip = [0, 100000]
grid = 10
by = ["region"]
mechanism = "DiscreteGaussian(rho={quarter})"
count_mechanism = "DiscreteGaussian(rho={quarter})"
"""
OPENDP = """
import json, sys, warnings
from time import perf_counter, process_time
import polars as pl
import opendp.prelude as dp
warnings.simplefilter("ignore")
dp.enable_features("contrib")
[path, rho, regions, persons] = json.loads(sys.argv[1])
keys = pl.LazyFrame({"region": regions})
taken = []
for _ in range(2):
    start, used = perf_counter(), process_time()
    context = dp.Context.compositor(
        data=pl.scan_parquet(path).select("region", "income"),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(rho=rho),
        split_evenly_over=2,
        margins=[dp.polars.Margin(by=["region"], max_length=persons), dp.polars.Margin(by=[], max_length=persons)],
    )
    income, edges = pl.col("income").fill_null(0), [1000 * n for n in range(101)]
    asked = [income.dp.quantile(q, edges).alias(str(q)) for q in (0.1, 0.5, 0.9)]
    found = context.query().group_by("region").agg(*asked).with_keys(keys).release().collect()
    means = context.query().group_by("region").agg(dp.len(), income.dp.sum((0, 100000)))
    means = means.with_keys(keys).release().collect()
    taken.append((process_time() - used, perf_counter() - start))
quantiles = {row["region"]: [row[str(q)] for q in (0.1, 0.5, 0.9)] for row in found.to_dicts()}
means = {row["region"]: row["income"] / max(row["len"], 1) for row in means.to_dicts()}
print(json.dumps([*min(taken), quantiles, means]))
"""
TUMULT = (
    SPARK
    + """
path, rho, regions, _ = arguments
from tmlt.analytics import AddOneRow, KeySet, QueryBuilder, RhoZCDPBudget, Session
keys = KeySet.from_dict({"region": regions})

def tables(source):
    session = Session.from_dataframe(RhoZCDPBudget(rho), "rows", source, protected_change=AddOneRow())
    quantiles = {name: [] for name in regions}
    for q in (0.1, 0.5, 0.9):
        asked = QueryBuilder("rows").groupby(keys).quantile("income", q, 0, 100000, "q")
        for row in session.evaluate(asked, RhoZCDPBudget(rho / 6)).collect():
            quantiles[row["region"]].append(row["q"])
    asked = QueryBuilder("rows").groupby(keys).average("income", 0, 100000, "mean")
    means = {row["region"]: row["mean"] for row in session.evaluate(asked, RhoZCDPBudget(rho / 2)).collect()}
    return quantiles, means

frame = spark.read.parquet(path).select("region", "income")
tables(frame.limit(1000))
start, before = perf_counter(), used()
found = tables(frame)
print(json.dumps([used() - before, perf_counter() - start, *found]))
"""
)


def errors(path: Path, quantiles: dict[str, Sequence[Any]], means: dict[str, float]) -> str:
    """The errors in words; a quantile is a value, or a pair of ends of a bin."""
    ranks, astray, off = [], 0, []
    for region, found in quantiles.items():
        mean, persons = duckdb.sql(f"SELECT avg(income), count(*) FROM '{path}' WHERE region = '{region}'").fetchall()[
            0
        ]
        off.append(abs(means[region] - mean))
        for q, one in zip((0.1, 0.5, 0.9), found, strict=True):
            low, high = one if isinstance(one, tuple) else (one, one + 1)
            below, to = duckdb.sql(
                f"SELECT count(*) FILTER (income < {low}), count(*) FILTER (income < {high}) "
                f"FROM '{path}' WHERE region = '{region}'"
            ).fetchall()[0]
            ranks.append(max(below - q * persons, q * persons - to, 0) / persons)
            astray += q == 0.1 and low >= 1000
    rank, mean = 100 * sum(ranks) / len(ranks), sum(off) / len(off)
    return f"ranks off by {rank:6.3f}%, {astray:2} of {len(quantiles)} tenths above 1000, means off by {mean:6.1f}"


def ours(mechanism: str, regions: list[str], path: Path) -> tuple[tuple[float, float], str]:
    """Time and errors of zcdp."""
    text = PLAN.format(regions=", ".join(f'"{one}"' for one in regions), quantiles=mechanism, quarter=f"'{RHO / 4}'")
    asked, made = read_plan("plan.toml", text), []
    taken = least(lambda: made.append(release(asked, path, ledger=None)))
    columns = made[-1].tables["quantiles"].columns
    found: dict[str, list[Any]] = {name: [] for name in regions}
    for name, low, high in zip(columns["region"], columns["from"], columns["to"], strict=True):
        found[name].append((low, high))
    means = made[-1].tables["means"].columns
    return taken, errors(path, found, dict(zip(means["region"], means["value"], strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("persons", nargs="?", type=int, default=500_000)
    persons = parser.parse_args().persons
    opendp = peer_python("release-opendp", "opendp[polars]==0.16.0")
    tumult = peer_python(
        "release-tumult", "tmlt.analytics==0.21.0", "tmlt.core==0.19.1", "pyspark==3.5.9", "numpy==1.26.4"
    )
    regions = [f"R{n:02}" for n in range(1, 18)]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "persons.parquet"
        duckdb.sql(MAKE.format(persons=persons, path=path))
        print(f"{persons:,} persons, 17 regions, rho = {RHO}: seconds of the processor, and seconds that passed")
        levels = 4  # of counts of 100 bins, each with a share of the rho
        for name, noise in (
            ("zcdp, intervals beside all", f"DiscreteGaussian(rho='{RHO / 2 / levels}')"),
            ("zcdp, quantiles selected", f"ExponentialMechanism(epsilon={(8 * RHO / 6) ** 0.5:.6f})"),
        ):
            show(name, *ours(noise, regions, path))
        peers: list[tuple[str, Callable[[], Any]]] = [
            ("OpenDP, Polars", lambda: run_peer(opendp, OPENDP, str(path), RHO, regions, persons)),
            ("Tumult, Spark", lambda: run_peer(tumult, TUMULT, str(path), RHO, regions, folder)),
        ]
        for name, run in peers:
            used, passed, quantiles, means = run()
            show(name, (used, passed), errors(path, quantiles, means))


def show(name: str, taken: tuple[float, float], more: str) -> None:
    print(f"{name:28} {taken[0]:7.2f} {taken[1]:7.2f}  {more}", flush=True)


if __name__ == "__main__":
    main()
