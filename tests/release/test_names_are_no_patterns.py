"""A file is read by its own name: where that looks like a pattern, files beside it that match are not read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from zcdp import RandomizedResponse
from zcdp.collection.frames import count_duckdb
from zcdp.collection.parquet import count_files, write_reports
from zcdp.errors import BadValue
from zcdp.release import release

pd = pytest.importorskip("pandas")

PLAN = """
[data]
unit = "person"
[domain]
region = ["A", "B"]
[[query]]
name = "n"
measure = "count"
by = ["region"]
mechanism = "DiscreteLaplace(epsilon=60)"
"""
NAMES = [("d[1]", "d1"), ("d*", "d2"), ("d?", "d3"), ("[d]", "d"), ("d[!x]", "dy")]


@pytest.mark.parametrize(("name", "beside"), NAMES)
@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_a_release_reads_the_file_that_was_named(tmp_path: Path, name: str, beside: str, ending: str) -> None:
    asked, other = tmp_path / f"{name}{ending}", tmp_path / f"{beside}{ending}"
    for path, regions in ((asked, "AAB"), (other, "B" * 50)):
        frame = pd.DataFrame({"person": range(len(regions)), "region": list(regions)})
        frame.to_parquet(path) if ending == ".parquet" else frame.to_csv(path, index=False)
    (tmp_path / "plan.toml").write_text(PLAN)
    rows = release(tmp_path / "plan.toml", asked, ledger=None).tables["n"].rows
    assert [row[1] for row in rows] == [2, 1]


@pytest.mark.parametrize(("name", "beside"), NAMES)
def test_reports_are_counted_from_the_file_that_was_named(tmp_path: Path, name: str, beside: str) -> None:
    mechanism = RandomizedResponse(epsilon=1, k=4)
    asked = tmp_path / f"{name}.parquet"
    for path, count in ((asked, 10), (tmp_path / f"{beside}.parquet", 70)):
        write_reports(path, mechanism, 4, [np.array(mechanism.release([1] * count))])
    assert count_duckdb([asked], mechanism, 4).reports == count_files([asked], mechanism, 4).reports == 10


def test_folders_that_look_like_partitions_add_no_column(tmp_path: Path) -> None:
    folder = tmp_path / "region=A"
    folder.mkdir()
    pd.DataFrame({"person": range(4), "region": list("BBBB")}).to_parquet(folder / "d.parquet")
    (tmp_path / "plan.toml").write_text(PLAN)
    rows = release(tmp_path / "plan.toml", folder / "d.parquet", ledger=None).tables["n"].rows
    assert [row[1] for row in rows] == [0, 4]
    pd.DataFrame({"person": range(4)}).to_parquet(folder / "e.parquet")
    with pytest.raises(BadValue, match="region"):
        release(tmp_path / "plan.toml", folder / "e.parquet", ledger=None)


def test_what_cannot_be_said_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a\\[1].parquet"
    pd.DataFrame({"person": range(4), "region": list("BBBB")}).to_parquet(path)
    (tmp_path / "plan.toml").write_text(PLAN)
    with pytest.raises(BadValue, match="rename the file"):
        release(tmp_path / "plan.toml", path, ledger=None)
