"""Kernels that count: the same as counting one by one, at every width and height."""

from __future__ import annotations

import numpy as np
import pytest

from zcdp.estimation.counting import bit_counts, hadamard_signs, member_counts, value_counts

RNG = np.random.default_rng(7)


@pytest.mark.parametrize("k", [2, 3, 8, 9, 64, 65, 130])
@pytest.mark.parametrize("height", [0, 1, 7, 2040, 2041, 9000])
def test_bits(k: int, height: int) -> None:
    bits = RNG.integers(0, 2, (height, k), dtype=np.uint8)
    assert bit_counts(np.packbits(bits, axis=1), k).tolist() == bits.sum(axis=0, dtype=int).tolist()
    every = np.packbits(np.ones((height, k), np.uint8), axis=1)
    assert bit_counts(every, k).tolist() == [height] * k
    assert bit_counts(np.asfortranarray(every), k).tolist() == [height] * k


@pytest.mark.parametrize("k", [8, 130, 1030])
@pytest.mark.parametrize("slab", [64, 2048, 20_000])
def test_bits_in_many_slabs(k: int, slab: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small slabs, and few of them at once: every carry is taken, and what is left waits at every weight."""
    monkeypatch.setattr("zcdp.estimation.counting.SLAB", slab)
    monkeypatch.setattr("zcdp.estimation.counting.SLABS", 37)
    bits = RNG.integers(0, 2, (5003, k), dtype=np.uint8)
    assert bit_counts(np.packbits(bits, axis=1), k).tolist() == bits.sum(axis=0, dtype=int).tolist()
    every = np.packbits(np.ones((5003, k), np.uint8), axis=1)
    assert bit_counts(every, k).tolist() == [5003] * k


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int64, ">i4"])
@pytest.mark.parametrize("size", [2, 100, 256, 1000])
def test_values(dtype: type, size: int) -> None:
    top = min(size, np.iinfo(dtype).max + 1)
    for height in (0, 1, 1001, 40_000):
        reports = RNG.integers(0, top, height).astype(dtype)
        expected = [int((reports == v).sum()) for v in range(size)]
        assert value_counts(reports, size).tolist() == expected
        assert value_counts(np.repeat(reports, 2)[::2], size).tolist() == expected
    if top == size:
        return
    with pytest.raises(ValueError, match="of another design"):
        value_counts(np.array([0, 1, 2], dtype), 2)


def test_a_byte_beyond_the_values_is_refused() -> None:
    for reports in ([7], [0, 7], [0, 0, 7]):
        with pytest.raises(ValueError, match="of another design"):
            value_counts(np.array(reports, np.uint8), 7)


def test_members_and_signs() -> None:
    assert member_counts(np.array([[0, 2], [1, 2]]), 4).tolist() == [1, 1, 2, 0]
    tally = RNG.integers(0, 9, 16)
    direct = [sum(int(tally[y]) * (-1) ** (row & y).bit_count() for y in range(16)) for row in range(16)]
    assert hadamard_signs(tally).tolist() == direct
