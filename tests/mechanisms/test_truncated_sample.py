"""`TruncatedSample`: the probability of a full sample, what a cut costs, and what it is given."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from random import Random
from typing import Any

import numpy as np
import pytest
from independent.loss_grid import Line, Losses, normals, rounded

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


def chances(of: int, rate: Fraction, most: int) -> tuple[float, float]:
    """That of so many records the others fill a sample, and that one is drawn and kept then, by the sum."""
    filled = kept = Fraction(0)
    for m in range(most, of):
        chance = comb(of - 1, m) * rate**m * (1 - rate) ** (of - 1 - m)
        filled, kept = filled + chance, kept + chance * rate * Fraction(most, m + 1)
    return float(filled), float(kept / filled) if filled else 0.0


def together(parts: list[tuple[Losses, float]]) -> Losses:
    """The law of a loss that is drawn from either of some laws, by their chances."""
    first = min(law.first for law, _ in parts)
    masses = np.zeros(max(law.first + len(law.masses) for law, _ in parts) - first)
    for law, chance in parts:
        masses[law.first - first : law.first - first + len(law.masses)] += chance * law.masses
    return Losses(parts[0][0].step, first, masses)


def sampled(rate: float, sigma: float, move: int) -> Line:
    """A record that moves a sum so far, drawn at a rate."""
    drawn = normals([(0.0, 1 - rate), (float(move), rate)], sigma)
    return Line(drawn, normals([(0.0, 1.0)], sigma), -12 * sigma, move + 12 * sigma)


def between(seed: int) -> None:
    """What is stated, and what a record among others that are 0 attains, by explicit densities and convolution."""
    rng = Random(f"cut {seed}")
    sigma, of = Fraction(rng.randint(8, 50), 10), rng.choice((2, 5, 20, 100))
    rate, exactly = Fraction(rng.choice((10, 50, 100, 300, 700)), 1000), rng.random() < 0.5
    most = min(of, max(1, round(of * rate + rng.choice((-1, 0, 1, 2, 3)) * (float(of * rate * (1 - rate))) ** 0.5)))
    uses, delta = rng.choice((1, 2, 5, 20, 50)), rng.choice(("1e-3", "1e-5", "1e-6"))
    plan = uses * TruncatedSample(Gaussian(sigma=sigma), rate=rate, most=most, of=of, exactly=exactly)
    epsilon = rng.choice((0.6, 1.0)) * plan.epsilon_at(delta=delta)
    lower, upper = plan.delta_bounds(epsilon=epsilon)
    filled, kept = chances(of, rate, most)
    step, where = 2e-4, (sigma, of, rate, most, exactly, uses, epsilon, lower, upper)
    stated, attained = [[], []], [[], []]  # bounds below and above of both orders
    for turned in (False, True):
        usual = rounded(sampled(float(rate), float(sigma), 1), step, 4000, turned=turned)
        twice = sampled(kept if exactly else float(rate), float(sigma), 2) if filled else None
        full = rounded(twice, step, 4000, turned=turned) if twice else usual
        seen = float(rate) * (1 - filled) + filled * kept if exactly else float(rate)
        alone = rounded(sampled(seen, float(sigma), 1), step, 4000, turned=turned)
        for n in (0, 1):
            stated[n].append(together([(usual[n], 1 - filled), (full[n], filled)]).power(uses).delta(epsilon))
            attained[n].append(alone[n].power(uses).delta(epsilon))
    assert max(stated[0]) <= upper + 1e-12, where
    assert upper <= max(stated[1]) * (1 + 1e-9) + 1e-12, where
    assert max(attained[0]) <= upper + 1e-12, where
    assert lower <= max(attained[1]) + 1e-12, where


@pytest.mark.parametrize("seed", range(3))
def test_explicit_densities_agree(seed: int) -> None:
    between(seed)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(200))
def test_explicit_densities_agree_at_many_settings(seed: int) -> None:
    between(seed)
