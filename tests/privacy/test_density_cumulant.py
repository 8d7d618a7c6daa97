"""Cumulants of noise of any density against closed forms, and rho where losses have no end."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from flint import arb

from zcdp.numeric.balls import NotCertified, at_precision
from zcdp.numeric.density import FormulaDensity
from zcdp.numeric.formula import read
from zcdp.privacy.density_cumulant import ShiftCumulant, _bend, steepest
from zcdp.privacy.loss.density_law import ShiftedDensity


def cumulant(text: str, shift: int = 1) -> ShiftCumulant:
    return ShiftCumulant(ShiftedDensity(FormulaDensity(read(text)), Fraction(shift)))


def test_laplace_and_gaussian() -> None:
    laplace, gaussian = cumulant("exp(-abs(x))"), cumulant("exp(-x^2/2)")
    for s in (0.5, 2.0, 7.0):
        true = log(((1 + s) * exp(s) + s * exp(-1 - s)) / (1 + 2 * s))
        assert float(at_precision(96, lambda s=s: laplace.value(arb(s)))) == pytest.approx(true, rel=1e-13)
        assert float(at_precision(96, lambda s=s: gaussian.value(arb(s)))) == pytest.approx(s * (1 + s) / 2, rel=1e-13)
        value, slope, bend = at_precision(96, lambda s=s: gaussian.taylor(arb(s)))
        assert (float(value), float(slope), float(bend)) == pytest.approx((s * (1 + s) / 2, s + 0.5, 1.0), rel=1e-12)
    assert laplace.largest == pytest.approx((1, 1), rel=1e-12)
    assert gaussian.largest[1] == float("inf")


def test_the_divergence_of_order_one_is_not_always_the_supremum() -> None:
    """Asymmetric Laplace noise in its two directions: a peak inside, and the limit at order 1."""
    for shift, where in ((1, 0.0), (-1, 0.6213)):
        found = at_precision(80, lambda shift=shift: steepest([cumulant("exp(-max(x, -x/2))", shift)], 1e-10))
        assert found.point == pytest.approx(where, abs=1e-3)
        assert found.upper <= found.lower * (1 + 2e-10)
    assert found.lower == pytest.approx(0.21884291640365, rel=1e-11)


def test_the_bend_between_two_orders_is_bounded() -> None:
    laplace = cumulant("exp(-abs(x))")

    def bound() -> bool:
        ends = laplace.taylor(arb(1)), laplace.taylor(arb(2))
        most = _bend(*ends, arb(1))
        return all(laplace.taylor(arb(1) + arb(n) / 4)[2] <= most for n in range(5)) and bool(most < 2)

    assert at_precision(96, bound)


def test_a_bound_at_all_high_orders() -> None:
    flat = cumulant("exp(-abs(x)^1.25)")

    def proven() -> tuple[float, bool]:
        bound = flat.kl() * arb(1.1)
        start = flat.proven_from(bound)
        holds = all(flat.value(start * k) <= bound * start * k * (1 + start * k) for k in (1, 2, 4))
        return float(start), holds

    start, holds = at_precision(80, proven)
    assert holds
    assert start < 40
    with pytest.raises(NotCertified):
        at_precision(80, lambda: cumulant("exp(-x^2/2)").proven_from(arb(0.5)))
    assert at_precision(80, lambda: cumulant("exp(-x^2/2)").proven_from(arb(0.6))) > 1
    assert float(at_precision(80, cumulant("exp(-x^2/2)").limit)) == pytest.approx(0.5)


def test_the_supremum_of_a_gaussian_with_a_peak() -> None:
    """exp(-x^2/2 - |x|): the divergence of order 1 is above the limit of high orders, D^2/2."""
    peaked = cumulant("exp(-x^2/2 - abs(x))")
    found = at_precision(80, lambda: steepest([peaked], 1e-6))
    x = np.linspace(-30, 30, 600_001)
    p = np.exp(-x * x / 2 - abs(x))
    loss = (x - 1) ** 2 / 2 + abs(x - 1) - x * x / 2 - abs(x)
    assert found.lower == pytest.approx((p * loss).sum() / p.sum(), rel=1e-8)
    assert found.point == 0


def test_shifts_that_are_no_floats() -> None:
    """Kinks moved by a third are balls; the divergence of Laplace noise moved by e is e - 1 + exp(-e)."""
    pair = ShiftedDensity(FormulaDensity(read("exp(-abs(x))")), Fraction(1, 3))
    found = at_precision(96, lambda: ShiftCumulant(pair).kl())
    assert float(found) == pytest.approx(1 / 3 - 1 + exp(-1 / 3), rel=1e-13)
