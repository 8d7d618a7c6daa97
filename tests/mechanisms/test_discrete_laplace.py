"""Discrete Laplace noise: it charges the worst whole move of a vector, and attains the group bound of pure DP."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import exp, inf, log, log1p, nextafter

import numpy as np
import pytest
from mechanisms import explicit
from mechanisms.explicit import moves_within

from zcdp import L1, L2, DiscreteLaplace, L0LInf, L1LInf, Log, LossPair, PureDP, Sensitivity

ORDERS = (1, 1.01, 1.5, 2, 5, 32, 300)


@cache
def discrete_divergence(decay: Fraction, move: int, order: float) -> float:
    """From the masses, beyond both centres merged."""
    p, q = (np.array([float(mass) for mass in row]) for row in explicit.discrete_laplace(decay, move))
    loss, s = np.log(p / q), order - 1
    return float(p @ loss) if s == 0 else log1p(p @ np.expm1(s * loss)) / s


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
@pytest.mark.parametrize("decay", [Fraction(19, 20), Fraction(3, 5), Fraction(1, 8)])
def test_discrete_laplace_charges_the_worst_move_of_a_vector(bound: Sensitivity, fits: object, decay: Fraction) -> None:
    moves = list(moves_within(fits))
    t = Log(1 / decay)
    if isinstance(bound, L2):  # epsilon = b t; b is no integer here, so as a float, and t with it
        t = Fraction(-log(decay))
        decay = Fraction(exp(-t))
        m = DiscreteLaplace(scale=1 / t, sensitivity=bound)
    else:
        longest = max(sum(move) for move in moves)
        m = DiscreteLaplace(epsilon=Log(t.argument**longest), sensitivity=bound)
    for order in SCALED:
        worst = max(sum(discrete_divergence(decay, x, order) for x in move) for move in moves)
        assert worst <= m.rdp(order) * (1 + 1e-12)
        assert worst / order <= m.rho * (1 + 1e-12)
        if not isinstance(bound, L2):
            assert worst == pytest.approx(m.rdp(order), rel=1e-11)
        if order == 1:  # under L2 too: the worst move is by 1 in as many coordinates as fit
            assert worst == pytest.approx(m.rho, rel=1e-11)


@pytest.mark.parametrize("bound", [L1("5/2"), L0LInf(4, "5/3"), L1LInf("11/2", "9/4")], ids=repr)
def test_integer_answers_move_by_whole_numbers(bound: Sensitivity) -> None:
    whole = {L1: L1(2), L0LInf: L0LInf(4, 1), L1LInf: L1LInf(5, 2)}[type(bound)]
    assert DiscreteLaplace(scale=3, sensitivity=bound).rho == DiscreteLaplace(scale=3, sensitivity=whole).rho


@pytest.mark.parametrize("size", [1, 2, 3, 6])
@pytest.mark.parametrize("decay", [Fraction(9, 10), Fraction(1, 2), Fraction(1, 20)])
def test_discrete_laplace_attains_the_group_bound_of_pure_dp(size: int, decay: Fraction) -> None:
    """Shifted by `size` it is a path of steps that each are pure DP, and no less than the bound."""
    m = PureDP(epsilon=Log(1 / decay)).group(size)
    p, q = explicit.discrete_laplace(decay, size)
    pair = LossPair(p=p, q=q)
    assert pair.rho_bounds[0] <= m.rho <= nextafter(pair.rho, inf)
    for order in ORDERS:
        assert pair.rdp(order) == pytest.approx(m.rdp(order), rel=1e-15)
    assert m.pure_epsilon == pytest.approx(pair.pure_epsilon, rel=3e-16)
