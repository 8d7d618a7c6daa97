"""Which inputs of a randomizer are neighbours: a graph on 0 .. n-1, its distances, and parts that are never compared.

A graph is the sorted tuple of its edges (i, j), i < j; None stands for the complete graph, in which any two inputs are
neighbours. Theorem: docs/theorems/neighbour-graph.md.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from zcdp.errors import BadType, BadValue
from zcdp.numeric.exact import integer
from zcdp.text.suggestions import thing

__all__ = ["Edges", "Graph", "apart", "distances_within", "is_star", "read_graph", "written_graph"]

Edges = tuple[tuple[int, int], ...]
Graph = Edges | None

ADJACENT = "adjacent"
RULE = "must be a list of pairs of inputs, 'adjacent', or a largest distance such as 2"


def read_graph(given: object, size: int) -> Graph:
    """The graph on `size` inputs as a user gives it: pairs, "adjacent", or a largest distance; None is complete.

    >>> read_graph([(1, 0), [1, 2]], 4), read_graph("adjacent", 3), read_graph(2, 3)
    (((0, 1), (1, 2)), ((0, 1), (1, 2)), None)
    """
    if given is None:
        return None
    if isinstance(given, str):
        if given != ADJACENT:
            raise BadValue(f"neighbours ({given!r}) {RULE}")
        edges = _within(1, size)
    elif isinstance(given, Iterable):
        edges = {_edge(pair, n, size) for n, pair in enumerate(given)}
        if not edges:
            raise BadValue("neighbours must join some inputs: without a pair there is nothing to protect")
    else:
        edges = _within(integer(given, "neighbours", 1), size)  # type: ignore[arg-type]
    return _kept(edges, size)


def _kept(edges: Iterable[tuple[int, int]], size: int) -> Graph:
    """The edges in their one form: sorted, and None if they join any two inputs."""
    found = tuple(sorted(edges))
    return None if len(found) == size * (size - 1) // 2 else found


def _within(distance: int, size: int) -> set[tuple[int, int]]:
    return {(i, j) for i in range(size) for j in range(i + 1, min(i + distance, size - 1) + 1)}


def _edge(pair: object, n: int, size: int) -> tuple[int, int]:
    """One pair of a list, smaller input first: a pair joins both, in either order."""
    name = f"neighbours[{n}]"
    if isinstance(pair, str) or not isinstance(pair, Iterable):
        raise BadType(f"{name} ({thing(pair)}) must be a pair of inputs, such as (0, 1)")
    ends = list(pair)
    if len(ends) != 2:
        raise BadValue(f"{name} must be a pair of inputs, not {len(ends)}")
    one, other = (integer(end, name, 0) for end in ends)
    for end in (one, other):
        if end >= size:
            raise BadValue(f"{name} ({end}) must be a row, 0 to {size - 1}")
    if one == other:
        raise BadValue(f"{name} ({one}, {other}) joins a row with itself")
    return min(one, other), max(one, other)


def written_graph(edges: Edges, size: int) -> str:
    """The graph as source, in its shortest form.

    >>> written_graph(((0, 1), (1, 2)), 3), written_graph(((0, 2),), 3)
    ("'adjacent'", '[[0, 2]]')
    """
    furthest = max(j - i for i, j in edges)
    if set(edges) == _within(furthest, size):
        return repr(ADJACENT) if furthest == 1 else str(furthest)
    return f"[{', '.join(f'[{i}, {j}]' for i, j in edges)}]"


def distances_within(edges: Edges, size: int, steps: int) -> Graph:
    """The graph that joins inputs at a distance of 1 to `steps`, by a breadth-first search from each.

    >>> distances_within(((0, 1), (1, 2), (2, 3)), 4, 2)
    ((0, 1), (0, 2), (1, 2), (1, 3), (2, 3))
    """
    near = _lists(edges, size)
    found = set()
    for start in range(size):
        distance = {start: 0}
        waiting = deque([start])
        while waiting:
            one = waiting.popleft()
            if distance[one] == steps:
                continue
            for other in near[one]:
                if other not in distance:
                    distance[other] = distance[one] + 1
                    waiting.append(other)
        found |= {(start, other) for other in distance if start < other}
    return _kept(found, size)


def _lists(edges: Edges, size: int) -> list[list[int]]:
    """The neighbours of each input."""
    near: list[list[int]] = [[] for _ in range(size)]
    for i, j in edges:
        near[i].append(j)
        near[j].append(i)
    return near


def is_star(edges: Edges, size: int) -> bool:
    """Whether one input is joined with all others, and no two others are: as the report of an absent record is.

    >>> is_star(((0, 1), (1, 2)), 3), is_star(((0, 1), (1, 2)), 4)
    (True, False)
    """
    return any(len(near) == size - 1 == len(edges) for near in _lists(edges, size))


def apart(edges: Edges, size: int) -> str:
    """Which inputs are never compared with which, in words; empty if the graph is connected.

    >>> apart(((0, 1), (1, 2), (4, 5)), 6)
    'rows 0-2, 3 and 4-5 are never compared with each other'
    """
    near, seen, parts = _lists(edges, size), set[int](), list[list[int]]()
    for start in range(size):
        if start not in seen:
            part, waiting = {start}, [start]
            while waiting:
                more = set(near[waiting.pop()]) - part
                part |= more
                waiting += more
            seen |= part
            parts.append(sorted(part))
    if len(parts) == 1:
        return ""
    shown = [_ranges(part) for part in parts]
    return f"rows {', '.join(shown[:-1])} and {shown[-1]} are never compared with each other"


def _ranges(numbers: Sequence[int]) -> str:
    """Sorted numbers, those in a row as a range, with + between: 0-3+7."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return "+".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
