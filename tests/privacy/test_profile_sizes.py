"""The profile is never below the truth for 1 to 10^6 mechanisms of every kind, with epsilons over eight decades.

Compositions are drawn by tests/profile_compositions.py; the truth is exact convolution where losses are atoms, and the
inversion integral in high precision, or a sum over draws, where they are not.
"""

from __future__ import annotations

import random
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from math import inf, log10

import pytest
from profile_compositions import FAMILIES, KINDS, LARGEST, Composition, Truth, some_composition

from zcdp import NotCertified

ERROR = 1e-25  # of the reference, relative
TIGHT = 1e-9
LONGEST = 300  # seconds until one answer counts as none
SEEDS = range(20)
EACH = {
    "one lattice": 160,
    "one logarithm": 30,
    "several lattices": 80,
    "lattice and noise": 90,
    "laplaces": 40,
    "much noise": 110,
}


@contextmanager
def patience(what: object) -> Iterator[None]:
    """A hang becomes a failure that names the composition."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"no answer in {LONGEST} s: {what}")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LONGEST)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def check(composition: Composition) -> str:
    """Assert what is claimed; the answer says how the profile found it."""
    plan = composition.plan
    # the profile is that of the dominating pairs; a plan may know better where a mechanism is a class
    source = plan if composition.is_exact else plan.profile
    assert source is not None
    with patience(composition):
        try:
            if composition.epsilon is not None:
                check_delta(source, composition)
            else:
                check_epsilon(source, composition)
        except NotCertified:
            return "not certified"
        if not composition.is_exact:
            check_attained(composition)
    assert plan.profile is not None
    return plan.profile.method


def bounds(source: object, composition: Composition) -> tuple[float, float]:
    epsilon, delta = composition.epsilon, composition.delta
    keywords = composition.is_exact
    if epsilon is not None:
        return source.delta_bounds(epsilon=epsilon) if keywords else source.delta_bounds(epsilon)  # type: ignore[attr-defined]
    return source.epsilon_bounds(delta=delta) if keywords else source.epsilon_bounds(delta)  # type: ignore[attr-defined]


def check_delta(source: object, composition: Composition) -> None:
    epsilon = composition.epsilon
    assert epsilon is not None
    truth = Truth(composition.laws, float(epsilon)).delta(epsilon)
    lower, upper = bounds(source, composition)
    assert upper >= truth * (1 - ERROR), f"{upper!r} is below {truth}: {composition}"
    slack = ERROR if composition.is_exact else TIGHT  # the pair of a class may be rounded up
    assert lower <= truth * (1 + slack), f"the lower end {lower!r} is above {truth}: {composition}"
    profile = source.profile if composition.is_exact else source  # type: ignore[attr-defined]
    if profile.method != "smoothed contour":
        assert upper <= truth * (1 + TIGHT) + 1e-307, f"{upper!r} is far above {truth}: {composition}"


def check_epsilon(source: object, composition: Composition) -> None:
    delta = composition.delta
    assert delta is not None
    lower, upper = bounds(source, composition)
    assert 0 <= lower <= upper < inf, composition
    truth = Truth(composition.laws, upper)
    if truth.method is None:
        return
    at = float(delta)
    value = truth.delta(Fraction(upper))
    assert value <= at * (1 + ERROR), f"epsilon {upper!r} is below the truth, delta there is {value}: {composition}"
    if lower > 0:
        value = Truth(composition.laws, lower).delta(Fraction(lower))
        slack = ERROR if composition.is_exact else TIGHT
        assert value >= at * (1 - slack), f"the lower end {lower!r} is too high, delta there is {value}: {composition}"
    profile = source.profile if composition.is_exact else source  # type: ignore[attr-defined]
    if profile.method != "smoothed contour":
        assert upper - lower <= TIGHT * upper, f"{lower!r} and {upper!r} are far apart: {composition}"


def check_attained(composition: Composition) -> None:
    """What the plan says is not below the profile of pairs that its mechanisms really have."""
    laws = composition.attained_laws
    if not laws:
        return
    plan = composition.plan
    if composition.delta is not None:
        upper = plan.epsilon_at(delta=composition.delta)
        truth = Truth(laws, upper)
        assert truth.method is None or truth.delta(Fraction(upper)) <= float(composition.delta) * (1 + ERROR), composition
    else:
        assert composition.epsilon is not None
        truth = Truth(laws, float(composition.epsilon))
        if truth.method is not None:
            value = truth.delta(composition.epsilon)
            assert plan.delta_at(epsilon=composition.epsilon) >= value * (1 - ERROR), composition


@pytest.mark.parametrize("family", FAMILIES)
def test_a_sample(family: str) -> None:
    rng = random.Random(7)
    for _ in range(EACH[family] // 10):
        check(some_composition(rng, family))


@pytest.mark.deep
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", SEEDS)
def test_ten_thousand(family: str, seed: int) -> None:
    rng = random.Random(1000 + seed)
    for _ in range(EACH[family]):
        check(some_composition(rng, family))
