"""The map of designs: every point where both logarithmic axes say, and names that can be told apart."""

from __future__ import annotations

from itertools import pairwise
from math import log10

import pytest
from report.drawing import Drawing, scale

from zcdp.report.estimates_report import _spread, _ticks, design_map

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
    found = _ticks(least, most, many)
    assert found == sorted(set(found))
    assert len(found) <= many + 1
    assert found[0] <= least * (1 + 1e-9)
    digits = [round(float(f"{one:e}".split("e")[0]), 9) for one in found]
    assert set(digits) <= {1, 2, 3, 5}
    assert found[-1] >= most / 10.01
    tenth = [one for one in found if one <= least * (1 + 1e-9)]
    assert len(tenth) == 1  # one below the least is enough
