"""Permute-and-flip: two candidates attain its bound, and it is noisy max with exponential noise."""

from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from mechanisms.selection_laws import ORDERS, ROUNDING, divergence, exponential, permute_and_flip, random_moves

from zcdp import BinaryRandomizedResponse, PermuteAndFlip, ReportNoisyMax


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 4.0, 8.0])
def test_two_candidates_attain_permute_and_flip(epsilon: float) -> None:
    """One is behind by z, then ahead by epsilon - z: it wins with probability e^-z/2, then loses with e^(z-eps)/2."""
    m, z = PermuteAndFlip(epsilon=epsilon), np.linspace(0, epsilon, 20001)[:, None]
    x = np.concatenate([-z, 0 * z], axis=-1)
    p, q = permute_and_flip(x), permute_and_flip(x + np.array([epsilon, 0]))
    np.testing.assert_allclose(p[:, 0], np.exp(-z[:, 0]) / 2, rtol=1e-13)
    np.testing.assert_allclose(q[:, 1], np.exp(z[:, 0] - epsilon) / 2, rtol=1e-13)
    for order in ORDERS:
        assert divergence(p, q, order).max() == pytest.approx(m.rdp(order), rel=1e-7)
        assert divergence(p, q, order).max() <= m.rdp(order) * (1 + ROUNDING)
    assert divergence(p, q, 1).max() == pytest.approx(m.rho, rel=1e-7)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_peak_of_permute_and_flip_is_in_the_limit_of_order_one(epsilon: float) -> None:
    m = PermuteAndFlip(epsilon=epsilon)
    orders = 1 + np.geomspace(1e-6, 1e4, 200)
    assert (m.rdp(orders) / orders).max() <= m.rho


def test_permute_and_flip_is_noisy_max_with_exponential_noise() -> None:
    rng = np.random.default_rng(3)
    for m in (2, 3, 5, 8):
        x = random_moves(rng, 50, m, 2.0)[0]
        np.testing.assert_allclose(exponential(x), permute_and_flip(x), rtol=1e-9, atol=1e-14)
    one, other = PermuteAndFlip(epsilon=2), ReportNoisyMax(epsilon=2, noise="exponential")
    assert other.is_tight
    assert other.rho == one.rho
    assert all(other.rdp(order) == one.rdp(order) for order in ORDERS)


@pytest.mark.parametrize("epsilon", ["0.1", 1, 4])
def test_permute_and_flip_is_the_worst_of_its_binary_pairs(epsilon: object) -> None:
    """(p, 1-p) against (1-r, r) with 4 p r = e^-epsilon: none is above the bound, and the best of a fine grid is it."""
    m = PermuteAndFlip(epsilon=epsilon)
    cells = 48
    best = dict.fromkeys((1, 1.5, 2, 5, 30), 0.0)
    rho = 0.0
    for n in range(cells + 1):
        with mp.workdps(30):
            # rounded so that 4 p r is not below e^-epsilon: the pair stays within the mechanism's reach
            p = _above(mp.exp(-mp.mpf(n) / cells * mp.mpf(str(epsilon))) / 2)
            r = _above(mp.exp(-mp.mpf(cells - n) / cells * mp.mpf(str(epsilon))) / 2)
        if p + r >= 1:
            continue
        pair = BinaryRandomizedResponse(p=1 - r, q=p)
        assert pair.rho <= m.rho
        rho = max(rho, pair.rho)
        for order in best:
            assert pair.rdp(order) <= m.rdp(order)
            best[order] = max(best[order], pair.rdp(order))
    assert rho == pytest.approx(m.rho, rel=1e-3)
    for order, value in best.items():
        assert value == pytest.approx(m.rdp(order), rel=1e-3)


def _above(x: mp.mpf) -> Fraction:
    return min(Fraction(int(mp.ceil(x * 10**20)), 10**20), Fraction(1, 2))
