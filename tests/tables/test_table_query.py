"""Queries for tables, their conditions, and how far one person moves their answers."""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction
from itertools import chain, combinations, product
from operator import eq, ge, gt, le, lt, ne
from typing import Any

import pytest

from zcdp.tables.clipped_sums import Amount
from zcdp.tables.domain import DeclarationError, read_domain
from zcdp.tables.table_query import MEASURES, Condition, TableQuery, always_has_a_key, read_query, read_where

NOISE, SELECTS = "DiscreteGaussian(sigma=2)", "ExponentialMechanism(epsilon=1)"
DOMAINS = {
    name: read_domain(name, data, None)
    for name, data in {
        "region": ["R1", "R2", "R3"],
        "ok": [True, False],
        "age": {"from": 0, "to": 20, "step": 5},
        "many": {"from": 0, "to": 500_000, "step": 1},
        "four": {"from": 0, "to": 4, "step": 1},
        "half": {"from": 0, "to": 250_000, "step": 1},
        "more": {"from": 0, "to": 250_001, "step": 1},
        "day": {"from": "2024-01-01", "to": "2025-01-01", "step": "month"},
    }.items()
}
LEAST: dict[str, dict[str, Any]] = {
    "count": {},
    "persons": {},
    "histogram": {"of": "age"},
    "sum": {"of": "pay", "clip": [0, 9], "grid": 1},
    "mean": {"of": "pay", "clip": [0, 9], "grid": 1, "count_mechanism": NOISE},
    "ratio": {"of": "pay", "clip": [0, 9], "grid": 1, "over": "hours", "over_clip": [0, 4], "over_grid": 1},
    "variance": {"of": "pay", "clip": [0, 9], "grid": 1, "count_mechanism": NOISE, "square_mechanism": NOISE},
    "quantiles": {"of": "age", "quantiles": [0.5], "per": "row", "max_rows": 1, "mechanism": SELECTS},
    "top": {"of": "region", "k": 1, "mechanism": SELECTS},
}
LEAST["ratio"]["over_mechanism"] = NOISE


def asked(measure: str, unit: str = "who", /, **more: Any) -> TableQuery:
    words = {"name": "a", "measure": measure, "mechanism": NOISE, **LEAST[measure], **more}
    return read_query({name: one for name, one in words.items() if one is not None}, DOMAINS, unit)


@pytest.mark.parametrize("measure", MEASURES)
def test_what_is_not_said_is_one_cell_one_row_and_nothing_done_to_the_figures(measure: str) -> None:
    found = asked(measure)
    assert (found.max_cells, found.max_rows, found.where, found.adds_up) == (1, 1, (), "")
    assert (found.non_negative, found.merges, found.measure, found.name) == (False, 1, measure, "a")
    assert (found.amount is not None) == (measure in ("sum", "mean", "ratio", "variance"))


FINE: list[tuple[str, str, dict[str, Any]]] = [
    ("count", "who", {"max_cells": 500_000, "max_rows": 2**26}),
    ("count", "row", {"max_cells": 1, "max_rows": 1}),
    ("count", "who", {"by": ["many"]}),
    ("count", "who", {"by": ["half", "ok"]}),
    ("histogram", "who", {"of": "half", "by": ["ok"]}),
    ("quantiles", "who", {"of": "half", "by": ["ok"]}),
    ("quantiles", "who", {"quantiles": [0.0001, 0.9999, "1/3"]}),
    ("top", "who", {"k": 3}),
    ("top", "who", {"of": "day", "k": 12}),
    ("sum", "who", {"non_negative": True}),
]
WRONG: list[tuple[str, str, dict[str, Any], str]] = [
    ("count", "who", {"measure": "median"}, "must be one of"),
    ("count", "who", {"measure": None}, "is missing: one of count"),
    ("count", "who", {"mesure": "count"}, "a query that measures count has no such field"),
    ("count", "who", {"name": None}, "must be text"),
    ("count", "who", {"max_row": 1}, "no such field"),
    ("count", "who", {"of": "age"}, "no such field"),
    ("persons", "who", {"max_rows": 2}, "no such field"),
    ("sum", "who", {"max_rows": 2}, "no such field"),
    ("mean", "who", {"non_negative": True}, "no such field"),
    ("quantiles", "who", {"sd": 2}, "no such field"),
    ("count", "who", {"mechanism": None}, "has no mechanism"),
    ("mean", "who", {"count_mechanism": None}, "has no count_mechanism"),
    ("sum", "who", {"of": None}, "has no of"),
    ("top", "who", {"of": None}, "has no of"),
    ("count", "who", {"by": "region"}, "list of different names"),
    ("count", "who", {"by": ["region", "ok", "region"]}, "list of different names"),
    ("count", "who", {"by": ["county"]}, "there is no domain 'county'"),
    ("count", "who", {"by": [3]}, "there is no domain 3"),
    ("histogram", "who", {"of": "region"}, "domain of bins"),
    ("quantiles", "who", {"of": "day"}, "domain of bins"),
    ("histogram", "who", {"by": ["age"]}, "is what the histogram is of already"),
    ("top", "who", {"by": ["ok"]}, "top selects among the keys of one domain"),
    ("persons", "row", {}, "there are no persons"),
    ("count", "row", {"max_cells": 2}, "integer from 1 to 1,"),
    ("count", "row", {"max_rows": 2}, "integer from 1 to 1,"),
    ("count", "who", {"max_cells": 500_001}, "integer from 1 to 500000"),
    ("count", "who", {"max_cells": 0}, "integer from 1"),
    ("count", "who", {"max_cells": True}, "integer from 1"),
    ("count", "who", {"max_rows": 2**26 + 1}, "integer from 1 to 67108864"),
    ("count", "who", {"max_rows": 0}, "integer from 1"),
    ("count", "who", {"max_rows": 1.0}, "integer from 1"),
    ("quantiles", "who", {"quantiles": None}, "must be a list"),
    ("quantiles", "who", {"quantiles": []}, "must be a list"),
    ("quantiles", "who", {"quantiles": 0.5}, "must be a list"),
    ("quantiles", "who", {"quantiles": [0]}, "between 0 and 1"),
    ("quantiles", "who", {"quantiles": [1]}, "between 0 and 1"),
    ("quantiles", "who", {"quantiles": [0.5, 1.5]}, "between 0 and 1"),
    ("quantiles", "who", {"quantiles": [0.5, 0.25, 0.5]}, "different numbers"),
    ("quantiles", "who", {"quantiles": [0.5, "1/2"]}, "different numbers"),
    ("quantiles", "who", {"quantiles": [0.00001]}, "at most four digits"),
    ("quantiles", "who", {"quantiles": ["1/10001"]}, "at most four digits"),
    ("top", "who", {"k": 0}, "integer from 1 to 3"),
    ("top", "who", {"k": 4}, "integer from 1 to 3"),
    ("top", "who", {"k": None}, "integer from 1 to 3"),
    ("count", "who", {"by": ["more", "ok"]}, "at most 500000 cells"),
    ("histogram", "who", {"of": "more", "by": ["ok"]}, "at most 500000 cells"),
    ("quantiles", "who", {"of": "more", "by": ["ok"]}, "at most 500000 cells"),
    ("count", "who", {"non_negative": 1}, "true or false"),
    ("sum", "who", {"non_negative": True, "clip": [-1, 9]}, "below 0"),
    ("sum", "who", {"non_negative": True, "clip": [-9, -1]}, "below 0"),
    ("persons", "who", {"adds_up": "all", "max_cells": 2}, "max_cells = 1"),
    ("count", "who", {"adds_up": ""}, "must be text"),
    ("count", "who", {"where": [["age", "~", 3]]}, "is none of"),
]


@pytest.mark.parametrize(("measure", "unit", "more"), FINE)
def test_what_lies_within_all_limits_is_read(measure: str, unit: str, more: dict[str, Any]) -> None:
    found = asked(measure, unit, **more)
    assert (found.max_cells, found.max_rows) == (more.get("max_cells", 1), more.get("max_rows", 1))


@pytest.mark.parametrize(("measure", "unit", "more", "said"), WRONG)
def test_what_makes_no_sense_is_refused(measure: str, unit: str, more: dict[str, Any], said: str) -> None:
    with pytest.raises(DeclarationError, match=said):
        asked(measure, unit, **more)


def test_a_histogram_is_a_table_by_its_bins_last() -> None:
    found = asked("histogram", by=["region", "ok"])
    assert [one.name for one in found.by] == ["region", "ok", "age"]
    assert (found.of, found.cells) == (None, 24)


Table = tuple[int, ...]


def added(query: TableQuery) -> set[Table]:
    """All tables that one person can be: so many cells, in each any number of rows, or any amount, that is allowed."""
    if query.amount is not None:
        middle = query.amount.middle if query.measure == "mean" else 0
        each = range(query.amount.low - middle, query.amount.high - middle + 1)
    else:
        each = range(1, query.max_rows + 1)
    found = {(0,) * query.cells}
    for size in range(1, min(query.max_cells, query.cells) + 1):
        for places in combinations(range(query.cells), size):
            for figures in product(each, repeat=size):
                held = dict(zip(places, figures, strict=True))
                found.add(tuple(held.get(n, 0) for n in range(query.cells)))
    return found


def furthest(query: TableQuery, neighbours: str) -> tuple[int, int]:
    """How many cells neighbours move at most, and how far one of them at most."""
    mine = added(query)
    others = mine if neighbours == "replace" else {(0,) * query.cells}
    moves = [[abs(a - b) for a, b in zip(one, two, strict=True) if a != b] for one in mine for two in others]
    return max(map(len, moves)), max(max(move, default=0) for move in moves)


@pytest.mark.parametrize("rows", [1, 4])
def test_counts_of_candidates_move_one_way_where_a_person_comes_or_goes_and_both_ways_where_one_is_replaced(
    rows: int,
) -> None:
    for neighbours in ("add-remove", "replace"):
        query = TableQuery("a", "top", (), (), 1, rows, of=DOMAINS["region"], k=2)
        [found] = query.statistics(neighbours)
        people = list(product(range(rows + 1), repeat=3))  # a person may have all keys
        others = people if neighbours == "replace" else [(0, 0, 0)]
        moves = [[a - b for a, b in zip(one, two, strict=True)] for one in people for two in others]
        one_way = all(min(move) >= 0 or max(move) <= 0 for move in moves)
        assert (found.monotone, found.distance, found.moves) == (one_way, max(map(max, moves)), 2)
        assert found.selects


CLIPS = [(0, 3), (-2, 1), (-1, 2), (1, 2), (-3, -1), (-3, 0)]


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("most", [1, 2, 3, 5])
def test_counts_move_as_far_as_persons_can_move_them(neighbours: str, most: int) -> None:
    for measure, rows in (("count", 1), ("count", 2), ("persons", 1)):
        query = TableQuery("a", measure, (DOMAINS["region"], DOMAINS["ok"]), (), most, rows)
        [found] = query.statistics(neighbours)
        wide = TableQuery("a", measure, (DOMAINS["region"],), (), min(most, 2), rows)
        [narrow] = wide.statistics(neighbours)
        cells, far = furthest(wide, neighbours)
        assert narrow.distance == far == found.distance
        assert narrow.moves >= cells  # where nearly all cells are reached, more are charged than there are
        assert narrow.moves == (min(most, 2) if neighbours == "add-remove" else 2 * min(most, 2))
        assert found.moves == min(most, 6) * (2 if neighbours == "replace" else 1)
        assert (found.grid, found.selects, found.total) == (1, False, None)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("measure", ["sum", "mean"])
def test_amounts_move_as_far_as_persons_can_move_them(neighbours: str, clip: tuple[int, int], measure: str) -> None:
    amount = Amount("pay", Fraction(1, 2), *clip)
    for most in (1, 2):
        query = TableQuery("a", measure, (DOMAINS["region"],), (), most, 1, amount)
        first, *rest = query.statistics(neighbours)
        cells, far = furthest(query, neighbours)
        assert (first.distance, first.grid, first.field) == (far, Fraction(1, 2), "mechanism")
        assert first.moves == most * (2 if neighbours == "replace" else 1) >= cells
        if measure == "mean":
            [count] = rest
            persons = TableQuery("a", "persons", (DOMAINS["region"],), (), most, 1)
            assert (count.moves, count.distance) == (first.moves, furthest(persons, neighbours)[1])
            assert (count.grid, count.field, count.label, first.label) == (1, "count_mechanism", "count", "sum")


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("most", [2, 3])
@pytest.mark.parametrize("clip", [None, *CLIPS])
def test_cells_that_are_added_up_move_by_all_that_a_person_has_in_them(
    neighbours: str, most: int, clip: tuple[int, int] | None
) -> None:
    """A margin of two cells, each of two cells of the finest table: by every pair of persons."""
    amount = None if clip is None else Amount("pay", Fraction(1), *clip)
    measure, rows = ("count", 2) if amount is None else ("sum", 1)
    fine = TableQuery("a", measure, (DOMAINS["ok"], DOMAINS["ok"]), (), most, rows, amount)
    margins = {(one[0] + one[1], one[2] + one[3]) for one in added(fine)}
    others = margins if neighbours == "replace" else {(0, 0)}
    moves = [[abs(a - b) for a, b in zip(one, two, strict=True)] for one in margins for two in others]
    query = TableQuery("b", measure, (DOMAINS["ok"],), (), most, rows, amount, merges=2)
    [found] = query.statistics(neighbours)
    assert (found.moves, found.distance) == (1, max(map(max, moves)))
    assert found.total is not None
    assert found.total >= max(map(sum, moves))
    if neighbours == "add-remove":
        assert found.total == max(map(sum, moves))
    [whole] = TableQuery("c", measure, (), (), most, rows, amount, merges=4).statistics(neighbours)
    assert whole.total is None
    totals = {sum(one) for one in added(fine)}
    assert whole.distance >= max(abs(a - b) for a in totals for b in (totals if neighbours == "replace" else {0}))


MOST = 2**53 - 1
DAY = date(2024, 2, 29)
CONDITIONS: list[tuple[list[Any], str]] = [
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
WRONG_CONDITIONS: list[tuple[Any, str]] = [
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


@pytest.mark.parametrize(("words", "kind"), CONDITIONS)
def test_a_condition_is_what_it_says(words: list[Any], kind: str) -> None:
    [found] = read_where([words])
    listed = tuple(words[2]) if isinstance(words[2], list) else words[2]
    assert (found, found.kind) == (Condition(words[0], words[1], listed), kind)


@pytest.mark.parametrize(("words", "said"), WRONG_CONDITIONS)
def test_an_odd_condition_is_refused(words: Any, said: str) -> None:
    with pytest.raises(DeclarationError, match=said):
        read_where(words)


def test_all_conditions_are_kept_in_their_order() -> None:
    assert [one.column for one in read_where([["b", "==", 1], ["a", "<", 2], ["b", "!=", 3]])] == ["b", "a", "b"]
    assert read_where([]) == ()


# Whether conditions leave every row with a key, for each kind of domain: by trying all values, and a missing one.


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


# Where conditions are said to leave no row outside of a domain, none is: by trying all values. (bug T7)


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


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_groups_of_bins_move_as_far_as_persons_can_move_them(neighbours: str, rows: int) -> None:
    """Every person of up to so many rows in four bins: on both levels, two groups and the bins."""
    query = TableQuery(
        "a", "quantiles", (), (), 1, rows, of=DOMAINS["four"], quantiles=(Fraction(1, 2),), method="cumulated"
    )
    [found] = query.statistics(neighbours)
    people = [one for one in product(range(rows + 1), repeat=4) if sum(one) <= rows]
    others = people if neighbours == "replace" else [(0, 0, 0, 0)]
    levels = [[(n,) for n in range(4)], [(0, 1), (2, 3)]]
    furthest_ = together = 0
    for one, two in product(people, others):
        for level in levels:
            moves = [abs(sum(one[n] - two[n] for n in group)) for group in level]
            furthest_, together = max(furthest_, *moves), max(together, sum(moves))
    assert found.distance == furthest_ == rows
    if rows == 1:
        assert (found.moves, found.total) == (2 * together, None)
    else:
        assert (found.moves, found.total) == (2, together)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("clip", CLIPS)
def test_squares_and_sums_below_the_line_move_as_far_as_amounts_can(neighbours: str, clip: tuple[int, int]) -> None:
    low, high = clip
    amount, mid = Amount("pay", Fraction(1), low, high), (low + high) // 2
    variance = TableQuery("a", "variance", (), (), 1, 1, amount)
    most = max(abs(one - mid) for one in range(low, high + 1)) ** 2
    figures = [(one - mid) ** 2 - most // 2 for one in range(low, high + 1)]
    ratio = TableQuery("a", "ratio", (), (), 1, 1, Amount("x", Fraction(1), 0, 1), over=amount)
    sums, squares, count = variance.statistics(neighbours)
    for statistic, each in ((squares, figures), (ratio.statistics(neighbours)[1], range(low, high + 1))):
        mine = [0, *each]
        far = max(abs(one - two) for one in mine for two in (mine if neighbours == "replace" else [0]))
        # squares between the two ends need not attain every figure
        assert far <= statistic.distance <= far + (2 if statistic is squares else 0)
    assert (sums.field, count.distance) == ("mechanism", 1)
    assert [one.field for one in ratio.statistics(neighbours)] == ["mechanism", "over_mechanism"]


def test_a_misspelt_measure_is_named_and_a_missing_one_asked_for() -> None:
    with pytest.raises(DeclarationError) as caught:
        read_query({"name": "a", "mesure": "count", "mechanism": NOISE}, {}, "row")
    assert caught.value.field == "mesure"
    with pytest.raises(DeclarationError, match="is missing: one of count"):
        read_query({"name": "a", "mechanism": NOISE}, {}, "row")
