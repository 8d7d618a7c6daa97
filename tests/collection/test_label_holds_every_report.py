"""Reports come back as they were written where the number of outputs is next to a power of 256. (bug C5)"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from zcdp import RandomizedResponse
from zcdp.collection.parquet import read_reports, write_reports


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("k", [255, 256, 257, 65536, 65537])
def test_the_last_report_comes_back(k: int, rows: bool, tmp_path: Path) -> None:
    mechanism, path = RandomizedResponse(epsilon=1, k=k), tmp_path / "reports.parquet"
    reports = np.array([0, 1, k - 2, k - 1])
    write_reports(path, mechanism, k, [reports], rows=rows)
    assert np.concatenate(list(read_reports(path, mechanism, k))).tolist() == reports.tolist()
