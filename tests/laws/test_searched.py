"""Mechanisms without finitely many outputs: rho against the certified search over all orders, 200 parameters each."""

from __future__ import annotations

import random

import pytest

from zcdp import Logistic, Mechanism, PermuteAndFlip

RANDOM = random.Random(5)


@pytest.mark.deep
@pytest.mark.parametrize(
    "m",
    [
        *(PermuteAndFlip(epsilon=round(RANDOM.uniform(0.3, 9), 6)) for _ in range(200)),
        *(Logistic(epsilon=10 ** RANDOM.uniform(-3, 1.5)) for _ in range(200)),
    ],
    ids=repr,
)
def test_rho_is_the_supremum_over_orders(m: Mechanism) -> None:
    lower, upper = m.search_rho(1e-10)
    assert lower <= m.rho <= upper * (1 + 1e-15)
    assert upper <= lower * (1 + 2.1e-10)
