"""Polygons above and below a profile known at points: against the outcomes of the pair itself."""

from __future__ import annotations

from math import exp
from random import Random

import pytest
from flint import arb

from zcdp.numeric.balls import above, at_precision, below
from zcdp.privacy.loss.profile_polygons import KnownProfile


def height(atoms: list[tuple[float, float]], x: float) -> float:
    return sum(max(p - x * q, 0.0) for p, q in atoms)


def some_atoms(seed: int) -> list[tuple[float, float]]:
    rng = Random(seed)
    rows = [[exp(-((n - at) ** 2) / 200) * rng.uniform(0.9, 1.1) for n in range(60)] for at in (34, 26)]
    p, q = ([x / sum(row) for x in row] for row in rows)
    return list(zip(p, q, strict=True))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("slack", [0.0, 1e-3])
def test_one_pair_is_above_and_all_tests_of_the_other_are_below(seed: int, slack: float) -> None:
    """Also where the profile is known up to some slack alone, and between the points."""
    atoms = some_atoms(seed)
    places = [0.02 * 1.05**n for n in range(180)]

    def polygons() -> tuple[list[tuple[arb, arb]], list[tuple[arb, arb]]]:
        values = [height(atoms, x) for x in places]
        known = KnownProfile(
            [arb(x) for x in places], [arb(value - slack) for value in values], [arb(value + slack) for value in values]
        )
        return known.above(), known.tests_below(arb(0))

    high, tests = at_precision(320, polygons)
    assert sum(above(p) for p, _ in high) == pytest.approx(1, abs=1e-12)
    assert sum(above(q) for _, q in high) == pytest.approx(1, abs=1e-12)
    closest = 0.0
    for n in range(300):
        x = 0.01 * 1.03**n
        truth = height(atoms, x)
        assert height([(above(p), above(q)) for p, q in high], x) >= truth - 1e-12
        best = max(*(below(p) - x * above(q) for q, p in tests), 1 - x, 0.0)
        assert best <= truth + 1e-12
        closest = max(closest, truth - best)
    assert slack or closest < 0.02


def test_infinite_losses_are_kept_on_both_sides() -> None:
    atoms = [(0.1, 0.0), (0.6, 0.3), (0.3, 0.7)]
    places = [0.1 * 1.2**n for n in range(30)]

    def polygons() -> tuple[list[tuple[arb, arb]], list[tuple[arb, arb]]]:
        values = [arb(height(atoms, x)) for x in places]
        known = KnownProfile([arb(x) for x in places], values, values)
        return known.above(), known.tests_below(arb("0.1").lower())

    high, tests = at_precision(320, polygons)
    assert above(high[0][0]) == pytest.approx(0.1, abs=1e-12)
    assert max(below(p) - 1e6 * above(q) for q, p in tests) == pytest.approx(0.1, abs=1e-12)
