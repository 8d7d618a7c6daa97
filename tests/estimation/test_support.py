"""Support probabilities are those of the channel, and the variance that follows is the enumerated one."""

from __future__ import annotations

from fractions import Fraction

import pytest
from estimation.channels import CASES, Case, estimates, ids
from flint import arb


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_the_three_probabilities_are_those_of_the_channel(case: Case) -> None:
    p, q, b = case.mechanism.support.exact
    supports = case.supports()
    for x, law in enumerate(case.laws()):
        chance = [sum(m for m, s in zip(law, supports, strict=True) if s[v]) for v in range(case.k)]
        assert chance == [p if v == x else q for v in range(case.k)]
        other = (x + 1) % case.k
        assert sum(m for m, s in zip(law, supports, strict=True) if s[x] and s[other]) == b


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_the_support_in_balls_and_floats_is_the_exact_one(case: Case) -> None:
    support = case.mechanism.support
    p, q, b = support.exact
    near = (support.p, support.q, support.b, support.not_p, support.not_q, support.gain)
    assert near == tuple(map(float, (p, q, b, 1 - p, 1 - q, p - q)))
    for ball, exact in zip(support.balls(), (p, q, b), strict=True):
        assert ball.overlaps(arb(exact.numerator) / exact.denominator)


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_the_variance_is_the_enumerated_one(case: Case) -> None:
    """Two clients hold value 0 and three hold others: the variance of the sum of their reports' estimates."""
    single, laws = estimates(case), case.laws()
    spread = [sum(m * one[0] ** 2 for m, one in zip(law, single, strict=True)) - (x == 0) for x, law in enumerate(laws)]
    clients = 2 * spread[0] + 3 * spread[1]
    assert case.mechanism.standard_error(clients=5, frequency="2/5") ** 2 == pytest.approx(
        float(clients) / 25, rel=1e-12
    )
    whole = Fraction(2, 5) * (spread[0] + 1) + Fraction(3, 5) * spread[1] - Fraction(2, 5) ** 2
    drawn = case.mechanism.standard_error(clients=7, frequency="2/5", of="population")
    assert drawn**2 == pytest.approx(float(whole) / 7, rel=1e-12)
