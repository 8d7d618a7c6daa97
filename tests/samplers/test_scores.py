"""Halvings of scores in floats: never above the true ones, so that no coin has a probability above 1."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

from zcdp.numeric.balls import lift
from zcdp.samplers.coins import Rate
from zcdp.samplers.selection_draws import Scores


@pytest.mark.parametrize("rate", [Fraction(1, 100), Fraction(1, 2), Fraction(1), Fraction(7, 3), Fraction(10)], ids=str)
def test_halvings_are_hardly_below_the_true_ones_and_never_above(rate: Fraction) -> None:
    """rate gap/log 2, for gaps of integers, of floats and of numbers that floats only round."""
    known = Rate(lambda: lift(rate))
    rng = np.random.default_rng(5)
    lists = [
        [0, *rng.integers(-(10**6), 0, 50).tolist()],
        [0.0, *(-(10 ** rng.uniform(-6, 4, 50))).tolist()],
        [2**62, *(2**62 - rng.integers(1, 10**17, 50)).tolist()],
        [Fraction(1, 3), *(Fraction(int(n), 7) for n in rng.integers(-1000, 0, 20))],
    ]
    for values in lists:
        scores = Scores(values, known)
        found = scores.halvings(scores.gaps(slice(None))).tolist()
        with mp.workdps(50):
            each = mpf(rate.numerator) / rate.denominator / mp.log(2)
            for n, y in enumerate(found):
                gap = scores.gap(n)
                assert gap == Fraction(values[0]) - Fraction(values[n])
                true = each * gap.numerator / gap.denominator
                assert true * (1 - mpf(2) ** -38) <= mpf(y) <= true
