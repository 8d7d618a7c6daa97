"""Laws of integer noise by their weights alone, and tables published with noise that a test gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import exp, sqrt
from typing import Any

import numpy as np
import pytest

from zcdp.plans.plan_file import PlanFile, read_plan
from zcdp.release import table_noise
from zcdp.release.bounding import Exact
from zcdp.release.published_tables import published
from zcdp.release.table_noise import Table

Law = Callable[[int], float]


def gaussian(sigma: float) -> Law:
    return lambda x: exp(-(x**2) / (2 * sigma**2))


def laplace(scale: float) -> Law:
    return lambda x: exp(-abs(x) / scale)


def half(law: Law, miss: float) -> int:
    """The least h with P[|X| > h] <= miss."""
    weights = [law(x) for x in range(4000)]
    whole = 2 * sum(weights) - weights[0]
    inside, h = weights[0], 0
    while 1 - inside / whole > miss:
        h += 1
        inside += 2 * weights[h]
    return h


def deviation(law: Law) -> float:
    weights = [law(x) for x in range(4000)]
    return sqrt(2 * sum(x * x * w for x, w in enumerate(weights)) / (2 * sum(weights) - weights[0]))


def chances(law: Law, reach: int) -> tuple[Any, Any]:
    """The integers from -reach to reach, and their probabilities."""
    places = np.arange(-reach, reach + 1)
    weights = np.array([law(int(x)) for x in places])
    return places, weights / weights.sum()


def made(plan: PlanFile, exact: Exact, neighbours: str = "add-remove") -> Table:
    """The table of a plan of one query."""
    assert plan.tables is not None
    [query] = plan.tables.queries
    return published(query, plan.entries, exact, query.statistics(neighbours))


@contextmanager
def moved(noise: list[list[int]]) -> Iterator[None]:
    """The noise of each mechanism, in their order, is the given one."""
    given = iter(noise)

    def drawn(_: Any, values: list[int]) -> list[int]:
        return [value + more for value, more in zip(values, next(given), strict=True)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_noise, "drawn", drawn)
        yield


def published_with(text: str, exact: Exact, noise: list[list[int]], neighbours: str = "add-remove") -> Table:
    """The table where the noise of each mechanism, in their order, is the given one."""
    with moved(noise):
        return made(read_plan("plan.toml", text), exact, neighbours)


def drawn_often(text: str, exact: Exact, runs: int, seed: int, laws: list[tuple[str, float]]) -> Iterator[Table]:
    """Tables with seeded noise: of each mechanism, in their order, normal or Laplace noise rounded to integers."""
    rng, plan = np.random.default_rng(seed), read_plan("plan.toml", text)
    place = {"n": 0}

    def drawn(_: Any, values: list[int]) -> list[int]:
        kind, size = laws[place["n"] % len(laws)]
        place["n"] += 1
        more = rng.normal(0, size, len(values)) if kind == "gaussian" else rng.laplace(0, size, len(values))
        return [value + int(one) for value, one in zip(values, np.rint(more), strict=True)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_noise, "drawn", drawn)
        for _ in range(runs):
            yield made(plan, exact)
