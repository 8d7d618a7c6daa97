"""Sources of bits for tests only: seeded, scripted, and one that must not be touched. The package ships none."""

from __future__ import annotations

from collections.abc import Callable
from random import Random


def seeded(seed: int) -> Callable[[int], bytes]:
    """The same bits in every run."""
    return Random(seed).randbytes


def scripted(numerator: int, bits: int) -> Callable[[int], bytes]:
    """The binary digits of numerator/2^bits, then zeros, in the little-endian words that the samplers ask for."""
    position = 0

    def source(count: int) -> bytes:
        nonlocal position
        width = 8 * count
        position += width
        word = numerator >> (bits - position) if position <= bits else numerator << (position - bits)
        return (word & ((1 << width) - 1)).to_bytes(count, "little")

    return source


def untouchable(count: int) -> bytes:
    raise AssertionError(f"{count} bytes of randomness were drawn")
