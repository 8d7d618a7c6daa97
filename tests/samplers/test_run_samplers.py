"""What release and sample accept and give back: shapes, types, byte orders, overflow; each value has its own noise."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import exp, sqrt
from typing import Any

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from independent.bits import seeded, untouchable
from samplers.output_laws import real

from zcdp import (
    RAPPOR,
    BinaryRandomizedResponse,
    Channel,
    DiscreteGaussian,
    DiscreteLaplace,
    DiscreteStaircase,
    ExponentialMechanism,
    Gaussian,
    HadamardResponse,
    Laplace,
    LinearHashing,
    Logistic,
    MemoizedRAPPOR,
    OptimizedUnaryEncoding,
    PermuteAndFlip,
    RandomizedResponse,
    Staircase,
    SubsetSelection,
)
from zcdp.numeric.balls import lift
from zcdp.samplers import source
from zcdp.samplers.grid_laplace import GridLaplace
from zcdp.samplers.grid_noise import gaussian_on_grid, logistic_on_grid
from zcdp.samplers.lazy_inversion import Law, LazyTable
from zcdp.samplers.lazy_laplace import AboveThreshold, LaplaceMax
from zcdp.samplers.run_samplers import (
    add,
    each,
    each_in_its_type,
    fill,
    noisy_integers,
    noisy_reals,
    sample_integers,
    sample_reals,
)
from zcdp.samplers.selection_draws import ExponentialSelection
from zcdp.samplers.selection_draws import PermuteAndFlip as FlippedScores
from zcdp.samplers.source import BLOCK, blocks


class Counting:
    """Noise 1, 2, 3, ...: no draw is used twice, and none is left out."""

    def __init__(self) -> None:
        self.given: list[Any] = []
        self.drawn = 0

    def draw(self, count: int) -> Any:
        self.drawn += count
        return np.arange(self.drawn - count + 1, self.drawn + 1)

    def draw_one(self) -> int:
        self.drawn += 1
        return self.drawn

    def release(self, values: Any) -> Any:
        assert values.ndim == 1
        assert values.dtype.isnative
        self.given.extend(values.tolist())
        return values.astype(np.float64) + self.draw(values.size)

    def release_one(self, value: Any) -> float:
        self.given.append(value)
        return float(value) + self.draw_one()


EXACT: list[tuple[Any, Any]] = [
    (Fraction(1, 3), Fraction(1, 3)),
    (Decimal("0.1"), Fraction(1, 10)),
    ("1/7", Fraction(1, 7)),
    ("0.1", Fraction(1, 10)),
    (2**60 + 1, 2**60 + 1),
    (0.1, 0.1),
    (-2.5, -2.5),
]


@pytest.mark.parametrize(("value", "exact"), EXACT, ids=repr)
def test_a_number_is_released_at_its_exact_value(value: Any, exact: Any) -> None:
    noise = Counting()
    assert noisy_reals(lambda: noise, value) == float(exact) + 1
    assert noise.given == [exact]
    assert noise.drawn == 1


@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<f4", "<i8", ">i4", "u1", "<u8"])
@pytest.mark.parametrize("shape", [(12,), (3, 4), (2, 3, 2), (12, 0), ()])
def test_reals_are_told_in_their_order_and_given_back_in_their_shape(dtype: str, shape: tuple[int, ...]) -> None:
    values = np.arange(100, 100 + int(np.prod(shape)), dtype=dtype).reshape(shape)
    for array in (values, values.T):
        noise = Counting()
        out = noisy_reals(lambda noise=noise: noise, array)
        flat = array.ravel().tolist()
        assert noise.given == flat
        assert out.shape == array.shape
        assert out.ravel().tolist() == [value + n for n, value in enumerate(flat, 1)]


@pytest.mark.parametrize("dtype", ["<i8", ">i4", "<i2", "<u8"])
@pytest.mark.parametrize("size", [0, 1, 7, BLOCK, 2 * BLOCK + 3])
def test_each_integer_gets_the_next_draw(dtype: str, size: int) -> None:
    values, noise = np.zeros(size, dtype=dtype), Counting()
    if np.iinfo(dtype).max < size:
        with pytest.raises(OverflowError, match="does not fit in int16"):
            noisy_integers(lambda: noise, values, "raise")
        out = noisy_integers(Counting, values, "saturate")
        assert out.tolist() == [min(n, 2**15 - 1) for n in range(1, size + 1)]
        return
    out = noisy_integers(lambda: noise, values, "raise")
    assert out.dtype == dtype
    assert out.tolist() == list(range(1, size + 1))
    assert noise.drawn == size
    assert not values.any()


def test_one_integer_of_any_size_gets_one_draw() -> None:
    noise = Counting()
    assert [noisy_integers(lambda: noise, value, "raise") for value in (0, -5, 2**70)] == [1, -3, 2**70 + 3]
    assert noisy_integers(lambda: noise, np.array([[-1, -2], [-3, -4]]).T, "raise").tolist() == [[3, 2], [4, 3]]
    assert noisy_integers(lambda: noise, [10, 20], "raise").tolist() == [18, 29]
    assert noise.drawn == 9


@pytest.mark.parametrize("size", [0, 1, 5, (2, 3), (3, 0), (), (2, 1, 2), BLOCK + 5])
def test_samples_are_draws_of_that_size_and_no_more(size: Any) -> None:
    shape = size if isinstance(size, tuple) else (size,)
    count = int(np.prod(shape))
    noise, real = Counting(), Counting()
    drawn, released = sample_integers(noise, size), sample_reals(real, size)
    for found in (drawn, released):
        assert found.shape == shape
        assert found.ravel().tolist() == list(range(1, count + 1))
    assert real.given == [0.0] * count
    assert noise.drawn == real.drawn == count


@pytest.mark.parametrize("size", [-1, (2, -1), (-2, -3), (-1, 0)])
def test_no_length_is_negative(size: Any) -> None:
    for sample in (sample_integers, sample_reals):
        with pytest.raises(ValueError, match="must not be negative"):
            sample(Counting(), size)


def test_one_sample_is_a_number() -> None:
    assert sample_integers(Counting(), None) == 1
    assert sample_reals(Counting(), None) == 1.0
    for bad in (1.5, "3", (2, 1.0), [2]):
        with pytest.raises(TypeError, match="whole number"):
            sample_integers(Counting(), bad)


@pytest.mark.parametrize("give", [each, each_in_its_type])
@pytest.mark.parametrize("k", [2, 10, 128])
def test_values_of_0_to_k_less_1_are_answered_and_no_others(give: Any, k: int) -> None:
    one, many = (lambda value: value + 1000), (lambda values: values[::-1].copy())
    for value in (0, 1, k - 1):
        assert give(one, many, value, k) == value + 1000
        assert give(one, many, [value, 0], k).tolist() == [0, value]
        assert give(one, many, np.int8(value), k) == value
    for bad in (-1, k, k + 1):
        for values in (bad, [0, bad], [bad, 0], [[1, 0], [0, bad]], np.array([bad, 1]), np.int64(bad)):
            with pytest.raises(ValueError, match=rf"values must lie in 0 .. {k - 1}"):
                give(one, many, values, k)
    for kind in (True, 1.0, "1", None):
        with pytest.raises(TypeError, match="must be integers"):
            give(one, many, kind, k)


def test_rows_of_responses_follow_the_shape_of_the_values() -> None:
    rows = each(list, lambda values: np.stack([values, values + 1, values + 2], axis=1), np.arange(6).reshape(2, 3), 9)
    assert rows.shape == (2, 3, 3)
    assert rows[1, 2].tolist() == [5, 6, 7]
    assert each(list, lambda values: np.stack([values, values], axis=1), np.array(4), 9).tolist() == [4, 4]


@pytest.mark.parametrize("dtype", [">i2", "<u4", "i1", ">u8"])
def test_responses_are_in_the_type_and_byte_order_of_the_values(dtype: str) -> None:
    values = np.array([[1, 2], [3, 4]], dtype=dtype)
    found = each_in_its_type(int, lambda flat: flat.astype(np.int64) * 2, values, 9)
    assert found.dtype == values.dtype
    assert found.tolist() == [[2, 4], [6, 8]]


@given(
    values=st.lists(st.integers(-(2**63), 2**64 - 1), min_size=1, max_size=4),
    noise=st.lists(st.integers(-(2**62), 2**62), min_size=4, max_size=4),
    dtype=st.sampled_from(["i1", "u1", "i2", "u4", "i8", "u8"]),
)
def test_sums_saturate_or_raise_and_never_wrap(values: list[int], noise: list[int], dtype: str) -> None:
    limits = np.iinfo(dtype)
    held = [min(max(v, limits.min), limits.max) for v in values]
    array, drawn = np.array(held, dtype=dtype), np.array(noise[: len(held)], dtype=np.int64)
    sums = [v + x for v, x in zip(held, drawn.tolist(), strict=True)]
    clipped = [min(max(s, limits.min), limits.max) for s in sums]
    assert add(array, drawn, "saturate").tolist() == clipped
    if clipped == sums:
        assert add(array, drawn, "raise").tolist() == sums
    else:
        with pytest.raises(OverflowError, match="does not fit"):
            add(array, drawn, "raise")


# What `release` and `sample` accept and give back: shapes, types, byte orders, overflow, errors before any draw.


LARGE = 10**6  # an epsilon at which noise is never seen


INTEGERS = [np.dtype(order + kind) for order in "<>" for kind in ("i2", "i4", "i8", "u2", "u4", "u8")] + [
    np.dtype("i1"),
    np.dtype("u1"),
]
SURE = {
    "discrete laplace": lambda values: DiscreteLaplace(epsilon=LARGE).release(values),
    "response": lambda values: RandomizedResponse(epsilon=LARGE, k=100).release(values),
}


@pytest.mark.parametrize("release", SURE.values(), ids=SURE.keys())
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_keep_shape_type_and_values(release: Any, dtype: np.dtype[Any]) -> None:
    values = np.arange(24, dtype=dtype).reshape(2, 3, 4)
    for array in (values, values[:, ::-1, ::2], values.T, np.asfortranarray(values), values[:0], values[0, 0, 0]):
        kept = array.copy()
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
        out = release(array)
        assert out.dtype == array.dtype
        assert out.shape == array.shape
        assert np.array_equal(out, kept)
        assert np.array_equal(array, kept)
        assert out is not array


def test_plain_numbers_and_lists() -> None:
    noise = DiscreteLaplace(epsilon=LARGE)
    assert type(noise.release(5)) is int
    assert noise.release(10**30) == 10**30
    assert noise.release([1, 2]).tolist() == [1, 2]
    assert noise.release([]).shape == (0,)
    assert isinstance(noise.release(np.int8(7)), np.int8)
    assert noise.release(np.array(7)).shape == ()
    response = RandomizedResponse(epsilon=LARGE, k=10)
    assert type(response.release(5)) is int
    assert response.release([]).shape == (0,)


def test_reals_keep_their_shape_and_land_on_the_grid() -> None:
    mechanism = Laplace(scale=Fraction(1, 2**40), sensitivity="1e-6")
    for value in (41.25, 41, "165/4", Fraction(165, 4), Decimal("41.25"), np.float32(41.25)):
        assert abs(mechanism.release(value, grid="1/4") - 41.25) <= 0.25
    for dtype in ("<f8", ">f8", "<f4", "<f2", "<i4", ">i8", "u1"):
        array = np.arange(12, dtype=dtype).reshape(3, 4)[:, ::2]
        array.flags.writeable = False
        out = mechanism.release(array, grid=1)
        assert out.dtype == np.float64
        assert np.array_equal(out, array)
    assert mechanism.release([]).shape == (0,)
    assert mechanism.release(np.zeros((0, 3))).shape == (0, 3)
    noisy = Laplace(scale=2).release(np.linspace(-5, 5, 1000), grid="0.01")
    assert np.abs(noisy * 100 - np.rint(noisy * 100)).max() < 1e-9
    steps = Laplace(scale=2).sample(1000) * 2**19
    assert np.array_equal(steps, np.rint(steps))


@pytest.mark.parametrize("value", [0.5, -0.5, 1.5, 0.25, 5e-324, -5e-324, 2.0**52 + 0.5, -1e15, 0.1])
def test_rounding_is_to_the_nearest_point_halves_up(value: float) -> None:
    """With noise far below the grid, what is released is the rounded value, on either side of a half."""
    tiny = Laplace(scale="1e-30", sensitivity="1e-24")
    wanted = {float(np.floor(value + 0.5))}
    if Fraction(value) % 1 == Fraction(1, 2):
        wanted.add(float(np.floor(value)))
    assert {tiny.release(value, grid=1) for _ in range(40)} == wanted
    assert set(tiny.release(np.full(200, value), grid=1).tolist()) == wanted


def test_sizes() -> None:
    for mechanism, kind in ((Laplace(scale=1), float), (DiscreteLaplace(scale=1), int)):
        assert type(mechanism.sample()) is kind
        assert mechanism.sample(0).shape == (0,)
        assert mechanism.sample((2, 3)).shape == (2, 3)
        with pytest.raises(ValueError, match=r"size \(-1\) must not be negative"):
            mechanism.sample(-1)


def test_overflow_raises_or_saturates_and_never_wraps() -> None:
    noise = DiscreteLaplace(scale=1000)
    for dtype in ("i1", "u1", "i2", "u4", "i8", "u8", ">i4"):
        limits = np.iinfo(dtype)
        for edge in (limits.min, limits.max):
            values = np.full(200, edge, dtype=dtype)
            with pytest.raises(OverflowError, match="does not fit in"):
                noise.release(values)
            out = noise.release(values, overflow="saturate").astype(object)
            assert out.min() >= limits.min
            assert out.max() <= limits.max
            assert (out == edge).mean() > 0.2
            if np.dtype(dtype).itemsize > 2:
                assert abs(out - edge).max() < 10**5


@pytest.mark.parametrize("scale", [2**61, 2**70, 10**30])
def test_noise_beyond_64_bits(scale: int) -> None:
    noise = DiscreteLaplace(scale=scale, sensitivity=scale)
    assert isinstance(noise.release(5), int)
    assert max(abs(noise.sample()) for _ in range(30)) > scale / 10
    with pytest.raises(OverflowError, match="does not fit in"):
        noise.sample(1000)


@pytest.mark.parametrize("epsilon", [1e-12, 1e-9, "1e-6", 1e4, 1e9, "log(3)", "log(1.0000001)"])
def test_extreme_parameters_run(epsilon: Any) -> None:
    assert isinstance(DiscreteLaplace(epsilon=epsilon, sensitivity=3).release(5), int)
    assert RandomizedResponse(epsilon=epsilon, k=2**64).release(2**63) < 2**64
    assert RAPPOR(epsilon=epsilon).release(3, d=9).shape == (2,)
    assert ExponentialMechanism(epsilon=epsilon).release([0.0, 1e300], sensitivity=1e-3) in (0, 1)
    assert isinstance(Laplace(epsilon=epsilon).release(5.0), float)


def test_every_noise_is_released_and_sampled() -> None:
    for mechanism in (DiscreteGaussian(sigma=3), DiscreteStaircase(epsilon=1, sensitivity=5, r=2)):
        counts = np.arange(6, dtype=np.int16).reshape(2, 3)
        assert mechanism.release(counts).dtype == np.int16
        assert type(mechanism.release(7)) is int
        assert mechanism.sample((2, 2)).shape == (2, 2)
    for mechanism in (Gaussian(sigma=3), Logistic(scale=2)):
        assert mechanism.release(np.ones((2, 3))).shape == (2, 3)
        assert mechanism.release(7.5, grid=1) % 1 == 0
        assert mechanism.sample(3, grid="1/4").shape == (3,)
    assert Staircase(epsilon=1).release(7.5, sensitivity=2, grid=1) % 1 == 0
    assert SubsetSelection(epsilon=LARGE, k=6, size=1).release([3, 4]).tolist() == [[3], [4]]
    assert OptimizedUnaryEncoding(epsilon=LARGE).release([3, 4], d=6).shape == (2, 1)
    assert PermuteAndFlip(epsilon=LARGE).release([1, 5, 3], sensitivity=1) == 1


def test_reports_are_packed_bits() -> None:
    sure = RAPPOR(epsilon=LARGE)
    values = np.array([[0, 7, 8], [127, 64, 3]])
    reports = sure.release(values, d=128)
    assert reports.shape == (2, 3, 16)
    assert reports.dtype == np.uint8
    bits = np.unpackbits(reports, axis=-1)
    assert np.array_equal(bits.argmax(axis=-1), values)
    assert np.array_equal(bits.sum(axis=-1), np.ones((2, 3)))
    assert np.array_equal(np.unpackbits(sure.release(9, d=11), count=11), np.eye(11, dtype=int)[9])
    assert sure.release([], d=5).shape == (0, 1)


def test_selection() -> None:
    choose = ExponentialMechanism(epsilon=LARGE)
    for scores in ([1, 5, 3], [1.0, 5.0, 3.0], np.array([1, 5, 3], dtype=">i2"), np.arange(12)[1::5] % 6):
        assert choose.release(scores, sensitivity=1) == int(np.argmax(scores))
    big = np.array([2**63 - 1, -(2**63), 2**63 - 1], dtype=np.int64)
    assert {choose.release(big, sensitivity=1) for _ in range(60)} == {0, 2}
    assert choose.release(np.array([0, 2**64 - 1], dtype=np.uint64), sensitivity=1) == 1
    assert choose.release([-1.7e308, 1.7e308], sensitivity=1) == 1
    assert choose.release([3], sensitivity=1) == 0


BAD: list[tuple[str, type[Exception], str, Any]] = [
    ("counts", TypeError, "must be integers", lambda: DiscreteLaplace(epsilon=1).release([1.5])),
    ("count", TypeError, "must be integers", lambda: DiscreteLaplace(epsilon=1).release(1.5)),
    ("bools", TypeError, "must be integers", lambda: DiscreteLaplace(epsilon=1).release([True])),
    ("text", TypeError, "must be integers", lambda: DiscreteLaplace(epsilon=1).release("5")),
    ("overflow", ValueError, r"overflow \('wrap'\)", lambda: DiscreteLaplace(epsilon=1).release(5, overflow="wrap")),
    ("nan", ValueError, "values must be finite", lambda: Laplace(epsilon=1).release(float("nan"))),
    ("inf", ValueError, "values must be finite", lambda: Laplace(epsilon=1).release([1.0, float("inf")])),
    ("far", ValueError, "2\\^61 steps", lambda: Laplace(epsilon=1).release([1e300])),
    ("grid", ValueError, r"grid \(0\) must be positive", lambda: Laplace(epsilon=1).release(1.0, grid=0)),
    ("complex", TypeError, "must be integers or floats", lambda: Laplace(epsilon=1).release([1j])),
    ("k", ValueError, r"values must lie in 0 .. 3", lambda: RandomizedResponse(epsilon=1, k=4).release([1, 4])),
    ("low", ValueError, r"values must lie in 0 .. 3", lambda: RandomizedResponse(epsilon=1, k=4).release(-1)),
    ("kind", TypeError, "must be integers", lambda: RandomizedResponse(epsilon=1, k=4).release([0.0])),
    ("d", ValueError, r"values must lie in 0 .. 7", lambda: RAPPOR(epsilon=1).release([8], d=8)),
    ("small", ValueError, r"d \(1\) must be at least 2", lambda: RAPPOR(epsilon=1).release([0], d=1)),
    ("scores", ValueError, r"scores must be finite",
     lambda: ExponentialMechanism(epsilon=1).release([1, float("nan")], sensitivity=1)),
    ("infinite", ValueError, r"scores must be finite",
     lambda: ExponentialMechanism(epsilon=1).release([1, -float("inf")], sensitivity=1)),
    ("none", ValueError, "at least one", lambda: ExponentialMechanism(epsilon=1).release([], sensitivity=1)),
    ("matrix", ValueError, "shape", lambda: ExponentialMechanism(epsilon=1).release([[1, 2]], sensitivity=1)),
    ("negative", ValueError, r"sensitivity \(-1\) must be positive",
     lambda: ExponentialMechanism(epsilon=1).release([1, 2], sensitivity=-1)),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "message", "call"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_bad_input_is_refused_before_any_randomness(
    kind: type[Exception], message: str, call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "_fill", untouchable)
    with pytest.raises(kind, match=message):
        call()


def test_the_guard_of_the_test_above_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_fill", untouchable)
    with pytest.raises(AssertionError, match="randomness"):
        RandomizedResponse(epsilon=1, k=4).release(1)


def test_a_mechanism_that_has_run_can_be_copied_and_pickled() -> None:
    for mechanism in (
        Laplace(scale=2),
        DiscreteLaplace(scale=2),
        RAPPOR(epsilon=1),
        RandomizedResponse(epsilon=1, k=3),
    ):
        mechanism.neighbouring_outputs(3)
        for twin in (copy.deepcopy(mechanism), pickle.loads(pickle.dumps(mechanism))):
            assert twin == mechanism
            assert twin.rho == mechanism.rho
            twin.neighbouring_outputs(3)


def test_no_warnings_on_the_way() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Laplace(scale=2).release(np.array([5e-324, 1e10, -0.0]), grid=2.0**-10)


@pytest.mark.parametrize("power", [-890, -200, -120, -64, -58, -57, -56, -45, -20, 0, 30, 44, 50, 59])
@pytest.mark.parametrize("kind", ["gaussian", "logistic", "laplace"])
@pytest.mark.parametrize("step", [Fraction(1), Fraction(1, 10)], ids=str)
def test_arrays_and_single_values_agree_at_every_scale(power: int, kind: str, step: Fraction) -> None:
    """Where the noise is far below a grid step both are the rounded value; elsewhere both stay near it."""
    scale = step * Fraction(2) ** power
    if kind == "gaussian":
        noise = gaussian_on_grid(scale**2, step)
    elif kind == "logistic":
        noise = logistic_on_grid(lambda: lift(1 / scale), step)
    else:
        noise = GridLaplace(lambda: lift(1 / scale), step)
    values = np.array([0.3, -7.7, 123.4, 41.0]) * float(step)
    many = noise.release(values)
    one = [noise.release_one(float(value)) for value in values]
    if power < -10:
        assert many.tolist() == one == [float(round(Fraction(v) / step) * step) for v in values.tolist()]
    far = 100 * float(scale) + float(step)
    assert np.abs(many - values).max() < far
    assert np.abs(np.array(one) - values).max() < far


@pytest.mark.parametrize("scale", [31, 32, 33, 63, 64, 127, 255, 1023, 2**20 - 1, 2**20, 2**40 - 1, 2**61 - 1])
def test_scales_next_to_a_power_of_two(scale: int) -> None:
    assert isinstance(DiscreteLaplace(epsilon=1, sensitivity=scale).release(5), int)
    assert isinstance(Laplace(epsilon=Fraction(1, 3), sensitivity=Fraction(scale, 3)).release(5.0), float)


@pytest.mark.parametrize("sigma", [1023, 1024, 1025, 2046, "4094.5", "8190.5", "1e30"])
def test_discrete_gaussians_around_the_table(sigma: object) -> None:
    assert isinstance(DiscreteGaussian(sigma=sigma).release(5), int)


def test_a_wide_staircase_refuses_by_the_sum_and_not_by_its_noise() -> None:
    wide = DiscreteStaircase(epsilon="0.5", sensitivity=2**60, r=2**59)
    assert any(abs(wide.release(0)) >= 2**63 for _ in range(4000))  # a single draw is of any size
    assert isinstance(DiscreteStaircase(epsilon=1, sensitivity=2**80, r=2**79).release(0), int)
    released = wide.release(np.full(4000, 2**60), overflow="saturate")
    assert (released < -6 * 2**60).any()  # impossible if draws beyond 64 bits were refused before they are added


def test_a_wide_staircase_on_a_grid_is_refused_by_the_sum() -> None:
    wide = Staircase(epsilon=Fraction(1, 2**22))

    def often() -> None:
        for _ in range(20_000):
            wide.release(np.array([0]), sensitivity=2**39, grid=1)

    with pytest.raises(OverflowError, match="does not fit in int64"):
        often()


@pytest.mark.parametrize("values", [[2**53 + 1, 0.5], [[1, 2.5], [2**60 + 1, 3]]])
def test_an_integer_that_a_list_would_round_is_refused(values: list[object]) -> None:
    with pytest.raises(TypeError, match="that is no float"):
        Laplace(scale=1).release(values)


def test_scores_that_a_list_would_round_are_refused() -> None:
    for m in (ExponentialMechanism(epsilon=1), PermuteAndFlip(epsilon=1)):
        with pytest.raises(TypeError, match="that is no float"):
            m.release([2**63, 2**63 - 513, -1], sensitivity=1)


@pytest.mark.parametrize("grid", ["1e20", Fraction(3 * 2**70), "1e30"])
def test_a_grid_beyond_64_bits(grid: object) -> None:
    drawn = Laplace(scale=Fraction(grid) / 100, sensitivity=Fraction(grid)).release(np.zeros(3), grid=grid)
    assert np.abs(drawn).max() <= float(grid)


MASKED = np.ma.masked_array([1, 2, 3], mask=[False, True, False])
RUN: dict[str, Any] = {
    "integers": lambda values: DiscreteLaplace(epsilon=1).release(values),
    "reals": lambda values: Laplace(epsilon=1).release(values),
    "staircase": lambda values: Staircase(epsilon=1).release(values, sensitivity=1),
    "response": lambda values: RandomizedResponse(epsilon=1, k=9).release(values),
    "subset": lambda values: SubsetSelection(epsilon=1, k=9, size=2).release(values),
    "reports": lambda values: RAPPOR(epsilon=1).release(values, d=9),
    "scores": lambda values: ExponentialMechanism(epsilon=1).release(values, sensitivity=1),
    "flips": lambda values: PermuteAndFlip(epsilon=1).release(values, sensitivity=1),
}


class Quantity(np.ndarray):
    """An array of somebody else's with a mask of its own."""

    mask = (True, False)


@pytest.mark.parametrize("run", RUN.values(), ids=RUN.keys())
@pytest.mark.parametrize(
    "values",
    [
        MASKED,
        MASKED.astype(float),
        np.ma.masked_array([1, 2, 3]),
        [MASKED, MASKED],
        ([[1, 2, 3]], (MASKED,)),
        np.ma.masked,
        [1.0, np.ma.masked],
        np.arange(2).view(Quantity),
    ],
    ids=["ints", "floats", "no mask", "list", "nested", "constant", "element", "subclass"],
)
def test_a_mask_is_refused_and_never_dropped(run: Any, values: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_fill", untouchable)
    with pytest.raises(TypeError, match="must not be masked"):
        run(values)


@pytest.mark.parametrize("run", RUN.values(), ids=RUN.keys())
@pytest.mark.parametrize(
    "values",
    [
        *(None, [None, 1], "41", ["41"], b"41", 1j, [1j], ..., {1: 2}, {1}, [[1], [2, 3]], [Decimal("sNaN")]),
        *(np.array([1, 2], dtype=object), np.array(None), np.array([True]), np.array(["41"]), np.array([b"41"])),
        *(np.array([41], dtype="M8[s]"), np.array([41], dtype="m8[s]"), np.datetime64(41, "s"), np.bool_(True)),
        *(
            np.zeros(2, dtype=[("a", int)]),
            np.array([41 + 0j]),
            [float("nan")],
            float("nan"),
            Decimal("NaN"),
            "1e99999",
        ),
    ],
    ids=repr,
)
def test_what_is_no_number_is_refused_and_not_shown(run: Any, values: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_fill", untouchable)
    real_text = values == "41" if isinstance(values, str) else False
    if real_text and run in (RUN["reals"], RUN["staircase"]):
        return  # a decimal as text is a number there
    with pytest.raises((TypeError, ValueError)) as caught:
        run(values)
    assert "41" not in str(caught.value)
    assert "9999" not in str(caught.value)


@pytest.mark.parametrize(
    "run",
    [
        lambda: Laplace(epsilon=1).release(np.array([7.1234e300])),
        lambda: Laplace(epsilon=1).release(np.array([71234 * 2**40]), grid="1e-9"),
        lambda: Laplace(epsilon=1).release([0.5, 2**60 + 71234]),
        lambda: Laplace(epsilon=1).release("71234e"),
        lambda: RandomizedResponse(epsilon=1, k=4).release(71234),
        lambda: RandomizedResponse(epsilon=1, k=4).release([71234]),
        lambda: DiscreteLaplace(epsilon=1).release(71234.5),
        lambda: DiscreteLaplace(epsilon=1).release("71234"),
        lambda: RAPPOR(epsilon=1).release([71234], d=9),
        lambda: SubsetSelection(epsilon=1, k=9, size=2).release(71234),
        lambda: ExponentialMechanism(epsilon=1).release([2**63, 2**63 - 71234, -1], sensitivity=1),
    ],
)
def test_errors_do_not_show_the_data(run: Any) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        run()
    assert not any(digits in str(caught.value) for digits in ("7123", "71234", "e+3", "e300", "846976"))


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", ">i2", "i4"])
@pytest.mark.parametrize(
    "make",
    [lambda k: RandomizedResponse(epsilon="0.1", k=k), lambda k: SubsetSelection(epsilon="0.1", k=k, size=2)],
    ids=["response", "subset"],
)
def test_a_type_that_does_not_hold_every_response_is_refused(make: Any, dtype: str) -> None:
    most = int(np.iinfo(dtype).max)
    values = np.zeros(50, dtype=dtype)
    for given_as in (values, values[0], values.reshape(5, 10)):
        with pytest.raises(ValueError, match=rf"k \({most + 2}\) must fit in the type"):
            make(most + 2).release(given_as)
    out = make(most + 1).release(values)
    assert out.dtype == np.dtype(dtype)
    assert out.min() >= 0
    assert out.max() > most // 2  # responses reach the upper half of the type


def test_reports_are_bytes_whatever_the_type_of_the_values() -> None:
    for dtype in ("i1", "u1", "u8", ">u2", "i8"):
        assert RAPPOR(epsilon=1).release(np.zeros(3, dtype=dtype), d=300).dtype == np.uint8


def test_a_bool_is_no_grid_even_after_one() -> None:
    mechanism = Laplace(scale=2)
    mechanism.release(1.0, grid=1)
    with pytest.raises(TypeError, match="not a bool"):
        mechanism.release(1.0, grid=True)


def test_neighbouring_values_stay_neighbours_on_a_decimal_grid() -> None:
    """Where 32 bits end, a located value must not jump."""
    noise = Laplace(scale=Fraction(1, 2**40), sensitivity="1e-6")
    values = np.array([4194303.9, 4194304.0, 0.001, 2.0**31 / 10, -(2.0**32)])
    assert np.abs(noise.release(values, grid="0.1") - values).max() <= 0.05 + 1e-6


def test_integers_of_numpy_that_a_list_would_round_are_refused() -> None:
    with pytest.raises(TypeError, match="that is no float"):
        Laplace(scale=1).release([np.int64(2**60 + 1), 0.5])


@pytest.mark.parametrize("dtype", [np.longdouble, np.float16, np.uint64])
def test_floats_of_every_width_are_taken_exactly(dtype: Any) -> None:
    out = Laplace(scale=Fraction(1, 2**40), sensitivity="1e-6").release(np.array([1, 2, 3], dtype=dtype), grid=1)
    assert out.tolist() == [1.0, 2.0, 3.0]


# Arrays beyond one block of 2^16 draws: every value keeps its own noise, and no randomness is used twice.


LONG = 2 * BLOCK + 1234


SURE_LONG = 2000
"""An epsilon at which nothing is ever changed."""
Run = Callable[[Any], Any]


@pytest.fixture(autouse=True)
def same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_fill", seeded(20))


@pytest.mark.parametrize("count", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 3 * BLOCK + 7])
def test_blocks_cover_every_place_once(count: int) -> None:
    assert [n for block in blocks(count) for n in range(block.start, block.stop)] == list(range(count))
    assert all(block.stop - block.start <= BLOCK for block in blocks(count))


def test_an_array_is_filled_with_what_is_drawn_in_its_order() -> None:
    drawn = iter(range(LONG))
    filled = fill((2, LONG // 2), lambda count: np.array([next(drawn) for _ in range(count)]))
    assert filled.reshape(-1).tolist() == list(range(LONG))


WIDE: dict[str, Run] = {
    "discrete laplace": lambda n: DiscreteLaplace(scale=2**48, sensitivity=10**9).sample(n),
    "discrete gaussian": lambda n: DiscreteGaussian(sigma=2**40 - 1).sample(n),
    "discrete staircase": lambda n: DiscreteStaircase(epsilon=1, sensitivity=2**50, r=2**49).sample(n),
    "laplace": lambda n: Laplace(scale=2**40, sensitivity=10**9).sample(n, grid=1),
    "logistic": lambda n: Logistic(scale=2**40, sensitivity=10**9).sample(n, grid=1),
    "gaussian": lambda n: Gaussian(sigma=2**40).sample(n, grid="1/8"),
    "staircase": lambda n: Staircase(epsilon=1).release(np.zeros(n), sensitivity=2**36, grid="1/8"),
    "laplace, decimal": lambda n: Laplace(scale=2**40, sensitivity=10**9).sample(n, grid="0.1"),
    "discrete laplace, released": lambda n: DiscreteLaplace(scale=2**48, sensitivity=10**9).release(
        np.zeros(n, dtype=np.int64)
    ),
    "discrete gaussian, released": lambda n: DiscreteGaussian(sigma=2**40 - 1).release(np.zeros(n, dtype=np.int64)),
    "gaussian, released": lambda n: Gaussian(sigma=2**40).release(np.zeros(n), grid="1/8"),
    "response": lambda n: RandomizedResponse(epsilon="1e-9", k=2**60).release(np.zeros(n, dtype=np.int64)),
    "linear hashing": lambda n: LinearHashing(epsilon="1e-9", g=3, k=3**37).release(np.zeros(n, dtype=np.int64)),
    "subset": lambda n: SubsetSelection(epsilon="1e-9", k=2**50, size=2).release(np.zeros(n, dtype=np.int64))[:, 0],
    "bits": lambda n: RAPPOR(epsilon="1e-9").release(np.zeros(n, dtype=np.int64), d=64).view(np.uint64)[:, 0],
    "memory": lambda n: (
        MemoizedRAPPOR(f="1/2", p="1/4", q="1/2", collections=1)
        .release(np.zeros((n, 8), dtype=np.uint8), d=64)
        .view(np.uint64)[:, 0]
    ),
}


@pytest.mark.parametrize("name", WIDE)
def test_no_draw_of_a_long_array_is_seen_twice(name: str) -> None:
    """Each has so many outcomes that two equal ones are a chance of one in a hundred; the bits are seeded."""
    drawn = np.asarray(WIDE[name](LONG))
    assert drawn.shape == (LONG,)
    if name == "memory":  # a quarter of the bits is set: fewer outcomes are common
        assert np.unique(drawn).size > LONG - 100
        return
    assert np.unique(drawn).size == LONG


def one_hot(reports: Any, d: int) -> Any:
    bits = np.unpackbits(reports, axis=-1, count=d)
    assert (bits.sum(axis=-1) == 1).all()
    return bits.argmax(axis=-1)


def of_signs(outputs: Any, k: int) -> Any:
    """The least value whose row of the Hadamard matrix fits many outputs of the same value, taken 7 at a time."""
    width = 1 << k.bit_length()
    signs = np.array([[(row & y).bit_count() % 2 for y in range(width)] for row in range(1, k + 1)])
    return [int(signs[:, group].sum(axis=1).argmin()) for group in outputs]


VALUES = np.arange(LONG) * 7 % 12
EXACT_LONG: dict[str, Run] = {
    "discrete laplace": lambda v: DiscreteLaplace(epsilon=SURE_LONG).release(v),
    "discrete gaussian": lambda v: DiscreteGaussian(sigma="1/100").release(v),
    "discrete staircase": lambda v: DiscreteStaircase(epsilon=SURE_LONG, sensitivity=1, r=1).release(v),
    "laplace": lambda v: Laplace(epsilon=SURE_LONG).release(v, grid=1),
    "laplace, floats": lambda v: Laplace(epsilon=SURE_LONG).release(v * 1.0, grid="1/3"),
    "laplace, far below the grid": lambda v: Laplace(scale=2.0**-40, sensitivity="1e-6").release(v * 1.0, grid=1),
    "gaussian": lambda v: Gaussian(sigma="1/100").release(v, grid=1),
    "logistic": lambda v: Logistic(epsilon=SURE_LONG).release(v, grid=1),
    "staircase": lambda v: Staircase(epsilon=SURE_LONG, gamma="1/2").release(v, sensitivity="1/100", grid=1),
    "response": lambda v: RandomizedResponse(epsilon=SURE_LONG, k=12).release(v),
    "response, bytes": lambda v: RandomizedResponse(epsilon=SURE_LONG, k=12).release(v.astype(np.uint8)),
    "subset": lambda v: SubsetSelection(epsilon=SURE_LONG, k=12, size=1).release(v)[:, 0],
    "bits": lambda v: one_hot(RAPPOR(epsilon=SURE_LONG).release(v, d=12), 12),
    "memory": lambda v: one_hot(
        MemoizedRAPPOR(f="1e-30", p="1/4", q="1/2", collections=1).remember(v, d=12), 12
    ),
    "linear hashing": lambda v: [
        value if (int(r) // 13 * value - int(r)) % 13 == 0 else -1
        for r, value in zip(LinearHashing(epsilon=SURE_LONG, g=13, k=12).release(v).tolist(), v.tolist(), strict=True)
    ],
    "channel": lambda v: Channel([[1 if i == j else 0 for j in range(12)] for i in range(12)]).release(v),
}  # fmt: skip


@pytest.mark.parametrize("name", EXACT_LONG)
def test_what_is_released_of_a_long_array_is_each_value_in_its_place(name: str) -> None:
    assert np.asarray(EXACT_LONG[name](VALUES)).tolist() == VALUES.tolist()


def test_reports_of_bits_in_memory_keep_their_places() -> None:
    """A remembered 1 is nearly always reported as one, and a 0 as none: over more bytes than are drawn at a time."""
    memory = np.frombuffer(seeded(9)(5 * 60_000), dtype=np.uint8).reshape(60_000, 5)
    memory = memory & np.array([255, 255, 255, 255, 0xE0], dtype=np.uint8)
    kept = MemoizedRAPPOR(f="1/2", p="1e-30", q=1 - Fraction(1, 10**30), collections=1).release(memory, d=35)
    assert (kept == memory).all()


def test_hadamard_reports_keep_their_places() -> None:
    """Seven outputs in a row belong to one value, which their signs tell."""
    values = np.arange(LONG // 7) % 11
    outputs = HadamardResponse(epsilon=SURE_LONG).release(values.repeat(14), k=11).reshape(-1, 14)
    found = of_signs(outputs[:: len(outputs) // 400], 11)
    wanted = values[:: len(outputs) // 400].tolist()
    assert sum(a == b for a, b in zip(found, wanted, strict=True)) > 0.98 * len(wanted)


def test_answers_of_two_kinds_keep_their_places() -> None:
    """A 1 is told with probability 1 - 10^-9, a 0 with 1/2."""
    bits = np.arange(LONG) % 3 == 0
    answers = BinaryRandomizedResponse(p=1 - Fraction(1, 10**9), q="1/2").release(bits.astype(np.int64))
    assert answers[bits].all()
    others = answers[~bits]
    for part in (others[: BLOCK // 2], others[BLOCK // 2 :]):
        assert abs(part.mean() - 0.5) < 5 * sqrt(0.25 / part.size)


SELECTIONS: dict[str, tuple[Callable[[int], Any], float]] = {
    "exponential": (lambda n: ExponentialSelection(real(Fraction(1))).draw([0.0, 1.0], n) == 0, 1 / (1 + exp(1))),
    "permute and flip": (lambda n: FlippedScores(real(Fraction(1))).draw([0.0, 1.0], n) == 0, exp(-1) / 2),
    "noisy max": (lambda n: LaplaceMax(lambda: arb(1)).draw([0.0, 1.0], n) == 0, exp(-1) * 3 / 4),
    "above threshold": (
        lambda n: AboveThreshold(Fraction(1), Fraction(1), 1).draw([Fraction(-1)], n)[:, 0] == 1,
        exp(-1) * 3 / 4,
    ),
}


@pytest.mark.parametrize("name", SELECTIONS)
def test_selections_of_every_block_have_the_law_and_their_own_bits(name: str) -> None:
    draw, chance = SELECTIONS[name]
    count = BLOCK + BLOCK // 2
    hits = np.asarray(draw(count))
    assert hits.shape == (count,)
    quarter = BLOCK // 4
    parts = [hits[n : n + quarter] for n in range(0, count, quarter)]
    for part in parts:
        assert abs(part.mean() - chance) < 5 * sqrt(chance * (1 - chance) / quarter)
    agree = chance**2 + (1 - chance) ** 2
    for n, part in enumerate(parts):
        for other in parts[:n]:
            assert abs((part == other).mean() - agree) < 5.5 * sqrt(agree * (1 - agree) / quarter)


@pytest.mark.parametrize("bits", [8, 15, 31])
def test_a_table_of_outcomes_at_the_end_of_a_type(bits: int) -> None:
    """Outcomes up to the largest number of a type, or down to the least: none is taken for a mark, and none is cut."""
    for first in (2**bits - 3, -(2**bits), 2**bits - 1):
        table = LazyTable(Law(lambda k, first=first: arb(k - first + 1) / 3, range(first, first + 3), first, first + 2))
        drawn = table.draw(60_000, source.secure)
        assert drawn.min() == first
        assert np.abs(np.bincount(drawn - first, minlength=4) - [20_000, 20_000, 20_000, 0]).max() < 700
