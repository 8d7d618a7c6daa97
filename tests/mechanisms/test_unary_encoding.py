"""Unary encoding: where its peak leaves order 1, and chances that do not tell values apart."""

from __future__ import annotations

from math import nextafter

import pytest

import zcdp
from zcdp import OptimizedUnaryEncoding

OUE_THRESHOLD = 3.212230597606


@pytest.mark.parametrize("away", [1e-12, 1e-9, 1e-6, 1e-3, 0.1])
def test_the_threshold_of_optimized_unary_encoding(away: float) -> None:
    below, above = (OptimizedUnaryEncoding(epsilon=OUE_THRESHOLD + move) for move in (-away, away))
    assert below.rho_order == 1 < above.rho_order
    for m in (below, above):
        lower, upper = m.search_rho(1e-10)
        assert lower <= m.rho <= nextafter(upper, 1e308)


def test_chances_that_do_not_tell_values_apart_are_refused() -> None:
    for kind in (zcdp.UnaryEncoding, zcdp.BinaryRandomizedResponse):
        for p, q in (("1/2", "1/2"), ("1/4", "1/2")):
            with pytest.raises(ValueError, match="must be above q"):
                kind(p, q)
        assert kind("0.51", "0.5").rho > 0
    for p, q in (("1/2", "1/2"), ("1/2", "1/4")):
        with pytest.raises(ValueError, match="must be below q"):
            zcdp.MemoizedRAPPOR(f="1/2", p=p, q=q, collections=3)
