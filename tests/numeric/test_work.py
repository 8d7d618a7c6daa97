"""Work that is counted: where it stops, what it leaves behind, and that answers stay true however little is allowed."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import inf
from typing import TypeVar

import pytest
from flint import acb, arb
from hypothesis import given, settings
from hypothesis import strategies as st

from zcdp import NotCertified, Plan
from zcdp.numeric import work
from zcdp.numeric.balls import at_precision
from zcdp.numeric.doubles import product
from zcdp.numeric.work import TooMuchWork, count_functions, count_work, done, within
from zcdp.privacy.loss.sampled_quadrature import progression

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


@settings(max_examples=15)
@given(st.integers(1, 40), st.integers(1, 3000), st.integers(1, 1500), st.randoms(use_true_random=False))
def test_products_in_pieces_are_whole(rows: int, inner: int, columns: int, draw: object) -> None:
    """Of integers so small that no order of sums matters."""
    import numpy as np

    random = np.random.default_rng(draw.randrange(2**32))  # type: ignore[attr-defined]
    left, right = random.integers(-99, 99, (rows, inner)), random.integers(-99, 99, (inner, columns))
    assert (product(left + 1j * left[::-1], right.astype(float)) == left @ right + 1j * (left[::-1] @ right)).all()
    assert (product(left.astype(float), right[:, 0].astype(float)) == left @ right[:, 0]).all()


@pytest.mark.parametrize(
    "kept", [[0], [1], [0, 1, 2, 3], list(range(50)), [*range(9), 100, 101, 102, 5000], [0, 15, 16, 17, 10**6]]
)
def test_sums_along_a_line_are_those_at_its_points(kept: list[int]) -> None:
    def check() -> None:
        values = [acb(arb(n + 1) / 7, arb(n) / 5) for n in range(12)]
        rates = [acb(arb(3 * n - 17) / 11, arb(n) / 10**8) for n in range(12)]
        step = arb(1) / 13
        found = progression(values, rates, step, kept)
        assert len(found) == len(kept)
        for k, value in zip(kept, found, strict=True):
            truth = sum((v * (acb(0, step * k) * r).exp() for v, r in zip(values, rates, strict=True)), acb(0))
            assert value.overlaps(truth)
            assert value.rel_accuracy_bits() > 90

    at_precision(128, check)
