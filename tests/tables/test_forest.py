"""Least squares over trees, against dense least squares in rationals and against brute force."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from zcdp.errors import BadValue
from zcdp.tables.forest import Tree, TreeSquares, classes


def random_tree(rng: random.Random, depth: int, most: int = 4) -> Tree:
    """A tree of random fan-outs, single children among them."""
    fans, size = [], 1
    for _ in range(depth):
        fans.append(tuple(rng.choice((1, 1, 2, 3, most)) for _ in range(size)))
        size = sum(fans[-1])
    return Tree(tuple(fans))


def leaf_sets(tree: Tree) -> list[list[set[int]]]:
    """For each level and node the leaves below it, found by walking up from each leaf."""
    made: list[list[set[int]]] = [[set() for _ in range(size)] for size in tree.sizes]
    for leaf in range(tree.sizes[-1]):
        node = leaf
        for level in reversed(range(tree.depth + 1)):
            made[level][node].add(leaf)
            if level:
                ends = np.cumsum(tree.fans[level - 1])
                node = next(n for n, end in enumerate(ends) if node < end)
    return made


def trees(seed: int, count: int, deepest: int = 3) -> Iterator[tuple[random.Random, Tree, tuple[Fraction, ...]]]:
    """Random trees with a random precision for each level, some levels not measured."""
    rng = random.Random(seed)
    for _ in range(count):
        tree = random_tree(rng, rng.randrange(deepest + 1))
        measured = [Fraction(rng.choice((0, 1, 1, 5, 20)), rng.choice((1, 7))) for _ in range(tree.depth)]
        yield rng, tree, (*measured, Fraction(rng.choice((1, 3)), 7))


def dense(tree: Tree, precisions: tuple[Fraction, ...]) -> tuple[list[list[int]], np.ndarray]:
    """The rows of the design (level, node) and the matrix from noisy figures to all estimates, by generalised least
    squares in floats."""
    nodes = [(level, n) for level, size in enumerate(tree.sizes) for n in range(size)]
    below = leaf_sets(tree)
    design = np.array([[float(leaf in below[at_level][n]) for leaf in range(tree.sizes[-1])] for at_level, n in nodes])
    weight = np.diag([float(precisions[level]) for level, _ in nodes])
    inverse = np.linalg.inv(design.T @ weight @ design)
    return nodes, design @ inverse @ design.T @ weight


def test_estimates_are_dense_least_squares() -> None:
    for rng, tree, precisions in trees(1, 60):
        noisy = [[rng.randrange(-50, 50) for _ in range(size)] for size in tree.sizes]
        nodes, matrix = dense(tree, precisions)
        wanted = matrix @ np.array([noisy[level][n] for level, n in nodes], dtype=float)
        found = TreeSquares(tree, precisions).estimates(noisy)
        for (level, n), one in zip(nodes, wanted, strict=True):
            cells, below = found[level]
            assert cells[n] / below == pytest.approx(one, abs=1e-8)


def test_estimates_add_up_to_the_last_digit() -> None:
    for rng, tree, precisions in trees(2, 60, 5):
        noisy = [[rng.randrange(-(10**25), 10**25) for _ in range(size)] for size in tree.sizes]
        arrays = [np.array(one, dtype=object) for one in noisy]
        found = [
            [Fraction(cell, below) for cell in cells]
            for cells, below in TreeSquares(tree, precisions).estimates(arrays)
        ]
        for level, below in enumerate(leaf_sets(tree)):
            for n, leaves in enumerate(below):
                assert found[level][n] == sum(found[-1][leaf] for leaf in leaves)


def test_each_place_of_further_axes_is_a_tree_of_its_own() -> None:
    rng, tree, precisions = list(trees(4, 5))[-1]
    squares = TreeSquares(tree, precisions)
    noisy = [[[rng.randrange(9) for _ in range(3)] for _ in range(size)] for size in tree.sizes]
    both = squares.estimates([np.array(one) for one in noisy])
    for place in range(3):
        alone = squares.estimates([[row[place] for row in one] for one in noisy])
        for (many, below), (one, same) in zip(both, alone, strict=True):
            assert (many[:, place].tolist(), below) == (one.tolist(), same)


def test_coefficients_are_the_response_to_one_noisy_figure() -> None:
    """Estimates are linear: that of a node to a 1 at one place and 0 elsewhere is its coefficient."""
    for rng, tree, precisions in trees(5, 25):
        squares = TreeSquares(tree, precisions)
        level = rng.randrange(tree.depth + 1)
        wanted = [
            [rng.randrange(-2, 3) for _ in range(tree.sizes[level])] if at_level == level else None
            for at_level in range(tree.depth + 1)
        ]
        found, unit = squares.coefficients(wanted)
        at = rng.randrange(tree.depth + 1)
        for n in range(tree.sizes[at]):
            noisy = [[int((at_level, m) == (at, n)) for m in range(size)] for at_level, size in enumerate(tree.sizes)]
            cells, below = squares.estimates(noisy)[level]
            response = sum(
                Fraction(int(factor) * cell, below) for factor, cell in zip(wanted[level] or [], cells, strict=True)
            )
            assert Fraction(found[at][n], unit) == response


def test_variances_are_those_of_the_coefficients() -> None:
    for rng, tree, precisions in trees(6, 25):
        squares = TreeSquares(tree, precisions)
        noise = [Fraction(rng.randrange(1, 99), rng.randrange(1, 9)) for _ in tree.sizes]  # not what the weights assume
        for level, (cells, below) in enumerate(squares.variances(noise)):
            for n, cell in enumerate(cells):
                one = [
                    [int(m == n) for m in range(size)] if at_level == level else None
                    for at_level, size in enumerate(tree.sizes)
                ]
                found, unit = squares.coefficients(one)
                sums = (v * sum(int(c) ** 2 for c in cs) for v, cs in zip(noise, found, strict=True))
                assert Fraction(cell, below) == sum(sums) / unit**2


def test_nodes_of_one_class_have_errors_of_one_law() -> None:
    for _, tree, precisions in trees(7, 25):
        squares = TreeSquares(tree, precisions)
        found = classes(tree, [squares])
        for level, size in enumerate(tree.sizes):
            laws: dict[int, set[object]] = {}
            for n in range(size):
                one = [
                    [int(m == n) for m in range(many)] if at_level == level else None
                    for at_level, many in enumerate(tree.sizes)
                ]
                terms = squares.coefficients(one)[0]
                law = tuple(frozenset(Counter(abs(int(c)) for c in cs).items()) for cs in terms)
                laws.setdefault(found[level][n], set()).add(law)
            assert all(len(one) == 1 for one in laws.values())


def test_an_even_tree_has_few_classes() -> None:
    tree = Tree(((4,), (8,) * 4, (2,) * 32))
    found = classes(tree, [TreeSquares(tree, (Fraction(1),) * 4)])
    assert [len(set(one.tolist())) for one in found] == [1, 1, 1, 1]


def test_weights_survive_extreme_precisions() -> None:
    tree = Tree(((2,), (1, 3)))
    for precisions in [
        (Fraction(10**400), Fraction(1), Fraction(1)),
        (Fraction(1, 10**400), Fraction(0), Fraction(10**400)),
    ]:
        squares = TreeSquares(tree, precisions)
        cells, below = squares.estimates([[100], [50, 50], [1, 2, 3, 4]])[0]
        assert cells[0] / below == pytest.approx(100 if precisions[0] > 1 else 10)
        assert all(sum(group) == 2**40 for group in [squares.shares[0], squares.shares[1][:1], squares.shares[1][1:]])


@pytest.mark.parametrize("fans", [((),), ((0,),), ((2,), (1,)), ((2,), (1, 0))])
def test_a_node_without_children_is_refused(fans: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises((BadValue, ValueError)):
        Tree(fans)


@pytest.mark.parametrize("parents", [[[0, 0], [1, 0]], [[0, 1]], [[0, 0], [0]], [[]]])
def test_parents_out_of_order_are_refused(parents: list[list[int]]) -> None:
    with pytest.raises(BadValue):
        Tree.of(parents)


def test_the_leaves_are_measured() -> None:
    with pytest.raises(BadValue, match="precisions"):
        TreeSquares(Tree(((2,),)), (Fraction(1), Fraction(0)))
