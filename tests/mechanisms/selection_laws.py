"""Laws of selections by scores and of sparse vector, and searches for the worst neighbours: no formula of zcdp.

The integrals are Gauss-Legendre sums on pieces between kinks."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
from numpy.typing import NDArray

from zcdp import Mechanism, ReportNoisyMax, SparseVector

Floats = NDArray[np.float64]
Law = Callable[[Floats], Floats]
ORDERS = (1.0, 1.05, 1.5, 2.0, 3.0, 6.0, 20.0, 100.0)
EPSILONS = (0.1, 1.0, 4.0)
ROUNDING = 1e-11
NODES, WEIGHTS = (part / 2 for part in np.polynomial.legendre.leggauss(16))
NODES = NODES + 0.5  # of the unit interval


def permute_and_flip(x: Floats) -> Floats:
    """P_i = q_i times the integral over [0, 1] of prod_{k != i} (1 - q_k t), q_k = exp(x_k - max x)."""
    q = np.exp(x - x.max(axis=-1, keepdims=True))
    factors = 1 - q[..., None] * NODES
    others = [np.delete(factors, i, axis=-2).prod(axis=-2) @ WEIGHTS for i in range(x.shape[-1])]
    return q * np.stack(others, axis=-1)


def softmax(x: Floats) -> Floats:
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def laplace_cdf(t: Floats) -> Floats:
    tail = np.exp(-abs(t)) / 2
    return np.where(t < 0, tail, 1 - tail)


def noisy_max(density: Law, cdf: Law, kinked_at_0: Callable[[Floats], Floats]) -> Law:
    """The law of the winner by quadrature between kinks."""

    def law(x: Floats) -> Floats:
        cuts = kinked_at_0(np.sort(x, axis=-1))
        nodes = cuts[..., :-1, None] + np.diff(cuts)[..., None] * NODES
        weights = np.diff(cuts)[..., None] * WEIGHTS
        away = nodes[..., None, :, :] - x[..., :, None, None]
        below = cdf(away)
        others = np.stack([np.delete(below, i, axis=-3).prod(axis=-3) for i in range(x.shape[-1])], axis=-3)
        return (density(away) * others * weights[..., None, :, :]).sum(axis=(-1, -2))

    return law


def _cuts(x: Floats) -> Floats:
    """Kinks, two cells in each gap, and tails of growing cells to where the density is below rounding."""
    tails = np.array([0.5, 1, 2, 3.5, 5.5, 8, 11, 15, 20, 26, 33, 40])
    middles = (x[..., 1:] + x[..., :-1]) / 2
    return np.sort(np.concatenate([x[..., :1] - tails, x, middles, x[..., -1:] + tails], axis=-1), axis=-1)


laplace = noisy_max(lambda t: np.exp(-abs(t)) / 2, laplace_cdf, _cuts)
exponential = noisy_max(
    lambda t: np.where(t < 0, 0, np.exp(-abs(t))), lambda t: np.where(t < 0, 0, -np.expm1(-t)), _cuts
)
LAWS: dict[str, Law] = {"exponential": permute_and_flip, "gumbel": softmax, "laplace": laplace}


def divergence(p: Floats, q: Floats, order: float) -> Floats:
    """D_order(p || q) for each pair in a batch, without cancellation or overflow."""
    loss, s = np.log(p / q), order - 1
    if s == 0:
        return (p * loss).sum(axis=-1)
    top = s * loss.max(axis=-1, keepdims=True)
    small = np.log1p((p * np.expm1(np.minimum(s * loss, 1))).sum(axis=-1))
    large = top[..., 0] + np.log((p * np.exp(s * loss - top)).sum(axis=-1))
    return np.where(top[..., 0] < 1, small, large) / s


def random_moves(rng: np.random.Generator, size: int, m: int, epsilon: float) -> tuple[Floats, Floats]:
    """Utilities spread or tied, and moves inside the cube or at its corners."""
    x = rng.normal(size=(size, m)) * rng.choice([0.0, 0.1, 1, 4], size=(size, 1))
    x += rng.integers(-2, 3, size=(size, m)) * rng.choice([0, epsilon / 2, epsilon], size=(size, 1))
    move = np.where(rng.random((size, 1)) < 0.5, rng.random((size, m)), rng.integers(0, 2, (size, m)))
    return x.clip(-30, 30), epsilon * move


def excess(m: Mechanism, p: Floats, q: Floats) -> float:
    """The largest divergence of a batch of pairs, in both directions, against the curve and rho of the mechanism."""
    worst = 0.0
    for order in ORDERS:
        largest = max(divergence(p, q, order).max(), divergence(q, p, order).max())
        worst = max(worst, largest / m.rdp(order), largest / order / m.rho)
    return worst


def no_pair_exceeds(noise: str, size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for epsilon, m in product(EPSILONS, range(2, 9)):
        x, move = random_moves(rng, size, m, epsilon)
        p, q = LAWS[noise](x), LAWS[noise](x + move)
        np.testing.assert_allclose(p.sum(axis=-1), 1, atol=1e-12)
        assert excess(ReportNoisyMax(epsilon=epsilon, noise=noise), p, q) <= 1 + ROUNDING / epsilon**2


def climb(law: Law, order: float, m: int, epsilon: float, steps: int = 1000, shift: float = 0.0) -> float:
    """The largest divergence that random-restart hill climbing finds, over utilities and moves, with adaptive steps.

    Moves lie in [-shift, epsilon - shift].
    """
    rng = np.random.default_rng(m)
    restarts = 24
    x, move = random_moves(rng, restarts, m, epsilon)
    scale = np.full((restarts, 1), 1.0)

    def value(x: Floats, move: Floats) -> Floats:
        return divergence(law(x), law(x + move - shift), order)

    best = value(x, move)
    for _ in range(steps):
        mask = rng.random((restarts, 2 * m)) < 0.5
        jump = rng.normal(size=(restarts, 2 * m)) * scale * mask
        new_x = (x + jump[:, :m]).clip(-40, 40)
        new_move = (move + epsilon * jump[:, m:]).clip(0, epsilon)
        tried = value(new_x, new_move)
        better = tried > best
        x[better], move[better], best[better] = new_x[better], new_move[better], tried[better]
        scale = np.where(better[:, None], scale * 1.6, scale * 0.9).clip(1e-9, 8)
    return float(best.max())


def sparse_vector(levels: Floats, patterns: list[tuple[int, ...]], rate: float, query_rate: float) -> Floats:
    """Probabilities of patterns of below (0) and above (1), for a batch of sequences of queries less the threshold."""
    ends = np.concatenate([levels, 0 * levels[:, :1]], axis=-1)
    cuts = _cuts_at_rates(np.sort(ends, axis=-1), min(rate, query_rate))
    nodes = cuts[..., :-1, None] + np.diff(cuts)[..., None] * NODES
    weights = np.diff(cuts)[..., None] * WEIGHTS * np.exp(-abs(nodes) * rate) * rate / 2
    below = laplace_cdf((nodes[:, None] - levels[..., None, None]) * query_rate)
    above = laplace_cdf((levels[..., None, None] - nodes[:, None]) * query_rate)
    law = []
    for pattern in patterns:
        integrand = weights.copy()
        for index, answer in enumerate(pattern):
            integrand *= above[:, index] if answer else below[:, index]
        law.append(integrand.sum(axis=(-1, -2)))
    return np.stack(law, axis=-1)


def _cuts_at_rates(x: Floats, rate: float) -> Floats:
    return _cuts(x * rate) / rate


def patterns(queries: int, positives: int) -> list[tuple[int, ...]]:
    """All that the mechanism can say: it stops after so many positives."""
    told = {()}
    for _ in range(queries):
        told = {(*past, answer) if sum(past) < positives else past for past in told for answer in (0, 1)}
    return sorted(told)


def sparse_pairs_stay_below(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for positives, queries in ((1, 1), (1, 4), (1, 8), (2, 2), (2, 5)):
        for e1, e2 in ((0.05, 0.05), (0.5, 0.5), (0.3, 1.2), (2.0, 2.0)):
            m = SparseVector(epsilon_threshold=e1, epsilon_queries=e2, positives=positives)
            query_rate = e2 / (2 * positives)
            levels = rng.normal(size=(size, queries)) * rng.choice([0.1, 1, 3], size=(size, 1)) / query_rate
            levels = levels.clip(-6 / query_rate, 6 / query_rate)
            corner = rng.random((size, 1)) < 0.7
            moved = levels + np.where(corner, rng.choice([-1, 1], (size, queries)), rng.uniform(-1, 1, (size, queries)))
            told = patterns(queries, positives)
            p, q = (sparse_vector(side, told, e1, query_rate) for side in (levels, moved))
            np.testing.assert_allclose(p.sum(axis=-1), 1, atol=1e-9)
            assert excess(m, p, q) <= 1
            assert np.log(p / q).max() <= m.pure_epsilon * (1 + 1e-6)


def sparse_optimum_stays_below(queries: int, positives: int, e: float, steps: int) -> None:
    m = SparseVector(epsilon_threshold=e, epsilon_queries=e, positives=positives)
    told = patterns(queries, positives)

    def law(levels: Floats) -> Floats:
        return sparse_vector(levels, told, e, e / (2 * positives))

    for order in (1.0, 8.0):
        found = climb(law, order, queries, 2.0, steps, shift=1.0)
        assert 0 < found <= min(m.rdp(order), order * m.rho)
