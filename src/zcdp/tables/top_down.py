"""Figures of at least 0 that add up, for tables by nested keys: estimates projected from the top down, then rounded.

The projection is in multiples of 2^-40, so that all sums are exact. One rounding follows it: along the tree where each
table divides the cells of the one before, and by a circulation where a tree is crossed with one other key.
Theorem: docs/theorems/forests.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from math import prod
from typing import Any

import numpy as np

from zcdp.tables.forest import Tree
from zcdp.tables.margins import Factors, chain_of, put

__all__ = ["Circulation", "chain_figures", "crossed_figures", "non_negative_figures", "projected"]

BITS = 40
UNIT = 1 << BITS
"""Numbers are multiples of 2^-40; this is 1."""


def projected(cells: Sequence[int], weights: Sequence[int], total: int) -> list[int]:
    """Integers of at least 0 that sum to `total`, near max(x - z w, 0) with the one z that gives the sum.

    These are the nearest to the cells x, by squares over weights w; each is less than their number away from them.

    >>> projected([5, -2, 4, 1], [1, 1, 1, 1], 8), projected([5, -2, 4, 1], [3, 1, 1, 1], 8)
    ([5, 0, 3, 0], [4, 0, 4, 0])
    """
    above = weight = 0
    for n in sorted(range(len(cells)), key=lambda n: _Quotient(cells[n], weights[n])):
        # less z times its weight the n-th is positive, if z makes the sum of those up to it the total
        if cells[n] * (weight + weights[n]) <= weights[n] * (above + cells[n] - total):
            break
        above, weight = above + cells[n], weight + weights[n]
    excess = above - total
    made = [max((x * weight - w * excess) // weight, 0) if weight else 0 for x, w in zip(cells, weights, strict=True)]
    left = total - sum(made)
    for n, (x, w) in enumerate(zip(cells, weights, strict=True)):
        if left and x * weight > w * excess:
            made[n] += 1
            left -= 1
    return made


class _Quotient:
    """x/w, to be sorted from the largest down, compared exactly."""

    def __init__(self, x: int, w: int) -> None:
        self.x, self.w = x, w

    def __lt__(self, other: _Quotient) -> bool:
        return self.x * other.w > other.x * self.w


def _handed(cells: Any, weights: Any, places: Any, totals: Any) -> Any:
    """The cells of a finer table, projected group by group: `places` has the coarse cell of each, `totals` its sum."""
    made = np.zeros(len(cells), dtype=object)
    order = np.argsort(places, kind="stable")
    ends = np.cumsum(np.bincount(places, minlength=len(totals)))
    for total, group in zip(totals, np.split(order, ends[:-1]), strict=True):
        made[group] = projected(cells[group].tolist(), weights[group].tolist(), total)
    return made


def _units(estimate: tuple[Sequence[int], int]) -> Any:
    """Estimates as multiples of 2^-40, rounded."""
    cells, below = estimate
    made = np.empty(len(cells), dtype=object)
    made[:] = [((cell << BITS + 1) + below) // (2 * below) for cell in cells]
    return made


def _whole(variances: Any) -> Any:
    """Variances as positive integers of some 20 bits, in proportion."""
    return np.maximum(np.rint(variances / np.max(variances) * 2**20), 1).astype(np.int64).astype(object)


def chain_figures(
    estimates: Sequence[tuple[Sequence[int], int]], places: Sequence[Any], weights: Sequence[Any]
) -> list[list[int]]:
    """The figures of a chain of tables, coarsest first, each of whose cells are divided by the next table.

    `places` has for each table but the first the coarse cell that each of its cells is within, and `weights` for each
    table positive integers in proportion to the variances of its cells.

    >>> regions, places = ([7, -1], 2), ([4, 3, -9, 8], 2)
    >>> chain_figures([regions, places], [np.array([0, 0, 1, 1])], [np.full(2, 1), np.full(4, 1)])
    [[4, 0], [2, 2, 0, 0]]
    """
    found = np.maximum(_units(estimates[0]), 0)
    for estimate, place, weight in zip(estimates[1:], places, weights[1:], strict=True):
        found = _handed(_units(estimate), weight, place, found)
    # depth-first: by the coarsest cell first
    ranks = [np.arange(len(found))]
    for place in reversed(places):
        ranks.append(place[ranks[-1]])
    order = np.lexsort(ranks)
    rounded = [(one + UNIT // 2) >> BITS for one in accumulate(found[order].tolist())]
    whole = np.zeros(len(found), dtype=object)
    whole[order] = [b - a for a, b in pairwise([0, *rounded])]
    made = [whole]
    for place, estimate in zip(reversed(places), reversed(estimates[:-1]), strict=True):
        coarse = np.zeros(len(estimate[0]), dtype=object)
        np.add.at(coarse, place, made[-1])
        made.append(coarse)
    return [one.tolist() for one in reversed(made)]


# A tree crossed with one flat key: two families of cells, each of which is nested in itself.


@dataclass
class Circulation:
    """A flow that is conserved in every node, to be rounded edge by edge so that it still is.

    `flows` are multiples of 2^-40. Edges are added one after another; those that are not whole form a forest, and an
    edge that would close a cycle is the occasion to send flow around it until one of its edges is whole.
    """

    flows: list[int] = field(default_factory=list)
    _ends: list[tuple[Any, Any]] = field(default_factory=list)
    _at: dict[Any, dict[int, Any]] = field(default_factory=dict)
    """For each node its edges that are not whole, with their other ends."""

    def add(self, start: Any, end: Any, flow: int) -> int:
        """Add an edge; returns its number, under which `flows` has what it carries."""
        edge = len(self.flows)
        self.flows.append(flow)
        self._ends.append((start, end))
        if flow % UNIT:
            cycle = self._path(end, start)
            if cycle is not None:
                self._send([(edge, 1), *cycle])
            if self.flows[edge] % UNIT:
                self._at.setdefault(start, {})[edge] = end
                self._at.setdefault(end, {})[edge] = start
        return edge

    def _path(self, start: Any, end: Any) -> list[tuple[int, int]] | None:
        """The edges from a node to another along edges that are not whole, each with 1 or -1 for its direction."""
        if start not in self._at or end not in self._at:
            return None
        came: dict[Any, tuple[Any, int] | None] = {start: None}
        ahead = [start]
        while ahead and end not in came:
            node = ahead.pop()
            for edge, other in self._at[node].items():
                if other not in came:
                    came[other] = (node, edge)
                    ahead.append(other)
        if end not in came:
            return None
        path, node = [], end
        while (step := came[node]) is not None:
            before, edge = step
            path.append((edge, 1 if self._ends[edge] == (before, node) else -1))
            node = before
        return path

    def _send(self, cycle: list[tuple[int, int]]) -> None:
        """Send as little flow around the cycle, in either direction, as makes one of its edges whole."""
        rests = [(self.flows[edge] % UNIT, sign) for edge, sign in cycle]
        ahead = min(UNIT - rest if sign > 0 else rest for rest, sign in rests)
        back = min(rest if sign > 0 else UNIT - rest for rest, sign in rests)
        sent = ahead if ahead <= back else -back
        for edge, sign in cycle:
            self.flows[edge] += sign * sent
            if not self.flows[edge] % UNIT:
                for node in self._ends[edge]:
                    self._at.get(node, {}).pop(edge, None)


def crossed_figures(
    tree: Tree,
    size: int,
    tables: Sequence[tuple[int, bool]],
    estimates: Sequence[tuple[Sequence[int], int]],
    weights: Sequence[Any],
) -> list[list[int]]:
    """The figures of tables by levels of a tree, some of them crossed with one key of `size` values.

    `tables` has the level of each, and whether it is crossed; the cells run by node first. `weights` has for each level
    positive integers in proportion to the variances of its nodes.
    """
    crossed, plain = (max((level for level, both in tables if both is kind), default=0) for kind in (True, False))
    wanted = _Sums(tree, size, tables, estimates)
    totals = np.maximum(wanted.plain(0), 0)
    parts = np.array([projected(wanted.crossed(0)[0].tolist(), [1] * size, totals[0])], dtype=object)
    both, alone = [parts], [totals]
    for level in range(1, crossed + 1):
        cells, places = wanted.crossed(level), tree.parents(level)
        columns = [_handed(cells[:, j], weights[level], places, both[-1][:, j]) for j in range(size)]
        both.append(np.stack(columns, axis=1))
        alone.append(np.sum(both[-1], axis=1))
    for level in range(crossed + 1, plain + 1):
        alone.append(_handed(wanted.plain(level), weights[level], tree.parents(level), alone[-1]))
    figures = _circulated(tree, size, crossed, plain, both, alone)
    return [[flow >> BITS for flow in figures[level, kind]] for level, kind in tables]


@dataclass(frozen=True)
class _Sums:
    """Estimates of every level, as multiples of 2^-40, from the tables that have them: sums over nodes and the key."""

    tree: Tree
    size: int
    tables: Sequence[tuple[int, bool]]
    estimates: Sequence[tuple[Sequence[int], int]]

    def crossed(self, level: int) -> Any:
        """The estimates of a level crossed with the key, by node and then by key."""
        return self._from(level, lambda at, both: both and at >= level).reshape(-1, self.size)

    def plain(self, level: int) -> Any:
        """The estimates of the nodes of a level."""
        return np.sum(self._from(level, lambda at, _: at >= level).reshape(self.tree.sizes[level], -1), axis=1)

    def _from(self, level: int, fits: Any) -> Any:
        """The estimates of a level, from the table nearest to it that fits."""
        at, k = min((at, k) for k, (at, both) in enumerate(self.tables) if fits(at, both))
        found = _units(self.estimates[k]).reshape(self.tree.sizes[at], -1)
        for above in reversed(range(level, at)):
            found = self.tree.summed(above, found)
        return found


def _circulated(
    tree: Tree, size: int, crossed: int, plain: int, both: Sequence[Any], alone: Sequence[Any]
) -> dict[tuple[int, bool], list[int]]:
    """Whole flows near those of a circulation: down the tree by nodes, across to cells, and up the tree key by key.

    Where the tree goes on below the crossed level, its last nodes flow together again in those of the crossed level.
    The result has those of each level, by (level, whether crossed). Edges are added from the last level up and node by
    node, so that those that are not whole are few at any time.
    """
    flow = Circulation()
    edges: dict[tuple[int, bool], list[int]] = {
        (at, kind): [] for at in range(tree.depth + 1) for kind in (True, False)
    }
    met = _ancestors(tree, max(plain, crossed), min(plain, crossed))
    for level in reversed(range(max(crossed, plain) + 1)):
        parents = tree.parents(level).tolist() if level else [0]
        for n, up in enumerate(parents):
            if level <= plain:
                start = ("down", level - 1, up) if level else "all"
                edges[level, False].append(flow.add(start, ("down", level, n), alone[level][n]))
            if level == plain > crossed:
                flow.add(("down", level, n), ("met", met[n]), alone[level][n])
            for j in range(size) if level <= crossed else ():
                end = ("up", level - 1, up, j) if level else "all"
                begin: Any = ("up", level, n, j)
                if level == crossed:
                    begin = ("met", n) if plain > crossed else ("down", plain, met[n])
                edges[level, True].append(flow.add(begin, end, both[level][n][j]))
    return {kind: [flow.flows[edge] for edge in many] for kind, many in edges.items()}


def _ancestors(tree: Tree, level: int, above: int) -> list[int]:
    """The ancestor on a level above of each node of a level."""
    found = np.arange(tree.sizes[level])
    for at in range(level, above, -1):
        found = tree.parents(at)[found]
    return [int(one) for one in found]


def non_negative_figures(
    tree: Tree,
    sizes: Sequence[int],
    tables: Sequence[tuple[int, Factors]],
    estimates: Sequence[tuple[Sequence[int], int]],
    variances: Sequence[Any],
) -> list[list[int]]:
    """The figures of tables by (level of the tree, flat factors): of a chain, or of a tree crossed with one factor.

    `estimates` run by node first, and `variances` has for each level those of its nodes, in any unit: weights only.
    """
    weights = [_whole(one) for one in variances]
    chain = chain_of([axes for _, axes in tables], [level for level, _ in tables])
    if chain is None:
        [size] = {sizes[a] for _, axes in tables for a in axes}
        return crossed_figures(tree, size, [(level, bool(axes)) for level, axes in tables], estimates, weights)
    shapes = {k: [sizes[a] for a in tables[k][1]] for k in chain}
    mine = [np.repeat(weights[tables[k][0]], prod(shapes[k])) for k in chain]
    places = []
    for k, fine in pairwise(chain):
        (level, axes), (below, finer) = tables[k], tables[fine]
        cells: Any = np.arange(tree.sizes[level] * prod(shapes[k])).reshape(tree.sizes[level], *shapes[k])
        for at in range(level, below):
            cells = tree.handed_down(at, cells)
        places.append(put(cells, axes, finer, sizes).ravel())
    made = chain_figures([estimates[k] for k in chain], places, mine)
    return [made[chain.index(k)] for k in range(len(tables))]
