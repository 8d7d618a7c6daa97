"""Pictures of tables read back by their axes: each bar, step and block stands where its figure is."""

from __future__ import annotations

import re
from itertools import pairwise
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report.drawing import Drawing, scale

from zcdp.report.table_charts import MOST_PANELS, Axes, Shown, axes_of, picture
from zcdp.tables.declaration import read_domains

SEX, AGE, REGION = Axes(("sex",)), Axes(("age_from", "age_to")), Axes(("region",))


def table(measure: str, keys: tuple[Axes, ...], **columns: Any) -> Shown:
    return Shown("t", "about", measure, columns, keys)


def drawings(html: str) -> list[Drawing]:
    return [Drawing(svg) for svg in re.findall(r"<svg.*?</svg>", html, re.DOTALL)]


def plain(label: str) -> float:
    """The number that the label of a tick stands for."""
    for sign, size in (("bn", 1e9), ("M", 1e6), ("k", 1e3)):
        if label.endswith(sign):
            return float(label.removesuffix(sign)) * size
    return float(label.replace(",", ""))


def across(drawn: Drawing) -> Any:
    """Where a value must be, from the ticks below: a grid line, and the label in its middle."""
    lines = [one.at("x1")[0] for one in drawn.of("line", "grid")]
    labels = [(plain(one.text), one.at("x")[0]) for one in drawn.of("text") if one.at("y")[0] > drawn.height - 10]
    assert [x for _, x in labels] == pytest.approx(lines, abs=0.11)
    return scale(labels)


def test_bars_start_at_zero_and_end_at_their_figures_with_an_interval() -> None:
    values, lows, highs = [1200, 300, -40], [1100, 220, -120], [1300, 380, 40]
    html = picture(table("count", (SEX,), sex=["F", "M", "x"], value=values, lower=lows, upper=highs), "t")
    [drawn] = drawings(html)
    at = across(drawn)
    for bar, value in zip(drawn.of("rect", "best"), values, strict=True):
        x, width = bar.at("x", "width")
        assert sorted((x, x + width)) == pytest.approx(sorted((at(0), at(value))), abs=0.2)
    whiskers = [one for one in drawn.of("line", "whisker") if one.at("y1") == one.at("y2")]
    for one, low, high in zip(whiskers, lows, highs, strict=True):
        assert one.at("x1", "x2") == pytest.approx((at(low), at(high)), abs=0.2)
    assert drawn.is_inside()
    assert [one.text for one in drawn.of("text")] == ["0", "1,000", "F", "1,200", "M", "300", "x", "-40"]


def test_means_are_dots_on_an_axis_that_need_not_start_at_zero() -> None:
    values = [31000.5, 34500]
    columns = {"sex": ["F", "M"], "value": values, "lower": [30900, 34400], "upper": [31100, 34600]}
    [drawn] = drawings(picture(table("mean", (SEX,), **columns), "t"))
    at = across(drawn)
    assert [dot.at("cx")[0] for dot in drawn.of("circle", "dot")] == pytest.approx([at(one) for one in values], abs=0.2)
    assert not drawn.of("rect")
    assert at(0) < 0


def test_keys_in_order_are_steps_within_a_band() -> None:
    values, lows, highs = [10, 40, 20], [5, 35, 15], [15, 45, 25]
    columns = {"age_from": [0, 5, 10], "age_to": [5, 10, 15], "value": values, "lower": lows, "upper": highs}
    [drawn] = drawings(picture(table("persons", (AGE,), **columns), "t"))
    level = scale([(plain(label), y) for label, y in drawn.labels(level=True)])
    [line], [band] = drawn.of("path", "line"), drawn.of("path", "band")
    corners = [tuple(map(float, one.split())) for one in re.split("[ML]", line.given["d"])[1:]]
    assert [y for _, y in corners] == pytest.approx([level(one) for one in values for _ in (0, 1)], abs=0.11)
    edges = sorted({x for x, _ in corners})
    assert len(edges) == 4
    assert max(b - a for a, b in pairwise(edges)) - min(b - a for a, b in pairwise(edges)) < 0.2
    area = [tuple(map(float, one.split())) for one in re.split("[ML]", band.given["d"].rstrip("Z"))[1:]]
    ends = [level(one) for one in highs for _ in (0, 1)] + [level(one) for one in reversed(lows) for _ in (0, 1)]
    assert [y for _, y in area] == pytest.approx(ends, abs=0.11)
    below = [one.text for one in drawn.of("text") if one.at("y")[0] > drawn.height - 10]
    assert below == ["0", "5", "10", "15"]
    rest = {"age_from": "not stated", "age_to": "not stated", "value": 12, "lower": 7, "upper": 17}
    [more] = drawings(
        picture(table("persons", (AGE,), **{name: [*columns[name], rest[name]] for name in columns}), "t")
    )
    assert more.of("path", "line") == [line]  # what is no interval is no step


def test_each_group_has_a_panel_of_the_same_scale() -> None:
    regions, ages = ["R1", "R2"], [(0, 5), (5, 10)]
    rows = [(region, *age) for region in regions for age in ages]
    columns = {name: [row[n] for row in rows] for n, name in enumerate(("region", "age_from", "age_to"))}
    html = picture(table("persons", (REGION, AGE), **columns, value=[1, 2, 300, 400]), "t")
    assert re.findall("<h4>(.*?)</h4>", html) == regions
    first, second = drawings(html)
    assert first.labels(level=True) == second.labels(level=True)
    heights = [drawn.of("path", "line")[0].given["d"] for drawn in (first, second)]
    assert heights[0] != heights[1]
    ids = re.findall(r'id="(.*?)"', html)
    assert len(ids) == len(set(ids)) == 4
    assert "same scale" in html


def test_bins_come_before_names_as_the_key_to_draw_along() -> None:
    columns = {"age_from": [0, 0, 5, 5], "age_to": [5, 5, 10, 10], "sex": ["F", "M"] * 2, "value": [1, 2, 3, 4]}
    html = picture(table("persons", (AGE, SEX), **columns), "t")
    assert re.findall("<h4>(.*?)</h4>", html) == ["F", "M"]


def test_quantiles_are_blocks_from_end_to_end_of_their_bins() -> None:
    columns = {"sex": ["F"] * 2 + ["M"] * 2, "quantile": [0.25, 0.75] * 2, "to": [20, 60, 10, 90]}
    given = table("quantiles", (SEX,), **columns)
    given.columns["from"] = [10, 50, 0, 80]  # type: ignore[index]
    [drawn] = drawings(picture(given, "t"))
    at = across(drawn)
    found = [one.at("x", "width") for one in drawn.of("rect", "best")]
    assert [(x, x + width) for x, width in found] == [
        pytest.approx((at(low), at(high)), abs=0.25) for low, high in ((10, 20), (50, 60), (0, 10), (80, 90))
    ]
    assert "quantile" in picture(given, "t")
    given.columns["lower"], given.columns["upper"] = [0, 40, 0, -inf], [30, 60, 30, inf]  # type: ignore[index]
    [drawn] = drawings(picture(given, "t"))
    at = across(drawn)
    lines = [one.at("x1", "x2") for one in drawn.of("line", "whisker") if one.at("y1") == one.at("y2")]
    for low, high in ((0, 30), (40, 60), (0, 90)):  # an interval without an end goes to that of the axis
        assert pytest.approx((at(low), at(high)), abs=0.25) in lines


def test_of_many_groups_the_first_are_drawn_and_the_page_says_so() -> None:
    names = [f"R{n}" for n in range(MOST_PANELS + 1)]
    columns = {"region": [name for name in names for _ in "FM"], "sex": ["F", "M"] * len(names)}
    html = picture(table("persons", (REGION, SEX), **columns, value=list(range(2 * len(names)))), "t")
    assert len(drawings(html)) == MOST_PANELS
    assert f"The first {MOST_PANELS} of {MOST_PANELS + 1} groups are drawn." in html
    few = {name: some[: 2 * MOST_PANELS] for name, some in columns.items()}
    assert "groups are drawn" not in picture(table("persons", (REGION, SEX), **few, value=[1] * 2 * MOST_PANELS), "t")


def test_what_has_no_figures_by_keys_has_no_picture() -> None:
    assert picture(table("count", (), value=[1]), "t") == ""
    assert picture(table("count", (SEX,), sex=[], value=[]), "t") == ""
    assert picture(table("top", (), rank=[1], language=["a"], count_error=[2.0]), "t") == ""
    assert picture(table("count", (SEX,), sex=["F"], value=[10**400]), "t") == ""


SIZES = st.one_of(st.integers(-(2**80), 2**80), st.floats(-1e280, 1e280), st.just(0))


@given(st.lists(st.tuples(SIZES, SIZES), min_size=1, max_size=6), st.sampled_from(["count", "mean"]), st.booleans())
def test_whatever_noise_gives_is_drawn_within_the_picture(
    drawn: list[tuple[float, float]], measure: str, bins: bool
) -> None:
    """An error in a picture would come after the debit, and spend for nothing."""
    size = len(drawn)
    values = [value for value, _ in drawn]
    ends = {"lower": [min(pair) for pair in drawn], "upper": [max(pair) for pair in drawn]}
    keys = (
        {"age_from": list(range(size)), "age_to": list(range(1, size + 1))} if bins else {"sex": list(map(str, values))}
    )
    html = picture(table(measure, (AGE if bins else SEX,), **keys, value=values, **ends), "t")
    assert all(one.is_inside() for one in drawings(html))
    assert drawings(html)


def test_the_keys_of_a_table_by_its_domains() -> None:
    said = {"sex": ["F"], "age": {"from": 0, "to": 100, "step": 5}, "pay": {"from": 0, "to": 20000, "step": 5000}}
    said["day"] = {"from": "2026-01-01", "to": "2027-01-01", "step": "month"}
    keys = axes_of(list(read_domains(said, None).values()))
    assert [one.columns for one in keys] == [
        ("sex",),
        ("age_from", "age_to"),
        ("pay_from", "pay_to"),
        ("day_from", "day_to"),
    ]
    assert [one.is_ordered for one in keys] == [False, True, True, True]
    assert keys[1].label({"age_from": 5, "age_to": 10}) == "5 to 10"
    assert keys[1].label({"age_from": "not stated", "age_to": "not stated"}) == "not stated"
    assert keys[2].label({"pay_from": 5000, "pay_to": 10000}) == "5,000 to 10,000"
    assert keys[3].label({"day_from": "2026-01-01", "day_to": "2026-02-01"}) == "2026-01-01 to 2026-02-01"


def test_bins_that_hold_what_lies_outside_are_open() -> None:
    """Whoever is 103 years old is not of 95 to 100."""
    said = {"age": {"from": 0, "to": 100, "step": 5, "clip": True, "other": "not stated"}}
    said["day"] = {"from": "2026-01-01", "to": "2026-03-01", "step": "month", "clip": True}
    said["sex"] = {"from": 0, "to": 1, "step": 1, "clip": True}
    age, day, sex = axes_of(list(read_domains(said, None).values()))
    ends = ((0, 5), (5, 10), (95, 100), ("not stated", "not stated"))
    assert [age.interval(*one) for one in ends] == ["below 5", "5 to 10", "95 and over", "not stated"]
    days = (("2026-01-01", "2026-02-01"), ("2026-02-01", "2026-03-01"))
    assert [day.interval(*one) for one in days] == ["before 2026-02-01", "2026-02-01 and later"]
    assert sex.interval(0, 1) == "0 to 1"  # the one bin holds everything: there is nothing to tell it from
    columns = {"age_from": [90, 95], "age_to": [95, 100], "value": [3, 4], "lower": [1, 2], "upper": [5, 6]}
    assert ">100+</text>" in picture(table("count", (age,), **columns), "p")
    plain = axes_of(list(read_domains({"age": {"from": 0, "to": 100, "step": 5}}, None).values()))
    assert ">100</text>" in picture(table("count", plain, **columns), "p")


def test_what_is_not_known_has_no_mark_and_interrupts_the_line() -> None:
    ends = {"lower": [0.0, 1.0, 0.0, 2.0], "upper": [9.0, 3.0, 9.0, 4.0]}
    dots = picture(table("mean", (REGION,), region=list("abcd"), value=[None, 2.0, None, 3.0], **ends), "p")
    assert dots.count("<circle") == 2
    assert dots.count(">not known<") == 2
    spans = {"age_from": [0, 10, 20, 30], "age_to": [10, 20, 30, 40]}
    steps = picture(table("mean", (AGE,), **spans, value=[1.0, None, 2.0, 3.0], **ends), "p")
    assert steps.count('class="line"') == 2
    assert steps.count('class="band"') == 1
    bins = {"from": [None, 5], "to": [None, 10], "lower": [float("-inf"), 0.0], "upper": [float("inf"), 10.0]}
    strips = picture(table("quantiles", (REGION,), region=["a", "b"], quantile=[0.5, 0.5], **bins), "p")
    assert strips.count('class="best"') == 1
    assert "A line without a block: nothing is known." in strips
