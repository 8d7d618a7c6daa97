"""Pairs of which each use may meet any, in either order: what an adversary that has seen all before can reach.

The worst of n uses is V_n(g) = max over the pairs of sum over y of p(y) V_{n-1}(g q(y)/p(y)), V_0(g) = (1 - g)_+, at
g = e^epsilon. It depends on what is left of epsilon only, and of few losses there are few sums.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neighbours.law import Array, Law, Pair

CAP = 150_000  # sums of losses that are looked at
SAME = 1e-11  # sums this near are one
INFINITE = 1e4  # as good as infinite


def worst(laws: Sequence[Law], count: int, epsilon: float) -> float | None:
    """V_count by the recursion, up to some 1e-10 of epsilon; None where the sums of losses are too many."""
    games = [(law.p[law.p > 0], np.minimum(law.loss[law.p > 0], INFINITE)) for law in laws]
    losses = _apart(np.concatenate([loss for _, loss in games]))
    left = [np.array([epsilon])]
    for _ in range(count):
        if len(left[-1]) * len(losses) > CAP:
            return None
        left.append(_apart((left[-1][:, None] - losses).ravel()))
    value = -np.expm1(np.minimum(left[-1], 0))
    for after, before in zip(left[:0:-1], left[-2::-1], strict=True):
        gained = [(p * value[_nearest(after, before[:, None] - loss)]).sum(axis=1) for p, loss in games]
        value = np.max(gained, axis=0)
    return float(value[0])


def _apart(values: Array) -> Array:
    values = np.sort(values)
    return values[np.diff(values, prepend=-np.inf) > SAME]


def _nearest(known: Array, wanted: Array) -> np.ndarray:
    at = np.clip(np.searchsorted(known, wanted), 1, max(len(known) - 1, 1))
    at = np.minimum(at, len(known) - 1)
    before = np.maximum(at - 1, 0)
    return np.where(np.abs(known[before] - wanted) < np.abs(known[at] - wanted), before, at)


def envelope(laws: Sequence[Law]) -> Pair:
    """One pair that tells at every epsilon what the one of these tells that tells the most there: so it dominates all.

    A test that the neighbour fails with chance x and the input with chance y is a point; the best tests of all pairs
    have a concave hull, whose edges are the outcomes.
    """
    points = [(0.0, 0.0), (1.0, 1.0)]
    for law in laws:
        order = np.argsort(-law.loss, kind="stable")
        points += zip(np.cumsum(law.q[order])[:-1].tolist(), np.cumsum(law.p[order])[:-1].tolist(), strict=True)
    hull: list[tuple[float, float]] = []
    for x, y in sorted(points, key=lambda point: (point[0], -point[1])):
        while len(hull) > 1 and _turns_left(hull[-2], hull[-1], (x, y)):
            hull.pop()
        if not hull or x > hull[-1][0]:  # of several points above each other the highest comes first
            hull.append((x, y))
    corners = np.array(hull if hull[0] == (0.0, 0.0) else [(0.0, 0.0), *hull])
    dx, dy = np.diff(corners, axis=0).T
    return Pair.exactly(np.maximum(dy, 0.0), np.maximum(dx, 0.0))


def _turns_left(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[1] - a[1]) * (c[0] - b[0]) <= (c[1] - b[1]) * (b[0] - a[0])
