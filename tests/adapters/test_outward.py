"""Outward rounding: the nearest float on the side where more is spent, and none nearer."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nextafter
from random import Random

import pytest

from zcdp.adapters.common import above, below

CHANCE = Random(2)
NUMBERS = [Fraction(CHANCE.randrange(1, 10**12), CHANCE.randrange(1, 10**12)) for _ in range(40)]
NUMBERS += [
    Fraction(1, 10),
    Fraction(1, 3),
    Fraction(3, 4),
    Fraction(0),
    Fraction(2) ** -1070,
    Fraction(2) ** -1080 / 3,
]
NUMBERS += [Fraction(2) ** 1023, Fraction(0.1), Fraction(10) ** 308]


@pytest.mark.parametrize("sign", [1, -1])
def test_both_sides_are_the_nearest_floats(sign: int) -> None:
    for number in NUMBERS:
        n = sign * number
        up, down = above(n), below(n)
        assert Fraction(nextafter(up, -inf)) < n <= Fraction(up)
        assert Fraction(down) <= n < Fraction(nextafter(down, inf))
        assert (up == down) == (Fraction(float(n)) == n)


def test_beyond_all_floats() -> None:
    largest, huge = nextafter(inf, 0), Fraction(10) ** 400
    assert (above(huge), below(huge)) == (inf, largest)
    assert (above(-huge), below(-huge)) == (-largest, -inf)
