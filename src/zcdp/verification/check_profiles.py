"""Checks of the engines of the exact profile against sums over outcomes, in floats, that use none of them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import pairwise, permutations
from math import comb, erfc, exp, expm1, log, log1p, pi, sqrt

from zcdp.mechanisms import (
    BinaryRandomizedResponse,
    Channel,
    Gaussian,
    Laplace,
    PureDP,
    RandomizedResponse,
    ReportNoisyMax,
    Subsampled,
)
from zcdp.privacy.curve import Curve
from zcdp.verification.checks import Check

__all__ = ["checks"]

SLACK = 1e-11  # relative error allowed for the float sums here, not for the engines


def checks(*, deep: bool) -> Iterator[Check]:
    """One or more checks for each theorem on an engine or on the privacy loss distributions it uses."""
    epsilons = [0.0, 0.3, 1.0, 2.5, 6.0] if not deep else [n / 20 for n in range(161)]
    many = 400 if deep else 60
    yield Check("finite-sum", "few responses are a binomial sum", partial(_responses, 7, 0.5, epsilons))
    yield Check("lattice-contour", "and so are many", partial(_responses, many, 0.25, epsilons))
    yield Check("contour", "Gaussian noise many times is Gaussian noise once", partial(_gaussians, many, epsilons))
    yield Check("decay", "so it is beside a Laplace, which is one more draw", partial(_beside, epsilons))
    for page in ("smoothing", "doubles"):
        yield Check(page, "losses on no lattice are a double sum", partial(_two_kinds, many // 4, epsilons))
    yield Check("ends", "next to the largest loss all responses must agree", partial(_ends, many))
    yield Check("envelope", "one use of a channel has the profile of its rows", partial(_rows, epsilons))
    yield Check("adaptive", "several uses have that of the best choice at each", partial(_adaptive, epsilons))
    yield Check("likelihood-ratio", "a larger move costs more at every epsilon", partial(_larger, epsilons))
    yield Check("cells", "two steps at a rate of 1e-5, by an integral over the first", _two_steps)
    yield Check("winning-level", "two candidates against three are enclosed", _two_against_three)


def _encloses(curve: Curve, epsilon: float, truth: float) -> bool:
    lower, upper = curve.delta_bounds(epsilon=epsilon)
    return lower <= truth * (1 + SLACK) + 1e-300 and truth * (1 - SLACK) <= upper


def _binomial(n: int, e: float) -> list[tuple[float, float]]:
    """The privacy loss distribution of n binary responses at epsilon = e, as pairs (loss, mass)."""
    log_p, log_q = -log1p(exp(-e)), -log1p(exp(e))
    return [(e * (n - 2 * k), comb(n, k) * exp((n - k) * log_p + k * log_q)) for k in range(n + 1)]


def _stick(atoms: list[tuple[float, float]], epsilon: float) -> float:
    """The hockey-stick divergence of a discrete privacy loss distribution at epsilon."""
    return sum(-mass * expm1(epsilon - loss) for loss, mass in atoms if loss > epsilon)


def _responses(n: int, e: float, epsilons: list[float]) -> bool:
    return all(_encloses(n * PureDP(epsilon=e), x, _stick(_binomial(n, e), x)) for x in epsilons)


def _normal(t: float) -> float:
    return erfc(-t / 2**0.5) / 2


def _gaussians(n: int, epsilons: list[float]) -> bool:
    mu = n**0.5 / 10
    return all(
        _encloses(n * Gaussian(sigma=10), x, _normal(mu / 2 - x / mu) - exp(x) * _normal(-mu / 2 - x / mu))
        for x in epsilons
        if x < 8 * mu
    )


def _beside(epsilons: list[float]) -> bool:
    """delta of Laplace plus Gaussian noise equals E delta_Gaussian(epsilon - L), L the loss of Laplace noise.

    L has two atoms; the integral over its density uses the midpoint rule on 4000 cells.
    """
    e, mu, cells = 0.5, 0.8, 4000
    plan = Laplace(epsilon=e) + Gaussian(sigma="1.25")

    def gaussian(x: float) -> float:
        return _normal(mu / 2 - x / mu) - exp(x) * _normal(-mu / 2 - x / mu)

    def truth(x: float) -> float:
        middle = sum(gaussian(x - (-e + (n + 0.5) * 2 * e / cells)) * exp((n + 0.5) * e / cells) for n in range(cells))
        density = exp(-e) / 4 * 2 * e / cells  # the density of the loss l is e^{-e/2 + l/2}/4
        return gaussian(x - e) / 2 + exp(-e) / 2 * gaussian(x + e) + density * middle

    return all(
        lower * (1 - 1e-6) <= truth(x) <= upper * (1 + 1e-6)
        for x in epsilons[:20]
        for lower, upper in [plan.delta_bounds(epsilon=x)]
    )


def _two_kinds(n: int, epsilons: list[float]) -> bool:
    plan = n * PureDP(epsilon="0.3") + n * PureDP(epsilon="log(3/2)")
    other = _binomial(n, log(1.5))
    atoms = [(a + b, p * q) for a, p in _binomial(n, 0.3) for b, q in other]
    return all(_encloses(plan, x, _stick(atoms, x)) for x in epsilons)


def _ends(n: int) -> bool:
    top, chance = n * 0.25, exp(-n * log1p(exp(-0.25)))
    lower, upper = (n * PureDP(epsilon="0.25")).epsilon_bounds(delta=chance * 1e-40)
    return lower <= top * (1 + SLACK) and top * (1 - SLACK) <= upper


ROWS = ((Fraction(3, 4), Fraction(1, 4)), (Fraction(2, 5), Fraction(3, 5)))


def _play(left: int, odds: float, epsilon: float) -> float:
    """The largest hockey-stick divergence of `left` more uses, each in the direction that is best after the outputs.

    `odds` is e^epsilon times the likelihood ratio Q/P of the outputs so far.
    """
    if not left:
        return max(1 - odds, 0.0)
    return max(
        sum(float(p) * _play(left - 1, odds * float(q / p), epsilon) for p, q in zip(one, other, strict=True))
        for one, other in permutations(ROWS)
    )


def _rows(epsilons: list[float]) -> bool:
    return all(_encloses(Channel(ROWS), x, _play(1, exp(x), x)) for x in epsilons)


def _adaptive(epsilons: list[float]) -> bool:
    pair = BinaryRandomizedResponse(ROWS[0][0], ROWS[1][0])
    return all(_encloses(5 * pair, x, _play(5, exp(x), x)) for x in epsilons[:40])


def _larger(epsilons: list[float]) -> bool:
    moves = (0.5, 0.7, 2)
    families: list[list[Curve]] = [
        [Laplace(epsilon=e) for e in moves],
        [RandomizedResponse(epsilon=e, k=5) for e in moves],
    ]
    steps = [pair for family in families for pair in pairwise(family)]
    return all(one.delta_bounds(epsilon=x)[0] <= two.delta_bounds(epsilon=x)[1] for one, two in steps for x in epsilons)


def _two_against_three() -> bool:
    found = [(*ReportNoisyMax(epsilon=e, noise="laplace").rho_bounds, Laplace(epsilon=e).rho) for e in ("0.5", 1, 2)]
    return all(0.3 * most < lower <= upper <= most for lower, upper, most in found)


def _two_steps() -> bool:
    """delta is the mean, over the loss of the first step, of that of the second at what is left of epsilon."""
    q, epsilon, step = 1e-5, 3.888e-5, 1 / 400

    def tail(z: float) -> float:
        return erfc(z / sqrt(2)) / 2

    def second(more: float) -> float:
        if more <= -q:
            return -more
        z = log1p(more / q) + 0.5
        return q * tail(z - 1) - (q + more) * tail(z)

    def term(z: float) -> float:
        loss = log1p(q * expm1(z - 0.5))
        return exp(loss - z * z / 2) * second(expm1(epsilon - loss))

    truth = step * sum(term(n * step) for n in range(-4000, 6000)) / sqrt(2 * pi)
    lower, upper = (2 * Subsampled(Gaussian(sigma=1), rate="1e-5")).delta_bounds(epsilon="3.888e-5")
    return lower <= truth * (1 + 1e-4) and truth * (1 - 1e-4) <= upper <= 1.01 * lower
