"""Queries: what a plan may ask for, and how far neighbours move the answers, by trying all persons."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from typing import Any

import pytest

from zcdp.tables.amounts import Amount
from zcdp.tables.domain import DeclarationError, read_domain
from zcdp.tables.table_query import MEASURES, TableQuery, read_query

NOISE, SELECTS = "DiscreteGaussian(sigma=2)", "ExponentialMechanism(epsilon=1)"
DOMAINS = {
    name: read_domain(name, data, None)
    for name, data in {
        "region": ["R1", "R2", "R3"],
        "ok": [True, False],
        "age": {"from": 0, "to": 20, "step": 5},
        "many": {"from": 0, "to": 500_000, "step": 1},
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
    "quantiles": {"of": "age", "quantiles": [0.5], "mechanism": SELECTS},
    "top": {"of": "region", "k": 1, "mechanism": SELECTS},
}


def asked(measure: str, unit: str = "who", /, **more: Any) -> TableQuery:
    words = {"name": "a", "measure": measure, "mechanism": NOISE, **LEAST[measure], **more}
    return read_query({name: one for name, one in words.items() if one is not None}, DOMAINS, unit)


@pytest.mark.parametrize("measure", MEASURES)
def test_what_is_not_said_is_one_cell_one_row_and_nothing_done_to_the_figures(measure: str) -> None:
    found = asked(measure)
    assert (found.max_cells, found.max_rows, found.where, found.adds_up) == (1, 1, (), "")
    assert (found.non_negative, found.merges, found.measure, found.name) == (False, 1, measure, "a")
    assert (found.amount is not None) == (measure in ("sum", "mean"))


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
    ("count", "who", {"measure": None}, "must be one of"),
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
