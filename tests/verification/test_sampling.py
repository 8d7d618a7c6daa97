"""The checks on sampling hold, and can fail."""

from __future__ import annotations

import pytest

from zcdp.privacy.loss.sampled_gaussian_law import SampledDecay, SampledGaussianLaw, SampledNormal
from zcdp.verification.sampling import checks


def failed(*, deep: bool = False) -> set[str]:
    return {check.theorem for check in checks(deep=deep) if not check.holds()}


def test_all_hold() -> None:
    assert failed(deep=True) == set()


def test_a_decay_that_is_too_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    right = SampledDecay.__call__
    monkeypatch.setattr(SampledDecay, "__call__", lambda self, heights: 1.5 * right(self, heights))
    assert "sampled-gaussian" in failed()


def test_a_grid_that_is_too_coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    right = SampledNormal.progression
    monkeypatch.setattr(SampledNormal, "progression", lambda self, s, step, n, fall: right(self, s, step, n, fall / 4))
    monkeypatch.setattr(SampledNormal, "_slip", lambda self, grid, s: 0 * s)
    with pytest.raises(ValueError, match="P-mass"):  # It is seen before any check compares it with another formula.
        failed()


def test_a_rate_that_is_too_low(monkeypatch: pytest.MonkeyPatch) -> None:
    right = SampledGaussianLaw.alone
    monkeypatch.setattr(SampledGaussianLaw, "alone", lambda self: lambda e: right(self)(e) * (1 - 1e-9))
    assert "sampling" in failed()
