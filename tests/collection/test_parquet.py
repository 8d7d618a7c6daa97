"""Files of reports: what was written comes back, and what is spoilt or of another design is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zcdp
from zcdp import RandomizedResponse
from zcdp.collection.frames import count_duckdb
from zcdp.collection.parquet import Label, count_files, read_reports, write_reports


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("k", [255, 256, 257, 65536, 65537])
def test_the_last_report_comes_back(k: int, rows: bool, tmp_path: Path) -> None:
    mechanism, path = RandomizedResponse(epsilon=1, k=k), tmp_path / "reports.parquet"
    reports = np.array([0, 1, k - 2, k - 1])
    write_reports(path, mechanism, k, [reports], rows=rows)
    assert np.concatenate(list(read_reports(path, mechanism, k))).tolist() == reports.tolist()


# Reports that are missing, of another kind or beyond the design are refused by every engine that counts them.


arrow = pytest.importorskip("pyarrow")


parquet = pytest.importorskip("pyarrow.parquet")

RESPONSE = zcdp.RandomizedResponse(epsilon=1, k=5)
UNARY = zcdp.UnaryEncoding("0.7", "0.2")


def label(mechanism: Any, k: int, *, rows: bool, width: int | None) -> str:
    return Label(repr(mechanism), k, rows=rows, type="|u1", width=width).text


def rows_of(values: list[Any], kind: Any, mechanism: Any, width: int | None) -> Any:
    text = label(mechanism, 5, rows=True, width=width)
    return arrow.table({"report": arrow.array(values, kind), "design": [text] * len(values)})


def blocks_of(reports: list[Any], blocks: list[Any]) -> Any:
    text = label(RESPONSE, 5, rows=False, width=None)
    kinds = {"reports": arrow.array(reports, arrow.int64()), "block": arrow.array(blocks, arrow.large_binary())}
    return arrow.table({**kinds, "design": [text] * len(reports)})


SPOILT = [
    (RESPONSE, rows_of([1, None, 2], arrow.uint8(), RESPONSE, None), "has missing reports"),
    (UNARY, rows_of([b"\x80", None], arrow.binary(1), UNARY, 1), "has missing reports"),
    (RESPONSE, blocks_of([2, None], [b"\x01\x02", b"\x03"]), "has missing reports"),
    (RESPONSE, blocks_of([2, 1], [b"\x01\x02", None]), "has missing reports"),
    (RESPONSE, blocks_of([2, 2], [b"\x01\x02", b"\x03"]), "a block of 2 reports has 1 numbers: the file is damaged"),
    (RESPONSE, rows_of([1, -1], arrow.int8(), RESPONSE, None), r"reports must lie in 0 \.\. 4"),
    (RESPONSE, rows_of([1, 5], arrow.uint8(), RESPONSE, None), r"reports must lie in 0 \.\. 4"),
    (RESPONSE, blocks_of([2], [b"\x01\x05"]), r"reports must lie in 0 \.\. 4"),
    (UNARY, rows_of([b"\x80", b"\x01"], arrow.binary(1), UNARY, 1), "a report has bits beyond the 5 values"),
]


@pytest.mark.parametrize(("mechanism", "table", "error"), SPOILT)
def test_spoilt_reports_are_refused_and_the_file_is_named(
    mechanism: Any, table: Any, error: str, tmp_path: Path
) -> None:
    file = tmp_path / "spoilt.parquet"
    parquet.write_table(table, file)
    for count in (count_files, count_duckdb):
        with pytest.raises(ValueError, match=rf"spoilt\.parquet: {error}"):
            count([file], mechanism, 5)


def test_whole_reports_in_the_same_forms_are_counted(tmp_path: Path) -> None:
    """The tables of the test above, without what spoils them."""
    file = tmp_path / "whole.parquet"
    for m, table, reports in (
        (RESPONSE, rows_of([1, 4, 1], arrow.uint8(), RESPONSE, None), [1, 4, 1]),
        (UNARY, rows_of([b"\x80", b"\x08"], arrow.binary(1), UNARY, 1), np.array([[0x80], [8]], np.uint8)),
        (RESPONSE, blocks_of([2, 0, 1], [b"\x01\x02", b"", b"\x03"]), [1, 2, 3]),
    ):
        parquet.write_table(table, file)
        for count in (count_files, count_duckdb):
            assert count([file], m, 5) == m.count(reports, k=5)


def test_labels_of_two_forms_in_one_file_are_refused(tmp_path: Path) -> None:
    one, other = (Label(repr(RESPONSE), 5, rows=True, type=kind, width=None).text for kind in ("|u1", "<u2"))
    file = tmp_path / "mixed.parquet"
    parquet.write_table(arrow.table({"report": [1, 2], "design": [one, other]}), file)
    for count in (count_files, count_duckdb):
        with pytest.raises(ValueError, match="mixes reports of different forms"):
            count([file], RESPONSE, 5)


def test_a_file_without_the_column_that_its_label_promises_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "without.parquet"
    for rows, missing in ((True, "report"), (False, "block")):
        text = label(RESPONSE, 5, rows=rows, width=None)
        parquet.write_table(arrow.table({"design": [text], "reports": [1]}), file)
        with pytest.raises(ValueError, match=f"without.parquet: has no column {missing}"):
            count_files([file], RESPONSE, 5)


SAID = {"format": 2, "mechanism": "m", "k": 3, "rows": True, "type": "|u1", "width": None}


@pytest.mark.parametrize(
    "change",
    [
        {"format": 1},
        {"format": 3},
        {"type": "<f4"},
        {"type": "<i8"},
        {"rows": 1},
        {"rows": "yes"},
        {"k": "3"},
        {"k": 3.0},
        {"width": 0},
        {"width": -2},
        {"more": 1},
    ],
)
def test_a_label_that_says_anything_else_is_not_read(change: dict[str, Any]) -> None:
    assert Label.read("here", json.dumps(SAID)) == Label("m", 3, rows=True, type="|u1", width=None)
    assert Label.read("here", json.dumps(SAID | {"width": 4, "type": "<u8"})).width == 4
    with pytest.raises(ValueError, match="here: says what its reports are in a way that this version does not read"):
        Label.read("here", json.dumps(SAID | change))
    for name in SAID:
        with pytest.raises(ValueError, match="in a way that this version does not read"):
            Label.read("here", json.dumps({key: value for key, value in SAID.items() if key != name}))


def test_a_file_is_read_in_parts_and_none_of_it_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of one report, if the memory holds no more; of all kinds that are written."""
    monkeypatch.setattr("zcdp.collection.parquet.BYTES_AT_ONCE", 1)
    file = tmp_path / "reports.parquet"
    for m, k, options in (
        (RESPONSE, 5, {}),
        (UNARY, 11, {"d": 11}),
        (zcdp.SubsetSelection(epsilon=1, k=9, size=2), 9, {}),
    ):
        blocks = [m.release(np.arange(size) % k, **options) for size in (3, 4)]
        for rows in (False, True):
            write_reports(file, m, k, iter(blocks), rows=rows)
            found = np.concatenate([part.reshape(len(part), -1) for part in read_reports(file, m, k)])
            assert found.tolist() == np.concatenate([one.reshape(len(one), -1) for one in blocks]).tolist()
