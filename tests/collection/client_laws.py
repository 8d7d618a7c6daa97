"""The law of one report of each local randomizer, from its definition alone: outcomes on the wire and their chances.

Epsilons are logarithms, so that every chance is a fraction. Nothing here comes from zcdp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, product
from math import comb, prod

Law = dict[str, Fraction]


def randomized_response(e: Fraction, k: int, value: int) -> Law:
    whole = e + k - 1
    return {f"{y:02x}": (e if y == value else 1) / whole for y in range(k)}


def bits(chances: list[Fraction]) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    for row in product((0, 1), repeat=len(chances)):
        yield row, prod((p if bit else 1 - p for bit, p in zip(row, chances, strict=True)), start=Fraction(1))


def packed(row: tuple[int, ...]) -> str:
    width = -(-len(row) // 8)
    whole = int("".join(map(str, row)).ljust(8 * width, "0"), 2)
    return whole.to_bytes(width, "big").hex()


def unary(p: Fraction, q: Fraction, k: int, value: int) -> Law:
    return {packed(row): chance for row, chance in bits([p if v == value else q for v in range(k)])}


def subset(e: Fraction, k: int, size: int, value: int) -> Law:
    whole = comb(k - 1, size - 1) * e + comb(k - 1, size)
    sets = combinations(range(k), size)
    return {bytes(one).hex(): (e if value in one else Fraction(1)) / whole for one in sets}


def hadamard(e: Fraction, k: int, blocks: int, value: int) -> Law:
    width = 2
    while (width - 1) * blocks < k:
        width *= 2
    block, row = value // (width - 1), value % (width - 1) + 1
    sign = [(-1) ** bin(row & y).count("1") for y in range(width)]
    weight = [e if y // width == block and sign[y % width] > 0 else Fraction(1) for y in range(width * blocks)]
    return {f"{y:02x}": one / sum(weight) for y, one in enumerate(weight)}


def linear_hash(e: Fraction, g: int, k: int, value: int) -> Law:
    digits = 1
    while g**digits < k:
        digits += 1
    own = [value // g**n % g for n in range(digits)]
    law = {}
    for vector in product(range(g), repeat=digits):
        bucket = sum(a * v for a, v in zip(vector, own, strict=True)) % g
        for z in range(g):
            report = sum(a * g**n for n, a in enumerate(vector)) * g + z
            law[f"{report:02x}"] = (e if z == bucket else Fraction(1)) / (e + g - 1) / g**digits
    return law


def window(e: Fraction, steps: int, width: int, value: int) -> list[Fraction]:
    weight = [e if value <= y < value + width else Fraction(1) for y in range(steps + width)]
    return [one / sum(weight) for one in weight]


def square_wave(e: Fraction, steps: int, width: int, value: int) -> Law:
    return {f"{y:02x}": one for y, one in enumerate(window(e, steps, width, value))}


def hybrid(e: Fraction, steps: int, width: int, share: Fraction, value: int) -> Law:
    up = Fraction(value, steps)
    bit = [(1 - up) * one + up * other for one, other in zip(window(e, 1, 1, 0), window(e, 1, 1, 1), strict=True)]
    cells = [share * one for one in window(e, steps, width, value)] + [(1 - share) * one for one in bit]
    return {f"{y:02x}": one for y, one in enumerate(cells)}


def memoized(f: Fraction, p: Fraction, q: Fraction, k: int, value: int, collections: int) -> Law:
    law: Law = {}
    for memory, chance in bits([1 - f / 2 if v == value else f / 2 for v in range(k)]):
        once = [*bits([q if one else p for one in memory])]
        for rows in product(once, repeat=collections):
            name = "".join(packed(row) for row, _ in rows)
            law[name] = law.get(name, Fraction(0)) + chance * prod(part for _, part in rows)
    return law


def rounds(of: int, answered: int) -> Law:
    return {
        " ".join(map(str, one)): Fraction(1, comb(of, answered)) for one in combinations(range(1, of + 1), answered)
    }


F = Fraction
CASES: list[tuple[str, int, int, Callable[[], Law], int]] = [
    ("RandomizedResponse(epsilon='log(3)', k=7)", 7, 2, lambda: randomized_response(F(3), 7, 2), 0),
    ("RandomizedResponse(epsilon='log(9/4)', k=200)", 200, 199, lambda: randomized_response(F(9, 4), 200, 199), 0),
    ("BinaryRandomizedResponse(p='2/3', q='1/7')", 2, 1, lambda: {"01": F(2, 3), "00": F(1, 3)}, 0),
    ("BinaryRandomizedResponse(p='2/3', q='1/7')", 2, 0, lambda: {"01": F(1, 7), "00": F(6, 7)}, 0),
    ("RAPPOR(epsilon='log(9)')", 5, 3, lambda: unary(F(3, 4), F(1, 4), 5, 3), 0),
    ("UnaryEncoding(p='4/5', q='1/3')", 9, 8, lambda: unary(F(4, 5), F(1, 3), 9, 8), 0),
    ("OptimizedUnaryEncoding(epsilon='log(5)')", 4, 0, lambda: unary(F(1, 2), F(1, 6), 4, 0), 0),
    ("SubsetSelection(epsilon='log(4)', k=7, size=3)", 7, 6, lambda: subset(F(4), 7, 3, 6), 0),
    ("SubsetSelection(epsilon='log(4)', k=6, size=4)", 6, 2, lambda: subset(F(4), 6, 4, 2), 0),
    ("HadamardResponse(epsilon='log(6)')", 10, 9, lambda: hadamard(F(6), 10, 1, 9), 0),
    ("HadamardResponse(epsilon='log(6)', blocks=2)", 5, 4, lambda: hadamard(F(6), 5, 2, 4), 0),
    ("LocalHashing(epsilon='log(3)', g=5, random_hash=True)", 11, 7, lambda: linear_hash(F(3), 5, 11, 7), 0),
    ("LinearHashing(epsilon='log(2)', g=3, k=20)", 20, 19, lambda: linear_hash(F(2), 3, 20, 19), 0),
    ("SquareWave(epsilon='log(5)', steps=6, width=4)", 7, 4, lambda: square_wave(F(5), 6, 4, 4), 0),
    ("SquareWave(epsilon='log(5)', steps=1, width=1)", 2, 1, lambda: square_wave(F(5), 1, 1, 1), 0),
    (
        "HybridResponse(epsilon='log(3)', steps=5, width=2, share='2/3')",
        6,
        4,
        lambda: hybrid(F(3), 5, 2, F(2, 3), 4),
        0,
    ),
    (
        "MemoizedRAPPOR(f='1/2', p='1/5', q='2/3', collections=2)",
        3,
        1,
        lambda: memoized(F(1, 2), F(1, 5), F(2, 3), 3, 1, 2),
        2,
    ),
]
"""Mechanism, number of values, value, law of its report, and how many collections it is the law of if it has memory."""
