"""A curve and bars stand where their axes say."""

from __future__ import annotations

import re
from html import unescape
from itertools import pairwise
from math import log10
from typing import Any

import pytest
from report import sample
from report.drawing import Drawing, number, scale

from zcdp.accounting.plan_account import Account
from zcdp.report.account_report import curve_section, routes_section
from zcdp.report.charts import bars, curve, even_ticks

NEAR = 0.16  # places are written to a tenth
CURVES = {
    "a fall over nine powers": ([(0.0, 0.3), (0.5, 0.02), (1.0, 1e-4), (2.37, 3e-9)], (1.4, 1e-5)),
    "from one": ([(0.0, 1.0), (3.0, 0.5), (12.5, 0.011)], (9.0, 0.03)),
    "one power only": ([(0.1, 1e-6), (0.2, 1e-6)], None),
    "a mark beyond the curve": ([(0.5, 1e-3), (1.0, 1e-5)], (7.3, 1e-14)),
    "many powers": ([(0.0, 0.9), (40.0, 1e-40), (88.0, 1e-200)], (20.0, 1e-9)),
}


def drawn(points: list[tuple[float, float]], mark: tuple[float, float] | None) -> Drawing:
    return Drawing(curve(points, mark, "a < b", name="n", title="t", text="said"))


@pytest.mark.parametrize("name", CURVES)
def test_every_point_of_a_curve_is_where_the_axes_say(name: str) -> None:
    points, mark = CURVES[name]
    found = drawn(points, mark)
    down = scale([(log10(number(label)), place) for label, place in found.labels(level=True)])
    across = scale([(number(label), place) for label, place in found.labels(level=False)])
    dots = [one.at("cx", "cy") for one in found.of("circle", "dot")]
    for (x, y), (epsilon, delta) in zip(dots, points, strict=True):
        assert (x, y) == pytest.approx((across(epsilon), down(log10(delta))), abs=NEAR)
    [line] = found.of("polyline")
    assert [tuple(map(float, pair.split(","))) for pair in line.given["points"].split()] == dots
    rings = [one.at("cx", "cy") for one in found.of("circle", "mark")]
    assert len(rings) == (mark is not None)
    if mark:
        assert rings[0] == pytest.approx((across(mark[0]), down(log10(mark[1]))), abs=NEAR)
        [guide] = found.of("path", "guide")
        floor = max(one.at("y1")[0] for one in found.of("line", "grid"))
        left = across(0)
        assert guide.given["d"] == f"M{left:.0f} {rings[0][1]:.1f}H{rings[0][0]:.1f}V{floor:.0f}"
        [named] = found.of("text", "strong halo")
        assert named.text == "a < b"
        to_the_left = named.given.get("text-anchor") == "end"
        assert (named.at("x")[0] < rings[0][0]) == to_the_left == (rings[0][0] > 190)
    assert found.is_inside()
    assert found.said == "said"


@pytest.mark.parametrize("name", CURVES)
def test_the_axes_of_a_curve_reach_around_all_points_with_few_labels(name: str) -> None:
    points, mark = CURVES[name]
    found = drawn(points, mark)
    known = [*points, mark] if mark else points
    powers = [log10(number(label)) for label, _ in found.labels(level=True)]
    assert powers == sorted(powers, reverse=True)
    assert 2 <= len(powers) <= 7
    assert len({round(a - b) for a, b in pairwise(powers)}) == 1
    assert max(powers) >= max(log10(y) for _, y in known) > max(powers) - 1.01
    heights = [one.at("cy")[0] for one in found.of("circle")]
    floor = max(one.at("y1")[0] for one in found.of("line", "grid"))
    assert min(place for _, place in found.labels(level=True)) - 0.1 <= min(heights) <= max(heights) <= floor + 0.1
    values = [number(label) for label, _ in found.labels(level=False)]
    assert values[0] == 0
    assert len(values) >= 2


@pytest.mark.parametrize("largest", [0.007, 0.02, 0.1, 0.3, 0.99, 1, 1.4, 2, 3.7, 5, 5.5, 8, 10, 22, 64, 99.9, 300])
def test_ticks_are_zero_and_round_numbers_most_of_the_way(largest: float) -> None:
    found = even_ticks(largest, 5)
    step = found[1]
    assert found == pytest.approx([n * step for n in range(len(found))])
    assert found[-1] <= largest * (1 + 1e-12) <= (found[-1] + step) * (1 + 1e-9)
    assert 3 <= len(found) <= 6
    digits = step / 10.0 ** (len(str(int(step))) - 1) if step >= 1 else float(f"{step:e}".split("e")[0])
    assert round(digits, 9) in (1, 2, 2.5, 5)
    assert even_ticks(0.0, 5) == [0.0, 1.0]


def test_bars_are_as_long_as_their_values_and_the_one_that_counts_is_marked() -> None:
    items = [("profile", 1.5, "1.50000", True), ("a & b", 3.0, "3.00000", False), ("none", 0.0, "0", False)]
    found = Drawing(bars(items, name="n", title="t", text="said"))
    boxes = found.of("rect")
    widths = [one.at("width")[0] for one in boxes]
    assert widths[0] == pytest.approx(widths[1] / 2, abs=NEAR)
    assert 0 < widths[2] < 2
    assert [one.given["class"] for one in boxes] == ["best", "bar", "bar"]
    texts = found.of("text")
    assert [one.text for one in texts] == ["profile", "1.50000", "a & b", "3.00000", "none", "0"]
    for box, label, value in zip(boxes, texts[::2], texts[1::2], strict=True):
        top, tall = box.at("y", "height")
        assert top - 16 < label.at("y")[0] < top
        assert top < value.at("y")[0] < top + tall
        assert value.at("x")[0] == pytest.approx(box.at("width")[0] + 6, abs=NEAR)
    assert ["class" in one.given for one in texts[1::2]] == [True, False, False]
    tops = [one.at("y")[0] for one in boxes]
    assert tops[1] - tops[0] == tops[2] - tops[1] > 29
    assert found.is_inside()
    assert max(widths) + 60 < found.width
    assert Drawing(bars([("x", 0.0, "0", False)], name="n", title="t", text="s")).of("rect")


SURVEY = {
    "age by sex": (20, "RAPPOR(epsilon='0.1')", None),
    "daily survey": (30, "RAPPOR(epsilon='0.1')", None),
    "reports": (1, "RAPPOR(epsilon='0.1')", None),
    "best region": (2, "RAPPOR(epsilon='0.1')", None),
}


def account() -> dict[str, Any]:
    return sample.account(SURVEY)


def plain(html: str) -> str:
    """What a person reads, cell by cell."""
    words = re.sub(r"</?(data|strong)\b[^>]*>", "", html)
    return unescape(re.sub(r"(\s*\|\s*)+", "|", re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "|", words))))


def test_routes_are_told_from_the_least_and_the_one_used_is_marked() -> None:
    facts = account()
    facts["total"] |= {
        "route": "profile",
        "epsilon": 2.0,
        "routes": {"zcdp": 5.0, "profile": 2.0, "rdp": 3.0, "x": "inf"},
    }
    facts["total"]["usual"] = {"epsilon^2/2": {"rho": 1.0, "epsilon": 4.0}, "none": {"rho": "inf", "epsilon": "inf"}}
    text = routes_section(Account.from_dict(facts))
    rows = [plain(row).strip("|").split("|") for row in text.split("<tbody>")[1].split("</tr>")][:-1]
    assert [row[1] for row in rows] == ["2", "3", "4", "5"]
    assert ["used here" in row[0] for row in rows] == [True, False, False, False]
    assert "per release, by zCDP" in rows[2][0]
    widths = [one.at("width")[0] for one in Drawing(text).of("rect")]
    assert widths == pytest.approx([widths[3] * value / 5 for value in (2, 3, 4, 5)], abs=0.16)
    assert [one.given["class"] for one in Drawing(text).of("rect")] == ["best", "bar", "bar", "bar"]
    facts["total"] |= {"routes": {"x": "inf"}, "usual": {}}
    assert routes_section(Account.from_dict(facts)) == ""


def test_the_curve_marks_the_certified_epsilon_and_lists_every_point() -> None:
    facts = account()
    points = [(0.0, 0.5), (0.5000012, 0.0100000123), (1.0, 1e-4), (2.0, 1e-7), (3.0, 0.0), ("inf", 0.0)]
    facts["curve"] = [{"epsilon": epsilon, "delta": delta} for epsilon, delta in points]
    facts["total"] |= {"epsilon": 1.5, "epsilon_bounds": [1.0, 1.5]}
    text = curve_section(Account.from_dict(facts))
    table = text[text.index("<details>") :]
    pairs = re.findall(
        r'<data value="([^"]*)">([^<]*)</data></td><td class="number"><data value="([^"]*)">([^<]*)<', table
    )
    assert [(float(a), float(b)) for a, _, b, _ in pairs] == [one for one in points if one[0] != "inf"]
    assert [shown for _, shown, _, _ in pairs][:2] == ["0", "0.500002"]
    assert pairs[1][3] == "0.0100001"
    assert "All 5 points as a table" in table
    found = Drawing(text)
    dots = [one.at("cx", "cy") for one in found.of("circle", "dot")]
    assert len(dots) == 4
    ring = found.of("circle", "mark")[0].at("cx", "cy")
    assert ring[0] == pytest.approx((dots[2][0] + dots[3][0]) / 2, abs=0.16)  # 1.5 is between 1 and 2
    assert ring[1] == pytest.approx(
        dots[2][1] + (dots[3][1] - dots[2][1]) * 2 / 3, abs=0.16
    )  # 1e-6: two powers of three
    assert "falls from delta = 0.5 at epsilon = 0 to delta = 10\u207b\u2077 at epsilon = 2." in str(found.said)
    assert "Marked: epsilon = 1.5 at delta = 10\u207b\u2076." in str(found.said)
    facts["total"] |= {"epsilon": "inf", "epsilon_bounds": ["inf", "inf"]}
    assert Drawing(curve_section(Account.from_dict(facts))).of("circle", "mark") == []
