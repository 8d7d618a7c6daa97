"""Tables whose names differ in what a file name does not show have files of their own. (bug R19)"""

from __future__ import annotations

import pytest

from zcdp.release.archive import Release, packed
from zcdp.release.table_noise import Table


@pytest.mark.parametrize(
    "names", [("a b", "a-b"), ("A", "a"), ("a b", "a-b", "a-b-2"), ("!", "?", "table"), ("a" * 70, "a" * 71)]
)
def test_no_table_is_written_over_another(names: tuple[str, ...]) -> None:
    tables = [Table(name, "", {"value": [n]}) for n, name in enumerate(names)]
    made = Release.from_bytes(packed(tables, "", {})).tables
    assert {name: made[name].columns["value"] for name in names} == {name: [n] for n, name in enumerate(names)}
