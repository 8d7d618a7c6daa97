"""Hadamard response: all its choices enumerated, against the law that its definition gives each output."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf
from samplers.laws import exact, real

from zcdp.samplers import reports as hadamard
from zcdp.samplers.reports import HadamardReports, hadamard_width

SIZES = [(1, 1), (2, 1), (3, 1), (4, 1), (7, 1), (8, 1), (5, 2), (6, 2), (7, 2), (9, 3), (10, 3), (2, 2), (20, 4)]


def rows(width: int) -> list[list[int]]:
    """Sylvester's matrix: H of twice the size is [[H, H], [H, -H]]."""
    matrix = [[1]]
    while len(matrix) < width:
        matrix = [[*row, *row] for row in matrix] + [[*row, *(-one for one in row)] for row in matrix]
    return matrix


@pytest.mark.parametrize(("k", "parts"), SIZES)
def test_blocks_are_the_smallest_with_a_row_for_every_value(k: int, parts: int) -> None:
    """A block of width w has w - 1 rows that are not constant."""
    width = hadamard_width(k, parts)
    assert width & (width - 1) == 0
    assert parts * (width - 1) >= k > parts * (width // 2 - 1)


class Always:
    """A coin that falls on one side."""

    def __init__(self, side: bool) -> None:
        self.side = side

    def flips(self, count: int, source: Any) -> Any:
        return np.full(count, self.side)


@pytest.mark.parametrize(("k", "parts"), SIZES)
@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(5)], ids=str)
def test_each_output_has_its_weight(k: int, parts: int, epsilon: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """e^epsilon for the outputs of sign +1 in the value's row and block, 1 for all others: told or not, enumerated."""
    reports, width = HadamardReports(real(epsilon), k, parts), hadamard_width(k, parts)
    with mp.workdps(30):
        told = mpf(reports._told._p().str(30, radius=False))
        e = mp.exp(exact(epsilon))
    monkeypatch.setattr(hadamard, "integers", lambda n, count, source: np.resize(np.arange(n), count).astype(np.uint16))
    matrix, every = rows(width), width * parts
    for value in range(k):
        values = np.full(every, value)
        laws = []
        for side in (True, False):
            reports._told = Always(side)  # type: ignore[assignment]
            laws.append(Counter(reports.report(values).tolist()))
        row, start = matrix[value % (width - 1) + 1], value // (width - 1) * width
        plus = [start + y for y in range(width) if row[y] > 0]
        whole = len(plus) * e + every - len(plus)
        assert set(laws[0]) == set(plus)
        for y in range(every):
            mass = told * laws[0][y] / every + (1 - told) * mpf(laws[1][y]) / every
            assert abs(mass - (e if y in plus else 1) / whole) < 1e-14


def test_more_values_than_rows_of_32_bits_are_refused() -> None:
    HadamardReports(real(Fraction(1)), 2**31, 1)
    with pytest.raises(ValueError, match=r"must be at most 2\^31"):
        HadamardReports(real(Fraction(1)), 2**31 + 1, 1)
