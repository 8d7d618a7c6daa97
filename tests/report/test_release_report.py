"""The page of a release: whose data it protects, the first rows of each table, and numbers to six digits."""

from __future__ import annotations

import re
from functools import cache
from html import unescape
from typing import Any

import pytest
from report import sample

from zcdp import account
from zcdp.accounting.plan_account import Account
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


# The page of a release says for which neighbours its guarantee holds. (bug P1)


@pytest.mark.parametrize(("neighbours", "said"), [("add-remove", "added or removed"), ("replace", "replaced")])
def test_the_page_says_who_comes_and_goes(neighbours: str, said: str) -> None:
    facts = {"unit": "who", "protects": "person", "neighbours": neighbours}
    page = render_release(account("DiscreteGaussian(sigma=20)", curve=False), [], facts)
    assert f"Neighbours differ in all rows of one who, {said}; that is one person." in page


SURVEY = {
    "age by sex": (20, "RAPPOR(epsilon='0.1')", None),
    "daily survey": (30, "RAPPOR(epsilon='0.1')", None),
    "reports": (1, "RAPPOR(epsilon='0.1')", None),
    "best region": (2, "RAPPOR(epsilon='0.1')", None),
}


def an_account() -> dict[str, Any]:
    return sample.account(SURVEY)


def plain(html: str) -> str:
    """What a person reads, cell by cell."""
    words = re.sub(r"</?(data|strong)\b[^>]*>", "", html)
    return unescape(re.sub(r"(\s*\|\s*)+", "|", re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "|", words))))


def part(page: str, name: str) -> str:
    return page.split(f'<section id="{name}">')[1].split("</section>", maxsplit=1)[0]


TABLE = {
    "name": "ages <1>",
    "about": "counts by age",
    "columns": {"age": [f"a{n}" for n in range(14)], "count": list(range(14)), "mean": [n / 7 for n in range(14)]},
}


def released(unit: str = "row", **changes: Any) -> str:
    facts = {"unit": unit, "neighbours": "add-remove", "protects": "visit"}
    return render_release(Account.from_dict(an_account()), [TABLE | changes], facts)


def test_published_tables_are_shown_from_their_first_row() -> None:
    text = part(released(), "tables")
    rows = [plain(row).strip("|").split("|") for row in text.split("<tbody>")[1].split("</tr>")][:-1]
    assert rows == [[f"a{n}", str(n), f"{n / 7:.6g}"] for n in range(12)]
    assert "The first 12 of 14 rows." in text
    assert "<h3>ages &lt;1&gt;</h3>\n<p>Counts by age.</p>" in text
    assert [bool(kind) for kind in re.findall(r'<th scope="col"( class="number")?>', text)] == [False, True, True]
    twelve = {name: values[:12] for name, values in TABLE["columns"].items()}  # type: ignore[attr-defined]
    assert "The first" not in part(released(columns=twelve), "tables")
    assert part(released(columns={"age": [], "count": []}), "tables").count("<tr>") == 1
    truth = part(released(columns={"kept": [True]}), "tables")
    assert "<td>True</td>" in truth
    assert '<th scope="col">kept' in truth


def test_a_release_says_whose_rows_are_protected() -> None:
    assert "Neighbours differ in one row, added or removed; that is one visit." in released()
    assert "Neighbours differ in all rows of one who, added or removed" in released("who")
