"""Reports counted in a real local Spark session: the same integers as DuckDB, pyarrow and numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from collection.test_files import CASES, told
from spark_session import pytestmark, spark

import zcdp
from zcdp.collection.frames import count_frame
from zcdp.collection.keyed import KeyedNoise
from zcdp.collection.parquet import count_files, write_reports
from zcdp.collection.spark import count_spark, keyed_spark, randomize_spark

__all__ = ["pytestmark", "spark"]


@pytest.mark.parametrize("rows", [False, True], ids=["blocks", "rows"])
@pytest.mark.parametrize(("mechanism", "k"), CASES, ids=repr)
def test_spark_counts_as_numpy_does(spark: Any, mechanism: Any, k: int, rows: bool, tmp_path: Path) -> None:
    blocks = [mechanism.release(np.arange(size) % k, **told(mechanism, k)) for size in (1, 700, 299)]
    for part, block in enumerate(blocks):
        write_reports(tmp_path / f"{part}.parquet", mechanism, k, [block, block], rows=rows)
    expected = sum(2 * [mechanism.count(np.concatenate(blocks), k=k)])
    frame = spark.read.parquet(str(tmp_path))
    assert count_spark(mechanism, frame, k=k) == expected
    assert count_files(sorted(tmp_path.glob("*.parquet")), mechanism, k) == expected
    if rows and blocks[0].ndim == 1:
        assert count_frame(mechanism, frame, "report", k=k) == expected


def test_reports_of_another_design_are_refused_on_spark(spark: Any, tmp_path: Path) -> None:
    one, other = zcdp.RandomizedResponse(epsilon=1, k=5), zcdp.RandomizedResponse(epsilon=2, k=5)
    for name, m in (("a", one), ("b", other)):
        write_reports(tmp_path / f"{name}.parquet", m, 5, [np.arange(5)])
    with pytest.raises(Exception, match=r"has reports of RandomizedResponse\(epsilon=2, k=5\) on 5 values, not of"):
        count_spark(one, spark.read.parquet(str(tmp_path)), k=5)
    with pytest.raises(ValueError, match="does not say which design its reports are of"):
        count_spark(one, spark.range(3), k=5)
    with pytest.raises(ValueError, match="there are no reports"):
        count_spark(one, spark.read.parquet(str(tmp_path)).limit(0), k=5)


def _contents(frame: Any) -> list[tuple[Any, ...]]:
    return sorted((row["reports"], bytes(row["block"]), row["design"]) for row in frame.collect())


def test_reports_are_drawn_once_and_written(spark: Any, tmp_path: Path) -> None:
    m, n = zcdp.RandomizedResponse(epsilon=1, k=5), 3000
    values = spark.range(n, numPartitions=3).selectExpr("id % 5 as value")
    out = str(tmp_path / "reports")
    reports = randomize_spark(m, values, "value", out, k=5)
    first = count_spark(m, reports, k=5)
    assert first.reports == n
    assert count_spark(m, reports, k=5) == first
    assert _contents(reports) == _contents(spark.read.parquet(out))
    assert count_files(sorted(Path(out).glob("*.parquet")), m, 5) == first
    with pytest.raises(Exception, match=r"(?i)already.exists"):
        randomize_spark(m, values, "value", out, k=5)
    assert count_spark(m, spark.read.parquet(out), k=5) == first


def test_keyed_reports_are_the_same_at_every_action(spark: Any) -> None:
    m, n, noise = zcdp.UnaryEncoding("0.7", "0.2"), 600, KeyedNoise(bytes(range(16)))
    values = spark.range(n, numPartitions=3).selectExpr("id % 5 as value", "id + 100 as number")
    lazy = keyed_spark(m, values, "value", "number", noise, k=5)
    assert _contents(lazy) == _contents(lazy)
    here = noise.release(m, np.arange(n) % 5, np.arange(n) + 100, k=5)
    assert count_spark(m, lazy, k=5) == m.count(here, k=5)
    again = keyed_spark(m, values.repartition(2), "value", "number", noise, k=5)
    assert count_spark(m, again, k=5) == m.count(here, k=5)


def test_what_cannot_be_drawn_is_refused_before_anything_is_written(spark: Any, tmp_path: Path) -> None:
    m, out = zcdp.RandomizedResponse(epsilon=1, k=5), tmp_path / "reports"
    for expression in ("id as value", "id - 1 as value", "cast(null as long) as value"):
        with pytest.raises(ValueError, match=r"values must lie in 0 \.\. 4, and none may be missing"):
            randomize_spark(m, spark.range(6).selectExpr(expression), "value", str(out), k=5)
    with pytest.raises(ValueError, match="column value must hold integers, not double"):
        randomize_spark(m, spark.range(6).selectExpr("id / 2 as value"), "value", str(out), k=5)
    assert not out.exists()
    twice = spark.range(4).selectExpr("id as value", "id % 2 as number")
    with pytest.raises(ValueError, match="ids must be distinct"):
        keyed_spark(m, twice, "value", "number", KeyedNoise(bytes(16)), k=5)
