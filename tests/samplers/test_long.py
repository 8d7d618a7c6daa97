"""Arrays beyond one block of 2^16 draws: every value keeps its own noise, and no randomness is used twice."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp, sqrt
from typing import Any

import numpy as np
import pytest
from flint import arb
from independent.bits import seeded
from samplers.laws import real

from zcdp import (
    RAPPOR,
    BinaryRandomizedResponse,
    Channel,
    DiscreteGaussian,
    DiscreteLaplace,
    DiscreteStaircase,
    Gaussian,
    HadamardResponse,
    Laplace,
    LinearHashing,
    Logistic,
    MemoizedRAPPOR,
    RandomizedResponse,
    Staircase,
    SubsetSelection,
)
from zcdp.samplers import source
from zcdp.samplers.lazy_inversion import Law, LazyTable
from zcdp.samplers.lazy_laplace import AboveThreshold, LaplaceMax
from zcdp.samplers.run_samplers import fill
from zcdp.samplers.selection_draws import ExponentialSelection, PermuteAndFlip
from zcdp.samplers.source import BLOCK, blocks

LONG = 2 * BLOCK + 1234
SURE = 2000
"""An epsilon at which nothing is ever changed."""
Run = Callable[[Any], Any]


@pytest.fixture(autouse=True)
def same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_fill", seeded(20))


@pytest.mark.parametrize("count", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 3 * BLOCK + 7])
def test_blocks_cover_every_place_once(count: int) -> None:
    assert [n for block in blocks(count) for n in range(block.start, block.stop)] == list(range(count))
    assert all(block.stop - block.start <= BLOCK for block in blocks(count))


def test_an_array_is_filled_with_what_is_drawn_in_its_order() -> None:
    drawn = iter(range(LONG))
    filled = fill((2, LONG // 2), lambda count: np.array([next(drawn) for _ in range(count)]))
    assert filled.reshape(-1).tolist() == list(range(LONG))


WIDE: dict[str, Run] = {
    "discrete laplace": lambda n: DiscreteLaplace(scale=2**48).sample(n),
    "discrete gaussian": lambda n: DiscreteGaussian(sigma=2**40 - 1).sample(n),
    "discrete staircase": lambda n: DiscreteStaircase(epsilon=1, sensitivity=2**50, r=2**49).sample(n),
    "laplace": lambda n: Laplace(scale=2**40).sample(n, grid=1),
    "logistic": lambda n: Logistic(scale=2**40).sample(n, grid=1),
    "gaussian": lambda n: Gaussian(sigma=2**40).sample(n, grid="1/8"),
    "staircase": lambda n: Staircase(epsilon=1).release(np.zeros(n), sensitivity=2**36, grid="1/8"),
    "laplace, decimal": lambda n: Laplace(scale=2**40).sample(n, grid="0.1"),
    "discrete laplace, released": lambda n: DiscreteLaplace(scale=2**48).release(np.zeros(n, dtype=np.int64)),
    "discrete gaussian, released": lambda n: DiscreteGaussian(sigma=2**40 - 1).release(np.zeros(n, dtype=np.int64)),
    "gaussian, released": lambda n: Gaussian(sigma=2**40).release(np.zeros(n), grid="1/8"),
    "response": lambda n: RandomizedResponse(epsilon="1e-9", k=2**60).release(np.zeros(n, dtype=np.int64)),
    "linear hashing": lambda n: LinearHashing(epsilon="1e-9", g=3, k=3**37).release(np.zeros(n, dtype=np.int64)),
    "subset": lambda n: SubsetSelection(epsilon="1e-9", k=2**50, size=2).release(np.zeros(n, dtype=np.int64))[:, 0],
    "bits": lambda n: RAPPOR(epsilon="1e-9").release(np.zeros(n, dtype=np.int64), d=64).view(np.uint64)[:, 0],
    "memory": lambda n: (
        MemoizedRAPPOR(f="1/2", p="1/4", q="1/2", collections=1)
        .release(np.zeros((n, 8), dtype=np.uint8), d=64)
        .view(np.uint64)[:, 0]
    ),
}


@pytest.mark.parametrize("name", WIDE)
def test_no_draw_of_a_long_array_is_seen_twice(name: str) -> None:
    """Each has so many outcomes that two equal ones are a chance of one in a hundred; the bits are seeded."""
    drawn = np.asarray(WIDE[name](LONG))
    assert drawn.shape == (LONG,)
    if name == "memory":  # a quarter of the bits is set: fewer outcomes are common
        assert np.unique(drawn).size > LONG - 100
        return
    assert np.unique(drawn).size == LONG


def one_hot(reports: Any, d: int) -> Any:
    bits = np.unpackbits(reports, axis=-1, count=d)
    assert (bits.sum(axis=-1) == 1).all()
    return bits.argmax(axis=-1)


def of_signs(outputs: Any, k: int) -> Any:
    """The least value whose row of the Hadamard matrix fits many outputs of the same value, taken 7 at a time."""
    width = 1 << k.bit_length()
    signs = np.array([[(row & y).bit_count() % 2 for y in range(width)] for row in range(1, k + 1)])
    return [int(signs[:, group].sum(axis=1).argmin()) for group in outputs]


VALUES = np.arange(LONG) * 7 % 12
EXACT: dict[str, Run] = {
    "discrete laplace": lambda v: DiscreteLaplace(epsilon=SURE).release(v),
    "discrete gaussian": lambda v: DiscreteGaussian(sigma="1/100").release(v),
    "discrete staircase": lambda v: DiscreteStaircase(epsilon=SURE, sensitivity=1, r=1).release(v),
    "laplace": lambda v: Laplace(epsilon=SURE).release(v, grid=1),
    "laplace, floats": lambda v: Laplace(epsilon=SURE).release(v * 1.0, grid="1/3"),
    "laplace, far below the grid": lambda v: Laplace(epsilon=2**40).release(v * 1.0, grid=1),
    "gaussian": lambda v: Gaussian(sigma="1/100").release(v, grid=1),
    "logistic": lambda v: Logistic(epsilon=SURE).release(v, grid=1),
    "staircase": lambda v: Staircase(epsilon=SURE, gamma="1/2").release(v, sensitivity="1/100", grid=1),
    "response": lambda v: RandomizedResponse(epsilon=SURE, k=12).release(v),
    "response, bytes": lambda v: RandomizedResponse(epsilon=SURE, k=12).release(v.astype(np.uint8)),
    "subset": lambda v: SubsetSelection(epsilon=SURE, k=12, size=1).release(v)[:, 0],
    "bits": lambda v: one_hot(RAPPOR(epsilon=SURE).release(v, d=12), 12),
    "memory": lambda v: one_hot(
        MemoizedRAPPOR(f="1e-200", p="1/4", q="1/2", collections=1).remember(v, d=12), 12
    ),
    "linear hashing": lambda v: [
        value if (int(r) // 13 * value - int(r)) % 13 == 0 else -1
        for r, value in zip(LinearHashing(epsilon=SURE, g=13, k=12).release(v).tolist(), v.tolist(), strict=True)
    ],
    "channel": lambda v: Channel([[1 if i == j else 0 for j in range(12)] for i in range(12)]).release(v),
}  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
def test_what_is_released_of_a_long_array_is_each_value_in_its_place(name: str) -> None:
    assert np.asarray(EXACT[name](VALUES)).tolist() == VALUES.tolist()


def test_reports_of_bits_in_memory_keep_their_places() -> None:
    """A remembered 1 is nearly always reported as one, and a 0 as none: over more bytes than are drawn at a time."""
    memory = np.frombuffer(seeded(9)(5 * 60_000), dtype=np.uint8).reshape(60_000, 5)
    memory = memory & np.array([255, 255, 255, 255, 0xE0], dtype=np.uint8)
    kept = MemoizedRAPPOR(f="1/2", p="1e-200", q=1 - Fraction(1, 10**200), collections=1).release(memory, d=35)
    assert (kept == memory).all()


def test_hadamard_reports_keep_their_places() -> None:
    """Seven outputs in a row belong to one value, which their signs tell."""
    values = np.arange(LONG // 7) % 11
    outputs = HadamardResponse(epsilon=SURE).release(values.repeat(14), k=11).reshape(-1, 14)
    found = of_signs(outputs[:: len(outputs) // 400], 11)
    wanted = values[:: len(outputs) // 400].tolist()
    assert sum(a == b for a, b in zip(found, wanted, strict=True)) > 0.98 * len(wanted)


def test_answers_of_two_kinds_keep_their_places() -> None:
    """A 1 is told with probability 1 - 10^-9, a 0 with 1/2."""
    bits = np.arange(LONG) % 3 == 0
    answers = BinaryRandomizedResponse(p=1 - Fraction(1, 10**9), q="1/2").release(bits.astype(np.int64))
    assert answers[bits].all()
    others = answers[~bits]
    for part in (others[: BLOCK // 2], others[BLOCK // 2 :]):
        assert abs(part.mean() - 0.5) < 5 * sqrt(0.25 / part.size)


SELECTIONS: dict[str, tuple[Callable[[int], Any], float]] = {
    "exponential": (lambda n: ExponentialSelection(real(Fraction(1))).draw([0.0, 1.0], n) == 0, 1 / (1 + exp(1))),
    "permute and flip": (lambda n: PermuteAndFlip(real(Fraction(1))).draw([0.0, 1.0], n) == 0, exp(-1) / 2),
    "noisy max": (lambda n: LaplaceMax(lambda: arb(1)).draw([0.0, 1.0], n) == 0, exp(-1) * 3 / 4),
    "above threshold": (
        lambda n: AboveThreshold(Fraction(1), Fraction(1), 1).draw([Fraction(-1)], n)[:, 0] == 1,
        exp(-1) * 3 / 4,
    ),
}


@pytest.mark.parametrize("name", SELECTIONS)
def test_selections_of_every_block_have_the_law_and_their_own_bits(name: str) -> None:
    draw, chance = SELECTIONS[name]
    count = BLOCK + BLOCK // 2
    hits = np.asarray(draw(count))
    assert hits.shape == (count,)
    quarter = BLOCK // 4
    parts = [hits[n : n + quarter] for n in range(0, count, quarter)]
    for part in parts:
        assert abs(part.mean() - chance) < 5 * sqrt(chance * (1 - chance) / quarter)
    agree = chance**2 + (1 - chance) ** 2
    for n, part in enumerate(parts):
        for other in parts[:n]:
            assert abs((part == other).mean() - agree) < 5.5 * sqrt(agree * (1 - agree) / quarter)


@pytest.mark.parametrize("bits", [8, 15, 31])
def test_a_table_of_outcomes_at_the_end_of_a_type(bits: int) -> None:
    """Outcomes up to the largest number of a type, or down to the least: none is taken for a mark, and none is cut."""
    for first in (2**bits - 3, -(2**bits), 2**bits - 1):
        table = LazyTable(Law(lambda k, first=first: arb(k - first + 1) / 3, range(first, first + 3), first, first + 2))
        drawn = table.draw(60_000, source.secure)
        assert drawn.min() == first
        assert np.abs(np.bincount(drawn - first, minlength=4) - [20_000, 20_000, 20_000, 0]).max() < 700
