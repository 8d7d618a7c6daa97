"""The profile is never below the truth for 1 to 10^6 mechanisms of every kind, with epsilons over eight decades.

Compositions are drawn by tests/profile_compositions.py; the truth is exact convolution where losses are atoms, and the
inversion integral in high precision, or a sum over draws, where they are not.
"""

from __future__ import annotations

import random
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import floor, inf, log10

import pytest
from independent.profile_laws import largest, law
from independent.profile_truth import Truth
from profile_compositions import FAMILIES, LARGEST, Composition, some_composition
from profile_kinds import KINDS

from zcdp import NotCertified
from zcdp.privacy.profile.profile import Profile

ERROR = 1e-25  # of the reference, relative; 1 - ERROR is 1 in doubles, so it is taken from the reference itself
TIGHT = 1e-9
ROUNDED = Fraction(1, 10**14)
LONGEST = 100  # seconds until one answer counts as none
SEEDS = range(20)
SAMPLE = 100  # the seed of what `make test` runs
EACH = {
    "one lattice": 180,
    "one logarithm": 40,
    "several lattices": 80,
    "lattice and noise": 90,
    "laplaces": 40,
    "much noise": 80,
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
        with suppress(NotCertified):  # of the profile alone; the plan has other routes
            (check_epsilon if composition.epsilon is None else check_delta)(source, composition)
        if not composition.is_exact:
            check_attained(composition)
    assert plan.profile is not None
    return method(plan.profile, composition)


def method(profile: Profile, composition: Composition) -> str:
    """How the profile found the answer."""
    try:
        if composition.epsilon is not None:
            return profile.delta(composition.epsilon).method
        assert composition.delta is not None
        return profile.epsilon(composition.delta).method
    except NotCertified:
        return "nothing certified"


def bounds(source: object, composition: Composition) -> tuple[float, float]:
    epsilon, delta = composition.epsilon, composition.delta
    keywords = composition.is_exact
    if epsilon is not None:
        return source.delta_bounds(epsilon=epsilon) if keywords else source.delta_bounds(epsilon)  # type: ignore[attr-defined]
    return source.epsilon_bounds(delta=delta) if keywords else source.epsilon_bounds(delta)  # type: ignore[attr-defined]


def check_delta(source: object, composition: Composition) -> None:
    epsilon = composition.epsilon
    assert epsilon is not None
    reference = Truth(composition.laws, float(epsilon))
    truth = reference.delta(epsilon)
    lower, upper = bounds(source, composition)
    assert upper >= truth - truth * ERROR, f"{upper!r} is below {truth}: {composition}"
    # where losses are rounded up, to a common lattice or to a float: what is true at an epsilon that is hardly less
    moved = reference.delta(max(epsilon - ROUNDED * total_loss(composition), Fraction(0)))
    least = truth if composition.is_exact else moved
    error = ERROR if composition.is_exact else 10 * ROUNDED  # at epsilon = 0 there is nothing less
    assert lower <= least + least * error, f"the lower end {lower!r} is above {truth}: {composition}"
    profile = source.profile if composition.is_exact else source  # type: ignore[attr-defined]
    if method(profile, composition) != "smoothed contour":
        assert upper <= moved * (1 + TIGHT) + 1e-307, f"{upper!r} is far above {truth}: {composition}"


def total_loss(composition: Composition) -> Fraction:
    """The largest there is; 0 where it is unbounded: then nothing is rounded."""
    top = largest(composition.laws)
    return Fraction(top) if top < inf else Fraction(0)


def check_epsilon(source: object, composition: Composition) -> None:
    """The truth is read off where epsilon is said to be: its delta there must be on the right side of the target."""
    assert composition.delta is not None
    delta = float(composition.delta)
    lower, upper = bounds(source, composition)
    assert 0 <= lower <= upper < inf, composition
    truth = Truth(composition.laws, upper)
    if truth.method is None:  # epsilon is not where it was expected, and no reference is good there
        return
    there = truth.delta(Fraction(upper))
    assert there - there * ERROR <= delta, f"epsilon {upper!r} is below the truth, delta is {there}: {composition}"
    if lower > 0:
        before = truth.delta(Fraction(lower) * (1 if composition.is_exact else 1 - ROUNDED))
        assert before + before * ERROR >= delta, (
            f"the lower end {lower!r} is too high, delta is {before}: {composition}"
        )
    profile = source.profile if composition.is_exact else source  # type: ignore[attr-defined]
    found = method(profile, composition)
    if found == "nothing certified":  # the answer is that of another route, which claims no lower end
        return
    if found != "smoothed contour" and upper > 0:
        # between two points of a lattice delta may be almost flat: then epsilon is near where delta is
        near = upper - lower <= TIGHT * upper or there >= delta * (1 - TIGHT)
        assert near, f"{lower!r} and {upper!r} are far apart: {composition}"


def check_attained(composition: Composition) -> None:
    """What the plan says is not below the profile of pairs that its mechanisms really have."""
    laws = composition.attained_laws
    if not laws:
        return
    plan = composition.plan
    if composition.delta is not None:
        upper = plan.epsilon_at(delta=composition.delta)
        truth = Truth(laws, upper)
        if truth.method is not None:
            there = truth.delta(Fraction(upper))
            assert there - there * ERROR <= float(composition.delta), composition
    else:
        assert composition.epsilon is not None
        truth = Truth(laws, float(composition.epsilon))
        if truth.method is not None:
            value = truth.delta(composition.epsilon)
            assert plan.delta_at(epsilon=composition.epsilon) >= value - value * ERROR, composition


def compositions(family: str, seed: int, many: int) -> Iterator[Composition]:
    rng = random.Random(seed)
    return (some_composition(rng, family) for _ in range(many))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_sample(family: str) -> None:
    for composition in compositions(family, SAMPLE, EACH[family] // 12):
        check(composition)


@pytest.mark.deep
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", SEEDS)
def test_ten_thousand(family: str, seed: int) -> None:
    for composition in compositions(family, seed, EACH[family]):
        check(composition)


def covers(seeds: range) -> None:
    """What the compositions of these seeds hold, without a look at the profile."""
    drawn = [one for family in FAMILIES for seed in seeds for one in compositions(family, seed, EACH[family])]
    times = len(seeds)
    assert len(drawn) >= 500 * times
    assert {part.kind for one in drawn for part in one.parts} == set(KINDS)
    sizes = Counter(min(int(log10(one.size)), 5) for one in drawn)
    assert min(sizes[decade] for decade in range(6)) >= 25 * times, sizes
    assert max(one.size for one in drawn) > LARGEST / 2
    losses = [
        float(law(*spec).top)
        for one in drawn
        for part in one.parts
        if part.kind not in {"gaussian", "discrete gaussian"}
        for spec, _ in part.pairs
    ]
    decades = Counter(floor(log10(loss)) for loss in losses)
    assert min(decades[decade] for decade in range(-7, 1)) >= 25 * times, decades
    assert {len(one.parts) for one in drawn} >= set(range(1, 7))
    assert {one.is_exact for one in drawn} == {True, False}
    targets = [float(one.delta) for one in drawn if one.delta is not None]
    assert 0.3 < len(targets) / len(drawn) < 0.6
    assert max(targets) > 0.9
    assert min(targets) < 1e-100
    assert any(one.epsilon == 0 for one in drawn)
    for kind in KINDS:
        assert max(part.count for one in drawn for part in one.parts if part.kind == kind) >= 10**4


def test_what_one_seed_covers() -> None:
    covers(range(1))


@pytest.mark.deep
def test_what_is_covered() -> None:
    assert len(SEEDS) * sum(EACH.values()) >= 10**4
    covers(SEEDS)


def fails(composition: Composition) -> bool:
    try:
        check(composition)
    except AssertionError as error:
        return "below" in str(error)
    return False


@cache
def tight(family: str, few: int) -> list[Composition]:
    """Compositions whose profile is exact and the answer above zero."""
    found = []
    for one in compositions(family, SAMPLE, few):
        if not one.is_exact or one.size == 1 or check(one) not in {"lattice", "contour", "finite sum"}:
            continue
        if bounds(one.plan, one)[0] > 1e-300:
            found.append(one)
    return found


MUTATED = ("one lattice", "lattice and noise", "much noise")


@pytest.mark.parametrize("family", MUTATED)
def test_an_answer_that_is_too_small_by_1e_8_is_seen(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    few = tight(family, 4)
    assert few
    honest = bounds

    def smaller(source: object, composition: Composition) -> tuple[float, float]:
        lower, upper = honest(source, composition)
        return lower * (1 - 1e-8), upper * (1 - 1e-8)

    monkeypatch.setattr(sys.modules[__name__], "bounds", smaller)
    assert all(fails(one) for one in few)


@pytest.mark.parametrize("family", MUTATED)
def test_one_mechanism_less_is_seen(family: str) -> None:
    few = tight(family, 4)
    assert few
    for one in few:
        # of those that tell the most
        parts = sorted(one.parts, key=lambda part: max(law(*spec).mean(0.0) for spec, _ in part.pairs))
        last = replace(parts[-1], count=parts[-1].count - 1)
        assert fails(replace(one, parts=(*parts[:-1], *([last] if last.count else []))))
