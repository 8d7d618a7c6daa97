"""The source of random bits, OpenSSL's generator, and exactly uniform integers from it.

Bits are requested anew for every block. No pool of bits is kept, so there is nothing that a fork could duplicate:
OpenSSL reseeds itself in the child.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "BLOCK",
    "Source",
    "bits",
    "blocks",
    "each_below",
    "integers",
    "one_below",
    "one_below_from",
    "secure",
    "words",
]


try:
    from ssl import RAND_bytes as _fill
except ImportError:  # a Python without OpenSSL
    from os import urandom as _fill


Source: TypeAlias = Callable[[int], bytes]
"""A function that returns the given number of bytes of independent fair bits."""

BLOCK = 1 << 16
"""Draws that are made at a time: the bits and the tables of one block stay in the processor's cache."""


def secure(count: int) -> bytes:
    """`count` bytes from the operating system's or OpenSSL's cryptographic generator.

    >>> len(secure(16))
    16
    """
    return _fill(count)


def bits(count: int, source: Source) -> int:
    """A uniform integer of `count` bits."""
    size = (count + 7) // 8
    return int.from_bytes(source(size), "little") >> (8 * size - count)


def words(count: int, dtype: type[np.unsignedinteger[Any]], source: Source) -> NDArray[Any]:
    """`count` uniform words of an unsigned type, read-only."""
    import numpy as np

    return np.frombuffer(source(count * np.dtype(dtype).itemsize), dtype=dtype)


def blocks(count: int) -> Iterator[slice]:
    """`range(count)` cut into slices of at most `BLOCK`."""
    for start in range(0, count, BLOCK):
        yield slice(start, min(start + BLOCK, count))


# Uniform integers below n, by Lemire's method: multiplication of a random word by n, with exact rejection.

WORD_MASK = (1 << 64) - 1  # of the low word of a product


def one_below(n: int, source: Source) -> int:
    """A uniform integer in [0, n), for any n.

    >>> from zcdp.samplers.source import secure
    >>> one_below(1, secure)
    0
    """
    if 1 < n <= 1 << 32:
        return one_below_from(int.from_bytes(source(8), "little"), n, source)
    size = (n - 1).bit_length()
    while size:
        if (drawn := bits(size, source)) < n:
            return drawn
    return 0


def one_below_from(word: int, n: int, source: Source) -> int:
    """A uniform integer in [0, n), n <= 2^32, from a 64-bit word, by Lemire's method; rarely draws another word."""
    while (product := n * word) & WORD_MASK < (1 << 64) % n:
        word = int.from_bytes(source(8), "little")
    return product >> 64


def integers(n: int, count: int, source: Source) -> NDArray[Any]:
    """`count` uniform integers in [0, n), n <= 2^64, as unsigned integers of the least of 16, 32 or 64 bits that fit.

    Of the 2^w words u, exactly floor(2^w/n) have floor(u n/2^w) = k and u n mod 2^w >= 2^w mod n, for each k: the
    others are drawn again (Lemire 2019, Lemma 4.1).
    """
    if n > 1 << 32:
        return _masked(n, count, source)
    if n <= 1 << 16:
        return _multiplied(n, words(count, np.uint16, source), np.uint32, source)
    return _multiplied(n, words(count, np.uint32, source), np.uint64, source)


def each_below(bounds: NDArray[Any], source: Source) -> NDArray[Any]:
    """A uniform integer in [0, bound) for each of an array of bounds from 1 to 2^32, by Lemire's method.

    >>> from zcdp.samplers.source import secure
    >>> each_below(np.array([1, 1]), secure).tolist()
    [0, 0]
    """
    wide = bounds.astype(np.uint64)
    product = wide * words(bounds.size, np.uint32, source)
    result: NDArray[Any] = (product >> np.uint64(32)).astype(np.int64)
    low = product & np.uint64(0xFFFF_FFFF)
    again = np.flatnonzero(low < wide)
    if again.size:  # 2^32 mod bound is computed for few words only, as it is below the bound
        again = again[low[again] < (1 << 32) % wide[again]]
        result[again] = each_below(bounds[again], source)
    return result


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
    again = np.flatnonzero(drawn > np.uint64(n - 1))
    if again.size:
        drawn[again] = _masked(n, again.size, source)
    return drawn
