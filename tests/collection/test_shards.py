"""Shards: their sums are those of all reports, and nothing is counted twice."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copy

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from zcdp import LinearHashing
from zcdp.collection.parquet import count_files, write_reports
from zcdp.collection.shards import Shard, add_up, make_shard

M = LinearHashing(epsilon=1, g=5, k=20)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    made = []
    for n in range(3):
        path = tmp_path / f"{n}.parquet"
        write_reports(path, M, 20, [M.release(np.arange(200) % 20)])
        made.append(path)
    return made


def kept(shard: Shard, path: Path) -> Path:
    path.write_text(shard.text)
    return path


def test_shards_add_up_to_all_reports(files: list[Path], tmp_path: Path) -> None:
    one = kept(make_shard(files[:2], M, 20, count_files), tmp_path / "a.counts")
    two = kept(make_shard(files[2:], M, 20, count_files), tmp_path / "b.counts")
    whole = count_files(files, M, 20)
    assert add_up([one, two], M, 20, count_files) == whole
    assert add_up([one, files[2]], M, 20, count_files) == whole
    assert add_up(files, M, 20, count_files) == whole
    assert Shard.read(one).counts.reports == 400


def test_nothing_is_counted_twice(files: list[Path], tmp_path: Path) -> None:
    """Not a shard beside its copy, nor a shard that counts a file which another counts, under whatever name."""
    one = kept(make_shard(files[:2], M, 20, count_files), tmp_path / "a.counts")
    again = Path(copy(one, tmp_path / "copy.counts"))
    with pytest.raises(ValueError, match=r"copy.counts: is the same shard as .*a.counts"):
        add_up([one, again], M, 20, count_files)
    other = Path(copy(files[1], tmp_path / "other.parquet"))
    overlapping = kept(make_shard([other, files[2]], M, 20, count_files), tmp_path / "c.counts")
    with pytest.raises(ValueError, match=r"c.counts: counts reports that .*a.counts counts too"):
        add_up([one, overlapping], M, 20, count_files)
    with pytest.raises(ValueError, match=r"other.parquet: counts reports that .*a.counts counts too"):
        add_up([one, other], M, 20, count_files)
    with pytest.raises(ValueError, match=r"other.parquet: counts reports that"):
        make_shard([files[1], other], M, 20, count_files)


def test_a_shard_that_is_damaged_or_of_another_design_is_refused(files: list[Path], tmp_path: Path) -> None:
    one = kept(make_shard(files[:1], M, 20, count_files), tmp_path / "a.counts")
    with pytest.raises(ValueError, match="has counts of LinearHashing"):
        add_up([one], LinearHashing(epsilon=2, g=5, k=20), 20, count_files)
    said = json.loads(one.read_text())
    digest, reports = said["files"][0]
    for change in (
        {"reports": 7},
        {"reports": str(reports)},
        {"format": "x"},
        {"supports": "AAAA"},
        {"files": []},
        {"files": [[digest, reports + 1], [digest[::-1], -1]]},
        {"files": [[digest, float(reports)]]},
        {"files": [["", reports]]},
        {"receipt": None},
        {"receipt": "7"},
        {"signed": 0},
        {"reports": 1 << 70, "files": [[digest, 1 << 70]]},
    ):
        wrong = tmp_path / "wrong.counts"
        wrong.write_text(json.dumps(said | change))
        with pytest.raises(ValueError, match="is no shard of counts that this version reads"):
            add_up([wrong], M, 20, count_files)
    wrong.write_text('{"a":' * 100_000)
    with pytest.raises(ValueError, match="is no shard of counts that this version reads"):
        add_up([wrong], M, 20, count_files)
    wrong.write_text(json.dumps(said | {"signed": True}))  # counts of signs are of other mechanisms
    with pytest.raises(ValueError, match="has counts of LinearHashing"):
        add_up([wrong], M, 20, count_files)
