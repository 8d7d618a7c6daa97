"""Staircase noise on a grid: exact numbers decide where the bits at hand leave a grid point open."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import floor
from typing import Any

import numpy as np
import pytest
from samplers.laws import real

from zcdp.samplers.staircase_noise import GridStaircase

Source = Callable[[int], bytes]


class Stage:
    """A stage that gives what it is told."""

    low = None

    def __init__(self, one: Any) -> None:
        self.one = one

    def draw_one(self, source: Source) -> Any:
        return self.one

    flip = draw_one

    def draw(self, count: int, source: Source) -> Any:
        return np.full(count, self.one)

    flips = draw


def told(*words: int) -> Source:
    """Words of 64 bits, and nothing after them."""
    answers = iter(words)

    def source(count: int) -> bytes:
        assert count == 8
        return next(answers).to_bytes(8, "little")

    return source


GAMMAS = (Fraction(1, 3), Fraction(3, 4))
SHAPES = [(Fraction(1), Fraction(1, 4)), (Fraction(7, 3), Fraction(1, 10)), (Fraction(5), Fraction(1))]


@pytest.mark.parametrize(("size", "step"), SHAPES, ids=str)
@pytest.mark.parametrize("gamma", GAMMAS, ids=str)
@pytest.mark.parametrize("inner", [True, False])
@pytest.mark.parametrize("negative", [0, 1])
def test_a_place_whose_cell_holds_an_edge_of_the_grid_gets_more_bits(
    size: Fraction, step: Fraction, gamma: Fraction, inner: bool, negative: int
) -> None:
    """53 bits of the place agree with an edge: the next 64 say on which side it is, for values of every kind."""
    noise, sign = GridStaircase(real(Fraction(1)), size, real(gamma), step), -1 if negative else 1
    noise._inner = Stage(inner)  # type: ignore[assignment]
    tested = 0
    for value, stair in product((0.0, 0.3, -41.7, 1e6 / 7), (0, 3, 40)):
        noise._stair = Stage(stair)  # type: ignore[assignment]
        start, length = (stair, gamma) if inner else (stair + gamma, 1 - gamma)
        offset = Fraction(value) / step + Fraction(1, 2)

        def at(place: Fraction, offset: Fraction = offset, start: Any = start, length: Fraction = length) -> Fraction:
            return offset + sign * (start + length * place) * size / step

        edge = floor(max(at(Fraction(0)), at(Fraction(1))))
        place = ((edge - offset) * step / size * sign - start) / length
        if not 0 < place < 1 or (place * 2**60).denominator == 1:
            continue
        tested += 1
        u, inside = divmod(place * 2**53, 1)
        for nudge in (-(2**40), 2**40):
            more = int(inside * 2**64) + nudge
            if not 0 <= more < 2**64:
                continue
            wanted = float(floor(at((u + Fraction(2 * more + 1, 2**65)) / 2**53)) * step)
            words = int(u) << 11 | negative, more
            assert noise.release(np.array([value]), told(*words)).tolist() == [wanted]
            assert noise.release_one(value, told(*words)) == wanted
            assert noise.release_one(Fraction(value), told(*words)) == wanted
    assert tested > 0 or (size / step).denominator == 1


@pytest.mark.parametrize("inner", [True, False])
@pytest.mark.parametrize("negative", [0, 1])
@pytest.mark.parametrize("stair", [0, 2, 2**30])
def test_noise_that_floats_do_not_place_is_placed_by_exact_numbers(stair: int, inner: bool, negative: int) -> None:
    """Up to 2^53 grid steps out the place has more digits than a float, and all of them count."""
    gamma, size = Fraction(1, 3), Fraction(2**25 + 1, 3)
    noise = GridStaircase(real(Fraction(1)), size, real(gamma), Fraction(1))
    noise._inner, noise._stair = Stage(inner), Stage(stair)  # type: ignore[assignment]
    u = 2**52 + 987654321
    start, length = (stair, gamma) if inner else (stair + gamma, 1 - gamma)
    for value in (0.0, -0.25, 12345.625):
        sums = {
            floor(Fraction(value) + Fraction(1, 2) + (-1 if negative else 1) * (start + length * place) * size)
            for place in (Fraction(u, 2**53), Fraction(u + 1, 2**53))
        }
        words = u << 11 | negative, 2**63, 2**63, 2**63
        if len(sums) > 1:
            continue
        [point] = sums
        assert noise.release(np.array([value]), told(*words)).tolist() == [float(point)]
        assert noise.release_one(value, told(*words)) == float(point)
        assert noise.release_one(Fraction(value), told(*words)) == float(point)
