"""Mixtures of a density: where its tail is cut, how much its density varies, and paths that leave the real axis."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from flint import acb, arb

from zcdp.numeric.balls import above, at_precision
from zcdp.privacy.loss.sampled_quadrature import BaseLoss, Mixture

# second, first, constant, low, high and the rate
BASES = {
    "normal": (-0.5, -0.5, -1.0, -6.0, np.inf, 0.2),
    "wide normal": (-0.02, -0.5, -3.0, -20.0, np.inf, 0.01),
    "narrow normal": (-8.0, -0.5, 0.3, 0.0, np.inf, 0.9),
    "exponential": (0.0, -0.5, -1.0, -2.0, 2.0, 0.3),
    "two hills": (-0.02, 0.0, -2.0, -14.0, np.inf, 0.02),
}


def mixture(name: str) -> Mixture:
    second, first, constant, low, high, rate = BASES[name]
    top = arb(high) if np.isfinite(high) else arb.pos_inf()
    return Mixture(arb(rate), BaseLoss(arb(second), arb(first), arb(constant), arb(low), top))


def line(name: str, e: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Losses, the logarithm of density times w^e there, and log w."""
    second, first, constant, low, high, rate = BASES[name]
    end = high if np.isfinite(high) else max(low, (max(e, 0) + first) / (-2 * second)) + 12 / np.sqrt(-2 * second)
    loss = np.linspace(low, end, 20_001)
    log_weight = np.logaddexp(np.log1p(-rate), np.log(rate) + loss)
    return loss, (second * loss + first) * loss + constant + e * log_weight, log_weight


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("e", [-3.0, 0.0, 1.0, 2.5, 4.0])
def test_ends_and_variation_of_the_density_of_log_w_are_bounded(name: str, e: float) -> None:
    """The integral of w^{e+iy} is at most (both ends + total variation of that density)/y: bounded from above."""
    loss, size, log_weight = line(name, e)
    rate = BASES[name][-1]
    density = np.exp(size + log_weight - loss) / rate  # times dl / d log w = w/(q e^l)
    true = density[0] + density[-1] + np.abs(np.diff(density)).sum()
    found = above(at_precision(128, lambda: mixture(name).variation(arb(e), -30.0)))
    assert true <= found * (1 + 1e-9)
    assert found <= 6 * true
    rises = np.diff(density) > 0
    maxima = int((rises[:-1] & ~rises[1:]).sum()) + int(not rises[0]) + int(rises[-1])
    assert maxima <= at_precision(128, lambda: mixture(name)._maxima(arb(e)))


def test_a_density_may_have_two_maxima() -> None:
    assert at_precision(128, lambda: mixture("two hills")._maxima(arb(1))) == 2
    assert at_precision(128, lambda: mixture("narrow normal")._maxima(arb(1))) == 1


@pytest.mark.parametrize("name", ["normal", "wide normal", "narrow normal", "two hills"])
@pytest.mark.parametrize("level", [0.0, 0.8])
def test_what_is_beyond_the_last_panel_is_charged(name: str, level: float) -> None:
    """Along the real axis, or a line above it: the integral of |density w^e| from there on."""
    second, first, constant, _, _, rate = BASES[name]
    for exponents, log_error in product(([-2.0], [3.0], [2.0, -1.0], [8.0]), (1.0, -1.0, -12.0)):
        end, charged = at_precision(
            128, lambda es=exponents, le=log_error: mixture(name)._end([arb(e) for e in es], le, arb(level))
        )
        x = np.linspace(float(end), float(end) + 14 / np.sqrt(-2 * second) + max(exponents), 20_001)
        place = x + 1j * level
        true = 0.0
        for e in exponents:
            log_weight = np.log(np.abs(1 - rate + rate * np.exp(place)))
            size = ((second * place + first) * place + constant).real + e * log_weight
            sizes = np.exp(size)
            true += (sizes.sum() - (sizes[0] + sizes[-1]) / 2) * (x[1] - x[0])
        assert true <= above(charged) * (1 + 1e-3)
        assert above(charged) <= np.exp(log_error) * (1 + 1e-9)


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("shifted", [False, True])
def test_a_rule_is_off_by_no_more_than_it_says_at_every_height(name: str, shifted: bool) -> None:
    """The sum over its points of mass w^{e + iy}, for 0 <= y <= height, beside the integral along the real axis.

    For a negative exponent, of w^{e - iy}: with all points conjugate.
    """
    for e, height in ((1.0, 6.0), (3.5, 2.0), (-1.5, 4.0)):
        loss, size, log_weight = line(name, e)
        weights = np.full(len(loss), loss[1] - loss[0])
        weights[1:-1:2] *= 4 / 3
        weights[2:-1:2] *= 2 / 3
        weights[[0, -1]] /= 3

        def asked(e: float = e, height: float = height) -> tuple[np.ndarray, np.ndarray, float]:
            rule = mixture(name).rule([arb(e)], height, -9.0, shifted=shifted)
            values = [complex(m * (x * acb(e)).exp()) for x, m in zip(rule.logs, rule.masses, strict=True)]
            return np.array([complex(x) for x in rule.logs]), np.array(values), above(rule.error)

        logs, values, error = at_precision(128, asked)
        assert error < 1e-3
        for y in (0.0, height / 3, height):
            truth = (np.exp(size + 1j * y * log_weight) * weights).sum()
            found = (values * np.exp(1j * y * logs)).sum()
            assert abs(found - truth) <= error + 1e-7 * np.exp(size).max(), (e, y)
