"""Events that give a person away: their pair, and what a plan is without them."""

from __future__ import annotations

from fractions import Fraction
from math import exp, inf

import pytest

from zcdp import DiscreteGaussian, LossPair
from zcdp.errors import BadValue
from zcdp.mechanisms.revealing_event import event_of, revealing_event, without_events

D = Fraction(1, 100)


def test_the_pair_has_the_mass_of_the_event_in_both_directions() -> None:
    one = revealing_event(D)
    assert one.rho == inf
    assert one.delta_at(epsilon=5) == 0.01
    both = revealing_event(D, replaced=True)
    assert both.delta_at(epsilon=0) == both.delta_at(epsilon=9) == 0.01
    assert (one.relation.value, both.relation.value) == ("add_remove", "either")


def test_other_pairs_are_no_events() -> None:
    assert event_of(revealing_event(D)) == event_of(revealing_event(D, replaced=True)) == D
    assert event_of(LossPair(["1/2", "1/2"], ["1/4", "3/4"])) is None
    assert event_of(LossPair(["1/2", "1/4", "1/4"], ["1/2", "1/2", 0])) is None
    assert event_of(LossPair([1, 0], [1, 0])) is None
    assert event_of(DiscreteGaussian(sigma=3)) is None
    assert event_of(LossPair(["0.9", "0.1", 0], ["0.7", 0, "0.3"])) == Fraction(3, 10)


def test_a_plan_without_its_events_has_a_rho() -> None:
    noise = 3 * DiscreteGaussian(sigma=3)
    plan, delta = without_events(noise + 2 * revealing_event(D))
    assert plan is not None
    assert (plan.rho, delta) == (noise.rho, 2 * D)
    assert without_events(noise) == (noise, 0)
    assert without_events(revealing_event(D)) == (None, D)


def test_two_events_are_at_most_one_of_their_sum() -> None:
    two, one = 2 * revealing_event(D), revealing_event(2 * D)
    for epsilon in (0, "0.01", 1):
        assert two.delta_at(epsilon=epsilon) <= one.delta_at(epsilon=epsilon)
    assert two.delta_at(epsilon=1) == pytest.approx(1 - 0.99**2, abs=1e-15)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1), Fraction(-1, 2)])
def test_a_delta_that_is_no_probability_is_refused(delta: Fraction) -> None:
    with pytest.raises(BadValue, match="must lie between 0 and 1"):
        revealing_event(delta)


SIGMA, LEAST = 2, 4
"""Noise on the count of a key, and the number from which on it is published: p = P(X >= 3) is visible."""


def published(persons: int) -> dict[int | None, float]:
    """The law of what is published of a key that so many persons have; None: nothing."""
    whole = sum(exp(-(x**2) / (2 * SIGMA**2)) for x in range(-60, 61))
    law: dict[int | None, float] = {None: 0.0 if persons else 1.0}
    for x in range(-60, 61) if persons else ():
        value = persons + x if persons + x >= LEAST else None
        law[value] = law.get(value, 0.0) + exp(-(x**2) / (2 * SIGMA**2)) / whole
    return law


def attained(epsilon: float) -> float:
    """The largest delta of all neighbours, of which one has the key beside n others, in both directions."""

    def delta(one: dict[int | None, float], other: dict[int | None, float]) -> float:
        return sum(max(p - exp(epsilon) * other.get(value, 0.0), 0.0) for value, p in one.items())

    pairs = [(published(n), published(n + 1)) for n in range(40)]
    return max(delta(*pair) for both in pairs for pair in (both, both[::-1]))


@pytest.mark.parametrize("epsilon", [0.2, 0.5, 1.0])
def test_a_lower_end_is_one_that_true_neighbours_attain(epsilon: float) -> None:
    """Noise and event together are a guarantee; no neighbours attain both."""
    event = sum(p for value, p in published(1).items() if value is not None)
    plan = DiscreteGaussian(sigma=SIGMA) + revealing_event(Fraction(event).limit_denominator(10**9))
    lower, upper = plan.delta_bounds(epsilon=epsilon)
    true = attained(epsilon)
    assert lower <= true + 1e-8 <= upper
    assert lower == pytest.approx(DiscreteGaussian(sigma=SIGMA).delta_at(epsilon=epsilon), abs=1e-6)
    assert true < upper - 1e-3  # where the pair itself would be the lower end, it would be above the truth


def test_an_event_alone_is_attained() -> None:
    assert revealing_event(D).delta_bounds(epsilon=1)[0] == pytest.approx(0.01)
    assert (2 * revealing_event(D)).delta_bounds(epsilon=1)[0] == 0
