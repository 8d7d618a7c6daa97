"""Events that give a person away: their pair, and what a plan is without them."""

from __future__ import annotations

from fractions import Fraction
from math import inf

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
