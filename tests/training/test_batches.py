"""Ways to draw batches: which mechanism each of them is, by how many clip norms an example moves the sum."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from zcdp import Allocation as AllocatedEpoch
from zcdp import Gaussian, MixtureOfGaussians, ReplacedSample, Subsampled, TruncatedSample, ZcdpError
from zcdp.training import Allocation, Batches, FixedSize, Poisson, Truncated

Z = Fraction(3, 2)


@pytest.mark.parametrize(
    ("batches", "mechanism", "moves"),
    [
        (Poisson("0.1"), Subsampled(Gaussian(sigma="1.5"), rate="0.1"), 1),
        (FixedSize(6, of=60), ReplacedSample(Gaussian(sigma="1.5"), size=6, of=60), 2),
        (Allocation(10), AllocatedEpoch(Gaussian(sigma="1.5"), batches=10), 1),
        (Truncated("0.1", most=9, of=60), TruncatedSample(Gaussian(sigma="1.5"), rate="0.1", most=9, of=60), 1),
    ],
)
def test_each_is_a_mechanism(batches: Batches, mechanism: object, moves: int) -> None:
    assert batches.mechanism(Z) == mechanism
    assert repr(batches.mechanism(Z)) == repr(mechanism)  # equality of Gaussian noise leaves the sensitivity out
    assert batches.moves == moves
    assert batches.steps_per_use == (10 if isinstance(batches, Allocation) else 1)
    assert eval(repr(batches)) == batches


def test_examples_of_a_user() -> None:
    assert Poisson("0.1").of_users(Z, 4) == MixtureOfGaussians(sigma="1.5", rate="0.1", examples=4)
    for batches in (FixedSize(6, of=60), Truncated("0.1", most=9, of=60)):
        with pytest.raises(ZcdpError, match="no bound is known for the examples of one user"):
            batches.of_users(Z, 4)


@pytest.mark.parametrize(
    ("made", "given", "message"),
    [
        (Poisson, (0,), r"rate \(0\) must be above 0 and at most 1"),
        (Poisson, ("1.5",), r"rate \('?1.5'?\) must be above 0"),
        (FixedSize, (61, 60), r"size \(61\) must be at most of \(60\)"),
        (FixedSize, (0, 60), "size"),
        (Truncated, ("0.1", 0, 60), "most"),
        (Allocation, (0,), "batches"),
    ],
)
def test_what_is_refused(made: Any, given: tuple[object, ...], message: str) -> None:
    with pytest.raises(ZcdpError, match=message):
        made(*given)
