"""The bound on a tilted density on an ellipse holds at points off the real axis, for negative exponents too."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb

from zcdp.privacy.loss.sampled_quadrature import BaseLoss, Mixture


@pytest.mark.parametrize("e", [-0.5, -3.0, -12.0, 2.0])
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
@pytest.mark.parametrize(("middle", "reach", "tall"), [(0.0, 0.5, 1.2), (-1.0, 0.25, 0.8), (1.0, 1.0, 1.4)])
def test_no_point_of_a_box_is_above_the_bound(e: float, rate: float, middle: float, reach: float, tall: float) -> None:
    base = BaseLoss(arb(0), arb(-1) / 2, arb(0), arb(-5), arb(5))
    box = arb(middle), arb(reach), arb(tall), arb(tall)
    bound = float(Mixture(arb(rate), base)._log_size(box, arb(e), 0.0).upper())
    x, y = np.meshgrid(np.linspace(middle - reach, middle + reach, 41), np.linspace(-tall, tall, 41))
    loss = x + 1j * y
    weight = 1 - rate + rate * np.exp(loss)
    assert bound >= (e * np.log(np.abs(weight)) + (-loss / 2).real).max() - 1e-12
