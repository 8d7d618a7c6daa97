"""Truncated geometric noise against all pairs of inputs, from the masses: short and long ranges, groups, profiles."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp, inf, log

import numpy as np
import pytest
from numpy.typing import NDArray

from zcdp import TruncatedGeometric

Floats = NDArray[np.float64]
ORDERS = (1.0, 1.25, 2.0, 9.0)


def laws(t: float, n: int, inputs: Floats) -> Floats:
    """The law of the output on each of these inputs: e^{-t|x-y|} on 0 .. n, divided by its sum."""
    rows = np.exp(-t * np.abs(inputs[:, None] - np.arange(n + 1.0)))
    found: Floats = rows / rows.sum(axis=1, keepdims=True)
    return found


def divergence(p: Floats, q: Floats, order: float) -> float:
    """The largest of several pairs, in both directions."""
    if order == 1:
        return max(float((a * np.log(a / b)).sum(axis=1).max()) for a, b in ((p, q), (q, p)))
    moments = (float((a * (a / b) ** (order - 1)).sum(axis=1).max()) for a, b in ((p, q), (q, p)))
    return max(log(moment) / (order - 1) for moment in moments)


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", 4])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 1), (3, 3), (7, 2), (25, 1), (25, 4), (25, 25)])
def test_no_inputs_within_the_sensitivity_are_worse_and_some_are_as_bad(epsilon: object, n: int, d: int) -> None:
    m, t = TruncatedGeometric(epsilon=epsilon, n=n, sensitivity=d), float(Fraction(epsilon)) / d
    rows = laws(t, n, np.arange(n + 1.0))
    near = [(rows[:-far], rows[far:]) for far in range(1, d + 1)]
    for order in ORDERS:
        truth = max(divergence(p, q, order) for p, q in near)
        assert m.rdp(Fraction(order)) == pytest.approx(truth, rel=1e-9)
        assert truth / order <= m.rho * (1 + 1e-9)
    grid = [max(divergence(p, q, order) for p, q in near) / order for order in 1 + np.geomspace(1e-6, 100, 60)]
    assert m.rho == pytest.approx(max(grid), rel=3e-3)
    assert m.pure_epsilon == pytest.approx(max(float(np.abs(np.log(p / q)).max()) for p, q in near), rel=1e-12)


@pytest.mark.parametrize(("epsilon", "n", "d"), [(1, 1998, 1), (1, 2001, 1), (2, 6000, 3), ("0.3", 5000, 1)])
def test_long_ranges_are_as_bad_as_one_whose_ends_do_not_feel_each_other(epsilon: object, n: int, d: int) -> None:
    """Noise that is cut off by less than e^-60 at the one end is the same at the other, and in between."""
    m, t = TruncatedGeometric(epsilon=epsilon, n=n, sensitivity=d), float(Fraction(epsilon)) / d
    rows = laws(t, int(120 / t), np.arange(int(120 / t) + 1.0))
    p, q = rows[:-d], rows[d:]
    for order in (1.0, 2.0, 9.0):
        truth = divergence(p, q, order)
        assert m.rdp(Fraction(order)) == pytest.approx(truth, rel=1e-9)
        assert truth / order <= m.rho * (1 + 1e-9)
    assert m.pure_epsilon == pytest.approx(float(np.abs(np.log(p / q)).max()), rel=1e-12)


@pytest.mark.parametrize(("n", "d"), [(4, 1), (5, 2), (3, 3)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 5), Fraction(2)], ids=str)
def test_two_uses_may_meet_different_inputs_in_either_direction(n: int, d: int, epsilon: Fraction) -> None:
    rows = laws(float(epsilon) / d, n, np.arange(n + 1.0))
    pairs = [(rows[x], rows[y]) for x, y in product(range(n + 1), repeat=2) if 0 < abs(x - y) <= d]
    one, two = (uses * TruncatedGeometric(epsilon=epsilon, n=n, sensitivity=d) for uses in (1, 2))
    for at in (0.0, 0.1, 0.7, 1.5):
        alone = max(float(np.maximum(p - exp(at) * q, 0).sum()) for p, q in pairs)
        lower, upper = one.delta_bounds(epsilon=at)
        assert lower * (1 - 1e-9) - 1e-12 <= alone <= upper * (1 + 1e-9) + 1e-12
        assert upper <= alone * (1 + 1e-9) + 1e-12
        both = max(
            float(np.maximum(np.multiply.outer(p, r) - exp(at) * np.multiply.outer(q, s), 0).sum())
            for (p, q), (r, s) in product(pairs, repeat=2)
        )
        lower, upper = two.delta_bounds(epsilon=at)
        assert 0.9 * both - 1e-12 <= lower <= upper
        assert both <= upper * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize(("n", "d"), [(999, 1), (1000, 1)])
def test_profiles_of_many_outcomes_are_not_below_those_of_the_inputs(n: int, d: int) -> None:
    """On both sides of where the outcomes are too many to list."""
    m = TruncatedGeometric(epsilon=1, n=n, sensitivity=d)
    inputs = np.concatenate([np.arange(40.0), [n // 2]])
    p, q = laws(1 / d, n, inputs), laws(1 / d, n, inputs + d)
    for at in (0.0, 0.4, 0.9, 1.1):
        truth = max(float(np.maximum(a - exp(at) * b, 0).sum(axis=1).max()) for a, b in ((p, q), (q, p)))
        lower, upper = m.delta_bounds(epsilon=at)
        assert truth <= upper * (1 + 1e-9) + 1e-13
        assert lower <= truth * (1 + 1e-9) + 1e-13


@pytest.mark.parametrize(("size", "distance"), [(1, 2), (2, 4), (3, 6), (4, 7), (50, 7)])
def test_a_group_meets_the_same_noise_at_a_distance_of_at_most_the_range(size: int, distance: int) -> None:
    far = TruncatedGeometric(epsilon="0.6", n=7, sensitivity=2).group(size)
    rows = laws(0.3, 7, np.arange(8.0))
    near = [(rows[:-step], rows[step:]) for step in range(1, distance + 1)]
    assert far.sensitivity == distance
    assert far.epsilon == Fraction(3, 10) * distance
    for order in (1.0, 2.0, 6.0):
        truth = max(divergence(p, q, order) for p, q in near)
        assert far.rdp(Fraction(order)) == pytest.approx(truth, rel=1e-9)


def test_it_has_no_closed_largest_loss_but_a_finite_one() -> None:
    m = TruncatedGeometric(epsilon=1, n=5)
    with pytest.raises(AttributeError, match="see pure_epsilon"):
        _ = m.largest_loss
    assert 1 < m.pure_epsilon < inf
