"""Additive noise: curves from the densities themselves, vector queries by brute force over moves, groups, clamping."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise, product
from math import comb, exp, inf, log, log1p, nextafter, pi, prod, sqrt
from random import Random

import explicit
import mpmath as mp
import numpy as np
import pytest
from numpy.typing import NDArray

from zcdp import (
    L1,
    L2,
    BoundedRange,
    Channel,
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    L0LInf,
    L1LInf,
    Laplace,
    Log,
    Logistic,
    LossPair,
    PureDP,
    PureGroup,
    RandomizedResponse,
    ReportNoisyMax,
    Sensitivity,
    Staircase,
    TruncatedGeometric,
)

Floats = NDArray[np.float64]
ORDERS = (1, 1.01, 1.5, 2, 5, 32, 300)


def by_quadrature(log_density: Callable[[Floats], Floats], shift: float, order: float, low: int, high: int) -> float:
    """D_order of a density around 0 against the same around the shift, 16 nodes in each cell of length 1; 1 is KL."""
    nodes, weights = np.polynomial.legendre.leggauss(16)
    x = np.arange(low, high)[:, None] + (nodes + 1) / 2
    loss, s = log_density(x) - log_density(x - shift), order - 1
    mass = np.exp(log_density(x)) * weights / 2
    return float((mass * loss).sum()) if s == 0 else log1p((mass * np.expm1(s * loss)).sum()) / s


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_logistic_is_the_divergence_of_shifted_logistic_noise(epsilon: float) -> None:
    m = Logistic(epsilon=epsilon)
    for order in (1, 1.5, 2, 5):
        found = by_quadrature(lambda x: -abs(x) - 2 * np.log1p(np.exp(-abs(x))), epsilon, order, -80, 80)
        assert found == pytest.approx(m.rdp(order), rel=1e-12)
    assert m.rho == pytest.approx(m.rdp(1), rel=1e-15)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 5.0, 30.0])
def test_the_peak_of_logistic_noise_is_in_the_limit_of_order_one(epsilon: float) -> None:
    m = Logistic(epsilon=epsilon)
    lower, upper = m.search_rho(1e-10)
    assert lower <= m.rho <= nextafter(upper, inf)
    assert m.rho == pytest.approx(epsilon / np.tanh(epsilon / 2) - 2, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_logistic_dominates_bounded_range_and_is_pure_dp(epsilon: float) -> None:
    m = Logistic(epsilon=epsilon)
    assert BoundedRange(eta=epsilon).rho < m.rho < PureDP(epsilon=epsilon).rho
    assert all(BoundedRange(eta=epsilon).rdp(order) <= m.rdp(order) <= epsilon for order in ORDERS)
    assert m.pure_epsilon == epsilon
    assert m.group(3).rho == Logistic(epsilon=3 * Fraction(epsilon)).rho
    assert Logistic(scale=2, sensitivity=2 * Fraction(epsilon)) == m


@pytest.mark.parametrize(("sigma", "sensitivity"), [(1, 1), (3, 2), ("0.7", 1)])
def test_gaussian_is_the_divergence_of_shifted_normal_noise(sigma: object, sensitivity: int) -> None:
    m, width = Gaussian(sigma=sigma, sensitivity=sensitivity), float(Fraction(sigma))
    for order in (1, 1.5, 3):
        found = by_quadrature(
            lambda x: -((x / width) ** 2) / 2 - log(width * sqrt(2 * pi)), sensitivity, order, -60, 60
        )
        assert found == pytest.approx(m.rdp(order), rel=1e-12)
        assert m.rdp(order) == pytest.approx(m.rho * order, rel=1e-15)
    assert m.pure_epsilon == inf == m.rdp(inf)


@pytest.mark.parametrize("sigma", ["0.3", "1/2", "0.99", 1, 3])
@pytest.mark.parametrize("sensitivity", [1, 2, 5])
def test_discrete_gaussian_is_its_sum_over_the_integers(sigma: object, sensitivity: int) -> None:
    m, variance = DiscreteGaussian(sigma=sigma, sensitivity=sensitivity), Fraction(sigma) ** 2
    assert m.rho == pytest.approx(sensitivity**2 / (2 * float(variance)), rel=1e-15)
    for order in (1, "1.25", 1.5, 2, "3.7", 30):
        found = [_discrete_gaussian(variance, shift, order) for shift in range(1, sensitivity + 1)]
        assert max(found) == found[-1]
        assert found[-1] == pytest.approx(m.rdp(order), rel=1e-13)
        assert m.rdp(order) <= nextafter(m.rho * float(Fraction(order)), inf)
    assert m.pure_epsilon == inf


def _discrete_gaussian(variance: Fraction, shift: int, order: object) -> float:
    with mp.workdps(40):
        width, s = 2 * mp.mpf(variance.numerator) / variance.denominator, Fraction(order) - 1
        s = mp.mpf(s.numerator) / s.denominator
        reach = int(12 * mp.sqrt(width)) + 8
        centre = int(-s * shift)
        norm = mp.fsum(mp.exp(-(mp.mpf(x) ** 2) / width) for x in range(-reach, reach + 1))
        terms = [
            (mp.exp(-(mp.mpf(x) ** 2) / width) / norm, mp.mpf((x - shift) ** 2 - x**2) / width)
            for x in range(centre - reach, centre + reach + 1)
        ]
        if s == 0:
            return float(mp.fsum(mass * loss for mass, loss in terms))
        return float(mp.log(mp.fsum(mass * mp.exp(s * loss) for mass, loss in terms)) / s)


@pytest.mark.parametrize(("n", "sensitivity"), [(1, 1), (2, 2), (4, 1), (4, 2), (4, 4), (5, 3)])
@pytest.mark.parametrize("ratio", [Fraction(51, 50), Fraction(3, 2), Fraction(7)])
def test_truncated_geometric_is_the_worst_of_its_rows(n: int, sensitivity: int, ratio: Fraction) -> None:
    """All pairs of inputs within the sensitivity; at sensitivity n that is the whole channel."""
    rows = [explicit.normalised([ratio ** -abs(x - y) for y in range(n + 1)]) for x in range(n + 1)]
    m = TruncatedGeometric(epsilon=Log(ratio**sensitivity), n=n, sensitivity=sensitivity)
    if sensitivity == n:
        pairs: list[Channel | LossPair] = [Channel(rows)]
    else:
        near = [(x, y) for x, y in combinations(range(n + 1), 2) if y - x <= sensitivity]
        pairs = [LossPair(p=rows[x], q=rows[y]) for x, y in near]
    lower, upper = (max(pair.rho_bounds[side] for pair in pairs) for side in (0, 1))
    assert m.rho_bounds[0] <= upper
    assert lower <= m.rho <= upper * (1 + 1.1e-10)
    for order in ORDERS:
        assert max(pair.rdp(order) for pair in pairs) == pytest.approx(m.rdp(order), rel=1e-15)
    assert m.pure_epsilon == max(pair.pure_epsilon for pair in pairs)
    assert m.pure_epsilon >= PureDP(epsilon=m.epsilon).pure_epsilon


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


@cache
def discrete_divergence(decay: Fraction, move: int, order: float) -> float:
    """From the masses, beyond both centres merged."""
    p, q = (np.array([float(mass) for mass in row]) for row in explicit.discrete_laplace(decay, move))
    loss, s = np.log(p / q), order - 1
    return float(p @ loss) if s == 0 else log1p(p @ np.expm1(s * loss)) / s


def moves_within(fits: Callable[[tuple[int, ...]], bool], last: int = 99) -> Iterator[tuple[int, ...]]:
    """All vectors of positive integers, in falling order, that fit (and so do their parts)."""
    yield ()
    for first in range(1, last + 1):
        if not fits((first,)):
            break
        for rest in moves_within(lambda rest, first=first: fits((first, *rest)), first):
            yield (first, *rest)


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


@pytest.mark.parametrize("b", [Fraction(1, 10), Fraction(1), Fraction(4)])
def test_many_small_moves_approach_the_charge_under_l2(b: Fraction) -> None:
    m = Laplace(scale=1, sensitivity=L2(b))
    for count in (1, 4, 100, 10**6):
        move = Fraction(float(b) / sqrt(count))
        rho = count * Laplace(epsilon=move).rho
        assert rho <= m.rho * (1 + 1e-9)
        assert all(count * Laplace(epsilon=move).rdp(order) <= m.rdp(order) * (1 + 1e-9) for order in ORDERS)
    assert rho == pytest.approx(m.rho, rel=2e-3)


def test_the_scalar_formula_under_l2_is_unsound() -> None:
    """Four coordinates that move by 1 have length 2, and cost more than one that moves by 2: certified."""
    decay = Fraction(3, 4)
    near, far = explicit.discrete_laplace(decay, 1)
    p, q = ([prod(masses) for masses in product(row, repeat=4)] for row in (near, far))
    pair = LossPair(p=p, q=q)
    naive = DiscreteLaplace(epsilon=Log(1 / decay**2), sensitivity=2)
    charged = DiscreteLaplace(scale=Fraction(-1 / log(decay)), sensitivity=L2(2))
    assert naive.rho < pair.rho_bounds[0] / 1.1
    assert pair.rho_bounds[0] <= charged.rho * (1 + 1e-12)
    assert pair.rho == pytest.approx(charged.rho, rel=1e-9)
    assert all(pair.rdp(order) <= charged.rdp(order) * (1 + 1e-12) for order in ORDERS)
    assert Laplace(epsilon=2).rho < 4 * Laplace(epsilon=1).rho <= Laplace(scale=1, sensitivity=L2(2)).rho


def test_a_group_of_a_vector_bound_is_refused() -> None:
    for m in (Laplace(scale=1, sensitivity=L2(1)), DiscreteLaplace(scale=1, sensitivity=L0LInf(2, 1))):
        with pytest.raises(ValueError, match=r"sensitivity \(.*\) has no multiple for a group"):
            m.group(2)


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


@pytest.mark.parametrize("seed", range(20))
def test_no_path_of_pure_dp_steps_exceeds_the_group_bound(seed: int) -> None:
    rng = Random(seed)
    size, outcomes = rng.randint(2, 5), rng.randint(2, 5)
    path = [explicit.normalised([rng.randint(1, 9) for _ in range(outcomes)])]
    for _ in range(size):
        path.append(explicit.normalised([mass * rng.choice((1, 2, 3)) for mass in path[-1]]))
    step = max(max(a / b, b / a) for p, q in pairwise(path) for a, b in zip(p, q, strict=True))
    bound = PureDP(epsilon=Log(step)).group(size)
    pair = LossPair(p=path[0], q=path[-1])
    assert pair.rho_bounds[0] <= bound.rho
    assert all(pair.rdp(order) <= bound.rdp(order) for order in ORDERS)


def test_groups_of_the_others() -> None:
    assert Laplace(epsilon=1, sensitivity=2).group(3) == Laplace(epsilon=3)
    assert Laplace(epsilon=1).group(3).scale == 1
    assert DiscreteLaplace(epsilon=1, sensitivity=2).group(3) == DiscreteLaplace(epsilon=3, sensitivity=6)
    assert Gaussian(sigma=2).group(3).rho == 9 * Gaussian(sigma=2).rho
    assert DiscreteGaussian(sigma=2).group(3) == DiscreteGaussian(sigma=2, sensitivity=3)
    response = RandomizedResponse(epsilon=1, k=5)
    assert response.group(2) == response  # every two values are neighbours
    assert ExponentialMechanism(epsilon=1).group(3) == ExponentialMechanism(epsilon=3)
    assert ReportNoisyMax(epsilon=1, noise="gumbel").group(3) == ReportNoisyMax(epsilon=3, noise="gumbel")
    assert TruncatedGeometric(epsilon=1, n=5).group(2) == TruncatedGeometric(epsilon=2, n=5, sensitivity=2)
    assert Staircase(epsilon=1).group(2) == PureGroup(epsilon=2, size=2)
    assert PureGroup(epsilon=2, size=2).group(3) == PureGroup(epsilon=6, size=6)
    assert PureDP(epsilon=1).group(1).rho == pytest.approx(PureDP(epsilon=1).rho, rel=3e-16)


@pytest.mark.parametrize("shift", [1, 2, 4])
@pytest.mark.parametrize("decay", [Fraction(4, 5), Fraction(1, 5)])
def test_clamping_changes_nothing(shift: int, decay: Fraction) -> None:
    """Noise that leaves 0..5 is put on the end: the law from every input, and every pair of them at that distance."""
    top, m = 5, DiscreteLaplace(epsilon=Log(1 / decay**shift), sensitivity=shift)

    def clamped(x: int) -> list[Fraction]:
        inside = [decay ** abs(y - x) for y in range(top + 1)]
        inside[0] += decay ** (x + 1) / (1 - decay)
        inside[-1] += decay ** (top - x + 1) / (1 - decay)
        return explicit.normalised(inside)

    for x in range(top + 1 - shift):
        pair = LossPair(p=clamped(x), q=clamped(x + shift))
        assert pair.rho_bounds[0] <= m.rho <= nextafter(pair.rho, inf)
        assert all(pair.rdp(order) == pytest.approx(m.rdp(order), rel=1e-15) for order in ORDERS)


@pytest.mark.parametrize(("rate", "n", "d"), [(0.01, 60, 2), (0.3, 60, 3), (1.0, 120, 3), (7.0, 40, 1)])
def test_the_worst_of_many_pairs_is_not_left_out(rate: float, n: int, d: int) -> None:
    """Runs of pairs are bounded together: the largest is still that over all of them, from the masses themselves."""
    inputs = np.arange(n + 1)
    rows = np.exp(-rate / d * np.abs(inputs[:, None] - inputs))
    rows /= rows.sum(axis=1, keepdims=True)
    mechanism = TruncatedGeometric(epsilon=rate, n=n, sensitivity=d)
    for order in (1.001, 1.7, 6.0, 40.0):
        sides = [(rows[:-d], rows[d:]), (rows[d:], rows[:-d])]
        worst = max(float((p * (p / q) ** (order - 1)).sum(axis=1).max()) for p, q in sides)
        assert mechanism.rdp(order) == pytest.approx(np.log(worst) / (order - 1), rel=1e-9)


def test_several_uses_of_truncated_noise_are_at_least_those_at_its_end() -> None:
    """Inputs 0 and 1 of 0..200: the losses of one use are two, and no other inputs have larger ones."""
    weights = [[exp(-0.1 * abs(x - y)) for y in range(201)] for x in (0, 1)]
    p, q = ([mass / sum(row) for mass in row] for row in weights)
    large, small = log(p[0] / q[0]), log(p[1] / q[1])
    outcomes = [(p[0] ** k * (1 - p[0]) ** (2 - k) * comb(2, k), k * large + (2 - k) * small) for k in range(3)]

    def truth(epsilon: float) -> float:
        return sum(mass * max(1 - exp(epsilon - loss), 0.0) for mass, loss in outcomes)

    plan = 2 * TruncatedGeometric(epsilon="0.1", n=200)
    lower, upper = plan.epsilon_bounds(delta="1e-6")
    assert truth(lower * (1 - 1e-9)) >= 1e-6 * (1 - 1e-6)
    assert truth(lower * (1 + 1e-4)) <= 1e-6  # it is as large as these inputs say
    assert lower <= upper <= lower * (1 + 1e-4)
    assert plan.delta_bounds(epsilon="0.3")[0] >= truth(0.3) * (1 - 1e-9)
