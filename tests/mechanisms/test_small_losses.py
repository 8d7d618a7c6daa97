"""Losses far below what floats hold: rho is found as fast, and as near the truth, as of everyday ones."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction

import pytest
from flint import arb
from mpmath import exp, log, mpf, workdps

from zcdp import NotCertified, RandomizedResponse, Shuffled, TruncatedGeometric
from zcdp.numeric.balls import at_precision
from zcdp.numeric.supremum import steepest_ratio


def rows(rate: mpf, n: int, x: int) -> list[mpf]:
    masses = [exp(-rate * abs(x - y)) for y in range(n + 1)]
    return [mass / sum(masses) for mass in masses]


def ratio(p: list[mpf], losses: list[mpf], point: mpf) -> mpf:
    """The divergence over the order; the order above 1 in units of 1/largest loss, where the cumulant bends."""
    s = point / max(losses)
    return log(sum(a * exp(s * loss) for a, loss in zip(p, losses, strict=True))) / (s * (1 + s))


def steepest(rate: mpf, n: int, d: int) -> mpf:
    """The largest ratio of all pairs of inputs: at order 1, on a grid, and from there by thirds."""
    best = mpf(0)
    for x in range(n - d + 1):
        for one, other in ((x, x + d), (x + d, x)):
            p, q = rows(rate, n, one), rows(rate, n, other)
            losses = [log(a / b) for a, b in zip(p, q, strict=True)]
            points = {ratio(p, losses, mpf(2) ** j): mpf(2) ** j for j in range(-6, 5)}
            low, high = points[max(points)] / 2, points[max(points)] * 2
            for _ in range(48):
                left, right = low + (high - low) / 3, high - (high - low) / 3
                low, high = (left, high) if ratio(p, losses, left) < ratio(p, losses, right) else (low, right)
            mean = sum(a * loss for a, loss in zip(p, losses, strict=True))
            best = max(best, mean, ratio(p, losses, low))
    return best


@pytest.mark.parametrize("digits", [5, 40, 150])
@pytest.mark.parametrize(("n", "d"), [(3, 1), (6, 3), (5, 5), (8, 4)])
def test_tiny_losses_of_truncated_noise_cost_what_they_do(digits: int, n: int, d: int) -> None:
    with workdps(2 * digits + 40):
        lower, upper = TruncatedGeometric(epsilon=f"1e-{digits}", n=n, sensitivity=d).rho_bounds
        truth = steepest(mpf(10) ** -digits / d, n, d)
        assert lower <= truth <= upper <= truth * (1 + mpf(10) ** -9)


@pytest.mark.parametrize("epsilon", ["1e-4000", "1e-300", "1e-12"])
def test_the_rate_of_tiny_losses_is_the_square_of_the_loss(epsilon: str) -> None:
    """rho/epsilon^2 has a limit at 0: seen in the balls, as rho itself is below all floats."""
    for n, d in ((7, 2), (40, 9)):
        of_tiny = at_precision(64, lambda n=n, d=d: _rate(Fraction(epsilon), n, d))  # type: ignore[misc]
        of_small = at_precision(64, lambda n=n, d=d: _rate(Fraction("1e-7"), n, d))  # type: ignore[misc]
        assert abs(of_tiny / of_small - 1) < 1e-5


def _rate(epsilon: Fraction, n: int, d: int) -> arb:
    mechanism = TruncatedGeometric(epsilon=epsilon, n=n, sensitivity=d)
    steepest_ratio(mechanism.convexes)
    kl = max((curve.kl for curve in mechanism.convexes()), key=lambda ball: ball.mid())
    return kl / (arb(epsilon.numerator) / epsilon.denominator) ** 2


def test_tiny_losses_that_are_shuffled_are_answered_or_refused_in_words() -> None:
    for clients in (1, 2, 1000):
        with suppress(NotCertified):
            assert Shuffled(RandomizedResponse(epsilon="1e-300", k=3), clients=clients).rho < 1e-299
    with pytest.raises(ValueError, match=r"must be at most 10\^15"):
        Shuffled(RandomizedResponse(epsilon=1, k=3), clients="1e400")


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
            truth = sum(a * log(a / b) for a, b in zip(p, q, strict=True))
            assert within(at_precision(512, pair.kl), truth)
