"""Bisection over all positive floats."""

from __future__ import annotations

from math import inf, nextafter

from hypothesis import given
from hypothesis import strategies as st

from zcdp.numeric.search import greatest_float


@given(st.floats(min_value=5e-324, allow_infinity=False))
def test_finds_every_float(limit: float) -> None:
    assert greatest_float(lambda x: x <= limit) == limit
    if limit > 5e-324:
        assert greatest_float(lambda x: x < limit) == nextafter(limit, -inf)


def test_the_two_ends() -> None:
    assert greatest_float(lambda x: True) == 1.7976931348623157e308
    assert greatest_float(lambda x: False) is None
