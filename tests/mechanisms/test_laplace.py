"""Laplace noise: it charges the worst move of a vector, found by brute force over moves."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import exp, inf, log1p, sqrt

import numpy as np
import pytest
from mechanisms.explicit import moves_within

from zcdp import L1, L2, L0LInf, L1LInf, Laplace, PureDP, Sensitivity

ORDERS = (1, 1.01, 1.5, 2, 5, 32, 300)


@cache
def laplace_divergence(move: Fraction, order: float) -> float:
    """From the density: half the mass has loss x, half of e^-x has loss -x, in between the loss falls from x to -x."""
    x, s = float(move), order - 1
    nodes, weights = np.polynomial.legendre.leggauss(64)
    t = x * (nodes + 1) / 2
    middle = x / 4 * weights * np.exp(-t)
    if s == 0:
        return x / 2 - x * exp(-x) / 2 + float(middle @ (x - 2 * t))
    rise = np.expm1(s * x) / 2 + exp(-x) * np.expm1(-s * x) / 2 + float(middle @ np.expm1(s * (x - 2 * t)))
    return log1p(rise) / s


BOUNDS: tuple[tuple[Sensitivity, Callable[[tuple[int, ...]], bool]], ...] = (
    (L1(6), lambda v: sum(v) <= 6),
    (L0LInf(1, 3), lambda v: len(v) <= 1 and max(v) <= 3),
    (L0LInf(4, 3), lambda v: len(v) <= 4 and max(v) <= 3),
    (L1LInf(7, 3), lambda v: sum(v) <= 7 and max(v) <= 3),
    (L1LInf(6, 2), lambda v: sum(v) <= 6 and max(v) <= 2),
    (L1LInf(3, 5), lambda v: sum(v) <= 3 and max(v) <= 5),
    (L2(1), lambda v: sum(x * x for x in v) <= 1),
    (L2(3), lambda v: sum(x * x for x in v) <= 9),
    (L2("7/2"), lambda v: 4 * sum(x * x for x in v) <= 49),
)
EACH_BOUND = pytest.mark.parametrize(
    ("bound", "fits"), BOUNDS, ids=lambda value: repr(value) if isinstance(value, Sensitivity) else ""
)
SCALED = (1, 1.01, 1.5, 2, 5)


@EACH_BOUND
@pytest.mark.parametrize("scale", [Fraction(20), Fraction(2), Fraction(1, 2)])
def test_laplace_charges_the_worst_move_of_a_vector(bound: Sensitivity, fits: object, scale: Fraction) -> None:
    m, moves = Laplace(scale=scale, sensitivity=bound), list(moves_within(fits))
    for order in SCALED:
        worst = max(sum(laplace_divergence(x / scale, order) for x in move) for move in moves)
        assert worst <= m.rdp(order) * (1 + 1e-12)
        assert worst / order <= m.rho * (1 + 1e-12)
        if not isinstance(bound, L2):
            assert worst == pytest.approx(m.rdp(order), rel=1e-11)
        if order == 1 and not isinstance(bound, L2):
            assert worst == pytest.approx(m.rho, rel=1e-11)
    longest = max(sum(move) for move in moves)
    assert m.pure_epsilon == (inf if isinstance(bound, L2) else PureDP(epsilon=longest / scale).pure_epsilon)


@pytest.mark.parametrize("b", [Fraction(1, 10), Fraction(1), Fraction(4)])
def test_many_small_moves_approach_the_charge_under_l2(b: Fraction) -> None:
    m = Laplace(scale=1, sensitivity=L2(b))
    for count in (1, 4, 100, 10**6):
        move = Fraction(float(b) / sqrt(count))
        rho = count * Laplace(epsilon=move).rho
        assert rho <= m.rho * (1 + 1e-9)
        assert all(count * Laplace(epsilon=move).rdp(order) <= m.rdp(order) * (1 + 1e-9) for order in ORDERS)
    assert rho == pytest.approx(m.rho, rel=2e-3)
