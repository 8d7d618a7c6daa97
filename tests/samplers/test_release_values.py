"""What a sampler is given of the values, and what becomes of what it gives back: noises that only take notes."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from zcdp.samplers.run_samplers import (
    each,
    each_in_its_type,
    noisy_integers,
    noisy_reals,
    sample_integers,
    sample_reals,
)
from zcdp.samplers.source import BLOCK


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
