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
from zcdp.collection.parquet import count_files, write_reports
from zcdp.collection.spark import count_spark

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
