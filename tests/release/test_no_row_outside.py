"""Where conditions are said to leave no row outside of a domain, none is: by trying all values. (bug T7)"""

from __future__ import annotations

from datetime import date, timedelta
from itertools import product
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from zcdp.tables.conditions import always_has_a_key, read_where
from zcdp.tables.domain import read_domain

TRUE: dict[str, Any] = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
TRUE |= {"in": lambda x, listed: x in listed, "not in": lambda x, listed: x not in listed}
FIRST = date(2024, 1, 1)


def conditions(at: Any) -> list[tuple[str, Any]]:
    single = [(name, at(n)) for name in ("==", "!=", "<", "<=", ">", ">=") for n in (-1, 0, 1, 3, 4, 5)]
    lists = [(-1, 1), (1, -1), (0, 3), (3, 4), (1, 5), (5, 1), (0, 1, 2)]
    return single + [(name, [at(n) for n in one]) for name in ("in", "not in") for one in lists]


def check(domain: dict[str, Any], at: Any) -> int:
    found = read_domain("x", domain, None)
    values = [(n, at(n)) for n in range(-4, 9)]
    told = 0
    for pair in product(conditions(at), repeat=2):
        if always_has_a_key(found, read_where([["x", *one] for one in pair])):
            told += 1
            for n, value in values:
                if all(TRUE[name](value, other) for name, other in pair):
                    assert 0 <= n < 4, (pair, value)
    return told


def test_bins() -> None:
    assert check({"from": 0, "to": 4, "step": 2}, lambda n: n) > 50


def test_days() -> None:
    ends = {"from": FIRST, "to": FIRST + timedelta(4), "step": 2}
    assert check(ends, lambda n: FIRST + timedelta(n)) > 50


def test_listed_integers() -> None:
    assert check({"values": [0, 1, 2, 3]}, lambda n: n) > 5
