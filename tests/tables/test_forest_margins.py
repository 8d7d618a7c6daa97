"""Tables by a forest of keys crossed with flat keys, against dense least squares over the finest table."""

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


def forests(seed: int, count: int) -> Iterator[tuple[random.Random, ForestMargins]]:
    """Random tables by levels of random trees and up to two flat factors, in any order and not all combinations."""
    rng = random.Random(seed)
    for _ in range(count):
        tree = random_tree(rng, rng.randrange(1, 3), most=3)
        sizes = tuple(rng.choice((1, 2, 3)) for _ in range(rng.randrange(3)))
        levels = [tree.depth, *(rng.randrange(tree.depth + 1) for _ in range(rng.randrange(1, 5)))]
        tables = [(one, tuple(rng.sample(range(len(sizes)), rng.randrange(len(sizes) + 1)))) for one in levels]
        rng.shuffle(tables)
        variances = tuple(Fraction(rng.randrange(1, 400), rng.choice((1, 9))) for _ in tables)
        yield rng, ForestMargins(tree, sizes, *zip(*tables, strict=True), variances)


def design(tables: ForestMargins, k: int) -> np.ndarray:
    """Which cells of the finest table (leaf, then all flat factors) are in each cell of table k."""
    finest = list(product(range(tables.tree.sizes[-1]), *map(range, tables.sizes)))
    below = leaf_sets(tables.tree)[tables.levels[k]]
    cells = product(range(len(below)), *(range(tables.sizes[a]) for a in tables.axes[k]))
    return np.array(
        [
            [
                int(leaf in below[node] and all(at[a] == x for a, x in zip(tables.axes[k], place, strict=True)))
                for leaf, *at in finest
            ]
            for node, *place in cells
        ]
    )


def test_estimates_variances_and_laws_are_those_of_dense_least_squares() -> None:
    for rng, tables in forests(1, 40):
        rows = [design(tables, k) for k in range(len(tables.axes))]
        noise = np.concatenate([np.full(len(one), float(v)) for one, v in zip(rows, tables.variances, strict=True)])
        dense, root = np.concatenate(rows).astype(float), 1 / np.sqrt(noise)
        fitted = dense @ np.linalg.pinv(dense * root[:, None]) * root
        seen = [[rng.randrange(-99, 100) for _ in one] for one in rows]
        wanted = fitted @ np.array([value for one in seen for value in one], dtype=float)
        spread = (fitted**2) @ noise
        found = tables.estimates(seen)
        assert np.array([cell / below for cells, below in found for cell in cells]) == pytest.approx(wanted, abs=1e-6)
        at = 0
        for k, one in enumerate(rows):
            nodes = tables.tree.sizes[tables.levels[k]]
            cells, below = tables.spread(k, tables.variances)
            for n in range(len(one)):
                node = n // (len(one) // nodes)
                assert cells[node] / below == pytest.approx(spread[at + n], rel=1e-6)
                terms = tables.terms(k, node)
                told = sum(share**2 * count * tables.variances[m] for m, share, count in terms)
                assert Fraction(cells[node], below) == told  # exactly, by two ways
            at += len(one)


def test_terms_are_the_coefficients_of_the_noise() -> None:
    """The response of a cell to a 1 in each noisy cell, one after another: the sizes, and how often each occurs."""
    for rng, tables in forests(2, 30):
        rows = [design(tables, k) for k in range(len(tables.axes))]
        k = rng.randrange(len(rows))
        cell = rng.randrange(len(rows[k]))
        responses: dict[tuple[int, Fraction], int] = {}
        for n, one in enumerate(rows):
            for at in range(len(one)):
                seen = [[int((m, x) == (n, at)) for x in range(len(other))] for m, other in enumerate(rows)]
                cells, below = tables.estimates(seen)[k]
                size = abs(Fraction(cells[cell], below))
                if size:
                    responses[n, size] = responses.get((n, size), 0) + 1
        node = cell // (len(rows[k]) // tables.tree.sizes[tables.levels[k]])
        assert {(n, share): count for n, share, count in tables.terms(k, node)} == responses


def test_estimates_add_up_to_the_last_digit() -> None:
    """The estimate of every cell that two tables both determine is the same number."""
    for rng, tables in forests(3, 40):
        rows = [design(tables, k) for k in range(len(tables.axes))]
        seen = [[rng.randrange(-(10**20), 10**20) for _ in one] for one in rows]
        found = [[Fraction(cell, below) for cell in cells] for cells, below in tables.estimates(seen)]
        for k, m in product(range(len(rows)), repeat=2):
            level = min(tables.levels[k], tables.levels[m])
            shared = sorted(set(tables.axes[k]) & set(tables.axes[m]))
            common = ForestMargins(tables.tree, tables.sizes, (level,), (tuple(shared),), (Fraction(1),))
            for whole in design(common, 0):
                sums = [
                    sum(
                        value
                        for row, value in zip(rows[t], found[t], strict=True)
                        if (row <= whole).all() and row.any()
                    )
                    for t in (k, m)
                ]
                assert sums[0] == sums[1]


def test_nodes_of_one_class_have_one_law() -> None:
    for _, tables in forests(4, 15):
        for k in range(len(tables.axes)):
            laws: dict[int, set[frozenset[object]]] = {}
            for node, one in enumerate(tables.classes(k)):
                laws.setdefault(int(one), set()).add(frozenset(tables.terms(k, node)))
            assert all(len(one) == 1 for one in laws.values())


def test_one_list_of_municipalities_has_few_laws() -> None:
    """17 regions, 200 municipalities: so few classes that every half-width is by its exact law."""
    rng = random.Random(5)
    fans = [8 + rng.randrange(8) for _ in range(17)]
    tree = Tree(((17,), tuple(fans)))
    tables = ForestMargins(tree, (), (0, 1, 2), ((), (), ()), (Fraction(300),) * 3)
    assert sum(len(set(tables.classes(k).tolist())) for k in range(3)) <= 40
