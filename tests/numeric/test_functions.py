"""One formula, three number systems: values of a series agree with balls and with complex balls."""

from __future__ import annotations

import pytest
from flint import acb, arb, arb_series
from table import EVERYDAY_ROWS

from zcdp import BoundedRange, DiscreteGaussian, Mechanism
from zcdp.numeric.balls import at_precision
from zcdp.numeric.functions import derivatives, expm1, log1p

CLASSES = (BoundedRange,)  # envelopes with an analytic formula
ANALYTIC = [
    m for m in EVERYDAY_ROWS if isinstance(m, CLASSES) or not (m.is_envelope or isinstance(m, DiscreteGaussian))
]


@pytest.mark.parametrize("m", ANALYTIC[::3], ids=repr)
def test_cumulant_is_the_same_on_balls_series_and_complex_balls(m: Mechanism) -> None:
    def evaluate() -> None:
        s = arb(3) / 2
        value = m.cumulant(s)
        assert m.cumulant(arb_series([s], prec=1))[0].overlaps(value)
        assert m.cumulant(acb(s)).real.overlaps(value)
        assert m.cumulant(acb(s)).imag.contains(0)
        _, slope, bend = derivatives(m.cumulant(arb_series([s, 1], prec=4)))
        h = arb(2) ** -40
        numeric = (m.cumulant(s + h) - m.cumulant(s - h)) / (2 * h)
        assert abs(slope - numeric) < 1e-12 * slope
        assert bend > 0  # cumulants are convex

    at_precision(512, evaluate)


def test_series_keep_small_constants() -> None:
    x = arb_series([arb(2) ** -200, 1], prec=3)
    assert expm1(x)[0].rel_accuracy_bits() > 40
    assert log1p(x)[0].rel_accuracy_bits() > 40
    assert log1p(expm1(x))[1].overlaps(arb(1))


def test_derivatives_are_those_of_the_exponential_function() -> None:
    """All of them are e^2, at 2."""
    for found in derivatives(arb_series([2, 1], prec=4).exp()):
        assert found.overlaps(arb(2).exp())
        assert found.rel_accuracy_bits() > 40
