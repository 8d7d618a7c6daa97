"""`TruncatedSample`: the probability of a full sample, what a cut costs, and what it is given."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from random import Random
from typing import Any

import pytest

from zcdp import Gaussian, Plan, RandomizedResponse, Subsampled, TruncatedSample, ZcdpError

BASE = Gaussian(sigma="1.1")


def cut(most: int, of: int = 60_000, rate: Any = "256/60000") -> TruncatedSample:
    return TruncatedSample(BASE, rate=rate, most=most, of=of)


def test_the_probability_of_a_full_sample() -> None:
    rng = Random(3)
    for _ in range(20):
        of, rate = rng.randint(1, 60), Fraction(rng.randint(1, 99), 100)
        most = rng.randint(1, of + 1)
        others = of - 1
        true = sum((comb(others, m) * rate**m * (1 - rate) ** (others - m) for m in range(most, of)), Fraction(0))
        found = TruncatedSample(BASE, rate=rate, most=most, of=of).full
        assert true <= found <= true * Fraction(1 + 1e-12)


def test_what_a_cut_costs() -> None:
    """As epsilon of DP-SGD on MNIST at delta 1e-5, which is 2.38169 without a cut."""
    plain = (14063 * Subsampled(BASE, rate="256/60000")).epsilon_at(delta="1e-5")
    costs = [(14063 * cut(most)).epsilon_at(delta="1e-5") for most in (300, 320, 376)]
    assert costs == sorted(costs, reverse=True)
    assert plain <= costs[-1] < plain * (1 + 1e-8)
    assert costs == pytest.approx([3.45694, 2.40873, 2.38169], abs=2e-5)


def test_samples_that_are_never_full_are_poisson_samples() -> None:
    small = cut(20, of=20, rate="0.3")
    assert small.full == 0
    assert small.epsilon_bounds(delta="1e-5") == Subsampled(BASE, rate="0.3").epsilon_bounds(delta="1e-5")
    assert small.is_tight


def test_a_sample_that_is_always_full_costs_two_steps() -> None:
    crowded = cut(1, of=10_000, rate="0.5")
    twice = Subsampled(Gaussian(sigma="1.1", sensitivity=2), rate="0.5")
    assert crowded.full == 1
    assert crowded.delta_at(epsilon=1) == pytest.approx(twice.delta_at(epsilon=1), rel=1e-12)
    assert crowded.rho == twice.rho


def test_plans_read_what_they_write() -> None:
    assert Plan.parse(repr(cut(320))) == Plan.sum_of(cut(320))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rate": 1, "most": 1, "of": 2}, r"rate \(1\) must be above 0 and below 1"),
        ({"rate": "0.1", "most": 0, "of": 2}, "most"),
        ({"rate": "0.1", "most": 1, "of": 0}, "of"),
    ],
)
def test_what_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ZcdpError, match=message):
        TruncatedSample(BASE, **given)


def test_bases_that_are_refused() -> None:
    local = RandomizedResponse(epsilon=1, k=2)
    for base in (local, Subsampled(BASE, rate="0.1")):
        with pytest.raises(ZcdpError, match="cannot run on a truncated sample"):
            TruncatedSample(base, rate="0.1", most=3, of=9)
    with pytest.raises(ZcdpError, match="must be a mechanism"):
        TruncatedSample(2 * BASE, rate="0.1", most=3, of=9)  # type: ignore[arg-type]
