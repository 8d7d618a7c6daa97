"""Rows of `Allocation`: each record goes to one of some batches, and neighbours differ by one record."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from itertools import product
from random import Random

import numpy as np
from neighbours import samples
from neighbours.case import Case, Row
from neighbours.law import Array, Pair

from rows import made

EXAMPLES = (
    made("Allocation", made("BinaryRandomizedResponse", "0.7", "0.4", ordered=True), batches=2),
    made("Allocation", made("PureDP", epsilon=1), batches=2),
)


def mean_over_allocations(output: samples.Output, records: Sequence[float], batches: int) -> Array:
    """All ways to put each record into one of the batches, each alike: the joint masses of the outputs of all."""
    total: Array | float = 0.0
    for places in product(range(batches), repeat=len(records)):
        parts = [[one for one, at in zip(records, places, strict=True) if at == batch] for batch in range(batches)]
        total = total + reduce(np.multiply.outer, [output(part) for part in parts]).ravel()
    assert not isinstance(total, float)
    return total / batches ** len(records)


def _counts(rng: Random, effort: int) -> Case:
    """Sums of integer records in each batch, with geometric noise."""
    del effort
    distance, scale, batches = rng.randint(1, 2), Fraction(rng.randint(5, 60), 10), rng.randint(1, 2)
    t = float(1 / scale)
    pairs = []
    for others in ([], [rng.randint(-distance, distance)]):
        output = samples.counts(t, -2 * distance, 2 * distance)
        pairs.append(
            Pair.exactly(
                mean_over_allocations(output, [*others, distance], batches),
                mean_over_allocations(output, others, batches),
            )
        )
    base = made("DiscreteLaplace", scale=scale, sensitivity=distance)
    return Case(made("Allocation", base, batches=batches), pairs, ordered=True)


NEIGHBOURS = (Row("Allocation", _counts, variant="ordered integers"),)
TEXTS = {"Allocation": lambda i: f"{i.base()}, batches={i.whole()}"}
