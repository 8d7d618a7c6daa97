"""A Poisson sample of which a record is replaced: what it takes, rho between two ends, and what is refused."""

from __future__ import annotations

import pytest

import zcdp
from zcdp import Gaussian, Laplace, Plan, ReplacedSample, Subsampled


def test_it_composes_with_replaced_records_only() -> None:
    step = ReplacedSample(Gaussian(sigma=1), rate="0.01")
    whole = 10 * step + Gaussian(sigma=4, sensitivity=2) + zcdp.RandomizedResponse(epsilon=1, k=4)
    assert whole.relation.value == "replace"
    assert whole.epsilon_at(delta="1e-5") > 1
    with pytest.raises(ValueError, match="neighbours"):
        step + Subsampled(Gaussian(sigma=1), rate="0.01")
    assert Plan.parse(repr(step)) == Plan.sum_of(step)


@pytest.mark.parametrize(("rate", "sigma"), [("0.001", 1), ("0.01", "0.5"), ("0.3", 2), ("0.95", 1)])
def test_rho_holds_at_every_order(rate: str, sigma: object) -> None:
    step = ReplacedSample(Gaussian(sigma=sigma), rate=rate)
    lower, upper = step.rho_bounds
    assert lower <= upper <= 4 * Gaussian(sigma=sigma).rho
    for order in (1, 1.01, 1.5, 2, 4, 16, 100, 900, 1500, 10**6):
        assert step.rdp(order) <= order * upper * (1 + 1e-12)
    assert step.rdp(10**9) >= lower * 10**9 * 0.999 or lower > Gaussian(sigma=sigma).rho
    assert step.rdp(999) <= step.rdp(1002)  # from the integral to the bound


def test_what_is_not_covered_is_refused() -> None:
    for bad in (0, 1, "3/2", -1):
        with pytest.raises(ValueError, match="must be above 0 and below 1"):
            ReplacedSample(Gaussian(sigma=1), rate=bad)
    with pytest.raises(TypeError, match="must be Gaussian noise"):
        ReplacedSample(Laplace(epsilon=1), rate="0.1")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no group bound"):
        ReplacedSample(Gaussian(sigma=1), rate="0.1").group(2)
