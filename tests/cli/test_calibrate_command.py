"""`zcdp calibrate`: what is printed is what was found, and in which unit noise on a batch is."""

from __future__ import annotations

import json
from statistics import NormalDist

import pytest
from cli.program import called as zcdp

import zcdp as library
from zcdp.cli import main


def test_calibrate() -> None:
    command = ("calibrate", "1000 * Laplace(epsilon=?)", "--epsilon", "1", "--delta", "1e-6")
    found = json.loads(zcdp(*command, "--json").stdout)["parameter"]
    assert found == pytest.approx(0.00750512783350)
    assert (1000 * library.Laplace(epsilon=found)).delta_at(epsilon=1) <= 1e-6
    assert repr(found) in zcdp(*command).stdout


def test_calibrate_to_what_an_attacker_gains() -> None:
    found = json.loads(zcdp("calibrate", "4 * Gaussian(sigma=?)", "--tpr", "0.05", "--fpr", "0.01", "--json").stdout)
    normal = NormalDist()
    assert 2 / found["parameter"] == pytest.approx(normal.inv_cdf(0.05) - normal.inv_cdf(0.01), rel=1e-9)
    assert found["spent"]["tpr"] <= 0.05
    told = zcdp("calibrate", "4 * Gaussian(sigma=?)", "--advantage", "0.1").stdout
    assert "advantage = 0.1;" in told
    assert zcdp("calibrate", "4 * Gaussian(sigma=?)", "--tpr", "0.1").returncode == 2
    assert zcdp("calibrate", "4 * Gaussian(sigma=?)", "--advantage", "0.1", "--rho", "1").returncode == 2


FIXED = "14063 * Subsampled(Gaussian(sigma={}), size=256, of=60000)"


@pytest.mark.parametrize(
    "command",
    [
        ("account", FIXED.format("1.1"), "--delta", "1e-5"),
        ("calibrate", FIXED.format("?"), "--epsilon", "3", "--delta", "1e-5"),
        ("rho", FIXED.format("1.1")),
    ],
    ids=lambda command: command[0],
)
def test_noise_on_a_batch_of_a_fixed_size_says_in_which_unit_it_is(command: tuple[str, ...]) -> None:
    """Read as a multiple of the clipping norm, sigma would train at epsilon 18 instead of 3."""
    told = " ".join(zcdp(*command).stdout.split())
    assert "that is 2C" in told
    assert "write Gaussian(sigma=z, sensitivity=2)" in told
    stated = [part.replace(")", ", sensitivity=2)", 1) for part in command]
    assert "Note" not in zcdp(*stated).stdout


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")


def told(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(list(argv)) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("budget", "spent"),
    [
        (("--rho", "0.1"), "rho"),
        (("--epsilon", "1", "--delta", "1e-3"), "epsilon"),
        (("--epsilon", "1", "--delta", "0"), ""),
    ],
)
def test_calibrated_noise_is_told_with_what_it_spends(
    budget: tuple[str, ...], spent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if not spent:  # pure: five epsilons of 1/5
        text = told(capsys, "calibrate", "5 * Laplace(epsilon=?)", *budget)
        assert float(text.split()[2]) == pytest.approx(0.2, rel=1e-9)
        return
    facts = json.loads(told(capsys, "calibrate", "5 * Laplace(epsilon=?)", *budget, "--json"))
    plan = library.Plan.parse(facts["plan"])
    assert plan == 5 * library.Laplace(epsilon=facts["parameter"])
    limit = float(budget[1])
    assert limit * (1 - 1e-8) <= facts["spent"][spent] <= limit * (1 + 1e-12)
    assert facts["spent"]["rho"] == plan.rho
    assert f"? = {facts['parameter']!r}" in told(capsys, "calibrate", "5 * Laplace(epsilon=?)", *budget)
