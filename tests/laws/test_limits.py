"""How the mechanisms meet: special cases, limits, order between them, and the asymptotics of the paper's Table 1."""

from __future__ import annotations

from fractions import Fraction
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zcdp import (
    RAPPOR,
    BoundedRange,
    DiscreteLaplace,
    ExponentialMechanism,
    Laplace,
    Mechanism,
    PureDP,
    RandomizedResponse,
)

EPSILON = st.floats(1e-11, 1e9)
ORDER = st.one_of(st.just(1), st.floats(1, 1e9))


@given(EPSILON, ORDER)
def test_discrete_laplace_at_sensitivity_one_is_pure_dp(epsilon: float, order: float) -> None:
    assert DiscreteLaplace(epsilon=epsilon).rho == pytest.approx(PureDP(epsilon=epsilon).rho, rel=3e-16)
    assert DiscreteLaplace(epsilon=epsilon).rdp(order) == pytest.approx(PureDP(epsilon=epsilon).rdp(order), rel=3e-16)


@given(EPSILON, ORDER)
def test_binary_randomized_response_is_pure_dp(epsilon: float, order: float) -> None:
    assert RandomizedResponse(epsilon=epsilon, k=2).rho == PureDP(epsilon=epsilon).rho
    assert RandomizedResponse(epsilon=epsilon, k=2).rdp(order) == PureDP(epsilon=epsilon).rdp(order)


@given(EPSILON, ORDER)
def test_rappor_is_two_pure_dp_of_half_the_epsilon(epsilon: float, order: float) -> None:
    half = PureDP(epsilon=Fraction(epsilon) / 2)
    assert RAPPOR(epsilon=epsilon).rho == pytest.approx(2 * half.rho, rel=3e-16)
    assert RAPPOR(epsilon=epsilon).rdp(order) == pytest.approx(2 * half.rdp(order), rel=3e-16)


@given(st.floats(1e-6, 100), ORDER)
def test_discrete_laplace_tends_to_laplace(epsilon: float, order: float) -> None:
    limit, fine = Laplace(epsilon=epsilon), DiscreteLaplace(epsilon=epsilon, sensitivity=10**18)
    assert fine.rho == pytest.approx(limit.rho, rel=1e-14)
    assert fine.rdp(order) == pytest.approx(limit.rdp(order), rel=1e-14)


@given(EPSILON, ORDER, st.integers(1, 10**6), st.integers(2, 10**6))
def test_every_mechanism_is_within_pure_dp(epsilon: float, order: float, sensitivity: int, k: int) -> None:
    worst = PureDP(epsilon=epsilon)
    for m in (
        Laplace(epsilon=epsilon),
        DiscreteLaplace(epsilon=epsilon, sensitivity=sensitivity),
        RandomizedResponse(epsilon=epsilon, k=k),
        RAPPOR(epsilon=epsilon),
        BoundedRange(eta=epsilon),
    ):
        assert m.rho <= worst.rho
        assert m.rdp(order) <= worst.rdp(order)


@given(EPSILON, ORDER)
def test_the_exponential_mechanism_is_bounded_range(epsilon: float, order: float) -> None:
    assert ExponentialMechanism(epsilon=epsilon).rho == BoundedRange(eta=epsilon).rho
    assert ExponentialMechanism(epsilon=epsilon).rdp(order) == BoundedRange(eta=epsilon).rdp(order)


@given(EPSILON, st.integers(2, 10**18), st.integers(1, 10**18))
def test_more_outcomes_or_a_finer_lattice_never_cost_more(epsilon: float, k: int, sensitivity: int) -> None:
    assert RandomizedResponse(epsilon=epsilon, k=k + 1).rho <= RandomizedResponse(epsilon=epsilon, k=k).rho
    coarse, fine = (DiscreteLaplace(epsilon=epsilon, sensitivity=d) for d in (sensitivity, sensitivity + 1))
    assert fine.rho <= coarse.rho


@pytest.mark.parametrize(
    ("m", "constant"),
    [
        (PureDP(epsilon="1e-9"), Fraction(1, 2)),
        (Laplace(epsilon="1e-9"), Fraction(1, 2)),
        (DiscreteLaplace(epsilon="1e-9", sensitivity=3), Fraction(1, 2)),
        *((RandomizedResponse(epsilon="1e-9", k=k), Fraction(1, k)) for k in range(2, 7)),
        (RAPPOR(epsilon="1e-9"), Fraction(1, 4)),
        (BoundedRange(eta="1e-9"), Fraction(1, 8)),
    ],
    ids=repr,
)
def test_asymptotics_of_the_papers_table(m: Mechanism, constant: Fraction) -> None:
    assert m.rho / 1e-18 == pytest.approx(float(constant), rel=2e-9)


def test_large_k_falls_like_one_over_log_k() -> None:
    ratios = [RandomizedResponse(epsilon="1e-6", k=10**n).rho * 4e12 * n * log(10) for n in (5, 9, 14, 19)]
    assert all(ratio == pytest.approx(1, abs=0.1 / n) for n, ratio in zip((1, 2, 3, 4), ratios, strict=True))
