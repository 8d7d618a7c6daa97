"""The contour in doubles: every value within its bound of the same in balls, and the sum around the truth."""

from __future__ import annotations

import random
from fractions import Fraction
from math import exp

import pytest
from flint import acb, arb
from profile_laws import law
from profile_truth import Truth

from zcdp import DiscreteLaplace, Laplace, Plan, RandomizedResponse
from zcdp.numeric.balls import at_precision, lift
from zcdp.privacy import smoothed
from zcdp.privacy.float_contour import FloatContour
from zcdp.privacy.line import Line
from zcdp.privacy.pair import discrete_laplace_pair, gaussian_pair, laplace_pair, logistic_pair, three_point_pair
from zcdp.privacy.profile import Profile
from zcdp.privacy.transform import Parts, Transform

PLANS: dict[str, Parts] = {
    "laplace": ((laplace_pair(Fraction(0.317)), 1), (laplace_pair(Fraction(0.0911)), 3)),
    "atoms": ((three_point_pair(Fraction(0.77), 5), 40), (three_point_pair(Fraction(3.1)), 2)),
    "rows": ((discrete_laplace_pair(Fraction(2.2), 60), 7), (logistic_pair(Fraction(0.4)), 1)),
    "many": ((laplace_pair(Fraction(0.001)), 5000), (three_point_pair(Fraction(0.0007)), 5000)),
}


def contour_of(parts: Parts, mu: Fraction, nodes: int) -> FloatContour:
    pair = gaussian_pair(lambda: lift(mu * mu))
    line = Line(Transform((*parts, (pair, 1))), arb(3.5), arb(1) / 2, tolerance=1e-13)
    return FloatContour(line, nodes, lift(mu))


@pytest.mark.parametrize("name", PLANS)
def test_each_value_is_within_its_bound(name: str) -> None:
    def worst() -> float:
        contour = contour_of(PLANS[name], Fraction(1, 500), 30_000)
        c, width, found = contour.line.c, contour.width, arb(0)
        for k in (*range(1, 100), *random.Random(1).sample(range(100, contour.width * contour.height), 200)):
            z = acb(c, arb(contour.step) * k)
            phase = acb(0, contour._phase * contour.step * k).exp()
            exact = contour.line.transform.moment(z) / contour.line.weight
            value = complex(contour.values[k // width, k % width])
            error = abs(acb(value.real, value.imag) * phase * (z * (z + 1)) - exact)
            found = found.max(error.upper())
        assert found < contour.each
        return float(found / contour.each)

    assert 1e-5 < at_precision(160, worst) < 1  # the bound is not absurd either


def test_the_sum_encloses_that_of_a_finite_sum() -> None:
    """Two Laplace mechanisms smoothed: the mean of their exact profile over the Gaussian's loss, by quadrature."""
    parts, mu = PLANS["laplace"], Fraction(1, 200)
    exact = Profile(parts)

    def check() -> tuple[float, float]:
        lower, upper = contour_of(parts, mu, 60_000).delta(Fraction(1, 4))
        return float(lower), float(upper)

    lower, upper = at_precision(128, check)
    steps = 801
    total = weight = 0.0
    for n in range(steps):
        s = -8 + 16 * n / (steps - 1)
        density = exp(-s * s / 2)
        loss = Fraction(mu * mu / 2) + mu * Fraction(s)
        total += density * exact.delta_bounds(max(Fraction(1, 4) - loss, Fraction(0)))[1]
        weight += density
    assert lower <= upper <= lower * (1 + 1e-9)
    assert upper == pytest.approx(total / weight, rel=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_many_different_mechanisms_are_known_to_1e_9(seed: int) -> None:
    rng = random.Random(seed)
    epsilons = [rng.uniform(0.05, 1) for _ in range(26 + 4 * seed)]
    kinds = (Laplace, lambda epsilon: RandomizedResponse(epsilon=epsilon, k=4), DiscreteLaplace)
    plan = Plan.sum_of(*(kinds[n % 3](epsilon=e) for n, e in enumerate(epsilons)))
    lower, upper = plan.epsilon_bounds(delta=1e-6)
    assert plan.profile is not None
    assert plan.profile.method == "smoothed contour"
    assert lower <= upper <= lower * (1 + 1e-9)


def test_it_is_above_the_truth_of_incommensurable_lattices() -> None:
    epsilons = [Fraction(0.3171), Fraction(0.2113), Fraction(0.1777)]
    counts = (30, 40, 25)
    laws = [(law("rr", e, (Fraction(4),)), n) for e, n in zip(epsilons, counts, strict=True)]
    plan = Plan.sum_of(*(n * RandomizedResponse(epsilon=e, k=4) for e, n in zip(epsilons, counts, strict=True)))
    epsilon = plan.epsilon_at(delta=1e-6)
    truth = Truth(laws, epsilon)
    assert truth.method == "lattice"
    assert truth.delta(Fraction(epsilon)) <= 1e-6
    assert truth.delta(Fraction(epsilon) * (1 - Fraction(1, 10**9))) >= 1e-6


def test_where_doubles_are_too_coarse_balls_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(5)
    plan = Plan.sum_of(*(Laplace(epsilon=rng.uniform(0.05, 1)) for _ in range(26)))
    tight = plan.epsilon_bounds(delta=1e-6)
    monkeypatch.setattr(smoothed, "COARSE", 0.0)
    loose = Plan.sum_of(*(part for part, _ in plan.parts)).epsilon_bounds(delta=1e-6)
    assert loose[0] < tight[0] <= tight[1] < loose[1]
