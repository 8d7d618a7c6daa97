"""All engines give the same answer, each says which it is, and answers are kept apart."""

from __future__ import annotations

import sys
from fractions import Fraction

import pytest
from independent import profile_reference as reference
from mpmath import mpf
from privacy.by_engine import HALF, THIRD, by, parts_of

from zcdp import RAPPOR, DiscreteLaplace, Laplace, Logistic, Plan, PureDP, RandomizedResponse
from zcdp.privacy.profile.profile import Profile


@pytest.mark.parametrize("method", ["whole sum", "cut sum", "smoothed"])
@pytest.mark.parametrize("epsilon", [12, 30])
def test_several_laplace(method: str, epsilon: int) -> None:
    e, count = Fraction(5, 2), 16
    lower, upper = by(method, parts_of(count * Laplace(epsilon=e)), Fraction(epsilon))
    truth = reference.many_laplace_delta(e, count, Fraction(epsilon))
    assert lower <= truth <= upper
    if method != "smoothed":
        assert upper <= truth * (1 + mpf(10) ** -9)


@pytest.mark.parametrize("method", ["lattice", "whole sum", "cut sum", "smoothed"])
@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1), Fraction(5), Fraction(11, 3)])
def test_a_lattice(method: str, epsilon: Fraction) -> None:
    rows = [("pure", THIRD, 1, 12), ("rr", HALF, 7, 9), ("rappor", HALF, 1, 4), ("geometric", THIRD, 4, 6)]
    plan = (
        12 * PureDP(epsilon=THIRD)
        + 9 * RandomizedResponse(epsilon=HALF, k=7)
        + 4 * RAPPOR(epsilon=HALF)
        + 6 * DiscreteLaplace(epsilon=THIRD, sensitivity=4)
    )
    lower, upper = by(method, parts_of(plan), epsilon)
    truth = reference.lattice_delta(*reference.composed(rows), epsilon)
    assert lower <= truth <= upper
    if method != "smoothed":
        assert upper <= truth * (1 + mpf(10) ** -9)


@pytest.mark.parametrize(
    ("plan", "method", "apart"),
    [
        (39 * Logistic(epsilon=1.5), "finite sum", 1e-13),
        (2 * PureDP(epsilon="0.7") + RAPPOR(epsilon="0.1"), "finite sum", 1e-13),
        (1000 * Laplace(epsilon=0.1), "contour", 1e-13),
        (300 * PureDP(epsilon="0.1") + 30 * Laplace(epsilon="0.3"), "lattice", 1e-13),
        (3000 * PureDP(epsilon=0.012345678) + 2000 * RAPPOR(epsilon=0.02718281828), "smoothed contour", 1e-6),
    ],
)
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_both_ends_are_tight(plan: Plan, method: str, apart: float, delta: float) -> None:
    profile = Profile(parts_of(plan))
    lower, upper, found = profile.epsilon(Fraction(delta))[:3]
    assert found == method
    assert upper * (1 - apart) <= lower <= upper
    lower, upper = profile.delta_bounds(Fraction(lower))
    assert upper * (1 - 1e3 * apart) <= delta <= upper * (1 + 1e3 * apart)
    assert upper * (1 - 1e3 * apart) <= lower <= upper


def test_the_last_answer_is_kept_with_its_method() -> None:
    profile = Profile(parts_of(1000 * Laplace(epsilon=0.1)))
    first = profile.epsilon(Fraction(1, 1000))
    assert profile.delta(Fraction(101))[:3] == (0.0, 0.0, "largest loss")
    assert profile.epsilon(Fraction(1, 1000)) is first
    assert first.method == "contour"
    assert profile.epsilon(Fraction(1, 10**6)).lower > first.upper


def test_threads_that_ask_one_profile_get_their_own_answers() -> None:
    from concurrent.futures import ThreadPoolExecutor

    plan = 20 * Laplace(epsilon="0.1")
    expected = {e: plan.delta_bounds(epsilon=e) for e in (0, 1)}
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            asked = [n % 2 for n in range(400)]
            answers = list(pool.map(lambda e: plan.delta_bounds(epsilon=e), asked))
    finally:
        sys.setswitchinterval(before)
    assert answers == [expected[e] for e in asked]
