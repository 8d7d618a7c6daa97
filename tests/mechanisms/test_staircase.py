"""Staircase noise: the worst shift is the sensitivity, and groups lie between their ends."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import exp, nextafter

import numpy as np
import pytest
from mechanisms import explicit

from zcdp import DiscreteStaircase, Log, LossPair, Staircase


@pytest.mark.parametrize("gamma", [None, Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(4, 5), Fraction(1)])
@pytest.mark.parametrize("root", [Fraction(11, 10), Fraction(5, 3), Fraction(6)])
def test_the_worst_shift_of_a_staircase_is_the_sensitivity(gamma: Fraction | None, root: Fraction) -> None:
    m = Staircase(epsilon=Log(root**2), gamma=gamma)
    step = 1 / (1 + root) if gamma is None else gamma
    shifts = [Fraction(n, 7) for n in range(1, 8)]
    rhos = [LossPair(*explicit.staircase(root**2, step, shift)).rho_bounds for shift in shifts]
    assert all(one[0] <= other[1] for one, other in pairwise(rhos))
    assert rhos[-1][0] <= m.rho <= nextafter(rhos[-1][1], 1e308)


@pytest.mark.parametrize("sensitivity", [1, 2, 3, 5])
def test_the_worst_shift_of_a_discrete_staircase_is_the_sensitivity(sensitivity: int) -> None:
    grown = Fraction(7, 3)
    for r in range(1, sensitivity + 1):
        m = DiscreteStaircase(epsilon=Log(grown), sensitivity=sensitivity, r=r)
        pairs = [explicit.discrete_staircase(grown, sensitivity, r, shift) for shift in range(1, sensitivity + 1)]
        bounds = [LossPair(p=p, q=q).rho_bounds for p, q in pairs]
        assert max(lower for lower, _ in bounds) <= m.rho <= nextafter(bounds[-1][1], 1e308)


def staircase(epsilon: float, sensitivity: int, r: int, shift: int, reach: int = 400) -> tuple[np.ndarray, np.ndarray]:
    x = np.arange(-reach, reach + 1)

    def mass(i: np.ndarray) -> np.ndarray:
        steps = np.abs(i) // sensitivity + (np.abs(i) % sensitivity >= r)
        return np.exp(-epsilon * steps)

    p, q = mass(x), mass(x - shift)
    return p / p.sum(), q / p.sum()


@pytest.mark.parametrize(("sensitivity", "r"), [(1, 1), (4, 2), (5, 1)])
def test_the_group_of_a_staircase_is_between_its_ends(sensitivity: int, r: int) -> None:
    m = DiscreteStaircase(epsilon=1, sensitivity=sensitivity, r=r).group(2)
    laws = [staircase(1.0, sensitivity, r, shift) for shift in range(1, 2 * sensitivity + 1)]
    truth = max(float(p @ np.log(p / q)) for p, q in laws)
    assert m.rho_bounds[0] <= truth <= m.rho * (1 + 1e-9)
    assert not m.is_tight
    for epsilon in (0.0, 0.5, 1.5):
        lower, upper = m.delta_bounds(epsilon=epsilon)
        worst = max(float(np.maximum(p - exp(epsilon) * q, 0).sum()) for p, q in laws)
        assert lower <= worst + 1e-12
        assert worst <= upper + 1e-12
