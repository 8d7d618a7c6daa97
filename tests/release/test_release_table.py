"""A published table as text: every value comes back as it was, and columns say what they hold."""

from __future__ import annotations

from math import pi
from typing import Any

import pytest

from zcdp.release.table_noise import Table

COLUMNS: dict[str, tuple[list[Any], str]] = {
    "texts": (["R1", "", 'a "quoted", text', "two\nlines", "\u00e9", "=1+1", "true", "12"], "text"),
    "integers": ([0, -3, 2**31, 2**63 - 1, 10**40, 1, 2, 3], "integer"),
    "numbers": ([0.1, pi, 1e300, -1e-300, 2.0, -0.0, 1 / 3, 123456789.125], "number"),
    "mixed": ([1, 0.5, 2, 2.5, 3, 3.5, -4, 10**15], "number"),
    "booleans": ([True, False, True, True, False, False, True, False], "boolean"),
    "a, b": (["x"] * 8, "text"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_comes_back_from_text_as_it_was(name: str) -> None:
    values, kind = COLUMNS[name]
    table = Table("t", "about it", {"key": list("abcdefgh"), name: values})
    assert table.kinds() == {"key": "text", name: kind}
    again = Table.from_csv("t", "about it", table.to_csv(), table.kinds())
    assert again == table
    expected = float if kind == "number" else type(values[0])
    assert all(type(one) is expected for one in again.columns[name])


def test_rows_are_in_the_order_of_the_columns() -> None:
    table = Table("t", "", {"b": [1, 2], "a": ["x", "y"]})
    assert table.rows == [(1, "x"), (2, "y")]
    assert table.to_csv() == "b,a\n1,x\n2,y\n"


def test_a_column_of_texts_and_numbers_is_text() -> None:
    assert Table("t", "", {"a": ["x", 1], "b": [True, 1], "c": []}).kinds()["a"] == "text"
    assert Table("t", "", {"b": [True, 0.5]}).kinds() == {"b": "text"}
