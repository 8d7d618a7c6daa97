"""Trade-off curves against the best tests of explicit pairs of laws, in rationals, and against closed forms."""

from __future__ import annotations

import random
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from math import exp

import pytest
from mpmath import mp

from zcdp import Channel, Gaussian, Laplace, LossPair, PureDP, RandomizedResponse, Subsampled
from zcdp.errors import BadValue
from zcdp.privacy.tradeoff import TradeOff, knot

F = Fraction
RATES = [F(0), F(1, 10**6), F(1, 1000), F(1, 50), F(1, 7), F(2, 5), F(1, 2), F(3, 4), F(99, 100), F(1)]


# The truth: all tests of all pairs, and the least concave curve above them.


def corners(p: list[Fraction], q: list[Fraction]) -> list[tuple[Fraction, Fraction]]:
    """(Q(S), P(S)) of the tests by thresholds of the likelihood ratio."""
    found, x, y = [(F(0), F(0))], F(0), F(0)
    ratio = lambda n: (0, p[n] / q[n]) if q[n] else (1, F(0))  # noqa: E731
    for n in sorted((n for n in range(len(p)) if p[n] or q[n]), key=ratio, reverse=True):
        x, y = x + q[n], y + p[n]
        found.append((x, y))
    return found


def highest(points: list[tuple[Fraction, Fraction]], a: Fraction) -> Fraction:
    """The height at a of the least concave curve above the points: the best chord of two of them."""
    best = max(y for x, y in points if x <= a)
    for x, y in points:
        for u, v in points:
            if x < a < u:
                best = max(best, y + (v - y) * (a - x) / (u - x))
    return best


def drawn(rng: random.Random, size: int, *, zeros: bool = False) -> list[Fraction]:
    weights = [rng.randint(0 if zeros and n else 1, 9) for n in range(size)]
    return [F(one, sum(weights)) for one in weights]


def check(curve: object, points: list[tuple[Fraction, Fraction]], width: float = 1e-9) -> None:
    for a in RATES:
        truth = highest(points, a)
        lower, upper = curve.tpr_bounds(fpr=a)  # type: ignore[attr-defined]
        assert F(lower) <= truth <= F(upper), (a, float(truth), lower, upper)
        assert upper - lower <= width, (a, float(truth), lower, upper)
        assert curve.tpr_at(fpr=a) >= truth  # type: ignore[attr-defined]
        least, most = curve.tradeoff_bounds(a)  # type: ignore[attr-defined]
        assert F(least) <= 1 - truth <= F(most)
        assert F(curve.tradeoff(a)) <= 1 - truth  # type: ignore[attr-defined]


@pytest.mark.parametrize("zeros", [False, True])
def test_pairs_of_laws_in_both_orders(zeros: bool) -> None:
    rng = random.Random(1)
    for _ in range(12):
        size = rng.randint(2, 5)
        p, q = drawn(rng, size, zeros=zeros), drawn(rng, size, zeros=zeros)
        points = corners(p, q) + corners(q, p)
        check(LossPair(p, q), points)
        check(LossPair(p, q, ordered=True), points)


def test_all_pairs_of_rows() -> None:
    rng = random.Random(2)
    for _ in range(4):
        rows = [drawn(rng, 4) for _ in range(3)]
        check(Channel(rows), [one for p, q in product(rows, rows) for one in corners(p, q)])


def test_a_sample_against_both_orders_of_its_neighbours() -> None:
    rng, rate = random.Random(3), F(1, 3)
    for _ in range(4):
        p, q = drawn(rng, 3, zeros=True), drawn(rng, 3, zeros=True)
        mixed = [(1 - rate) * b + rate * a for a, b in zip(p, q, strict=True)]
        check(Subsampled(LossPair(p, q, ordered=True), rate=rate), corners(mixed, q) + corners(q, mixed))


def test_two_uses_of_an_ordered_pair() -> None:
    p, q = [F(1, 2), F(1, 3), F(1, 6)], [F(1, 5), F(1, 5), F(3, 5)]
    both = [[a * b for a, b in product(law, law)] for law in (p, q)]
    check(2 * LossPair(p, q, ordered=True), corners(*both) + corners(*both[::-1]))


def test_gaussian_noise() -> None:
    with mp.workdps(30):
        for times, sigma in ((1, 1), (1, 4), (16, 1), (400, 200)):
            curve = times * Gaussian(sigma=sigma)
            mu = mp.sqrt(times) / sigma
            for a in ("1e-12", "0.0001", "0.03", "0.5", "0.97"):
                root = mp.findroot(lambda x, a=a: mp.log(mp.ncdf(x)) - mp.log(mp.mpf(a)), -1 if a > "0.3" else -4)
                truth = mp.ncdf(root + mu)
                lower, upper = curve.tpr_bounds(fpr=a)
                assert lower <= truth * (1 + mp.mpf(10) ** -20)
                assert truth <= upper * (1 + mp.mpf(10) ** -20)
                assert upper - lower <= 1e-9 * upper
                assert curve.tpr_at(fpr=a) == upper
            assert curve.tpr_bounds(fpr=1) == (1.0, 1.0)
            assert curve.tpr_at(fpr=0) < 1e-100 or mu > 1


def test_one_step_of_sampled_gaussian_noise() -> None:
    """The best tests are thresholds in both orders; the curve is above both, and touches the higher one."""
    rate, sigma = F(3, 10), F(4, 5)
    curve = Subsampled(Gaussian(sigma=sigma), rate=rate)
    with mp.workdps(25):
        points = []
        for n in range(-60, 61):
            z = mp.mpf(n) / 12
            without = mp.ncdf(-z / mp.mpf("0.8"))
            member = mp.mpf("0.7") * without + mp.mpf("0.3") * mp.ncdf(-(z - 1) / mp.mpf("0.8"))
            points += [(without, member), (1 - member, 1 - without)]
        for x, y in points[::7]:
            upper = curve.tpr_at(fpr=F(str(mp.nstr(x, 20))))
            assert upper >= y * (1 - mp.mpf(10) ** -15)
        # at small rates the member's own order is the worse one
        x, y = next((x, y) for x, y in points[::2] if x < 0.01)
        lower, upper = curve.tpr_bounds(fpr=F(str(mp.nstr(x, 25))))
        assert abs(upper - y) <= 1e-9
        assert abs(lower - y) <= 1e-9


def test_lower_ends_are_those_of_what_is_attained() -> None:
    """Of a class of mechanisms nothing is attained: the lower end is a coin's; of a bound it stays below."""
    assert Subsampled(PureDP(epsilon=1), rate="1/2").tpr_bounds(fpr="0.1")[0] >= 0.1
    lower, upper = (3 * Channel([["1/2", "1/2", 0], ["1/3", "1/3", "1/3"]])).tpr_bounds(fpr="0.1")
    row = [F(1, 2), F(1, 2), F(0)], [F(1, 3), F(1, 3), F(1, 3)]
    laws = [[a * b * c for a, b, c in product(one, one, one)] for one in row]
    truth = highest(corners(*laws) + corners(*laws[::-1]), F(1, 10))
    assert lower <= upper
    assert truth <= F(upper)


def test_closed_forms() -> None:
    two = RandomizedResponse(epsilon="log(3)", k=2)
    assert two.tradeoff_bounds("1/8")[0] <= 0.625 <= two.tradeoff_bounds("1/8")[1]
    assert two.tpr_at(fpr="1/4") == pytest.approx(0.75, abs=1e-15)
    assert two.tradeoff("7/8") == pytest.approx(1 / 24, abs=1e-15)
    laplace = Laplace(epsilon=1)
    low, high = laplace.advantage_bounds
    assert low <= 0.39346934028736657 <= high
    assert laplace.advantage == high
    hidden = LossPair(p=["0.1", "0.9"], q=[0, 1], ordered=True)
    lower, upper = hidden.tpr_bounds(fpr=0)
    assert F(lower) <= F(1, 10) <= F(upper)
    assert upper - lower < 1e-15


def test_the_curve_is_concave_and_symmetric() -> None:
    curve = 10 * Laplace(epsilon="0.2")
    grid = [F(n, 20) for n in range(21)]
    values = [curve.tpr_at(fpr=a) for a in grid]
    assert all(b >= (a + c) / 2 - 1e-9 for a, b, c in zip(values, values[1:], values[2:], strict=False))
    for a in grid[1:-1]:
        assert curve.tradeoff(F(curve.tradeoff(a))) == pytest.approx(float(a), abs=1e-9)


def test_guesses_at_a_prior_by_all_sets_of_outcomes() -> None:
    rng = random.Random(5)
    for _ in range(8):
        p, q = drawn(rng, 4, zeros=True), drawn(rng, 4, zeros=True)
        for prior in (F(1, 2), F(1, 10), F(7, 10), F(1, 1000)):
            best = max(
                prior * sum(a for a, one in zip(left, chosen, strict=True) if one)
                + (1 - prior) * sum(b for b, one in zip(right, chosen, strict=True) if not one)
                for left, right in ((p, q), (q, p))
                for chosen in product((False, True), repeat=4)
            )
            lower, upper = LossPair(p, q).success_bounds(prior=prior)
            assert F(lower) <= best <= F(upper)
            assert upper - lower <= 1e-12
            assert LossPair(p, q).success(prior=prior) == upper


def test_what_is_guessed_of_an_attribute() -> None:
    """Three values, of which two share an attribute, and a guess by the best rule for each output."""
    rng = random.Random(6)
    for _ in range(20):
        rows, prior = [drawn(rng, 4) for _ in range(3)], drawn(rng, 3)
        attributes = [[0, 1], [2]]
        base = max(sum(prior[z] for z in one) for one in attributes)
        best = sum(max(sum(prior[z] * rows[z][y] for z in one) for one in attributes) for y in range(4))
        assert best <= F(Channel(rows).tpr_at(fpr=base))


def test_exact_ends_at_a_point_that_is_not_the_least() -> None:
    """Randomized response, of which a search that stops at once knows delta(0) alone: at 0.3 the corner is lower."""
    truth = 1 - 0.7 * exp(-1)  # the line through the corner at g = 1/e

    def ends(epsilon: Fraction) -> tuple[float, float]:
        delta = max((exp(1) - exp(float(epsilon))) / (exp(1) + 1), 0.0)
        return delta, delta

    found = TradeOff(lambda e: ends(e)[1], ends, 1.0, enough=1e9)
    for rate in (Fraction(n, 20) for n in range(1, 20)):
        a = float(rate)
        least = min(max(1 - g, (exp(1) - g) / (exp(1) + 1), 0) + g * a for g in (0, exp(-1), exp(1)))
        low, high = found.ends(rate)
        assert low <= least * (1 + 1e-12)
        assert high >= least * (1 - 1e-12)
    assert float(found.ends(Fraction(3, 10))[0]) <= truth


def test_lines_are_rounded_outward() -> None:
    """Against e^epsilon to sixty digits: knots from above and from below, on both sides of 1."""
    rng = random.Random(7)
    with localcontext() as context:
        context.prec = 60
        for _ in range(50):
            epsilon, low, high = rng.uniform(0, 30), rng.random(), rng.random()
            for sign in (1, -1):
                _, left, least, right, most = knot(sign * epsilon, (low, high))
                power = F((sign * Decimal(epsilon)).exp())
                assert left < power < right < power * (1 + F(1, 2**50))
                flat = [F(end) if sign > 0 else 1 - power * (1 - F(end)) for end in (low, high)]
                assert flat[0] - F(1, 2**50) < least <= flat[0]
                assert flat[1] <= most < flat[1] + F(1, 2**50)


def test_bad_values() -> None:
    curve = Laplace(epsilon=1)
    for fpr in (-1, "1.5"):
        with pytest.raises(BadValue, match=r"fpr .* must be at least 0 and at most 1"):
            curve.tpr_at(fpr=fpr)
        with pytest.raises(BadValue, match="fpr"):
            curve.tradeoff(fpr)
    for prior in (0, 1, "-0.1"):
        with pytest.raises(BadValue, match="prior"):
            curve.success(prior=prior)
