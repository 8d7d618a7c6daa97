"""Conditions: which of them a plan may say, and as what they read their column."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from zcdp.tables.conditions import Condition, read_where
from zcdp.tables.domain import DeclarationError

MOST = 2**53 - 1
DAY = date(2024, 2, 29)
FINE: list[tuple[list[Any], str]] = [
    (["a", "==", "x"], "text"),
    (["a", "!=", True], "boolean"),
    (["a", "<", 3], "number"),
    (["a", "<=", -2.5], "number"),
    (["a", ">", DAY], "date"),
    (["a", ">=", DAY], "date"),
    (["a", "in", [1, 2.5]], "number"),
    (["a", "not in", [False]], "boolean"),
    (["a", "in", ["x"] * 1000], "text"),
    (["a", "==", MOST], "number"),
    (["a", ">", -MOST], "number"),
]
WRONG: list[tuple[Any, str]] = [
    ("a == 3", "list of conditions"),
    (["a", "==", 3], "a condition is"),
    ([["a", "=="]], "a condition is"),
    ([["a", "==", 3, 4]], "a condition is"),
    ([[3, "==", 3]], "must be text"),
    ([["a", "=", 3]], "is none of"),
    ([["a", "in", 3]], "needs a list of 1 to 1000"),
    ([["a", "in", []]], "needs a list of 1 to 1000"),
    ([["a", "not in", [1] * 1001]], "needs a list of 1 to 1000"),
    ([["a", "==", [1]]], "of one kind"),
    ([["a", "==", None]], "of one kind"),
    ([["a", "in", [1, "x"]]], "of one kind"),
    ([["a", "in", [1, True]]], "of one kind"),
    ([["a", "in", [DAY, 1]]], "of one kind"),
    ([["a", "<", MOST + 1]], "below 2\\^53"),
    ([["a", ">", -MOST - 1]], "below 2\\^53"),
    ([["a", "in", [1, -(2.0**60)]]], "below 2\\^53"),
    ([["a", "<", float("inf")]], "below 2\\^53"),
    ([["a", "<", float("nan")]], "below 2\\^53"),
    ([["a", "<", "x"]], "numbers and days alone"),
    ([["a", ">=", True]], "numbers and days alone"),
    ([["a", "==", 1], ["a", "<=", "x"]], "numbers and days alone"),
]


@pytest.mark.parametrize(("words", "kind"), FINE)
def test_a_condition_is_what_it_says(words: list[Any], kind: str) -> None:
    [found] = read_where([words])
    listed = tuple(words[2]) if isinstance(words[2], list) else words[2]
    assert (found, found.kind) == (Condition(words[0], words[1], listed), kind)


@pytest.mark.parametrize(("words", "said"), WRONG)
def test_an_odd_condition_is_refused(words: Any, said: str) -> None:
    with pytest.raises(DeclarationError, match=said):
        read_where(words)


def test_all_conditions_are_kept_in_their_order() -> None:
    assert [one.column for one in read_where([["b", "==", 1], ["a", "<", 2], ["b", "!=", 3]])] == ["b", "a", "b"]
    assert read_where([]) == ()
