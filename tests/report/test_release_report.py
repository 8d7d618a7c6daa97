"""The page of a release: whose data it protects, the first rows of each table as people write them, and who paid."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from functools import cache
from html import unescape
from math import inf
from typing import Any

import pytest

from zcdp import account
from zcdp.report.release_report import Paid, render_release
from zcdp.report.table_charts import Axes, Shown

FACTS = {"unit": "who", "protects": "household", "neighbours": "replace"}
NUMBER = ' class="number"'


@cache
def made() -> Any:
    return account("DiscreteGaussian(sigma=20)", curve=False)


def page_of(*tables: Shown, paid: Paid | None = None, **facts: Any) -> str:
    return render_release(made(), tables, {**FACTS, **facts}, paid or Paid())


def part(page: str, name: str) -> str:
    return page.split(f'<section id="{name}">')[1].split("</section>", maxsplit=1)[0]


def shown(
    name: str = "a", keys: tuple[Axes, ...] = (Axes(("key",)),), *, measure: str = "count", **columns: Any
) -> Shown:
    return Shown(name, "some noise", measure, columns, keys, ("Counts rows.",), f"{name}.csv")


def read(text: str) -> str:
    """What a person reads."""
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", text))).strip()


def cells(section: str) -> list[list[str]]:
    """The rows of all tables, as read."""
    found = re.findall(r"<tr>(.*?)</tr>", section, re.DOTALL)
    return [[read(cell) for cell in re.findall(r"<t[dh].*?>(.*?)</t[dh]>", row)] for row in found]


@pytest.mark.parametrize(
    ("unit", "said"), [("who", "all rows of one who, replaced; that is one household"), ("row", "one row, replaced")]
)
def test_the_page_says_whose_rows_neighbours_differ_in(unit: str, said: str) -> None:
    page = page_of(unit=unit)
    assert f"Neighbours differ in {said}" in page
    assert "chosen without looking at the data" in page
    assert "Intervals are about the noise alone" in page


@pytest.mark.parametrize("size", [0, 1, 12, 13, 250, 251, 1234])
def test_the_first_twelve_rows_are_shown_and_up_to_250_can_be_unfolded(size: int) -> None:
    given = shown(key=[f"k{n}" for n in range(size)], value=[1000 + n for n in range(size)])
    first, *folded = part(page_of(given), "tables").split("<details")
    every = [[f"k{n}", f"{1000 + n:,}"] for n in range(size)]
    assert cells(first)[1:] == every[:12]
    assert ("The first 12 of" in first) == (size > 12)
    assert ('<a href="a.csv">a.csv</a> has all of them' in first) == (size > 12)
    assert [row for rest in folded for row in cells(rest)[1:]] == (every[12:] if size <= 250 else [])
    assert size < 1000 or "The first 12 of 1,234 rows" in first
    assert '<h3 id="table-0">a</h3>' in first
    assert '<p class="soft">Some noise.</p>' in part(page_of(given), "tables")
    assert "<li>Counts rows.</li>" in part(page_of(given), "tables")


def test_figures_are_written_as_people_write_them() -> None:
    """An interval is one cell, rounded outwards to two digits of the error, which is no column then."""
    keys = (Axes(("sex",)), Axes(("age_from", "age_to")))
    columns = {"vintage": ["Q1"] * 2, "sex": ["F", "M"], "age_from": [0, 5], "age_to": [5, 10]}
    columns |= {
        "value": [6248590.4949, -1.5],
        "sd": [12.3456] * 2,
        "lower": [6248566.21, -2.0],
        "upper": [6248614.72, 3],
    }
    section = part(page_of(shown("a", keys, measure="mean", **columns)), "tables")
    assert cells(section) == [
        ["sex", "age", "value", "95% interval"],
        ["F", "0 to 5", "6,248,590", "6,248,566 to 6,248,615"],
        ["M", "5 to 10", "-2", "-2 to 3"],
    ]
    assert re.findall(r"<th scope=\"col\"(.*?)>", section) == ["", "", NUMBER, NUMBER]
    assert '<data value="6248566.21">6,248,566</data>' in section  # all digits stand in the source
    columns["sd"] = [0.0123456, 12]
    assert cells(part(page_of(shown("a", keys, measure="mean", **columns)), "tables"))[1:] == [
        ["F", "0 to 5", "6,248,590.495", "6,248,566.210 to 6,248,614.720"],
        ["M", "5 to 10", "-2", "-2 to 3"],
    ]
    alone = shown(
        "a", keys, measure="mean", **{name: columns[name] for name in columns if name[-3:] != "wer"} | {"upper": [1, 2]}
    )
    assert cells(part(page_of(alone), "tables"))[1][2:] == ["6,248,590.495", "0.013", "1"]
    assert "e+" not in section


def test_rows_of_a_wide_table_have_their_headings_to_be_stacked_on_a_phone() -> None:
    narrow = part(page_of(shown(key=["a"], value=[1_000_000], lower=[0], upper=[2_000_000])), "tables")
    assert "data-label" not in narrow
    assert 'class="published"' in narrow
    sums = {f"{name}{part}": [1_000_000_000] for name in ("sum", "persons") for part in ("", "_lower", "_upper")}
    section = part(page_of(shown(key=["a"], region=["vocational"], value=[2], **sums)), "tables")
    assert 'class="published stacked"' in section
    assert 'class="beside"' not in section
    assert re.findall('data-label="(.*?)"', section) == cells(section)[0]
    long = part(page_of(shown(key=["x" * 30], value=[1])), "tables")
    assert 'class="published broken"' in long


def test_the_plan_is_named_without_its_folder() -> None:
    given = replace(made(), source="/home/anna/secret/plan.toml", inputs="title = 'a'")
    page = render_release(given, [], FACTS, Paid())
    assert "zcdp account plan.toml --delta" in page
    assert "secret" not in page


def test_quantiles_and_selections_are_tables_too() -> None:
    quantiles = shown(
        "q", (Axes(("key",)),), measure="quantiles", key=["a"], quantile=[0.5], to=[20000], rank_error=[37.61]
    )
    quantiles.columns["from"] = [5000]  # type: ignore[index]
    assert cells(part(page_of(quantiles), "tables")) == [
        ["key", "quantile", "rank error", "bin"],
        ["a", "0.5", "38", "5,000 to 20,000"],
    ]
    open_ended = shown("o", quantile=[0.1, 0.5, 0.9], key=["a"] * 3, lower=[-inf, 5, -inf], upper=[10, inf, inf])
    assert [row[-1] for row in cells(part(page_of(open_ended), "tables"))[1:]] == ["up to 10", "5 or more", "anything"]
    ends = {"lower": [-inf, -inf], "upper": [inf, 10.0]}
    unknown = shown("u", measure="quantiles", key=["a", "b"], **{"from": [None, 5], "to": [None, 10]}, **ends)
    assert cells(part(page_of(unknown), "tables"))[1:] == [["a", "not known", "anything"], ["b", "5 to 10", "up to 10"]]
    sums = {"sum": [34123.5], "sum_sd": [1200.0], "sum_lower": [31700.2], "sum_upper": [36500.1], "persons": [12]}
    assert cells(part(page_of(shown("s", key=["a"], measure="mean", value=[2.0], sd=[0.5], **sums)), "tables")) == [
        ["key", "value", "sd", "sum", "sum 95% interval", "persons"],
        ["a", "2.00", "0.50", "34,124", "31,700 to 36,501", "12"],
    ]
    top = shown("t", (), measure="top", rank=[1, 2], language=["Danish", "Greek"], count_error=[67.9234, 67.9234])
    section = part(page_of(top), "tables")
    assert cells(section) == [["rank", "language", "count error"], ["1", "Danish", "68"], ["2", "Greek", "68"]]
    assert re.findall(r"<th scope=\"col\"(.*?)>", section) == [NUMBER, "", NUMBER]


def test_a_figure_of_which_nothing_is_known_is_no_number() -> None:
    figures = {"value": [None, 4.25], "sd": [None, 0.5], "lower": [0, 3.2], "upper": [10, 5.3], "persons": [-18, 60]}
    section = part(page_of(shown("m", measure="mean", key=["a", "b"], **figures)), "tables")
    assert cells(section) == [
        ["key", "value", "95% interval", "persons"],
        ["a", "not known", "0 to 10", "-18"],
        ["b", "4.25", "3.20 to 5.30", "60"],
    ]
    assert re.findall(r"<th scope=\"col\"(.*?)>", section) == ["", NUMBER, NUMBER, NUMBER]
    assert "Where nothing is known there is no value." in section
    alone = part(page_of(shown("m", (), measure="mean", value=[None], sd=[None], lower=[0], upper=[10])), "tables")
    assert "Valuenot known95% interval: 0 to 10" in read(alone)


def test_a_table_of_one_figure_is_that_figure() -> None:
    section = part(page_of(shown("all", (), value=[6248590], sd=[9.0], lower=[6248572], upper=[6248608])), "tables")
    assert "<table" not in section
    assert "Value6,248,59095% interval: 6,248,572 to 6,248,608" in read(section)


def test_all_tables_are_there_in_their_order_with_links() -> None:
    section = part(page_of(*(shown(name, (), value=[n]) for n, name in enumerate("cab"))), "tables")
    assert re.findall(r'<h3 id="(.*?)">(\w)</h3>', section) == [("table-0", "c"), ("table-1", "a"), ("table-2", "b")]
    assert re.findall(r'<a href="#(.*?)">(\w)</a>', section) == [("table-0", "c"), ("table-1", "a"), ("table-2", "b")]


def test_who_made_it_is_the_author_of_the_plan_or_who_released_it() -> None:
    assert "Made byanna" in read(page_of(paid=Paid(who="anna")).split("<main>")[0])
    assert "Made bynot stated" in read(page_of().split("<main>")[0])
    named = render_release(replace(made(), author="Office"), [], FACTS, Paid(who="anna"))
    assert "Made byOffice" in read(named.split("<main>")[0])
    assert "Vintage2026-Q2" in read(page_of(vintage="2026-Q2").split("<main>")[0])
    assert "Vintage" not in page_of(vintage=None)


def test_the_page_says_what_was_paid_and_what_is_left_of_the_year() -> None:
    """What is left is rounded down, what was paid up, and how many more such releases fit is counted exactly."""
    year = Paid("", "year", "2026-Q1", "3:ab", budget=Fraction(3, 200), cost=Fraction(1, 300), left=Fraction(7, 600))
    told = read(part(page_of(paid=year), "paid"))
    assert "Accountyear" in told
    assert "Key2026-Q1" in told
    assert "Budgetrho 0.015" in told
    assert "Paidrho 0.00333334" in told
    assert "Left after itrho 0.0116666, 77.7% of the budget: room for 3 more such releases" in told
    assert "Ledger entry3:ab" in told
    assert "Paid from the account year: 77.7% of its budget is left." in read(page_of(paid=year))
    assert "No budget was given" in page_of()
    assert "Under" not in told
    more = {
        **vars(year),
        "left": Fraction(1, 300),
        "epsilon": 1.0,
        "delta": 1e-9,
        "period": "2026",
        "above": ("office",),
    }
    told = read(part(page_of(paid=Paid(**more)), "paid"))
    assert "room for 1 more such releaseLedger" in told
    assert "Accountyear, in 2026" in told
    assert "Underoffice" in told
    assert "for \u03b5 = 1 at \u03b4 = 10\u207b\u2079" in told
    assert "no room for another" in read(part(page_of(paid=Paid(**{**more, "left": Fraction(1, 301)})), "paid"))
    assert "No ledger remembers" in part(page_of(), "paid")


# The page of a release says for which neighbours its guarantee holds. (bug P1)


@pytest.mark.parametrize(("neighbours", "said"), [("add-remove", "added or removed"), ("replace", "replaced")])
def test_the_page_says_who_comes_and_goes(neighbours: str, said: str) -> None:
    page = page_of(unit="who", protects="person", neighbours=neighbours)
    assert f"Neighbours differ in all rows of one who, {said}; that is one person." in page
