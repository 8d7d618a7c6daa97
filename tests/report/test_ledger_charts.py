"""What was spent over time stands where the axes say, and no spend is lost between the periods."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import accumulate, pairwise
from typing import Any

import pytest
from report.drawing import Drawing, scale, stairs

from zcdp.errors import BadValue
from zcdp.report.ledger_report import _dates, _round_numbers, months_chart, periods, spending_chart

NEAR = 0.16  # places are written to a tenth
START = datetime(2025, 10, 20, 6, 30, tzinfo=UTC)


def written(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def account(spends: list[tuple[int, float]], budgets: list[tuple[int, float]]) -> dict[str, Any]:
    """Spends and budgets by their day after the opening."""
    sums = list(accumulate(cost for _, cost in spends))
    return {
        "points": [[written(START + timedelta(days=day)), total] for (day, _), total in zip(spends, sums, strict=True)],
        "budgets": [[written(START + timedelta(days=day)), value] for day, value in budgets],
        "spends": len(spends),
        "spent": {"value": sums[-1] if sums else 0.0},
        "budget": {"value": budgets[-1][1]},
    }


LEDGERS: dict[str, tuple[list[tuple[int, float]], list[tuple[int, float]], int]] = {
    "a raise in between": ([(20, 0.25), (90, 0.5), (200, 0.1)], [(0, 1.0), (150, 2.5)], 300),
    "spent beyond what a forged budget says": ([(100, 0.5), (250, 3.0)], [(0, 1.0)], 400),
    "nothing spent": ([], [(0, 0.02)], 170),
    "told before its last spend": ([(30, 0.3), (380, 0.2)], [(0, 1.0), (390, 1.25)], 100),
}


@pytest.mark.parametrize("name", LEDGERS)
def test_steps_and_budget_are_at_every_day_what_was_spent_and_allowed(name: str) -> None:
    spends, budgets, told = LEDGERS[name]
    found = Drawing(spending_chart(account(spends, budgets), name="n", until=written(START + timedelta(days=told))))
    down = scale([(float(label), place) for label, place in found.labels(level=True)])
    [year] = [place for label, place in found.labels(level=False) if label == "2026"]
    months = {label: place for label, place in found.labels(level=False) if label != "2027"}
    later = next(name for name in ("Apr", "Mar", "Mar", "Feb") if name in months)
    month = ["Jan", "Feb", "Mar", "Apr"].index(later) + 1
    dates = [(datetime(2026, 1, 1, tzinfo=UTC), year), (datetime(2026, month, 1, tzinfo=UTC), months[later])]
    across = scale([((at - START).total_seconds() / 86400, place) for at, place in dates])
    last = max(told, *(day for day, _ in [*spends, *budgets]))
    days = [day + 0.4 for day in range(0, last - 1, 3)]

    def read(path: str, day: float) -> float:
        x = across(day)
        return next(y for start, end, y in stairs(path) if start - 0.05 <= x <= end + 0.05)

    [line], [limit], [area] = (found.of("path", kind) for kind in ("line", "limit", "area"))
    for day in days:
        if min(abs(day - one) for one, _ in [*spends, *budgets]) < 2:
            continue
        assert read(line.given["d"], day) == pytest.approx(down(sum(c for d, c in spends if d < day)), abs=NEAR)
        assert read(limit.given["d"], day) == pytest.approx(down([b for d, b in budgets if d < day][-1]), abs=NEAR)
    for path in (line, limit):
        assert stairs(path.given["d"])[0][0] == pytest.approx(across(0), abs=0.5)
        assert stairs(path.given["d"])[-1][1] == pytest.approx(across(last), abs=0.5)
    assert line.given["d"].removeprefix("M") in area.given["d"]
    assert area.given["d"].endswith(f"V{down(0):.0f}Z")
    [word] = [one for one in found.of("text") if one.text == "budget"]
    assert 0 < down(budgets[-1][1]) - word.at("y")[0] < 10
    assert found.is_inside()
    total, budget = sum(cost for _, cost in spends), budgets[-1][1]
    assert f"{len(spends)} spends add up to {total:.6g} of {budget:.6g}" in str(found.said)
    assert f"From 2025-10-20 to {START + timedelta(days=last):%Y-%m-%d}" in str(found.said)


def test_a_ledger_of_one_minute_is_drawn() -> None:
    facts = account([(0, 0.5)], [(0, 1.0)])
    found = Drawing(spending_chart(facts, name="n", until=written(START)))
    down = scale([(float(label), place) for label, place in found.labels(level=True)])
    [line] = found.of("path", "line")
    assert stairs(line.given["d"])[-1][2] == pytest.approx(down(0.5), abs=NEAR)
    assert [label for label, _ in found.labels(level=False)] == ["06:30"] * 3


@pytest.mark.parametrize("days", [0.01, 1, 1.9, 2.1, 30, 59, 61, 100, 200, 400, 800, 1500, 4000, 9000, 30000])
def test_the_dates_below_a_chart_are_true_and_few(days: float) -> None:
    end = START + timedelta(days=days)
    found = _dates(START, end)
    assert 1 <= len(found) <= 6 + (days > 60)
    for at, label in found:
        assert START <= at <= end
        if days < 2:
            assert label == f"{at.hour:02}:{at.minute:02}"
        elif days < 60:
            assert label == f"{at.day:02} {at:%b}"
        else:
            assert (at.day, at.hour, at.minute) == (1, 0, 0)
            assert label == (str(at.year) if at.month == 1 else f"{at:%b}")
    if days < 60:
        assert [(at - START) / (end - START) for at, _ in found] == pytest.approx([0.25, 0.5, 0.75], abs=1e-4)
    else:
        gaps = {(two.year - one.year) * 12 + two.month - one.month for (one, _), (two, _) in pairwise(found)}
        assert len(gaps) <= 1


@pytest.mark.parametrize("largest", [0.003, 0.02, 0.1, 0.32, 0.99, 1.04, 1.3, 2.6, 5, 8, 10.4, 99])
def test_levels_are_zero_and_round_numbers_up_to_the_largest(largest: float) -> None:
    found = _round_numbers(largest)
    step = found[1]
    assert found[0] == 0
    assert found == pytest.approx([n * step for n in range(len(found))], rel=1e-9)
    assert found[-1] <= largest * (1 + 1e-12) <= (found[-1] + step) * (1 + 1e-9)
    assert 3 <= len(found) <= 5
    assert round(float(f"{step:e}".split("e")[0]), 9) in (1, 2, 2.5, 5)
    assert _round_numbers(0.0) == [0.0]


def months(*rows: tuple[str, int, float]) -> list[dict[str, Any]]:
    return [{"month": month, "spends": count, "cost": {"exact": "1", "value": value}} for month, count, value in rows]


def test_periods_are_every_month_up_to_two_years_and_then_years_that_add_up() -> None:
    two_years = periods(months(("2024-02", 2, 0.5), ("2025-03", 1, 0.25), ("2026-01", 3, 0.125)))
    assert len(two_years) == 24
    assert [one for one in two_years if one[1]] == [("2024-02", 2, 0.5), ("2025-03", 1, 0.25), ("2026-01", 3, 0.125)]
    assert [one[0] for one in two_years[9:13]] == ["2024-11", "2024-12", "2025-01", "2025-02"]
    more = months(("2024-02", 2, 0.5), ("2024-12", 5, 0.25), ("2026-02", 3, 0.125), ("2026-01", 1, 1.0))
    assert periods(more) == [("2024", 7, 0.75), ("2025", 0, 0.0), ("2026", 4, 1.125)]
    assert periods(months(("2026-12", 1, 1.0))) == [("2026-12", 1, 1.0)]
    with pytest.raises(BadValue, match="five hundred years"):
        periods(months(("1500-01", 1, 1.0), ("2026-01", 1, 1.0)))
    assert len(periods(months(("1526-01", 1, 1.0), ("2026-01", 1, 1.0)))) == 501


@pytest.mark.parametrize("count", [1, 5, 7, 13, 24])
def test_bars_of_months_are_as_high_as_their_cost_and_named(count: int) -> None:
    rows = [(f"{2025 + n // 12}-{n % 12 + 1:02}", n, 0.01 * ((n * 7) % 11)) for n in range(1, count + 1)]
    found = Drawing(months_chart(rows, name="n"))
    down = scale([(float(label), place) for label, place in found.labels(level=True)])
    boxes = found.of("rect")
    for box, (_, _, cost) in zip(boxes, rows, strict=True):
        top, tall = box.at("y", "height")
        assert top == pytest.approx(down(cost), abs=NEAR)
        assert top + tall == pytest.approx(down(0), abs=NEAR)
    ends = [(box.at("x")[0], sum(box.at("x", "width"))) for box in boxes]
    assert all(one[1] < two[0] for one, two in pairwise(ends))
    names = {f"{datetime.strptime(month, '%Y-%m'):%b %y}": n for n, (month, _, _) in enumerate(rows)}
    labels = [one for one in found.of("text") if one.text in names]
    assert 1 <= len(labels) <= 6
    assert labels[0].text == next(iter(names))
    for one in labels:
        start, end = ends[names[one.text]]
        assert one.at("x")[0] == pytest.approx((start + end) / 2, abs=NEAR)
    assert found.is_inside()
    said = str(found.said)
    assert all(f"{month}: {cost:.6g} in {n} spends" in said for month, n, cost in rows)


def test_the_chart_says_whether_its_bars_are_months_or_years() -> None:
    assert "in each year" in months_chart([("2024", 1, 1.0), ("2025", 2, 0.5)], name="n")
    assert "in each month" in months_chart([("2024-05", 1, 1.0)], name="n")
    assert [one.text for one in Drawing(months_chart([("2024", 1, 1.0)], name="n")).of("text")][-1] == "2024"
