"""The binomial sum: terms that are left out are charged."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import comb
from types import SimpleNamespace

import pytest
from mpmath import mp, mpf
from privacy.by_engine import ends

from zcdp import LossPair
from zcdp.numeric.balls import at_precision
from zcdp.privacy.loss.law import LossLaw
from zcdp.privacy.profile import binomial_sum
from zcdp.privacy.profile.binomial_sum import BinomialSum

F = Fraction


@pytest.fixture(autouse=True)
def many_digits() -> Iterator[None]:
    with mp.workdps(60):
        yield


def real(x: Fraction) -> mpf:
    return mpf(x.numerator) / x.denominator


def law_of(pair: LossPair) -> LossLaw:
    law = pair.pair().upper
    assert law is not None
    return law


# Two outcomes, many times

PAIRS = [(F(3, 5), F(1, 4)), (F(1, 4), F(3, 5)), (F(1, 1000), F(1, 3)), (F(99, 100), F(1, 50))]


def binomial_delta(p: Fraction, q: Fraction, count: int, epsilon: Fraction) -> mpf:
    """sum over k of C(n, k) (p^k (1-p)^{n-k} - e^epsilon q^k (1-q)^{n-k})_+."""
    e, total = mp.exp(real(epsilon)), mpf(0)
    for k in range(count + 1):
        one, other = real(p**k * (1 - p) ** (count - k)), real(q**k * (1 - q) ** (count - k))
        total += comb(count, k) * max(one - e * other, mpf(0))
    return total


@pytest.mark.parametrize(("p", "q"), PAIRS)
@pytest.mark.parametrize("bits", [0, 2, 6, 20, 192])
def test_terms_of_a_binomial_sum_that_are_left_out_are_charged(
    monkeypatch: pytest.MonkeyPatch, p: Fraction, q: Fraction, bits: int
) -> None:
    """It stops where terms are below 2^-bits of the sum; from the middle, or from the first term that counts."""
    monkeypatch.setattr(binomial_sum, "ctx", SimpleNamespace(prec=bits))
    law = law_of(LossPair(p=[p, 1 - p], q=[q, 1 - q], ordered=True))
    for count, epsilon in ((1, F(1, 5)), (2, F(0)), (9, F(1, 3)), (60, F(0)), (60, F(7)), (60, F(25)), (200, F(1))):
        truth = binomial_delta(p, q, count, epsilon)

        def asked(count: int = count, epsilon: Fraction = epsilon) -> tuple[float, float]:
            expansion = law.expansion()
            assert expansion is not None
            return ends(BinomialSum(expansion, count, epsilon).delta(epsilon))

        lower, upper = at_precision(192, asked)
        assert lower <= truth <= upper
        if bits == 192:
            assert upper <= truth * (1 + mpf(10) ** -14) + mpf(10) ** -300
