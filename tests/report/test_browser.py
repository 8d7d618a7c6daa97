"""The report in a real browser. Under `make deep`, which says so where there is no Chromium to run it in."""

from __future__ import annotations

import base64
from fractions import Fraction
from math import inf
from pathlib import Path

import pytest
from report.browser import Browser, chromium
from report.sample import account
from report.sample import page as render

from zcdp.accounting.plan_account import Account
from zcdp.report.release_report import Paid, render_release
from zcdp.report.table_charts import Axes, Shown

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(chromium() is None, reason="NOT CHECKED: the report in a browser needs chromium on the path"),
]

WHITE = "rgb(255, 255, 255)"
LIGHT = "matchMedia('print').matches || getComputedStyle(document.body).backgroundColor"
SMALLEST = "Math.min(...[...document.querySelectorAll('svg')].map(one => one.getBoundingClientRect().height))"
WIDEST = "Math.max(...[...document.querySelectorAll('body *')].map(one => one.getBoundingClientRect().right))"
SHEET = 688  # CSS pixels between the margins of A4: 210 mm less twice 14 mm
HIDDEN = """[...document.querySelectorAll('body *')].filter(one =>
  getComputedStyle(one).overflowY !== 'visible' && one.scrollHeight > one.clientHeight + 1).length"""
OVERLAPS = """(() => { let count = 0;
for (const chart of document.querySelectorAll('svg')) {
  const boxes = [...chart.querySelectorAll('text')].map(one => one.getBoundingClientRect());
  boxes.forEach((a, i) => boxes.slice(i + 1).forEach(b => {
    if (a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom) count += 1; }));
} return count; })()"""

BROKEN = """(() => { let found = [];
for (const cell of document.querySelectorAll('.published td, .published th')) {
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) for (const { 0: word, index } of texts.currentNode.data.matchAll(/\\S+/g)) {
    const range = document.createRange();
    range.setStart(texts.currentNode, index);
    range.setEnd(texts.currentNode, index + word.length);
    if (word.length < 16 && new Set([...range.getClientRects()].map(one => one.top)).size > 1) found.push(word);
  }
} return found; })()"""
"""Words and numbers of published tables that are broken in two."""


def page_in(folder: Path) -> Path:
    page = folder / "report.html"
    given = account()
    given["title"] = "<script>console.error('in')</script>"
    given["queries"][0]["name"] = "a very long name " * 8 + "x" * 90
    page.write_text(render(given), encoding="utf-8")
    return page


@pytest.mark.parametrize(
    ("width", "dark", "ground"),
    [
        (360, False, "rgb(255, 255, 255)"),
        (768, False, "rgb(255, 255, 255)"),
        (1280, False, "rgb(255, 255, 255)"),
        (1280, True, "rgb(20, 23, 27)"),
    ],
)
def test_the_page_is_quiet_whole_and_fits(tmp_path: Path, width: int, dark: bool, ground: str) -> None:
    page = page_in(tmp_path)
    with Browser(tmp_path / "profile") as browser:
        browser.open(page, width=width, dark=dark)
        assert browser.value("document.querySelectorAll('svg .line, svg .best').length") == 2
        assert browser.value(SMALLEST) > 150
        assert browser.value(WIDEST) <= width
        assert browser.value("document.documentElement.scrollWidth") <= width
        assert browser.value(OVERLAPS) == 0
        assert browser.value(LIGHT) == ground
        asked = [request["request"]["url"] for request in browser.told("Network.requestWillBeSent")]
        assert [url for url in asked if url != "data:,"] == [page.as_uri()]
        assert browser.told("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown") == []


def test_it_prints(tmp_path: Path) -> None:
    with Browser(tmp_path / "profile") as browser:
        browser.open(page_in(tmp_path), width=1280, dark=True)
        sheet = base64.b64decode(browser.ask("Page.printToPDF", printBackground=True)["data"])
    assert sheet.startswith(b"%PDF")
    assert 2 <= sheet.count(b"/Type /Page\n") <= 8  # with the statements of the theorems, which print unfolded


def test_nothing_is_cut_off_on_paper_and_the_total_stands_once(tmp_path: Path) -> None:
    with Browser(tmp_path / "profile") as browser:
        browser.open(page_in(tmp_path), width=SHEET, media="print")
        assert browser.value(WIDEST) <= SHEET
        assert browser.value("getComputedStyle(document.querySelector('tfoot')).display") == "table-row-group"
        assert browser.value(HIDDEN) == 0


# The page of a release: pictures of bars, steps, strips and panels, with long names and large figures.


def release_in(folder: Path) -> Path:
    regions = [f"Region of the {n}th and very long name" for n in range(17)]
    figures = {"value": [123_456_789 - 7_000_000 * n for n in range(17)]}
    figures |= {
        "lower": [one - 2_000_000 for one in figures["value"]],
        "upper": [one + 2_000_000 for one in figures["value"]],
    }
    region, age, town = Axes(("region",)), Axes(("age_from", "age_to")), Axes(("town",))
    many = [name for name in regions for _ in range(12)]
    towns = {"region": many, "town": [f"Town {n}" for n in range(204)], "value": list(range(204))}
    steps = {"region": many, "age_from": [*range(12)] * 17, "age_to": [*range(1, 13)] * 17}
    steps |= {
        "value": [n % 40 for n in range(204)],
        "lower": [n % 40 - 3 for n in range(204)],
        "upper": [n % 40 + 3 for n in range(204)],
    }
    blocks = {"region": regions, "quantile": [0.5] * 17, "to": [1000 * n + 1000 for n in range(17)]}
    blocks["from"] = [1000 * n for n in range(17)]
    short = {"region": ["Juniper"] * 8, "education": ["vocational", "not stated"] * 4}
    pairs, level = (Axes(("region",)), Axes(("education",))), {"quantile": [0.1, 0.9] * 4}
    among = short | level | {"from": [22_000] * 8, "to": [23_000] * 8, "lower": [-inf] * 8, "upper": [23_000] * 8}
    means = short | {
        f"{name}{part}": [size + n for n in range(8)]
        for name, size in (("sum_", 1_065_041_130), ("", 31_624), ("persons_", 34_505))
        for part in ("value", "lower", "upper")
    }
    means = {{"sum_value": "sum", "persons_value": "persons"}.get(name, name): one for name, one in means.items()}
    tables = [
        Shown("sums", "about", "sum", {"region": regions, **figures}, (region,), ("A rule.",) * 3, "sums.csv"),
        Shown("towns", "about", "persons", towns, (region, town), (), "towns.csv"),
        Shown("ages", "about", "persons", steps, (region, age), (), "ages.csv"),
        Shown("quantiles", "about", "quantiles", blocks, (region,), (), "quantiles.csv"),
        Shown("among", "about", "quantiles", among, pairs, (), "among.csv"),
        Shown("means", "about", "mean", means, pairs, (), "means.csv"),
        Shown("all", "about", "persons", {"value": [6_248_590], "lower": [6_248_572], "upper": [6_248_608]}),
    ]
    paid = Paid("anna", "population-2026", "2026-Q1", f"17:{'ab' * 32}", budget=Fraction(3, 200), left=Fraction(1, 100))
    facts = {"unit": "person_id", "protects": "person", "neighbours": "add-remove", "vintage": "2026-Q1"}
    page = folder / "release.html"
    page.write_text(render_release(Account.from_dict(account()), tables, facts, paid), encoding="utf-8")
    return page


@pytest.mark.parametrize(("width", "dark"), [(360, False), (768, False), (1280, False), (1280, True)])
def test_the_page_of_a_release_fits(tmp_path: Path, width: int, dark: bool) -> None:
    page = release_in(tmp_path)
    with Browser(tmp_path / "profile") as browser:
        browser.open(page, width=width, dark=dark)
        assert browser.value("document.querySelectorAll('#tables svg').length") == 1 + 17 + 17 + 1 + 1 + 1
        assert browser.value(WIDEST) <= width
        assert browser.value("document.documentElement.scrollWidth") <= width
        assert browser.value(OVERLAPS) == 0
        assert browser.value(BROKEN) == []
        asked = [request["request"]["url"] for request in browser.told("Network.requestWillBeSent")]
        assert [url for url in asked if url != "data:,"] == [page.as_uri()]
        assert browser.told("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown") == []


def test_the_page_of_a_release_prints(tmp_path: Path) -> None:
    with Browser(tmp_path / "profile") as browser:
        browser.open(release_in(tmp_path), width=SHEET, media="print")
        assert browser.value(WIDEST) <= SHEET
        assert browser.value(BROKEN) == []
        assert browser.value("getComputedStyle(document.querySelector('details.rest')).display") == "none"
        assert browser.value(HIDDEN) == 0
