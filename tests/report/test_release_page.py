"""The page of a release: whose data it protects, the first rows of each table, and numbers to six digits."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest

from zcdp import account
from zcdp.report.release_report import render_release

FACTS = {"unit": "who", "protects": "household", "neighbours": "replace"}


@cache
def made() -> Any:
    return account("DiscreteGaussian(sigma=20)", curve=False)


def tables(page: str) -> str:
    return page[page.index('id="tables"') : page.index('id="assumed"')]


@pytest.mark.parametrize(
    ("unit", "said"), [("who", "all rows of one who, replaced; that is one household"), ("row", "one row, replaced")]
)
def test_the_page_says_whose_rows_neighbours_differ_in(unit: str, said: str) -> None:
    page = render_release(made(), [], {**FACTS, "unit": unit})
    assert f"Neighbours differ in {said}" in page
    assert "chosen without looking at the data" in page
    assert "Intervals are about the noise alone" in page


@pytest.mark.parametrize("size", [0, 1, 12, 13, 1234])
def test_the_first_twelve_rows_are_shown_and_how_many_there_are(size: int) -> None:
    columns = {"key": [f"k{n}" for n in range(size)], "value": [1000 + n for n in range(size)]}
    shown = tables(render_release(made(), [{"name": "a", "about": "some noise", "columns": columns}], FACTS))
    assert re.findall(r"<td>(k\d+)</td>", shown) == columns["key"][:12]
    assert re.findall(r'<td class="number">(\d+)</td>', shown) == list(map(str, columns["value"][:12]))
    assert ("The first 12 of" in shown) == (size > 12)
    assert size < 1000 or "The first 12 of 1,234 rows" in shown
    assert "<h3>a</h3>" in shown
    assert "<p>Some noise.</p>" in shown


def test_figures_are_told_to_six_digits_and_whole_ones_as_they_are() -> None:
    columns = {"name": ["x"], "ok": [True], "value": [123456789], "sd": [12.3456789], "lower": [-0.000123456789]}
    shown = tables(render_release(made(), [{"name": "a", "about": "b", "columns": columns}], FACTS))
    cells = re.findall(r"<td( class=\"number\")?>([^<]*)</td>", shown)
    number = ' class="number"'
    assert cells == [("", "x"), ("", "True"), (number, "123456789"), (number, "12.3457"), (number, "-0.000123457")]
    heads = re.findall(r"<th scope=\"col\"( class=\"number\")?>([^<]*)</th>", shown)
    assert heads == [("", "name"), ("", "ok"), (number, "value"), (number, "sd"), (number, "lower")]


def test_all_tables_are_there_in_their_order() -> None:
    several = [{"name": name, "about": name, "columns": {"value": [n]}} for n, name in enumerate("cab")]
    assert re.findall(r"<h3>(\w)</h3>", tables(render_release(made(), several, FACTS))) == ["c", "a", "b"]
