"""`Allocation`: figures against other methods, what it refuses, and what it never exceeds."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
from independent import allocated_grid

from zcdp import Allocation, Gaussian, Laplace, Plan, RandomizedResponse, Shuffled, Subsampled
from zcdp.errors import BadType, BadValue
from zcdp.privacy.relation import Relation

ROUNDING = 1e-11  # of sums in doubles


@pytest.mark.parametrize(
    ("sigma", "batches", "delta", "epsilon"),
    [("1", 100, "1e-5", 0.620939671620), ("1", 1000, "1e-5", 0.1388466), ("2", 100, "1e-6", 0.20493)],
)
def test_one_epoch_is_what_convex_order_found_too(sigma: str, batches: int, delta: str, epsilon: float) -> None:
    """Computed apart from the library: sums of cell means and of cell ends, powers of one polynomial in doubles."""
    lower, upper = Allocation(Gaussian(sigma=sigma), batches=batches).epsilon_bounds(delta=delta)
    assert lower == pytest.approx(epsilon, rel=1e-4)
    assert upper - lower < 1e-9


def between(seed: int) -> None:
    """Certified ends around delta against sums of ratios on a grid, from both sides, in the worse of both orders."""
    rng = Random(f"allocated {seed}")
    sigma, batches = Fraction(rng.randint(8, 50), 10), rng.choice((2, 3, 10, 30, 100, 300))
    epochs, delta = rng.choice((1, 1, 2, 5, 20)), rng.choice(("1e-3", "1e-5", "1e-6"))
    plan = epochs * Allocation(Gaussian(sigma=sigma), batches=batches)
    least, most = plan.epsilon_bounds(delta=delta)
    assert most - least <= 1e-2 * most
    epsilon = rng.choice((least, most, 0.7 * most))
    lower, upper = plan.delta_bounds(epsilon=epsilon)
    step = 1e-4 if epochs == 20 else 2e-4
    both = [
        allocated_grid.ends(float(1 / sigma), batches, epochs, epsilon, step=step, turned=turned)
        for turned in (False, True)
    ]
    low, high = (max(one) for one in zip(*both, strict=True))
    where = (sigma, batches, epochs, epsilon, (low, high), (lower, upper))
    assert low <= upper + ROUNDING, where
    assert lower <= high + ROUNDING, where
    assert high <= 1.3 * low + 1e-8, where  # else the other method says nothing


@pytest.mark.parametrize("seed", [1, 3])
def test_sums_of_ratios_on_a_grid_agree(seed: int) -> None:
    between(seed)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(200))
def test_sums_of_ratios_on_a_grid_agree_at_many_settings(seed: int) -> None:
    between(seed)


def test_it_is_below_poisson_sampling_at_the_same_rate() -> None:
    epoch = Allocation(Gaussian(sigma=1), batches=100).epsilon_at(delta="1e-5")
    steps = (100 * Subsampled(Gaussian(sigma=1), rate="0.01")).epsilon_at(delta="1e-5")
    assert epoch < 0.9 * steps


def test_several_epochs_of_little_loss_have_close_ends() -> None:
    """Sums of ratios that hardly vary are known without noise, also where many points of the profile are asked for."""
    lower, upper = (2 * Allocation(Gaussian(sigma="4.9"), batches=300)).epsilon_bounds(delta="1e-3")
    assert 0.0198 < lower <= upper < 0.01983


@pytest.mark.deep
def test_several_epochs_have_close_ends() -> None:
    """0.2% at ten epochs, and both ends around what 300 atoms in doubles gave."""
    lower, upper = (10 * Allocation(Gaussian(sigma=1), batches=100)).epsilon_bounds(delta="1e-5")
    assert lower < 1.7029 * 1.001
    assert upper > 1.7029 * 0.999
    assert upper - lower < 0.003 * upper


@pytest.mark.deep
@pytest.mark.parametrize(("sigma", "batches", "epochs"), [("0.7", 20, 2), ("0.8", 3, 5), ("1.1", 100, 2)])
@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-9"])
def test_little_noise_and_small_deltas_have_close_ends_too(sigma: str, batches: int, epochs: int, delta: str) -> None:
    """A law that takes too much work would leave the bound by rho alone: 10.9 where it is 4.6."""
    lower, upper = (epochs * Allocation(Gaussian(sigma=sigma), batches=batches)).epsilon_bounds(delta=delta)
    assert 0 < lower <= upper <= 1.01 * lower


def test_one_batch_is_the_mechanism() -> None:
    one = Allocation(Laplace(epsilon=1), batches=1)
    assert one.epsilon_bounds(delta="1e-5") == Laplace(epsilon=1).epsilon_bounds(delta="1e-5")
    assert one.rho == Laplace(epsilon=1).rho
    assert one.relation is Relation.ADD_REMOVE


def test_what_it_never_exceeds() -> None:
    base = Laplace(epsilon=1)
    epoch = Allocation(base, batches=5)
    assert epoch.pure_epsilon == base.pure_epsilon
    assert epoch.rho == base.rho
    assert epoch.epsilon_at(delta="1e-3") <= base.epsilon_at(delta="1e-3")
    assert Allocation(Gaussian(sigma=1), batches=5).rho_bounds == (0.5, 0.5)
    assert epoch.rho_bounds == (0.0, base.rho)


def test_it_is_written_and_read() -> None:
    epoch = Allocation(2 * Laplace(epsilon="0.5"), batches=3)
    assert repr(epoch) == "Allocation(2 * Laplace(epsilon=0.5), batches=3)"
    assert Plan.parse("4 * Allocation(Gaussian(sigma=2), batches=10)") == 4 * Allocation(Gaussian(sigma=2), batches=10)


@pytest.mark.parametrize(
    ("base", "batches", "error", "text"),
    [
        (Laplace(epsilon=1), 0, BadValue, "batches"),
        (Laplace(epsilon=1), 10**7, BadValue, "at most 1000000"),
        (Shuffled(RandomizedResponse(epsilon=1, k=2), clients=5), 2, BadValue, "equally many records"),
        (Subsampled(Laplace(epsilon=1), size=2, of=4), 2, BadValue, "equally many records"),
        ("Laplace", 2, BadType, "must be a mechanism or a plan"),
    ],
)
def test_it_refuses(base: object, batches: int, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        Allocation(base, batches=batches)  # type: ignore[arg-type]


def test_groups_are_refused() -> None:
    with pytest.raises(BadValue, match="allocated one by one"):
        Allocation(Laplace(epsilon=1), batches=2).group(2)
