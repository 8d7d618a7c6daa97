"""The page of a collection: what it tells, and how it looks in a real browser."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pytest
from report.browser import Browser, chromium
from report.test_browser import LIGHT, OVERLAPS, WIDEST

from zcdp.report.estimates_report import render_estimates

browsed = pytest.mark.skipif(chromium() is None, reason="NOT CHECKED: the page in a browser needs chromium on the path")


def design(name: str, error: float, answered: int = 1) -> dict[str, Any]:
    mechanism = f"{name}(epsilon='8.00000102', k=64)"
    return {"name": name, "mechanism": mechanism, "answered": answered, "standard_error": error, "bytes": 1.0}


def facts() -> dict[str, Any]:
    rows = [
        {"value": n, "frequency": 0.2 / (n + 1) - 0.01, "standard_error": 0.01, "lower": 0.0, "upper": 0.3 / (n + 1)}
        for n in range(64)
    ]
    others = [design("SubsetSelection", 0.002), design("HadamardResponse", 0.005, 4), design("textbook", 0.0044, 6)]
    own = design("RandomizedResponse", 0.0009)
    return {
        "title": "<script>console.error('in')</script> " + "colours " * 9,
        "mechanism": own["mechanism"],
        "k": 64,
        "rounds": 6,
        "answered": 1,
        "reports": 30_000,
        "level": "0.95",
        "of": "clients",
        "rho": 7.83,
        "delta": "1e-6",
        "epsilon": 8.0,
        "estimates": rows,
        "design": {**own, "frequency": 1 / 64, "clients": 100_000},
        "within": "epsilon = 8, delta = 1e-6",
        "designs": [*others, own],
        "over_rounds": {
            "RandomizedResponse": [(1, 0.0009), (2, 0.004), (6, 0.05)],
            "SubsetSelection": [(1, 0.002), (2, 0.0031), (6, 0.0043)],
            "HadamardResponse": [(1, 0.0058), (4, 0.005), (6, 0.0052)],
        },
    }


def test_it_tells_the_estimates_the_cost_and_the_other_designs() -> None:
    page = render_estimates(facts())
    assert "<script" not in page
    assert "The 40 most frequent of 64 values. All 64 intervals hold together at level 0.95, for these clients." in page
    assert "What other designs would have given" in page
    assert page.count("<b>this design</b>") == 1  # it is not listed again as another
    table = page[page.index("<table class='queries'>") :]
    assert table.index("this design") < table.index("SubsetSelection(") < table.index("textbook:")
    assert "What other designs would have given" not in render_estimates(facts() | {"designs": []})


def test_the_map_shows_every_kind_and_where_this_design_is() -> None:
    page = render_estimates(facts())
    drawn = page[page.index('aria-labelledby="map-title') : page.index("The ring is this design")]
    for name in ("RandomizedResponse", "SubsetSelection", "HadamardResponse", "textbook"):
        assert drawn.count(f">{name}</text>") == 1
    (ring,) = re.findall(r'class="mark" cx="([\d.]+)" cy="([\d.]+)"', drawn)
    (own,) = re.findall(r'class="line" points="([\d.]+),([\d.]+) ', drawn)
    assert ring == own  # the ring lies on the line of its own kind, at the first of its rounds
    others = [
        tuple(map(float, re.findall(r"[\d.]+", line))) for line in re.findall(r'class="other" points="(.*?)"', drawn)
    ]
    assert all(y < float(ring[1]) for line in others for y in line[1::2])  # higher up: a larger error
    single = render_estimates(facts() | {"rounds": 1, "answered": 1})
    assert "bytes a report</text>" in single
    assert "rounds answered" not in single


@browsed
@pytest.mark.deep
@pytest.mark.parametrize(("width", "dark"), [(360, False), (360, True), (768, True), (1280, False)])
def test_the_page_fits_and_is_quiet(tmp_path: Path, width: int, dark: bool) -> None:
    page = tmp_path / "estimates.html"
    page.write_text(render_estimates(facts()), encoding="utf-8")
    with Browser(tmp_path / "profile") as browser:
        browser.open(page, width=width, dark=dark)
        assert browser.value(WIDEST) <= width
        assert browser.value("document.documentElement.scrollWidth") <= width
        assert browser.value(OVERLAPS) == 0
        assert browser.value(LIGHT) == ("rgb(20, 23, 27)" if dark else "rgb(255, 255, 255)")
        asked = [request["request"]["url"] for request in browser.told("Network.requestWillBeSent")]
        assert [url for url in asked if url != "data:,"] == [page.as_uri()]
        assert browser.told("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown") == []
        sheet = base64.b64decode(browser.ask("Page.printToPDF", printBackground=True)["data"])
    assert sheet.startswith(b"%PDF")
