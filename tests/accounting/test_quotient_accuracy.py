"""The accuracy of means, sums beside them and ratios: bounds of the quotients, and sums by hand."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import pytest

from zcdp import DiscreteGaussian, DiscreteStaircase
from zcdp.accounting.quotient_accuracy import (
    HALF_LEVEL,
    mean_quotients,
    ratio_quotients,
    square_quotients,
    sum_accuracy,
)
from zcdp.tables.clipped_sums import Amount
from zcdp.tables.table_query import TableQuery

PAY = Amount("pay", Fraction(1, 2), -3, 8)
NOISE = DiscreteGaussian(sigma=40), DiscreteGaussian(sigma=3)


def test_a_mean_lies_within_its_clip_and_a_ratio_where_its_lower_clip_excludes_zero() -> None:
    assert mean_quotients(PAY, *NOISE).farthest == 8 - (-3 + 8) // 2
    assert square_quotients(PAY, *NOISE).level == HALF_LEVEL
    for low, high, farthest in ((2, 5, Fraction(8, 2)), (-5, -2, Fraction(8, 2)), (0, 5, None), (-1, 5, None)):
        over = Amount("hours", Fraction(1), low, high)
        query = TableQuery("a", "ratio", (), (), 1, 1, PAY, over=over)
        assert ratio_quotients(query, *NOISE).farthest == farthest


def test_the_square_of_a_distance_is_within_half_of_the_largest_of_its_middle() -> None:
    """Squares from 0 to 36 about 18: the half-width is known up to 18."""
    found = square_quotients(PAY, *NOISE)
    assert found.farthest == 18
    assert found.half_width(Fraction(18)) > found.half_width(Fraction(1))


def test_a_sum_beside_a_mean_has_the_noise_of_both() -> None:
    found = sum_accuracy(Amount("pay", Fraction(1), 0, 100), *NOISE)
    assert found.standard_deviation == pytest.approx(sqrt(40**2 + (50 * 3) ** 2))
    even = sum_accuracy(Amount("pay", Fraction(1), -100, 100), *NOISE)
    assert even.standard_deviation == pytest.approx(40)
    stairs = DiscreteStaircase(epsilon=1, sensitivity=5, r=2)
    wide = sum_accuracy(Amount("pay", Fraction(1), 0, 100), NOISE[0], stairs)
    both = NOISE[0].accuracy(HALF_LEVEL).half_width + 50 * stairs.accuracy(HALF_LEVEL).half_width
    assert wide.half_width == both
