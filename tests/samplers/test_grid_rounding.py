"""Grid points: where values lie, what is told of them, and the floats that stand for the points."""

from __future__ import annotations

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
from samplers.output_laws import real

from zcdp import Gaussian, Laplace, Logistic
from zcdp.samplers.grid_laplace import GridLaplace
from zcdp.samplers.grid_noise import gaussian_on_grid, logistic_on_grid
from zcdp.samplers.grid_rounding import MOST_STEPS, Grid
from zcdp.samplers.staircase_noise import GridStaircase

STEPS = [
    Fraction(one) for one in ("1", "1/128", "8", "1/10", "3/10", "1/100", "7/3", "1000", "1/3", "2/7", "1000000007")
]
REFINES = (1, 5, 17, 40)


def value_of(grid: Grid, fine: int, rest: Fraction) -> Fraction:
    """In steps."""
    return (fine + rest) / (1 << grid.refine)


@pytest.mark.parametrize(
    "step",
    [*STEPS, Fraction(2**60 + 1, 3), Fraction(3, 2**60 + 1), Fraction(2**54 - 1), Fraction(7, 10**17 + 1)],
    ids=str,
)
def test_the_float_of_a_point_is_the_nearest_one(step: Fraction) -> None:
    """Rounded once, not twice: in long arrays and short ones, small points and such as no float holds."""
    grid = Grid(step, refine=3)
    sizes = [[*range(-3, 60), 12345], [2**k + d for k in (20, 40, 52, 53, 60) for d in (-1, 1, 3)], [-(2**61) + 1]]
    sizes += [
        [10**15 + n for n in range(40)],
        [-(10**17) - 3 * n for n in range(40)],
        [2**53 // 3 + n for n in range(9)],
    ]
    for points in sizes:
        wanted = [float(point * step) for point in points]
        assert grid.to_floats(np.array(points)).tolist() == wanted
        assert [grid.point(point) for point in points] == wanted
    assert grid.to_floats(np.array([], dtype=np.int64)).tolist() == []


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_fine_step_rounds_to_the_nearest_point_and_halves_up(step: Fraction) -> None:
    for refine, point in product(REFINES, (-5, -1, 0, 1, 1000)):
        grid, half, at = Grid(step, refine=refine), 1 << (refine - 1), point << refine
        for fine in (at - half - 1, at - half, at - 1, at, at + 1, at + half - 1, at + half):
            assert grid.round_one(fine) == float(floor(Fraction(fine, 1 << refine) + Fraction(1, 2)) * step)


VALUES: dict[str, Any] = {
    "floats": np.array([0.1, -0.3, 0.5, -0.5, 41.3, -1e6 / 3, 123456.789, 2.0**-40, -(2.0**-70), 0.0, 1e12 / 7]),
    "far": np.array([2.0**52 + 0.5, -(2.0**51) - 0.25, 1e15 / 3, -1e16, 0.125]),
    "floats of 32 bits": np.array([0.1, -0.3, 2.5, 1e6 / 3], dtype=np.float32),
    "integers": np.array([0, 1, -1, 7, -1000, 2**40 + 1]),
    "bytes": np.array([0, 1, 200, 255], dtype=np.uint8),
    "long integers": np.array([2**53 + 1, -(2**53) - 5, 5]),
    "one sign": np.array([-0.7, -41.1, -3.0]),
}


@pytest.mark.parametrize("refine", REFINES)
@pytest.mark.parametrize("name", VALUES)
def test_what_is_told_of_a_value_and_what_is_added_to_its_point_are_all_of_it(name: str, refine: int) -> None:
    """Fine steps and what is left of them, of each value or of it less whole steps, which are then added again."""
    for step in STEPS:
        check_all_of_it(Grid(step, refine=refine), VALUES[name])


def check_all_of_it(grid: Grid, values: Any) -> None:
    step = grid.step
    exact = [Fraction(*one.as_integer_ratio()) / step for one in values.tolist()]
    told: list[Fraction] = []

    def points(fine: Any, rest: Callable[[int], Fraction]) -> Any:
        assert all(0 <= rest(n) < 1 for n in range(fine.size))
        told.extend(value_of(grid, int(fine[n]), rest(n)) for n in range(fine.size))
        return np.array([7] * fine.size)

    released = grid.release(grid.check(values), points)
    for value, part, found in zip(exact, told, released.tolist(), strict=True):
        whole = value - part
        assert whole.denominator == 1
        assert found == float((whole + 7) * step)
    for value, one in zip(exact, values.tolist(), strict=True):
        for asked in (one, Fraction(*one.as_integer_ratio())):
            fine, left = grid.locate_one(asked)
            assert 0 <= left() < 1
            assert value_of(grid, fine, left()) == value


@pytest.mark.parametrize("dtype", ["f8", "i8", "O"])
@pytest.mark.parametrize("sign", [-1, 1])
def test_values_from_2_to_61_steps_on_are_refused_on_either_side(dtype: str, sign: int) -> None:
    grid = Grid(Fraction(1), refine=1)
    for beyond in (MOST_STEPS, MOST_STEPS + 2**20):
        with pytest.raises(ValueError, match=r"within 2\^61 steps"):
            grid.check(np.array([0, sign * beyond], dtype=dtype))
    last = MOST_STEPS - 2**9
    checked = grid.check(np.array([0, sign * last], dtype=dtype))
    assert [int(one) for one in checked.tolist()] == [0, sign * last]


@pytest.mark.parametrize("step", [Fraction(8), Fraction(2**30), Fraction(2) ** 500], ids=["8", "2^30", "2^500"])
def test_the_least_floats_keep_their_side_of_zero(step: Fraction) -> None:
    """v/step is below every float: the fine step is -1 for a negative value, and 0 for a positive one."""
    grid = Grid(step, refine=20)
    values = np.array([5e-324, -5e-324, 2.0**-1022, -(2.0**-1022), -(2.0**-1060)])
    located = grid.locate(grid.check(values))
    for n, value in enumerate(values.tolist()):
        steps = Fraction(value) / step * 2**20
        fine = (int(located.whole[n]) << 20) + int(located.fine[n])
        assert fine == floor(steps)
        assert located.rest(n) == steps - floor(steps)


@given(
    values=st.lists(
        st.one_of(
            st.floats(-1e9, 1e9),
            st.floats(-1e-3, 1e-3),
            st.floats(-1e16, 1e16).map(round).map(float),
            st.integers(-(10**7), 10**7).map(lambda n: n / 10),  # next to the points of a decimal grid
            st.sampled_from([4194303.9, 4194304.0, 5e-324, -5e-324, 2.0**-1022, -(2.0**52) - 0.5]),
        ),
        min_size=1,
        max_size=5,
    ),
    step=st.sampled_from(
        [
            *(Fraction(1, 2**20), Fraction(1, 2**30), Fraction(8), Fraction(1, 100), Fraction(7, 3), Fraction(3, 10)),
            *(
                Fraction(1, 10),
                Fraction(34359738337, 3),
                Fraction(5, 34359738337),
                Fraction(1, 10**11),
                Fraction(10**11),
            ),
        ]
    ),
    refine=st.sampled_from([1, 2, 17, 30, 40, 60]),
)
def test_values_are_located_exactly(values: list[float], step: Fraction, refine: int) -> None:
    grid = Grid(step, refine=refine)
    values = [value for value in values if abs(Fraction(value) / step) < 2**61]
    located = grid.locate(grid.check(np.array(values)))
    for n, value in enumerate(values):
        rest = located.rest(n)
        fine, one = grid.locate_one(value)
        assert 0 <= rest < 1
        assert 0 <= one() < 1
        assert (int(located.whole[n]) << refine) + int(located.fine[n]) == fine
        assert step * (fine + rest) / (1 << refine) == Fraction(value)
        assert rest == one()


@pytest.mark.parametrize("step", [Fraction(8), Fraction(1 << 20), Fraction(7), Fraction(1 << 12, 3)], ids=str)
@pytest.mark.parametrize("dtype", ["int64", "uint64", "object"])
def test_integers_that_no_float_holds_are_rounded_once(step: Fraction, dtype: str) -> None:
    """Noise of 2^-60 steps: what is released is the grid point nearest to the integer, not to a float near it."""
    values = [
        n
        for start in (2**53, 2**54, 2**56, 3 * 2**59)
        for n in range(start - 9, start + 10)
        if (2 * n / step).denominator != 1 or (2 * n / step) % 2 == 0  # halves go either way
    ]
    values += [-n for n in values] if dtype != "uint64" else [2**63 + n for n in (3, 5, 11)] if step > 8 else []
    wanted = [float(floor(n / step + Fraction(1, 2)) * step) for n in values]
    array = np.array(values, dtype=dtype)
    scale = step / 2**60
    for noise in (
        GridLaplace(real(1 / scale), step),
        gaussian_on_grid(scale**2, step),
        logistic_on_grid(real(1 / scale), step),
        GridStaircase(real(Fraction(1)), scale, lambda: arb(1) / 2, step),
    ):
        assert noise.release(array, seeded(1)).tolist() == wanted
        if dtype == "object":
            assert [noise.release_one(Fraction(n), seeded(1)) for n in values] == wanted


@pytest.mark.parametrize("step", [Fraction(2**34 + 1), Fraction(2**35 - 1), Fraction(2**34 + 7, 3)], ids=str)
@pytest.mark.parametrize("refine", [1, 30, 60])
def test_floats_far_beyond_2_to_53_are_located_to_the_last_bit(step: Fraction, refine: int) -> None:
    """As many as 104 bits of a quotient are asked for: where a float is 2^43 times an integer, of 2^60 parts."""
    most = float(step * 2**61)
    values = np.array([most * part for part in (0.3, 0.7, 0.999, -0.61, -0.999)] + [2.0**70, 2.0**53 + 2, 1e20])
    located = Grid(step, refine=refine).locate(values)
    for n, value in enumerate(values.tolist()):
        steps = Fraction(value) / step
        whole, fine = floor(steps), floor((steps - floor(steps)) * 2**refine)
        assert (int(located.whole[n]), int(located.fine[n])) == (whole, fine)
        assert located.rest(n) == (steps - whole) * 2**refine - fine


@pytest.mark.parametrize("grid", ["1", "8", "1/10", "1000000007", "30000000000", "1/3000000007"])
def test_values_within_2_to_61_steps_are_released_and_no_others(grid: str) -> None:
    step, noise = Fraction(grid), Laplace(scale=Fraction(grid), sensitivity=Fraction(grid))
    inside = float(step * 2**61) * (1 - 2.0**-50)
    for value in (inside, -inside):
        assert abs(noise.release(np.array([value]), grid=step)[0] / value - 1) < 1e-14
    for beyond in (2 * inside, -2 * inside, 8 * inside):
        with pytest.raises(ValueError, match=r"within 2\^61 steps"):
            noise.release(np.array([beyond]), grid=step)


@pytest.mark.parametrize("power", [44, 46, 48, 50, 60])
def test_values_just_below_a_power_of_two_do_not_wrap_around(power: int) -> None:
    """Values and parts of a grid step together fill 63 bits at one of these powers; noise is a few steps."""
    value = 2.0**power * (1 - 2.0**-53)
    for one in (value, value / 2, -value):
        for noise in (Laplace(scale=1), Gaussian(sigma=1), Logistic(scale=1)):
            released = noise.release(np.full(40, one), grid=1)
            assert np.abs(released - one).max() <= 60 + 2.0 ** (power - 50)
