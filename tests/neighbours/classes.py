"""Random members of whole classes of mechanisms: pure DP, with a bound on total variation, and bounded range."""

from __future__ import annotations

from math import exp, tanh
from random import Random

import numpy as np

from neighbours.law import Pair


def pure(epsilon: float, rng: Random) -> Pair:
    """Losses anywhere in [-epsilon, epsilon], balanced to two probability laws by mixing the two extremes."""
    losses = np.array([rng.uniform(-epsilon, epsilon) for _ in range(rng.randint(1, 5))])
    return _balanced(losses, np.array([rng.random() + 1e-3 for _ in losses]), -epsilon, epsilon, rng)


def bounded_range(eta: float, rng: Random) -> Pair:
    """Losses anywhere in an interval of length eta that holds 0."""
    top = rng.uniform(0.02, 0.98) * eta
    losses = np.array([rng.uniform(top - eta, top) for _ in range(rng.randint(1, 5))])
    return _balanced(losses, np.array([rng.random() + 1e-3 for _ in losses]), top - eta, top, rng)


def _balanced(losses: np.ndarray, weights: np.ndarray, low: float, high: float, rng: Random) -> Pair:
    """Masses q of these losses, and one of an extreme loss, such that both laws have the same total."""
    q = weights
    p = q * np.exp(losses)
    missing = float(q.sum() - p.sum())  # how much more the neighbour has
    extreme = high if missing > 0 else low
    extra = missing / (exp(extreme) - 1)
    left, right = [*p, extra * exp(extreme)], [*q, extra]
    total = sum(right)
    quiet = rng.choice((0.0, 0.0, rng.random()))  # an outcome that tells nothing
    p_law = np.array([*left, quiet * total]) / (total * (1 + quiet))
    q_law = np.array([*right, quiet * total]) / (total * (1 + quiet))
    return Pair.exactly(p_law, q_law)


def within_distance(epsilon: float, distance: float, rng: Random) -> Pair:
    """A member of pure DP, diluted by an outcome that tells nothing until its total variation is at most this."""
    member = pure(epsilon, rng).low
    apart = float(np.abs(member.p - member.q).sum()) / 2
    share = min(1.0, distance / apart)
    return Pair.exactly([*(share * member.p), 1 - share], [*(share * member.q), 1 - share])


def binary(epsilon: float) -> Pair:
    """Binary randomized response."""
    keep = 1 / (1 + exp(-epsilon))
    return Pair.exactly([keep, 1 - keep], [1 - keep, keep])


def diluted(epsilon: float, distance: float) -> Pair:
    """Binary randomized response that says nothing so often that its total variation is this, or all of its own."""
    keep = 1 / (1 + exp(-epsilon))
    share = min(1.0, distance / tanh(epsilon / 2))
    return Pair.exactly([share * keep, share * (1 - keep), 1 - share], [share * (1 - keep), share * keep, 1 - share])
