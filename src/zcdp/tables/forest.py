"""Least squares over a tree of noisy figures, in one pass up and one down: estimates, variances and errors.

A tree has levels, from the root to the leaves, which all stand on the last level; nodes may have different numbers of
children. Estimates add up on every level. Weights are proposed in floats and rounded to 40 bits; whatever they are,
estimates are right on average and add up, and all that follows from them is exact. Theorem: docs/theorems/forests.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from zcdp.errors import BadValue

__all__ = ["Tree", "TreeSquares", "classes"]

BITS = 40
"""Weights are multiples of 2^-40."""
UNIT = 1 << BITS
LARGEST_RATIO = 10**200  # of precisions of two levels, so that floats do not overflow


@dataclass(frozen=True)
class Tree:
    """A tree by levels: `fans[l]` has the number of children of each node of level l, in the order of the nodes.

    Level 0 is the root, and children of one node stand together: nodes are in depth-first order on every level.

    >>> tree = Tree(((2,), (1, 3)))                      # two regions, of one and of three municipalities
    >>> tree.sizes, tree.leaves(1).tolist(), tree.parents(2).tolist()
    ((1, 2, 4), [1, 3], [0, 1, 1, 1])
    >>> tree.summed(1, np.array([5, 1, 2, 3])).tolist()
    [5, 6]
    """

    fans: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        size = 1
        for level, fans in enumerate(self.fans):
            if len(fans) != size or min(fans) < 1:
                raise BadValue(f"fans[{level}] must have a positive number of children for each of {size} nodes")
            size = sum(fans)

    @classmethod
    def of(cls, parents: Sequence[Sequence[int]]) -> Tree:
        """The tree from the parent of each node, level by level, from the children of the root on.

        >>> Tree.of([[0, 0], [0, 1, 1, 1]])
        Tree(fans=((2,), (1, 3)))
        """
        fans, size = [], 1
        for level, above in enumerate(parents, 1):
            found = np.asarray(above, dtype=np.int64)
            if not len(found) or found[0] < 0 or found[-1] >= size or np.any(np.diff(found) < 0):
                raise BadValue(f"parents[{level - 1}] must be in order: siblings stand together, as their parents do")
            fans.append(tuple(np.bincount(found, minlength=size).tolist()))
            size = len(found)
        return cls(tuple(fans))

    @property
    def depth(self) -> int:
        """The level of the leaves."""
        return len(self.fans)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of nodes of each level."""
        return (1, *(sum(fans) for fans in self.fans))

    @cached_property
    def _fans(self) -> list[Any]:
        return [np.array(fans) for fans in self.fans]

    @cached_property
    def _starts(self) -> list[Any]:
        """The first child of each node, level by level."""
        return [np.cumsum(fans) - fans for fans in self._fans]

    def cut(self, depth: int) -> Tree:
        """The tree down to a level, whose nodes become the leaves."""
        return Tree(self.fans[:depth])

    def parents(self, level: int) -> Any:
        """The parent of each node of a level below the root, as its number on the level above."""
        return np.repeat(np.arange(self.sizes[level - 1]), self._fans[level - 1])

    def leaves(self, level: int) -> Any:
        """The number of leaves below each node of a level."""
        found = np.ones(self.sizes[-1], dtype=np.int64)
        for above in reversed(range(level, self.depth)):
            found = self.summed(above, found)
        return found

    def summed(self, level: int, cells: Any) -> Any:
        """For each node of a level the sum over its children; further axes of the array are kept."""
        return np.add.reduceat(cells, self._starts[level], axis=0)

    def largest(self, level: int, cells: Any) -> Any:
        """For each node of a level the largest number among its children."""
        return np.maximum.reduceat(cells, self._starts[level], axis=0)

    def handed_down(self, level: int, cells: Any) -> Any:
        """The array of a level, each row repeated for all children of its node."""
        return np.repeat(cells, self._fans[level], axis=0)


@dataclass(frozen=True)
class TreeSquares:
    """Least squares over a tree; `precisions` has for each level 1/variance of the noise of a node, 0 if not measured.

    The leaves are measured. The estimates have the least variance among all that are linear, right on average and add
    up; with precisions that are not the true ones they are still right on average and add up.

    >>> both = TreeSquares(Tree(((2,),)), (Fraction(1), Fraction(1)))     # a total, and two cells
    >>> [[round(cell / below, 6) for cell in cells] for cells, below in both.estimates([[13], [4, 6]])]
    [[12.0], [5.0, 7.0]]
    """

    tree: Tree
    precisions: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if len(self.precisions) != self.tree.depth + 1 or min(self.precisions) < 0 or self.precisions[-1] <= 0:
            raise BadValue("precisions must be one for each level, none below 0, and that of the leaves positive")

    @cached_property
    def own(self) -> list[Any]:
        """The weight of a node's own figure against the sum of its children, in 2^-40; for all levels but the last."""
        return self._weights[0]

    @cached_property
    def shares(self) -> list[Any]:
        """The share of each node in what its parent has to correct, in 2^-40, level by level from the second on.

        Those of siblings sum to 2^40.
        """
        return self._weights[1]

    @cached_property
    def below(self) -> list[Any]:
        """The variance of the best estimate of each node from itself and what is below it, in floats.

        The unit is the variance of a leaf. They are proposals, for weights alone.
        """
        return self._weights[2]

    @cached_property
    def _weights(self) -> tuple[list[Any], list[Any], list[Any]]:
        tree, last = self.tree, self.precisions[-1]
        relative = [float(min(one / last, Fraction(LARGEST_RATIO))) for one in self.precisions]
        variances = [np.ones(tree.sizes[-1])]
        own, shares = [], []
        for level in reversed(range(tree.depth)):
            summed = tree.summed(level, variances[-1])
            weight = summed * relative[level] / (1 + summed * relative[level])
            shares.append(_shares(tree, level, variances[-1] / tree.handed_down(level, summed)))
            own.append(_exact(np.rint(weight * UNIT)))
            variances.append(summed * (1 - weight))
        return own[::-1], shares[::-1], variances[::-1]

    def estimates(self, noisy: Sequence[Any]) -> list[tuple[Any, int]]:
        """The estimates on each level, as an array of numerators and their common denominator.

        `noisy` has the integers of each level; what stands at a level of precision 0 does not count. They may be
        arrays with further axes, each of whose places is a tree of its own.
        """
        tree = self.tree
        found = [_exact(noisy[-1])]  # from the leaves up, over 2^40 to the power of the levels below
        sums = []
        for level in reversed(range(tree.depth)):
            below = 1 << BITS * (tree.depth - level - 1)
            own = _along(self.own[level], found[-1])
            sums.append(tree.summed(level, found[-1]))
            measured = _exact(noisy[level]) * below if self.precisions[level] else 0
            found.append(own * measured + (UNIT - own) * sums[-1])
        made = [(found.pop(), 1 << BITS * tree.depth)]
        for level in range(tree.depth):
            above, below = made[-1]
            up = 1 << BITS * (level + level + 1)  # from the denominator of the pass up to that of the pass down
            missing = above - sums.pop() * (below >> BITS * (tree.depth - level - 1))
            share = _along(self.shares[level], found[-1])
            made.append((found.pop() * (up << BITS) + share * tree.handed_down(level, missing), below << BITS))
        return made

    def variances(self, noise: Sequence[Fraction]) -> list[tuple[Any, int]]:
        """The exact variance of each estimate, level by level: numerators and their denominator.

        `noise` has the variance of the noise of a node of each level, whatever `precisions` are.
        """
        tree = self.tree
        common = np.lcm.reduce([one.denominator for one in map(Fraction, noise)], dtype=object)
        scaled = [int(one * common) for one in noise]
        found: list[Any] = [np.full(tree.sizes[-1], scaled[-1], dtype=object)]
        sums: list[Any] = []
        for level in reversed(range(tree.depth)):
            own, below = self.own[level], 1 << 2 * BITS * (tree.depth - level - 1)
            sums.append(tree.summed(level, found[-1]))
            found.append(own * own * (scaled[level] * below) + (UNIT - own) ** 2 * sums[-1])
        shift = 2 * BITS
        made = [found.pop()]  # over 2^80 to the power of depth + level
        depends: Any = np.full(1, 1, dtype=object)  # of the estimate on its part from below, over 2^80 to the level
        for level in range(tree.depth):
            share, summed, one = self.shares[level], sums.pop(), found.pop()
            moved = tree.handed_down(level, depends * (UNIT - self.own[level]))
            # all terms are brought to the denominator 2^80 to the power of depth + level + 1
            full = shift * (tree.depth + level + 1)
            mine = shift * (tree.depth - level - 1)  # of `one` and `summed`
            alone = one * (UNIT - 2 * share) * (1 << full - mine - BITS)
            both = share**2 * tree.handed_down(level, summed * (1 << full - mine - shift) + made[-1])
            cross = 2 * share * moved * (one * UNIT - share * tree.handed_down(level, summed))
            made.append(alone + both + cross * (1 << full - mine - 3 * BITS - shift * level))
            depends = (UNIT - share) * (1 << BITS + shift * level) + share * moved
        return [(cells, int(common) << shift * (tree.depth + level)) for level, cells in enumerate(made)]

    def coefficients(self, wanted: Sequence[Any]) -> tuple[list[Any], int]:
        """The noise of a sum of estimates: the coefficient of the noise of each node, level by level, over a number.

        `wanted` has the integer factor of the estimate of each node, by level; None for a level that has none.

        >>> both = TreeSquares(Tree(((2,),)), (Fraction(1), Fraction(1)))
        >>> found, below = both.coefficients([None, [0, 1]])              # the error of the second cell
        >>> [[round(one / below, 6) for one in level] for level in found]
        [[0.333333], [-0.333333, 0.666667]]
        """
        tree = self.tree
        below = 1 << BITS * 2 * tree.depth
        parts: list[Any] = []  # the factor of the estimate from below of each node, from the last level up
        carried: Any = 0
        for level in reversed(range(tree.depth + 1)):
            asked = wanted[level]
            factor = carried + (0 if asked is None else _exact(asked) * below)
            if isinstance(factor, int):
                factor = np.full(tree.sizes[level], factor, dtype=object)
            if level == 0:
                parts.append(factor)
                break
            carried = tree.summed(level - 1, factor * self.shares[level - 1]) >> BITS
            parts.append(factor - tree.handed_down(level - 1, carried))
        made, above = [], parts.pop()
        for level in range(tree.depth):
            made.append(above * self.own[level] >> BITS)
            above = parts.pop() + tree.handed_down(level, above * (UNIT - self.own[level]) >> BITS)
        return [*made, above], below


def _exact(cells: Any) -> Any:
    """The integers as an array of Python's, which do not overflow."""
    array = np.asarray(cells)
    return array if array.dtype == object else array.astype(np.int64).astype(object)


def _along(weights: Any, cells: Any) -> Any:
    """Weights of nodes, shaped to multiply an array that has further axes."""
    return weights.reshape(weights.shape + (1,) * (cells.ndim - 1))


def _shares(tree: Tree, level: int, wanted: Any) -> Any:
    """Shares of siblings in 2^-40 that sum to 2^40: each is rounded, and the largest takes what is left."""
    rounded = np.rint(wanted * UNIT).astype(np.int64)
    left = UNIT - tree.summed(level, rounded)
    largest = np.flatnonzero(rounded == tree.handed_down(level, tree.largest(level, rounded)))
    first = np.unique(tree.parents(level + 1)[largest], return_index=True)[1]
    rounded[largest[first]] += left
    return rounded.astype(object)


def classes(tree: Tree, squares: Sequence[TreeSquares]) -> list[Any]:
    """For each level the class of each node: nodes of one class have errors of one law, in each of `squares`.

    The squares are over the tree, or cut off above its leaves, and the noise of a level is that of one mechanism. The
    law depends on the weights below a node, on those on its way to the root, and on those below the siblings met there.
    """
    weights = [_columns(tree, level, squares) for level in range(tree.depth + 1)]
    shapes = [[0] * tree.sizes[-1]]
    numbers: dict[Any, int] = {}
    for level in reversed(range(tree.depth)):
        branches = list(zip(weights[level + 1][1], shapes[-1], strict=True))
        made, at = [], 0
        for own, fan in zip(weights[level][0], tree.fans[level], strict=True):
            key = own, tuple(sorted(branches[at : at + fan]))
            made.append(numbers.setdefault(key, len(numbers) + 1))
            at += fan
        shapes.append(made)
    shapes.reverse()
    found: list[Any] = [np.zeros(1, dtype=np.int64)]
    for level in range(1, tree.depth + 1):
        places: dict[Any, int] = {}
        above = list(zip(found[-1].tolist(), shapes[level - 1], strict=True))
        keys = zip(tree.parents(level).tolist(), weights[level][1], shapes[level], strict=True)
        found.append(np.array([places.setdefault((above[up], *key), len(places)) for up, *key in keys]))
    return found


def _columns(tree: Tree, level: int, squares: Sequence[TreeSquares]) -> tuple[list[Any], list[Any]]:
    """For each node of a level its own weights in all squares, and its shares in all of them."""
    size = tree.sizes[level]
    own = [one.own[level].tolist() for one in squares if level < one.tree.depth]
    shares = [one.shares[level - 1].tolist() for one in squares if 0 < level <= one.tree.depth]
    return (list(zip(*own, strict=True)) or [()] * size), (list(zip(*shares, strict=True)) or [()] * size)
