"""Arrays in, arrays out: integers checked and added to noise without ever wrapping around."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zcdp.errors import BadType
from zcdp.samplers.source import blocks

__all__ = ["Overflow", "add", "exact_array", "fill", "integer_array", "plain_array"]

Overflow: TypeAlias = Literal["raise", "saturate"]

_INT64 = np.iinfo(np.int64)


def plain_array(values: Any, name: str) -> NDArray[Any]:
    """`values` as an array; a mask is refused, as what it hides would be released.

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
        array = array.astype(np.int64)  # an empty list has no type of its own
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
    """An array of int64 of that shape, drawn block by block."""
    out = np.empty(prod(shape), dtype=np.int64)
    for block in blocks(out.size):
        out[block] = draw(block.stop - block.start)
    return out.reshape(shape)


def add(values: NDArray[Any], noise: NDArray[Any], overflow: Overflow) -> NDArray[Any]:
    """values + noise in the type of `values`; what does not fit raises OverflowError, or saturates."""
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
    # within the type of the sum: numpy 1 would otherwise go by way of floats
    ends = (
        (limits.min, limits.max)
        if total.dtype == object
        else (max(limits.min, _INT64.min), min(limits.max, _INT64.max))
    )
    clipped: NDArray[Any] = np.clip(total, *ends).astype(values.dtype)
    return clipped
