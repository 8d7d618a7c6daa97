"""How mechanisms run samplers on scalars, lists and arrays: inputs are checked first, and sums never wrap around."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import prod
from operator import index
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zcdp.errors import BadType, BadValue
from zcdp.numeric.exact import rational
from zcdp.samplers.source import Source, blocks, secure
from zcdp.text.suggestions import kind, thing

__all__ = [
    "DrawsIntegers",
    "DrawsReals",
    "Overflow",
    "add",
    "each",
    "each_in_its_type",
    "exact_array",
    "fill",
    "integer_array",
    "noisy_integers",
    "noisy_reals",
    "plain_array",
    "sample_integers",
    "sample_reals",
]


Overflow: TypeAlias = Literal["raise", "saturate"]

_INT64 = np.iinfo(np.int64)


def plain_array(values: Any, name: str) -> NDArray[Any]:
    """`values` as an array. A masked array is refused, as numpy would release the values under the mask.

    >>> plain_array([1, 2], "counts")
    array([1, 2])
    """
    if _is_masked(values):
        raise BadType(f"{name} must not be masked: drop or fill what the mask hides, on purpose")
    return np.asarray(values)


def _is_masked(values: Any) -> bool:
    if isinstance(values, np.ndarray):
        return type(values) is not np.ndarray and hasattr(values, "mask")  # numpy's own masked arrays, and others
    if not isinstance(values, list | tuple):
        return False
    kinds = set(map(type, values))
    return any(issubclass(kind, np.ndarray | list | tuple) for kind in kinds) and any(map(_is_masked, values))


def integer_array(values: ArrayLike, name: str) -> NDArray[Any]:
    """`values` as an array of integers in native byte order; floats and bools are refused, never rounded.

    >>> integer_array([1, 2], "counts")
    array([1, 2])
    """
    array = plain_array(values, name)
    if array.size == 0 and array.dtype == np.float64 and not isinstance(values, np.ndarray):
        array = array.astype(np.int64)  # numpy gives an empty list the type float64
    if array.dtype.kind not in "iu":
        raise BadType(f"{name} must be integers, not {array.dtype}: convert them on purpose, with astype")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def exact_array(values: ArrayLike, name: str) -> NDArray[Any]:
    """`values` as an array; an integer in a list that numpy would round to a float is refused.

    >>> exact_array([1, 2.5], "values")
    array([1. , 2.5])
    """
    array = plain_array(values, name)
    if array.dtype == np.float64 and not isinstance(values, np.ndarray | np.generic):
        for one in np.asarray(values, dtype=object).ravel().tolist():
            if isinstance(one, int | np.integer) and int(float(one)) != int(one):
                raise BadType(f"{name} hold an integer that is no float: give integers of 64 bits alone, or floats")
    return array


def fill(shape: tuple[int, ...], draw: Callable[[int], NDArray[Any]]) -> NDArray[Any]:
    """An array of int64 of this shape, filled block by block by `draw(count)`."""
    out = np.empty(prod(shape), dtype=np.int64)
    for block in blocks(out.size):
        out[block] = draw(block.stop - block.start)
    return out.reshape(shape)


def add(values: NDArray[Any], noise: NDArray[Any], overflow: Overflow) -> NDArray[Any]:
    """values + noise in the type of `values`. A sum that does not fit raises OverflowError, or saturates."""
    limits = np.iinfo(values.dtype)
    if not values.size:
        return values.copy()
    ends = (int(values.min()) + int(noise.min()), int(values.max()) + int(noise.max()))
    if _INT64.min <= ends[0] and ends[1] <= _INT64.max and int(values.max()) <= _INT64.max:
        total: NDArray[Any] = np.add(values, noise, dtype=np.int64, casting="unsafe")
    else:
        total = values.astype(object) + noise.astype(object)
    if limits.min <= ends[0] and ends[1] <= limits.max:
        narrow: NDArray[Any] = total.astype(values.dtype, copy=False)
        return narrow
    if overflow == "raise" and not (limits.min <= int(total.min()) and int(total.max()) <= limits.max):
        raise OverflowError(
            f"a noisy value does not fit in {values.dtype}: use a wider or signed type, or overflow='saturate'"
        )
    # The limits are within the type of the sum: numpy 1 would otherwise convert to floats.
    ends = (
        (limits.min, limits.max)
        if total.dtype == object
        else (max(limits.min, _INT64.min), min(limits.max, _INT64.max))
    )
    clipped: NDArray[Any] = np.clip(total, *ends).astype(values.dtype)
    return clipped


# `release` and `sample` of the mechanisms, for a scalar, a list or an array. All checks come before any random bit.

Size = int | tuple[int, ...] | None


class DrawsIntegers(Protocol):
    """A sampler of noise on the integers."""

    def draw(self, count: int, source: Source = secure) -> NDArray[Any]:
        """`count` independent draws as int64."""

    def draw_one(self, source: Source = secure) -> int:
        """One draw, as a Python integer of any size."""


class DrawsReals(Protocol):
    """A sampler that adds noise on the reals to values and rounds the sums to a grid."""

    def release(self, values: NDArray[Any], source: Source = secure) -> NDArray[Any]:
        """Noisy values on the grid."""

    def release_one(self, value: float | Fraction, source: Source = secure) -> float:
        """One noisy value on the grid."""


def is_scalar(values: Any) -> bool:
    """Whether `values` is a single Python number, such as int or Fraction. Scalars of numpy count as arrays."""
    return not isinstance(values, np.generic | np.ndarray | list | tuple) and np.ndim(values) == 0


def _overflow(overflow: Overflow) -> None:
    if overflow not in ("raise", "saturate"):
        raise BadValue(f"overflow ({overflow!r}) must be 'raise' or 'saturate'")


def noisy_integers(noise: Callable[[], DrawsIntegers], values: ArrayLike, overflow: Overflow) -> Any:
    """values + noise on the integers: an int for an int, and for an array one of the same shape and type."""
    _overflow(overflow)
    if type(values) is int:
        return values + noise().draw_one()
    if is_scalar(values):
        raise BadType(f"values must be integers, not {kind(values)}")
    array = integer_array(values, "values")
    flat = array.reshape(-1)
    out = np.empty_like(flat)
    drawn = noise()
    for block in blocks(flat.size):
        out[block] = add(flat[block], drawn.draw(block.stop - block.start), overflow)
    return _like(out, values, array.shape)


def _like(flat: NDArray[Any], values: Any, shape: tuple[int, ...]) -> Any:
    """The flat result in the shape of the input, and in the input's type and byte order if it is an array."""
    shaped = flat.reshape(shape)
    if isinstance(values, np.ndarray) and values.dtype.kind == flat.dtype.kind:
        return shaped.astype(values.dtype, copy=False)
    return shaped if shape or isinstance(values, np.ndarray) else shaped[()]


def _number(value: Any) -> Fraction:
    try:
        return rational(value, "values")
    except TypeError:
        raise BadType(f"values must be numbers: int, float, Fraction, Decimal or str, not {kind(value)}") from None
    except ValueError:
        raise BadValue("values must be finite numbers, of a decimal exponent of at most 4000 in size") from None


def noisy_reals(noise: Callable[[], DrawsReals], values: Any) -> Any:
    """values + noise, rounded to the grid: a float for a number, else an array of float64 of the same shape."""
    if type(values) is float:
        if values - values != 0:
            raise BadValue("values must be finite")
        return noise().release_one(values)
    if is_scalar(values):
        return noise().release_one(_number(values))
    array = exact_array(values, "values")
    if array.dtype.kind not in "iuf":
        raise BadType(f"values must be integers or floats, not {array.dtype}")
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    released = noise().release(native.reshape(-1)).reshape(array.shape)
    return released if array.shape or isinstance(values, np.ndarray) else released[()]


def each(one: Callable[[int], Any], many: Callable[[NDArray[Any]], NDArray[Any]], values: ArrayLike, k: int) -> Any:
    """Responses for a value, by `one`, or for an array of values, by `many`; values must lie in 0 .. k-1.

    If a response is a row of numbers, the result has one axis more than the values.
    """
    if type(values) is int:
        if not 0 <= values < k:
            raise BadValue(f"values must lie in 0 .. {k - 1}")
        return one(values)
    if is_scalar(values):
        raise BadType(f"values must be integers, not {kind(values)}")
    array = integer_array(values, "values")
    if int(array.min(initial=0)) < 0 or int(array.max(initial=0)) >= k:
        raise BadValue(f"values must lie in 0 .. {k - 1}")
    flat = many(array.reshape(-1))
    shaped = flat.reshape(array.shape + flat.shape[1:])
    return shaped if shaped.shape or isinstance(values, np.ndarray) else shaped[()]


def each_in_its_type(
    one: Callable[[int], Any], many: Callable[[NDArray[Any]], NDArray[Any]], values: ArrayLike, k: int
) -> Any:
    """`each` for responses that are values themselves: in the type of the values, which must have room for k - 1."""

    def fitting(array: NDArray[Any]) -> NDArray[Any]:
        if k - 1 > np.iinfo(array.dtype).max:
            raise BadValue(f"k ({k}) must fit in the type of the values: {array.dtype} does not hold {k - 1}")
        return many(array)

    responses = each(one, fitting, values, k)
    return responses.astype(values.dtype, copy=False) if isinstance(values, np.ndarray) else responses


def sample_integers(noise: DrawsIntegers, size: Size) -> Any:
    """Draws of the noise itself: an int without `size`, else an array of int64 of that shape."""
    if size is None:
        return noise.draw_one()
    shape = _shape(size)
    try:
        return fill(shape, noise.draw)
    except OverflowError:
        raise OverflowError("a draw does not fit in int64: take them one at a time") from None


def sample_reals(noise: DrawsReals, size: Size) -> Any:
    """Draws of the noise itself, rounded to the grid: a float without `size`, else an array of float64."""
    if size is None:
        return noise.release_one(0.0)
    shape = _shape(size)
    return noise.release(np.zeros(shape).reshape(-1)).reshape(shape)


def _shape(size: int | tuple[int, ...]) -> tuple[int, ...]:
    try:
        shape = tuple(map(index, size)) if isinstance(size, tuple) else (index(size),)
    except TypeError:
        raise BadType(f"size ({thing(size)}) must be a whole number, or a tuple of such") from None
    if any(length < 0 for length in shape):
        raise BadValue(f"size ({size}) must not be negative")
    return shape
