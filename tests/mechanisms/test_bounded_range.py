"""Bounded range: every pair of two outcomes is covered; the exponential mechanism is noisy max with Gumbel noise."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log
from typing import Any

import mpmath as mp
import pytest
from mechanisms.selection_laws import ORDERS

from zcdp import BoundedRange, ExponentialMechanism, Log, ReportNoisyMax


@pytest.mark.parametrize("epsilon", [0.1, 1, 4])
def test_gumbel_noise_is_the_exponential_mechanism(epsilon: float) -> None:
    m = ReportNoisyMax(epsilon=epsilon, noise="gumbel")
    assert m.is_tight
    for other in (BoundedRange(eta=epsilon), ExponentialMechanism(epsilon=epsilon)):
        assert m.rho == other.rho
        assert all(m.rdp(order) == other.rdp(order) for order in ORDERS)


def test_the_error_of_a_selection_is_that_of_gumbel_noise() -> None:
    """Of density e^{-x - e^-x}, times 2/epsilon: the deviation by quadrature."""
    with mp.workdps(25):
        mean, square = (mp.quad(lambda x, n=n: x**n * mp.exp(-x - mp.exp(-x)), [-6, 0, 6, 90]) for n in (1, 2))
        deviation = mp.sqrt(square - mean**2)
    for epsilon in ("0.1", 2):
        for m in (ExponentialMechanism(epsilon=epsilon), BoundedRange(eta=epsilon)):  # type: ignore[arg-type]
            assert m.relative_error == pytest.approx(2 * float(deviation) / float(Fraction(epsilon)), rel=1e-9)


@pytest.mark.parametrize("eta", [Fraction(1, 2), Log(5), Fraction(4)], ids=str)
def test_bounded_range_covers_every_pair_of_two_outcomes(eta: Any) -> None:
    """Losses a and a - eta: wherever the interval lies, the masses follow from it."""
    m, width = BoundedRange(eta=eta), float(eta) if isinstance(eta, Fraction) else log(5)
    for part in (0.02, 0.3, 0.5, 0.8, 0.98):
        top, low = part * width, (part - 1) * width
        one = (1 - exp(-low)) / (exp(-top) - exp(-low))  # p with p e^-top + (1 - p) e^-low = 1
        p, q = (one, 1 - one), (one * exp(-top), (1 - one) * exp(-low))
        for order in (1.0, 1.5, 3.0, 20.0):
            if order == 1:
                truth = one * top + (1 - one) * low
            else:
                truth = log(sum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))) / (order - 1)
            assert truth <= m.rdp(Fraction(order)) * (1 + 1e-9)
            assert truth / order <= m.rho * (1 + 1e-9)
        for epsilon in (0.0, width / 3):
            truth = sum(max(a - exp(epsilon) * b, 0) for a, b in zip(p, q, strict=True))
            assert truth <= m.delta_at(epsilon=epsilon) * (1 + 1e-9)
            if part == 0.5:
                assert m.delta_bounds(epsilon=epsilon)[0] <= m.delta_at(epsilon=epsilon)
    steepest = max(
        (one * top + (1 - one) * (top - width))
        for top in (width * n / 4000 for n in range(1, 4000))
        for one in [(1 - exp(width - top)) / (exp(-top) - exp(width - top))]
    )
    assert m.rdp(1) == pytest.approx(steepest, rel=1e-5)
