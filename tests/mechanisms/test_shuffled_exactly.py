"""Shuffled reports of small losses, where the likeliest value of Y is the smallest one: not below the truth."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest

from zcdp import RandomizedResponse, Shuffled
from zcdp.numeric.exact import Log


def counts(ones: int, clients: int, keep: Fraction) -> list[Fraction]:
    """The law of how many reports are 1 where so many clients hold 1: binary randomized response, exactly."""
    law = [Fraction(0)] * (clients + 1)
    for a in range(ones + 1):
        for b in range(clients - ones + 1):
            held = comb(ones, a) * keep**a * (1 - keep) ** (ones - a)
            other = comb(clients - ones, b) * (1 - keep) ** b * keep ** (clients - ones - b)
            law[a + b] += held * other
    return law


@pytest.mark.parametrize("clients", [2, 3, 5, 9])
@pytest.mark.parametrize(("ratio", "growth"), [("3/2", "11/10"), ("3/2", "5/4"), ("6/5", "21/20"), ("9/5", "6/5")])
def test_delta_is_not_below_that_of_any_inputs(clients: int, ratio: str, growth: str) -> None:
    e, g = Fraction(ratio), Fraction(growth)  # e^eps0 < 2: no report is likelier than not to be blank
    keep = e / (1 + e)
    mechanism = Shuffled(RandomizedResponse(epsilon=Log(e), k=2), clients=clients)
    from math import log, nextafter

    epsilon = nextafter(log(g), 0.0)  # hardly below log g, where delta is hardly larger
    found = mechanism.delta_at(epsilon=epsilon)
    for others in range(clients):
        p, q = counts(others + 1, clients, keep), counts(others, clients, keep)
        for one, two in ((p, q), (q, p)):
            true = sum((max(a - g * b, Fraction(0)) for a, b in zip(one, two, strict=True)), Fraction(0))
            assert found >= float(true) * (1 - 1e-12), (others, float(true))
