"""Every cell that a table decides is right by 60-digit arithmetic, and it leaves open no more cells than it must."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb
from mpmath import mp, mpf
from samplers.laws import by_mass, discrete_laplace_cdf, exact, real

from zcdp.samplers.coins import Coin, _levels
from zcdp.samplers.discrete_gaussian_noise import DiscreteGaussianNoise
from zcdp.samplers.geometric import DiscreteLaplaceNoise, Geometric, LowBits
from zcdp.samplers.grid_noise import gaussian_on_grid, logistic_on_grid
from zcdp.samplers.lazy_inversion import Law, LazyTable
from zcdp.samplers.reports import UnaryReports


def check(table: LazyTable, cdf: Callable[[int], Any], steps: int) -> None:
    """Runs of cells with one outcome k lie in [F(k-1), F(k)]; the open cells are those with a step inside."""
    outcomes = np.array(table._list)
    closed = outcomes != table._law.window.stop
    for k in np.unique(outcomes[closed]).tolist():
        cells = np.flatnonzero(outcomes == k)
        assert cells[-1] - cells[0] + 1 == cells.size
        with mp.workdps(60):
            assert cdf(k - 1) <= mpf(int(cells[0])) / 65536
            assert mpf(int(cells[-1]) + 1) / 65536 <= cdf(k)
    small = table._table.astype(np.int64)
    assert np.array_equal(small[small != table._mark], outcomes[small != table._mark])
    assert 65536 - closed.sum() <= steps + (outcomes == table._mark).sum() + 2


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(50), Fraction(1000), Fraction(2**40)], ids=str)
def test_discrete_laplace(scale: Fraction) -> None:
    noise = DiscreteLaplaceNoise(real(1 / scale))
    whole = discrete_laplace_cdf(scale)
    width = 1 << noise.low.length if noise.low else 1
    check(noise.high, lambda h: whole((h + 1) * width - 1, mpf(1)), 2 * 64 * 12)


@pytest.mark.parametrize("scale", [Fraction(3), Fraction(10**6), Fraction(2**62)], ids=str)
def test_geometric(scale: Fraction) -> None:
    geometric = Geometric(real(1 / scale))
    width = 1 << geometric.low.length if geometric.low else 1
    check(geometric.high, lambda h: 1 - mp.exp(-(h + 1) * width / exact(scale)), 64 * 12)


def test_discrete_gaussian() -> None:
    noise = DiscreteGaussianNoise(Fraction(90000))
    with mp.workdps(60):
        cdf = by_mass(lambda x, f: mp.exp(-(mpf(x) ** 2) / 180000), lambda f: 6000)
        check(noise._table, lambda k: cdf(k, mpf(1)), 2600)


@pytest.mark.parametrize(("name", "law"), [("gaussian", mp.npdf), ("logistic", lambda x: mp.sech(x / 2) ** 2)])
@pytest.mark.parametrize("step", [Fraction(1, 1024), Fraction(8), Fraction(1, 2**40)], ids=str)
def test_a_place_that_is_surely_kept_is_below_the_fall_of_its_bin(name: str, law: Any, step: Fraction) -> None:
    noise = gaussian_on_grid(Fraction(4), step) if name == "gaussian" else logistic_on_grid(real(Fraction(1, 2)), step)
    for bins in (noise._coarse, noise._fine):
        width = exact(Fraction(2) ** (bins._place - bins._grid.refine) * step) / 2
        sure = bins._sures[1:-1]
        assert bins._sures[0] == bins._sures[-1] == 0
        assert len(sure) == 2 * bins._reached
        with mp.workdps(60):
            edges = [law(width * n) for n in range(bins._reached + 1)]
            for n in range(bins._reached):
                fall = 65536 * edges[n + 1] / edges[n]
                assert sure[bins._reached + n] == sure[bins._reached - 1 - n] <= fall
                assert fall - sure[bins._reached + n] < 65536 * 32 * float(width) ** 2 + 2


@pytest.mark.parametrize("length", [1, 4, 8, 9, 24, 25, 44])
def test_low_bits_that_are_surely_kept(length: int) -> None:
    rate = Fraction(1, 2**length * 33)
    low = LowBits(real(rate), length)
    with mp.workdps(60):
        least = mp.exp(-mpf(1) / 33)
        assert least * 2**low._coin - max(1, 2 ** (low._coin - 16)) <= low._sure <= least * 2**low._coin
        assert least * 2**16 - 1 <= low._sure_one <= least * 2**16


def test_bytes_of_unary_encoding() -> None:
    q = Fraction(1, 7)
    reports = UnaryReports(real(1 - q), real(q))
    total = [Fraction(0)]
    for byte in range(256):
        ones = bin(byte).count("1")
        total.append(total[-1] + q**ones * (1 - q) ** (8 - ones))
    check(reports._bytes, lambda k: exact(total[k + 1]), 255)


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(1, 2), Fraction(1, 10**9), 1 - Fraction(1, 10**9)], ids=str)
def test_coin(p: Fraction) -> None:
    coin = Coin(real(p))
    assert 0 <= coin._low <= p * 65536 <= coin._high <= 65536
    assert coin._high - coin._low <= 2


@pytest.mark.parametrize("first", [16, 2, 0])
def test_levels_of_the_exponential_coins(first: int) -> None:
    """What a cell of U says about -log2(U) holds by 60 digits, with a margin that is small but there."""
    surely, possibly = _levels(first)
    width = 1 << (16 - first)
    with mp.workdps(60):
        margin = mpf(2) ** -30
        edges = [16 - mp.log(n * width, 2) for n in range(1, (1 << first) + 1)]
        for n, (low, high) in enumerate(zip(surely.tolist(), possibly.tolist(), strict=True)):
            assert margin / 2 < edges[n // width] - low < 2 * margin
            assert high == mp.inf if n < width else margin / 2 < high - edges[n // width - 1] < 2 * margin


def test_forced_stages_round_cuts_outward() -> None:
    """With six bits in the second stage the thirds of 64 lie between 21 and 22, and between 42 and 43."""
    table = LazyTable(Law(lambda k: arb(k + 1) / 3, range(3), 0, 2), first=2, second=6)
    assert table._lower[:2].tolist() == [21, 42]
    assert table._upper[:2].tolist() == [22, 43]
