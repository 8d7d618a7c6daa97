"""Two uses of sampled Gaussian noise by one integral, against sums over the plane of both outcomes."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log, pi, sqrt

import numpy as np
import pytest
from flint import arb

from zcdp import Gaussian, Subsampled
from zcdp.numeric.balls import at_precision, lift
from zcdp.privacy.loss.law import Parts


def in_the_plane(rate: float, mu: float, x: float, *, removed: bool) -> float:
    """The integral of (A A - x Q Q)_+, or of (Q Q - x A A)_+, by the midpoints of squares."""
    u, step = np.linspace(-9.0, 9.0 + mu, 1600, retstep=True)
    q = np.exp(-u * u / 2) / sqrt(2 * pi) * step
    w = 1 - rate + rate * np.exp(mu * u - mu * mu / 2)
    both = np.outer(w, w)
    told = np.maximum(both - x, 0) if removed else np.maximum(1 - x * both, 0)
    return float(q @ told @ q)


def parts(rate: Fraction, mu: Fraction, *, removed: bool) -> Parts:
    law = Subsampled(Gaussian(sigma=1 / mu), rate=rate).pair()
    assert law is not None
    return ((law.upper if removed else law.upper.reverse(), 2),)


def integral(parts: Parts, epsilon: Fraction) -> tuple[float, float]:
    def ask() -> tuple[float, float]:
        formula = parts[0][0].twice()
        assert formula is not None
        value: arb = formula(lift(epsilon))
        return float(value.lower()), float(value.upper())

    return at_precision(128, ask)


@pytest.mark.parametrize("removed", [True, False])
@pytest.mark.parametrize(("rate", "mu"), [("1/10", "1"), ("1/1000", "3/2"), ("9/10", "1/2"), ("1/3", "2")])
def test_sums_over_the_plane(rate: str, mu: str, removed: bool) -> None:
    both = parts(Fraction(rate), Fraction(mu), removed=removed)
    for part in ("1/2", "3/2"):  # of the largest loss of (Q, A), twice -log(1 - q)
        epsilon = Fraction(-2 * log(1 - Fraction(rate))) * Fraction(part)
        lower, upper = integral(both, epsilon)
        assert lower <= upper <= lower + 1e-14
        truth = in_the_plane(float(Fraction(rate)), float(Fraction(mu)), exp(epsilon), removed=removed)
        assert (lower + upper) / 2 == pytest.approx(truth, rel=1e-3, abs=2e-8)
