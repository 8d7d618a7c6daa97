"""Work that is counted: where it stops, what it leaves behind, and that answers stay true however little is allowed."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import inf
from typing import TypeVar

import pytest

from zcdp import NotCertified, Plan
from zcdp.numeric import work
from zcdp.numeric.balls import at_precision
from zcdp.numeric.work import TooMuchWork, count_functions, count_work, done, within

T = TypeVar("T")


def spend(nanoseconds: float, *, apart: bool = False) -> None:
    within(nanoseconds, lambda: count_work(100), apart=apart)


def test_what_is_inside_may_not_take_more_than_what_is_around_it() -> None:
    def inside() -> None:
        with pytest.raises(TooMuchWork):
            spend(50)
        spend(10**9)  # of which 150 are left

    within(250, inside)
    with pytest.raises(TooMuchWork):
        within(150, inside)
    spend(10**9)


def test_what_is_kept_for_others_does_not_rest_on_who_asks_first() -> None:
    def first() -> None:
        spend(10**9, apart=True)
        with pytest.raises(TooMuchWork):  # It was done all the same.
            count_work(1)

    within(50, first)


def test_each_thread_counts_its_own() -> None:
    with ThreadPoolExecutor(1) as other:
        within(50, lambda: other.submit(spend, 10**9).result())
        assert isinstance(other.submit(spend, 10).exception(), TooMuchWork)
    spend(10**9)


def test_longer_balls_take_more() -> None:
    def takes(bits: int) -> float:
        begun = done()
        at_precision(bits, lambda: count_functions(10))
        return done() - begun

    assert takes(128) < takes(1024) / 3 < takes(16384) / 100


PLANS = [
    "10 * Laplace(epsilon=1) + 5 * RandomizedResponse(epsilon=2, k=10)",
    "3 * TruncatedGeometric(epsilon=1, n=9, sensitivity=2) + PermuteAndFlip(epsilon=1)",
    "2 * Gaussian(sigma=2) + 7 * DiscreteLaplace(epsilon='log(2)') + BoundedRange(eta=1)",
    "3 * Subsampled(Gaussian(sigma=1), rate=0.125)",
    "4 * Channel([['1/2', '1/4', '1/4'], ['1/4', '1/2', '1/4']]) + Logistic(epsilon=1)",
]


@pytest.mark.parametrize("text", PLANS)
def test_with_little_work_answers_are_wider_and_never_wrong(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = _asked(text)
    for allowed in (1e3, 1e6, 3e7):

        def less(nanoseconds: float, evaluate: Callable[[], T], most: float = allowed) -> T:
            return within(min(nanoseconds, most), evaluate)

        for module in ("rho_search", "routes", "convert"):
            monkeypatch.setattr(f"zcdp.privacy.{module}.within", less)
        found = _asked(text)
        assert all(low <= upper and lower <= high for (low, high), (lower, upper) in zip(found, known, strict=True))
        assert allowed > 1e3 or found != known  # else nothing was stopped
    assert work._meter.last == inf


def _asked(text: str) -> list[tuple[float, float]]:
    plan = Plan.parse(text)
    asked = (lambda: plan.rho_bounds, lambda: plan.epsilon_bounds(delta="1e-6"), lambda: plan.delta_bounds(epsilon=1))
    found = []
    for ask in asked:
        try:
            found.append(ask())
        except NotCertified:
            found.append((0.0, inf))
    return found
