"""Whether conditions leave every row with a key, for each kind of domain: by trying all values, and a missing one."""

from __future__ import annotations

from itertools import chain, combinations
from operator import eq, ge, gt, le, lt, ne
from typing import Any

import pytest

from zcdp.tables.conditions import always_has_a_key, read_where
from zcdp.tables.domain import read_domain

TRUE: dict[str, Any] = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
TRUE |= {"in": lambda x, listed: x in listed, "not in": lambda x, listed: x not in listed}
TEXTS = [["x", "==", "a"], ["x", "==", "c"], ["x", "!=", "c"], ["x", "in", ["a", "b"]], ["x", "in", ["a", "c"]]]
TEXTS += [["x", "not in", ["c"]], ["y", "==", "a"]]
NUMBERS = [["x", "==", 1], ["x", "==", 3], ["x", "!=", 3], ["x", "in", [1, 2]], ["x", "<", 3], ["x", ">=", 0]]
NUMBERS += [["x", ">=", -1], ["y", "==", 1], ["y", ">=", 0], ["x", "<=", 2.5]]
FACTS = [["x", "==", True], ["x", "!=", True], ["x", "in", [True, False]], ["x", "not in", [False]], ["y", "==", True]]
KINDS: dict[str, tuple[Any, list[Any], list[Any], set[Any]]] = {
    # the domain, conditions, all values, and those that have a key
    "texts": (["a", "b"], TEXTS, ["a", "b", "c", None], {"a", "b"}),
    "texts and the rest": ({"values": ["a"], "other": "z"}, TEXTS, ["a", "b", "c", None], {"a", "b", "c", None}),
    "integers": ([1, 2], NUMBERS, [-1, 0, 1, 2, 3, None], {1, 2}),
    "both booleans": ([False, True], FACTS, [False, True, None], {False, True}),
    "one boolean": ([True], FACTS, [False, True, None], {True}),
    "bins": ({"from": 0, "to": 3, "step": 1}, NUMBERS, [-1, 0, 1, 2, 2.5, 3, 4, None], {0, 1, 2, 2.5}),
    "clipped bins": ({"from": 0, "to": 3, "step": 1, "clip": True}, NUMBERS, [-1, 0, 2, 3, 9, None], {-1, 0, 2, 3, 9}),
}


def holds(where: tuple[list[Any], ...], value: Any) -> bool:
    """Whether a row whose x has this value, and whose y may have any, can fulfil all of them."""
    mine = [one for one in where if one[0] == "x"]
    return all(value is not None and TRUE[operation](value, other) for _, operation, other in mine)


@pytest.mark.parametrize("kind", KINDS)
def test_where_it_is_said_no_row_lacks_a_key(kind: str) -> None:
    data, conditions, values, keys = KINDS[kind]
    domain = read_domain("x", data, None)
    said = 0
    for where in chain.from_iterable(combinations(conditions, size) for size in range(3)):
        if always_has_a_key(domain, read_where(list(where))):
            said += 1
            assert all(value in keys for value in values if holds(where, value)), where
    assert said >= 2


@pytest.mark.parametrize(
    ("kind", "where"),
    [
        ("texts", [["x", "==", "a"]]),
        ("texts", [["x", "!=", "c"], ["x", "in", ["a", "b"]]]),
        ("texts and the rest", []),
        ("integers", [["x", "in", [1, 2]]]),
        ("both booleans", [["x", "!=", True]]),
        ("both booleans", [["x", "in", [True, False]]]),
        ("one boolean", [["x", "==", True]]),
        ("bins", [["x", ">=", 0], ["x", "<", 3]]),
        ("bins", [["x", ">=", 0], ["x", "<=", 2.5]]),
        ("bins", [["x", "==", 1]]),
        ("clipped bins", [["x", "!=", 3]]),
    ],
)
def test_ordinary_conditions_are_understood(kind: str, where: list[list[Any]]) -> None:
    assert always_has_a_key(read_domain("x", KINDS[kind][0], None), read_where(where))


@pytest.mark.parametrize("value", [1, "a"])
def test_a_condition_of_another_kind_says_nothing(value: Any) -> None:
    """A column of objects may hold texts and numbers: one that is a number fulfils a condition, and has no text."""
    other = ["a"] if value == 1 else {"from": 0, "to": 3, "step": 1, "clip": True}
    assert not always_has_a_key(read_domain("x", other, None), read_where([["x", "==", value]]))
