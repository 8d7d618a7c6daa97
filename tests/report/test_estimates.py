"""The page of a collection: every estimate, interval and cost as it was given, and where the axis says."""

from __future__ import annotations

import re
from typing import Any

import pytest
from report.drawing import Drawing
from report.test_estimates_page import facts

from zcdp.report.estimates_report import render_estimates

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
    assert sorted({one.at("x1")[0] for one in found.of("line", "grid")}) == [zero, most]
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


def test_cost_is_rounded_up_and_told_for_all_answers() -> None:
    text = page(epsilon=1.23451, rho=0.0987611, delta="1/1000", answered=3, rounds=8, reports=123)
    told = re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)<small>([^<]*)</small>", text)
    assert told[:3] == [
        ("A client answers", "3 of 8", "rounds"),
        ("Epsilon at \u03b4 = 0.001", "\u03b5 = 1.235", "for all answers of a client"),
        ("Privacy spent (zCDP)", "\u03c1 = 0.09877", "for all answers of a client"),
    ]
    assert told[3] == ("Standard error by design", "0.0009", "of a frequency of 0.0156")
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
