"""Rounding of numbers to a grid: without bias, within the range, and nothing but numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from zcdp.mechanisms.local.number_randomizer import bounds, rounded
from zcdp.samplers.source import secure


def test_rounding_has_no_bias_and_moves_to_the_next_grid_points_alone() -> None:
    numbers = np.full(40_000, 3.3)  # 0.65 of the second of four steps of 2
    points = rounded(numbers, 2, 10, 4, secure)
    assert set(points.tolist()) == {0, 1}
    assert points.mean() == pytest.approx(0.65, abs=5 * (0.65 * 0.35 / 40_000) ** 0.5)
    assert rounded([2, 4, 10], 2, 10, 4, secure).tolist() == [0, 1, 4]
    assert rounded(np.array([], dtype=float), 2, 10, 4, secure).size == 0


def test_what_is_no_number_of_the_range_is_refused() -> None:
    assert bounds("1/3", 2) == (Fraction(1, 3), Fraction(2))
    for wrong in ([1.9], [10.1], [float("inf")], [float("nan")]):
        with pytest.raises(ValueError, match=r"numbers must lie between low \(2\) and high \(10\): clip them first"):
            rounded(wrong, 2, 10, 4, secure)
    with pytest.raises(TypeError, match="numbers must be one row of real numbers"):
        rounded([["a"]], 2, 10, 4, secure)
