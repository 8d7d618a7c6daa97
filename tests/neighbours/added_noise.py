"""Cases of noise added to numbers and to vectors, under every kind of sensitivity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from random import Random

from rows import made

from neighbours import noise
from neighbours.case import Case
from neighbours.law import Pair
from neighbours.moves import Bound, Move, real_moves, summed

SENSITIVITIES = ("scalar", "L1", "L0LInf", "L1LInf", "L2")


def some_bound(kind: str, rng: Random, *, whole: bool) -> Bound:
    """A sensitivity of that kind."""

    def size(low: int, high: int) -> Fraction:
        return Fraction(rng.randint(low, high)) if whole else Fraction(rng.randint(2 * low, 2 * high), 2)

    if kind in {"scalar", "L1"}:
        return kind, size(1, 5)
    if kind == "L0LInf":
        return kind, Fraction(rng.randint(1, 4)), size(1, 3)
    if kind == "L1LInf":
        return kind, size(2, 7), size(1, 3)
    return kind, Fraction(rng.randint(10, 60 if whole else 34), 10)


def sensitivity(bound: Bound) -> object:
    """As a mechanism is given it."""
    return bound[1] if bound[0] == "scalar" else made(bound[0], *bound[1:])


def shifted(one: Callable[[float], Pair], moves: Sequence[Move]) -> list[Pair]:
    """The outputs of neighbours whose answers differ by these moves."""
    return [noise.moved(one, move) for move in moves]


def far(
    some_moves: Callable[[Bound, Random, int], list[Move]], bound: Bound, steps: int, rng: Random, effort: int
) -> list[Move]:
    """Where so many steps lead: the corner again and again, and others one after the other."""
    found: list[Move] = [tuple(steps * x for x in some_moves(bound, rng, 0)[0])]
    found += [summed([some_moves(bound, rng, 1)[-1] for _ in range(steps)]) for _ in range(effort)]
    return [move for move in found if any(move)]


def real_noise(name: str, law: Callable[[float], Pair], slope: float, kind: str, rng: Random, effort: int) -> Case:
    """Noise of some scale on real answers, from the pair of its neighbours at scale 1.

    Ever more coordinates, ever smaller moves are normal noise in the limit: of the variance of the slope of the
    logarithm of the density, whose square root is `slope`.
    """
    bound = some_bound(kind, rng, whole=False)
    scale = Fraction(rng.randint(5, 60), 10)

    def one(move: float) -> Pair:
        return law(float(move) / float(scale))

    def group(steps: int) -> list[Pair]:
        return shifted(one, far(real_moves, bound, steps, rng, effort))

    limits = [noise.gaussian(slope * float(bound[1] / scale))] if kind == "L2" else []
    call = made(name, scale=scale, sensitivity=sensitivity(bound))
    return Case(call, shifted(one, real_moves(bound, rng, effort)), limits, group=group)
