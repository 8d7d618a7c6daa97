"""Two outcomes: asymmetric randomized response, and the pair of permute-and-flip that is one."""

from __future__ import annotations

from fractions import Fraction
from math import nextafter
from random import Random

import mpmath as mp
import pytest
from mechanisms import explicit
from mpmath import mpf

import zcdp
from zcdp import BinaryRandomizedResponse, LossPair, PureDP, RandomizedResponse

ORDERS = (1, "1.01", 1.5, 2, 5, 32, 1000, float("inf"))


def draw(seed: int) -> tuple[Fraction, Fraction]:
    """p > q: anywhere, near 0 or 1, close together, or far apart."""
    rng = Random(seed)
    scale = 10 ** rng.choice((2, 3, 6))
    q, p = sorted(Fraction(n, scale) for n in rng.sample(range(1, scale), 2))
    if rng.random() < 0.2:
        p = q + (p - q) / 1000
    if rng.random() < 0.2:
        q /= 1000
    return p, q


def check(seed: int) -> None:
    p, q = draw(seed)
    m, brute = BinaryRandomizedResponse(p=p, q=q), LossPair(p=[p, 1 - p], q=[q, 1 - q])
    lower, upper = brute.rho_bounds
    assert upper <= lower * (1 + 1.1e-10)
    assert lower <= m.rho <= nextafter(upper, 1e308)
    assert m.pure_epsilon == brute.pure_epsilon
    for order in ORDERS:
        assert m.rdp(order) == pytest.approx(brute.rdp(order), rel=1e-15, abs=0)


@pytest.mark.parametrize("seed", range(20))
def test_asymmetric_response_is_the_supremum_of_its_pair(seed: int) -> None:
    check(seed)


@pytest.mark.deep
@pytest.mark.parametrize("start", range(20, 240, 20))
def test_asymmetric_response_is_the_supremum_of_its_pair_deep(start: int) -> None:
    for seed in range(start, start + 20):
        check(seed)


@pytest.mark.parametrize("seed", range(12))
def test_an_independent_maximisation_of_both_directions_agrees(seed: int) -> None:
    p, q = draw(seed)
    m = BinaryRandomizedResponse(p=p, q=q)
    assert float(explicit.steepest_of_rows([[p, 1 - p], [q, 1 - q]])) == pytest.approx(m.rho, rel=1e-10)


@pytest.mark.parametrize(
    ("p", "q", "worse"), [("1/2", "1/10", "forward"), ("9/10", "1/2", "backward"), ("3/4", "1/4", "equal")]
)
def test_either_direction_can_be_the_worse_one(p: str, q: str, worse: str) -> None:
    m = BinaryRandomizedResponse(p=p, q=q)
    left, right = [m.p, 1 - m.p], [m.q, 1 - m.q]
    with mp.workdps(40):
        forward, backward = (explicit.steepest(explicit.cumulant(*pair)) for pair in ((left, right), (right, left)))
    assert float(max(forward, backward)) == pytest.approx(m.rho, rel=1e-10)
    if worse == "equal":
        assert float(forward) == pytest.approx(float(backward), rel=1e-12)
    else:
        assert (forward > backward * 1.0001) is (worse == "forward")


def test_saying_1_and_saying_0_are_the_same() -> None:
    one, other = BinaryRandomizedResponse(p="9/10", q="1/3"), BinaryRandomizedResponse(p="2/3", q="1/10")
    assert one.rho == other.rho
    assert all(one.rdp(order) == other.rdp(order) for order in ORDERS)


@pytest.mark.parametrize("p", ["501/1000", "3/4", "999/1000"])
def test_symmetric_response_is_randomized_response(p: str) -> None:
    m, symmetric = BinaryRandomizedResponse(p=p, q=1 - Fraction(p)), RandomizedResponse.from_probability(p, 2)
    assert m.rho == pytest.approx(symmetric.rho, rel=3e-16)
    assert m.rho == pytest.approx(PureDP(epsilon=symmetric.epsilon).rho, rel=3e-16)
    assert m.rho_order == 1


@pytest.mark.parametrize(
    ("p", "q"),
    [("1/2", "1/100"), ("99/100", "1/2"), ("1/2", "1/4"), ("0.9", "0.001"), ("0.999", "0.1"), ("3/4", "1/4")],
)
def test_the_order_of_binary_response_is_where_the_worse_direction_has_its_peak(p: str, q: str) -> None:
    m = zcdp.BinaryRandomizedResponse(p, q)
    with mp.workdps(30):
        high, low = (mpf(one.numerator) / one.denominator for one in (m.p, m.q))

        def ratio(alpha: mpf) -> mpf:
            both = ((high, low), (low, high))
            return max(
                mp.log(a**alpha * b ** (1 - alpha) + (1 - a) ** alpha * (1 - b) ** (1 - alpha)) / (alpha - 1) / alpha
                for a, b in both
            )

        at = mpf(m.rho_order) if m.rho_order > 1 else mpf(1) + mpf(10) ** -12
        assert float(ratio(at)) == pytest.approx(m.rho, rel=1e-9)
        excess = (m.rho_order - 1) or 1
        assert all(ratio(1 + excess * mpf(away)) <= m.rho for away in ("0.01", "0.5", "0.9", "1.1", "2", "9"))
