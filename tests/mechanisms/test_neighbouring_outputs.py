"""What an audit is given are outputs of two neighbours that are far apart: their chances, each from its explicit law.

Bits are seeded, so that the draws are the same in every run; a share is within five standard errors of its chance.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import exp, sqrt
from typing import Any

import numpy as np
import pytest
from independent.bits import seeded
from neighbours.selection import exponential, laplace_max, permute_and_flip
from neighbours.streams import answers

import zcdp

SIZE = 6000
E = exp(2)
Event = Callable[[Any], Any]
Expected = tuple[Event, float, float]


def is_(value: int) -> Event:
    return lambda outputs: outputs == value


def bit(place: int) -> Event:
    return lambda outputs: np.unpackbits(outputs, axis=1)[:, place] == 1


def bucket_zero(outputs: Any) -> Any:
    return outputs % 3 == 0


RESPONSE = zcdp.RandomizedResponse(epsilon=2, k=4)
KEEP = 1 / (1 + exp(-1))
CASES: list[tuple[Any, list[Expected]]] = [
    (RESPONSE, [(is_(0), E / (E + 3), 1 / (E + 3)), (is_(1), 1 / (E + 3), E / (E + 3))]),
    (zcdp.BinaryRandomizedResponse("0.8", "0.3"), [(is_(1), 0.8, 0.3)]),
    (zcdp.RAPPOR(epsilon=2), [(bit(0), KEEP, 1 - KEEP), (bit(1), 1 - KEEP, KEEP)]),
    (zcdp.UnaryEncoding("0.7", "0.2"), [(bit(0), 0.7, 0.2), (bit(1), 0.2, 0.7)]),
    (zcdp.OptimizedUnaryEncoding(epsilon=2), [(bit(0), 0.5, 1 / (E + 1)), (bit(1), 1 / (E + 1), 0.5)]),
    # sets of 2 out of 5: four hold a value, six do not; three hold the second and not the first
    (
        zcdp.SubsetSelection(epsilon=2, k=5, size=2),
        [(lambda sets: (sets == 0).any(axis=1), 4 * E / (4 * E + 6), (E + 3) / (4 * E + 6))],
    ),
    # rows 1 and 2 of four columns: the first favours the even ones, half of what the second favours
    (zcdp.HadamardResponse(epsilon=2), [(lambda y: y % 2 == 0, E / (E + 1), 0.5)]),
    # three blocks of four columns: the first value favours columns 0 and 2, the last two of the next block
    (
        zcdp.HadamardResponse(epsilon=2, blocks=3),
        [
            (lambda y: (y == 0) | (y == 2), 2 * E / (2 * E + 10), 2 / (2 * E + 10)),
            (lambda y: y // 4 == 1, 4 / (2 * E + 10), (2 * E + 2) / (2 * E + 10)),
        ],
    ),
    # value 0 is hashed to bucket 0 by every vector, value 1 by one of three
    (zcdp.LocalHashing(epsilon=2, g=3, random_hash=True), [(bucket_zero, E / (E + 2), 1 / 3)]),
    (zcdp.LinearHashing(epsilon=2, g=3, k=8), [(bucket_zero, E / (E + 2), 1 / 3)]),
    (zcdp.PermuteAndFlip(epsilon=2), [(is_(0), 0.5, permute_and_flip([1.0, -1.0], 1.0)[0])]),
    (zcdp.PermuteAndFlip(epsilon=2, monotone=True), [(is_(0), 0.5, permute_and_flip([1.0, 0.0], 2.0)[0])]),
    (
        zcdp.ReportNoisyMax(epsilon="0.5"),
        [(is_(0), laplace_max([0.0, 4.0], 0.25)[0], laplace_max([1.0, 3.0], 0.25)[0])],
    ),
    (
        zcdp.ReportNoisyMax(epsilon="0.5", monotone=True),
        [(is_(0), laplace_max([0.0, 4.0], 0.5)[0], laplace_max([1.0, 4.0], 0.5)[0])],
    ),
]  # fmt: skip


@pytest.fixture(autouse=True)
def seeded_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zcdp.samplers.source._fill", seeded(29))


def check(found: Any, chance: float) -> None:
    assert float(np.mean(found)) == pytest.approx(chance, abs=5 * sqrt(chance * (1 - chance) / SIZE))


@pytest.mark.parametrize(("mechanism", "events"), CASES, ids=lambda one: repr(one) if not isinstance(one, list) else "")
def test_both_outputs_have_the_laws_of_neighbours(mechanism: Any, events: list[Expected]) -> None:
    one, other = mechanism.neighbouring_outputs(SIZE)
    assert (len(one), len(other)) == (SIZE, SIZE)
    for event, first, second in events:
        check(event(one), first)
        check(event(other), second)


@pytest.mark.parametrize("collections", [1, 3])
def test_memoized_outputs_are_all_collections_of_one_memory(collections: int) -> None:
    """The chance that a bit is reported in every one of them: remembered right or wrong, and then each for itself."""
    m = zcdp.MemoizedRAPPOR(f="1/2", p="0.2", q="0.9", collections=collections)
    one, other = m.neighbouring_outputs(SIZE)
    true, false = (right * 0.9**collections + (1 - right) * 0.2**collections for right in (0.75, 0.25))
    for outputs, chances in ((one, (true, false)), (other, (false, true))):
        assert outputs.shape == (SIZE, collections)
        for place, chance in enumerate(chances):
            check(((outputs >> (7 - place)) & 1).all(axis=1), chance)


@pytest.mark.parametrize("monotone", [False, True])
def test_outputs_of_top_k_tell_which_of_two_tied_groups_was_selected_from(monotone: bool) -> None:
    """Four candidates that are ahead fall behind four others: how often the first selection is of the former."""
    m = zcdp.TopK(epsilon=4, k=2, monotone=monotone)
    rate = 2.0 if monotone else 1.0
    laws = [
        _of_first_group([1.0] * 4 + [0.0] * 4, rate),
        _of_first_group([0.0] * 4 + [0.0 if monotone else 1.0] * 4, rate),
    ]
    for outputs, law in zip(m.neighbouring_outputs(SIZE), laws, strict=True):
        for many, chance in enumerate(law):
            check(outputs == many, chance)


def _of_first_group(scores: list[float], rate: float) -> list[float]:
    """The law of how many of two selections by Gumbel noise are among the first four."""
    first = exponential(scores, rate)
    found = [0.0] * 3
    for i, j in product(range(8), repeat=2):
        if i != j:
            left = [n for n in range(8) if n != i]
            second = exponential([scores[n] for n in left], rate)[left.index(j)]
            found[(i < 4) + (j < 4)] += float(first[i] * second)
    return found


@pytest.mark.parametrize("monotone", [False, True])
def test_outputs_of_sparse_vector_are_of_a_stream_that_moves_by_one(monotone: bool) -> None:
    """A quarter of the query noise below the threshold: five rise by 1, five fall by 1 or stay; the first three."""
    m = zcdp.SparseVector(epsilon_threshold=1, epsilon_queries=2, positives=1, monotone=monotone)
    rate = 2.0 if monotone else 1.0
    level = -1 / (4 * rate)
    for outputs, levels in zip(m.neighbouring_outputs(SIZE), ([level] * 3, [level + 1] * 3), strict=True):
        assert outputs.shape == (SIZE, 10)
        law = answers(lambda told, levels=levels: levels[len(told)], 3, 1, 1.0, rate)
        for string, chance in law.items():
            check((outputs[:, : len(string)] == np.array(string)).all(axis=1), chance)
    moved = [level + 1] * 5 + [level - (not monotone)]
    law = answers(lambda told: moved[len(told)], 6, 1, 1.0, rate)
    check((m.neighbouring_outputs(SIZE)[1][:, :6] == 0).all(axis=1), law[0, 0, 0, 0, 0, 0])
