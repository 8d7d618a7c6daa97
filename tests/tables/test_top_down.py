"""Figures of at least 0: whole, adding up, near the projection, on random forests and under hostile noise."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from tables.test_forest import leaf_sets, random_tree
from zcdp.tables.forest import Tree
from zcdp.tables.forest_margins import ForestMargins
from zcdp.tables.top_down import UNIT, Circulation, chain_figures, non_negative_figures, projected

Tables = list[tuple[int, tuple[int, ...]]]


def nearest(cells: list[int], weights: list[int], total: int) -> list[float]:
    """max(x - z w, 0) with the sum, by bisection for z."""
    low = min((x - total) / w for x, w in zip(cells, weights, strict=True)) - 1.0
    high = max(x / w for x, w in zip(cells, weights, strict=True)) + 1.0
    for _ in range(200):
        z = (low + high) / 2
        over = sum(max(x - z * w, 0.0) for x, w in zip(cells, weights, strict=True)) > total
        low, high = (z, high) if over else (low, z)
    return [max(x - high * w, 0.0) for x, w in zip(cells, weights, strict=True)]


def test_the_projection_is_the_nearest() -> None:
    rng = random.Random(1)
    for _ in range(300):
        size = rng.randrange(1, 8)
        cells = [rng.randrange(-(10**6), 10**6) for _ in range(size)]
        weights, total = [rng.randrange(1, 50) for _ in range(size)], rng.choice((0, 1, 7, 10**5, 10**7))
        found = projected(cells, weights, total)
        assert (sum(found), min(found) >= 0) == (total, True)
        assert np.array(found) == pytest.approx(np.array(nearest(cells, weights, total)), abs=size + 1e-3)


def test_cells_that_are_all_far_below_zero_share_the_total() -> None:
    assert projected([-(10**9)] * 4, [1] * 4, 8) == [2] * 4
    assert projected([-5, -5], [1, 1], 0) == [0, 0]
    assert projected([-7], [3], 5) == [5]


def sets(seed: int, count: int) -> Iterator[tuple[random.Random, Tree, tuple[int, ...], Tables]]:
    """Random trees with single children, and tables of a chain, or of two families."""
    rng = random.Random(seed)
    for n in range(count):
        tree = random_tree(rng, rng.randrange(1, 4))
        levels = range(tree.depth + 1)
        if n % 2:
            sizes = tuple(rng.choice((1, 2, 3)) for _ in range(2))
            key, tables = [0, 0], [(0, ())]
            while key != [tree.depth, 2]:
                key[rng.choice([k for k in (0, 1) if key[k] < (tree.depth, 2)[k]])] += 1
                tables.append((key[0], tuple(range(key[1]))[:: rng.choice((1, -1))]))
            tables = [one for one in tables if rng.random() < 0.7] or tables
        else:
            sizes = (rng.choice((1, 2, 3, 5)),)
            tables = [(level, axes) for level in levels for axes in ((), (0,)) if rng.random() < 0.6]
            tables.append((tree.depth, rng.choice(((), (0,)))))
            tables = list(dict.fromkeys(tables))
            tables += [] if any(axes for _, axes in tables) else [(rng.choice(levels), (0,))]
        rng.shuffle(tables)
        yield rng, tree, sizes, tables


def cells(tree: Tree, sizes: tuple[int, ...], level: int, axes: tuple[int, ...]) -> list[frozenset[tuple[int, ...]]]:
    """For each cell of a table the finest cells in it."""
    below = leaf_sets(tree)[level]
    every = list(product(*map(range, sizes)))
    return [
        frozenset(
            (leaf, *at)
            for leaf in below[node]
            for at in every
            if all(at[a] == x for a, x in zip(axes, place, strict=True))
        )
        for node, *place in product(range(len(below)), *(range(sizes[a]) for a in axes))
    ]


def check(tree: Tree, sizes: tuple[int, ...], tables: Tables, figures: list[list[int]]) -> None:
    """Whole, at least 0, and adding up: every cell that is a union of cells of another table is their sum."""
    made = [(cells(tree, sizes, *one), many) for one, many in zip(tables, figures, strict=True)]
    for groups, many in made:
        assert all(type(one) is int and one >= 0 for one in many)
        for finer, others in made:
            for group, figure in zip(groups, many, strict=True):
                inside = [(one, value) for one, value in zip(finer, others, strict=True) if one <= group]
                if frozenset().union(*(one for one, _ in inside)) == group:
                    assert figure == sum(value for _, value in inside)


def noisy(
    rng: random.Random, tree: Tree, sizes: tuple[int, ...], tables: Tables, spread: int
) -> list[tuple[list[int], int]]:
    margins = ForestMargins(tree, sizes, *zip(*tables, strict=True), tuple(Fraction(1) for _ in tables))  # type: ignore[arg-type]
    low, high = rng.choice(((-spread, spread), (-3 * spread, -spread), (0, spread), (-1, 1)))
    return margins.estimates([[rng.randint(low, high) for _ in cells(tree, sizes, *one)] for one in tables])


def test_figures_are_whole_add_up_and_none_is_below_zero() -> None:
    for rng, tree, sizes, tables in sets(2, 120):
        estimates = noisy(rng, tree, sizes, tables, rng.choice((3, 40, 10**9)))
        variances = [np.array([rng.uniform(0.1, 3) for _ in range(size)]) for size in tree.sizes]
        check(tree, sizes, tables, non_negative_figures(tree, sizes, tables, estimates, variances))


def test_estimates_that_are_at_least_zero_are_only_rounded() -> None:
    """Then there is nothing to project: every figure is within 1 of its estimate, in chains and in two families."""
    worst = 0.0
    for rng, tree, sizes, tables in sets(3, 120):
        finest = {
            one: Fraction(rng.randrange(50), rng.choice((1, 3, 7)))
            for one in cells(tree, sizes, tree.depth, tuple(range(len(sizes))))
        }
        below = 21
        estimates = [
            (
                [
                    int(below * sum(value for one, value in finest.items() if one <= group))
                    for group in cells(tree, sizes, *table)
                ],
                below,
            )
            for table in tables
        ]
        figures = non_negative_figures(tree, sizes, tables, estimates, [np.ones(size) for size in tree.sizes])
        check(tree, sizes, tables, figures)
        for (given, _), found in zip(estimates, figures, strict=True):
            worst = max(worst, *(abs(Fraction(x, below) - y) for x, y in zip(given, found, strict=True)))
    assert 0.5 < worst < 1 + 1e-9


def test_a_chain_keeps_the_coarse_figures_whatever_is_below() -> None:
    tree = Tree(((2,), (3, 1)))
    tables: Tables = [(0, ()), (1, ()), (2, ())]
    estimates = [([100], 1), ([70, 30], 1), ([100, -20, -10, 30], 1)]
    ones = [np.ones(size) for size in tree.sizes]
    assert non_negative_figures(tree, (), tables, estimates, ones) == [[100], [70, 30], [70, 0, 0, 30]]
    below_zero = [([-5], 1), ([-3, -2], 1), ([-1, -1, -1, -2], 1)]
    assert non_negative_figures(tree, (), tables, below_zero, ones) == [[0], [0, 0], [0, 0, 0, 0]]


def test_a_sibling_of_larger_variance_gives_way_further() -> None:
    tree = Tree(((2,),))
    found = chain_figures([([10], 1), ([10, 6], 1)], [tree.parents(1)], [np.array([1]), np.array([2, 1], dtype=object)])
    assert found == [[10], [6, 4]]


def test_a_circulation_is_rounded_where_sums_key_by_key_would_fall_below_zero() -> None:
    """Two rows that each hold one half of two values of the key: whichever halves go up, rows and columns agree."""
    half = UNIT // 2
    flow = Circulation()
    rows = [[flow.add(("row", i), ("column", j), half if i // 2 == j // 2 else 0) for j in range(4)] for i in range(4)]
    for i in range(4):
        flow.add("all", ("row", i), 2 * half)
        flow.add(("column", i), "all", 2 * half)
    found = [[flow.flows[edge] // UNIT for edge in row] for row in rows]
    assert all(flow.flows[edge] % UNIT == 0 for row in rows for edge in row)
    assert [sum(row) for row in found] == [sum(column) for column in zip(*found, strict=True)] == [1] * 4


def test_totals_and_regions_are_right_on_average_and_the_bias_is_that_of_the_report() -> None:
    """A total, 3 regions and 24 places, half of them of 0 to 3 persons, by noise of deviation 17, drawn 300 times.

    Cells cut one by one at 0 and added up would have put 12 times 6 persons too many into the total.
    """
    rng, tree, draws = random.Random(7), Tree(((3,), (8, 4, 12))), 300
    places = np.array([rng.randrange(4) if n % 2 else rng.randrange(200, 900) for n in range(24)])
    regions = tree.summed(1, places)
    truth = [tree.summed(0, regions), regions, places]
    margins = ForestMargins(tree, (), (0, 1, 2), ((), (), ()), (Fraction(289),) * 3)
    tables: Tables = [(0, ()), (1, ()), (2, ())]
    sums = [np.zeros(len(one)) for one in truth]
    squares = np.zeros((2, 24))
    for _ in range(draws):
        estimates = margins.estimates([[int(x) + round(rng.gauss(0, 17)) for x in one] for one in truth])
        found = non_negative_figures(tree, (), tables, estimates, margins.below)
        sums = [total + np.array(one) for total, one in zip(sums, found, strict=True)]
        cells, below = estimates[2]
        squares += [(np.array(one) - places) ** 2 for one in ([float(cell / below) for cell in cells], found[2])]
    off = [total / draws - one for total, one in zip(sums, truth, strict=True)]
    assert np.max(np.abs(np.concatenate(off[:2]))) < 4.5 * 17 / draws**0.5
    small = np.arange(24) % 2 == 1
    # one empty cell beside each large one: 0.28 of the deviation of 16.4, less for those that hold up to 3 persons
    assert 2.5 < np.mean(off[2][small]) < 5.5
    assert -5.5 < np.mean(off[2][~small]) < -2.5
    # small cells are nearer by a third, and large ones hardly farther
    apart = np.sqrt([[one[small].mean(), one[~small].mean()] for one in squares / draws])
    assert apart == pytest.approx(np.array([[16.3, 16.3], [9.8, 16.7]]), rel=0.04)
