"""Figures of at least 0 that add up: the coarsest are the nearest, and finer ones by trying every way to share out."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from zcdp.tables.margins import chain_of, non_negative, shared_out


@pytest.mark.parametrize("below", [1, 2, 3, 7])
def test_the_coarsest_figures_are_the_nearest_that_are_not_below_zero(below: int) -> None:
    for cell in range(-3 * below, 4 * below):
        [[found], [same]] = non_negative([([cell], below), ([cell], below)], (1,), ((), (0,)))
        nearest = min(abs(Fraction(cell, below) - n) for n in range(5))
        assert abs(Fraction(cell, below) - found) == nearest
        assert found == same >= 0


@pytest.mark.parametrize("total", [0, 1, 2, 4])
def test_what_is_shared_out_is_near_the_best_of_all_ways(total: int) -> None:
    """In sixths, of which the nearest reals of three cells are whole numbers, all ways are tried."""
    ways = [(a, b, 6 * total - a - b) for a in range(6 * total + 1) for b in range(6 * total + 1 - a)]
    for cells in product((-2, 0, 1, 3), repeat=3):
        found = shared_out(cells, 1, total)
        assert (sum(found), min(found) >= 0) == (total, True)
        x, y, z = (6 * cell for cell in cells)
        best = min(ways, key=lambda one: (one[0] - x) ** 2 + (one[1] - y) ** 2 + (one[2] - z) ** 2)
        assert all(abs(6 * f - way) < 6 for f, way in zip(found, best, strict=True)), (cells, found, best)


def test_a_chain_goes_from_the_coarsest_to_the_finest_whatever_the_order_of_keys() -> None:
    assert chain_of([(2, 0), (0,), (1, 2, 0), ()]) == [3, 1, 0, 2]
    assert chain_of([(0, 1), (1, 2)]) is None
    assert chain_of([(), (0,), (1,)]) is None


def test_each_group_of_finer_cells_adds_up_to_its_own_coarser_cell() -> None:
    """Two by three cells, keys in either order: what one row has is told by the coarser table alone."""
    for axes, rows in (((0, 1), [[0, 1, 2], [3, 4, 5]]), ((1, 0), [[0, 2, 4], [1, 3, 5]])):
        fine = [5, -9, 4, 0, 7, 1]
        coarse, made = non_negative([([8, 3], 1), (fine, 1)], (2, 3), ((0,), axes))
        assert coarse == [8, 3]
        assert [sum(made[n] for n in row) for row in rows] == [8, 3]
        for total, row in zip(coarse, rows, strict=True):
            assert [made[n] for n in row] == shared_out([fine[n] for n in row], 1, total)
