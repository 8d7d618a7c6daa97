"""Reports counted by data frame engines: only reports are, and from the file that was named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zcdp
from zcdp import RandomizedResponse
from zcdp.collection.frames import count_duckdb, count_frame
from zcdp.collection.parquet import count_files, write_reports

polars = pytest.importorskip("polars")

RESPONSE = zcdp.RandomizedResponse(epsilon=1, k=5)


@pytest.mark.parametrize(
    ("column", "kind", "error"),
    [
        ([0, None, 1], ValueError, "column report has missing reports"),
        ([0.0, 1.0], TypeError, "column report must hold integers, not Float64"),
        (["0", "1"], TypeError, "column report must hold integers, not String"),
        ([True, False], TypeError, "column report must hold integers, not Boolean"),
        ([0, -1], ValueError, r"reports must lie in 0 \.\. 4: these are of another design"),
        ([0, 5], ValueError, r"reports must lie in 0 \.\. 4: these are of another design"),
    ],
)
def test_frames_of_anything_but_reports_are_refused(column: list[Any], kind: type[Exception], error: str) -> None:
    with pytest.raises(kind, match=error):
        count_frame(RESPONSE, polars.DataFrame({"report": column}), "report")
    assert count_frame(RESPONSE, polars.DataFrame({"report": [0, 4, 4]}), "report") == RESPONSE.count([0, 4, 4])


NAMES = [("d[1]", "d1"), ("d*", "d2"), ("d?", "d3"), ("[d]", "d"), ("d[!x]", "dy")]


@pytest.mark.parametrize(("name", "beside"), NAMES)
def test_reports_are_counted_from_the_file_that_was_named(tmp_path: Path, name: str, beside: str) -> None:
    mechanism = RandomizedResponse(epsilon=1, k=4)
    asked = tmp_path / f"{name}.parquet"
    for path, count in ((asked, 10), (tmp_path / f"{beside}.parquet", 70)):
        write_reports(path, mechanism, 4, [np.array(mechanism.release([1] * count))])
    assert count_duckdb([asked], mechanism, 4).reports == count_files([asked], mechanism, 4).reports == 10
