"""Mechanisms are values: exact, immutable, equal when they mean the same, printed so that they can be pasted back."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table import DENSITIES, EVERYDAY_ROWS, KINDS, ROWS, Kind

import zcdp
from zcdp import MECHANISMS, RAPPOR, DiscreteLaplace, Laplace, Log, Mechanism, RandomizedResponse
from zcdp.mechanisms import WRAPPERS


def test_every_mechanism_has_a_row() -> None:
    """Densities have theirs in tests/laws/test_densities.py."""
    others = {m for m in MECHANISMS if m.__name__ not in DENSITIES}
    assert {type(m) for m in ROWS} - set(WRAPPERS) == others


@pytest.mark.parametrize("m", ROWS, ids=repr)
def test_repr_can_be_pasted_back(m: Mechanism) -> None:
    assert eval(repr(m), vars(zcdp)) == m


ONCE = {kind.mechanism: kind for kind in KINDS}.values()


@settings(max_examples=20)
@pytest.mark.parametrize("kind", ONCE, ids=lambda kind: kind.mechanism.__name__)
@given(numerator=st.integers(10**20, 10**29), denominator=st.integers(10**20, 10**30))
def test_repr_of_any_rational(kind: Kind, numerator: int, denominator: int) -> None:
    m = kind.at(Fraction(numerator, denominator), **kind.fixed[0])
    assert eval(repr(m), vars(zcdp)) == m


@pytest.mark.parametrize("m", EVERYDAY_ROWS[::7], ids=repr)
def test_values_are_immutable_and_copy_to_equals(m: Mechanism) -> None:
    m.rho  # noqa: B018 - a cached result must not change what the value is
    for twin in (copy.copy(m), copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        assert twin == m
        assert hash(twin) == hash(m)
        assert twin.rho == m.rho
    with pytest.raises(FrozenInstanceError):
        m.epsilon = 2


def test_plans_that_were_asked_copy_to_equals() -> None:
    """Also long chains, and one that is a part of another."""
    inner = 3 * Laplace(epsilon=1) + RAPPOR(epsilon="0.1")
    long = sum((Laplace(scale=n) for n in range(2, 3000)), Laplace(scale=1))
    for plan in (inner, 2 * inner + Laplace(epsilon=1), 5 * Laplace(epsilon=2), long):
        asked = None if plan is long else (plan.rho_bounds, plan.epsilon_bounds(delta="1e-6"))
        for twin in (copy.copy(plan), copy.deepcopy(plan), pickle.loads(pickle.dumps(plan))):
            assert twin == plan
            assert twin.parts == plan.parts
            assert asked is None or asked == (twin.rho_bounds, twin.epsilon_bounds(delta="1e-6"))


@pytest.mark.parametrize(
    "same",
    [0.5, Fraction(1, 2), Decimal("0.5"), "0.5", "1/2", " 5e-1 ", np.float64(0.5), np.float32(0.5), np.longdouble(0.5)],
    ids=repr,
)
def test_one_half_is_one_half(same: object) -> None:
    assert Laplace(epsilon=same) == Laplace(epsilon=0.5)
    assert hash(Laplace(epsilon=same)) == hash(Laplace(epsilon=0.5))


def test_parameters_are_exact() -> None:
    assert Laplace(epsilon=0.1).epsilon == Fraction(0.1) != Fraction(1, 10)
    assert Laplace(epsilon="0.1") == Laplace(epsilon=Decimal("0.1")) == Laplace(epsilon=Fraction(1, 10))
    assert Laplace(epsilon="0.1") != Laplace(epsilon=0.1)
    assert Laplace(epsilon=np.int16(3)) == Laplace(epsilon=3) == Laplace(epsilon=3.0)
    assert RandomizedResponse(epsilon=1, k=np.uint8(4)) == RandomizedResponse(epsilon=1, k=4.0)


def test_scale_and_sensitivity_are_another_way_to_say_epsilon() -> None:
    assert Laplace(scale=2, sensitivity=2) == Laplace(epsilon=1)
    assert hash(Laplace(scale=2, sensitivity=2)) == hash(Laplace(epsilon=1))
    assert Laplace(scale=2, sensitivity=2).scale == 2
    assert Laplace(epsilon=1, sensitivity=2).scale == 2
    assert Laplace(scale=10).epsilon == Fraction(1, 10)
    assert DiscreteLaplace(scale=15, sensitivity=5) == DiscreteLaplace(epsilon=Fraction(1, 3), sensitivity=5)
    # for integer noise the sensitivity is part of the privacy loss
    assert DiscreteLaplace(epsilon=1, sensitivity=2) != DiscreteLaplace(epsilon=1)
    assert Laplace(epsilon=1) != zcdp.PureDP(epsilon=1)


def test_logarithms_are_exact_too() -> None:
    m = RandomizedResponse.from_probability(0.75, 4)
    assert m == RandomizedResponse(epsilon="log(9)", k=4) == RandomizedResponse(epsilon=Log(9), k=4)
    assert m == RandomizedResponse(epsilon="ln(9)", k=4)
    assert eval(repr(m), vars(zcdp)) == m
    # p = 3/4, q = 1/12: KL from its definition, by hand
    kl = (0.75 - 1 / 12) * float(np.log(9))
    assert m.rho == pytest.approx(kl, rel=1e-15)
    assert Laplace(epsilon="log(2)").scale == pytest.approx(1 / np.log(2), rel=1e-15)
    wide = Laplace(epsilon=Fraction(10**49 + 1, 10**43))
    assert eval(repr(wide), vars(zcdp)) == wide
    almost_nothing = Laplace(epsilon=Log(1 + Fraction(1, 10**12)))
    assert almost_nothing.pure_epsilon == pytest.approx(1e-12, rel=1e-11)
