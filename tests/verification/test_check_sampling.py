"""The checks on sampling hold, and can fail."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from verification.altered import altered

from zcdp.mechanisms import Subsampled
from zcdp.privacy.loss.sampled_gaussian_law import SampledDecay, SampledGaussianLaw, SampledNormal
from zcdp.verification import check_sampling as sampling
from zcdp.verification.check_sampling import checks


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


@pytest.mark.parametrize(
    ("check", "factors"),
    [
        ("_once", {"delta_bounds": 1 + 1e-9}),
        ("_once", {"delta_bounds": 1 - 1e-9}),
        ("_other_direction", {"delta_bounds": 1 + 1e-5}),
        ("_other_direction", {"delta_bounds": 1 - 1e-5}),
        ("_limit", {"rho": 1 + 1e-12}),
        ("_limit", {"rho": 1 - 1e-12}),
        ("_limit", {"rdp": 100}),
    ],
)
def test_samples_that_are_a_little_wrong(
    check: str, factors: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = () if check == "_other_direction" else ("0.3", "2")
    assert getattr(sampling, check)(*given)
    monkeypatch.setattr(sampling, "Subsampled", altered(Subsampled, **factors))
    assert not getattr(sampling, check)(*given)


@pytest.mark.parametrize(
    ("power", "holds"), [((1, 1), True), ((-1, 1), False), ((1, -1), False), ((0, 1), False), ((1, 0), False)]
)
def test_a_profile_that_does_not_rise_with_the_rate_and_fall_with_the_noise(
    power: tuple[int, int], holds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Told:
        def __init__(self, noise: Any, *, rate: str) -> None:
            value = float(rate) ** power[0] / float(noise.sigma) ** power[1]
            self.plan = SimpleNamespace(delta_bounds=lambda epsilon: (value, value))

        def __rmul__(self, _: int) -> Any:
            return self.plan

    monkeypatch.setattr(sampling, "Subsampled", Told)
    assert sampling._monotone() is holds
