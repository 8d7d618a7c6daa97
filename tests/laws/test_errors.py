"""Bad input is refused at construction, by an error that names the parameter, its value and the rule."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from table import KINDS, Kind

from zcdp import DiscreteLaplace, ExponentialMechanism, Laplace, PermuteAndFlip, PureDP, RandomizedResponse

ONCE = {kind.mechanism: kind for kind in KINDS}.values()
BY_NAME = pytest.mark.parametrize("kind", ONCE, ids=lambda kind: kind.mechanism.__name__)


@BY_NAME
@pytest.mark.parametrize("value", [0, -1, -0.5, "0", "-1/3", Fraction(-1, 3), -5e-324, "log(1)", "log(1/2)"], ids=repr)
def test_budget_must_be_positive(kind: Kind, value: object) -> None:
    name = kind.mechanism.budget
    with pytest.raises(ValueError, match=rf"{name} \(.*\) must be positive") as caught:
        kind.at(value, **kind.fixed[0])
    assert str(value) in str(caught.value)


@BY_NAME
@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), -float("inf"), "nan", "inf", Decimal("NaN"), Decimal("sNaN"), np.float32("inf")],
    ids=repr,
)
def test_budget_must_be_finite(kind: Kind, value: object) -> None:
    with pytest.raises(ValueError, match=rf"{kind.mechanism.budget} \(.*\) must be finite"):
        kind.at(value, **kind.fixed[0])


@BY_NAME
@pytest.mark.parametrize(
    "value", ["", "one", "1e", "0x10", "1/0", "1//2", "log()", "log(x)", "log(0)", "--1"], ids=repr
)
def test_text_must_be_a_number(kind: Kind, value: str) -> None:
    with pytest.raises(ValueError, match=rf"{kind.mechanism.budget} \("):
        kind.at(value, **kind.fixed[0])


@BY_NAME
@pytest.mark.parametrize(
    "value",
    [None, True, False, np.True_, 1j, [1], {}, np.array([1.0]), object()],
    ids=lambda value: type(value).__name__,
)
def test_budget_must_be_a_number(kind: Kind, value: object) -> None:
    with pytest.raises(TypeError, match=r"epsilon|eta"):
        kind.at(value, **kind.fixed[0])


@pytest.mark.parametrize("text", ["1e999999999", "1e-999999999", "1E+4001"])
def test_numbers_of_absurd_size_are_refused_at_once(text: str) -> None:
    with pytest.raises(ValueError, match="exponent"):
        Laplace(epsilon=text)
    with pytest.raises(ValueError, match="exponent"):
        Laplace(epsilon=Decimal(text))


@pytest.mark.parametrize(
    ("k", "rule"),
    [(1, "at least 2"), (0, "at least 2"), (-3, "at least 2"), (2.5, "whole number"), ("7/2", "whole number")],
)
def test_k_is_a_whole_number_of_at_least_two(k: object, rule: str) -> None:
    with pytest.raises(ValueError, match=rf"k \(.*{k}.*\) must be .*{rule}"):
        RandomizedResponse(epsilon=1, k=k)


@pytest.mark.parametrize(
    ("value", "rule"), [(0, "at least 1"), (-1, "at least 1"), (1.5, "whole number"), ("1/2", "whole number")]
)
def test_discrete_sensitivity_is_a_whole_number_of_at_least_one(value: object, rule: str) -> None:
    with pytest.raises(ValueError, match=rf"sensitivity \(.*\) must be .*{rule}"):
        DiscreteLaplace(epsilon=1, sensitivity=value)


@pytest.mark.parametrize("noise", [Laplace, DiscreteLaplace])
def test_scale_and_epsilon_exclude_each_other(noise: type[Laplace] | type[DiscreteLaplace]) -> None:
    with pytest.raises(ValueError, match=r"give epsilon \(1\) or scale \(2\), not both"):
        noise(epsilon=1, scale=2)
    with pytest.raises(TypeError, match="give epsilon, or scale"):
        noise()
    with pytest.raises(ValueError, match=r"scale \(0\) must be positive"):
        noise(scale=0)
    with pytest.raises(ValueError, match=r"sensitivity \(-1\)"):
        noise(epsilon=1, sensitivity=-1)


def test_parameters_have_names() -> None:
    with pytest.raises(TypeError):
        PureDP(1)  # type: ignore[misc]
    with pytest.raises(TypeError):
        PureDP(eps=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("p", "k", "rule"),
    [
        (0, 4, "between 0 and 1"),
        (1, 4, "between 0 and 1"),
        ("1/4", 4, "above 1/k"),
        (0.1, 4, "above 1/k"),
        (0.5, 1, "at least 2"),
    ],
)
def test_from_probability_needs_a_probability_above_guessing(p: object, k: object, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        RandomizedResponse.from_probability(p, k)


def test_a_bool_is_refused_where_the_same_number_was_given_before() -> None:
    """True == 1 has the hash of 1: what is kept by number must be looked up by the number that was read."""
    for same in (1, 1.0, Fraction(1), Decimal(1), "1"):
        ExponentialMechanism(epsilon=1).release([0, 1], sensitivity=same)
    for selection in (ExponentialMechanism(epsilon=1), PermuteAndFlip(epsilon=1)):
        selection.release([0, 1], sensitivity=1)
        for value in (True, np.True_):
            with pytest.raises(TypeError, match=r"sensitivity \(.*True.*\) must be a number"):
                selection.release([0, 1], sensitivity=value)
        assert len(selection.__dict__["_selections"]) == 1
    noise = Laplace(epsilon=1)
    for same in (1, 1.0, Fraction(1), Decimal(1), "1"):
        noise.release(0, grid=same)
    assert len(noise.__dict__["_samplers"]) == 1
    with pytest.raises(TypeError, match=r"grid \(True\) must be a number"):
        noise.release(0, grid=True)
    with pytest.raises(TypeError, match=r"grid \(True\) must be a number"):
        noise.sample(grid=True)
