"""Composition, for every mechanism and every route: n * m is m + ... + m, and counts are never dropped."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nextafter
from sys import getrecursionlimit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table import KINDS, OTHERS, Kind

import zcdp
from zcdp import (
    Channel,
    DiscreteLaplace,
    Gaussian,
    L0LInf,
    L1LInf,
    Laplace,
    Logistic,
    Mechanism,
    Odometer,
    Plan,
    RandomizedResponse,
    SparseVector,
)
from zcdp.privacy.convert import zcdp_to_delta, zcdp_to_epsilon
from zcdp.privacy.relation import Relation

SMALL = (*(kind.at("0.3", **fixed) for kind in KINDS for fixed in kind.fixed[:2]), *OTHERS)
ANY_WAY = tuple(m for m in SMALL if m.relation is not Relation.ADD_REMOVE)
SLOW = (
    "ReplacedSample(Gaussian(sigma=2), size=10, of=100)",
    "TruncatedSample(Gaussian(sigma=1), rate='0.2', most=4, of=6)",
    "TruncatedSample(Gaussian(sigma=2), rate=0.5, most=2, of=4, exactly=True)",
)  # each has a quick one of its class beside it
assert set(SLOW) <= {repr(m) for m in SMALL}
BY_NAME = pytest.mark.parametrize(
    "m", [pytest.param(m, marks=[pytest.mark.deep] * (repr(m) in SLOW), id=repr(m)) for m in SMALL]
)
DELTA = 1e-5


def _chain(m: Mechanism, count: int) -> Plan:
    """m + ... + m, of mechanisms that are equal but not the same object."""
    total = Plan.sum_of(m)
    for _ in range(count - 1):
        total = total + eval(repr(m), vars(zcdp))
    return total


@BY_NAME
def test_a_product_is_the_sum_on_every_route(m: Mechanism) -> None:
    product, chain = 7 * m, _chain(m, 7)
    assert product == chain == 3 * m + 4 * eval(repr(m), vars(zcdp))
    assert product.parts == ((m, 7),)
    assert product.rho == chain.rho
    assert product.rdp([1, 1.5, 8, 100]).tolist() == chain.rdp([1, 1.5, 8, 100]).tolist()
    assert product.pure_epsilon == chain.pure_epsilon
    assert product.routes(delta=DELTA) == chain.routes(delta=DELTA)
    assert product.delta_bounds(epsilon=0.5) == chain.delta_bounds(epsilon=0.5)


@BY_NAME
def test_no_route_drops_the_count(m: Mechanism) -> None:
    once, often = m.routes(delta=DELTA), (50 * m).routes(delta=DELTA)
    assert once.keys() == often.keys()
    for route in once:
        assert often[route] > 2 * once[route] or once[route] == 0, route
    assert (50 * m).rho == pytest.approx(50 * m.rho, rel=1e-9)
    assert (50 * m).rdp(2) == pytest.approx(50 * m.rdp(2), rel=1e-12)
    assert (50 * m).pure_epsilon == pytest.approx(50 * m.pure_epsilon, rel=1e-15)


OTHER_PARTS = {
    relation: ((Gaussian(sigma=2), 5), (third, 2))
    for relation, third in (
        (Relation.ADD_REMOVE, Logistic(epsilon="0.5")),
        (None, RandomizedResponse(epsilon="0.5", k=1000)),
    )
}


@BY_NAME
def test_a_mixed_plan_is_charged_for_each_part_as_often_as_it_runs(m: Mechanism) -> None:
    others = OTHER_PARTS[Relation.ADD_REMOVE if m.relation is Relation.ADD_REMOVE else None]
    parts = ((m, 3), *others)
    for some in (parts, parts[::2], parts[:2]):
        _charged_for_each_part(some)


@pytest.mark.parametrize("some", OTHER_PARTS.values(), ids=["ordered", "any"])
def test_the_parts_beside_it_are_charged_too(some: tuple[tuple[Mechanism, int], ...]) -> None:
    _charged_for_each_part(some)


def _charged_for_each_part(some: tuple[tuple[Mechanism, int], ...]) -> None:
    """At each order the divergences add up; each is a lower bound on rho, and a plan costs what a part of it does."""
    plan = Plan.sum_of(*(count * part for part, count in some))
    lower, upper = plan.rho_bounds
    for order in (1, 1.001, 2, 7, 40, 1000):
        each = sum(count * part.rdp(order) for part, count in some)
        assert plan.rdp(order) == pytest.approx(min(each, plan.pure_epsilon), rel=1e-12)
        assert plan.rdp(order) <= upper * order * (1 + 1e-12)
    assert upper <= sum(count * part.rho for part, count in some) * (1 + 1e-12)
    assert lower <= upper
    assert plan.pure_epsilon == pytest.approx(sum(count * part.pure_epsilon for part, count in some), rel=1e-15)
    for less in (*(part for part, _ in some), Plan.sum_of(*(part for part, _ in some))):
        assert plan.epsilon_at(delta=DELTA) >= less.epsilon_bounds(delta=DELTA)[0]
        assert plan.delta_at(epsilon=1) >= less.delta_bounds(epsilon=1)[0]


@BY_NAME
def test_epsilon_at_is_the_best_route(m: Mechanism) -> None:
    for plan in (m, 20 * m, m + Laplace(epsilon=1)):
        # the Renyi route is exact too where the loss has two values: then they differ by rounding
        assert plan.epsilon_at(delta=DELTA) == pytest.approx(min(plan.routes(delta=DELTA).values()), rel=1e-15)
        lower, upper = plan.epsilon_bounds(delta=DELTA)
        assert lower <= upper == plan.epsilon_at(delta=DELTA)


@BY_NAME
def test_epsilon_and_delta_are_inverse(m: Mechanism) -> None:
    plan = 30 * m
    for delta in (0.3, 1e-4, 1e-9):
        epsilon = plan.epsilon_at(delta=delta)
        # two upper bounds that are smoothed differently agree to some digits, not to the last
        smoothed = plan.profile is not None and plan.profile.epsilon(Fraction(delta)).method == "smoothed contour"
        # and so do those of two orders of the neighbours, up to rounding
        slack = 1e-6 if smoothed else 1e-14 if m.relation is Relation.ADD_REMOVE else 0
        assert plan.delta_at(epsilon=epsilon) <= delta * (1 + slack)
        if epsilon > 0:
            assert plan.delta_at(epsilon=epsilon * (1 - (1e-4 if smoothed else 1e-6))) > delta


@BY_NAME
def test_limits(m: Mechanism) -> None:
    if m.pure_epsilon < inf:
        assert m.delta_at(epsilon=m.pure_epsilon) == 0.0
    assert m.epsilon_at(delta=0) == m.pure_epsilon
    assert m.epsilon_at(delta=0.999) == 0.0 or m.delta_at(epsilon=0) > 0.999
    assert 0 < m.delta_at(epsilon=0) < 1


@settings(deadline=None, max_examples=25)
@given(st.lists(st.sampled_from(ANY_WAY), min_size=1, max_size=6), st.lists(st.integers(1, 5), min_size=6, max_size=6))
def test_order_and_brackets_do_not_matter(mechanisms: list[Mechanism], counts: list[int]) -> None:
    parts = [count * m for m, count in zip(mechanisms, counts, strict=False)]
    left = Plan.sum_of(*parts)
    right = Plan.sum_of(*reversed(parts))
    assert left == right
    assert hash(left) == hash(right)
    assert 3 * left == Plan.sum_of(*(3 * part for part in parts)) == left + left + left
    assert Plan.parse(repr(left)) == left
    assert Plan.from_json(left.to_json()) == left
    assert eval(repr(left), vars(zcdp)) in {left, mechanisms[0]}


def test_rho_of_parts_that_peak_at_different_orders_is_below_the_sum() -> None:
    sharp, flat = RandomizedResponse(epsilon="0.5", k=1000), Laplace(epsilon="0.1")
    plan = sharp + 2 * flat
    lower, upper = plan.rho_bounds
    assert upper < 0.99 * (sharp.rho + 2 * flat.rho)
    assert upper <= lower * (1 + 1e-9)
    # the ratio at any one order is a lower bound
    for order in (1.0001, 5, 20, 27, 60):
        assert plan.rdp(order) / order <= upper * (1 + 1e-15)


def test_rho_of_parts_that_peak_far_apart_is_below_their_sum() -> None:
    """One peaks at an order of 1, the other beyond 50; the truth is the best of many orders in extended precision."""
    plan = 1000 * RandomizedResponse(epsilon="0.1", k=100) + 10**9 * Laplace(epsilon="0.001")
    lower, upper = plan.rho_bounds
    assert 500.0006846287 < upper < sum(Fraction(part.rho) * count for part, count in plan.parts)
    assert lower <= upper <= lower * (1 + 1e-9)


def test_rho_is_not_above_the_sum_of_its_parts_by_the_tolerance_of_a_search() -> None:
    """These peak at orders next to each other: their sum is nearly attained, and known to the last digit."""
    plan = RandomizedResponse(epsilon="0.5", k=9) + RandomizedResponse(epsilon="0.5000001", k=9)
    for curve in (plan, plan + Gaussian(sigma=10), 3 * plan):
        assert Fraction(nextafter(curve.rho, 0)) <= sum(part.rho_fraction * n for part, n in curve.parts)


def test_what_a_filter_charges_for_a_plan_is_not_above_what_it_charges_for_its_parts() -> None:
    for plan in (3 * Gaussian(rho="0.1"), Gaussian(rho="0.1") + Gaussian(rho="1/3"), 7 * Laplace(epsilon="0.1")):
        assert plan.rho_fraction <= sum(part.rho_fraction * count for part, count in plan.parts)
    assert zcdp.Filter(rho="0.3").would_fit(3 * Gaussian(rho="0.1"))


def test_no_order_costs_more_than_the_pure_epsilon() -> None:
    for m in SMALL:
        for plan in (m, 1 * m, 3 * m):
            assert plan.rdp(1e9) <= plan.pure_epsilon
            assert plan.rdp(10**15) <= plan.pure_epsilon


def test_counts_are_checked() -> None:
    m = Laplace(epsilon=1)
    for count in (0, -3, 2.5, 10**12 + 1, "x"):
        with pytest.raises((ValueError, TypeError), match="count"):
            count * m if not isinstance(count, str) else m * count
    with pytest.raises(TypeError, match="bool"):
        True * m
    assert (10**12 * Laplace(epsilon=1e-6)).parts == ((Laplace(epsilon=1e-6), 10**12),)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.mechanism.__name__)
def test_a_long_chain_costs_no_recursion(kind: Kind) -> None:
    m, longer = kind.at("0.01", **kind.fixed[0]), getrecursionlimit() + 50
    assert _chain(m, longer) == longer * m


@pytest.mark.parametrize(("delta", "message"), [(1, "below 1"), (-1e-9, "at least 0"), ("x", "not a number")])
def test_bad_targets(delta: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Laplace(epsilon=1).epsilon_at(delta=delta)
    with pytest.raises(ValueError, match=r"epsilon \(-1\) must not be negative"):
        Laplace(epsilon=1).delta_at(epsilon=-1)


def test_coordinates_of_a_vector_enter_the_profile_one_by_one() -> None:
    vector = Laplace(epsilon=2, sensitivity=L0LInf(20, 1))
    plan = 20 * Laplace(epsilon="0.1")
    assert vector.epsilon_bounds(delta=1e-6) == plan.epsilon_bounds(delta=1e-6)
    assert (3 * vector).epsilon_at(delta=1e-6) == (60 * Laplace(epsilon="0.1")).epsilon_at(delta=1e-6)
    counts = DiscreteLaplace(epsilon=7, sensitivity=L1LInf(7, 3))
    parts = 2 * DiscreteLaplace(epsilon=3, sensitivity=3) + DiscreteLaplace(epsilon=1)
    assert counts.epsilon_bounds(delta=1e-6) == parts.epsilon_bounds(delta=1e-6)
    assert vector.pure_epsilon == plan.pure_epsilon == 2


def test_a_bound_that_is_not_convex_is_not_searched_by_chords() -> None:
    sparse = SparseVector(epsilon_threshold=1, epsilon_queries=4, positives=20)
    response = RandomizedResponse(epsilon=1, k=1000)
    whole = (sparse + response).rho
    # at each order the two bounds that were composed are below the certified supremum
    for order in (1.001, 1.5, 3, 10, 50):
        assert sparse.rdp(order) + response.rdp(order) <= whole * order * (1 + 1e-9)


def test_what_gives_an_input_away_costs_everything() -> None:
    revealing = Channel([[0.5, 0.5], [1, 0]])
    for curve, seen in ((revealing, 0.5), (3 * revealing, 0.875), (revealing + Laplace(epsilon=1), 0.5)):
        assert curve.rho_bounds == (float("inf"), float("inf"))
        assert curve.epsilon_at(delta=1e-6) == float("inf")
        assert curve.delta_at(epsilon=1) == pytest.approx(seen, rel=1e-15)  # how often the second outcome occurs
    with pytest.raises(zcdp.BudgetExceeded):
        zcdp.Filter(rho=1).spend(revealing)
    assert not zcdp.Filter(rho=1).would_fit(revealing)


def test_what_tells_nothing_costs_nothing() -> None:
    silent = Channel([[0.5, 0.5], [0.5, 0.5]])
    assert (5 * silent).rho == silent.epsilon_at(delta=1e-6) == 0
    budget = zcdp.Filter(rho=1)
    budget.spend(silent)
    assert budget.remaining == 1


TINY = tuple(kind.at("3e-7", **fixed) for kind in KINDS for fixed in kind.fixed[:1])


@pytest.mark.parametrize("m", TINY, ids=repr)
@pytest.mark.parametrize("delta", [0.55, 1e-9])
def test_a_tiny_part_does_not_stop_the_curve_from_being_converted(m: Mechanism, delta: float) -> None:
    """Its cumulant is far below the rounding of a float: more bits are asked for, whatever the route."""
    plan = m + Gaussian(sigma=10)
    assert 0 <= plan.epsilon_at(delta=delta) <= plan.routes(delta=delta)["rdp"]


def test_the_same_once_more_counts_once_more() -> None:
    """The very same object, in every way to write a sum."""
    m, other = Laplace(epsilon="0.3"), RandomizedResponse(epsilon=1, k=5)
    for plan in (m + m + m, Plan.sum_of(m, m, m), sum([m, m, m]), 2 * m + m, m + 2 * m):
        assert plan.parts == ((m, 3),)
    assert (other + m + m + m + other).parts == ((other, 2), (m, 3))
    assert Plan.sum_of(other, m, m, other, other).parts == ((other, 3), (m, 2))
    assert (3 * (m + 2 * other + m)).parts == ((m, 6), (other, 6))
    odometer = Odometer()
    for _ in range(5):
        odometer.spend(m)
    assert odometer.rho == pytest.approx(5 * m.rho, rel=1e-12)


class NoPair(Gaussian):
    """Gaussian noise of which only the cumulant is known."""

    def pair(self) -> None:  # type: ignore[override]
        return None


def test_a_part_without_a_pair_is_not_left_out_of_the_profile() -> None:
    known, unknown = (Laplace(epsilon="0.1") + 3 * kind(sigma=1) for kind in (Gaussian, NoPair))
    assert unknown.profile is None
    assert unknown.epsilon_at(delta=DELTA) >= known.epsilon_bounds(delta=DELTA)[0]
    assert unknown.delta_at(epsilon=1) >= known.delta_bounds(epsilon=1)[0]


@pytest.mark.parametrize("rho", ["0.001", "0.1", "1", "10", "100"])
@pytest.mark.parametrize("delta", ["0.1", "1e-6", "1e-30"])
def test_rho_alone_is_worth_no_less_than_gaussian_noise_of_that_rho(rho: str, delta: str) -> None:
    """Which is one of the mechanisms of that rho."""
    epsilon = Gaussian(rho=rho).epsilon_bounds(delta=delta)[0]
    assert zcdp_to_epsilon(rho, delta) >= epsilon
    assert not epsilon or zcdp_to_delta(rho, epsilon) >= float(delta) * (1 - 1e-9)


def test_a_plan_whose_search_gave_up_is_not_tight(monkeypatch: pytest.MonkeyPatch) -> None:
    """rho is then only between the best order of a part and the sum of all."""
    assert (Laplace(epsilon=1) + RandomizedResponse(epsilon=4, k=100)).is_tight
    monkeypatch.setattr("zcdp.privacy.rho_search.SEARCH_WORK", (1, 1, 1))
    plan = Laplace(epsilon=1) + RandomizedResponse(epsilon=4, k=100)
    lower, upper = plan.rho_bounds
    assert upper - lower > 1e-6 * upper
    assert not plan.is_tight


def test_rho_of_very_many_kinds_is_tight() -> None:
    kinds = [*(Laplace(epsilon=0.01 + n / 997) for n in range(125)), *(_response(n) for n in range(125))]
    plan = Plan.sum_of(*kinds, Gaussian(sigma=3))
    lower, upper = plan.rho_bounds
    assert lower < upper <= lower * (1 + 1e-9)
    assert plan.is_tight
    scanned = max(plan.rdp(1 + n / 12) / (1 + n / 12) for n in range(24))
    assert scanned * (1 - 1e-3) <= lower <= scanned * (1 + 1e-3)
    assert all(plan.rdp(order) <= upper * order * (1 + 1e-12) for order in (1, 1.5, 2, 3, 6))


def _response(n: int) -> RandomizedResponse:
    return RandomizedResponse(epsilon=0.02 + n / 791, k=50)
