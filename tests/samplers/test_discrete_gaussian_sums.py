"""The discrete Gaussian: its distribution function at every outcome, and the coins that keep proposals."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from mpmath import mp, mpf
from samplers.laws import exact

from zcdp.numeric.balls import at_precision
from zcdp.samplers import discrete_gaussian_noise as module
from zcdp.samplers.discrete_gaussian_noise import DiscreteGaussianNoise


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
