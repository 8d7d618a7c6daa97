"""Sets of tables that add up: which domains divide each other, by placing every value, and what their factors are."""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction
from itertools import permutations, product
from math import prod
from typing import Any

import pytest

from zcdp.tables.domain import DeclarationError, Domain, read_domain
from zcdp.tables.table_query import TableQuery, read_where
from zcdp.tables.totals import Together, check_alike, sets


def domain(name: str, column: str, **data: Any) -> Domain:
    return read_domain(name, {"column": column, **data}, None)


def table(name: str, *by: Domain, **more: Any) -> TableQuery:
    return TableQuery(name, "count", by, read_where([["age", ">=", 0]]), 1, 1, adds_up="all", **more)


DAYS = {"from": "2024-01-01", "to": "2026-01-01"}
YEAR, QUARTER, MONTH = (domain(step, "day", **DAYS, step=step) for step in ("year", "quarter", "month"))
AGE = {"from": 0, "to": 60, "clip": True}
TWENTY, TEN, FIVE = (domain(f"by {step}", "age", **AGE, step=step) for step in (20, 10, 5))
SEX = domain("sex", "sex", values=[1, 2], other=9)


def place(one: Domain, value: Any) -> int:
    """In which key a value is, by going through the published ends."""
    if one.column == "sex":
        return one.labels.index(value)
    first, last = one.columns().values()
    return next(n for n, (a, b) in enumerate(zip(first, last, strict=True)) if a <= value < b)


@pytest.mark.parametrize("order", list(permutations(range(4)))[::5])
def test_each_cell_of_a_table_is_made_of_the_finest_cells_that_lie_in_it(order: tuple[int, ...]) -> None:
    every = [(YEAR, SEX, FIVE), (MONTH, TWENTY), (SEX, QUARTER), (TEN, YEAR)]
    keys = [every[n] for n in order]
    keys = [
        one if n else (*one, *(() if any(k.column == "sex" for k in one) else (SEX,))) for n, one in enumerate(keys)
    ]
    # each column is in each table, so that no row can be in one of them only
    full = {"day": (YEAR, QUARTER, MONTH), "age": (TWENTY, TEN, FIVE), "sex": (SEX,)}
    keys = [(*one, *(full[c][0] for c in full if c not in {k.column for k in one})) for one in keys]
    made = Together.of("all", [table(str(n), *one) for n, one in enumerate(keys)])
    assert {one.name for one in made.finest.by} == {"month", "by 5", "sex"}
    assert prod(made.sizes) == made.finest.cells == 24 * 12 * 3
    days = [(date(2024, 1, 1) + timedelta(n)).isoformat() for n in range(0, 731, 58)]
    finest = list(product(*(range(size) for size in made.sizes)))
    for day, age, sex in product(days, (0, 7, 19, 20, 44, 59), (1, 2, 9)):
        value = {"day": day, "age": age, "sex": sex}
        number = 0
        for one in made.finest.by:
            number = number * one.size + place(one, value[one.column])
        for query, axes, by in zip(made.queries, made.axes, keys, strict=True):
            cell, mine = 0, 0
            for one in by:
                cell = cell * one.size + place(one, value[one.column])
            for axis in axes:
                mine = mine * made.sizes[axis] + finest[number][axis]
            assert cell == mine
            assert query.merges * query.cells == made.finest.cells


def bins(**data: Any) -> Domain:
    return domain("coarse" if data.get("bins") == 2 else "fine", "age", **data)


APART: list[tuple[Domain, Domain]] = [
    (bins(**{"from": 0, "to": 12, "bins": 2}), bins(**{"from": 0, "to": 12, "bins": 3})),
    (bins(**{"from": 0, "to": 12, "bins": 2}), bins(**{"from": 1, "to": 13, "bins": 4})),
    (bins(**{"from": 0, "to": 12, "bins": 2}), bins(**{"from": 0, "to": 13, "bins": 4})),
    (bins(**{"from": 0, "to": 12, "bins": 2}), bins(**{"from": 0, "to": 12, "bins": 4, "clip": True})),
    (bins(**{"from": 0, "to": 6, "bins": 2}), bins(**{"from": 0, "to": 6, "bins": 4})),  # 3, and 3/2 in doubles
    (YEAR, domain("days", "day", **DAYS, step=1)),
    (  # of 29 and of 31 days, which are 60 together
        domain("two months", "day", **{"from": "2024-02-01", "to": "2024-04-01", "step": "month"}),
        domain("sixty days", "day", **{"from": "2024-02-01", "to": "2024-04-01", "step": "day"}),
    ),
    (YEAR, domain("later", "day", **{"from": "2025-01-01", "to": "2027-01-01", "step": "month"})),
    (YEAR, domain("longer", "day", **{"from": "2024-01-01", "to": "2028-01-01", "step": "month"})),
    (YEAR, domain("clipped", "day", **DAYS, step="month", clip=True)),
    (domain("a", "x", values=["a", "b"], other="c"), domain("b", "x", values=["a", "b", "d", "e", "f"], other="c")),
]


@pytest.mark.parametrize(("coarse", "fine"), APART)
def test_domains_of_one_column_that_do_not_divide_each_other_are_refused(coarse: Domain, fine: Domain) -> None:
    for one, other in ((coarse, fine), (fine, coarse)):
        with pytest.raises(DeclarationError, match="they do not add up"):
            Together.of("all", [table("a", one), table("b", other)])


def test_tables_that_add_up_have_at_most_eight_keys_together() -> None:
    keys = [domain(f"k{n}", f"k{n}", values=[1], other=2) for n in range(9)]
    assert len(Together.of("all", [table("a", *keys[:8]), table("b")]).sizes) == 8
    with pytest.raises(DeclarationError, match="at most 8 keys"):
        Together.of(
            "all", [table("a", *keys[:8]), table("b", keys[7], keys[8]), table("c", *keys[::2]), table("d", *keys)]
        )


def test_the_finest_table_has_at_most_half_a_million_cells() -> None:
    wide = domain("wide", "wide", values=list(range(707)), other=-1, flat=True)
    for size, fits in ((705, True), (706, False)):  # 708 times 706, and 708 times 707
        other = domain("other", "other", values=list(range(size)), other=-1)
        if fits:
            assert Together.of("all", [table("a", wide), table("b", other)]).finest.cells == 708 * 706
        else:
            with pytest.raises(DeclarationError, match="over 500000"):
                Together.of("all", [table("a", wide), table("b", other)])


def test_none_below_zero_goes_with_tables_that_divide_each_other_alone() -> None:
    ok = Together.of("all", [table("a", SEX, non_negative=True), table("b", SEX, TEN, non_negative=True)])
    assert ok.finest.non_negative
    for by in ((TEN,), (TWENTY,)):
        with pytest.raises(DeclarationError, match="divides the cells of another"):
            Together.of("all", [table("a", SEX, non_negative=True), table("b", *by, non_negative=True)])


def test_one_table_alone_is_no_set_and_one_column_is_one_key() -> None:
    with pytest.raises(DeclarationError, match="one table alone"):
        Together.of("all", [table("a", SEX)])
    with pytest.raises(DeclarationError, match="are of one column: a table"):
        Together.of("all", [table("a", TEN, FIVE), table("b", TEN)])


def test_sets_are_the_tables_that_say_the_same_name() -> None:
    named = [TableQuery(str(n), "count", (), (), 1, 1, adds_up=one) for n, one in enumerate(("x", "", "y", "x"))]
    assert sets(named) == {"x": [0, 3], "y": [2]}


def test_only_tables_of_the_same_rows_and_figures_are_alike() -> None:
    from dataclasses import replace

    from zcdp.tables.clipped_sums import Amount

    first = table("a", SEX)
    pay = Amount("pay", Fraction(1), 0, 9)
    check_alike(first, replace(first, measure="histogram", by=(TEN,), name="b"))
    both = read_where([["age", ">=", 0], ["sex", "==", 1]])
    check_alike(replace(first, where=both), replace(first, where=both[::-1]))
    for said, other in {
        "measure": {"measure": "persons"},
        "where": {"where": both},
        "of, clip and grid": {"amount": pay},
        "max_cells": {"max_cells": 2},
        "max_rows": {"max_rows": 2},
        "non_negative": {"non_negative": True},
    }.items():
        with pytest.raises(DeclarationError, match=f"{said} must be that of 'a'"):
            check_alike(first, replace(first, **other))  # type: ignore[arg-type]
