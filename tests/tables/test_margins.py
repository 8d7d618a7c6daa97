"""Adjusted tables: they add up exactly, are the least squares of an independent program, and are rounded by little."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zcdp.tables.margins import Margins, chain_of, non_negative, shared_out, whole

Cells = dict[tuple[int, ...], Any]


@st.composite
def hierarchies(draw: st.DrawFn, *, chains: bool = False) -> Margins:
    """Some tables over up to four factors, each in an order of its own."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    every = list(range(len(sizes)))
    if chains:
        order = draw(st.permutations(every))
        ends = draw(st.lists(st.integers(0, len(sizes)), min_size=2, max_size=4))
        axes = [tuple(draw(st.permutations(order[:end]))) for end in ends]
    else:
        tables = draw(st.lists(st.sets(st.sampled_from(every)), min_size=2, max_size=5))
        axes = [tuple(draw(st.permutations(sorted(one)))) for one in tables]
    variances = [Fraction(draw(st.integers(1, 400)), draw(st.integers(1, 9))) for _ in axes]
    return Margins(tuple(sizes), tuple(axes), tuple(variances))


def cells_of(tables: Margins, k: int) -> list[tuple[int, ...]]:
    return list(product(*(range(tables.sizes[a]) for a in tables.axes[k])))


def noisy(tables: Margins, data: st.DataObject, most: int) -> list[list[int]]:
    return [
        data.draw(st.lists(st.integers(-most, most), min_size=size, max_size=size))
        for size in (len(cells_of(tables, k)) for k in range(len(tables.axes)))
    ]


def check_that_they_add_up(tables: Margins, figures: Sequence[Sequence[Any]]) -> None:
    """Any two tables have the same sums over all factors that they do not share."""
    for k, one in enumerate(tables.axes):
        for m, other in enumerate(tables.axes[:k]):
            shared = set(one) & set(other)
            sums: list[Cells] = [{}, {}]
            for n, (table, axes) in enumerate(((k, one), (m, other))):
                for place, figure in zip(cells_of(tables, table), figures[table], strict=True):
                    at = tuple(x for _, x in sorted((a, x) for a, x in zip(axes, place, strict=True) if a in shared))
                    sums[n][at] = sums[n].get(at, 0) + figure
            assert sums[0] == sums[1]


@settings(max_examples=40)
@given(hierarchies(), st.data())
def test_whole_figures_add_up_and_are_near(tables: Margins, data: st.DataObject) -> None:
    given_figures = noisy(tables, data, 10**20)  # integers that no float holds
    estimates = tables.estimates(given_figures)
    check_that_they_add_up(tables, [[Fraction(c, below) for c in cells] for cells, below in estimates])
    shapes = [[tables.sizes[a] for a in axes] for axes in tables.axes]
    figures = [whole(*one) for one in zip(estimates, shapes, strict=True)]
    check_that_they_add_up(tables, figures)
    for (cells, below), figure, shape in zip(estimates, figures, shapes, strict=True):
        assert all(type(one) is int for one in figure)
        near = Fraction(2 ** len(shape), 2)
        assert max(abs(Fraction(c, below) - f) for c, f in zip(cells, figure, strict=True)) <= near


@settings(max_examples=40)
@given(hierarchies(chains=True), st.data())
def test_figures_of_a_chain_add_up_and_none_is_below_zero(tables: Margins, data: st.DataObject) -> None:
    assert chain_of(tables.axes) is not None
    figures = non_negative(tables.estimates(noisy(tables, data, 50)), tables.sizes, tables.axes)
    check_that_they_add_up(tables, figures)
    assert min(min(one) for one in figures) >= 0


@settings(max_examples=40)
@given(st.lists(st.integers(-30, 30), min_size=1, max_size=8), st.integers(1, 7), st.integers(0, 40))
def test_what_is_shared_out_is_near_the_nearest(cells: list[int], below: int, total: int) -> None:
    found = shared_out(cells, below, total)
    assert sum(found) == total
    assert min(found) >= 0
    # by bisection for the number that all are lowered by
    low, high = min(cells) / below - total - 1.0, max(cells) / below + 1.0
    for _ in range(80):
        middle = (low + high) / 2
        above = sum(max(c / below - middle, 0) for c in cells) > total
        low, high = (middle, high) if above else (low, middle)
    assert max(abs(f - max(c / below - high, 0)) for f, c in zip(found, cells, strict=True)) < 1 + 1e-6


@settings(max_examples=25)
@given(hierarchies(), st.data())
def test_estimates_and_their_variance_are_those_of_least_squares(tables: Margins, data: st.DataObject) -> None:
    full = list(product(*(range(size) for size in tables.sizes)))
    rows, variances = [], []
    for k, axes in enumerate(tables.axes):
        for place in cells_of(tables, k):
            rows.append([float(all(f[a] == x for a, x in zip(axes, place, strict=True))) for f in full])
            variances.append(float(tables.variances[k]))
    design, weight = np.array(rows), 1 / np.sqrt(np.array(variances))
    seen = noisy(tables, data, 1000)
    flat = np.array([value for one in seen for value in one], dtype=float)
    solved = np.linalg.lstsq(design * weight[:, None], flat * weight, rcond=None)[0]
    estimates = tables.estimates(seen)
    mine = np.array([cell / below for cells, below in estimates for cell in cells])
    assert np.abs(design @ solved - mine).max() < 1e-6
    fitted = design @ np.linalg.pinv(design * weight[:, None]) * weight
    spread = np.sqrt((fitted**2) @ np.array(variances))
    told = [
        sum(share**2 * count * tables.variances[n] for n, share, count in tables.terms(k)) ** 0.5
        for k in range(len(tables.axes))
        for _ in cells_of(tables, k)
    ]
    assert spread == pytest.approx(np.array(told), rel=1e-6, abs=1e-9)


@settings(max_examples=25)
@given(hierarchies(), st.data())
def test_exact_tables_are_left_as_they_are(tables: Margins, data: st.DataObject) -> None:
    """Right on average: where there is no noise nothing is adjusted, whatever the weights."""
    full = list(product(*(range(size) for size in tables.sizes)))
    size = prod(tables.sizes)
    truth = dict(zip(full, data.draw(st.lists(st.integers(0, 99), min_size=size, max_size=size)), strict=True))
    exact = [
        [
            sum(n for f, n in truth.items() if all(f[a] == x for a, x in zip(axes, place, strict=True)))
            for place in cells_of(tables, k)
        ]
        for k, axes in enumerate(tables.axes)
    ]
    for (cells, below), true in zip(tables.estimates(exact), exact, strict=True):
        assert cells == [below * one for one in true]


# Figures of at least 0 that add up: the coarsest are the nearest, and finer ones by trying every way to share out.


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
