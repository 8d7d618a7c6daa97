"""What is left of a box in the simplex, by trying all points of a lattice. (bug E2)"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from zcdp.estimation.histogram import box_in_simplex

UNITS = 10


def boxes() -> list[tuple[list[int], list[int]]]:
    rng = np.random.default_rng(5)
    made = []
    while len(made) < 60:
        ends = np.sort(rng.integers(0, UNITS + 1, size=(2, int(rng.integers(2, 4)))), axis=0)
        if ends[0].sum() <= UNITS <= ends[1].sum():
            made.append((ends[0].tolist(), ends[1].tolist()))
    return made


@pytest.mark.parametrize(("low", "high"), boxes())
def test_ends_are_those_of_the_points_inside(low: list[int], high: list[int]) -> None:
    ranges = [range(a, b + 1) for a, b in zip(low, high, strict=True)]
    inside = np.array([one for one in product(*ranges) if sum(one) == UNITS])  # vertices lie on the lattice
    lower, upper, possible = box_in_simplex(np.array(low) / UNITS, np.array(high) / UNITS)
    assert possible
    assert lower == pytest.approx(inside.min(axis=0) / UNITS, abs=1e-9)
    assert upper == pytest.approx(inside.max(axis=0) / UNITS, abs=1e-9)
