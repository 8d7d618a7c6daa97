"""Cases of noise that is known by its density: every shift up to the sensitivity, in both directions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

from rows import Made, made

from neighbours.case import Case
from neighbours.law import Pair, together

NEAREST = 0.05  # the shortest shift of a family, as a share of the longest


def density_case(
    build: Callable[[Any], Made],
    law: Callable[[float], Pair],
    kind: str,
    rng: Random,
    effort: int,
    most: float = 2.0,
    *,
    modes: int = 1,
) -> Case:
    """The noise that `build` makes of a sensitivity; `law` is the pair of a shift, both in units of the scale.

    With several modes any shift may be the worst: all are a family.
    """
    distance = Fraction(rng.randint(10, int(100 * most)), 100)

    def shifts(far: float) -> list[Pair]:
        some = [far, *(far * rng.uniform(0.2, 1) for _ in range(effort))]
        return [one for move in some for one in (law(move), law(move).reversed())]

    def every(far: float) -> Callable[[float], Pair] | None:
        return None if modes == 1 else lambda share: law(far * (NEAREST + (1 - NEAREST) * share))

    if kind == "scalar":
        far = float(distance)
        return Case(
            build(distance),
            shifts(far),
            family=every(far),
            group=lambda steps: shifts(steps * far),
            far_family=lambda steps: every(steps * far),
        )
    one = shifts(float(distance))
    pairs = [together([pair] * 2) for pair in one[:2]]
    return Case(build(made("L0LInf", 2, distance)), pairs)
