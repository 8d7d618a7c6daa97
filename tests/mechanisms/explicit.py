"""Output distributions written down from the definitions of the mechanisms, as exact fractions: rows of a channel.

`growth` stands for e^epsilon, a rational, so that every probability is one. No formula of the library is used here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, pairwise, product
from math import prod
from random import Random

import mpmath as mp

Row = list[Fraction]
GOLDEN = (mp.sqrt(5) - 1) / 2


def normalised(weights: Sequence[Fraction | int]) -> Row:
    total = Fraction(sum(weights))
    return [weight / total for weight in weights]


def growth(rng: Random, low: float = -4, high: float = 2.2) -> Fraction:
    """A random e^epsilon, log-uniform in epsilon from e^low to e^high."""
    excess = mp.expm1(mp.exp(rng.uniform(low, high)))
    return 1 + Fraction(round(excess * 10**6), 10**6)


def response(grown: Fraction, k: int) -> list[Row]:
    """The true value is e^epsilon times as likely as each other one."""
    return [normalised([grown if y == x else 1 for y in range(k)]) for x in range(k)]


def unary(p: Fraction, q: Fraction, bits: int) -> list[Row]:
    """One-hot vectors: the 1 stays with probability p, each 0 turns to 1 with probability q."""

    def mass(x: int, output: tuple[int, ...]) -> Fraction:
        chances = (p if bit == x else q for bit in range(bits))
        return prod((chance if y else 1 - chance for chance, y in zip(chances, output, strict=True)), start=Fraction(1))

    return [[mass(x, output) for output in product((0, 1), repeat=bits)] for x in range(bits)]


def subsets(grown: Fraction, k: int, size: int) -> list[Row]:
    """A subset that holds the true value is e^epsilon times as likely as one that does not."""
    outputs = list(combinations(range(k), size))
    return [normalised([grown if x in output else 1 for output in outputs]) for x in range(k)]


def sylvester(doublings: int) -> list[list[int]]:
    matrix = [[1]]
    for _ in range(doublings):
        matrix = [row + row for row in matrix] + [row + [-entry for entry in row] for row in matrix]
    return matrix


def hadamard(grown: Fraction, doublings: int, blocks: int) -> list[Row]:
    """Values are pairs of a block and a non-constant row; the +1s of the row, in its block, are the likely outputs."""
    rows = sylvester(doublings)[1:]
    width = 1 << doublings
    return [
        normalised([grown if y // width == block and row[y % width] == 1 else 1 for y in range(blocks * width)])
        for block in range(blocks)
        for row in rows
    ]


def hashing(grown: Fraction, g: int, hashes: Sequence[Sequence[int]]) -> list[Row]:
    """The hash is drawn uniformly and part of the output; its bucket goes through g-randomized response."""
    buckets = response(grown, g)
    return [[mass / len(hashes) for function in hashes for mass in buckets[function[x]]] for x in range(len(hashes[0]))]


def all_functions(domain: int, g: int) -> list[tuple[int, ...]]:
    return list(product(range(g), repeat=domain))


def staircase(grown: Fraction, gamma: Fraction, shift: Fraction) -> tuple[Row, Row]:
    """Staircase noise at sensitivity 1 around 0 and around a shift of at most 1.

    The line is cut where either density steps. Left of 0 and right of the shift both densities fall by e^epsilon per
    unit, so the outcomes of equal loss there are those of one unit, summed as a geometric series.
    """

    def density(x: Fraction) -> Fraction:
        steps = abs(x) // 1
        return grown ** -(steps + (abs(x) - steps >= gamma))

    steps = {sign * (n + part) for n in range(4) for part in (0, gamma) for sign in (1, -1)}
    cuts = sorted({step + move for step in steps for move in (0, shift)} | {Fraction(-1), shift + 1})
    series = grown / (grown - 1)
    near, far = [], []
    for left, right in pairwise(cut for cut in cuts if -1 <= cut <= shift + 1):
        middle = (left + right) / 2
        length = (right - left) * (1 if 0 < middle < shift else series)
        near.append(length * density(middle))
        far.append(length * density(middle - shift))
    assert sum(near) == sum(far)
    return normalised(near), normalised(far)


def discrete_staircase(grown: Fraction, sensitivity: int, r: int, shift: int) -> tuple[Row, Row]:
    """The same on the integers."""

    def mass(i: int) -> Fraction:
        return grown ** -(abs(i) // sensitivity + (abs(i) % sensitivity >= r))

    series = grown / (grown - 1)
    weights = [(i, 1 if 0 <= i < shift else series) for i in range(-sensitivity, shift + sensitivity)]
    near = [weight * mass(i) for i, weight in weights]
    far = [weight * mass(i - shift) for i, weight in weights]
    assert sum(near) == sum(far)
    return normalised(near), normalised(far)


def discrete_laplace(decay: Fraction, shift: int) -> tuple[Row, Row]:
    """Mass proportional to decay^|i|, around 0 and around the shift: outcomes beyond both, of equal loss, merged."""
    series = 1 / (1 - decay)
    weights = [(0, series), *((i, Fraction(1)) for i in range(1, shift)), (shift, series)]
    near = [weight * decay ** abs(i) for i, weight in weights]
    far = [weight * decay ** abs(i - shift) for i, weight in weights]
    return normalised(near), normalised(far)


def total_variation(p: Sequence[Fraction], q: Sequence[Fraction]) -> Fraction:
    return sum((abs(a - b) for a, b in zip(p, q, strict=True)), Fraction(0)) / 2


def cumulant(p: Sequence[Fraction], q: Sequence[Fraction]) -> Callable[[mp.mpf], mp.mpf]:
    """log of the sum of p (p/q)^s, by mpmath."""
    masses = [
        (mp.mpf(a.numerator) / a.denominator, mp.mpf(b.numerator) / b.denominator)
        for a, b in zip(p, q, strict=True)
        if a
    ]
    return lambda s: mp.log(mp.fsum(a * (a / b) ** s for a, b in masses))


def steepest(k: Callable[[mp.mpf], mp.mpf], high: float = 1e4) -> mp.mpf:
    """The largest K(s)/(s(1+s)) on a grid from 1e-12 to `high`, then by golden section: no certificate, no theorem."""

    def ratio(log_s: mp.mpf) -> mp.mpf:
        s = mp.exp(log_s)
        return k(s) / (s * (1 + s))

    low, top, cells = mp.log(mp.mpf("1e-12")), mp.log(high), 80
    grid = [low + (top - low) * n / cells for n in range(cells + 1)]
    values = [ratio(x) for x in grid]
    best = max(range(cells + 1), key=values.__getitem__)
    left, right = grid[max(best - 1, 0)], grid[min(best + 1, cells)]
    for _ in range(40):
        inner, outer = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
        if ratio(inner) < ratio(outer):
            left = inner
        else:
            right = outer
    return max(ratio((left + right) / 2), values[best])


def steepest_of_rows(rows: Sequence[Sequence[Fraction]]) -> mp.mpf:
    """The same over every ordered pair of rows."""
    with mp.workdps(40):
        return max(steepest(cumulant(p, q)) for p, q in product(rows, repeat=2) if p != q)


def moves_within(fits: Callable[[tuple[int, ...]], bool], last: int = 99) -> Iterator[tuple[int, ...]]:
    """All vectors of positive integers, in falling order, that fit (and so do their parts)."""
    yield ()
    for first in range(1, last + 1):
        if not fits((first,)):
            break
        for rest in moves_within(lambda rest, first=first: fits((first, *rest)), first):
            yield (first, *rest)
