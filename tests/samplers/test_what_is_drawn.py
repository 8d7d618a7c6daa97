"""What a mechanism draws is at its own epsilon and sensitivity: chances that a factor of two would change by far."""

from __future__ import annotations

from collections.abc import Callable
from math import erfc, exp, sqrt
from typing import Any

import numpy as np
import pytest

from zcdp import (
    RAPPOR,
    DiscreteGaussian,
    DiscreteLaplace,
    DiscreteStaircase,
    ExponentialMechanism,
    Gaussian,
    L0LInf,
    Laplace,
    Logistic,
    OptimizedUnaryEncoding,
    PermuteAndFlip,
    RandomizedResponse,
    Staircase,
    SubsetSelection,
    UnaryEncoding,
)
from zcdp.mechanisms import MECHANISMS

DRAWS = 4000
ZEROS = np.zeros(DRAWS, dtype=np.int64)
E = exp(1)
Hits = Callable[[], Any]


def far(m: Any, least: float) -> Hits:
    """Noise of at least this size."""
    return lambda: np.abs(m.sample(DRAWS)) >= least


def far_released(m: Any, least: float) -> Hits:
    """The same, of a sum with 0."""
    return lambda: np.abs(m.release(ZEROS)) >= least


def chosen(m: Any, scores: list[int], sensitivity: int) -> Hits:
    """How often the first one is selected."""
    return lambda: np.array([m.release(scores, sensitivity=sensitivity) == 0 for _ in range(DRAWS)])


def bit(m: Any, place: int) -> Hits:
    """A bit of the reports of 0."""
    return lambda: np.unpackbits(m.release(ZEROS, d=8), axis=1)[:, place]


def law(mass: Callable[[int], float], least: int) -> float:
    """P(|X| >= least) of integer noise of this mass, which need not be normalised."""
    near, whole = (sum(mass(x) for x in range(-size, size + 1)) for size in (least - 1, 300))
    return 1 - near / whole


# epsilon 2 and sensitivity 6: a scale of 3, whichever way it is said
CHANCES: dict[str, tuple[Hits, float]] = {
    "Laplace": (far(Laplace(epsilon=2, sensitivity=6), 3), 1 / E),
    "Laplace, released": (far_released(Laplace(epsilon=2, sensitivity=6), 3), 1 / E),
    "Laplace, by its scale": (far(Laplace(scale=3, sensitivity=50), 3), 1 / E),
    "Laplace, a vector": (far(Laplace(epsilon=2, sensitivity=L0LInf(3, 2)), 3), 1 / E),
    "DiscreteLaplace": (far(DiscreteLaplace(epsilon=2, sensitivity=6), 3), law(lambda x: exp(-abs(x) / 3), 3)),
    "DiscreteLaplace, released": (
        far_released(DiscreteLaplace(epsilon=2, sensitivity=6), 3),
        law(lambda x: exp(-abs(x) / 3), 3),
    ),
    "DiscreteLaplace, a vector": (
        far(DiscreteLaplace(epsilon=2, sensitivity=L0LInf(3, 2)), 3),
        law(lambda x: exp(-abs(x) / 3), 3),
    ),
    "Logistic": (far(Logistic(epsilon=2, sensitivity=6), 3), 2 / (1 + E)),
    "Gaussian": (far(Gaussian(sigma=3), 3), erfc(sqrt(0.5))),
    "Gaussian, by its rho": (far(Gaussian(rho="1/2", sensitivity=3), 3), erfc(sqrt(0.5))),
    "DiscreteGaussian": (far(DiscreteGaussian(sigma=3), 3), law(lambda x: exp(-x * x / 18), 3)),
    "DiscreteGaussian, by its rho": (
        far(DiscreteGaussian(rho="1/2", sensitivity=3), 3),
        law(lambda x: exp(-x * x / 18), 3),
    ),
    "Staircase": (lambda: np.abs(Staircase(epsilon=1).release(ZEROS * 1.0, sensitivity=3)) >= 3, 1 / E),
    "DiscreteStaircase": (
        far(DiscreteStaircase(epsilon=1, sensitivity=5, r=2), 2),
        law(lambda x: exp(-((abs(x) + 3) // 5)), 2),
    ),
    "RandomizedResponse": (lambda: RandomizedResponse(epsilon=1, k=5).release(ZEROS) == 0, E / (E + 4)),
    "SubsetSelection": (
        lambda: (SubsetSelection(epsilon=1, k=6, size=2).release(ZEROS) == 0).any(axis=1),
        2 * E / (2 * E + 4),
    ),
    "RAPPOR, the true bit": (bit(RAPPOR(epsilon=2), 0), E / (E + 1)),
    "RAPPOR, another": (bit(RAPPOR(epsilon=2), 3), 1 / (E + 1)),
    "OptimizedUnaryEncoding, the true bit": (bit(OptimizedUnaryEncoding(epsilon=1), 0), 1 / 2),
    "OptimizedUnaryEncoding, another": (bit(OptimizedUnaryEncoding(epsilon=1), 3), 1 / (E + 1)),
    "UnaryEncoding, the true bit": (bit(UnaryEncoding("3/4", "1/8"), 0), 3 / 4),
    "UnaryEncoding, another": (bit(UnaryEncoding("3/4", "1/8"), 3), 1 / 8),
    "ExponentialMechanism": (chosen(ExponentialMechanism(epsilon=2), [0, 3], 3), 1 / (1 + E)),
    "ExponentialMechanism, monotone": (chosen(ExponentialMechanism(epsilon=2, monotone=True), [0, 3], 6), 1 / (1 + E)),
    "PermuteAndFlip": (chosen(PermuteAndFlip(epsilon=2), [0, 3], 3), 1 / (2 * E)),
    "PermuteAndFlip, monotone": (chosen(PermuteAndFlip(epsilon=2, monotone=True), [0, 3], 6), 1 / (2 * E)),
}


@pytest.mark.parametrize("name", CHANCES)
def test_what_is_drawn_is_what_is_accounted(name: str) -> None:
    """Within six standard deviations: a sound sampler fails once in 10^9."""
    hits, chance = CHANCES[name]
    found = np.asarray(hits())
    assert found.shape == (DRAWS,)
    assert abs(float(found.mean()) - chance) <= 6 * sqrt(chance * (1 - chance) / DRAWS)


ELSEWHERE = {"ReportNoisyMax", "TopK", "HadamardResponse", "LinearHashing", "LocalHashing", "MemoizedRAPPOR"}
ELSEWHERE |= {"BinaryRandomizedResponse", "Channel"}
"""Their laws are tested in test_comparisons.py, test_top_k.py, and by the estimates of tests/estimation."""


def test_every_mechanism_that_draws_is_here() -> None:
    drawn = {kind.__name__ for kind in MECHANISMS if hasattr(kind, "release")}
    assert {name.partition(",")[0] for name in CHANCES} | ELSEWHERE == drawn
