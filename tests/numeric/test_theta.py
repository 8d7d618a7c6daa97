"""Jacobi's theta, waves and phases in balls and in doubles: what is left out of each sum is charged."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from flint import acb, arb, arb_series
from mpmath import mp, mpc, mpf

from zcdp.numeric import theta
from zcdp.numeric.balls import Undecided, above, at_precision, below, settled, thin, trusted
from zcdp.numeric.doubles import decays, power, wave_table, waves
from zcdp.numeric.quadrature import Phases, octaves
from zcdp.numeric.theta import Theta


@pytest.fixture(autouse=True)
def many_digits() -> Iterator[None]:
    with mp.workdps(40):
        yield


def jacobi(variance: Fraction, t: mpc) -> mpc:
    """The sum over integers x of exp(-(x-t)^2/(2v))/sqrt(2 pi v), around where its terms are largest."""
    v = mpf(variance.numerator) / variance.denominator
    middle = int(mp.re(t))
    reach = int(12 * mp.sqrt(v) + 4 * abs(mp.im(t))) + 12
    terms = (mp.exp(-((x - t) ** 2) / (2 * v)) for x in range(middle - reach, middle + reach + 1))
    return mp.fsum(terms) / mp.sqrt(2 * mp.pi * v)


def holds(ball: arb, truth: mpf) -> bool:
    slack = mpf(10) ** -25 * max(1, abs(truth))
    low, high = (mpf(end.str(35, radius=False)) for end in at_precision(200, lambda: (ball.lower(), ball.upper())))
    return bool(low - slack <= truth <= high + slack)


@pytest.mark.parametrize("bits", [3, 10, 64])
@pytest.mark.parametrize("variance", ["1/40", "1/7", "1/6", "1/4", "1", "7"])
def test_theta_is_in_its_ball_at_low_precision_and_far_from_the_axis(variance: str, bits: int) -> None:
    """With few bits few terms are summed, and all others are charged: also where they grow with Im t."""
    v = Fraction(variance)
    for x, y in ((0, 0), (0.5, 0), (0.3, 0.2), (0.5, 1.1), (-2.7, 0.4), (7.25, 2.0)):
        truth = jacobi(v, mpc(x, y))
        try:
            found = at_precision(bits, lambda x=x, y=y: Theta(v)(acb(x, y)))
        except Undecided:
            assert bits < 64
            continue
        assert holds(found.real, truth.real), (x, y)
        assert holds(found.imag, truth.imag), (x, y)
        if not y:
            assert holds(at_precision(bits, lambda x=x: Theta(v)(arb(x))), truth.real)


@pytest.mark.parametrize("bits", [12, 80])
@pytest.mark.parametrize("variance", ["1/40", "1/7", "1/5", "2"])
def test_every_coefficient_of_theta_along_a_line_is_in_its_ball(variance: str, bits: int) -> None:
    """theta(t + 3u): the n-th coefficient is 3^n times the n-th derivative over n!."""
    v = Fraction(variance)
    for t in (0.0, 0.37, 1.5):
        try:
            found = at_precision(bits, lambda t=t: Theta(v)(arb_series([arb(t), 3], prec=4)))
        except Undecided:
            assert bits < 80
            continue
        with mp.workdps(60):
            truth = mp.taylor(lambda x: jacobi(v, mpc(x)).real, mpf(t), 3)
        for n in range(4):
            assert holds(found[n], 3**n * mp.re(truth[n])), (t, n)
            assert bits < 80 or found[n].rad() < 1e-9 * (1 + abs(float(truth[n])) * 3**n)


def test_theta_of_narrow_noise_and_of_wide_noise_are_one_function(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in (Fraction(1, 100), Fraction(2)):
        monkeypatch.setattr(theta, "NARROW_VARIANCE", limit)
        for variance, t in ((Fraction(1, 6), 0.2), (Fraction(1, 2), 0.45)):
            found = at_precision(100, lambda v=variance, t=t: Theta(v)(acb(t, 0.3)))
            truth = jacobi(variance, mpc(t, 0.3))
            assert holds(found.real, truth.real)
            assert holds(found.imag, truth.imag)


def test_waves_and_decays_in_doubles_are_as_near_as_is_said() -> None:
    """Each of 700 indices of every size, below 1024 and far above; and arguments across the table's steps."""
    random = Random(8)
    for angle in (0.001, 1.0, -2.5, 3.14159, 500.25):
        small = np.array(sorted([*random.sample(range(1024), 40), 0, 1, 511, 512, 1023]))
        large = np.array([random.randrange(1 << bits) for bits in range(11, 31)] + [1024, 1025, 1 << 20, (1 << 30) - 1])
        table = at_precision(128, lambda a=angle, k=small: wave_table([arb(a), arb(a) / 7], k))
        for indices, units in ((small, 6), (large, 32)):
            found = at_precision(128, lambda a=angle, k=indices: waves(arb(a), k))
            for k, value in zip(indices.tolist(), found.tolist(), strict=True):
                assert abs(mpc(value) - mp.expj(mpf(angle) * k)) <= mpf(units) * mpf(2) ** -53
        for row, part in zip(table, (mpf(angle), mpf(angle) / 7), strict=True):
            for k, value in zip(small.tolist(), row.tolist(), strict=True):
                assert abs(mpc(value) - mp.expj(part * k)) <= 6 * mpf(2) ** -53 + k * mpf(2) ** -61
    x = np.concatenate(
        [np.linspace(0, 66, 700), np.arange(66) + 1 / 32, np.nextafter(np.arange(1, 66) / 32, 0), [64.0]]
    )
    for place, value in zip(x.tolist(), decays(x).tolist(), strict=True):
        assert abs(mpf(value) - mp.exp(-mpf(place))) <= mpf(2) ** -50
    base = np.array([0.9 + 0.3j, -0.2j, 1.1 + 0j])
    for count in (1, 2, 3, 6, 7, 12, 33):
        assert power(base, count) == pytest.approx(base**count, rel=1e-12)


@pytest.mark.parametrize("kept", [[0, 1, 2, 3], [0, 31, 32, 33, 64], [5, 700, 701, 5000], list(range(70))])
def test_sums_over_phases_are_those_of_every_node(kept: list[int]) -> None:
    """Of value_k e^{-i k angle}, the real part, for several rows at once."""
    random = Random(2)
    rows = [[complex(random.random() - 0.5, random.random() - 0.5) for _ in kept] for _ in range(3)]

    def asked(angle: float) -> list[float]:
        phases = Phases(kept)
        matrix = phases.spread([[acb(one.real, one.imag) for one in row] for row in rows])
        return [float(x) for x in phases.sums(matrix, arb(angle))]

    for angle in (0.0, 0.1, -1.3, 40.0):
        truth = [sum((v * np.exp(-1j * k * angle)).real for k, v in zip(kept, row, strict=True)) for row in rows]
        assert at_precision(128, lambda a=angle: asked(a)) == pytest.approx(truth, abs=1e-9)


def test_octaves_cover_every_node_once() -> None:
    for last in (8, 9, 16, 17, 100, 4096, 5000):
        cells = octaves(last)
        assert [k for begin, end in cells for k in range(begin + 1, end + 1)] == list(range(9, last + 1))


def test_only_thin_balls_are_trusted() -> None:
    third = at_precision(128, lambda: arb(1) / 3)
    assert trusted(third) == 1 / 3
    wide = arb(1, 1e-9)
    for ball in (wide, arb("nan"), arb.pos_inf(), arb(0, 1e-30)):
        with pytest.raises(Undecided):
            trusted(ball)
    assert trusted(wide, within=1e-8) == 1
    assert trusted(arb(0, 1e-30), within=1e-29) == 0
    for within in (0.0, 1e-10):
        with pytest.raises(Undecided):
            thin(wide, within=within)
    asked = []

    def later() -> float:
        asked.append(1)
        return trusted(1 - (1 - arb(2) ** -200))

    assert settled(later) == 2.0**-200
    assert len(asked) > 1
    assert below(third) <= 1 / 3 <= above(third)
