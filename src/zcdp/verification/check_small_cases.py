"""Checks of small cases that can be written out: shuffling, sampling, grids, quadrature, adapters, keyed noise."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise, product
from math import exp, isclose, log

from zcdp.errors import MissingExtra
from zcdp.mechanisms import BinaryRandomizedResponse, Gaussian, Laplace, RandomizedResponse, Shuffled, Subsampled
from zcdp.verification.checks import Check

__all__ = ["checks"]


def checks(*, deep: bool) -> Iterator[Check]:
    """One check for each theorem."""
    clients = 6 if deep else 3
    yield Check("shuffling", "shuffled binary reports, written out, stay below the bound", lambda: _shuffled(clients))
    yield Check("fixed-size", "one use on a sample of fixed size has the profile of the theorem", _fixed_size)
    yield Check("grid", "a profile lies below its chords in e^epsilon", _chords)
    yield Check("sampled-density", "the rule of Gauss and Legendre errs by less than its bound", _panels)
    yield Check("adapters", "a uniform answer against a true one is a pair of two Bernoulli laws", _uniform_answer)
    yield Check("keyed-noise", "the same secret, id and value give the same report, other ids other bits", _retry)


def _shuffled(clients: int) -> bool:
    """delta of shuffled binary responses bounds the exact one, in both directions.

    The exact one sums over all reports of all clients; the first client's value is 0 or 1, the others' are 0.
    """
    keep = exp(1) / (exp(1) + 1)

    def counts(first: int) -> list[float]:
        law = [0.0] * (clients + 1)
        for reports in product((0, 1), repeat=clients):
            values = (first, *(0,) * (clients - 1))
            chance = 1.0
            for value, report in zip(values, reports, strict=True):
                chance *= keep if value == report else 1 - keep
            law[sum(reports)] += chance
        return law

    plan, p, q = Shuffled(RandomizedResponse(epsilon=1, k=2), clients=clients), counts(0), counts(1)

    def truth(e: float) -> float:
        directions = ((p, q), (q, p))
        return max(sum(max(a - exp(e) * b, 0.0) for a, b in zip(*pair, strict=True)) for pair in directions)

    return all(plan.delta_at(epsilon=e) >= truth(e) - 1e-12 for e in (0.1, 0.4, 0.8))


def _fixed_size() -> bool:
    """One use on 3 of 30 records has delta(epsilon) = rate delta_whole(log(1 + (e^epsilon - 1)/rate))."""
    whole, rate, epsilon = Gaussian(sigma=4, sensitivity=2), Fraction(1, 10), 0.25
    sample = Subsampled(whole, size=3, of=30)
    inner = log((exp(epsilon) - 1 + float(rate)) / float(rate))
    return isclose(sample.delta_at(epsilon=epsilon), float(rate) * whole.delta_at(epsilon=inner), rel_tol=1e-6)


def _chords() -> bool:
    """A profile is convex in e^epsilon: it lies below its chords."""
    plan = 5 * Laplace(epsilon=1)
    points = [1.0, 1.5, 2.5, 6.0]
    deltas = [plan.delta_at(epsilon=log(x)) for x in points]
    middles = [plan.delta_at(epsilon=log((a + b) / 2)) for a, b in pairwise(points)]
    return all(m <= (a + b) / 2 for m, (a, b) in zip(middles, pairwise(deltas), strict=True))


def _panels() -> bool:
    """The error of Gauss-Legendre quadrature of exp on [-1, 1] is below its bound.

    The bound uses the maximum of exp, e^1.25, on the Bernstein ellipse whose half axes add up to 2.
    """
    import numpy as np

    for n in (3, 4, 5):
        nodes, weights = np.polynomial.legendre.leggauss(n)
        error = abs(float(weights @ np.exp(nodes)) - (exp(1) - exp(-1)))
        if error > 8 * exp(1.25) * 2.0 ** (-2 * n) / (1 - 1 / 2):
            return False
    return True


def _uniform_answer() -> bool:
    """Randomized response against a uniform answer has the pure epsilon of two Bernoulli distributions."""
    p, k = Fraction(1, 3), 4
    told = 1 - p + p / k
    ratio = max(told * k, (1 - Fraction(1, k)) / (1 - told))
    return isclose(BinaryRandomizedResponse(told, Fraction(1, k)).pure_epsilon, log(ratio), rel_tol=1e-14)


def _retry() -> bool:
    from zcdp.collection.keyed import KeyedNoise

    try:
        noise, mechanism = KeyedNoise(b"an example, so no secret"), RandomizedResponse(epsilon=1, k=256)
        first, again = (noise.release(mechanism, [7] * 64, list(range(64))) for _ in range(2))
    except MissingExtra:  # without the extra nothing can be run: check the arithmetic of the statement only
        return 2.0**80 / 2.0**129 <= 2.0**-49
    return bool((first == again).all()) and len(set(first.tolist())) > 1
