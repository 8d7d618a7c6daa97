"""What `release` and `sample` accept and give back: shapes, types, byte orders, overflow, errors before any draw."""

from __future__ import annotations

import copy
import pickle
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from independent.bits import untouchable

from zcdp import (
    RAPPOR,
    DiscreteGaussian,
    DiscreteLaplace,
    DiscreteStaircase,
    ExponentialMechanism,
    Gaussian,
    Laplace,
    Logistic,
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
    mechanism = Laplace(epsilon=2**40)
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
    tiny = Laplace(epsilon=2**200)
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


@pytest.mark.parametrize("scale", [2**61, 2**70, 10**300])
def test_noise_beyond_64_bits(scale: int) -> None:
    noise = DiscreteLaplace(scale=scale)
    assert isinstance(noise.release(5), int)
    assert max(abs(noise.sample()) for _ in range(30)) > scale / 10
    with pytest.raises(OverflowError, match="does not fit in"):
        noise.sample(1000)


@pytest.mark.parametrize("epsilon", [1e-300, 1e-9, "1e-30", 1e4, 1e300, "log(3)", "log(1.0000001)"])
def test_extreme_parameters_run(epsilon: Any) -> None:
    assert isinstance(DiscreteLaplace(epsilon=epsilon, sensitivity=3).release(5), int)
    assert RandomizedResponse(epsilon=epsilon, k=2**70).release(2**69) < 2**70
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


@pytest.mark.parametrize("sigma", [1023, 1024, 1025, 2046, "4094.5", "8190.5", "1e310"])
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


@pytest.mark.parametrize("grid", ["1e20", Fraction(3 * 2**70), Fraction(2) ** 1001])
def test_a_grid_beyond_64_bits(grid: object) -> None:
    drawn = Laplace(scale=Fraction(grid) / 100).release(np.zeros(3), grid=grid)
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


def test_large_subsets() -> None:
    chosen = SubsetSelection(epsilon=1, k=100_000, size=10_000).release(5)
    assert np.unique(chosen).size == 10_000
    assert (np.diff(chosen) > 0).all()
    assert chosen[0] >= 0
    assert chosen[-1] < 100_000
    most = SubsetSelection(epsilon=1, k=3000, size=2999).release([5, 6])
    assert (np.diff(most, axis=1) > 0).all()
    with pytest.raises(ValueError, match=r"must be at most 2\^63"):
        SubsetSelection(epsilon=1, k=2**63 + 1, size=2).release(5)


@pytest.mark.parametrize("mechanism", [Laplace(scale=1e308), Gaussian(sigma=1e308), Logistic(scale=1.7e308)])
def test_noise_beyond_floats_is_refused_in_words(mechanism: Any) -> None:
    for run in (mechanism.sample, lambda: mechanism.sample(10), lambda: mechanism.release(0.0)):
        with pytest.raises(ValueError, match=r"scale \(.*\) must be below 2\^1000"):
            run()

    def often(size: int | None) -> None:
        for _ in range(2000):
            mechanism.sample(size, grid=Fraction(2) ** 1000)

    for size in (None, 1000):
        with pytest.raises(OverflowError, match="a noisy value is beyond floats"):
            often(size)
    with pytest.raises(OverflowError, match="a noisy value is beyond floats"):
        Laplace(scale=1e308).sample(1000, grid="1e300")
    assert np.isfinite(Laplace(scale=2.0**999).sample(1000)).all()


def test_a_bool_is_no_grid_even_after_one() -> None:
    mechanism = Laplace(scale=2)
    mechanism.release(1.0, grid=1)
    with pytest.raises(TypeError, match="not a bool"):
        mechanism.release(1.0, grid=True)


def test_neighbouring_values_stay_neighbours_on_a_decimal_grid() -> None:
    """Where 32 bits end, a located value must not jump."""
    noise = Laplace(epsilon=2**40)
    values = np.array([4194303.9, 4194304.0, 0.001, 2.0**31 / 10, -(2.0**32)])
    assert np.abs(noise.release(values, grid="0.1") - values).max() <= 0.05 + 1e-6


def test_integers_of_numpy_that_a_list_would_round_are_refused() -> None:
    with pytest.raises(TypeError, match="that is no float"):
        Laplace(scale=1).release([np.int64(2**60 + 1), 0.5])


@pytest.mark.parametrize("dtype", [np.longdouble, np.float16, np.uint64])
def test_floats_of_every_width_are_taken_exactly(dtype: Any) -> None:
    out = Laplace(epsilon=2**40).release(np.array([1, 2, 3], dtype=dtype), grid=1)
    assert out.tolist() == [1.0, 2.0, 3.0]
