"""Sparse vector from below: the law of a stream, term by term in balls, against quadrature of its definition."""

from __future__ import annotations

from fractions import Fraction

import pytest
from mpmath import mp, mpf

from zcdp.mechanisms.selection.sparse_vector_lower import first_positive
from zcdp.numeric.balls import at_precision


def test_the_law_of_a_stream_is_that_of_its_definition() -> None:
    """The term by term integral in balls against mpmath's quadrature of the definition."""
    levels, rate, query_rate = [Fraction(-1), Fraction(1, 2), Fraction(-1, 4)], Fraction(1, 2), Fraction(1, 3)

    def tail(x: mpf) -> mpf:
        return mp.exp(-x) / 2 if x > 0 else 1 - mp.exp(x) / 2

    law = at_precision(128, lambda: [float(p.mid()) for p in first_positive(levels, rate, query_rate)])
    for index in range(4):

        def density(t: mpf, index: int = index) -> mpf:
            value = mp.exp(-abs(t) / 2) / 4
            for n, level in enumerate(levels[: index + 1]):
                above = tail((t - mpf(level.numerator) / level.denominator) / 3)
                value *= above if n == index else 1 - above
            return value

        exact = mp.quad(density, [-mp.inf, -1, -0.25, 0, 0.5, mp.inf])
        assert law[index] == pytest.approx(float(exact), rel=1e-10)
