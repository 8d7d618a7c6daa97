"""A guarantee of which only its curve is known: xi + rho alpha at every order, and at least what any such law needs."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import pytest

from zcdp import Gaussian, PureDP
from zcdp.adapters.common import RhoAlone
from zcdp.numeric.balls import at_precision

CURVES = [("0.1", "0"), ("0.1", "0.05"), ("0", "1"), ("1/3", "1/7"), ("2", "0.5")]


@pytest.mark.parametrize(("rho", "xi"), CURVES)
def test_the_curve_is_the_line_at_every_order(rho: str, xi: str) -> None:
    bound, slope, start = RhoAlone(rho=rho, xi=xi), Fraction(rho), Fraction(xi)
    for order in ("1", "1.01", "3/2", "2", "10", "1000"):
        line = start + slope * Fraction(order)
        assert line <= Fraction(bound.rdp(order)) <= line * (1 + Fraction(1, 10**15))
    assert bound.rho_fraction == start + slope  # the largest D(alpha)/alpha is at order 1
    assert start + slope <= Fraction(bound.rho) <= (start + slope) * (1 + Fraction(1, 10**15))
    for ball in at_precision(100, lambda: (bound.kl(), bound.peak().rho)):
        assert float(ball.mid()) == pytest.approx(float(start + slope), rel=1e-14)
    assert bound.peak().order == 1
    assert bound.rho_bounds[0] == 0
    assert (bound.pure_epsilon, bound.largest_loss, bound.is_tight) == (inf, None, False)


@pytest.mark.parametrize("epsilon", ["0.2", "0.5", "0.9"])
def test_it_covers_every_law_below_the_line(epsilon: str) -> None:
    """Pure DP of epsilon 1 stays below xi = 1, Gaussian noise of rho below rho alpha."""
    assert RhoAlone(rho=0, xi=1).delta_at(epsilon=epsilon) >= PureDP(epsilon=1).delta_at(epsilon=epsilon)
    assert RhoAlone(rho="0.02").delta_at(epsilon=epsilon) >= Gaussian(sigma=5).delta_at(epsilon=epsilon)
    many, noise = 10 * RhoAlone(rho="0.002"), Gaussian(sigma=5)
    assert many.delta_at(epsilon=epsilon) >= noise.delta_at(epsilon=epsilon)
    assert "profile" not in {name for name, value in many.routes(delta="1e-6").items() if value < inf}


def test_it_is_written_as_it_was_given_and_refuses_what_is_no_curve() -> None:
    assert repr(RhoAlone(rho="0.1")) == "RhoAlone(rho='0.1')"
    assert repr(RhoAlone(rho="0.1", xi=2)) == "RhoAlone(rho='0.1', xi=2)"
    assert RhoAlone(rho="0.1") == RhoAlone(rho="1/10", xi=0) != RhoAlone(rho="0.1", xi="0.1")
    for given, words in (
        ({"rho": "-0.1"}, r"rho \(-1/10\) must not be negative"),
        ({"rho": 1, "xi": "-0.5"}, r"xi \(-1/2\) must not be negative"),
        ({"rho": 0}, "both 0"),
    ):
        with pytest.raises(ValueError, match=words):
            RhoAlone(**given)  # type: ignore[arg-type]
