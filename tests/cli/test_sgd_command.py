"""`zcdp sgd`: both ways, as text and JSON, and what makes no sense."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cli.program import called as zcdp

from zcdp import Gaussian, Subsampled
from zcdp.training import Allocation, FixedSize, Poisson, Training, Truncated

DATA = ("--examples", "60000", "--batch", "256", "--delta", "1e-5")
TRAINING = (*DATA, "--epochs", "60")


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


def test_noise_is_called_the_least_only_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "the least noise for epsilon = 3" in zcdp("sgd", *TRAINING, "--epsilon", "3").stdout
    much = Training(noise_multiplier=2, steps=14063, sampling=Poisson("256/60000"))
    monkeypatch.setattr(Training, "calibrate", lambda **_: much)
    text = zcdp("sgd", *TRAINING, "--epsilon", "3").stdout
    assert "enough noise, not shown to be the least, for epsilon = 3" in text
    assert ": the least" not in text


def facts(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(zcdp("sgd", *arguments, "--json").stdout)
    return found


def test_every_way_to_batch_is_that_of_python() -> None:
    rate = "256/60000"
    runs = {
        ("--sigma", "2.2", "--fixed"): Training(
            noise_multiplier="2.2", steps=14063, sampling=FixedSize(256, of=60_000)
        ),
        ("--sigma", "1.1", "--truncated", "330"): Training(
            noise_multiplier="1.1", steps=14063, sampling=Truncated(rate, most=330, of=60_000)
        ),
        ("--sigma", "9", "--users", "4"): Training(
            noise_multiplier=9, steps=14063, sampling=Poisson(rate), unit="user", examples_per_user=4
        ),
        ("--sigma", "1.1", "--users"): Training(
            noise_multiplier="1.1", steps=14063, sampling=Poisson(rate), unit="user"
        ),
    }
    for arguments, training in runs.items():
        found = facts(*TRAINING, *arguments)
        assert found["training"] == repr(training)
        assert found["epsilon"] == training.epsilon_at(delta="1e-5")
        assert (found["moves"], found["unit"]) == (training.moves, training.unit)
    allocated = facts(*DATA, "--epochs", "2", "--sigma", "1.1", "--allocation")
    epochs = Training(noise_multiplier="1.1", steps=470, sampling=Allocation(235))
    assert (allocated["training"], allocated["epsilon"]) == (repr(epochs), epochs.epsilon_at(delta="1e-5"))
    scheduled = facts(*DATA, "--sigma", "1", "--schedule", "20:1.5, 40:1")
    known = Training(noise_multiplier=1, sampling=Poisson(rate), schedule=[(4688, "1.5"), (9375, 1)])
    assert (scheduled["training"], scheduled["epsilon"]) == (repr(known), known.epsilon_at(delta="1e-5"))


def test_any_rate_and_number_of_steps() -> None:
    loop = Training(noise_multiplier="1.1", steps=3525, sampling=Poisson("1/235"))
    found = facts("--rate", "1/235", "--steps", "3525", "--sigma", "1.1", "--delta", "1e-5")
    assert (found["training"], found["epsilon"]) == (repr(loop), loop.epsilon_at(delta="1e-5"))
    assert (found["examples"], found["batch"], found["rate"]) == (None, None, "1/235")
    text = zcdp("sgd", "--rate", "1/235", "--steps", "3525", "--sigma", "1.1", "--delta", "1e-5").stdout
    assert "3525 steps, rate 1/235," in text
    assert facts(*DATA, "--steps", "3525", "--sigma", "1")["training"] == repr(
        Training(noise_multiplier=1, steps=3525, sampling=Poisson("256/60000"))
    )
    assert facts("--rate", "1/235", "--epochs", "15", "--sigma", "1", "--delta", "1e-5")["steps"] == 3525
    cut = ("--rate", "1/235", "--examples", "60000", "--truncated", "340", "--steps", "3525")
    assert facts(*cut, "--sigma", "1.1", "--delta", "1e-5")["training"] == repr(
        Training(noise_multiplier="1.1", steps=3525, sampling=Truncated("1/235", most=340, of=60_000))
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--steps", "10"), "give --examples and --batch, or --rate"),
        (("--steps", "10", "--batch", "256"), "give --examples and --batch, or --rate"),
        (("--steps", "10", "--batch", "256", "--examples", "6000", "--rate", "0.1"), "give --examples and --batch, or"),
        (("--rate", "0.1"), "give --epochs, or --schedule EPOCHS:FACTOR,..., or --steps"),
        (("--rate", "0.1", "--steps", "10", "--epochs", "1"), "give --epochs, or --schedule"),
        (("--rate", "2", "--steps", "10"), "rate (2) must"),
        (("--rate", "0.1", "--steps", "10", "--fixed"), "--fixed needs --examples and --batch"),
        (("--rate", "0.1", "--steps", "10", "--truncated", "9"), "--truncated needs --examples"),
        (("--rate", "0.1", "--steps", "15", "--allocation"), "must be whole epochs of 10 batches"),
    ],
)
def test_a_rate_and_steps_are_said_once(arguments: tuple[str, ...], message: str) -> None:
    done = zcdp("sgd", "--sigma", "1", "--delta", "1e-5", *arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_batches_of_one_size_say_what_an_example_moves() -> None:
    text = zcdp("sgd", *TRAINING, "--sigma", "2.2", "--fixed").stdout
    for shown in ("by up to 2 C", "replaced by another", "batches of 256 out of 60000", "some data set has at least"):
        assert shown in text
    assert "exact" not in text
    assert "added or removed" not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--sigma", "1", "--epsilon", "1"), "give --sigma to learn epsilon, or --epsilon to learn sigma"),
        ((), "give --sigma to learn epsilon"),
        (("--sigma", "0"), "sigma ('0') must be positive"),
        (("--sigma", "1", "--batch", "60001"), "batch (60001) must be at most the number of examples (60000)"),
        (("--sigma", "1", "--batch", "0"), "batch ('0') must"),
        (("--sigma", "1", "--examples", "60,000"), "examples ('60,000') is not a number: write a whole number such as"),
        (("--sigma", "1", "--delta", "2"), "delta ('2') must"),
        (("--sigma", "1", "--fixed", "--truncated", "300"), "give one of --fixed, --allocation and --truncated"),
        (("--sigma", "1", "--schedule", "20:1"), "give --epochs, or --schedule"),
        (("--sigma", "1", "--allocation", "--fixed"), "give one of --fixed, --allocation and --truncated"),
        (("--sigma", "1", "--allocation", "--epochs", "1.5"), "epochs ('1.5') must be a whole number"),
        (("--sigma", "1", "--users", "0"), "users ('0') must"),
        (("--sigma", "1", "--users", "2", "--fixed"), "no bound is known for the examples of one user"),
    ],
)
def test_bad_usage(arguments: tuple[str, ...], message: str) -> None:
    done = zcdp("sgd", *TRAINING, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_schedule_has_epochs_and_factors() -> None:
    done = zcdp("sgd", *DATA, "--sigma", "1", "--schedule", "20,30")
    assert done.returncode == 2
    assert "must be EPOCHS:FACTOR with commas between them, as 20:1.5,40:1" in done.stderr
