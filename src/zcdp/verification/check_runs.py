"""Checks of samplers by running them: frequencies against exact probabilities, and audits of mechanisms.

The draws are random, so that a check allows six standard deviations: it fails by chance less than once in 10^8 times.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import erfc, exp, sqrt

from zcdp.auditing import audit
from zcdp.mechanisms import (
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Laplace,
    Logistic,
    RandomizedResponse,
)
from zcdp.verification.checks import Check

__all__ = ["checks"]


def checks(*, deep: bool) -> Iterator[Check]:
    """One or more checks for each theorem on samplers and on the audit."""
    draws = 2_000_000 if deep else 100_000
    yield Check("lazy-inversion", "discrete Laplace noise has its law", partial(_discrete_laplace, draws, 2))
    yield Check("geometric-digits", "and at a scale of thousands", partial(_discrete_laplace, draws, 3000))
    yield Check("grid-rounding", "Laplace noise on a grid has its tails", partial(_laplace, draws))
    yield Check("binned-noise", "Gaussian and logistic noise on a grid have their tails", partial(_binned, draws))
    yield Check("exponential-coins", "the exponential mechanism selects as it says", partial(_selection, draws // 10))
    yield Check("audit", "an honest mechanism is not flagged", partial(_honest, draws))
    yield Check("audit", "one that spends twice its epsilon is", partial(_cheat, draws))


def _near(hits: int, draws: int, p: float) -> bool:
    """Whether the number of hits is within six standard deviations of draws * p."""
    return abs(hits - draws * p) <= 6 * sqrt(draws * p * (1 - p)) + 1


def _discrete_laplace(draws: int, scale: int) -> bool:
    noise, q = abs(DiscreteLaplace(scale=scale).sample(draws)), exp(-1 / scale)
    tails = ((n, 2 * q**n / (1 + q)) for n in (1, scale, 3 * scale))
    return all(_near(int((noise >= n).sum()), draws, p) for n, p in tails)


def _laplace(draws: int) -> bool:
    noise = abs(Laplace(scale=2).sample(draws))
    return all(_near(int((noise > x).sum()), draws, exp(-x / 2)) for x in (0.5, 2.0, 8.0))


def _binned(draws: int) -> bool:
    gaussian, logistic = abs(Gaussian(sigma=2).sample(draws)), abs(Logistic(epsilon=1, sensitivity=2).sample(draws))
    return all(
        _near(int((gaussian > x).sum()), draws, erfc(x / 8**0.5))
        and _near(int((logistic > x).sum()), draws, 2 / (1 + exp(x / 2)))
        for x in (0.5, 2.0, 6.0)
    )


def _selection(draws: int) -> bool:
    mechanism = ExponentialMechanism(epsilon=1)
    hits = sum(mechanism.release([0, 2], sensitivity=1) == 1 for _ in range(draws))
    return _near(hits, draws, 1 / (1 + exp(-1)))


def _honest(draws: int) -> bool:
    return not audit(RandomizedResponse(epsilon=1, k=4), draws=draws).violated


def _cheat(draws: int) -> bool:
    return audit(RandomizedResponse(epsilon=2, k=4), epsilon=1, draws=draws).violated
