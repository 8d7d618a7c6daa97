"""The discrete Gaussian: its distribution function at every outcome, and the coins that keep proposals."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from mpmath import mp, mpf
from samplers.output_laws import by_mass, exact, real
from samplers.scripted import check

from zcdp.numeric.balls import at_precision
from zcdp.samplers import discrete_gaussian_noise as module
from zcdp.samplers.discrete_gaussian_noise import DiscreteGaussianNoise, _tail_sums
from zcdp.samplers.geometric import LowBits


@pytest.mark.parametrize("bits", [100, 126, 190])
@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(1), Fraction(19, 3), Fraction(100)], ids=str)
def test_sums_of_the_mass_on_either_side_and_far_out(variance: Fraction, bits: int) -> None:
    """P(X <= k), also beyond where all but 2^-bits of the mass lies: as a ball that holds it, and no wide one."""
    noise = DiscreteGaussianNoise(variance)
    with mp.workdps(120):
        far = int(mp.sqrt(exact(variance)) * 25) + 10
        masses = {x: mp.exp(-(mpf(x) ** 2) / (2 * exact(variance))) for x in range(-2 * far, 2 * far + 1)}
        whole = sum(masses.values())
        run = at_precision(bits, lambda: noise._cdfs(range(-far, far)))
        for k in {-far, -far // 2, -7, -2, -1, 0, 1, 2, 7, far // 2, far - 1}:
            truth = sum(masses[x] for x in range(-2 * far, k + 1)) / whole
            for ball in (run[k + far], at_precision(bits, lambda k=k: noise._cdf(k))):
                middle, radius = (mpf(part.str(80, radius=False)) for part in (ball.mid(), ball.rad()))
                assert abs(middle - truth) <= radius * (1 + mpf(10) ** -9) + mpf(10) ** -75
                assert radius < mpf(2) ** (10 - bits)


@pytest.mark.parametrize("sigma", [Fraction(1100), Fraction(2**41)], ids=str)
def test_each_proposal_is_kept_by_the_exponent_of_its_own_size(
    sigma: Fraction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """exp(-(|y| - sigma^2/t)^2/(2 sigma^2)), t = floor(sigma) + 1: as a float and exactly, one by one and in arrays."""
    noise, variance, t = DiscreteGaussianNoise(sigma**2), sigma**2, int(sigma) + 1
    sizes = [0, 1, -1, 700, -2000, 5 * t, -7 * t]
    told: list[tuple[float | None, Fraction]] = []
    monkeypatch.setattr(module, "coin", lambda about, exact, source: told.append((about, exact())) or True)
    monkeypatch.setattr(module, "flip_exp", lambda exact, source: told.append((None, exact)) or True)
    monkeypatch.setattr(
        module,
        "coins",
        lambda about, exact, source: told.extend((about[n], exact(n)) for n in range(about.size)) or about >= 0,
    )
    left = iter(sizes)
    noise._laplace = SimpleNamespace(  # type: ignore[assignment]
        draw_one=lambda source: next(left), draw=lambda count, source: np.resize(sizes, count)
    )
    assert [noise.draw_one(bytes) for _ in sizes] == sizes
    if t < 2**40:
        assert noise.draw(len(sizes), bytes).tolist() == sizes
    for y, (about, exponent) in zip(sizes * 2, told, strict=False):
        assert exponent == (abs(y) - variance / t) ** 2 / (2 * variance)
        assert about is None or abs(about - float(exponent)) < 2.0**-35


def test_discrete_gaussian() -> None:
    noise = DiscreteGaussianNoise(Fraction(90000))
    with mp.workdps(60):
        cdf = by_mass(lambda x, f: mp.exp(-(mpf(x) ** 2) / 180000), lambda f: 6000)
        check(noise._table, lambda k: cdf(k, mpf(1)), 2600)


@pytest.mark.parametrize("length", [4, 8, 20, 40])
def test_a_proposal_in_place_of_another_needs_a_coin_of_its_own(length: int) -> None:
    """All ones is a coin that no proposal but 0 survives: the first two are drawn again, the third one is kept."""
    low = LowBits(real(Fraction(1, 2 ** (length + 5))), length)
    size = low._word().itemsize
    heads = ((1 << low._coin) - 1) << length
    proposals = (1 << length) - 1, (1 << length) - 2, (1 << length) - 3
    first, second = ((heads | proposal).to_bytes(size, "little") for proposal in proposals[:2])
    given = iter([first, b"\xff\xff", second, b"\xff\xff", proposals[2].to_bytes(size, "little")])
    assert low.draw(1, lambda count: next(given)).tolist() == [proposals[2]]
    assert next(given, None) is None


@pytest.mark.parametrize("far", [1, 3, 5, 20])
def test_tail_of_the_discrete_gaussian_is_enclosed(far: int) -> None:
    sums = at_precision(100, lambda: _tail_sums(Fraction(9), far, 100))
    with mp.workdps(60):
        for n, ball in zip(range(far, -1, -1), sums, strict=True):
            true = sum(mp.exp(-(mpf(x) ** 2) / 18) for x in range(n + 1, 200))
            low, high = (mpf(str(end.str(40, radius=False))) for end in (ball.lower(), ball.upper()))
            assert low - mpf(10) ** -28 <= true <= high + mpf(10) ** -28


@pytest.mark.parametrize("variance", [Fraction(1100**2), Fraction(10**13, 7), Fraction(2**78)], ids=str)
def test_discrete_gaussian_by_rejection_is_the_product_of_its_stages(variance: Fraction) -> None:
    noise = DiscreteGaussianNoise(variance, tabled=False)
    width = noise._width
    assert (width - 1) ** 2 <= variance < width**2
    with mp.workdps(60):
        for y in (0, 1, -1, 5, width, -3 * width, 7 * width + 11):
            kept = mp.exp(-exact(Fraction(abs(y), width)) - exact(noise._exponent(y)) + exact(noise._exponent(0)))
            truth = mp.exp(-exact(Fraction(y * y) / (2 * variance)))
            assert abs(kept / truth - 1) < mpf(10) ** -50
            about = (abs(y) - noise._centre) ** 2 * noise._factor
            assert abs(about - exact(noise._exponent(y))) < mpf(2) ** -40
        rate = noise._laplace.high._law.cdf
        assert rate(0) > rate(-1)
