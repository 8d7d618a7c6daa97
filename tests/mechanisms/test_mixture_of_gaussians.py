"""`MixtureOfGaussians`: what it is given, groups, plans as text, and that longer or likelier moves cost more."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from zcdp import MixtureOfGaussians, Plan, ZcdpError

STEP = MixtureOfGaussians(sigma=2, rate="0.1", examples=3)


def test_both_forms_are_one_law() -> None:
    chances = [Fraction(3, 10) * Fraction(81, 100), Fraction(27, 1000), Fraction(1, 1000)]
    listed = MixtureOfGaussians(sigma=2, sensitivities=[1, 2, 3], probabilities=chances)
    assert listed.moves == STEP.moves
    assert listed.delta_at(epsilon=1) == STEP.delta_at(epsilon=1)


def test_more_moves_cost_more() -> None:
    deltas = [
        MixtureOfGaussians(sigma=2, rate=rate, examples=examples).delta_at(epsilon="0.5")
        for rate, examples in (("0.05", 3), ("0.1", 3), ("0.1", 4))
    ]
    assert deltas == sorted(deltas)
    assert deltas[0] < deltas[-1]


def test_rho_is_that_of_the_longest_move() -> None:
    assert STEP.rho == 9 / 8
    assert STEP.rho_order == float("inf")
    assert STEP.rdp(100) / 100 < STEP.rho
    assert STEP.rdp(20_000) / 20_000 == pytest.approx(STEP.rho, rel=1e-3)


def test_a_group_has_all_their_examples() -> None:
    assert STEP.group(2) == MixtureOfGaussians(sigma=2, rate="0.1", examples=6)
    assert STEP.group(1) is STEP
    listed = MixtureOfGaussians(sigma=2, sensitivities=[1], probabilities=["0.1"])
    with pytest.raises(ZcdpError, match="no group bound"):
        listed.group(2)


@pytest.mark.parametrize(
    "mechanism", [STEP, MixtureOfGaussians(sigma=1, sensitivities=["1/3", 2], probabilities=["0.1", "0.2"])]
)
def test_plans_read_what_they_write(mechanism: MixtureOfGaussians) -> None:
    assert Plan.parse(repr(mechanism)) == Plan.sum_of(mechanism)
    assert Plan.from_json((5 * mechanism).to_json()) == 5 * mechanism


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rate": "0.1"}, "give sensitivities and probabilities, or rate and examples"),
        ({"rate": 2, "examples": 1}, r"rate \(2\) must be above 0 and at most 1"),
        ({"rate": "0.1", "examples": 0}, "examples"),
        ({"rate": "0.1", "examples": 1000}, r"examples \(1000\) must be below 1000"),
        ({"sensitivities": [1, 2], "probabilities": [1]}, r"\(2 and 1\) must be equally many"),
        ({"sensitivities": [1, 2], "probabilities": ["0.6", "0.6"]}, r"at most 1, not '1.2'"),
        ({"sensitivities": [-1], "probabilities": [1]}, r"sensitivity \(-1\) must not be negative"),
        ({"sensitivities": [1], "probabilities": [-1]}, r"probability \(-1\) must not be negative"),
        ({"sensitivities": [0], "probabilities": [1]}, "one above 0"),
        ({"sensitivities": 1, "probabilities": [1]}, r"sensitivities \(1\) must be a list"),
    ],
)
def test_what_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ZcdpError, match=message):
        MixtureOfGaussians(sigma=1, **given)
