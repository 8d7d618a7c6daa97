"""The page of a collection: what it tells, and how it looks in a real browser."""

from __future__ import annotations

import base64
import re
from itertools import pairwise
from math import log10
from pathlib import Path
from typing import Any

import pytest
from report.browser import Browser, chromium
from report.drawing import Drawing, number, scale
from report.test_browser import LIGHT, OVERLAPS, WIDEST

from zcdp.report.charts import log_ticks
from zcdp.report.estimates_report import _spread, design_map, render_estimates

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


# The page of a collection: every estimate, interval and cost as it was given, and where the axis says.


ROWS = {"a": (0.31, 0.2, 0.4), "b <": (-0.02, 0.0, 0.05), "c": (0.1, 0.08, 0.13), "x" * 30: (0.25, 0.25, 0.26)}


def page(**changes: Any) -> str:
    rows = [
        {"value": value, "frequency": ends[0], "standard_error": 0.01, "lower": ends[1], "upper": ends[2]}
        for value, ends in ROWS.items()
    ]
    return render_estimates(facts() | {"k": 4, "estimates": rows} | changes)


def test_each_value_has_its_own_estimate_and_ends_the_most_frequent_first() -> None:
    text = page()
    heads = re.findall(r"<th scope='col'[^>]*>(\w+)</th>", text[text.index("<div class='inputs'>") :])[:4]
    assert heads == ["value", "frequency", "lower", "upper"]
    rows = re.findall(
        r"<tr><td>([^<]*)</td><td class='number'>([^<]*)</td><td class='number'>([^<]*)</td>"
        r"<td class='number'>([^<]*)</td></tr>",
        text,
    )
    assert rows == [
        ("a", "0.310000", "0.200000", "0.400000"),
        ("x" * 30, "0.250000", "0.250000", "0.260000"),
        ("c", "0.100000", "0.080000", "0.130000"),
        ("b &lt;", "-0.020000", "0.000000", "0.050000"),
    ]


def test_dots_and_intervals_are_where_the_axis_says() -> None:
    text = page()
    found = Drawing(text[text.index("<svg") : text.index("</svg>") + 6])
    order = ["a", "x" * 17 + "\u2026", "c", "b <"]
    names = [one for one in found.of("text") if one.text in order]
    assert [one.text for one in names] == order
    zero, most = (next(one.at("x")[0] for one in found.of("text") if one.text == label) for label in ("0", "0.4"))
    ticks = {number(label): x for label, x in found.labels(level=False)}
    assert list(ticks) == [0, 0.1, 0.2, 0.3, 0.4]
    assert list(ticks.values()) == pytest.approx([zero + (most - zero) * x / 0.4 for x in ticks], abs=0.1)
    values = [ROWS[key] for key in ("a", "x" * 30, "c", "b <")]
    for name, line, dot, (frequency, lower, upper) in zip(
        names, found.of("line", "line"), found.of("circle", "dot"), values, strict=True
    ):
        places = [zero + (most - zero) * x / 0.4 for x in (lower, upper, frequency)]
        assert [*line.at("x1", "x2"), *dot.at("cx")] == pytest.approx(places, abs=0.16)
        heights = {*line.at("y1", "y2"), *dot.at("cy")}
        assert len(heights) == 1
        assert 0 < name.at("y")[0] - heights.pop() < 8
        assert name.at("x")[0] < min(places)
    rows = [one.at("cy")[0] for one in found.of("circle", "dot")]
    assert rows == sorted(rows)
    assert found.is_inside()


def test_the_wide_chart_shows_the_same_as_the_narrow_one() -> None:
    """Both are on the page, and the style shows one of them."""
    text = page()
    pictures = [Drawing(one) for one in re.findall(r"<svg class=\"chart (?:narrow|wide)\".*?</svg>", text, re.DOTALL)]
    assert [one.width for one in pictures] == [360, 960]
    read = []
    for one in pictures:
        ticks = [(number(label), x) for label, x in one.labels(level=False)]
        (low, start), (high, end) = ticks[0], ticks[-1]
        read.append([low + (dot.at("cx")[0] - start) * (high - low) / (end - start) for dot in one.of("circle", "dot")])
        assert one.is_inside()
    assert read[0] == pytest.approx(read[1], abs=2e-3)


def test_the_mean_of_a_number_is_told_with_its_range() -> None:
    row = {"value": "mean", "frequency": 35.25, "standard_error": 1.125, "lower": 32.5, "upper": 38.0}
    text = page(estimates=[row], number={"low": -10.0, "high": 120.0}, design=None, designs=None)
    assert "35.25, with a standard error of 1.12: between 32.5 and 38 at level 0.95, for these clients." in text
    found = Drawing(text[text.index("<svg") : text.index("</svg>") + 6])
    ticks = {float(label): x for label, x in found.labels(level=False)}
    assert min(ticks) == -10
    (line,), (dot,) = found.of("line", "line"), found.of("circle", "dot")
    (low, start), *_, (high, end) = ticks.items()
    scale = (high - low) / (end - start)
    told = [low + (x - start) * scale for x in (*line.at("x1", "x2"), *dot.at("cx"))]
    assert told == pytest.approx([32.5, 38.0, 35.25], abs=0.1)


def test_designs_of_one_kind_and_several_sizes_are_all_on_the_map() -> None:
    """Windows of one byte and of two: the better one was not drawn where the dot of the other took its place."""
    row = {"value": "mean", "frequency": 35.25, "standard_error": 1.125, "lower": 32.5, "upper": 38.0}
    given = facts()
    own = {**given["design"], "frequency": None, "bytes": 2}
    kinds = [design("SquareWave", 0.001) | {"bytes": 2}, design("SquareWave", 0.003) | {"bytes": 1}]
    others = [*kinds, design("textbook", 0.002) | {"bytes": 2}]
    text = page(estimates=[row], number={"low": 0.0, "high": 99.0}, rounds=1, design=own, designs=others)
    assert "The largest standard error of the mean in one round, among 100000 clients" in text
    assert "<small>of the mean, at most</small>" in text
    found = Drawing(text[text.index("<svg", text.index("What other designs")) :].split("</svg>")[0] + "</svg>")
    short, textbook, long = sorted(dot.at("cx", "cy") for dot in found.of("circle", "other-dot"))
    assert short[0] < textbook[0] == long[0]
    assert short[1] < textbook[1] < long[1]  # the larger error is higher up


def test_cost_is_rounded_up_and_told_for_all_answers() -> None:
    text = page(epsilon=1.23451, rho=0.0987611, delta="1/1000", answered=3, rounds=8, reports=123)
    told = re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)<small>([^<]*)</small>", text)
    assert told[:3] == [
        ("A client answers", "3 of 8", "rounds"),
        ("Epsilon at \u03b4 = 0.001", "\u03b5 = 1.235", "for all answers of a client"),
        ("Privacy spent (zCDP)", "\u03c1 = 0.09877", "for all answers of a client"),
    ]
    assert told[3] == ("Standard error by design", "0.0009", "of a frequency of 0.0156")
    assert told[4] == ("Error of the textbook", "0.0044", "at the same budget, 4.89 times as much")
    assert "123 reports of" in text
    assert "Standard error by design" not in page(design=None)


def test_it_says_for_whom_the_intervals_hold() -> None:
    assert "hold together at level 0.95, for these clients." in page()
    assert "at level 0.9, for the population that the clients are drawn from." in page(of="population", level="0.9")


def test_designs_are_told_from_the_least_error_each_with_its_own_numbers() -> None:
    text = page()
    body = text[text.index("<table class='queries'>") :]
    rows = re.findall(r"<code>(\w+)\(.*?'rounds'>(\d+)<.*?error'>([\d.]+)<.*?report'>([\d.]+)<", body)
    assert rows == [
        ("RandomizedResponse", "1", "0.0009", "1"),
        ("SubsetSelection", "1", "0.002", "1"),
        ("textbook", "6", "0.0044", "1"),
        ("HadamardResponse", "4", "0.005", "1"),
    ]
    assert "a frequency of 0.0156 in one round, among 100000 clients" in text
    assert "within epsilon = 8, delta = 1e-6;" in text


def test_the_same_mechanism_over_other_rounds_is_another_design() -> None:
    given = facts()
    twin = {**given["design"], "answered": 2, "standard_error": 0.0031}
    twin["name"] = "RandomizedResponse"
    text = page(designs=[*given["designs"], twin])
    body = text[text.index("<table class='queries'>") :]
    assert body.count("RandomizedResponse(") == 2
    assert body.count("<b>this design</b>") == 1


def test_of_one_round_the_map_is_over_bytes() -> None:
    given = facts()
    sizes = {"SubsetSelection": 16.0, "HadamardResponse": 2.0}
    others = [{**one, "bytes": sizes[one["name"]]} for one in given["designs"] if one["name"] in sizes]
    text = page(rounds=1, designs=others, design=given["design"] | {"bytes": 4.0})
    found = Drawing(text[text.index("<svg", text.index("What other designs")) :].split("</svg>")[0] + "</svg>")
    ring = found.of("circle", "mark")[0].at("cx", "cy")
    dots = [one.at("cx", "cy") for one in found.of("circle", "other-dot")]
    subset, hadamard = max(dots), min(dots)  # over bytes: 2, 4 and 16
    assert (ring[0] - hadamard[0]) * 2 == pytest.approx(subset[0] - ring[0], abs=0.4)
    assert hadamard[1] < subset[1] < ring[1]  # the larger error is higher up


# The map of designs: every point where both logarithmic axes say, and names that can be told apart.


MAPS = {
    "rounds": (
        {"A": [(1.0, 0.001), (2.0, 0.004), (6.0, 0.05)], "B": [(1.0, 0.002), (3.0, 0.0031), (6.0, 0.0043)]},
        (1.0, 0.001),
        "A",
    ),
    "close together": (
        {"A": [(1.0, 0.02), (30.0, 0.021)], "B": [(1.0, 0.03), (30.0, 0.0211)], "C": [(30.0, 0.0212)]},
        (4.0, 0.04),
        "B",
    ),
    "a wide range": ({"A": [(1.0, 3e-5), (365.0, 0.2)], "B": [(10.0, 0.3), (100.0, 0.2)]}, (100.0, 0.11), "A"),
    "one round": ({"A": [(1.0, 0.5)], "B": [(1.0, 0.1)]}, (1.0, 0.2), "A"),
}


@pytest.mark.parametrize("name", MAPS)
def test_every_design_is_where_the_axes_say(name: str) -> None:
    lines, own, kind = MAPS[name]
    found = Drawing(design_map(lines, own, kind, across="rounds & more", text="said"))
    down = scale([(log10(float(label)), place) for label, place in found.labels(level=True)])
    upright = [(log10(float(label)), place) for label, place in found.labels(level=False)]
    across = scale(upright) if len(upright) > 1 else lambda _: upright[0][1]
    least_best = max([own[1], *(min(y for _, y in line) for line in lines.values())])
    shown = {name: [one for one in line if one[1] <= 1.5 * least_best] for name, line in lines.items()}
    drawn = {}
    for one in found.of("polyline"):
        points = [tuple(map(float, pair.split(","))) for pair in one.given["points"].split()]
        drawn[tuple(points)] = one.given["class"]
    for label, line in shown.items():
        places = [(across(log10(x)), down(log10(y))) for x, y in line]
        [match] = [one for one in drawn if len(one) == len(places) and near(one, places)]
        assert drawn[match] == ("line" if label == kind else "other")
    [ring] = found.of("circle", "mark")
    assert near([ring.at("cx", "cy")], [(across(log10(own[0])), down(log10(own[1])))])
    assert list(drawn.values())[-1] == "line"  # one's own is drawn on top of the others
    assert found.is_inside()
    words = [one.text for one in found.of("text")]
    assert {"this design", "rounds & more", "standard error", *lines} <= set(words)


def near(found: object, wanted: list[tuple[float, float]]) -> bool:
    return all(
        abs(a - c) < 0.3 and abs(b - d) < 0.3
        for (a, b), (c, d) in zip(found, wanted, strict=True)  # type: ignore[call-overload]
    )


@pytest.mark.parametrize("name", MAPS)
def test_names_stand_beside_the_ends_of_their_lines_and_apart(name: str) -> None:
    lines, own, kind = MAPS[name]
    found = Drawing(design_map(lines, own, kind, across="rounds", text="said"))
    labels = [one for one in found.of("text") if one.text in lines]
    assert len(labels) == len(lines)
    heights = sorted(one.at("y")[0] for one in labels)
    assert all(two - one >= 13.9 for one, two in pairwise(heights))
    assert ["class" in one.given for one in labels] == [one.text == kind for one in labels]
    for label, leader in zip(labels, found.of("line", "leader"), strict=True):
        assert label.at("y")[0] - leader.at("y2")[0] == pytest.approx(4, abs=0.11)
        assert 0 < label.at("x")[0] - leader.at("x2")[0] < 6
        ends = [one.given["points"].split()[-1].split(",") for one in found.of("polyline")]
        assert any(near([leader.at("x1", "y1")], [(float(x) + 3, float(y))]) for x, y in ends)


def test_labels_keep_their_order_and_stay_above_the_floor() -> None:
    found = _spread({"low": 229.0, "high": 20.0, "middle": 228.0, "lower": 229.5})
    assert sorted(found, key=lambda name: found[name]) == ["high", "middle", "low", "lower"]
    places = sorted(found.values())
    assert all(two - one >= 14 for one, two in pairwise(places))
    assert places[-1] <= 230
    assert found["high"] == pytest.approx(22, abs=2.1)
    assert _spread({"a": 50.0, "b": 100.0}) == {"a": 50.0, "b": 100.0}


@pytest.mark.parametrize(
    ("least", "most"), [(1, 30), (3e-4, 2e-2), (1, 365), (1e-5, 0.4), (0.02, 0.045), (5, 5), (1, 6)]
)
@pytest.mark.parametrize("many", [6, 7])
def test_ticks_are_round_numbers_around_both_ends(least: float, most: float, many: int) -> None:
    found = log_ticks(least, most, many)
    assert found == sorted(set(found))
    assert len(found) <= many + 1
    assert found[0] <= least * (1 + 1e-9)
    digits = [round(float(f"{one:e}".split("e")[0]), 9) for one in found]
    assert set(digits) <= {1, 2, 3, 5}
    assert found[-1] >= most / 10.01
    tenth = [one for one in found if one <= least * (1 + 1e-9)]
    assert len(tenth) == 1  # one below the least is enough
