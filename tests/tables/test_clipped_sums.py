"""Amounts: which clips and grids a plan may say, and the centre, reach and ends that follow, by trying all values."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest

from zcdp.tables.clipped_sums import Amount, read_amount
from zcdp.tables.domain import DeclarationError

MOST = 2**53 - 1  # all integers up to here are doubles


@pytest.mark.parametrize(("low", "high"), list(combinations(range(-5, 6), 2)))
def test_the_reach_and_the_middle_are_those_of_all_values_between_the_ends(low: int, high: int) -> None:
    one = Amount("pay", Fraction(1), low, high)
    values = range(low, high + 1)
    assert one.reach == max(abs(value) for value in values)
    furthest = {centre: max(abs(value - centre) for value in values) for centre in values}
    assert furthest[one.middle] == min(furthest.values())


def test_ends_are_in_grid_steps_of_the_decimals_that_are_written() -> None:
    """0.3 is three steps of 0.1, which it is not in doubles."""
    assert read_amount("pay", {"clip": [-0.3, 0.7], "grid": 0.1}) == Amount("pay", Fraction(1, 10), -3, 7)
    assert read_amount("pay", {"clip": ["1/3", 2], "grid": "1/3"}) == Amount("pay", Fraction(1, 3), 1, 6)
    assert read_amount("pay", {"clip": [0, 600], "grid": 50}) == Amount("pay", Fraction(50), 0, 12)


FINE: list[tuple[list[Any], Any]] = [
    ([0, MOST], 1),
    ([-MOST, 1], 1),
    ([0, (MOST - 1) // 2], "1/2"),
    ([-2, MOST - 1], 2),
    ([-(MOST - 1), 2], 2),
    ([0, 2**31 - 1], 2**31 - 1),
    ([0, 1], f"1/{2**31 - 1}"),
]
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"grid": 1}, "clip is missing"),
    ({"clip": [0, 1]}, "grid is missing"),
    ({"clip": 5, "grid": 1}, r"must be \[least, most\]"),
    ({"clip": [5], "grid": 1}, r"must be \[least, most\]"),
    ({"clip": [0, 1, 2], "grid": 1}, r"must be \[least, most\]"),
    ({"clip": [0, True], "grid": 1}, "must be a number"),
    ({"clip": [0, 1], "grid": 0}, "must be positive"),
    ({"clip": [0, 1], "grid": -1}, "must be positive"),
    ({"clip": [0, 2**31], "grid": 2**31}, "nine digits"),
    ({"clip": [0, 1], "grid": f"1/{2**31}"}, "nine digits"),
    ({"clip": [0.5, 2], "grid": 1}, "multiples of 1"),
    ({"clip": [0, 2.5], "grid": 1}, "multiples of 1"),
    ({"clip": [3, 3], "grid": 1}, "least below most"),
    ({"clip": [4, 3], "grid": 1}, "least below most"),
    ({"clip": [0, MOST + 1], "grid": 1}, "within 2\\^53"),
    ({"clip": [-MOST - 1, 0], "grid": 1}, "within 2\\^53"),
    ({"clip": [0, MOST + 1], "grid": 2}, "within 2\\^53"),  # 2^52 steps, and 2^53 away
    ({"clip": [-MOST - 1, 0], "grid": 2}, "within 2\\^53"),
    ({"clip": [0, 2**52], "grid": "1/2"}, "within 2\\^53"),  # 2^53 steps, and 2^52 away
    ({"clip": [-(2**52), 0], "grid": "1/2"}, "within 2\\^53"),
]


@pytest.mark.parametrize(("clip", "grid"), FINE)
def test_what_lies_within_all_limits_is_read(clip: list[Any], grid: Any) -> None:
    one = read_amount("pay", {"clip": clip, "grid": grid})
    assert [one.low * one.grid, one.high * one.grid] == clip


@pytest.mark.parametrize(("data", "said"), WRONG)
def test_what_lies_beyond_a_limit_is_refused(data: dict[str, Any], said: str) -> None:
    with pytest.raises(DeclarationError, match=said):
        read_amount("pay", data)


# Sums of 2^35 rows, or of their parts, stay within 64 bits whatever the clip. (bug T2)


ROWS = 2**35  # docs/theorems/table-sensitivity.md


@pytest.mark.parametrize("power", range(1, 53))
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_no_sum_of_parts_overflows(power: int, more: int) -> None:
    reach = 2**power + more
    one = Amount("pay", Fraction(1), 0, reach)
    parts = [reach] if one.limbs == 1 else [reach // 2**26 + 1, 2**26]
    assert all(part * ROWS < 2**63 for part in parts)
