"""Bits that tests spell out, and the exact law of every cell of a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mpmath import mp, mpf

from zcdp.samplers.lazy_inversion import LazyTable

Source = Callable[[int], bytes]


def then(*given: bytes, rest: bytes = b"\0") -> Source:
    """These answers first, then one byte for ever: all zeros or all ones are the two ends of a cell."""
    answers = iter(given)
    return lambda count: next(answers, rest * count)


class Fixed:
    """A stage of a sampler that gives what it is told."""

    def __init__(self, one: Any = None, many: Any = None) -> None:
        self.one, self.many, self.low = one, many, None

    def draw_one(self, source: Source) -> Any:
        return self.one

    def flip(self, source: Source) -> Any:
        return self.one

    def draw(self, count: int, source: Source, *kind: Any) -> Any:
        return np.resize(self.many, count).copy()

    def flips(self, count: int, source: Source) -> Any:
        return np.resize(self.many, count).copy()


def check(table: LazyTable, cdf: Callable[[int], Any], steps: int) -> None:
    """Runs of cells with one outcome k lie in [F(k-1), F(k)]; the open cells are those with a step inside."""
    outcomes = np.array(table._list)
    closed = outcomes != table._law.window.stop
    for k in np.unique(outcomes[closed]).tolist():
        cells = np.flatnonzero(outcomes == k)
        assert cells[-1] - cells[0] + 1 == cells.size
        with mp.workdps(60):
            assert cdf(k - 1) <= mpf(int(cells[0])) / 65536
            assert mpf(int(cells[-1]) + 1) / 65536 <= cdf(k)
    small = table._table.astype(np.int64)
    assert np.array_equal(small[small != table._mark], outcomes[small != table._mark])
    assert 65536 - closed.sum() <= steps + (outcomes == table._mark).sum() + 2
