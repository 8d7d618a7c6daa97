"""Rows of `SparseVector`."""

from __future__ import annotations

from functools import partial
from random import Random

from neighbours import noise, streams
from neighbours.case import Case, Row, some_epsilon
from neighbours.law import Pair

from rows import made

EXAMPLES = (
    made("SparseVector", epsilon_threshold="1/2", epsilon_queries="1/2"),
    made("SparseVector", epsilon_threshold=1, epsilon_queries=4, positives=20),
)


def _case(variant: str, rng: Random, effort: int) -> Case:
    """The worst stream is not known: lower ends are held below the Laplace pair at the whole epsilon, which is worse.

    The stream of which they are is looked at in tests/neighbours/test_streams.py.
    """
    threshold, queries = some_epsilon(rng, 0.1, 3), some_epsilon(rng, 0.1, 3)
    positives = rng.randint(1, 3)
    one_way = bool(variant)
    share = float(queries) / (positives if one_way else 2 * positives)

    def at(steps: int) -> list[Pair]:
        level = -1 / (4 * share)
        moved = [level + steps] * 5 + [level if one_way else level - steps] * 12
        long = streams.first_positive([level] * 17, moved, float(threshold), share)
        some = [
            streams.neighbours(rng, float(threshold), share, positives, steps, monotone=one_way)
            for _ in range(effort + 1)
        ]
        return [*some, long, streams.extreme(float(threshold), share, positives, steps, monotone=one_way)]

    def whole(steps: int) -> list[Pair]:
        return [noise.laplace(steps * float(threshold + queries))]

    given = {"epsilon_threshold": threshold, "epsilon_queries": queries, "positives": positives, "monotone": one_way}
    return Case(made("SparseVector", **given), at(1), whole(1), group=at, far_limits=whole)


NEIGHBOURS = [Row("SparseVector", partial(_case, one), variant=one) for one in ("", "monotone")]
