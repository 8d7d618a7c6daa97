"""The source of bits: OpenSSL's generator, asked anew for every block and never stored.

No pool of bits is kept, so there is nothing that a fork could duplicate: OpenSSL reseeds itself in the child.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

try:
    from ssl import RAND_bytes as _fill
except ImportError:  # a Python without OpenSSL
    from os import urandom as _fill

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["BLOCK", "Source", "bits", "blocks", "secure", "words"]

Source: TypeAlias = Callable[[int], bytes]
"""Gives that many bytes of independent fair bits."""

BLOCK = 1 << 16
"""Draws made at a time: the bits and the tables of one block stay in the cache."""


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
