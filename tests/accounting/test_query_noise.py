"""Queries whose noise is to be found: the parameter of most noise that meets a target, from the laws themselves."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import sqrt
from typing import Any

import pytest
from mpmath import mp, mpf

from zcdp import DiscreteLaplace, Gaussian, Laplace, Query


def beyond(scale: mpf, h: int) -> mpf:
    """P(|noise| > h) of discrete Laplace noise: the terms q^n (1 - q)/(1 + q) added up on both sides."""
    q = mp.exp(-1 / scale)
    return 1 - (1 - q) / (1 + q) * (1 + 2 * mp.fsum(q**n for n in range(1, h + 1)))


CASES: list[tuple[Query, Callable[[mpf], mpf], Any, bool]] = [
    # query, what its target is about as a function of the parameter, the target, whether noise rises with it
    (Query(Laplace, sd="1.7", free="scale"), lambda b: mp.sqrt(2) * b, mpf("1.7"), True),
    (Query(Laplace, sd=30, sensitivity=7), lambda e: mp.sqrt(2) * 7 / e, mpf(30), False),
    (Query(Laplace, half_width=3, level="0.5", free="scale"), lambda b: b * mp.log(2), mpf(3), True),
    (Query(Laplace, half_width=3, level="0.99"), lambda e: mp.log(100) / e, mpf(3), False),
    (Query(Laplace, half_width=3), lambda e: mp.log(20) / e, mpf(3), False),
    (Query(Gaussian, sd="0.3", sensitivity=5), lambda s: s, mpf("0.3"), True),
    (Query(Gaussian, sd="0.3", free="rho"), lambda r: 1 / mp.sqrt(2 * r), mpf("0.3"), False),
    (Query(Gaussian, half_width=40, level="0.8"), lambda s: s * mp.sqrt(2) * mp.erfinv(mpf("0.8")), mpf(40), True),
    (Query(DiscreteLaplace, half_width=12, level="0.9", free="scale"), lambda b: beyond(b, 12), mpf("0.1"), True),
    (Query(DiscreteLaplace, half_width=2), lambda e: beyond(1 / e, 2), mpf("0.05"), False),
]


@pytest.mark.parametrize(("query", "reached", "target", "rises"), CASES, ids=[repr(case[0]) for case in CASES])
def test_no_more_noise_meets_the_target(query: Query, reached: Callable[[mpf], mpf], target: mpf, rises: bool) -> None:
    assert query.noise_rises == rises
    found = mpf(query.at_target())
    with mp.workdps(40):
        assert reached(found) <= target * (1 + mpf(10) ** -15)
        assert reached(found * (1 + mpf("3e-9") * (1 if rises else -1))) > target


def test_a_larger_target_is_that_of_the_same_query() -> None:
    asked = Query(Laplace, half_width=2, level="0.9", count=5, weight=3, free="scale", sensitivity=4)
    larger = asked.times(1.5)
    assert (larger.half_width, larger.level, larger.count, larger.weight) == (3, Fraction(9, 10), 5, 3)
    assert (larger.free, larger.fixed, larger.sd) == ("scale", {"sensitivity": 4}, None)
    assert Query(Gaussian, sd=2).times(2).sd == 4


@pytest.mark.parametrize(
    ("query", "value"), [(Query(Laplace), 1.23456789012), (Query(Laplace, free="scale"), 1.23456789012)], ids=repr
)
def test_a_readable_parameter_is_the_nearest_or_the_quieter_one(query: Query, value: float) -> None:
    assert query.rounded(value) == 1.23456789
    assert query.rounded(value, quieter=True) == (1.23456789 if query.noise_rises else 1.234567891)
    assert query.rounded(1.23456788997) == 1.23456789
    assert query.rounded(1.23456788997, quieter=True) == (1.234567889 if query.noise_rises else 1.23456789)


@pytest.mark.parametrize("error", [0.5, 2.0, 90.0])
def test_the_parameter_of_an_error_has_it(error: float) -> None:
    """Standard deviation over sensitivity."""
    assert Query(Laplace, sensitivity=9).with_error(error) == pytest.approx(sqrt(2) / error, rel=1e-10)
    assert Query(Laplace, sensitivity=9, free="scale").with_error(error) == pytest.approx(
        9 * error / sqrt(2), rel=1e-10
    )
    assert Query(Gaussian, sensitivity=9).with_error(error) == pytest.approx(9 * error, rel=1e-10)
    assert Query(Gaussian, free="rho").with_error(error) == pytest.approx(1 / (2 * error**2), rel=1e-10)
