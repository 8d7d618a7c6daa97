"""Domains of the calendar: their intervals by walking from day to day, and what is refused."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest

from zcdp.tables.domain import Dates, DeclarationError, read_dates

CASES = [
    ("2024-01-01", "2025-01-01", "month", lambda d: d.day == 1),
    ("2023-04-01", "2026-04-01", "quarter", lambda d: d.day == 1 and d.month in (1, 4, 7, 10)),
    ("2023-02-01", "2024-02-01", "quarter", lambda d: d.day == 1 and d.month in (2, 5, 8, 11)),
    ("2020-07-01", "2026-07-01", "year", lambda d: (d.month, d.day) == (7, 1)),
    ("2024-02-26", "2024-04-08", "week", lambda d: d.isoweekday() == 1),
    ("2024-02-27", "2024-03-03", "day", lambda d: True),
    ("2023-12-15", "2024-03-14", 30, lambda d: (d - date(2023, 12, 15)).days % 30 == 0),
    ("0001-01-01", "0001-03-01", "month", lambda d: d.day == 1),
]


@pytest.mark.parametrize(("first", "last", "step", "begins"), CASES)
def test_an_interval_begins_on_each_day_that_the_step_says_and_ends_before_the_next(
    first: str, last: str, step: Any, begins: Any
) -> None:
    domain = read_dates("day", {"from": first, "to": date.fromisoformat(last), "step": step})
    start, end = date.fromisoformat(first), date.fromisoformat(last)
    every = [start + timedelta(n) for n in range((end - start).days + 1)]
    starts = [one.isoformat() for one in every if begins(one)]
    assert domain.columns() == {"day_from": starts[:-1], "day_to": starts[1:]}
    assert (starts[0], starts[-1]) == (first, last)
    assert (domain.size, list(domain.labels)) == (len(starts) - 1, list(range(len(starts) - 1)))


def test_what_is_not_said_is_the_column_of_that_name_without_a_clip() -> None:
    words = {"from": "2024-01-01", "to": "2024-02-01", "step": "day"}
    found = read_dates("day", words)
    assert (found.column, found.clip) == ("day", False)
    found = read_dates("day", {**words, "column": "born", "clip": True})
    assert (found.column, found.clip, found.name) == ("born", True, "day")


def test_there_are_at_most_half_a_million_intervals() -> None:
    start = date(1, 1, 1)
    for size, fits in ((500_000, True), (500_001, False)):
        words = {"from": start, "to": start + timedelta(size), "step": "day"}
        if fits:
            assert read_dates("day", words).size == size
        else:
            with pytest.raises(DeclarationError, match="at most 500000"):
                read_dates("day", words)


FINE = {"from": "2024-01-01", "to": "2025-01-01", "step": "month"}
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"step": "fortnight"}, "step must be one of day, week, month, quarter, year"),
    ({"step": 0}, "integer from 1"),
    ({"step": True}, "integer from 1"),
    ({"step": 1.5}, "integer from 1"),
    ({"from": "2024-01-02"}, "first of a month"),
    ({"to": "2025-01-02"}, "first of a month"),
    ({"to": "2024-01-01"}, "before to"),
    ({"to": "2023-01-01"}, "before to"),
    ({"to": "2024-06-01", "step": "quarter"}, "whole number of steps"),
    ({"to": "2024-01-09", "step": "week"}, "whole number of steps"),
    ({"to": "2025-07-01", "step": "year"}, "whole number of steps"),
    ({"to": "2025-02-30"}, "must be a day such as"),
    ({"to": 20250101}, "must be a day such as"),
    ({"clip": 1}, "clip must be true or false"),
    ({"clip": "false"}, "clip must be true or false"),
    ({"bins": 12}, "no such field"),
    ({"column": ""}, "must be text"),
]


@pytest.mark.parametrize(("changed", "said"), WRONG)
def test_an_odd_calendar_is_refused(changed: dict[str, Any], said: str) -> None:
    assert isinstance(read_dates("day", FINE), Dates)
    with pytest.raises(DeclarationError, match=said):
        read_dates("day", {**FINE, **changed})


@pytest.mark.parametrize("field", ["to", "step"])
def test_a_calendar_that_lacks_an_end_or_a_step_is_refused(field: str) -> None:
    with pytest.raises(DeclarationError, match="must have from, to, and step"):
        read_dates("day", {name: value for name, value in FINE.items() if name != field})
