"""RAPPOR: its support is that of half the epsilon on each bit."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from mpmath import mp, mpf

import zcdp


@pytest.mark.parametrize("epsilon", ["log(3)", "log(9/4)", "log(8)", 1, "0.1"])
def test_the_support_of_rappor_is_of_half_the_epsilon(epsilon: Any) -> None:
    """Each bit is kept with odds e^{epsilon/2}, which are rational only where the root is."""
    support = zcdp.RAPPOR(epsilon=epsilon).support
    with mp.workdps(40):
        e = mpf(0) + (mp.log(mpf(Fraction(epsilon[4:-1]).numerator) / Fraction(epsilon[4:-1]).denominator)
                      if isinstance(epsilon, str) and epsilon.startswith("log") else mpf(epsilon))  # fmt: skip
        odds = mp.exp(e / 2)
        p, q = odds / (1 + odds), 1 / (1 + odds)
        expected = [float(one) for one in (p, q, p * q, 1 - p, 1 - q, p - q)]
    found = [support.p, support.q, support.b, support.not_p, support.not_q, support.gain]
    assert found == pytest.approx(expected, rel=1e-15)
    if epsilon == "log(9/4)":
        assert support.exact == (Fraction(3, 5), Fraction(2, 5), Fraction(6, 25))
    else:
        assert support.exact is None
