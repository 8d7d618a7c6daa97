"""Whole moves of a bounded length, for each small sum of squares and around the limits, against all such moves."""

from __future__ import annotations

from fractions import Fraction
from math import exp, isqrt, log

import numpy as np
import pytest
from mechanisms.test_noise import moves_within
from mechanisms.test_vector_profiles import delta, law
from neighbours import noise

from zcdp import L2, DiscreteGaussian, DiscreteLaplace, L0LInf, Laplace, Log, Logistic
from zcdp.mechanisms.noise.gaussian import partitions


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
