"""The checks of profiles fail where those are a little wrong."""

from __future__ import annotations

from fractions import Fraction

import pytest
from verification.altered import assert_seen

from zcdp.privacy.profile.engine import Answer
from zcdp.privacy.profile.profile import Profile
from zcdp.verification import check_profiles, checks, run


def failed(*theorems: str) -> set[str]:
    """Those of these theorems that some check says do not hold."""
    asked = [check for check in checks() if check.theorem in theorems]
    return {result.check.theorem for result in run(asked) if not result.passed}


def test_a_profile_that_is_too_low(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Profile.delta

    def low(self: Profile, epsilon: Fraction, **options: int) -> Answer:
        answer = right(self, epsilon, **options)
        return answer._replace(lower=answer.lower * (1 - 1e-6), upper=answer.upper * (1 - 1e-6))

    monkeypatch.setattr(Profile, "delta", low)
    engines = "profile", "finite-sum", "lattice-contour", "contour", "smoothing", "envelope", "adaptive"
    assert failed(*engines) == set(engines)


WRONG: list[tuple[str, str, dict[str, float]]] = [
    # words of the check's statement, mechanism, factors
    ("few responses are a binomial sum", "PureDP", {"delta_bounds": 1 + 1e-9}),
    ("few responses are a binomial sum", "PureDP", {"delta_bounds": 1 - 1e-9}),
    ("Gaussian noise many times", "Gaussian", {"delta_bounds": 1 + 1e-9}),
    ("Gaussian noise many times", "Gaussian", {"delta_bounds": 1 - 1e-9}),
    ("beside a Laplace", "Laplace", {"delta_bounds": 1 + 1e-5}),
    ("beside a Laplace", "Laplace", {"delta_bounds": 1 - 1e-5}),
    ("losses on no lattice", "PureDP", {"delta_bounds": 1 + 1e-9}),
    ("next to the largest loss", "PureDP", {"epsilon_bounds": 1 + 1e-9}),
    ("next to the largest loss", "PureDP", {"epsilon_bounds": 1 - 1e-9}),
    ("one use of a channel", "Channel", {"delta_bounds": 1 + 1e-9}),
    ("several uses have that", "BinaryRandomizedResponse", {"delta_bounds": 1 + 1e-9}),
    ("several uses have that", "BinaryRandomizedResponse", {"delta_bounds": 1 - 1e-9}),
    ("two candidates against three", "ReportNoisyMax", {"rho_bounds": 4}),
    ("two candidates against three", "ReportNoisyMax", {"rho_bounds": 0.2}),
]  # fmt: skip


@pytest.mark.parametrize(("words", "name", "factors"), WRONG, ids=str)
def test_a_check_of_a_wrong_mechanism_fails(
    words: str, name: str, factors: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In each direction that the theorem forbids."""
    assert_seen(check_profiles, words, name, factors, monkeypatch)
