"""Randomizing a file: each report has the law of its own value, and nothing is left behind where it fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from independent.bits import seeded

import zcdp
from zcdp import RandomizedResponse
from zcdp.collection import randomize
from zcdp.collection.client_values import read_values
from zcdp.collection.keyed import KeyedNoise
from zcdp.collection.parquet import read_reports
from zcdp.collection.randomize import randomize_file, receipt_of

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

RESPONSE = zcdp.RandomizedResponse(epsilon=8, k=4)
VALUES = np.arange(3000) % 3


def written(folder: Path, values: Any = VALUES, name: str = "values.parquet") -> Path:
    parquet.write_table(arrow.table({"v": values}), folder / name)
    return folder / name


@pytest.mark.parametrize("rows", [False, True])
def test_each_report_is_of_its_own_value_in_the_order_of_the_file(
    rows: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At epsilon 8 all but 3 in 2983 reports are the value itself."""
    monkeypatch.setattr("zcdp.samplers.source._fill", seeded(4))
    out = tmp_path / "reports.parquet"
    assert randomize_file(RESPONSE, 4, written(tmp_path), out, rows=rows) == 3000
    found = np.concatenate(list(read_reports(out, RESPONSE, 4)))
    assert found.size == 3000
    assert 0 < (found != VALUES).sum() < 15
    assert sorted(one.name for one in tmp_path.iterdir()) == [
        "reports.parquet",
        "values.parquet",
        "values.parquet.randomized",
    ]


def test_a_failed_run_leaves_no_receipt_and_may_be_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values, out = written(tmp_path), tmp_path / "reports.parquet"

    def fails(*_: Any, **__: Any) -> int:
        raise OSError("the disk is full")

    with monkeypatch.context() as during:
        during.setattr(randomize, "write_reports", fails)
        with pytest.raises(OSError, match="the disk is full"):
            randomize_file(RESPONSE, 4, values, out)
    assert [one.name for one in tmp_path.iterdir()] == ["values.parquet"]
    assert randomize_file(RESPONSE, 4, values, out) == 3000


def test_values_that_change_between_two_readings_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many of them, but others: the digest is of what was checked, the reports would be of what was not."""
    values, out, times = written(tmp_path), tmp_path / "reports.parquet", []

    def changing(*arguments: Any) -> Any:
        times.append(1)
        if len(times) == 2:
            written(tmp_path, VALUES[::-1].copy())
        return read_values(*arguments)

    monkeypatch.setattr(randomize, "read_values", changing)
    with pytest.raises(ValueError, match="changed while it was read"):
        randomize_file(RESPONSE, 4, values, out)
    assert [one.name for one in tmp_path.iterdir()] == ["values.parquet"]


def test_a_file_that_another_has_made_meanwhile_is_not_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, out = written(tmp_path), tmp_path / "reports.parquet"
    write = randomize.write_reports

    def slow(*arguments: Any, **options: Any) -> int:
        out.write_text("of another")
        return write(*arguments, **options)

    monkeypatch.setattr(randomize, "write_reports", slow)
    with pytest.raises(FileExistsError):
        randomize_file(RESPONSE, 4, values, out)
    assert out.read_text() == "of another"
    assert not receipt_of(values).exists()


def test_a_refused_copy_leaves_the_receipts_as_they_were(tmp_path: Path) -> None:
    first, copy = written(tmp_path), written(tmp_path, name="copy.parquet")
    randomize_file(RESPONSE, 4, first, tmp_path / "a.parquet")
    before = receipt_of(first).read_bytes()
    for _ in range(2):
        with pytest.raises(ValueError, match="was randomized already"):
            randomize_file(RESPONSE, 4, copy, tmp_path / "b.parquet")
        with pytest.raises(ValueError, match="was randomized in 1 rounds"):
            randomize_file(RESPONSE, 4, copy, tmp_path / "b.parquet", turn=2)
    assert [one.name for one in tmp_path.glob("*.randomized")] == [receipt_of(first).name]
    assert receipt_of(first).read_bytes() == before
    other = written(tmp_path, (VALUES + 1) % 4, name="other.parquet")
    assert randomize_file(RESPONSE, 4, other, tmp_path / "b.parquet") == 3000


def test_a_receipt_stands_beside_the_values_and_not_beside_a_link_to_them(tmp_path: Path) -> None:
    home, away = tmp_path / "home", tmp_path / "away"
    home.mkdir()
    away.mkdir()
    values = written(home)
    (away / "link.parquet").symlink_to(values)
    assert receipt_of(away / "link.parquet") == receipt_of(values)
    assert receipt_of(away / "link.parquet", 3) == receipt_of(values, 3) == home / "values.parquet.round-3.randomized"
    randomize_file(RESPONSE, 4, away / "link.parquet", away / "a.parquet")
    with pytest.raises(ValueError, match="was randomized already"):
        randomize_file(RESPONSE, 4, values, home / "b.parquet")


def test_what_remembers_its_reports_is_not_drawn_afresh(tmp_path: Path) -> None:
    """Noise of one collection alone is not what the plan of a memory accounts for."""
    memory = zcdp.MemoizedRAPPOR(f="1/2", p="1/4", q="3/4", collections=9)
    for wrong in (memory, zcdp.Laplace(epsilon=1)):
        with pytest.raises(ValueError, match="is not run on a file of values"):
            randomize_file(wrong, 4, written(tmp_path), tmp_path / "a.parquet")
        with pytest.raises(ValueError, match="is not a local randomizer of values that can be keyed"):
            KeyedNoise(bytes(16)).release(wrong, [1], [1], k=3)
    assert [one.name for one in tmp_path.iterdir()] == ["values.parquet"]


def test_names_stand_for_their_places_in_the_plan(tmp_path: Path) -> None:
    """Also names that look like numbers, which are not the numbers that they look like."""
    names = ["10", "2", "x", "0"]
    path = tmp_path / "values.csv"
    path.write_text("v,other\n" + "".join(f"{one},7\n" for one in ("2", "0", "x", "10", "2")))
    found = np.concatenate(list(read_values(path, "v", 4, names)))
    assert found.tolist() == [1, 3, 2, 0, 1]
    parquet.write_table(arrow.table({"v": ["x", "10"]}), tmp_path / "values.parquet")
    assert np.concatenate(list(read_values(tmp_path / "values.parquet", None, 4, names))).tolist() == [2, 0]
    parquet.write_table(arrow.table({"v": [2, 10]}), tmp_path / "values.parquet")
    assert np.concatenate(list(read_values(tmp_path / "values.parquet", None, 4, names))).tolist() == [1, 0]
    path.write_text("v\n3\n0\n")
    assert np.concatenate(list(read_values(path, None, 4))).tolist() == [3, 0]
    for text, error in (("v\n4\n", r"values must lie in 0 \.\. 3"), ("v\n1.5\n", "must hold integers, not double")):
        path.write_text(text)
        with pytest.raises(ValueError, match=error):
            list(read_values(path, None, 4))


@pytest.mark.parametrize("size", [15, 16])
def test_a_secret_of_sixteen_bytes_is_the_shortest(size: int) -> None:
    if size < 16:
        with pytest.raises(ValueError, match=f"at least 16 bytes, not {size}"):
            KeyedNoise(bytes(size))
    else:
        numbers = np.array([0, 2**64 - 1], dtype=np.uint64)
        assert KeyedNoise(bytes(size)).release(RESPONSE, [1, 2], numbers).size == 2


# Values that were randomized are known again in a file of another type, and beside a damaged receipt.


VALUES_RECEIPTS = [0, 1, 2, 1, 0, 2, 2]


MECHANISM = RandomizedResponse(epsilon=1, k=3)


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.uint16(), pa.uint64(), None])
def test_the_same_values_in_another_type(kind: pa.DataType | None, tmp_path: Path) -> None:
    pq.write_table(pa.table({"v": pa.array(VALUES_RECEIPTS, pa.int64())}), tmp_path / "a.parquet")
    again = tmp_path / ("b.csv" if kind is None else "b.parquet")
    if kind is None:
        again.write_text("v\n" + "".join(f"{one}\n" for one in VALUES_RECEIPTS))
    else:
        pq.write_table(pa.table({"v": pa.array(VALUES_RECEIPTS, kind)}), again)
    assert randomize_file(MECHANISM, 3, tmp_path / "a.parquet", tmp_path / "first.parquet") == len(VALUES_RECEIPTS)
    with pytest.raises(ValueError, match="was randomized already"):
        randomize_file(MECHANISM, 3, again, tmp_path / "second.parquet")
    assert not (tmp_path / "second.parquet").exists()


DAMAGED = "", "{", "[]", '{"round": 1}', '{"round": "1", "digest": ""}', '{"round": true, "digest": ""}'


@pytest.mark.parametrize("text", DAMAGED)
def test_a_receipt_that_cannot_be_read_is_not_passed_over(text: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"v": VALUES_RECEIPTS}), tmp_path / "a.parquet")
    (tmp_path / "copy.parquet.randomized").write_text(text)
    with pytest.raises(ValueError, match="is no receipt that this version reads"):
        randomize_file(MECHANISM, 3, tmp_path / "a.parquet", tmp_path / "first.parquet")
    assert not (tmp_path / "first.parquet").exists()
