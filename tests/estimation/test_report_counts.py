"""Kernels that count: the same as counting one by one, at every width and height."""

from __future__ import annotations

import numpy as np
import pytest

from zcdp.estimation.report_counts import bit_counts, hadamard_signs, integer_reports, member_counts, value_counts

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
    monkeypatch.setattr("zcdp.estimation.report_counts.SLAB_BYTES", slab)
    monkeypatch.setattr("zcdp.estimation.report_counts.SLABS_PER_SUM", 37)
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


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int64, bool])
def test_bits_that_are_not_in_unsigned_bytes_are_refused(kind: type) -> None:
    with pytest.raises(TypeError, match=r"packed bits must be bytes \(uint8\)"):
        bit_counts(np.ones((2, 1), dtype=kind), 8)


@pytest.mark.parametrize("size", [3, 8])
def test_bits_beyond_the_values_are_refused_wherever_they_are(size: int) -> None:
    """In a few rows and in many, in the first and the last of them, whichever bit it is."""
    for height in (1, 300, 13_000):
        rows = np.zeros((height, 2), dtype=np.uint8)
        assert bit_counts(rows, 8 + size).tolist() == [0] * (8 + size)
        for place in range(8 + size, 16):
            for row in {0, height - 1}:
                rows[row, 1] = 1 << (15 - place)
                with pytest.raises(ValueError, match=f"a report has bits beyond the {8 + size} values"):
                    bit_counts(rows, 8 + size)
                rows[row, 1] = 0


def test_reports_are_refused_wherever_they_lie_beyond() -> None:
    """In the first block that is counted and in a later one."""
    for kind in (np.uint8, np.int32):
        for place in (0, (1 << 20) + 7):
            reports = np.zeros((1 << 20) + 8, dtype=kind)
            reports[place] = 3
            assert value_counts(reports, 4).tolist() == [reports.size - 1, 0, 0, 1]
            with pytest.raises(ValueError, match=r"reports must lie in 0 \.\. 2"):
                value_counts(reports, 3)


def test_members_must_increase_in_every_row() -> None:
    assert member_counts(np.array([[3], [1], [3]]), 4).tolist() == [0, 1, 0, 2]
    for rows in ([[0, 1, 2], [0, 2, 2]], [[0, 1, 2], [2, 1, 3]], [[1, 0, 2]]):
        with pytest.raises(ValueError, match="increasing values"):
            member_counts(np.array(rows), 4)


def test_reports_are_integers_in_rows_of_the_right_length() -> None:
    assert integer_reports([]).size == 0
    assert integer_reports([], columns=3).shape == (0, 3)
    assert integer_reports([[1, 2], [3, 4]], columns=2).shape == (2, 2)
    assert integer_reports([1, 2], columns=2).shape == (1, 2)
    for wrong in ([0.0, 1.0], [True], ["a"]):
        with pytest.raises(TypeError, match="reports must be integers"):
            integer_reports(wrong)
    for wrong in ([[1, 2, 3, 4]], [1, 2, 3, 4], [[1], [2]], 5):
        with pytest.raises(ValueError, match="each report must be a row of 2"):
            integer_reports(wrong, columns=2)
