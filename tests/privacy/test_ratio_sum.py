"""E (x - S)_+ of sums of likelihood ratios: against integrals in mpmath, and sums over all outcomes in rationals."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod
from random import Random

import pytest
from flint import arb
from mpmath import mp, mpf

from zcdp.numeric.balls import above, at_precision, below, lift
from zcdp.privacy.loss.ratio_sum import AtomRatios, GaussianRatios, RatioSum, _Contour, _Plan

F = Fraction


def of_two_gaussians(mu: float, x: float) -> mpf:
    """E (x - X_1 - X_2)_+ for lognormal ratios: the closed form of one, integrated over the other."""
    mu, x = mpf(mu), mpf(x)

    def one(k: mpf) -> mpf:
        """E (k - X)_+."""
        if k <= 0:
            return mpf(0)
        d = (mp.log(k) + mu * mu / 2) / mu
        return k * mp.ncdf(d) - mp.ncdf(d - mu)

    def inner(u: mpf) -> mpf:
        return mp.npdf(u) * one(x - mp.exp(mu * u - mu * mu / 2))

    end = (mp.log(x) + mu * mu / 2) / mu
    return mp.quad(inner, mp.linspace(-12, min(end, mpf(12)), 13))


@pytest.mark.parametrize(("mu", "x"), [(1.0, 0.3), (1.0, 2.0), (1.0, 9.0), (2.0, 5.0), (0.3, 1.9), (0.3, 3.0)])
def test_two_gaussian_ratios_are_those_of_a_double_integral(mu: float, x: float) -> None:
    with mp.workdps(25):
        truth = of_two_gaussians(mu, x)
        rest = max(mpf(x) - 2, mpf(0))  # what is certain: what is more is what matters
        more = RatioSum(GaussianRatios(lambda: arb(mu) ** 2), 2)
        low, high = at_precision(160, lambda: [end - (arb(x) - 2).max(arb(0)) for end in more.ends(arb(x))])
        assert below(low) <= float(truth - rest) * (1 + 1e-9)
        assert float(truth - rest) * (1 - 1e-9) <= above(high)
        assert above(high) - below(low) <= 2e-3 * float(truth - rest)


def of_all_outcomes(atoms: list[tuple[F, F]], batches: int, x: F) -> F:
    ratios = [(p / q, q) for p, q in atoms if q]
    return sum(
        (
            prod((mass for _, mass in drawn), start=F(1)) * max(x - sum(ratio for ratio, _ in drawn), F(0))
            for drawn in product(ratios, repeat=batches)
        ),
        F(0),
    )


def some_atoms(rng: Random) -> list[tuple[F, F]]:
    """A pair on two to four outcomes, at times with some that only one of the two produces."""
    size = rng.randint(2, 4)
    rows = [[rng.randint(0 if rng.random() < 0.2 else 1, 9) for _ in range(size)] for _ in range(2)]
    rows = [[*row[:-1], max(row[-1], 1)] for row in rows]
    p, q = ([F(x, sum(row)) for x in row] for row in rows)
    return [(a, b) for a, b in zip(p, q, strict=True) if a or b]


@pytest.mark.parametrize("seed", range(4))
def test_atoms_are_summed_as_all_outcomes_are(seed: int) -> None:
    rng = Random(seed)
    atoms, batches = some_atoms(rng), rng.randint(2, 4)
    found = RatioSum(AtomRatios(tuple(atoms)), batches, coarse=True)
    for x in (F(1, 10), F(batches, 3), F(batches), F(3 * batches, 2), F(7 * batches)):
        truth = of_all_outcomes(atoms, batches, x)
        low, high = at_precision(160, lambda x=x: found.ends(lift(x)))
        assert F(below(low)) <= truth <= F(above(high)) + F(1, 10**30), (atoms, x)
        assert above(high) - below(low) <= 0.02 * max(float(truth), float(x) / 100) + 1e-12
        assert high.overlaps(at_precision(160, lambda x=x: found.upper(lift(x))))


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(200))
def test_random_settings_are_between_both_ends(seed: int) -> None:
    rng = Random(f"random settings {seed}")
    if seed % 2:
        atoms, batches = some_atoms(rng), rng.randint(2, 5)
        x = F(rng.randint(1, 40 * batches), 10)
        truth: F | float = of_all_outcomes(atoms, batches, x)
        ends = at_precision(160, lambda: RatioSum(AtomRatios(tuple(atoms)), batches).ends(lift(x)))
        assert F(below(ends[0])) - F(1, 10**30) <= truth <= F(above(ends[1])) + F(1, 10**30)
    else:
        mu, place = rng.uniform(0.2, 2), rng.uniform(0.05, 12)
        with mp.workdps(25):
            truth = float(of_two_gaussians(mu, place))
        ends = at_precision(160, lambda: RatioSum(GaussianRatios(lambda: arb(mu) ** 2), 2).ends(arb(place)))
        assert below(ends[0]) * (1 - 1e-14) <= truth <= above(ends[1]) * (1 + 1e-14)


def test_a_period_shorter_than_x_has_aliases_on_its_left_too() -> None:
    """Far left of the mean the sum over few nodes repeats what is still further left, many times larger."""
    low, high = at_precision(200, lambda: RatioSum(GaussianRatios(lambda: arb(1)), 100).ends(arb("40.65")))
    assert below(low) <= above(high) < 1e-11


@pytest.mark.parametrize("period", [20, 15, 7])
def test_what_repeats_left_of_x_is_taken_off_the_lower_end(period: int) -> None:
    """A period that is far too short: the sum is many times the mean, of which a contour of a long one tells."""
    ratios, batches, x = GaussianRatios(lambda: arb(1)), 40, arb(30)

    def check() -> None:
        known = RatioSum(ratios, batches).ends(x)[1]
        assert known < 1
        line = (arb(3), arb(4), 2 * arb.pi() / period, arb(0))
        low, high = _Contour(ratios, batches, _Plan(line, 400, 200, 80.0)).ends(x)
        assert high > 1e9
        assert low <= known <= high

    at_precision(200, check)


def test_the_transform_decays_as_the_rotated_path_says() -> None:
    """At heights from the stated one on, by the sum itself."""
    ratios = GaussianRatios(lambda: arb(1))

    def check() -> None:
        c, step = arb("0.1"), arb(2)
        values = ratios.values(c, step, 60, 40.0)
        for first in (1, 5, 20, 40):
            bound = ratios.decay(c, step * first)
            assert all(abs(value) <= bound for value in values[first:])
            assert bound < 3 * abs(values[first])

    at_precision(128, check)
