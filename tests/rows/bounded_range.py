"""Rows of `BoundedRange` and `ExponentialMechanism`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import exp
from random import Random

import numpy as np
from independent import reference
from neighbours import classes, selection
from neighbours.case import Case, Row, some_epsilon
from neighbours.law import Pair
from neighbours.selected import one_of_scores
from samplers.hits import chosen

from rows import kind, made

KINDS = (kind("BoundedRange", reference=reference.BoundedRange), kind("ExponentialMechanism"))


def _bounded_range(rng: Random, effort: int) -> Case:
    eta = some_epsilon(rng)

    def family(steps: int) -> Callable[[float], Pair]:
        whole = float(eta) * steps
        return lambda share: selection.gumbel_two(whole, whole * share)

    def group(steps: int) -> list[Pair]:
        """A walk: each step changes the weights by factors between 1 and e^eta."""
        found = [family(steps)(0.5)]
        for _ in range(effort):
            size = rng.randint(2, 5)
            first = np.array([rng.random() + 0.01 for _ in range(size)])
            factor = np.array([sum(rng.choice((0, 1, rng.random())) for _ in range(steps)) for _ in range(size)])
            last = first * np.exp(float(eta) * factor)
            found.append(Pair.exactly(first / first.sum(), last / last.sum()))
        return found

    members = [classes.bounded_range(float(eta), rng) for _ in range(effort)]
    pairs = [family(1)(0.5), *members]
    return Case(made("BoundedRange", eta=eta), pairs, (), family(1), group=group, far_family=family)


NEIGHBOURS = (
    Row("BoundedRange", _bounded_range),
    *(
        Row(
            "ExponentialMechanism",
            partial(one_of_scores, "ExponentialMechanism", "gumbel", variant),
            variant=variant,
            deep=bool(variant),
        )
        for variant in ("", "monotone")
    ),
)
DRAWN = {
    "ExponentialMechanism": (made("ExponentialMechanism", epsilon=2), chosen([0, 3], 3), 1 / (1 + exp(1))),
    "ExponentialMechanism, monotone": (
        made("ExponentialMechanism", epsilon=2, monotone=True),
        chosen([0, 3], 6),
        1 / (1 + exp(1)),
    ),
}
