"""Whatever sets flint's precision meanwhile: tables and trusted doubles are right, or there is `NotCertified`."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from mpmath import mp, mpf
from samplers.output_laws import real

from zcdp import DiscreteLaplace, Laplace, RandomizedResponse
from zcdp.numeric import balls
from zcdp.numeric import doubles as waves
from zcdp.numeric.balls import NotCertified, settled, thin, trusted
from zcdp.privacy.loss.decay import Decay
from zcdp.privacy.loss.discrete_gaussian_law import DiscreteNormal
from zcdp.privacy.loss.transform import Transform
from zcdp.samplers import coins as exponential_coins
from zcdp.samplers import discrete_gaussian_noise as discrete_gaussian
from zcdp.samplers.coins import Coin, Rate
from zcdp.samplers.discrete_gaussian_noise import DiscreteGaussianNoise
from zcdp.samplers.geometric import DiscreteLaplaceNoise, Geometric, LowBits
from zcdp.samplers.grid_laplace import GridLaplace
from zcdp.samplers.grid_noise import gaussian_on_grid, logistic_on_grid
from zcdp.samplers.lazy_inversion import invert, rank
from zcdp.samplers.reports import Response, SubsetSelection, UnaryReports
from zcdp.samplers.staircase_noise import GridStaircase

THIRD = real(Fraction(1, 3))
MAKERS: dict[str, Callable[[], Any]] = {
    "coin": lambda: Coin(THIRD),
    "rate": lambda: Rate(THIRD),
    "low bits": lambda: LowBits(real(Fraction(1, 3 << 20)), 15),
    "geometric": lambda: Geometric(real(Fraction(1, 3000))),
    "discrete laplace": lambda: DiscreteLaplaceNoise(real(Fraction(1, 3000))),
    "laplace": lambda: GridLaplace(THIRD, Fraction(1, 2**20)),
    "gaussian": lambda: gaussian_on_grid(Fraction(7), Fraction(1, 2**20))._coarse,
    "logistic": lambda: logistic_on_grid(THIRD, Fraction(1, 2**20))._coarse,
    "discrete gaussian": lambda: DiscreteGaussianNoise(Fraction(7)),
    "staircase": lambda: GridStaircase(THIRD, Fraction(1), lambda: 1 / (1 + (arb(1) / 6).exp()), Fraction(1, 64)),
    "response": lambda: Response(THIRD, 7),
    "subset": lambda: SubsetSelection(THIRD, 7, 3),
    "unary": lambda: UnaryReports(lambda: arb(2) / 3, THIRD),
}
DOUBLES: dict[str, Callable[[Any], Any]] = {
    "coin": lambda coin: (coin._low, coin._high),
    "rate": lambda rate: rate.halvings,
    "low bits": lambda low: (low._near, low._sure, low._sure_one),
    "geometric": lambda noise: (noise.low._near, noise.low.length, noise.high._list),
    "discrete laplace": lambda noise: (noise.low._near, noise.low.length, noise.high._list),
    "laplace": lambda noise: (noise._grid.refine, noise._signed.high._list),
    "gaussian": lambda bins: (bins._place, bins._sures, bins._table._list),
    "logistic": lambda bins: (bins._place, bins._sures, bins._table._list),
    "discrete gaussian": lambda noise: noise._table._list,
    "staircase": lambda noise: noise._near,
    "response": lambda response: (response._keep._low, response._keep._high),
    "subset": lambda subsets: (subsets._held._low, subsets._held._high),
    "unary": lambda reports: (reports._true._low, reports._bytes._list),
}


class Disturbed:
    """Stands for flint's context, as if another thread set the precision to `bits` some times, `after` others."""

    def __init__(self, times: float, bits: int, after: int) -> None:
        self.__dict__.update(times=times, bits=bits, after=after)

    def __getattr__(self, name: str) -> Any:
        return getattr(ctx, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "prec" and self.after > 0:
            self.__dict__["after"] -= 1
        elif name == "prec" and self.times > 0:
            self.__dict__["times"] -= 1
            value = self.bits
        setattr(ctx, name, value)


def forget() -> None:
    for table in (exponential_coins._edges, exponential_coins._levels, discrete_gaussian._tail_sums):
        table.cache_clear()


@contextmanager
def disturbed(times: float, bits: int, monkeypatch: pytest.MonkeyPatch, after: int = 0) -> Iterator[None]:
    forget()
    before = ctx.prec
    with monkeypatch.context() as patch:
        patch.setattr(balls, "ctx", Disturbed(times, bits, after))
        yield
    ctx.prec = before
    forget()


@pytest.mark.parametrize("bits", [2, 40])
@pytest.mark.parametrize(("after", "times"), [(0, 1), (2, 1), (4, 1), (6, 1), (8, 1), (0, 6), (0, float("inf"))])
@pytest.mark.parametrize("name", MAKERS)
def test_a_sampler_made_at_a_low_precision_is_right_or_not_made(
    name: str, times: float, after: int, bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each evaluation is met at its beginning; seven precisions are tried, so that six times leave the last one."""
    truth = DOUBLES[name](MAKERS[name]())
    with disturbed(times, bits, monkeypatch, after):
        try:
            made = MAKERS[name]()
        except NotCertified:
            assert times > 6
            return
    found = DOUBLES[name](made)
    assert times < 7
    if name in ("rate", "staircase"):
        assert np.allclose(found, truth, rtol=2.0**-50, atol=0)
    else:
        assert found == truth


@pytest.mark.parametrize("times", [0, 1, 2, float("inf")])
def test_levels_of_coins_are_right_or_not_made(times: float, monkeypatch: pytest.MonkeyPatch) -> None:
    with disturbed(times, 4, monkeypatch):
        try:
            edges = exponential_coins._edges()
        except NotCertified:
            assert times == float("inf")
            return
    assert times < 3
    with mp.workdps(40):
        for n in (*range(1, 2000), 32768, 40000, 65535, 65536):
            assert abs(edges[n] - (16 - mp.log(n, 2))) < mpf(2) ** -40


def test_a_hostile_thread_leaves_the_table_of_coins_right() -> None:
    """As a user would meet it: a thread that sets the precision while the table is first filled."""
    stop, before, interval = threading.Event(), ctx.prec, sys.getswitchinterval()

    def hostile() -> None:
        while not stop.is_set():
            ctx.prec = 3

    thread = threading.Thread(target=hostile)
    wrong = 0
    try:
        sys.setswitchinterval(1e-6)
        thread.start()
        for _ in range(4):
            forget()
            try:
                edges = exponential_coins._edges()
            except NotCertified:
                continue
            wrong += int(np.abs(edges[1:] - (16 - np.log2(np.arange(1, 65537)))).max() > 2.0**-40)
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(interval)
        ctx.prec = before
        forget()
    assert not wrong


def test_draws_at_a_low_precision_end_in_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lazy bits that are never enough do not run for ever."""
    with disturbed(float("inf"), 8, monkeypatch):
        with pytest.raises(NotCertified, match="not settled"):
            rank(lambda: [arb(1) / 3], lambda count: b"\x55" * count)
        with pytest.raises(NotCertified, match="not settled"):
            invert(lambda k: arb(1) / 3 if k < 1 else arb(1), lambda count: b"\x55" * count, least=0, most=1)


@pytest.mark.parametrize("table", [waves._circle, waves._exponentials])
def test_tables_of_waves_are_right_or_undecided(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = table().copy()
    table.cache_clear()
    with disturbed(1, 20, monkeypatch), pytest.raises(balls.Undecided):
        table()
    assert np.array_equal(table(), truth)


def test_only_thin_balls_become_doubles() -> None:
    third = arb(1) / 3
    assert trusted(third * 0 + 2) == 2
    with pytest.raises(balls.Undecided):
        thin(third)  # 53 bits are not 60
    assert thin(third, within=2.0**-50) is third
    for bad in (arb("nan"), arb("inf"), arb(1, 1)):
        with pytest.raises(balls.Undecided):
            trusted(bad, within=0.5)
    with pytest.raises(NotCertified, match="flint's precision"):
        settled(lambda: trusted(arb(1, 2.0**-40)))
    assert settled(lambda: trusted(arb(1) / 3)) == 1 / 3


@pytest.mark.parametrize("bits", [2, 10, 53])
@pytest.mark.parametrize("number", [Fraction(2**80 + 1, 2), Fraction(-(2**80) - 1, 2), Fraction(5), Fraction(0)])
def test_floors_are_exact_whatever_the_precision(number: Fraction, bits: int) -> None:
    ball = balls.at_precision(200, lambda: balls.lift(number))
    low, high = balls.at_precision(bits, lambda: (balls.floor(ball), balls.ceiling(ball)))
    assert low <= number <= high
    assert balls.at_precision(200, lambda: balls.floor(ball)) == number // 1


def test_mechanisms_give_a_documented_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with disturbed(float("inf"), 2, monkeypatch):
        for run in (lambda: Laplace(epsilon=1).release(3.0), lambda: RandomizedResponse(epsilon=1, k=3).release([1])):
            with pytest.raises(NotCertified):
                run()
    assert isinstance(Laplace(epsilon=1).release(3.0), float)


@pytest.mark.parametrize(
    "mechanism", [DiscreteLaplace(epsilon="0.3", sensitivity=30), RandomizedResponse(epsilon="0.3", k=3)], ids=str
)
def test_distances_of_waves_are_known_to_a_double_or_undecided(mechanism: Any) -> None:
    """What the decay of a transform trusts: at few bits there is no number, at many the nearest one."""

    def shares() -> tuple[Any, Any]:
        [bound] = Decay(Transform(((mechanism.pair().upper, 1),)).tilt(arb(1)).shares, arb(1)).bounds
        distances = [turns for _, turns in bound.waves]  # type: ignore[attr-defined]
        return getattr(bound, "turns", distances[0]), distances

    turns, distances = balls.at_precision(200, shares)
    gap = mpf("0.3") * 2 / 30 if isinstance(mechanism, DiscreteLaplace) else mpf("0.3")
    assert abs(turns[0] / (gap / (2 * mp.pi)) - 1) < 2.0**-50
    assert abs(distances[0][0] / (gap / (2 * mp.pi)) - 1) < 2.0**-50
    for bits in (20, 40, 55):
        with pytest.raises(balls.Undecided):
            balls.at_precision(bits, shares)
    normal = DiscreteNormal(Fraction(7), 2)
    assert abs(balls.at_precision(200, lambda: normal.share(1, arb(1)).turns) * 7 * mp.pi - 1) < 2.0**-50
    with pytest.raises(balls.Undecided):
        balls.at_precision(40, lambda: normal.share(1, arb(1)))
