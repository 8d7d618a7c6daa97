"""What [data] says where it says nothing, what it may not say, and how many cells a release may have."""

from __future__ import annotations

from typing import Any

import pytest

from zcdp.plans.plan_file import PlanFileError, read_plan
from zcdp.tables.declaration import Declaration, read_data, read_domains
from zcdp.tables.domain import DeclarationError


def read(**data: Any) -> tuple[Any, ...]:
    found = read_data(data)
    return found.unit, found.protects, found.neighbours, found.account, found.vintage, found.key


def test_what_is_not_said_of_the_data() -> None:
    assert read(unit="who") == ("who", "person", "add-remove", None, None, None)
    assert read(unit="row") == ("row", "row", "add-remove", None, None, None)
    every = {"unit": "house", "protects": "household", "neighbours": "replace", "account": "census"}
    assert read(**every, vintage="2026-Q2", key="k") == ("house", "household", "replace", "census", "2026-Q2", "k")
    assert read(unit="row", protects="visit")[1] == "visit"
    assert read(unit="who", neighbours="add_remove")[2] == read(unit="who")[2] == "add-remove"


def test_the_vintage_stands_in_the_key() -> None:
    assert read(unit="who", vintage="2026-Q2", key="{vintage}")[5] == "2026-Q2"
    assert read(unit="who", vintage="Q2", key="persons {vintage}, {vintage}")[5] == "persons Q2, Q2"
    assert read(unit="who", vintage="{vintage}", key="a {vintage}")[5] == "a {vintage}"  # put in once


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "must be a table"),
        ({}, "unit is missing"),
        ({"unit": 3}, "must be text"),
        ({"unit": ""}, "must be text"),
        ({"unit": "who", "neighbours": "add"}, "must be one of add-remove, replace"),
        ({"unit": "who", "neighbours": None}, "must be one of add-remove, replace"),
        ({"unit": "who", "account": 3}, "must be text"),
        ({"unit": "who", "account": ""}, "must be text"),
        ({"unit": "who", "protects": ""}, "must be text"),
        ({"unit": "who", "neighbors": "replace"}, "no such field"),
        ({"unit": "who", "vintage": 2026}, "must be text"),
        ({"unit": "who", "vintage": "a\nb"}, "one line"),
        ({"unit": "who", "vintage": " 2026"}, "one line"),
        ({"unit": "who", "vintage": "a" * 101}, "at most 100 letters"),
        ({"unit": "who", "key": ""}, "must be text"),
        ({"unit": "who", "key": "{vintage}"}, "has none"),
        ({"unit": "who", "vintage": "a", "key": "{quarter}"}, "all that may stand in braces"),
        ({"unit": "who", "vintage": "a", "key": "{{vintage}}"}, "all that may stand in braces"),
    ],
)
def test_what_data_may_not_say(data: Any, said: str) -> None:
    with pytest.raises(DeclarationError, match=said):
        read_data(data)


def test_domains_have_the_names_that_they_are_given() -> None:
    found = read_domains({"b": ["x"], "a": [1, 2]}, None)
    assert {name: (one.name, one.size) for name, one in found.items()} == {"b": ("b", 1), "a": ("a", 2)}
    with pytest.raises(DeclarationError, match="must be a table"):
        read_domains([["x"]], None)


def test_a_row_is_nobody_and_any_other_unit_is_a_column() -> None:
    assert Declaration("row", "row", "replace", None, {}).person is None
    assert Declaration("who", "row", "replace", None, {}).person == "who"


PLAN = (
    '[data]\nunit = "row"\n[domain]\nage = { from = 0, to = 250_000, step = 1 }\nfew = { from = 0, to = 5, step = 1 }\n'
)
COUNT = '[[query]]\nname = "{}"\nmeasure = "count"\nby = ["age"]\nmechanism = "DiscreteGaussian(sigma=2)"\n'
MEDIANS = '[[query]]\nname = "m"\nmeasure = "quantiles"\nof = "few"\nby = [{}]\nquantiles = {}\n'
MEDIANS += 'mechanism = "ExponentialMechanism(epsilon=1)"\n'


def test_a_release_has_at_most_a_million_cells() -> None:
    four = "".join(map(COUNT.format, "abcd"))
    assert len(read_plan("plan.toml", PLAN + four).entries) == 4
    with pytest.raises(PlanFileError, match="at most 1000000 cells together"):
        read_plan("plan.toml", PLAN + four + COUNT.format("e").replace('"age"', ""))


def test_each_quantile_of_a_cell_is_published_and_counts() -> None:
    text = PLAN.replace("250_000", "100_000")
    levels = [n / 100 for n in range(1, 12)]
    assert len(read_plan("plan.toml", text + MEDIANS.format('"age"', levels[:10])).entries) > 0
    with pytest.raises(PlanFileError, match="at most 1000000 cells together"):
        read_plan("plan.toml", text + MEDIANS.format('"age"', levels))
