"""Alternatives are as accurate as a query's own mechanism, read back as they are, and cost what an account says."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from pathlib import Path

import pytest

from zcdp import DiscreteGaussian, Gaussian, Laplace, Staircase, account
from zcdp.accounting.alternatives import alternatives, mechanism_of, prices, with_accuracy
from zcdp.errors import BadValue, ZcdpError
from zcdp.plans.plan_edit import set_query_field
from zcdp.plans.plan_file import Entry, read_plan

ROOT = Path(__file__).parents[2]
CENSUS, PRODUCT, PERSONS = ((ROOT / "examples" / f"{name}.toml") for name in ("census", "product", "persons"))


def entry(text: str) -> Entry:
    return read_plan("plan.toml", f'[[query]]\nname = "a"\nmechanism = "{text}"').entries[0]


@pytest.mark.parametrize("text", ["DiscreteLaplace(scale=10, sensitivity=L0LInf(2, 1))", "Gaussian(sigma=3)"])
def test_noise_of_equal_standard_deviation(text: str) -> None:
    own, *others = alternatives(entry(text))
    assert own.own
    assert own.text == text
    assert len(others) >= 3
    assert own.accuracy is not None
    for one in others:
        assert one.accuracy is not None
        assert 1 - 1e-7 < one.accuracy.standard_deviation / own.accuracy.standard_deviation <= 1
        assert mechanism_of(entry(one.text)) == one.mechanism


def test_the_euclidean_bound_of_a_vector_does_not_become_the_move_of_one_answer() -> None:
    """A move of Euclidean length 1 over four coordinates costs Laplace noise twice what one coordinate does."""
    laplace = next(one for one in alternatives(entry("Gaussian(sigma=2)")) if isinstance(one.mechanism, Laplace))
    scale = 2 / sqrt(2)
    halves = 4 * Laplace(scale=scale, sensitivity="1/2")  # one of the moves of Euclidean length 1
    assert laplace.mechanism.pure_epsilon >= halves.pure_epsilon * (1 - 1e-9)
    assert laplace.mechanism.rho >= Laplace(scale=scale).rho


def test_what_the_plan_would_cost_is_what_it_costs_once_changed() -> None:
    plan = read_plan(CENSUS)
    found = list(prices(plan, 5, alternatives(plan.entries[5])[:2], Fraction(1, 10**9)))
    for one in found:
        text = set_query_field(plan.text, 5, "mechanism", one.alternative.text)
        whole = account(read_plan("plan.toml", text), delta="1e-9", curve=False).total
        assert (one.total.rho, one.total.epsilon) == (whole.rho, whole.epsilon)
    assert found[1].total.epsilon < found[0].total.epsilon


def test_randomizers_of_equal_standard_error() -> None:
    one = read_plan(PRODUCT).entries[0]
    found = alternatives(one)
    assert {type(each.mechanism).__name__ for each in found} >= {"RandomizedResponse", "RAPPOR", "SubsetSelection"}
    errors = [each.mechanism.standard_error(clients=1, frequency=1 / 64) for each in found]  # type: ignore[attr-defined]
    assert max(errors) == pytest.approx(min(errors), rel=1e-4)


@pytest.mark.parametrize("text", ["RandomizedResponse(epsilon=30, k=2)", "RandomizedResponse(epsilon=1000, k=5)"])
def test_randomizers_that_hide_next_to_nothing_have_few_equals(text: str) -> None:
    own, *others = alternatives(entry(text))
    assert own.own
    target = own.mechanism.standard_error(clients=1, frequency=0.01)  # type: ignore[attr-defined]
    for one in others:
        assert one.mechanism.standard_error(clients=1, frequency=0.01) <= target  # type: ignore[attr-defined]


def test_selections_of_equal_noise() -> None:
    found = alternatives(read_plan(CENSUS).entries[6])
    errors = [one.mechanism.relative_error for one in found]
    assert len(found) == 3
    assert max(errors) == pytest.approx(min(errors), rel=1e-4)  # type: ignore[type-var]


def test_tables_get_whole_noise_of_their_own_sensitivity() -> None:
    income = read_plan(PERSONS).entries[4]
    own, other = alternatives(income)
    assert own.accuracy is not None
    assert own.accuracy.standard_deviation == pytest.approx(900_000)
    assert other.mechanism.sensitivity == 10_000  # type: ignore[attr-defined]


def test_a_target_is_met_with_the_most_noise() -> None:
    found = mechanism_of(entry(with_accuracy(entry("Gaussian(sigma=?, sensitivity=2)"), sd="5")))
    assert isinstance(found, Gaussian)
    assert found.sensitivity == 2
    assert 5 * (1 - 2e-9) < found.sigma <= 5
    text = with_accuracy(entry("DiscreteGaussian(sigma=1)"), half_width="10")
    made = mechanism_of(entry(text))
    assert isinstance(made, DiscreteGaussian)
    assert made.accuracy().half_width == 10
    more = DiscreteGaussian(sigma=float(made.sigma) * 1.001)
    assert more.accuracy().half_width > 10
    with pytest.raises(BadValue, match="adds noise"):
        with_accuracy(entry("RAPPOR(epsilon=1)"), sd="5")
    with pytest.raises(ZcdpError, match="sd"):
        with_accuracy(entry("Gaussian(sigma=1)"), sd="-5")


def test_what_a_person_has_stated_is_kept_or_the_question_refused() -> None:
    """The staircase grows with its sensitivity, and answers no accuracy without one; a stated 1 is no assumption."""
    made = with_accuracy(entry("Staircase(epsilon=1, sensitivity=1)"), sd="3")
    found = mechanism_of(entry(made))
    assert isinstance(found, Staircase)
    assert found.sensitivity == 1
    assert 3 * (1 - 1e-6) < found.accuracy().standard_deviation <= 3
    assert with_accuracy(entry("Gaussian(sigma=1, sensitivity=1)"), sd="3").endswith(", sensitivity=1)")
    for text in ("Laplace(epsilon=1)", "Laplace(epsilon=1, sensitivity=1)"):
        _, *others = alternatives(entry(text))
        assert all(one.accuracy is not None for one in others)
        stated = {"sensitivity=1" in one.text for one in others if not isinstance(one.mechanism, Staircase)}
        assert stated == {"sensitivity" in text}
    for text, words in (
        ("Staircase(epsilon=1, sensitivity=1, gamma='0.3')", "Staircase with gamma"),
        ("StudentT(scale=10, degrees=3)", "StudentT with degrees"),
        ("Cauchy(scale=3)", "of Cauchy: change its noise"),
    ):
        with pytest.raises(BadValue, match=words):
            with_accuracy(entry(text), half_width="3")


def test_a_sum_and_an_open_query_have_none() -> None:
    assert alternatives(entry("Laplace(epsilon=1) + Laplace(epsilon=2)")) == []
    assert alternatives(entry("Gaussian(sigma=?)")) == []
    assert isinstance(mechanism_of(entry("Gaussian(sigma=1)")), Gaussian)
