"""The audit of noisy max and sparse vector: sound ones stay below their epsilon, known broken ones do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from zcdp import ReportNoisyMax, SparseVector, audit

DRAWS = 200_000

SOUND = (
    (ReportNoisyMax(epsilon=1), 0.5),
    (ReportNoisyMax(epsilon=1, noise="gumbel"), 0.7),
    (ReportNoisyMax(epsilon=1, noise="exponential"), 0.7),
    (SparseVector(epsilon_threshold=1, epsilon_queries=1), 0.4),
    (SparseVector(epsilon_threshold=1, epsilon_queries=2, positives=3), 0.4),
    (SparseVector(epsilon_threshold=1, epsilon_queries=2, positives=2, monotone=True), 0.4),
)


@pytest.mark.parametrize(("mechanism", "least"), SOUND, ids=repr)
def test_a_sound_mechanism_stays_below_its_epsilon(mechanism: Any, least: float) -> None:
    found = audit(mechanism, draws=DRAWS)
    assert not found.violated
    assert least < found.epsilon_lower <= found.epsilon


# Broken sparse vectors (Lyu, Su and Li 2017, Figure 1): threshold and query noise as they should be, but for one slip.
# All state epsilon 1 and one positive; queries move by at most 1.

E1, E2 = 0.2, 0.8


def outputs(levels: list[float], variant: str) -> Callable[[int], Any]:
    def draw(count: int) -> Any:
        rng = np.random.default_rng()
        shape = (count, len(levels))
        threshold = rng.laplace(0, 1 / E1, (count, 1))
        noise = np.zeros(shape) if variant == "no noise on queries" else rng.laplace(0, 2 / E2, shape)
        if variant == "noise not redrawn":
            noise = np.repeat(noise[:, :1], len(levels), axis=1)
        noisy = np.array(levels) + noise
        answers = noisy >= threshold
        half = len(levels) // 2
        if variant == "no stop":  # of what it says, how many more are above in the first half
            return answers[:, :half].sum(axis=1) - answers[:, half:].sum(axis=1)
        first = np.where(answers.any(axis=1), answers.argmax(axis=1), len(levels))
        if variant == "answers released":  # the noisy value of the positive query, to one digit
            padded = np.column_stack([noisy, np.zeros(count)])
            value = np.round(padded[np.arange(count), first]).clip(-9, 9)
            return 100 * first + value.astype(np.int64)
        return first

    return draw


@pytest.mark.parametrize(
    ("variant", "first", "second", "draws"),
    [
        ("no noise on queries", [0.0, 1.0], [1.0, 0.0], DRAWS),
        ("noise not redrawn", [0.0, 1.0], [1.0, 0.0], DRAWS),
        ("answers released", [0.0] * 6, [1.0] * 5 + [0.0], 1_500_000),
        ("no stop", [0.0] * 12 + [1.0] * 12, [1.0] * 12 + [0.0] * 12, DRAWS),
    ],
)
def test_a_broken_variant_is_flagged(variant: str, first: list[float], second: list[float], draws: int) -> None:
    def found(what: str) -> Any:
        return audit((outputs(first, what), outputs(second, what)), epsilon=E1 + E2, draws=draws, confidence=0.9999)

    assert found(variant).violated
    assert not found("sound").violated
