"""The exact profile is never below the truth, and hardly above it, on random compositions of few mechanisms.

The truth is tests/independent/profile_reference.py, which enumerates outputs and convolves losses from the
definitions. Up to a million mechanisms: test_profile_sizes.py.
"""

from __future__ import annotations

import random
from fractions import Fraction
from math import exp, log

import mpmath
import pytest
from independent import profile_reference as reference
from mpmath import mpf

from zcdp import RAPPOR, DiscreteLaplace, ExponentialMechanism, Laplace, Mechanism, Plan, PureDP, RandomizedResponse
from zcdp.privacy.loss import logistic_pair
from zcdp.privacy.profile.profile import Profile

TIGHT = 1e-9


def build(kind: str, epsilon: Fraction, size: int) -> Mechanism:
    if kind == "pure":
        return PureDP(epsilon=epsilon)
    if kind == "rr":
        return RandomizedResponse(epsilon=epsilon, k=size)
    if kind == "rappor":
        return RAPPOR(epsilon=epsilon)
    return DiscreteLaplace(epsilon=epsilon, sensitivity=size)


def check(bounds: tuple[float, float], truth: mpf, what: object, tight: float = TIGHT) -> None:
    lower, upper = bounds
    error = truth * mpf(10) ** -90  # of the reference
    assert upper >= truth - error, f"{what}: {upper!r} is below {truth}"
    assert lower <= truth + error, f"{what}: lower end {lower!r} is above {truth}"
    assert upper <= truth * (1 + tight) + mpf(10) ** -307, f"{what}: {upper!r} is far above {truth}"


def some_epsilon(rng: random.Random, low: float, high: float) -> Fraction:
    """Log-uniform with at most three digits, as people write them."""
    return Fraction(f"{exp(rng.uniform(log(low), log(high))):.{rng.choice((0, 1, 2))}e}")


def lattice_case(rng: random.Random) -> None:
    base = some_epsilon(rng, 1e-6, 30)
    parts = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        kind = rng.choice(("pure", "rr", "rappor", "geometric"))
        size = rng.choice((2, 3, 5, 40, 10**6)) if kind == "rr" else rng.choice((1, 2, 3, 5))
        epsilon = base * rng.choice((1, 2, 3, Fraction(1, 2)))
        parts.append((kind, epsilon, size, max(1, round(exp(rng.uniform(0, log(40)))))))
    g, loss = reference.composed(parts)
    plan = Plan.sum_of(*(count * build(kind, epsilon, size) for kind, epsilon, size, count in parts))
    top = sum(epsilon * count for _, epsilon, _, count in parts)
    epsilon = rng.choice(
        (Fraction(0), top * Fraction(rng.randrange(1000), 1000), top * Fraction(rng.randrange(30), 1000))
    )
    rest = rng.choice((None, None, "laplace", "logistic"))
    if rest is None:
        check(plan.delta_bounds(epsilon=epsilon), reference.lattice_delta(g, loss, epsilon), (plan, epsilon))
        return
    extra = base * rng.choice((1, Fraction(7, 3), Fraction(1, 100)))
    pairs = tuple((part.pair().upper, count) for part, count in plan.parts)
    if rest == "laplace":
        whole = plan + Laplace(epsilon=extra)
        truth = reference.lattice_delta(g, loss, epsilon, lambda x: reference.laplace_delta(extra, x))
        check(whole.delta_bounds(epsilon=epsilon), truth, (whole, epsilon))
    else:
        truth = reference.lattice_delta(g, loss, epsilon, lambda x: reference.logistic_delta(extra, x))
        profile = Profile((*pairs, (logistic_pair(extra), 1)))
        check(profile.delta_bounds(epsilon), truth, (plan, "logistic", extra, epsilon))
        assert (plan + ExponentialMechanism(epsilon=extra)).delta_at(epsilon=epsilon) <= truth * (1 + mpf(TIGHT)) + mpf(
            10
        ) ** -307


def many_case(rng: random.Random) -> None:
    count = round(exp(rng.uniform(log(100), log(1e6))))
    e = some_epsilon(rng, 1e-6, 1)
    deviation = 0.5 * float(e) ** 2 * count, float(e) * count**0.5
    epsilon = Fraction(min(max(deviation[0] + rng.uniform(-2, 12) * deviation[1], 0.0), float(count * e) * 0.999))
    plan = count * PureDP(epsilon=e)
    check(plan.delta_bounds(epsilon=epsilon), reference.binary_delta(e, count, epsilon), (plan, epsilon))


def laplace_case(rng: random.Random) -> None:
    e1, e2 = some_epsilon(rng, 1e-4, 10), some_epsilon(rng, 1e-4, 10)
    epsilon = (e1 + e2) * Fraction(rng.randrange(1000), 1000)
    plan = Laplace(epsilon=e1) + Laplace(epsilon=e2)
    check(plan.delta_bounds(epsilon=epsilon), reference.two_laplace_delta(e1, e2, epsilon), (plan, epsilon))


def laplaces_case(rng: random.Random) -> None:
    count, e = rng.choice((3, 5, 8, 13, 30)), some_epsilon(rng, 1e-4, 4)
    epsilon = count * e * Fraction(rng.randrange(1000), 1000)
    plan = count * Laplace(epsilon=e)
    check(plan.delta_bounds(epsilon=epsilon), reference.many_laplace_delta(e, count, epsilon), (plan, epsilon))


def float_case(rng: random.Random) -> None:
    """Floats that share no lattice but that of their last bits: few of them, with or without a Laplace mechanism."""
    epsilons = [Fraction(exp(rng.uniform(log(1e-6), log(20)))) for _ in range(rng.choice((2, 3)))]
    if rng.random() < 0.5:
        epsilons = [Fraction(rng.randrange(1, 1000) / 1000) for _ in epsilons]  # decimals, as floats
    parts = [(rng.choice(("pure", "rr", "rappor")), e, 5, rng.choice((1, 2, 3))) for e in epsilons]
    plan = Plan.sum_of(*(count * build(kind, epsilon, size) for kind, epsilon, size, count in parts))
    points = {Fraction(0): mpf(1)}
    for kind, e, size, count in parts:
        for _ in range(count):
            longer: dict[Fraction, mpf] = {}
            for loss, mass in points.items():
                for multiple, share in reference.outputs(kind, e, size):
                    longer[loss + multiple * e] = longer.get(loss + multiple * e, mpf(0)) + mass * share
            points = longer
    epsilon = sum(e * count for _, e, _, count in parts) * Fraction(rng.randrange(1000), 1000)
    extra = Fraction(rng.randrange(1, 1000) / 1000)
    truth = mpmath.fsum(m * -mpmath.expm1(reference.real(epsilon - x)) for x, m in points.items() if x > epsilon)
    check(plan.delta_bounds(epsilon=epsilon), truth, (plan, epsilon))
    truth = mpmath.fsum(mass * reference.laplace_delta(extra, epsilon - loss) for loss, mass in points.items())
    check((plan + Laplace(epsilon=extra)).delta_bounds(epsilon=epsilon), truth, (plan, extra, epsilon))


CASES = {
    "lattice": (lattice_case, 80),
    "many": (many_case, 25),
    "laplace": (laplace_case, 8),
    "laplaces": (laplaces_case, 12),
    "floats": (float_case, 12),
}


@pytest.mark.parametrize("name", CASES)
def test_never_below_the_truth(name: str) -> None:
    case, times = CASES[name]
    rng = random.Random(20)
    for _ in range(times):
        case(rng)


@pytest.mark.deep
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", range(100, 105))
def test_more_compositions(name: str, seed: int) -> None:
    case, times = CASES[name]
    rng = random.Random(seed)
    for _ in range(4 * times):
        case(rng)
