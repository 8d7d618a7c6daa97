"""Pieces of certified quadrature are bounds, looked at where their errors can be seen."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb

from zcdp.numeric.quadrature import charge, highest_parabola


@pytest.mark.parametrize("second", [0, -1, -5])
@pytest.mark.parametrize("first", [-7, -1, 0, 2, 9])
@pytest.mark.parametrize(("left", "right"), [(-2, 1), (0, 2), (1, 3), (-4, -1)])
def test_a_parabola_is_nowhere_above_its_highest(second: int, first: int, left: int, right: int) -> None:
    highest = float(highest_parabola(arb(second), arb(first), arb(left), arb(right)).upper())
    x = np.linspace(left, right, 1001)
    assert highest >= (second * x * x + first * x).max() - 1e-12


def test_cells_are_charged_with_no_less_than_they_weigh() -> None:
    for decay in np.linspace(0, 3, 61):
        weight = np.array([2.0, 0.5])
        assert float(charge(weight, np.full(2, decay)).upper()) >= 2.5 * np.exp(-decay) * (1 - 1e-12)
