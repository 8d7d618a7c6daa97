"""Truncated geometric noise against all pairs of inputs, from the masses: short and long ranges, groups, profiles."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import comb, exp, inf, log, nextafter

import numpy as np
import pytest
from flint import arb
from mechanisms import explicit
from mpmath import exp as mp_exp
from mpmath import log as mp_log
from mpmath import mpf, workdps
from numpy.typing import NDArray

from zcdp import Channel, DiscreteLaplace, Log, LossPair, PureDP, TruncatedGeometric
from zcdp.numeric.balls import at_precision
from zcdp.numeric.supremum import steepest_ratio

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


FEW_ORDERS = (1, 1.01, 1.5, 2, 5, 32, 300)


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
    for order in FEW_ORDERS:
        assert max(pair.rdp(order) for pair in pairs) == pytest.approx(m.rdp(order), rel=1e-15)
    assert m.pure_epsilon == max(pair.pure_epsilon for pair in pairs)
    assert m.pure_epsilon >= PureDP(epsilon=m.epsilon).pure_epsilon


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
        assert all(pair.rdp(order) == pytest.approx(m.rdp(order), rel=1e-15) for order in FEW_ORDERS)


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


@pytest.mark.parametrize(("n", "sensitivity"), [(12, 1), (12, 4), (25, 7), (9, 9)])
@pytest.mark.parametrize("t", [Fraction(1, 100), Fraction(1, 4), Fraction(2)], ids=str)
def test_no_pair_of_inputs_exceeds_truncated_noise(n: int, sensitivity: int, t: Fraction) -> None:
    """All pairs, nearer ones too, in both directions: from the masses."""
    m = TruncatedGeometric(epsilon=t * sensitivity, n=n, sensitivity=sensitivity)
    y = np.arange(n + 1)
    rows = [np.exp(-float(t) * np.abs(x - y)) for x in y]
    rows = [row / row.sum() for row in rows]
    near = [(p, q) for x, p in enumerate(rows) for z, q in enumerate(rows) if 0 < abs(x - z) <= sensitivity]
    for order in (1, 1.5, 4, 30):
        s = order - 1
        divergences = [
            float(p @ np.log(p / q)) if s == 0 else float(np.log(p @ np.exp(s * np.log(p / q)))) / s for p, q in near
        ]
        assert m.rdp(order) == pytest.approx(max(divergences), rel=1e-10)
        assert max(divergences) / order <= m.rho * (1 + 1e-10)
    assert m.pure_epsilon == pytest.approx(max(float(np.log(p / q).max()) for p, q in near), rel=1e-12)


@pytest.mark.parametrize("t", [Fraction(1, 2), Fraction(3)], ids=str)
def test_far_from_both_ends_the_length_does_not_matter(t: Fraction) -> None:
    """Cut off at 10^9 or at 500 makes a difference of e^-250."""
    long, short = (TruncatedGeometric(epsilon=t, n=n) for n in (10**9, 500))
    assert long.rho == pytest.approx(short.rho, rel=3e-10)
    assert long.rdp(3) == pytest.approx(short.rdp(3), rel=1e-15)
    assert long.pure_epsilon == pytest.approx(short.pure_epsilon, rel=1e-15)


@pytest.mark.parametrize(("n", "sensitivity"), [(300, 300), (300, 150), (10**9, 10**9)])
def test_large_truncated_noise_is_answered(n: int, sensitivity: int) -> None:
    m = TruncatedGeometric(epsilon=1, n=n, sensitivity=sensitivity)
    assert 0.1 < m.rho_bounds[0] <= m.rho < 0.5
    assert 1 <= m.pure_epsilon < 2


@pytest.mark.parametrize(
    ("epsilon", "n", "sensitivity"),
    [("0.001", 5000, 1), (1, 10**9, 10**6), ("1e-12", 10**19, 10), (Log(Fraction(3, 2)), 10**9, 400)],
)
def test_truncated_noise_beyond_the_limit_is_refused(epsilon: object, n: int, sensitivity: int) -> None:
    with pytest.raises(ValueError, match=r"n \(10*|5000\) gives more than 2000 different pairs of inputs"):
        TruncatedGeometric(epsilon=epsilon, n=n, sensitivity=sensitivity)


# Losses far below what floats hold: rho is found as fast, and as near the truth, as of everyday ones.


def rows(rate: mpf, n: int, x: int) -> list[mpf]:
    masses = [mp_exp(-rate * abs(x - y)) for y in range(n + 1)]
    return [mass / sum(masses) for mass in masses]


def ratio(p: list[mpf], losses: list[mpf], point: mpf) -> mpf:
    """The divergence over the order; the order above 1 in units of 1/largest loss, where the cumulant bends."""
    s = point / max(losses)
    return mp_log(sum(a * mp_exp(s * loss) for a, loss in zip(p, losses, strict=True))) / (s * (1 + s))


def steepest(rate: mpf, n: int, d: int) -> mpf:
    """The largest ratio of all pairs of inputs: at order 1, on a grid, and from there by thirds."""
    best = mpf(0)
    for x in range(n - d + 1):
        for one, other in ((x, x + d), (x + d, x)):
            p, q = rows(rate, n, one), rows(rate, n, other)
            losses = [mp_log(a / b) for a, b in zip(p, q, strict=True)]
            points = {ratio(p, losses, mpf(2) ** j): mpf(2) ** j for j in range(-6, 5)}
            low, high = points[max(points)] / 2, points[max(points)] * 2
            for _ in range(48):
                left, right = low + (high - low) / 3, high - (high - low) / 3
                low, high = (left, high) if ratio(p, losses, left) < ratio(p, losses, right) else (low, right)
            mean = sum(a * loss for a, loss in zip(p, losses, strict=True))
            best = max(best, mean, ratio(p, losses, low))
    return best


@pytest.mark.parametrize("digits", [3, 6, 8, 12])
@pytest.mark.parametrize(("n", "d"), [(3, 1), (6, 3), (5, 5), (8, 4)])
def test_tiny_losses_of_truncated_noise_cost_what_they_do(digits: int, n: int, d: int) -> None:
    with workdps(2 * digits + 40):
        lower, upper = TruncatedGeometric(epsilon=f"1e-{digits}", n=n, sensitivity=d).rho_bounds
        truth = steepest(mpf(10) ** -digits / d, n, d)
        assert lower <= truth <= upper <= truth * (1 + mpf(10) ** -9)


@pytest.mark.parametrize("epsilon", ["1e-9", "1e-12"])
def test_the_rate_of_tiny_losses_is_the_square_of_the_loss(epsilon: str) -> None:
    """rho/epsilon^2 has a limit at 0: seen in the balls."""
    for n, d in ((7, 2), (40, 9)):
        of_tiny = at_precision(64, lambda n=n, d=d: _rate(Fraction(epsilon), n, d))  # type: ignore[misc]
        of_small = at_precision(64, lambda n=n, d=d: _rate(Fraction("1e-7"), n, d))  # type: ignore[misc]
        assert abs(of_tiny / of_small - 1) < 1e-5


def _rate(epsilon: Fraction, n: int, d: int) -> arb:
    mechanism = TruncatedGeometric(epsilon=epsilon, n=n, sensitivity=d)
    steepest_ratio(mechanism.convexes)
    kl = max((curve.kl for curve in mechanism.convexes()), key=lambda ball: ball.mid())
    return kl / (arb(epsilon.numerator) / epsilon.denominator) ** 2


def within(ball: arb, truth: mpf) -> bool:
    ends = at_precision(1024, lambda: [end.str(150, radius=False) for end in (ball.lower(), ball.upper())])
    lower, upper = map(mpf, ends)
    return bool(lower * (1 - mpf(10) ** -140) <= truth <= upper * (1 + mpf(10) ** -140))


@pytest.mark.parametrize(("n", "move"), [(3, 1), (9, 2), (12, 5)])
def test_powers_of_tiny_losses_that_are_left_out_are_charged(n: int, move: int) -> None:
    """The divergence of order 1 of truncated noise, from the first powers of its losses: to many more digits."""
    m = TruncatedGeometric(epsilon=Fraction(move, 2**19), n=n, sensitivity=move)
    with workdps(200):
        for x, pair in enumerate(at_precision(512, m.pairs)):
            p, q = (rows(mpf(2) ** -19, n, place) for place in (x, x + move))
            truth = sum(a * mp_log(a / b) for a, b in zip(p, q, strict=True))
            assert within(at_precision(512, pair.kl), truth)
