"""The checks of noise pass the right law and no other: quantiles stand for draws, and nothing is left to chance."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log
from statistics import NormalDist
from types import SimpleNamespace

import numpy as np
import pytest

from zcdp.verification import check_runs as runs

DRAWS = 100_000
LEVELS = (np.arange(DRAWS) + 0.5) / DRAWS


@pytest.mark.parametrize(("hits", "near"), [(5000, True), (5301, True), (5302, False), (4699, True), (4698, False)])
def test_near_is_six_standard_deviations_and_one(hits: int, near: bool) -> None:
    assert runs._near(hits, 10_000, 0.5) is near  # the standard deviation is 50


def test_near_where_the_law_is_not_even() -> None:
    assert runs._near(900 + 172, 10_000, 0.09)  # the standard deviation is 28.6
    assert not runs._near(900 + 173, 10_000, 0.09)
    assert not runs._near(900 - 173, 10_000, 0.09)


def laplace(scale: float) -> np.ndarray:
    return np.where(LEVELS < 0.5, scale * np.log(2 * LEVELS), -scale * np.log(2 * (1 - LEVELS)))


def discrete(scale: float) -> np.ndarray:
    """P(|x| >= n) = 2 q^n/(1 + q)."""
    q = exp(-1 / scale)
    tail = LEVELS * (1 + q) / 2
    return np.where(tail > q, 0, np.floor(np.log(tail) / log(q))).astype(int)


def normal(scale: float) -> np.ndarray:
    return np.array([NormalDist(0, scale).inv_cdf(level) for level in LEVELS[::10]]).repeat(10)


def logistic(scale: float) -> np.ndarray:
    return scale * np.log(LEVELS / (1 - LEVELS))


def drawn(values: np.ndarray) -> Callable[..., SimpleNamespace]:
    return lambda **_: SimpleNamespace(sample=lambda _draws: values)


@pytest.mark.parametrize(("factor", "holds"), [(1.0, True), (1.03, False), (0.97, False)])
def test_noise_of_another_scale_is_seen(factor: float, holds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for scale in (2, 3000):
        monkeypatch.setattr(runs, "DiscreteLaplace", drawn(discrete(scale * factor)))
        assert runs._discrete_laplace(DRAWS, scale) is holds
    monkeypatch.setattr(runs, "Laplace", drawn(laplace(2 * factor)))
    assert runs._laplace(DRAWS) is holds
    for gaussian, other in ((factor, 1.0), (1.0, factor)):
        monkeypatch.setattr(runs, "Gaussian", drawn(normal(2 * gaussian)))
        monkeypatch.setattr(runs, "Logistic", drawn(logistic(2 * other)))
        assert runs._binned(DRAWS) is holds


@pytest.mark.parametrize(("share", "holds"), [(1 / (1 + exp(-1)), True), (0.71, False), (0.75, False)])
def test_a_selection_with_other_chances_is_seen(share: float, holds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(LEVELS[::5] < share)
    monkeypatch.setattr(
        runs,
        "ExponentialMechanism",
        lambda **_: SimpleNamespace(release=lambda _scores, sensitivity: int(next(answers))),
    )
    assert runs._selection(20_000) is holds


@pytest.mark.parametrize("violated", [False, True])
def test_the_audit_must_tell_an_honest_mechanism_from_a_cheat(violated: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "audit", lambda *_, **__: SimpleNamespace(violated=violated))
    assert (runs._honest(100), runs._cheat(100)) == (not violated, violated)
