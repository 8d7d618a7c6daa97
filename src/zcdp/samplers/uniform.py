"""Uniform integers below n: Lemire's multiplication with exact rejection."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zcdp.samplers.source import Source, bits, words

__all__ = ["integers", "one_below"]


def one_below(n: int, source: Source) -> int:
    """A uniform integer in [0, n), for any n.

    >>> from zcdp.samplers.source import secure
    >>> one_below(1, secure)
    0
    """
    size = (n - 1).bit_length()
    while size:
        if (drawn := bits(size, source)) < n:
            return drawn
    return 0


def integers(n: int, count: int, source: Source) -> NDArray[Any]:
    """`count` uniform integers in [0, n), n <= 2^62, in the smallest word of 16, 32 or 64 bits that serves.

    Of the 2^w words u, exactly floor(2^w/n) have floor(u n/2^w) = k and u n mod 2^w >= 2^w mod n, for each k: the
    others are drawn again (Lemire 2019, Lemma 4.1).
    """
    if n > 1 << 32:
        return _masked(n, count, source)
    if n <= 1 << 16:
        return _multiplied(n, words(count, np.uint16, source), np.uint32, source)
    return _multiplied(n, words(count, np.uint32, source), np.uint64, source)


def _multiplied(n: int, drawn: NDArray[Any], wide: type[Any], source: Source) -> NDArray[Any]:
    width = 8 * drawn.dtype.itemsize
    if n & (n - 1) == 0 and n > 1:
        shifted: NDArray[Any] = drawn >> (width - n.bit_length() + 1)
        return shifted
    product = np.multiply(drawn, n, dtype=wide)
    result: NDArray[Any] = (product >> wide(width)).astype(drawn.dtype)
    surplus = (1 << width) % n
    if surplus:
        again = np.flatnonzero(product.astype(drawn.dtype) < surplus)
        if again.size:
            result[again] = integers(n, again.size, source)
    return result


def _masked(n: int, count: int, source: Source) -> NDArray[Any]:
    drawn: NDArray[Any] = words(count, np.uint64, source) >> np.uint64(64 - (n - 1).bit_length())
    again = np.flatnonzero(drawn >= np.uint64(n))
    if again.size:
        drawn[again] = _masked(n, again.size, source)
    return drawn
