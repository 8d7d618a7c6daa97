"""Draws from a table with geometric tails: the distribution function, and frequencies."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from zcdp.samplers.integer_table import TableNoise


def test_the_distribution_function_adds_up() -> None:
    noise = TableNoise([Fraction(2), Fraction(5), Fraction(1)], -1, Fraction(1, 3))
    weights = {k: 2 * 3.0 ** (k + 1) if k < -1 else {-1: 2, 0: 5, 1: 1}.get(k, 3.0 ** (1 - k)) for k in range(-40, 41)}
    whole, total = sum(weights.values()), 0.0
    for k in range(-40, 41):
        total += weights[k]
        assert float(noise._cdf(k)) == pytest.approx(total / whole, abs=1e-14)


def test_frequencies() -> None:
    drawn = TableNoise([Fraction(1), Fraction(3)], 5, Fraction(0)).draw(8000)
    assert set(drawn.tolist()) == {5, 6}
    assert abs(np.mean(drawn == 6) - 0.75) < 0.03
