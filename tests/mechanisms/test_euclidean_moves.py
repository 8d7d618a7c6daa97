"""Whole moves of a bounded length, for each small sum of squares and around the limits, against all such moves."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache, reduce
from itertools import combinations_with_replacement, pairwise, product
from math import exp, inf, isqrt, log, nextafter, prod, sqrt

import numpy as np
import pytest
from mechanisms import explicit
from mechanisms.explicit import moves_within
from mpmath import mp, mpf
from neighbours import noise

from zcdp import (
    L1,
    L2,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    L0LInf,
    L1LInf,
    Laplace,
    Log,
    Logistic,
    LossPair,
    Sensitivity,
)
from zcdp.mechanisms.noise.euclidean_moves import _not_above
from zcdp.mechanisms.noise.gaussian import partitions
from zcdp.numeric.balls import Undecided, at_precision
from zcdp.privacy.loss import laplace_pair


@pytest.mark.parametrize("squares", [1, 2, 3, 4, 5, 6, 7, 8, 11, 14])
@pytest.mark.parametrize("t", [Fraction(1, 10), Fraction(3, 2)], ids=str)
def test_integer_noise_under_each_length_is_that_of_the_worst_move(squares: int, t: Fraction) -> None:
    m = DiscreteLaplace(scale=1 / t, sensitivity=L2(f"sqrt({squares})"))
    moves = [move for move in moves_within(lambda v: sum(x * x for x in v) <= squares) if move]
    assert m.epsilon == squares * t
    assert m.pure_epsilon == pytest.approx(float(max(map(sum, moves)) * t), rel=1e-12)
    for share in (0.0, 0.05, 0.15, 0.4, 0.9):
        epsilon = share * m.pure_epsilon
        worst = max(delta(law(float(t), move), epsilon) for move in moves)
        lower, upper = m.delta_bounds(epsilon=epsilon)
        assert lower - 1e-13 <= worst <= upper + 1e-13
        assert upper <= worst * 1.1 + 1e-13


@pytest.mark.parametrize("squares", [100, 101])
def test_many_squares_are_enclosed_on_both_sides_of_the_limit(squares: int) -> None:
    """One long move with what is left over, the next shorter ones, and as many coordinates as there are squares."""
    t, root = 0.05, isqrt(squares)
    m = DiscreteLaplace(scale=20, sensitivity=L2(f"sqrt({squares})"))
    moves = [(1,) * squares]
    for longest in range(2, root + 1):
        count, rest = divmod(squares, longest**2)
        moves.append((longest,) * count + (1,) * rest)
    for epsilon in (0.0, 0.1, 0.4):
        worst = max(delta(law(t, move), epsilon) for move in moves)
        lower, upper = m.delta_bounds(epsilon=epsilon)
        assert worst <= upper + 1e-13
        assert lower <= worst * 1.02 + 1e-13
        assert upper <= worst * 2 + 1e-13


@pytest.mark.parametrize("squares", [4, 6, 7])
@pytest.mark.parametrize("variance", ["1/2", 3], ids=str)
def test_normal_noise_on_integers_under_each_length(squares: int, variance: object) -> None:
    """Also where the noise is so narrow that no normal law dominates it, and rho alone is left."""
    v = Fraction(variance)  # type: ignore[arg-type]
    m = DiscreteGaussian(rho=squares / (2 * v), sensitivity=L2(f"sqrt({squares})"))
    moves = [move for move in moves_within(lambda d: sum(x * x for x in d) <= squares) if len(move) in {1, 2, squares}]
    pairs = [noise.moved(lambda far: noise.discrete_gaussian(v, int(far)), move) for move in moves]
    for epsilon in (0.0, 0.3, 2.0):
        lower, upper = m.delta_bounds(epsilon=epsilon)
        assert max(pair.low.delta(epsilon, -1) for pair in pairs) <= upper
        assert lower <= upper
    assert m.rho_fraction == squares / (2 * v)


@pytest.mark.parametrize(("count", "move"), [(1, 2), (2, 1), (2, 2), (3, 1)])
@pytest.mark.parametrize("sigma", [0.7, 1.5])
def test_coordinates_that_move_alike_are_independent_draws(count: int, move: int, sigma: float) -> None:
    """From the masses: noise so narrow that moving by 2 is not moving by 1 under noise of half the width."""
    m = DiscreteGaussian(sigma=sigma, sensitivity=L0LInf(count, move))
    x = np.arange(-9 - move, 10 + move)
    one, other = (np.exp(-((x - to) ** 2) / (2 * sigma**2)) for to in (0, move))
    p = q = np.ones(1)
    for _ in range(count):
        p = np.multiply.outer(p, one / one.sum()).ravel()
        q = np.multiply.outer(q, other / one.sum()).ravel()
    for epsilon in (0.0, 0.5, 2.0):
        truth = float(np.maximum(p - exp(epsilon) * q, 0).sum())
        lower, upper = m.delta_bounds(epsilon=epsilon)
        assert lower * (1 - 1e-6) <= truth <= upper * (1 + 1e-6)
        assert upper <= truth * (1 + 1e-4)
    assert m.rdp(1.5) == pytest.approx(2 * log(float((p**1.5 * q**-0.5).sum())), rel=1e-6)


@pytest.mark.parametrize("squares", [*range(1, 60), 99, 100, 101, 1000, 12345])
def test_moves_for_lower_ends_have_just_the_squares_that_there_are(squares: int) -> None:
    found = partitions(squares)
    for moves in found:
        assert sum(count * part**2 for count, part in moves) == squares
        assert all(count >= 1 and part >= 1 for count, part in moves)
        assert len({part for _, part in moves}) == len(moves)
    assert [(squares, 1)] in found
    assert max(part for moves in found for _, part in moves) == isqrt(squares)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Log(2), Fraction(3)], ids=str)
@pytest.mark.parametrize("kind", [Laplace, Logistic])
def test_lower_ends_of_real_moves_are_of_one_coordinate_or_of_sixteen(
    kind: type[Laplace | Logistic], epsilon: object
) -> None:
    """A quarter of the length in each of 16 coordinates is that length; no such move exceeds the upper end either."""
    m = kind(epsilon=epsilon, sensitivity=L2(1))  # type: ignore[arg-type]
    step = Fraction(epsilon) if isinstance(epsilon, Fraction) else Fraction(0.6931471805599453)
    attained = [1 * kind(epsilon=step), 16 * kind(epsilon=step / 4)]
    for at in (0.0, float(step) / 4):
        lower, upper = m.delta_bounds(epsilon=at)
        truth = [plan.delta_bounds(epsilon=at) for plan in attained]
        assert lower <= max(most for _, most in truth) * (1 + 1e-9)
        assert max(least for least, _ in truth) <= upper * (1 + 1e-9)
        assert lower >= max(least for least, _ in truth) * (1 - 1e-6)


ORDERS = (1, 1.01, 1.5, 2, 5, 32, 300)


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


# Discrete Gaussian noise of Euclidean sensitivity 2: one coordinate may move by 2, not only four by 1.


def divergence(sigma: float, move: int, order: float) -> float:
    """Of one coordinate, by a plain sum."""
    weights = {x: exp(-(x**2) / (2 * sigma**2)) for x in range(-15, 16)}
    whole = sum(weights.values())
    total = sum(w**order * weights.get(x - move, 0.0) ** (1 - order) for x, w in weights.items() if x - move >= -15)
    return log(total / whole) / (order - 1)


@pytest.mark.parametrize("sigma", ["1/2", "2/5"])
def test_one_far_move_costs_more_than_four_short_ones_at_half_orders(sigma: str) -> None:
    """At order 3/2 a move by 2 costs 3/2 rho: theta has the period 1."""
    m = DiscreteGaussian(sigma=sigma, sensitivity=L2(2))
    top, bottom = map(int, sigma.split("/"))
    far = divergence(top / bottom, 2, 1.5)
    short = 4 * divergence(top / bottom, 1, 1.5)
    assert far > short * 1.0001  # else this says nothing
    assert m.rdp("3/2") >= far * (1 - 1e-12)
    assert m.rdp("3/2") >= short * (1 - 1e-12)


# Profiles of vectors against every admissible move: no dominating pair, no formula of the library.


Law = tuple[np.ndarray, np.ndarray]
"""Masses of the losses -n t, ..., n t under an input and under its neighbour."""


@cache
def coordinate(t: float, move: int) -> Law:
    """From the masses of the noise, far enough out, added up by their loss."""
    reach = move + int(50 / t)
    x = np.arange(-reach, reach + move + 1)
    p, q = np.exp(-t * np.abs(x)), np.exp(-t * np.abs(x - move))
    norm = np.tanh(t / 2)
    losses = np.abs(x - move) - np.abs(x) + move
    return np.bincount(losses, p * norm), np.bincount(losses, q * norm)


@cache
def law(t: float, moves: tuple[int, ...]) -> Law:
    pairs = [coordinate(t, move) for move in moves]
    return tuple(reduce(np.convolve, [pair[side] for pair in pairs], np.ones(1)) for side in (0, 1))  # type: ignore[return-value]


def delta(law: Law, epsilon: float) -> float:
    p, q = law
    return float(np.maximum(p - exp(epsilon) * q, 0).sum())


def composed(*laws: Law) -> Law:
    return tuple(reduce(np.convolve, [one[side] for one in laws]) for side in (0, 1))  # type: ignore[return-value]


BOUNDS: tuple[tuple[Sensitivity, Callable[[tuple[int, ...]], bool]], ...] = (
    (L2("2.5"), lambda v: 4 * sum(x * x for x in v) <= 25),
    (L2(3), lambda v: sum(x * x for x in v) <= 9),
    (L2(5), lambda v: sum(x * x for x in v) <= 25),
    (L2("1.8"), lambda v: sum(x * x for x in v) <= 3),
    (L1LInf(7, 3), lambda v: sum(v) <= 7 and max(v) <= 3),
    (L1(4), lambda v: sum(v) <= 4),
    (L0LInf(3, 2), lambda v: len(v) <= 3 and max(v) <= 2),
)
SHARES = (0.0, 0.03, 0.1, 0.2, 0.35, 0.5, 0.8)


@pytest.mark.parametrize("t", [Fraction(1, 50), Fraction(1, 3), Fraction(2)], ids=str)
@pytest.mark.parametrize(
    ("bound", "fits"), BOUNDS, ids=lambda value: repr(value) if isinstance(value, Sensitivity) else ""
)
def test_no_move_exceeds_the_profile_and_one_reaches_the_lower_end(
    bound: Sensitivity, fits: object, t: Fraction
) -> None:
    m = DiscreteLaplace(scale=1 / t, sensitivity=bound)
    moves = [move for move in moves_within(fits) if move]
    for share in SHARES:
        epsilon = share * m.pure_epsilon
        worst = max(delta(law(float(t), move), epsilon) for move in moves)
        lower, upper = m.delta_bounds(epsilon=epsilon)
        assert lower - 1e-13 <= worst <= upper + 1e-13
        assert upper <= worst * 1.05 + 1e-13


@pytest.mark.parametrize("bound", [L2("2.5"), L2(3)], ids=repr)
@pytest.mark.parametrize("t", [Fraction(1, 20), Fraction(1)], ids=str)
def test_moves_may_differ_from_one_use_to_the_next(bound: L2, t: Fraction) -> None:
    plan = 2 * DiscreteLaplace(scale=1 / t, sensitivity=bound)
    moves = [move for move in moves_within(lambda v: sum(x * x for x in v) <= bound.b**2) if move]
    for share in SHARES:
        epsilon = share * plan.pure_epsilon
        both = [composed(law(float(t), a), law(float(t), b)) for a, b in combinations_with_replacement(moves, 2)]
        worst = max(delta(one, epsilon) for one in both)
        lower, upper = plan.delta_bounds(epsilon=epsilon)
        assert lower - 1e-13 <= worst <= upper + 1e-13


def least_epsilon(law: Law, target: float) -> float:
    low, high = 0.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if delta(law, middle) > target else (low, middle)
    return high


@pytest.mark.parametrize(
    ("scale", "b", "at", "least", "most"),
    [
        (1000, 100, "0.03", 0.03908, 0.04892),  # many squares: the Gaussian pair
        (50, 5, "0.02", 0.05960, 0.05999),
        (50, 5, "0.001", 0.19636, 0.19637),
        (2, 10, "0.001", 25.94, 25.95),
    ],
)
def test_euclidean_moves_of_integers(scale: int, b: int, at: str, least: float, most: float) -> None:
    """One coordinate that moves by b, and b^2 that move by 1, are among them."""
    m = DiscreteLaplace(scale=scale, sensitivity=L2(b))
    lower, upper = m.epsilon_bounds(delta=at)
    assert least <= lower <= upper <= nextafter(most, 9) * (1 + 1e-4)
    assert least_epsilon(law(1 / scale, (b,)), float(at)) <= upper * (1 + 1e-12)
    if b < 100:
        assert least_epsilon(law(1 / scale, (1,) * b**2), float(at)) <= upper * (1 + 1e-12)


@pytest.mark.parametrize("b", [11, 30])
def test_many_squares_are_tight_where_one_small_move_is_the_worst(b: int) -> None:
    """The Gaussian pair touches the profile of one move at epsilon = 0: nothing smaller would do."""
    lower, upper = DiscreteLaplace(scale=20_000, sensitivity=L2(b)).delta_bounds(epsilon=0)
    truth = delta(law(1 / 20_000, (b,)), 0.0)
    assert lower * (1 - 1e-12) <= truth <= upper
    assert upper <= truth * 1.001


@pytest.mark.parametrize("count", [1, 10])
def test_one_long_move_composed(count: int) -> None:
    plan = count * DiscreteLaplace(scale=50, sensitivity=L2(5))
    for moves in ((5,), (4, 3), (1,) * 25):
        truth = least_epsilon(composed(*[law(1 / 50, moves)] * count), 0.02)
        assert truth <= plan.epsilon_at(delta="0.02") * (1 + 1e-12)
    assert plan.epsilon_at(delta="0.02") <= plan.routes(delta="0.02")["rdp"]


def test_very_long_moves_are_bounded_from_below_by_what_is_attained() -> None:
    """Beyond some length the pair of one move is itself a bound: the lower end is of the Laplace pair below it."""
    m = DiscreteLaplace(scale=10**7, sensitivity=L2(10**6))
    pair = m.pair()
    assert pair is not None
    [(one, _)] = pair.lower[0]  # one coordinate moves by the whole length of 1/10 scales
    assert one is laplace_pair(Fraction(1, 10))
    lower, upper = m.epsilon_bounds(delta="0.01")
    assert DiscreteLaplace(scale=10**7, sensitivity=10**6).epsilon_bounds(delta="0.01")[0] <= lower <= upper


def laplace_delta(move: float, epsilon: np.ndarray) -> np.ndarray:
    inside = 1 - np.exp((np.minimum(epsilon, move) - move) / 2)
    return np.where(epsilon <= -move, 1 - np.exp(np.minimum(epsilon, 0)), inside)


def two_laplace_moves(x: float, y: float, epsilon: float) -> float:
    """The profile of the second, averaged over the loss of the first: x for half of it, -x for half of e^-x."""
    u = (np.arange(40_000) + 0.5) * x / 40_000
    middle = float(np.sum(np.exp(-u) / 2 * laplace_delta(y, epsilon - (x - 2 * u)))) * x / 40_000
    ends = laplace_delta(y, np.array([epsilon - x, epsilon + x]))
    return float(ends[0] / 2 + exp(-x) / 2 * ends[1]) + middle


@pytest.mark.parametrize("b", [0.01, 0.1, 1.0, 3.0])
def test_euclidean_moves_of_reals(b: float) -> None:
    m = Laplace(scale=1, sensitivity=L2(b))
    for epsilon in (0.0, 0.3 * b, 0.7 * b, b, 1.3 * b):
        lower, upper = m.delta_bounds(epsilon=epsilon)
        one = float(laplace_delta(b, np.array(epsilon)))
        assert one <= upper
        assert one <= lower * (1 + 1e-12) or one == 0  # the lower end is at least that of the one move
        for angle in (0.2, 0.5, np.pi / 4):
            assert two_laplace_moves(b * np.cos(angle), b * np.sin(angle), epsilon) <= upper + 1e-8
    near = m.delta_bounds(epsilon=0)
    assert near[1] <= near[0] * sqrt(np.pi / 2) * 1.02


@pytest.mark.parametrize(
    ("sensitivity", "rule"),
    [
        (L2("2.3"), lambda d: sum(x * x for x in d) <= 5),
        (L2(3), lambda d: sum(x * x for x in d) <= 9),
        (L1(3), lambda d: sum(d) <= 3),
        (L1LInf(5, 2), lambda d: sum(d) <= 5 and max(d) <= 2),
        (L1LInf(3, 1), lambda d: sum(d) <= 3 and max(d) <= 1),
    ],
    ids=["L2(2.3)", "L2(3)", "L1(3)", "L1LInf(5, 2)", "L1LInf(3, 1)"],
)
@pytest.mark.parametrize("variance", ["1", "20"])
def test_whole_moves_of_discrete_gaussian_noise(
    sensitivity: Sensitivity, rule: Callable[[tuple[int, ...]], bool], variance: str
) -> None:
    """Every admissible move, listed: none tells more than the upper ends, and the lower ends are of some of them."""
    v = Fraction(variance)
    moves = {
        tuple(sorted(filter(None, d)))
        for size in range(1, 10)
        for d in combinations_with_replacement(range(4), size)
        if rule(d)
    } - {()}
    squares = max(sum(x * x for x in d) for d in moves)
    m = DiscreteGaussian(rho=squares / (2 * v), sensitivity=sensitivity)
    assert m.variance == v
    pairs = [noise.moved(lambda far: noise.discrete_gaussian(v, int(far)), d) for d in moves]
    assert max(pair.low.kl() for pair in pairs) <= m.rho * (1 + 1e-9)
    assert m.rho <= max(pair.high.kl() for pair in pairs) * (1 + 1e-9)
    for s in (0.3, 1.0, 2.5):
        assert max(pair.low.cumulant(s) for pair in pairs) <= s * m.rdp(1 + Fraction(s)) * (1 + 1e-12)
    for epsilon in (0.0, 0.2, 1.0, 3.0):
        lower, upper = m.delta_bounds(epsilon=epsilon)
        told = max(pair.low.delta(epsilon, -1) for pair in pairs)
        most = max(pair.high.delta(epsilon, 1) for pair in pairs)
        assert lower * (1 - 1e-9) - 1e-15 <= most
        assert told <= upper
        if variance == "20" and epsilon < 1:
            assert upper <= 1.05 * told
    for told in (0.1, 1e-4):
        assert max(pair.low.delta(m.epsilon_at(delta=told), -1) for pair in pairs) <= told


def test_groups_of_whole_moves() -> None:
    """Two moves within L1(2) are one within L1(4): the lower ends are of neighbours that there are."""
    m = DiscreteGaussian(sigma=3, sensitivity=L1LInf(5, 2)).group(3)
    assert m == DiscreteGaussian(sigma=3, sensitivity=L1LInf(15, 6))
    far = DiscreteGaussian(sigma=3, sensitivity=L1(2)).group(2)
    assert far == DiscreteGaussian(sigma=3, sensitivity=L1(4))
    moves = [(4,), (3, 1), (2, 2), (2, 1, 1), (1, 1, 1, 1)]
    pairs = [noise.moved(lambda far: noise.discrete_gaussian(Fraction(9), int(far)), move) for move in moves]
    for epsilon in (0.0, 0.4, 1.5):
        lower, upper = far.delta_bounds(epsilon=epsilon)
        told = [pair.low.delta(epsilon, -1) for pair in pairs]
        assert lower * (1 - 1e-9) <= max(pair.high.delta(epsilon, 1) for pair in pairs)
        assert max(told) <= upper
    for other in (L2(3), L0LInf(2, 1)):
        with pytest.raises(ValueError, match="has no multiple for a group"):
            DiscreteGaussian(sigma=3, sensitivity=other).group(2)


def two_logistic_moves(x: float, y: float, epsilon: float) -> float:
    """delta of two coordinates: over the first one's outcomes, the second's profile at what is left of epsilon."""

    def alone(shift: float, at: np.ndarray) -> np.ndarray:
        """u - e^at v, u = F(x) and v = F(x - shift), where the loss 2 log(u + (1-u) e^shift) - shift is `at`."""
        inner = np.clip(at, -shift, shift)
        r = np.exp((inner + shift) / 2)
        u = (np.exp(shift) - r) / np.expm1(shift)
        q = u / (u + (1 - u) * np.exp(shift))
        return np.where(at >= shift, 0.0, np.where(at <= -shift, -np.expm1(at), u - np.exp(inner) * q))

    nodes, weights = np.polynomial.legendre.leggauss(60)
    kinks = [(exp(x) - exp((epsilon + side * y + x) / 2)) / (exp(x) - 1) for side in (1, -1)]
    cuts = np.clip([0.0, *kinks, 1.0], 0, 1)
    total = 0.0
    for left, right in pairwise(cuts):
        u = left + (right - left) * (nodes + 1) / 2
        loss = 2 * np.log(u + (1 - u) * np.exp(x)) - x
        total += float((weights / 2 * (right - left)) @ alone(y, epsilon - loss))
    return total


@pytest.mark.parametrize("b", [0.1, 1.0, 3.0])
def test_euclidean_moves_of_logistic_noise(b: float) -> None:
    """One coordinate, two, and very many, whose divergences are those of normal noise of the same slope."""
    m = Logistic(scale=1, sensitivity=L2(b))
    for epsilon in (0.0, 0.1 * b, 0.3 * b, 0.7 * b, 1.1 * b):
        lower, upper = m.delta_bounds(epsilon=epsilon)
        one = Logistic(epsilon=b).delta_bounds(epsilon=epsilon)
        assert one[0] <= upper
        assert one[0] <= lower * (1 + 1e-12)
        for angle in (0.2, 0.5, np.pi / 4):
            assert two_logistic_moves(b * np.cos(angle), b * np.sin(angle), epsilon) <= upper + 1e-12
        many = Gaussian(sigma=1, sensitivity=b / sqrt(3))
        assert many.delta_bounds(epsilon=epsilon)[0] <= upper * (1 + 1e-12)
    assert m.rho == pytest.approx(b * b / 6, rel=1e-14)
    assert (10_000 * Logistic(epsilon=b / 100)).rho == pytest.approx(m.rho, rel=1e-4)
    assert m.pure_epsilon == inf
    near = m.delta_bounds(epsilon=0)
    assert near[1] <= near[0] * 1.2


@pytest.mark.parametrize(("x", "y", "h"), [(1.0, 1.0, 0.5), (2.0, 0.7, 0.7), (0.9, 0.4, 0.1), (3.0, 2.9, 0.01)])
def test_moving_on_costs_more_with_logistic_noise(x: float, y: float, h: float) -> None:
    """The worst move of L1LInf is a corner: a step on to it, by an integral over outcomes, at every epsilon."""
    step = min(h, 0.999 * y)
    for epsilon in (-1.5, -0.2, 0.0, 0.3, 1.1, 2.2, 3.3):
        assert two_logistic_moves(x + step, y - step, epsilon) >= two_logistic_moves(x, y, epsilon) - 1e-12
    m = Logistic(scale=1, sensitivity=L1LInf(x + y, x))
    for epsilon in (0.1, 0.8, 2.0):
        assert m.delta_bounds(epsilon=epsilon)[0] == pytest.approx(two_logistic_moves(x, y, epsilon), abs=1e-10)


@pytest.mark.parametrize(("x", "y", "h"), [(1.0, 1.0, 0.5), (2.0, 0.7, 0.7), (0.9, 0.4, 0.1)])
def test_moving_on_to_the_larger_coordinate_costs_more(x: float, y: float, h: float) -> None:
    """By what docs/theorems/vector-queries.md says: the worst move of L1LInf is a corner, for the profile too."""
    for epsilon in (-1.5, -0.2, 0.0, 0.3, 1.1, 2.2):
        gap = x - y
        said = exp((epsilon - x - y) / 2) / 4 * (max(gap + 2 * h - abs(epsilon), 0) - max(gap - abs(epsilon), 0))
        found = two_laplace_moves(x + h, y - h, epsilon) - two_laplace_moves(x, y, epsilon)
        assert found == pytest.approx(said, abs=1e-7)
        t, d, e = 0.4, 3, 1
        before, after = (delta(law(t, move), epsilon) for move in ((d, e), (d + 1, e - 1)))
        assert after >= before - 1e-14


def test_a_plan_does_not_confuse_norms() -> None:
    bound = isqrt(25) ** 2
    by_one, euclidean = (DiscreteLaplace(scale=50, sensitivity=s) for s in (L0LInf(bound, 1), L2(5)))
    assert by_one != euclidean
    assert len((by_one + euclidean).parts) == 2
    assert by_one.rho == euclidean.rho
    assert by_one.epsilon_at(delta="0.02") < euclidean.epsilon_at(delta="0.02")


def test_a_plan_does_not_confuse_a_euclidean_bound_with_a_number() -> None:
    """Of the same epsilon: one has no pure epsilon, the other does."""
    for number in (Laplace(epsilon=1), Laplace(scale=2, sensitivity=2)):
        euclidean = Laplace(epsilon=1, sensitivity=L2(2))
        assert number != euclidean
        for plan in (number + euclidean, euclidean + number):
            assert len(plan.parts) == 2
            assert plan.pure_epsilon == float("inf")
            assert plan.rho >= number.rho + euclidean.rho - 1e-12
    assert Laplace(epsilon=1, sensitivity=L0LInf(2, 1)) != Laplace(epsilon=1)


def test_a_rate_for_lower_ends_is_not_above_the_true_one() -> None:
    with mp.workdps(40):
        for argument in range(2, 40):
            for parts in (1, 4, 25, 30):
                rate = _not_above(Log(argument), parts)
                assert mpf(rate.numerator) / rate.denominator <= mp.log(argument) / parts


def test_calibration_with_a_euclidean_bound() -> None:
    m = DiscreteLaplace.calibrate(rho="0.01", sensitivity=L2(5))
    assert m.sensitivity == L2(5)
    assert m.rho <= 0.01
    mixed = 3 * m + Laplace(epsilon="0.1") + 2 * Laplace(scale=40, sensitivity=L2(2))
    spent = mixed.epsilon_at(delta="1e-5")
    assert (3 * m).epsilon_bounds(delta="1e-5")[0] < spent <= mixed.routes(delta="1e-5")["rdp"]


@pytest.mark.parametrize("share", ["0.7", "0.3", "0.1", "0.04"])
@pytest.mark.parametrize(("variance", "squares"), [("4", 4), ("20", 4), ("20", 25), ("300", 9)])
def test_whole_moves_are_made_up_for_by_a_larger_one(
    monkeypatch: pytest.MonkeyPatch, variance: str, squares: int, share: str
) -> None:
    """(mu' - mu) phi(mu'/2) >= N log((1+e)/(1-e)), whatever part of the variance is given away; or no pair at all."""
    from zcdp.mechanisms.noise import gaussian as normal_moves

    monkeypatch.setattr(normal_moves, "_part", lambda variance, squares: float(share))
    found = normal_moves.whole_normal_pair(Fraction(variance), squares, [])
    assert found is not None
    given = mpf(variance) * mpf(float(share))
    ripple = 2 * mp.nsum(lambda n: mp.exp(-2 * mp.pi**2 * given * n * n), [1, 6])
    mu = mp.sqrt(squares / (mpf(variance) - given))
    try:
        larger = mp.sqrt(mpf(at_precision(256, found.upper.curvature).str(40, radius=False)))
    except Undecided:
        assert squares * ripple > mu / 1000  # there is no room for what the weights add
        return
    needed = squares * mp.log((1 + ripple) / (1 - ripple))
    assert (larger - mu) * mp.npdf(larger / 2) >= needed * (1 - mpf(10) ** -12) - mpf(10) ** -12
    assert larger <= mu * (1 + mpf(1) / 60)
