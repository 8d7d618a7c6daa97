"""Consistency of noisy tables by a forest of keys and flat keys: one tree problem for each set of flat keys.

Each table is by the nodes of one level of a tree, crossed with some flat factors. For every set of flat factors the
effects of that set are estimated over the tree, and the estimate of a table is the sum of its effects.
Theorem: docs/theorems/forests.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm, prod
from typing import Any

import numpy as np

from zcdp.tables.forest import Tree, TreeSquares, classes
from zcdp.tables.margins import Factors, cube, margin, put, short, subsets

__all__ = ["ForestMargins"]


@dataclass(frozen=True)
class ForestMargins:
    """Noisy tables over levels of a tree and flat factors of the given sizes.

    `levels` has the level of each table, `axes` its flat factors, `variances` the noise of a cell. The cells of a table
    run by node first, then by the factors in their order.

    >>> regions_and_places_by_sex = Tree(((2,), (1, 3))), (2,), (1, 2), ((), (0,))
    >>> both = ForestMargins(*regions_and_places_by_sex, (Fraction(1), Fraction(1)))
    >>> found = both.estimates([[9, 9], [1, 2, 3, 4, 5, 0, 1, 1]])
    >>> [[round(cell / below, 3) for cell in cells] for cells, below in found]
    [[7.0, 9.714], [3.0, 4.0, 2.286, 3.286, 4.286, -0.714, 0.286, 0.286]]
    """

    tree: Tree
    sizes: tuple[int, ...]
    levels: tuple[int, ...]
    axes: tuple[Factors, ...]
    variances: tuple[Fraction, ...]

    def estimates(self, noisy: Sequence[Sequence[int]]) -> list[tuple[list[int], int]]:
        """The estimates of each table, as a list of numerators and their common denominator, cell by cell."""
        arrays = [cube(one, self._shape(k), self.tree.sizes[self.levels[k]]) for k, one in enumerate(noisy)]
        effects = {effect: self._effect(effect, arrays) for effect in self._squares}
        return [self._estimate(k, effects) for k in range(len(self.axes))]

    def _effect(self, effect: Factors, arrays: Sequence[Any]) -> list[tuple[Any, int]]:
        """The estimates of an effect on each level, times its number of cells: numerators and denominator."""
        squares, weights = self._squares[effect], self._weights[effect]
        below = lcm(*(share.denominator for level in weights for share in level.values()))
        seen: list[Any] = []
        for shares in weights:
            found: Any = 0
            for n, share in shares.items():
                part = margin(arrays[n], self.axes[n], effect)
                for axis, a in enumerate(effect, 1):  # less its mean along each factor, times the size of the factor
                    part = self.sizes[a] * part - np.sum(part, axis=axis, keepdims=True)
                found = found + int(share * below) * part
            seen.append(found if shares else None)
        return [(cells, unit * below) for cells, unit in squares.estimates(seen)]

    def _estimate(self, k: int, effects: dict[Factors, list[tuple[Any, int]]]) -> tuple[list[int], int]:
        """The estimate of table k as the sum of its effects: numerators and denominator."""
        level, axes = self.levels[k], self.axes[k]
        mine = [(effect, *effects[effect][level]) for effect in subsets(tuple(sorted(axes)))]
        below = lcm(*(unit for *_, unit in mine))
        total = cube([0] * self._cells_of(k), self._shape(k), self.tree.sizes[level])
        for effect, cells, unit in mine:
            total = total + put(cells, effect, axes, self.sizes) * (below // unit)
        return list(total.ravel()), below * self._cells(axes)

    def terms(self, k: int, node: int) -> list[tuple[int, Fraction, int]]:
        """The error of the cells of table k at a node, as a sum of noise: (table, coefficient, how many cells have it).

        All cells of one node have errors of one law.
        """
        level, mine = self.levels[k], self.axes[k]
        wanted = [np.arange(size) == node if at == level else None for at, size in enumerate(self.tree.sizes)]
        through = {
            effect: self._squares[effect].coefficients(wanted[: self._squares[effect].tree.depth + 1])
            for effect in subsets(tuple(sorted(mine)))
        }
        found: Counter[tuple[int, Fraction]] = Counter()
        for n, axes in enumerate(self.axes):
            shared = tuple(sorted(set(axes) & set(mine)))
            for agreed in subsets(shared):
                differ = prod(self.sizes[a] - 1 for a in shared if a not in agreed)
                cells = differ * prod(self.sizes[a] for a in axes if a not in shared)
                for share, nodes in self._at_nodes(n, shared, agreed, through) if cells else ():
                    found[n, share / self._cells(mine)] += cells * nodes
        return [(n, share, cells) for (n, share), cells in found.items()]

    def _at_nodes(
        self, n: int, shared: Factors, agreed: Factors, through: dict[Factors, tuple[list[Any], int]]
    ) -> Iterable[tuple[Fraction, int]]:
        """Sizes of the coefficients of the noise of table n in cells that agree with a cell in some of the factors.

        With each comes the number of nodes that have it.
        """
        level = self.levels[n]
        parts = []
        for effect in subsets(shared):
            signs = prod(self.sizes[a] - 1 if a in agreed else -1 for a in effect)
            cells, unit = through[effect]
            parts.append((cells[level], self._weights[effect][level][n] * signs / unit))
        below = lcm(*(weight.denominator for _, weight in parts))
        total = sum(cells * int(weight * below) for cells, weight in parts)
        return [(Fraction(one, below), nodes) for one, nodes in Counter(np.abs(total).tolist()).items() if one]

    def spread(self, k: int, noise: Sequence[Fraction]) -> tuple[Any, int]:
        """The exact variance of a cell of table k at each node: numerators and denominator.

        `noise` has the variance of the noise of each table, whatever `variances` are.
        """
        axes = self.axes[k]
        parts = []
        for effect in subsets(tuple(sorted(axes))):
            levels = [
                sum((share**2 * self._cells(self.axes[n]) * noise[n] for n, share in shares.items()), Fraction(0))
                for shares in self._weights[effect]
            ]
            cells, unit = self._squares[effect].variances(levels)[self.levels[k]]
            parts.append((cells * prod(self.sizes[a] - 1 for a in effect), unit))
        below = lcm(*(unit for _, unit in parts))
        return sum(cells * (below // unit) for cells, unit in parts), below * self._cells(axes) ** 2

    def classes(self, k: int) -> Any:
        """The class of each node of the level of table k: in one class the errors of its cells have one law."""
        mine = [self._squares[effect] for effect in subsets(tuple(sorted(self.axes[k])))]
        return classes(self.tree, mine)[self.levels[k]]

    @property
    def below(self) -> list[Any]:
        """For each level the variances of nodes from what is at them and below, of all keys together, in some unit."""
        return self._squares[()].below

    @cached_property
    def _weights(self) -> dict[Factors, list[dict[int, Fraction]]]:
        """For each effect and level the weights of the tables of that level that have it, down to the last such level.

        They are by inverse variance, and sum to 1 where there are any.
        """
        return {effect: [short(one) if one else {} for one in levels] for effect, levels in self._precisions.items()}

    @cached_property
    def _precisions(self) -> dict[Factors, list[dict[int, Fraction]]]:
        """For each effect and level the precision with which each table tells it, up to a factor of the effect."""
        made = {}
        for effect in sorted({one for axes in self.axes for one in subsets(tuple(sorted(axes)))}):
            have = [n for n, axes in enumerate(self.axes) if set(effect) <= set(axes)]
            made[effect] = [
                {n: 1 / (self._cells(self.axes[n]) * self.variances[n]) for n in have if self.levels[n] == level}
                for level in range(1 + max(self.levels[n] for n in have))
            ]
        return made

    @cached_property
    def _squares(self) -> dict[Factors, TreeSquares]:
        """For each effect its least squares, over the tree down to the last level that tells it."""
        return {
            effect: TreeSquares(self.tree.cut(len(levels) - 1), tuple(sum(one.values(), Fraction(0)) for one in levels))
            for effect, levels in self._precisions.items()
        }

    def _cells(self, factors: Iterable[int]) -> int:
        return prod(self.sizes[a] for a in factors)

    def _cells_of(self, k: int) -> int:
        return self.tree.sizes[self.levels[k]] * self._cells(self.axes[k])

    def _shape(self, k: int) -> tuple[int, ...]:
        return tuple(self.sizes[a] for a in self.axes[k])
