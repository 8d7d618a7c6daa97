"""Staircase noise on a grid: exact numbers decide where the bits at hand leave a grid point open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import floor
from typing import Any

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from independent.bits import seeded
from mpmath import mp, mpf
from samplers.output_laws import real
from samplers.scripted import Fixed, then

from zcdp.samplers.staircase_noise import DiscreteStaircaseNoise, GridStaircase

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


def test_staircase_goes_on_until_the_grid_point_is_known() -> None:
    """A place in the stair that hits a grid line to 64 bits asks for more."""
    asked: list[int] = []

    def zeros(count: int) -> bytes:
        asked.append(count)
        return (b"\0" if len(asked) < 6 else b"\1") * count

    noise = GridStaircase(real(Fraction(1)), Fraction(1), real(Fraction(1, 4)), Fraction(1, 2))
    assert noise.release_one(0.25, zeros) == 0.5


@given(
    value=st.floats(-100, 100),
    stair=st.integers(0, 50),
    near=st.integers(-400, 400),
    which=st.tuples(st.booleans(), st.booleans()),
    gamma=st.sampled_from([Fraction(1, 3), Fraction(9, 10)]),
)
def test_staircase_floats_decide_as_exact_numbers_do(
    value: float, stair: int, near: int, which: tuple[bool, bool], gamma: Fraction
) -> None:
    inner, negative = which
    size, step = Fraction(7, 3), Fraction(1, 10)
    noise = GridStaircase(real(Fraction(1)), size, real(gamma), step)
    sign = -1 if negative else 1
    start, length = (stair, gamma) if inner else (stair + gamma, 1 - gamma)
    # the place in the stair that lies nearest to the edge of a grid cell
    at = Fraction(value) / step + Fraction(1, 2) + sign * (start + length / 2) * size / step
    needed = ((at // 1) - Fraction(value) / step - Fraction(1, 2)) * step / size * sign
    u = int((needed - start) / length * 2**53) + near
    if not 0 <= u < 2**53:
        return
    ends = [
        (Fraction(value) / step + Fraction(1, 2) + sign * (start + length * Fraction(v, 2**53)) * size / step) // 1
        for v in (u, u + 1)
    ]
    if ends[0] != ends[1]:
        return
    noise._stair, noise._inner = Fixed(stair, np.array([stair])), Fixed(inner, np.array([inner]))  # type: ignore[assignment]
    word = (u << 11 | negative).to_bytes(8, "little")
    # bits beyond the word in the middle of its cell: its ends may lie on the edge
    assert noise.release_one(value, then(word, rest=b"\x55")) == float(ends[0] * step)
    assert noise.release(np.array([value]), then(word, rest=b"\x55"))[0] == float(ends[0] * step)


def _noted(count: int, again: list[int]) -> bytes:
    again.append(count)
    return b"\x7f" * count


@pytest.mark.parametrize(("width", "r"), [(5, 2), (3, 3), (4, 1)])
def test_discrete_staircase_by_all_places_and_signs(width: int, r: int) -> None:
    """Given the stair and the part, places are uniform; zero has one sign."""
    noise = DiscreteStaircaseNoise(real(Fraction(1)), width, r)
    with mp.workdps(40):
        b = mp.exp(-1)
        chance = noise._inner._p() if noise._inner else arb(1)
        assert abs(mpf(chance.str(30, radius=False)) - r / (r + (width - r) * b)) < mpf(10) ** -15
    for stair, inner in product(range(3), (True, False) if r < width else (True,)):
        noise._stair = Fixed(stair, np.array([stair]))  # type: ignore[assignment]
        if noise._inner is not None:
            noise._inner = Fixed(inner, np.array([inner]))  # type: ignore[assignment]
        low, high = (0, r) if inner else (r, width)
        seen: Counter[int] = Counter()
        for place, negative in product(range(high - low), (0, 1)):
            # the middle of the words of this place; then the sign, in the highest bit of a byte
            word = ((2 * place + 1 << 64) // (2 * (high - low))).to_bytes(8, "little")
            first = [*([word] if high - low > 1 else []), bytes([128 * negative])]
            again: list[int] = []
            value = noise.draw_one(lambda n, first=first, again=again: first.pop(0) if first else _noted(n, again))
            size = stair * width + low + place
            assert bool(again) == (size == 0 and negative == 1)  # a negative zero is drawn again, and nothing else
            if size or not negative:
                assert value == (-size if negative else size)
                seen[value] += 1
        assert set(seen.values()) == {1}
        sizes = Counter(abs(v) for v in noise.draw(6000, np.random.default_rng(5).bytes).tolist())
        assert set(sizes) == {stair * width + place for place in range(low, high)}
        zero = sizes.pop(0, None)
        if zero is not None:  # it has one sign, all others have two
            assert abs(zero - 6000 / (2 * (high - low) - 1)) < 300


@pytest.mark.parametrize(("width", "r"), [(2**60, 2**59), (2**62, 1), (2**40, 2**40)])
def test_stairs_beyond_64_bits_are_exact_products(width: int, r: int) -> None:
    noise = DiscreteStaircaseNoise(real(Fraction(1)), width, r)

    class Told:
        low = None

        def draw(self, count: int, source: Source) -> Any:
            return np.resize(np.array([0, 1, 3, 2**20, 2**23]), count)

    noise._stair = Told()  # type: ignore[assignment]
    drawn = noise.draw(500, seeded(7))
    stairs = [(abs(int(x)) // width) for x in drawn if x]
    wanted = np.resize(np.array([0, 1, 3, 2**20, 2**23]), 500)[np.array([bool(x) for x in drawn])].tolist()
    assert stairs == wanted
