"""All that a vector of answers may do between neighbours: random admissible moves, the corners among them.

A bound is a tuple: ("scalar", d), ("L1", d), ("L0LInf", m, c), ("L1LInf", a, c) or ("L2", b). The first move returned
is the corner that is farthest in the l1 norm.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import isqrt, sqrt
from random import Random

Bound = tuple[str, *tuple[Fraction, ...]]
Move = tuple[float | Fraction | int, ...]


def norm_holds(bound: Bound, move: Move) -> bool:
    """Whether the move is admissible, said once more and from the definition."""
    kind, sizes = bound[0], [abs(x) for x in move if x]
    slack = 1 + 1e-12
    if kind in {"scalar", "L1"}:
        return sum(sizes) <= bound[1] * slack and (kind == "L1" or len(sizes) == 1)
    if kind == "L0LInf":
        return len(sizes) <= bound[1] and max(sizes) <= bound[2] * slack
    if kind == "L1LInf":
        return sum(sizes) <= bound[1] * slack and max(sizes) <= bound[2] * slack
    assert kind == "L2"
    return sum(float(x) ** 2 for x in sizes) <= float(bound[1]) ** 2 * slack


def real_moves(bound: Bound, rng: Random, count: int) -> list[Move]:
    """Corners, and random points inside and on the surface."""
    found = [*_real_corners(bound), *(_some_real(bound, rng) for _ in range(count))]
    found = [tuple(x * rng.choice((1, -1)) for x in move) for move in found]
    assert all(norm_holds(bound, move) for move in found)
    return found


def _real_corners(bound: Bound) -> Iterator[Move]:
    kind, first = bound[0], bound[1]
    if kind in {"scalar", "L1"}:
        yield (first,)
    elif kind == "L0LInf":
        yield (bound[2],) * int(first)
    elif kind == "L1LInf":
        full, rest = divmod(first, bound[2])
        yield (*((bound[2],) * int(full)), *((rest,) if rest else ()))
    else:
        yield (first,)
        for size in (2, 9, 64):
            yield (float(first) / sqrt(size),) * size


def _some_real(bound: Bound, rng: Random) -> Move:
    kind, first = bound[0], bound[1]
    inside = Fraction(rng.choice((1000, 1000, rng.randint(1, 999))), 1000)
    if kind == "scalar":
        return (first * Fraction(rng.randint(1, 1000), 1000),)
    if kind == "L0LInf":
        return tuple(bound[2] * Fraction(rng.randint(1, 1000), 1000) for _ in range(rng.randint(1, int(first))))
    size = rng.randint(1, 5)
    shares = [rng.randint(1, 1000) for _ in range(size)]
    if kind == "L2":
        length = sqrt(sum(share**2 for share in shares))
        return tuple(float(first * inside) * share / length for share in shares)
    parts = [first * inside * Fraction(share, sum(shares)) for share in shares]
    return tuple(parts) if kind == "L1" else tuple(min(part, bound[2]) for part in parts)


def squares(whole: int, largest: int | None = None) -> Iterator[tuple[int, ...]]:
    """All ways to write a whole number as a sum of squares, by the roots, in falling order."""
    if whole == 0:
        yield ()
        return
    for root in range(min(isqrt(whole), largest or whole), 0, -1):
        for rest in squares(whole - root * root, root):
            yield (root, *rest)


def whole_moves(bound: Bound, rng: Random, count: int) -> list[Move]:
    """The same for answers that are whole numbers; under L2 all moves of the largest length, if they are few."""
    found = [*_whole_corners(bound), *(_some_whole(bound, rng) for _ in range(count))]
    found = [tuple(x * rng.choice((1, -1)) for x in move) for move in found]
    assert all(norm_holds(bound, move) for move in found)
    return found


def _whole_corners(bound: Bound) -> Iterator[Move]:
    kind, first = bound[0], int(bound[1])
    if kind in {"scalar", "L1"}:
        yield (first,)
    elif kind == "L0LInf":
        yield (int(bound[2]),) * first
    elif kind == "L1LInf":
        full, rest = divmod(first, int(bound[2]))
        yield (*((int(bound[2]),) * full), *((rest,) if rest else ()))
    else:
        length = int(bound[1] ** 2)
        yield (1,) * length
        yield (int(bound[1]),)
        if length <= 12:
            yield from squares(length)


def _some_whole(bound: Bound, rng: Random) -> Move:
    kind, first = bound[0], int(bound[1])
    if kind == "scalar":
        return (rng.randint(1, first),)
    if kind == "L0LInf":
        return tuple(rng.randint(1, int(bound[2])) for _ in range(rng.randint(1, first)))
    left = int(bound[1] ** 2) if kind == "L2" else first
    most = int(bound[2]) if kind == "L1LInf" else left
    move: list[int] = []
    while left and (not move or rng.random() < 0.9):
        step = rng.randint(1, isqrt(left) if kind == "L2" else min(left, most))
        move.append(step)
        left -= step**2 if kind == "L2" else step
    return tuple(move)


def summed(moves: list[Move]) -> Move:
    """Where so many steps lead, one after the other, in the same coordinates."""
    size = max(map(len, moves))
    padded = [(*move, *(0,) * (size - len(move))) for move in moves]
    return tuple(sum(column) for column in zip(*padded, strict=True))
