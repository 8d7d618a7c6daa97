"""`TruncatedSample`: the probability of a full sample, what a cut costs, and what it is given."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from random import Random
from typing import Any

import pytest

from zcdp import Allocation, Gaussian, Plan, RandomizedResponse, Subsampled, TruncatedSample, ZcdpError

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


def test_just_so_many_records_are_kept_less_often() -> None:
    """Of a full sample with one of four records: dp-accounting says 17.904330, for a replaced record."""
    few = [TruncatedSample(Gaussian(sigma=1), rate="0.5", most=2, of=of, exactly=True) for of in (4, 3)]
    assert (3 * few[0] + 2 * few[1]).epsilon_at(delta="1e-6") == pytest.approx(16.456509, abs=1e-6)
    for step, kept in zip(few, (Fraction(5, 16), Fraction(1, 3)), strict=True):  # by counting all samples
        assert kept <= step._kept <= kept * Fraction(1 + 1e-12)
    assert cut(376).epsilon_at(delta="1e-5") >= TruncatedSample(
        BASE, rate="256/60000", most=376, of=60_000, exactly=True
    ).epsilon_at(delta="1e-5")
    crowded = TruncatedSample(BASE, rate="0.5", most=1, of=10_000, exactly=True)  # one of 10,000, always
    assert float(crowded._kept) == pytest.approx(1e-4, rel=1e-9)
    twice = Subsampled(Gaussian(sigma="1.1", sensitivity=2), rate="1e-4")
    assert crowded.delta_at(epsilon=1) == pytest.approx(twice.delta_at(epsilon=1), rel=1e-9)


def test_the_number_of_records_of_a_sample_is_not_known() -> None:
    step = TruncatedSample(BASE, rate="0.1", most=3, of=9, exactly=True)
    for base in (step, 2 * step + BASE):
        with pytest.raises(ZcdpError, match="cannot run on records drawn at random"):
            Subsampled(base, rate="0.5")
        with pytest.raises(ZcdpError, match="cannot run on records drawn at random"):
            Allocation(base, batches=2)


def test_plans_read_what_they_write() -> None:
    for step in (cut(320), TruncatedSample(BASE, rate="0.1", most=3, of=9, exactly=True)):
        assert Plan.parse(repr(step)) == Plan.sum_of(step)
        assert Plan.from_json(Plan.sum_of(step).to_json()) == Plan.sum_of(step)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rate": 1, "most": 1, "of": 2}, r"rate \(1\) must be above 0 and below 1"),
        ({"rate": "0.1", "most": 0, "of": 2}, "most"),
        ({"rate": "0.1", "most": 1, "of": 0}, "of"),
        ({"rate": "0.1", "most": 1, "of": 2, "exactly": 1}, r"exactly \(1\) must be True or False"),
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
