"""How far one example moves a linear map: by brute force over all sets of steps and over the signs of its gradients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, pairwise, product
from random import Random

import pytest

from zcdp.training.participation import Cyclic, Map, MinSeparated, Participation, Single, ToeplitzMap

Rows = list[list[Fraction]]


def written_out(coefficients: Sequence[Fraction], steps: int) -> Rows:
    full = [*coefficients, *[Fraction(0)] * steps]
    return [[full[t - i] if t >= i else Fraction(0) for i in range(steps)] for t in range(steps)]


def sets(kind: Participation, steps: int) -> Iterator[tuple[int, ...]]:
    """All sets of steps that an example may take part in."""
    if isinstance(kind, Single):
        yield from ((i,) for i in range(steps))
    elif isinstance(kind, Cyclic):
        for j in range(kind.period):
            turns = tuple(range(j, steps, kind.period))
            yield from (chosen for n in range(1, len(turns) + 1) for chosen in combinations(turns, n))
    elif isinstance(kind, MinSeparated):
        for n in range(1, kind.times + 1):
            for chosen in combinations(range(steps), n):
                if all(b - a >= kind.separation for a, b in pairwise(chosen)):
                    yield chosen


def moved(rows: Rows, kind: Participation) -> tuple[Fraction, Fraction]:
    """The most that gradients of norm 1 and one or the other sign move the map, and the sum of |X_ij|, squared both."""
    steps = len(rows)
    best = bound = Fraction(0)
    for chosen in sets(kind, steps):
        columns = [[row[i] for row in rows] for i in chosen]
        for signs in product((1, -1), repeat=len(chosen) - 1):
            total = [
                sum(s * entry for s, entry in zip((1, *signs), line, strict=True))
                for line in zip(*columns, strict=True)
            ]
            best = max(best, sum((entry**2 for entry in total), Fraction(0)))
        pairs = [abs(sum(a * b for a, b in zip(one, other, strict=True))) for one in columns for other in columns]
        bound = max(bound, sum(pairs, Fraction(0)))
    return best, bound


def some_kind(rng: Random, steps: int) -> Participation:
    times = rng.randint(1, 4)
    period = rng.randint(max(1, steps // 4), steps)
    turns = -(-steps // period)
    return rng.choice((Single(), Cyclic(period, turns), MinSeparated(rng.randint(1, steps), times)))


def some_coefficients(rng: Random, steps: int) -> list[Fraction]:
    bands = rng.randint(1, steps)
    signs = rng.choice(((1,), (1,), (1, -1)))
    found = [Fraction(rng.randint(0, 20) * rng.choice(signs), 8) for _ in range(bands)]
    if rng.random() < 0.5:
        found = sorted(map(abs, found), reverse=True)
    return [found[0] or Fraction(1), *found[1:]]


def hold(rows: Rows, made: Map, kind: Participation) -> bool:
    """The move is never below the truth, exact where it says so; returns whether it says so."""
    true, bound = moved(rows, kind)
    square, exact = kind.move(made)
    assert square >= true
    if exact:
        assert square == true
    elif not isinstance(kind, MinSeparated):
        assert square == bound
    return exact


@pytest.mark.parametrize("seed", range(4))
def test_toeplitz_matrices_by_brute_force(seed: int) -> None:
    rng = Random(seed)
    said = 0
    for _ in range(40):
        steps = rng.randint(1, 9)
        coefficients, kind = some_coefficients(rng, steps), some_kind(rng, steps)
        rows = written_out(coefficients, steps)
        exact = hold(rows, ToeplitzMap(coefficients, steps), kind)
        assert exact >= hold(rows, Map(rows), kind)
        said += exact
    assert said > 20


@pytest.mark.parametrize("seed", range(4))
def test_any_matrices_by_brute_force(seed: int) -> None:
    rng = Random(100 + seed)
    for _ in range(25):
        steps = rng.randint(1, 8)
        bands = rng.randint(1, steps)
        least = rng.choice((0, 0, -9))
        rows = [
            [Fraction(rng.randint(least, 9), 4) if 0 <= t - i < bands else Fraction(0) for i in range(steps)]
            for t in range(steps)
        ]
        for i in range(steps):
            rows[i][i] = rows[i][i] or Fraction(1)
        hold(rows, Map(rows), some_kind(rng, steps))


@pytest.mark.deep
def test_twelve_steps_by_brute_force() -> None:
    rng = Random(7)
    for _ in range(200):
        coefficients, kind = some_coefficients(rng, 12), some_kind(rng, 12)
        hold(written_out(coefficients, 12), ToeplitzMap(coefficients, 12), kind)


def test_increasing_coefficients_are_not_called_exact() -> None:
    """The steps 0, b, 2b are not the worst then: 3 of 8 steps at least 2 apart."""
    coefficients = [Fraction(n) for n in (1, 1, 9, 1)]
    square, exact = MinSeparated(2, 3).move(ToeplitzMap(coefficients, 8))
    assert not exact
    assert square >= moved(written_out(coefficients, 8), MinSeparated(2, 3))[0]


def test_negative_entries_are_not_called_exact() -> None:
    rows = [
        [Fraction(2), Fraction(0), Fraction(0)],
        [Fraction(-1), Fraction(1), Fraction(0)],
        [Fraction(-1), Fraction(-1, 2), Fraction(1)],
    ]
    square, exact = Cyclic(1, 3).move(Map(rows))
    assert not exact
    assert square > moved(rows, Cyclic(1, 3))[0]


def test_the_identity_is_as_many_uses() -> None:
    for kind in (Cyclic(4, 3), MinSeparated(4, 3)):
        assert kind.move(ToeplitzMap([Fraction(1)], 12)) == (3, True)
    assert MinSeparated(4, 9).move(ToeplitzMap([Fraction(1)], 12)) == (3, True)


def test_entries_that_floats_round_to_nothing_still_count() -> None:
    """The bound in floats stays an upper one where quotients underflow."""
    tiny = Fraction(1, 10**400)
    rows = [[Fraction(1), Fraction(0)], [tiny, Fraction(1)]]
    square, exact = MinSeparated(1, 2).move(Map(rows))
    assert not exact
    assert square >= moved(rows, MinSeparated(1, 2))[0] > 2
