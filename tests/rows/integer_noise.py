"""Rows of `IntegerNoise`: every shift of the masses, written out far beyond the table."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from random import Random

import numpy as np
from neighbours.case import Case, Row
from neighbours.law import Pair, together
from samplers.hits import beyond, far

from rows import made

EXAMPLES = (
    made("IntegerNoise", [1, 2, 5, 3], start=-2, tails="1/2"),
    made("IntegerNoise", [2, 1, 3, 1, 2], start=-2, tails="2/3", sensitivity=3),
    made("IntegerNoise", ["1/4", "1/2", "1/4"], start=-1, tails="0.3", sensitivity=made("L0LInf", 3, 2)),
)
FAR = 400  # masses that are written out beyond the table: a ratio of at most 0.8 leaves less than 1e-35 of them


def moved(masses: list[Fraction], ratio: Fraction | None, shift: int) -> Pair:
    """The outputs on 0 and on the shift, each integer by itself; but the farthest on each side, which stand for all."""
    w, d = np.array([float(mass) for mass in masses]), abs(shift)
    if ratio is not None:
        r = float(ratio) ** np.arange(1, FAR)
        w = np.concatenate([(w[0] * r)[::-1], w, w[-1] * r])
    if ratio is None:
        p, q = np.concatenate([w, np.zeros(d)]), np.concatenate([np.zeros(d), w])
    else:  # the first and the last integer that both have written out stand for all beyond them, geometric series
        more = 1 / (1 - float(ratio))
        p, q = w[d:].copy(), w[:-d].copy()
        p[[0, -1]], q[[0, -1]] = p[[0, -1]] * more, q[[0, -1]] * more
    p, q = p / p.sum(), q / q.sum()
    pair = Pair.exactly(p, q)
    return pair if shift > 0 else pair.reversed()


def some_masses(rng: Random, *, modes: int) -> list[Fraction]:
    """Masses that rise and fall so many times at most."""
    found: list[int] = []
    for _ in range(modes):
        size = rng.randint(1, 4)
        found += sorted(rng.randint(1, 30) for _ in range(size))
        found += sorted((rng.randint(1, 30) for _ in range(size)), reverse=True)
    return [Fraction(mass) for mass in found]


def _case(modes: int, has_tails: bool, kind: str, rng: Random, effort: int) -> Case:
    masses, distance = some_masses(rng, modes=modes), rng.randint(1, 4)
    ratio = Fraction(rng.randint(20, 80), 100) if has_tails else None

    def shifts(far: int) -> list[Pair]:
        moves = [far, *range(1, far)] if modes > 1 else [far, -far, *(rng.randint(1, far) for _ in range(effort))]
        return [moved(masses, ratio, move) for move in moves]

    many = rng.randint(2, 3)
    if kind == "scalar":
        pairs, bound = shifts(distance), distance
        group = lambda steps: shifts(steps * distance)  # noqa: E731
    else:
        one = shifts(distance)
        pairs, bound, group = [together([pair] * many) for pair in one[:1]], made("L0LInf", many, distance), None
        pairs += [together([rng.choice(one) for _ in range(many)]) for _ in range(effort)]
    call = made("IntegerNoise", masses, start=rng.randint(-9, 9), tails=ratio, sensitivity=bound)
    return Case(call, pairs, group=group, every=modes > 1 and kind == "scalar")


NEIGHBOURS = (
    Row("IntegerNoise", partial(_case, 1, True, "scalar"), "scalar"),
    Row("IntegerNoise", partial(_case, 3, True, "scalar"), "scalar", "modes", deep=True),
    Row("IntegerNoise", partial(_case, 1, False, "scalar"), "scalar", "zero"),
    Row("IntegerNoise", partial(_case, 1, True, "L0LInf"), "L0LInf", deep=True),
)
DRAWN = {
    "IntegerNoise": (
        made("IntegerNoise", [4, 8, 4], start=-1, tails="1/2"),
        far(2),
        beyond(lambda x: 2.0 ** -abs(x), 2),
    )
}


def _text(inputs: object) -> str:
    draw = inputs.draw  # type: ignore[attr-defined]
    masses = ", ".join(str(draw.randint(0, 9)) for _ in range(draw.randint(1, 5)))
    return f"[{masses}], start={draw.randint(-9, 9)}, tails={draw.choice(('None', '0.5', repr('1/3'), '2'))}"


TEXTS = {"IntegerNoise": _text}
