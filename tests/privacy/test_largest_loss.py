"""At delta 0 the answer is the largest loss: its lower end is a loss that true neighbours have."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import exp, inf, log
from typing import Any

import pytest
from flint import arb

from zcdp import (
    L2,
    BinaryRandomizedResponse,
    Channel,
    DiscreteLaplace,
    ExponentialMechanism,
    Laplace,
    Mechanism,
    PermuteAndFlip,
    ReportNoisyMax,
    TruncatedGeometric,
)
from zcdp.privacy.loss import Factor, LossLaw, laplace_pair
from zcdp.privacy.profile.profile import Profile


@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize(
    ("mechanism", "loss"),
    [
        (Channel([["3/4", "1/4"], ["2/5", "3/5"]]), log(0.6 / 0.25)),
        (BinaryRandomizedResponse(p="0.6", q="0.3"), log(2)),
        (DiscreteLaplace(epsilon=1, sensitivity=L2(2)), 1.0),  # four coordinates that move by 1, each 1/4
        (DiscreteLaplace(epsilon=1, sensitivity=L2("2.5")), 1.0),
    ],
    ids=repr,
)
def test_both_ends_are_the_largest_loss(mechanism: Mechanism, loss: float, count: int) -> None:
    lower, upper = (count * mechanism).epsilon_bounds(delta=0)
    assert lower == pytest.approx(count * loss, rel=1e-14)
    assert upper == pytest.approx(count * loss, rel=1e-14)
    assert lower <= upper


def test_truncated_noise_by_its_own_table() -> None:
    m = TruncatedGeometric(epsilon=1, n=5)
    weights = [[exp(-abs(x - y)) for y in range(6)] for x in range(6)]
    rows = [[weight / sum(row) for weight in row] for row in weights]
    losses = [abs(log(p / q)) for one, two in pairwise(rows) for p, q in zip(one, two, strict=True)]
    lower, upper = m.epsilon_bounds(delta=0)
    assert lower <= upper
    assert lower == pytest.approx(max(losses), rel=1e-12)
    assert upper == pytest.approx(max(losses), rel=1e-12)


def softmax(scores: list[float], epsilon: float) -> list[float]:
    weights = [exp(epsilon / 2 * score) for score in scores]
    return [weight / sum(weights) for weight in weights]


def test_the_exponential_mechanism_comes_as_near_as_its_pair_says() -> None:
    """Utilities that all move by 1, one up and the others down, have a loss above the lower end."""
    lower, upper = ExponentialMechanism(epsilon=1).epsilon_bounds(delta=0)
    one, other = softmax([1.0] + [0.0] * 10**4, 1.0), softmax([0.0] + [1.0] * 10**4, 1.0)
    assert 0.4 < lower <= log(one[0] / other[0]) <= upper == 1.0


@pytest.mark.parametrize("m", [PermuteAndFlip(epsilon=1), ReportNoisyMax(epsilon=1, noise="gumbel")], ids=repr)
def test_the_lower_end_at_zero_is_above_that_of_every_small_delta(m: Mechanism) -> None:
    lower, upper = m.epsilon_bounds(delta=0)
    assert m.epsilon_bounds(delta="1e-9")[0] <= lower <= upper == 1.0


def test_a_loss_without_bound_has_no_pure_epsilon() -> None:
    """Under L2 the move may be spread over any number of coordinates: the largest loss grows with their root."""
    assert (3 * Laplace(epsilon=1, sensitivity=L2(2))).epsilon_bounds(delta=0) == (inf, inf)


class Plain(Factor):
    """The transform of Laplace noise, and nothing else that is known of it."""

    def __init__(self) -> None:
        self.laplace = laplace_pair(Fraction(1)).ready()

    def moment(self, z: Any) -> Any:
        return self.laplace.moment(z)


@dataclass(frozen=True, eq=False)
class Careful(LossLaw):
    """A law that knows its largest loss only from above."""

    def ready(self) -> Factor:
        return Plain()

    def largest(self) -> arb:
        return arb(5)


def test_a_largest_loss_that_is_not_seen_to_occur_is_no_lower_end() -> None:
    assert Profile(((Careful(), 3),)).loss_that_occurs() == 0.0
    assert Profile(((Careful(), 3), (laplace_pair(Fraction(1)), 2))).loss_that_occurs() == 2.0
