"""`zcdp sgd`: both ways, as text and JSON, and what makes no sense."""

from __future__ import annotations

import json

import pytest
from cli.program import called as zcdp

from zcdp import Gaussian, Subsampled

TRAINING = ("--examples", "60000", "--batch", "256", "--epochs", "60", "--delta", "1e-5")


def test_epsilon_of_a_training() -> None:
    done = zcdp("sgd", *TRAINING, "--sigma", "1.1")
    assert done.returncode == 0
    assert not done.stderr
    truth = (14063 * Subsampled(Gaussian(sigma="1.1"), rate="256/60000")).epsilon_at(delta="1e-5")
    assert f"{truth:.5f}"[:6] in done.stdout
    for shown in ("14063 steps", "256/60000", "added or removed", "Shuffled batches of one size are not covered"):
        assert shown in done.stdout
    facts = json.loads(zcdp("sgd", *TRAINING, "--sigma", "1.1", "--json").stdout)
    assert facts["epsilon"] == truth
    assert facts["relation"] == "add_remove"
    assert facts["steps"] == 14063


def test_noise_for_a_budget() -> None:
    facts = json.loads(zcdp("sgd", *TRAINING, "--epsilon", "3", "--json").stdout)
    assert facts["epsilon"] <= 3
    assert 0.968 < facts["sigma"] < 0.969


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--sigma", "1", "--epsilon", "1"), "give --sigma to learn epsilon, or --epsilon to learn sigma"),
        ((), "give --sigma to learn epsilon"),
        (("--sigma", "0"), "sigma ('0') must be positive"),
        (("--sigma", "1", "--batch", "60001"), "batch (60001) must be at most the number of examples (60000)"),
        (("--sigma", "1", "--batch", "0"), "batch ('0') must"),
        (("--sigma", "1", "--delta", "2"), "delta ('2') must"),
    ],
)
def test_bad_usage(arguments: tuple[str, ...], message: str) -> None:
    done = zcdp("sgd", *TRAINING, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
