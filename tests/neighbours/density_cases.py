"""Cases of noise that is known by its density: every shift up to the sensitivity, in both directions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

from rows import Made, made

from neighbours.case import Case
from neighbours.law import Pair, together


def density_case(
    build: Callable[[Any], Made], law: Callable[[float], Pair], kind: str, rng: Random, effort: int, most: float = 2.0
) -> Case:
    """The noise that `build` makes of a sensitivity; `law` is the pair of a shift, both in units of the scale."""
    distance = Fraction(rng.randint(10, int(100 * most)), 100)

    def shifts(far: float) -> list[Pair]:
        some = [far, *(far * rng.uniform(0.2, 1) for _ in range(effort))]
        return [one for move in some for one in (law(move), law(move).reversed())]

    if kind == "scalar":
        return Case(build(distance), shifts(float(distance)), group=lambda steps: shifts(steps * float(distance)))
    one = shifts(float(distance))
    pairs = [together([pair] * 2) for pair in one[:2]]
    return Case(build(made("L0LInf", 2, distance)), pairs)
