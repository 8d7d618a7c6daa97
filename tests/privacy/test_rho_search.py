"""rho of parts that peak at different orders: around the supremum of the written-out sum, every use counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import inf

import pytest
from flint import arb
from mpmath import mp, mpf

from zcdp import Gaussian, Laplace, LossPair, Plan, PureDP, RandomizedResponse
from zcdp.numeric.balls import NotCertified, at_precision
from zcdp.numeric.supremum import Supremum
from zcdp.privacy import rho_search
from zcdp.privacy.curve import Peak
from zcdp.privacy.rho_search import from_below, search, searched_rho, sum_of_divergences

F = Fraction
Cumulant = Callable[[mpf], mpf]


@pytest.fixture(autouse=True)
def many_digits() -> Iterator[None]:
    with mp.workdps(40):
        yield


def laplace(e: str) -> Cumulant:
    """log E exp(s L): L is e with mass 1/2, -e with mass exp(-e)/2, and has the density exp((l - e)/2)/4 between."""
    loss = mpf(e)

    def value(s: mpf) -> mpf:
        between = mp.exp(-loss / 2) * mp.sinh((s + mpf(1) / 2) * loss) / (2 * s + 1)
        return mp.log(mp.exp(s * loss) / 2 + mp.exp(-loss - s * loss) / 2 + between)

    return value


def response(e: str, k: int) -> Cumulant:
    def value(s: mpf) -> mpf:
        loss = mpf(e)
        truth, other = mp.exp(loss) / (mp.exp(loss) + k - 1), 1 / (mp.exp(loss) + k - 1)
        return mp.log(truth * mp.exp(s * loss) + other * mp.exp(-s * loss) + (k - 2) * other)

    return value


def pure(e: str) -> Cumulant:
    return response(e, 2)


def steepest(parts: list[tuple[Cumulant, int]]) -> mpf:
    """The largest K(s)/(s(1+s)): on a grid of orders, and by golden sections around the best one."""

    def ratio(log_s: mpf) -> mpf:
        s = mp.exp(log_s)
        return mp.fsum(count * k(s) for k, count in parts) / (s * (1 + s))

    points = [mpf(n) / 4 for n in range(-16, 13)]
    best = max(points, key=ratio)
    left, right, golden = best - mpf(1) / 4, best + mpf(1) / 4, (mp.sqrt(5) - 1) / 2
    for _ in range(36):
        inner, outer = right - golden * (right - left), left + golden * (right - left)
        left, right = (inner, right) if ratio(inner) < ratio(outer) else (left, outer)
    return max(ratio((left + right) / 2), ratio(mp.log(mpf(10) ** -14)))  # it may be largest next to order 1


PLANS: dict[str, tuple[Plan, list[tuple[Cumulant, int]], Fraction]] = {
    "two kinds": (
        PureDP(epsilon=1) + 5 * RandomizedResponse(epsilon=5, k=2000),
        [(pure("1"), 1), (response("5", 2000), 5)],
        F(0),
    ),
    "with gaussian noise": (
        2 * RandomizedResponse(epsilon=6, k=3000) + 7 * Gaussian(sigma=2) + PureDP(epsilon=2),
        [(response("6", 3000), 2), (pure("2"), 1)],
        F(7, 8),
    ),
    "with two noises": (
        4 * Gaussian(sigma=2) + 2 * Gaussian(sigma=4) + 3 * RandomizedResponse(epsilon=4, k=1000),
        [(response("4", 1000), 3)],
        F(9, 16),
    ),
    "with laplace noise": (2 * Laplace(epsilon=5) + Gaussian(sigma=1), [(laplace("5"), 2)], F(1, 2)),
}


@pytest.mark.parametrize("name", PLANS)
def test_both_ends_are_around_the_supremum_over_all_orders(name: str) -> None:
    """Gaussian noise costs its own rho at every order: it adds to the supremum of the rest."""
    plan, parts, noise = PLANS[name]
    truth = steepest(parts) + mpf(noise.numerator) / noise.denominator
    for lower, upper in (search(plan, 1e-10), plan.rho_bounds, searched_rho(plan, 100.0)):
        assert lower <= truth * (1 + mpf(10) ** -12)
        assert truth <= upper * (1 + mpf(10) ** -14)
        assert upper - lower < 1e-8
    assert plan.rho == plan.rho_bounds[1]


def test_a_search_that_finds_less_than_a_look_at_one_order_keeps_the_better_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both ends hold: the larger lower one and the smaller upper one are kept."""
    plan, parts, noise = PLANS["two kinds"]
    truth = float(steepest(parts))
    for found in ((0.0, truth * 2), (truth * 0.999999, truth * 1.0001), (0.0, truth * 1.5)):
        monkeypatch.setattr(Plan, "search_rho", lambda _, tolerance, found=found: found)
        lower, upper = searched_rho(plan, truth * 1.2)
        assert found[0] <= lower <= truth * (1 + 1e-12)
        assert upper == min(found[1], truth * 1.2)
    assert noise == 0


def test_beside_noise_the_upper_end_of_the_rest_is_added_and_the_lower_one_is_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The search over the rest is vague: between 1 and 9, largest near s = 1/2, where the whole plan is asked."""
    asked: list[tuple[tuple[object, int], ...]] = []

    def vague(convexes: Callable[[], object], tolerance: float, *, most_tries: int) -> Supremum:
        del tolerance, most_tries
        asked.append(convexes.__self__.parts)  # type: ignore[attr-defined]
        return Supremum(1.0, 9.0, 0, 0.5)

    monkeypatch.setattr(rho_search, "steepest_ratio", vague)
    plan, [(k, count)], noise = PLANS["with two noises"]
    lower, upper = search(plan, 1e-10)
    assert upper == 9 + noise
    at = count * k(mpf(1) / 2) / (mpf(3) / 4) + mpf(9) / 16
    slope = count * k(mpf(10) ** -20) * mpf(10) ** 20 + mpf(9) / 16
    assert at > slope
    assert lower <= at
    assert lower == pytest.approx(float(at), rel=1e-12)
    assert asked == [((RandomizedResponse(epsilon=4, k=1000), 3),)]
    only = 3 * Gaussian(sigma=2) + 5 * Gaussian(sigma=4)
    assert search(only, 1e-10) == (17 / 32, 17 / 32)


DIVERGENCES = [F(0), F(1, 2), F(2), F(10)]


@pytest.mark.parametrize("excess", DIVERGENCES)
def test_divergences_of_all_parts_are_added_as_often_as_they_run(excess: Fraction) -> None:
    """K(s)/s of each, at order 1 its slope."""
    for plan, parts, noise in PLANS.values():
        if excess:
            s = mpf(excess.numerator) / excess.denominator
            truth = mp.fsum(count * k(s) for k, count in parts) / s + mpf(noise.numerator) / noise.denominator * (1 + s)
        else:
            slopes = mp.fsum(count * mp.diff(k, 0, direction=0, h=mpf(10) ** -9) for k, count in parts)
            truth = slopes + mpf(noise.numerator) / noise.denominator
        found = sum_of_divergences(plan, excess)
        assert truth * (1 - mpf(10) ** -10) <= found <= truth * (1 + mpf(10) ** -10)
        if excess:
            assert truth * (1 - mpf(10) ** -20) <= found
        assert plan.rdp(1 + excess) == pytest.approx(float(truth), rel=1e-9)


def test_an_infinite_part_makes_every_divergence_infinite() -> None:
    away = LossPair(p=["1/2", "1/2", "0"], q=["1/2", "0", "1/2"])
    assert sum_of_divergences(away + Laplace(epsilon=1), F(1)) == inf
    assert sum_of_divergences(Laplace(epsilon=1) + away, F(0)) == inf


class Mere(PureDP):
    """Pure DP of which only a bound on rho is known, 3/4, and a pair that costs 1/3."""

    @property
    def is_tight(self) -> bool:
        return False

    def peak(self) -> Peak:
        return Peak(arb(3) / 4, arb(1))

    def witness(self) -> arb:
        return arb(1) / 3


def test_a_bound_beside_others_is_no_lower_end_but_each_of_them_is() -> None:
    """Of a plan with a mere bound the lower end is what one part alone costs, however often it runs."""
    bound = Mere(epsilon=1)
    assert not bound.is_tight
    plan = bound + 4 * RandomizedResponse(epsilon=1, k=4) + 2 * PureDP(epsilon=1)
    alone = max(4 * steepest([(response("1", 4), 1)]), 2 * steepest([(pure("1"), 1)]))
    lower, upper = plan.rho_bounds
    assert alone > mpf(1) / 3
    assert alone * (1 - mpf(10) ** -9) <= lower <= alone * (1 + mpf(10) ** -12)
    assert upper == plan.rho >= alone
    assert not plan.is_tight


def test_many_uses_of_a_mere_bound_have_its_ends_so_many_times() -> None:
    bound = Mere(epsilon=1)
    once, often = bound.rho_bounds, (6 * bound).rho_bounds
    assert once == pytest.approx((1 / 3, 3 / 4), rel=1e-15)
    assert F(once[0]) <= F(1, 3)
    assert often[0] == pytest.approx(6 * once[0], rel=1e-12)
    assert often[0] <= 6 * F(once[0])
    assert 6 * F(once[1]) <= F(often[1])
    assert often[1] == pytest.approx(6 * once[1], rel=1e-12)


class Hard(PureDP):
    """Pure DP of which only the search knows a peak: as of curves that have no theorem."""

    def peak(self) -> Peak:
        raise NotCertified("searched")

    @property
    def _peak_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return 0.125, 0.375


def test_both_ends_of_a_searched_peak_are_kept_apart_when_it_is_repeated() -> None:
    assert (5 * Hard(epsilon=1)).rho_bounds == (0.625, 1.875)
    assert (5 * Hard(epsilon=1)).rho == 1.875


def test_what_is_known_to_few_digits_is_no_lower_end() -> None:
    wide = at_precision(128, lambda: arb(1).union(arb(2)))
    assert from_below(lambda: wide) == 0.0
    assert from_below(lambda: arb(-3)) == 0.0
    third = from_below(lambda: arb(1) / 3)
    assert F(third) < F(1, 3) < F(third) * (1 + F(1, 2**50))
    assert from_below(lambda: arb("+inf")) == 0.0
