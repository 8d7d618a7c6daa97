"""One formula, three number systems: values of a series agree with balls and with complex balls."""

from __future__ import annotations

import pytest
from flint import acb, arb, arb_series, ctx
from table import EVERYDAY_ROWS

from zcdp import BoundedRange, DiscreteGaussian, Mechanism, NotCertified
from zcdp.numeric.balls import at_precision
from zcdp.numeric.functions import coefficient, derivatives, expm1, log1p, sinhc

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


@pytest.mark.parametrize("centre", [0, 2, 16, 17, 60, 1000])
def test_sinhc_near_zero_does_not_cancel(centre: int) -> None:
    """Beside the sum of 1/(2k+1)! x^2k at four times the precision, coefficient by coefficient."""

    def series() -> arb_series:
        x = arb(2) ** -centre if centre else arb(0)
        return arb_series([x, 3 * x if centre else 3, x], prec=4)

    def slowly() -> arb_series:
        total, power, below = arb_series([0], prec=4), arb_series([1], prec=4), arb(1)
        for k in range(120):
            total = total + power / below
            power, below = power * series() * series(), below * (2 * k + 2) * (2 * k + 3)
        return total

    truth = at_precision(8000, slowly)
    found = at_precision(128, lambda: sinhc(series()))
    for n in range(min(found.prec, 4)):
        assert found[n].overlaps(truth[n])
        if centre >= 17 and n < 3:
            assert found[n].rel_accuracy_bits() > 90


def test_series_of_exponentials_and_logarithms_have_all_their_coefficients() -> None:
    from flint import arb_series

    def asked() -> None:
        x = arb_series([arb(0.25), 2, 1], prec=3)
        for found, plain in ((expm1(x), x.exp() - 1), (log1p(x), (1 + x).log())):
            assert found.prec == 3
            assert all(found[n].overlaps(plain[n]) for n in range(3))

    at_precision(100, asked)


@pytest.mark.parametrize("cap", [0, 1, 2, 3, 50])
def test_the_callers_series_length_does_not_matter(cap: int) -> None:
    rows = [m for m in EVERYDAY_ROWS[::40] if not m.is_envelope or isinstance(m, BoundedRange)]
    expected = [m.rdp(1) for m in rows]
    before, ctx.cap = ctx.cap, cap
    try:
        assert [m.rdp(1) for m in rows] == expected
        assert ctx.cap == cap
    finally:
        ctx.cap = before


def test_a_missing_term_of_a_series_is_an_error() -> None:
    with pytest.raises(NotCertified):
        coefficient(arb_series([1, 2], prec=2), 2)
    x = arb_series([3, 1], prec=3)
    assert derivatives(x * x)[2].contains(2)
