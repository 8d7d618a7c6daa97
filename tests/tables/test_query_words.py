"""The rules of a query in words: every bound that a plan states is told, in sentences of its own."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from zcdp.tables.declaration import read_domains
from zcdp.tables.query_words import condition_in_words, domain_in_words, rules
from zcdp.tables.table_query import read_query, read_where

DOMAINS = read_domains(
    {
        "region": {"values": ["R1", "R2"], "other": "abroad"},
        "sex": ["F", "M"],
        "age": {"from": 0, "to": 100, "step": 5, "clip": True},
        "pay": {"column": "income", "from": 0, "to": 100000, "bins": 4},
        "day": {"from": "2026-01-01", "to": "2027-01-01", "step": "quarter"},
    },
    None,
)
NOISE = {"mechanism": "DiscreteGaussian(sigma=4)"}


def said(unit: str = "who", **query: Any) -> list[str]:
    return rules(read_query({"name": "a", **NOISE, **query}, DOMAINS, unit), unit)


def test_whom_it_counts() -> None:
    assert said(measure="persons") == ["Counts persons, each once.", "All rows count."]
    assert said(measure="count", max_rows=3)[0] == "Counts rows, at most 3 rows of one person in a cell."
    assert said(measure="histogram", of="pay")[0] == "Counts rows, at most 1 row of one person in a cell."
    assert said("row", measure="count")[0] == "Counts rows."
    assert said(measure="top", of="sex", k=1, max_rows=2)[0] == (
        "The 1 most frequent of sex (2 keys, others are left out), by rows, at most 2 rows of one person in a cell."
    )


def test_what_is_cut_off() -> None:
    amounts = {"of": "income", "clip": [-5, 150000], "grid": "0.5"}
    cut = "what one person has in a cell is rounded to steps of 0.5 and cut to -5 to 150,000."
    assert said(measure="sum", **amounts)[0] == f"Adds up income; {cut}"
    assert said(measure="mean", count_mechanism="DiscreteGaussian(sigma=4)", **amounts)[0] == (
        f"The mean over persons of income; {cut}"
    )
    assert "what a row has is rounded" in said("row", measure="sum", **amounts)[0]
    assert said(measure="sum", non_negative=True, of="income", clip=[0, 9], grid=1)[-1] == "No figure is below 0."


def test_what_quantiles_ratios_and_variances_are_of() -> None:
    few = {"measure": "quantiles", "of": "pay", "quantiles": [0.5]}
    bins = (
        "The bin of income that holds the 1 quantile 0.5: pay (column income; 4 bins from 0 to below 100,000, values "
    )
    bins += "outside are left out)"
    assert said(per="person", **few)[0] == (
        f"{bins}; of what each person has in the cell in total, rounded to steps of 1."
    )
    assert said(per="row", max_rows=3, **few)[0] == f"{bins}; of single rows, at most 3 rows of one person in a cell."
    assert said("row", **few)[0] == f"{bins}."
    amounts = {"of": "income", "clip": [0, 9], "grid": 1}
    below = {"over": "hours", "over_clip": [0, 60], "over_grid": 2, "over_mechanism": "DiscreteGaussian(sigma=4)"}
    assert said(measure="ratio", **amounts, **below)[0] == (
        "The sum of income over that of hours, of rows that have both; what one person has in a cell is rounded to "
        "steps of 1 and cut to 0 to 9, and of hours to steps of 2 and to 0 to 60."
    )
    both = {"count_mechanism": "DiscreteGaussian(sigma=4)"}
    assert said(measure="mean", publish=["sum", "mean"], **amounts, **both)[0].startswith("The sum and the mean over")
    assert "with their counts" in said(measure="top", of="sex", k=1, **both)[0]


def test_in_how_many_cells_a_person_is() -> None:
    by = {"measure": "persons", "by": ["region", "age"], "max_cells": 2}
    assert said(**by)[2:] == [
        "By region (2 keys, all others are 'abroad') and age (20 bins from 0 to below 100, values outside are put into "
        "the first or last): 60 cells.",
        "A person is counted in at most 2 cells; of those who are in more, 2 are kept, by a secret hash.",
    ]
    assert said(**{**by, "max_cells": 1})[3].endswith(
        "at most 1 cell; of those who are in more, 1 is kept, by a secret hash."
    )
    assert len(said("row", measure="count", by=["sex"])) == 3
    assert len(said(measure="persons", by=["sex"], max_cells=9)) == 4
    assert "at most 2 cells" in said(measure="persons", by=["sex"], max_cells=9)[3]  # there are no more


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (["age", ">=", 18], "age is at least 18"),
        (["age", "<", 65.5], "age is below 65.5"),
        (["age", "<=", 9], "age is at most 9"),
        (["pay", ">", 20000], "pay is above 20,000"),
        (["year", "==", 2026], "year is 2026"),
        (["employed", "!=", True], "employed is not true"),
        (["day", ">=", date(2026, 1, 1)], "day is at least 2026-01-01"),
        (["sex", "in", ["F", "M"]], "sex is one of 'F', 'M'"),
        (["code", "not in", list(range(9))], "code is none of 9 listed values"),
    ],
)
def test_conditions(condition: list[Any], words: str) -> None:
    [read] = read_where([condition])
    assert condition_in_words(read) == words
    assert (
        said(measure="persons", where=[condition])[1]
        == f"Only rows where {words}; a row without the value is left out."
    )


def test_domains() -> None:
    words = {name: domain_in_words(one) for name, one in DOMAINS.items()}
    assert words["region"] == "region (2 keys, all others are 'abroad')"
    assert words["sex"] == "sex (2 keys, others are left out)"
    assert words["pay"] == "pay (column income; 4 bins from 0 to below 100,000, values outside are left out)"
    assert words["day"] == "day (4 intervals from 2026-01-01 to before 2027-01-01, values outside are left out)"


def test_lists_within_lists_and_a_rest_of_bins() -> None:
    towns = {"values": {"R1": ["a", "b"], "R2": ["c"]}, "within": "region"}
    bins = {"from": 0, "to": 100, "step": 50, "other": "not stated"}
    found = read_domains({"region": ["R1", "R2"], "town": towns, "age": bins, "years": {**bins, "clip": True}}, None)
    assert domain_in_words(found["town"]) == "town (3 keys within region, others are left out)"
    assert domain_in_words(found["region"]) == "region (by the public list of town; 2 keys, others are left out)"
    assert domain_in_words(found["age"]) == "age (2 bins from 0 to below 100, all else is 'not stated')"
    assert domain_in_words(found["years"]).endswith("put into the first or last, missing ones are 'not stated')")
    own = {"region": {"values": ["R1", "R2"], "column": "reg"}, "town": {**towns, "unknown": "somewhere"}}
    assert domain_in_words(read_domains(own, None)["town"]) == (
        "town (5 keys within region, others are left out, or 'somewhere' of theirs)"
    )
