"""The divergence in each order is not below the truth, to the last bit."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from types import SimpleNamespace

import pytest
from mpmath import mp, mpf

from zcdp import LossPair
from zcdp.privacy.envelope import rdp_each_way
from zcdp.privacy.loss import three_point_pair
from zcdp.privacy.loss.envelope_law import directed_law
from zcdp.privacy.loss.law import LossLaw
from zcdp.privacy.relation import Relation


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


class Part:
    """A part of a plan with laws of one's choice, whose larger divergence is known to be `most`."""

    def __init__(self, laws: list[tuple[LossLaw | None, int]], relation: Relation, most: float = 100.0) -> None:
        self.laws, self.relation, self.most = laws, relation, most

    def rdp(self, order: Fraction) -> float:
        del order
        return self.most


def both(*parts: tuple[Part, int], order: int = 3) -> tuple[float | None, float | None]:
    first, second = rdp_each_way(SimpleNamespace(parts=parts), Fraction(order))  # type: ignore[arg-type]
    return None if first is None else float(first), None if second is None else float(second)


P, Q = [Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 10), Fraction(9, 10)]
ORDERED, ADD = directed_law(P, Q), Relation.ADD_REMOVE


def test_every_coordinate_and_every_use_is_counted_in_its_own_order() -> None:
    forward, backward = float(divergence(P, Q, 3)), float(divergence(Q, P, 3))
    assert both((Part([(ORDERED, 1)], ADD), 1)) == pytest.approx((forward, backward), rel=1e-12)
    assert both((Part([(ORDERED, 4)], ADD), 5)) == pytest.approx((20 * forward, 20 * backward), rel=1e-12)
    mixed = Part([(ORDERED, 2), (directed_law(Q, P), 3)], ADD)
    assert both((mixed, 1)) == pytest.approx((2 * forward + 3 * backward, 3 * forward + 2 * backward), rel=1e-12)
    two = (Part([(ORDERED, 1)], ADD), 2), (Part([(directed_law(Q, P), 1)], ADD), 3)
    assert both(*two) == pytest.approx((2 * forward + 3 * backward, 3 * forward + 2 * backward), rel=1e-12)


def test_what_does_not_know_its_order_costs_the_larger_in_both() -> None:
    """Of other neighbours, of coordinates without a law, and of symmetric ones."""
    assert both((Part([(ORDERED, 1)], Relation.REPLACE, 7.0), 2)) == (14.0, 14.0)
    assert both((Part([(ORDERED, 1)], Relation.EITHER, 7.0), 2)) == (14.0, 14.0)
    assert both((Part([(ORDERED, 1), (None, 1)], ADD, 7.0), 2)) == (14.0, 14.0)
    assert both((Part([(None, 1)], ADD, 7.0), 1)) == (7.0, 7.0)
    assert both((Part([(three_point_pair(Fraction(1)), 1)], ADD, 7.0), 1)) == (7.0, 7.0)


def test_neither_order_costs_more_than_the_larger_of_both() -> None:
    forward, backward = float(divergence(P, Q, 3)), float(divergence(Q, P, 3))
    most = (forward + backward) / 2
    assert both((Part([(ORDERED, 1)], ADD, most), 1)) == pytest.approx((min(most, forward), min(most, backward)))


def test_what_is_infinite_in_one_order_is_so_in_both() -> None:
    """An outcome that only one of the two can produce: no finite number is told for either."""
    away = directed_law([Fraction(1, 2), Fraction(1, 2), Fraction(0)], [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)])
    assert both((Part([(ORDERED, 1)], ADD), 1), (Part([(away, 1)], ADD, inf), 1)) == (None, None)
    found = both((Part([(away, 1)], ADD, 50.0), 1))  # a bound that is known otherwise stays
    assert found[1] == 50
    assert found[0] is not None
    assert found[0] < 50
