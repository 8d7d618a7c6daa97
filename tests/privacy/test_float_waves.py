"""Sums of exponentials in doubles: within their stated error of the same in balls, on every block and power."""

from __future__ import annotations

import numpy as np
import pytest
from flint import acb, arb

from zcdp.numeric.balls import at_precision
from zcdp.numeric.quadrature import TooManyNodes
from zcdp.privacy.loss.transform import MOST_TERMS, Exponentials
from zcdp.privacy.profile.float_contour import HEIGHT, WIDTH, Waves

STEP = 2.0**-9 * 1.37
WEIGHTS = [acb(0.5, 0.1), acb(0.25), acb(0.1, -0.05)]
RATES = [acb(0.3, 0.0002), acb(-1.7, 0.001), acb(2.2)]
TURN = np.zeros((HEIGHT, WIDTH), dtype=complex)


def truth(weights: list[acb], rates: list[acb], k: int, count: int) -> complex:
    """(sum over j of g_j e^{iy l_j})^n at y = k step."""
    y = arb(STEP) * k
    total = sum((g * (acb(0, 1) * y * rate).exp() for g, rate in zip(weights, rates, strict=True)), acb(0))
    return complex(total**count)


def made(weights: list[acb], rates: list[acb], count: int, error: str = "0") -> Waves:
    return Waves(Exponentials(weights, rates, arb(error)), count, STEP)


@pytest.mark.parametrize("count", [1, 2, 7])
def test_values_are_those_at_their_own_nodes(count: int) -> None:
    """On the first block, on one further on, on another page of rows, and back again."""

    def compare() -> None:
        waves = made(WEIGHTS, RATES, count)
        allowed = float(waves.error)
        assert allowed < 1e-11
        for first in (0, HEIGHT, 5 * HEIGHT, WIDTH, WIDTH + 3 * HEIGHT, 2 * HEIGHT):
            block = waves.at(first, TURN)
            assert block.shape == (HEIGHT, WIDTH)
            for row, column in ((0, 0), (0, 1), (1, 0), (3, 500), (HEIGHT - 1, WIDTH - 1)):
                right = truth(WEIGHTS, RATES, (first + row) * WIDTH + column, count)
                assert abs(block[row, column] - right) <= allowed + 1e-16

    at_precision(160, compare)


@pytest.mark.parametrize("count", [1, 3, 20])
def test_what_is_not_known_of_the_weights_is_charged_at_every_use(count: int) -> None:
    """Weights that are really larger by their radius, and a sum that is off by its error: of modulus up to 1."""

    def off(weights: list[acb], more: arb, error: str) -> tuple[float, float]:
        waves = made(weights, [acb(0), acb(0)], count, error)
        value = waves.at(0, TURN)[0, 0]
        right = (acb(arb(1) - arb("1e-6")) + more) ** count
        return abs(complex(right) - value), float(waves.error)

    def compare() -> None:
        half = arb("0.5") - arb("5e-7")
        vague = [acb(arb(half.mid(), arb("4e-7"))), acb(half)]
        found, allowed = off(vague, arb("4e-7"), "0")
        assert 3e-7 * count < found <= allowed
        found, allowed = off([acb(half), acb(half)], arb("4e-7"), "4e-7")
        assert 3e-7 * count < found <= allowed
        assert off([acb(half), acb(half)], arb(0), "0")[1] < 1e-12

    at_precision(160, compare)


def test_each_use_may_round_as_much_as_the_first() -> None:
    def errors() -> tuple[arb, arb]:
        return made(WEIGHTS, RATES, 1).error, made(WEIGHTS, RATES, 50).error

    once, often = at_precision(160, errors)
    assert often >= 50 * once * (1 - arb("1e-9"))
    assert once >= arb(2) ** -53 * 100


def test_sums_that_are_too_long_or_not_known_are_refused() -> None:
    def refused(weights: list[acb], rates: list[acb]) -> None:
        with pytest.raises(TooManyNodes):
            made(weights, rates, 1)

    def all_of_them() -> None:
        refused([acb(0)] * (MOST_TERMS + 1), [acb(0)] * (MOST_TERMS + 1))
        refused([acb("0.5")], [acb(0, arb("0.1", "1e-9"))])
        made([acb(0)] * MOST_TERMS, [acb(0)] * MOST_TERMS, 1)

    at_precision(160, all_of_them)
