"""The divergence in each order is not below the truth, to the last bit."""

from __future__ import annotations

from fractions import Fraction

import pytest
from mpmath import mp, mpf

from zcdp import LossPair
from zcdp.privacy.envelope import rdp_each_way


def divergence(p: list[Fraction], q: list[Fraction], order: int) -> mpf:
    with mp.workdps(60):
        total = sum(a**order / b ** (order - 1) for a, b in zip(p, q, strict=True))
        return mp.log(mpf(total.numerator) / total.denominator) / (order - 1)


@pytest.mark.parametrize("order", [2, 3, 7])
def test_neither_order_is_rounded_below_the_truth(order: int) -> None:
    for n in range(1, 12):
        p, q = [Fraction(n, 13), Fraction(13 - n, 13)], [Fraction(1, 2), Fraction(1, 2)]
        found = rdp_each_way(LossPair(p=p, q=q, ordered=True), Fraction(order))
        for one, truth in zip(found, (divergence(p, q, order), divergence(q, p, order)), strict=True):
            with mp.workdps(60):
                assert mpf(one.numerator) / one.denominator >= truth, (n, order)
