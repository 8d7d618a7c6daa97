"""A sample of which a record is replaced: what it takes, rho between two ends, and what is refused."""

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


def test_samples_of_a_fixed_size() -> None:
    step = ReplacedSample(Gaussian(sigma=2), size=600, of=60_000)
    assert Plan.parse(repr(step)) == Plan.sum_of(step)
    assert step != ReplacedSample(Gaussian(sigma=2), rate="0.01")
    assert step.rho_bounds == (0.5, 0.5)
    for order in (1, 1.01, 1.5, 2, 4, 16, 100, 900, 1500, 10**6):
        assert step.rdp(order) <= order / 2
    envelope = Subsampled(Gaussian(sigma=2, sensitivity=2), size=600, of=60_000)
    assert step.epsilon_bounds(delta="1e-5") == envelope.epsilon_bounds(delta="1e-5")  # of one use it is attained


@pytest.mark.parametrize(
    ("sigma", "size", "steps", "delta", "shown"),
    [
        (2, 600, 10_000, "1e-5", (6.187, 6.763)),
        ("2.2", 256, 14_063, "1e-5", (2.381, 2.612)),
        (4, 600, 1000, "1e-6", (0.7209, 0.8272)),
    ],
)
def test_the_figures_of_the_page(sigma: object, size: int, steps: int, delta: str, shown: tuple[float, float]) -> None:
    lower, upper = (steps * ReplacedSample(Gaussian(sigma=sigma), size=size, of=60_000)).epsilon_bounds(delta=delta)
    assert shown[0] <= lower <= shown[0] * 1.0005
    assert shown[1] * 0.9995 <= upper <= shown[1]


def test_all_records_drawn_is_noise_on_all_of_them() -> None:
    whole = ReplacedSample(Gaussian(sigma=4), size=7, of=7)
    assert whole.epsilon_bounds(delta="1e-5") == Gaussian(sigma=4, sensitivity=2).epsilon_bounds(delta="1e-5")
    assert whole.rdp(3) == Gaussian(sigma=2).rdp(3)


def test_what_is_not_covered_is_refused() -> None:
    with pytest.raises(ValueError, match=r"size \(8\) must be at most of \(7\)"):
        ReplacedSample(Gaussian(sigma=1), size=8, of=7)
    with pytest.raises(TypeError, match="give a rate, for a Poisson sample, or size and of"):
        ReplacedSample(Gaussian(sigma=1), rate="0.1", size=1, of=7)
    with pytest.raises(TypeError, match="give a rate"):
        ReplacedSample(Gaussian(sigma=1))
    for bad in (0, 1, "3/2", -1):
        with pytest.raises(ValueError, match="must be above 0 and below 1"):
            ReplacedSample(Gaussian(sigma=1), rate=bad)
    with pytest.raises(TypeError, match="must be Gaussian noise"):
        ReplacedSample(Laplace(epsilon=1), rate="0.1")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no group bound"):
        ReplacedSample(Gaussian(sigma=1), rate="0.1").group(2)
