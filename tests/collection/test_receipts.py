"""Values that were randomized are known again in a file of another type, and beside a damaged receipt."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from zcdp import RandomizedResponse
from zcdp.collection.randomize import randomize_file

VALUES = [0, 1, 2, 1, 0, 2, 2]
MECHANISM = RandomizedResponse(epsilon=1, k=3)


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.uint16(), pa.uint64(), None])
def test_the_same_values_in_another_type(kind: pa.DataType | None, tmp_path: Path) -> None:
    pq.write_table(pa.table({"v": pa.array(VALUES, pa.int64())}), tmp_path / "a.parquet")
    again = tmp_path / ("b.csv" if kind is None else "b.parquet")
    if kind is None:
        again.write_text("v\n" + "".join(f"{one}\n" for one in VALUES))
    else:
        pq.write_table(pa.table({"v": pa.array(VALUES, kind)}), again)
    assert randomize_file(MECHANISM, 3, tmp_path / "a.parquet", tmp_path / "first.parquet") == len(VALUES)
    with pytest.raises(ValueError, match="was randomized already"):
        randomize_file(MECHANISM, 3, again, tmp_path / "second.parquet")
    assert not (tmp_path / "second.parquet").exists()


DAMAGED = "", "{", "[]", '{"round": 1}', '{"round": "1", "digest": ""}', '{"round": true, "digest": ""}'


@pytest.mark.parametrize("text", DAMAGED)
def test_a_receipt_that_cannot_be_read_is_not_passed_over(text: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"v": VALUES}), tmp_path / "a.parquet")
    (tmp_path / "copy.parquet.randomized").write_text(text)
    with pytest.raises(ValueError, match="is no receipt that this version reads"):
        randomize_file(MECHANISM, 3, tmp_path / "a.parquet", tmp_path / "first.parquet")
    assert not (tmp_path / "first.parquet").exists()
