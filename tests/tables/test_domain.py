"""Domains of keys and bins: what is read from a plan, what the published columns say, and what is refused."""

from __future__ import annotations

import hashlib
import re
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from zcdp.tables.domain import Bins, Dates, DeclarationError, Keys, read_dates, read_domain

MOST = 2**53 - 1  # all integers up to here are doubles


@pytest.mark.parametrize(
    ("data", "edges"),
    [
        ({"from": 0, "to": 10, "step": 2.5}, [0, 2.5, 5, 7.5, 10]),
        ({"from": 0, "to": 10, "bins": 4}, [0, 2.5, 5, 7.5, 10]),
        ({"from": -3, "to": 3, "step": 2}, [-3, -1, 1, 3]),
        ({"from": "-1/3", "to": "1/3", "bins": 2}, [-1 / 3, 0, 1 / 3]),
        ({"from": 0.1, "to": 0.4, "step": 0.1}, [0.1, 0.2, 0.3, 0.4]),
        ({"from": 5, "to": 6, "bins": 1}, [5, 6]),
    ],
)
def test_bins_lead_from_the_first_edge_to_the_last(data: dict[str, Any], edges: list[float]) -> None:
    found = read_domain("age", data, None)
    assert isinstance(found, Bins)
    assert found.columns() == {"age_from": edges[:-1], "age_to": edges[1:]}
    assert (found.size, list(found.labels), float(found.end)) == (
        len(edges) - 1,
        list(range(len(edges) - 1)),
        edges[-1],
    )
    assert (found.column, found.clip, found.kind) == ("age", False, "number")
    whole = [type(one) is int for one in found.columns()["age_from"]]
    assert whole == [float(one).is_integer() for one in edges[:-1]]


@pytest.mark.parametrize(
    ("data", "labels", "kind"),
    [
        (["b", "a"], ("b", "a"), "text"),
        ({"values": ["b", "a"], "other": "rest"}, ("b", "a", "rest"), "text"),
        ({"values": [3, 1], "other": 0}, (3, 1, 0), "integer"),
        ([True], (True,), "boolean"),
        ({"values": [False], "other": True}, (False, True), "boolean"),
        ([MOST, -MOST], (MOST, -MOST), "integer"),
    ],
)
def test_keys_are_published_in_their_order_and_the_rest_last(data: Any, labels: tuple[Any, ...], kind: str) -> None:
    found = read_domain("region", data, None)
    assert isinstance(found, Keys)
    assert (found.labels, found.size, found.kind, found.column) == (labels, len(labels), kind, "region")
    assert found.columns() == {"region": list(labels)}


def test_other_columns_and_clips_are_those_that_are_said() -> None:
    found = read_domain("a", {"values": ["x"], "column": "b"}, None)
    assert found.column == "b"
    bins = read_domain("a", {"from": 0, "to": 4, "step": 1, "column": "b", "clip": True}, None)
    assert (bins.column, bins.clip) == ("b", True)  # type: ignore[union-attr]


def test_days_are_of_the_calendar_and_numbers_in_quotes_are_not() -> None:
    assert isinstance(read_domain("a", {"from": "2024-01-01", "to": "2024-02-01", "step": "month"}, None), Dates)
    for start in ("-7", "1e-2", "-1e-2", "1/2"):
        found = read_domain("a", {"from": start, "to": "8", "bins": 3}, None)
        assert isinstance(found, Bins)
        assert found.start == Fraction(start)


WRONG: list[tuple[Any, str]] = [
    ("R1", "must be a list of keys"),
    ([], "at least one key"),
    ({"values": "R1"}, "at least one key"),
    ({}, "values, or a file"),
    ({"values": ["a"], "file": "a.txt"}, "values, or a file"),
    (["a", 1], "of one kind"),
    ([1, True], "of one kind"),
    ([1.5], "of one kind"),
    ({"values": ["a"], "other": 1}, "of one kind"),
    (["a", "b", "a"], "'a' twice"),
    ({"values": ["a", "b"], "other": "b"}, "'b' twice"),
    ([MOST + 1], "below 2\\^53"),
    ([-MOST - 1], "below 2\\^53"),
    ({"values": [1], "other": MOST + 1}, "below 2\\^53"),
    (list(range(500_001)), "at most 500000 keys"),
    ({"values": ["a"], "clip": True}, "no such field"),
    ({"from": 0, "to": 4}, "step or bins"),
    ({"from": 0, "step": 4}, "step or bins"),
    ({"from": 0, "to": 4, "step": 1, "bins": 4}, "step or bins"),
    ({"from": 4, "to": 4, "step": 1}, "from must be below to"),
    ({"from": 5, "to": 4, "step": 1}, "from must be below to"),
    ({"from": 0, "to": MOST + 1, "bins": 2}, "both below 2\\^53"),
    ({"from": -MOST - 1, "to": 0, "bins": 2}, "both below 2\\^53"),
    ({"from": 0, "to": 4, "step": 0}, "must be positive"),
    ({"from": 0, "to": 4, "step": -1}, "must be positive"),
    ({"from": 0, "to": 4, "step": 1.5}, "a whole number of times"),
    ({"from": 0, "to": 4, "bins": 0}, "integer from 1"),
    ({"from": 0, "to": 4, "bins": 500_001}, "integer from 1 to 500000"),
    ({"from": 0, "to": 500_001, "step": 1}, "at most 500000 bins"),
    ({"from": 0, "to": 2**31, "bins": 1}, "at most nine digits above and below"),
    ({"from": 0, "to": f"1/{2**31}", "bins": 1}, "at most nine digits above and below"),
    ({"from": 0, "to": 4, "step": 1, "clip": 1}, "clip must be true or false"),
    ({"from": 0, "to": 4, "step": 1, "clip": "no"}, "clip must be true or false"),
    ({"from": 0, "to": 4, "step": 1, "other": 3}, "must be text in quotes"),
    ({"from": 0, "to": 4, "step": 1, "flat": True}, "no such field"),
    ({"values": ["a"], "flat": 1}, "flat must be true or false"),
]


@pytest.mark.parametrize(("data", "said"), WRONG)
def test_an_odd_domain_is_refused(data: Any, said: str) -> None:
    with pytest.raises(DeclarationError, match=said):
        read_domain("a", data, None)


@pytest.mark.parametrize(
    "data",
    [
        {"from": MOST - 4, "to": MOST, "step": 2},
        {"from": -MOST, "to": 4 - MOST, "step": 2},
        {"from": 0, "to": 500_000, "step": 1},
        {"from": 0, "to": 2**31 - 1, "bins": 1},
    ],
)
def test_bins_at_a_limit_are_read(data: dict[str, Any]) -> None:
    assert read_domain("a", data, None).size in (1, 2, 500_000)


def test_a_list_in_a_file_has_one_key_a_line(tmp_path: Path) -> None:
    content = "R1\n\nR 2\r\n\u00e9\n".encode()
    (tmp_path / "keys.txt").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    for said in (digest, digest.upper()):
        found = read_domain("a", {"file": "keys.txt", "sha256": said, "other": "x"}, tmp_path)
        assert found.labels == ("R1", "R 2", "\u00e9", "x")
    (tmp_path / "keys.txt").write_bytes(content + b"R3\n")
    now = hashlib.sha256(content + b"R3\n").hexdigest()
    with pytest.raises(DeclarationError, match=f'another digest: sha256 = "{now}"; the plan says "{digest}"'):
        read_domain("a", {"file": "keys.txt", "sha256": digest}, tmp_path)


def test_a_table_of_two_columns_is_not_taken_for_a_list_of_keys(tmp_path: Path) -> None:
    """Each line would be a key, and everybody in `other`."""
    content = b"Alder 1,Alder\nAlder 2,Alder\n"
    data = {"file": "towns.csv", "sha256": hashlib.sha256(content).hexdigest(), "other": "x"}
    (tmp_path / "towns.csv").write_bytes(content)
    with pytest.raises(DeclarationError, match='within which list, as within = "region"'):
        read_domain("a", data, tmp_path)
    (tmp_path / "towns.txt").write_bytes(content)
    assert read_domain("a", data | {"file": "towns.txt"}, tmp_path).size == 3


@pytest.mark.parametrize(
    ("content", "said"), [(b"\xff\n", "UTF-8"), (b"a\nb\na\n", "'a' twice"), (b"\n\n", "at least one key")]
)
def test_an_odd_file_is_refused(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "keys.txt").write_bytes(content)
    with pytest.raises(DeclarationError, match=said):
        read_domain("a", {"file": "keys.txt", "sha256": hashlib.sha256(content).hexdigest()}, tmp_path)
    with pytest.raises(DeclarationError, match="cannot be read"):
        read_domain("a", {"file": "none.txt", "sha256": "00"}, tmp_path)
    with pytest.raises(DeclarationError, match="none was given"):
        read_domain("a", {"file": "keys.txt"}, tmp_path)


def test_a_file_that_is_too_large_is_not_told_a_digest_of_its_beginning(tmp_path: Path) -> None:
    (tmp_path / "keys.txt").write_bytes(b"a\n" * 5_000_001)
    with pytest.raises(DeclarationError, match=r"the file must have at most 10 MB$"):
        read_domain("a", {"file": "keys.txt"}, tmp_path)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            {"from": 0, "to": 100, "step": 7},
            "step (7) must go a whole number of times into to - from, 100: it goes 14 ",
        ),
        (
            {"from": 0, "to": 1, "step": "0.3"},
            "step (0.3) must go a whole number of times into to - from, 1: it goes 3 ",
        ),
        ({"from": 0, "to": 1, "step": -1}, "step (-1) must be positive"),
        ({"from": 0, "to": 600_000, "step": 1}, "at most 500000 bins, not 600000"),
    ],
)
def test_a_step_that_does_not_fit_is_said_in_numbers(data: dict[str, Any], said: str) -> None:
    with pytest.raises(DeclarationError, match=re.escape(said)):
        read_domain("a", data, None)


# Domains of the calendar: their intervals by walking from day to day, and what is refused.


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
WRONG_DATES: list[tuple[dict[str, Any], str]] = [
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


@pytest.mark.parametrize(("changed", "said"), WRONG_DATES)
def test_an_odd_calendar_is_refused(changed: dict[str, Any], said: str) -> None:
    assert isinstance(read_dates("day", FINE), Dates)
    with pytest.raises(DeclarationError, match=said):
        read_dates("day", {**FINE, **changed})


@pytest.mark.parametrize("field", ["to", "step"])
def test_a_calendar_that_lacks_an_end_or_a_step_is_refused(field: str) -> None:
    with pytest.raises(DeclarationError, match="must have from, to, and step"):
        read_dates("day", {name: value for name, value in FINE.items() if name != field})
