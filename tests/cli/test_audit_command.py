"""`zcdp audit`: files of outputs, sorted or not, and one training run; what is refuted ends with exit code 1."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from cli.program import called as zcdp


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Rounded Gaussian outputs for two inputs at a distance of one standard deviation, sorted."""
    rng = np.random.default_rng(1)
    paths = []
    for shift in (0, 1):
        paths.append(tmp_path / f"{shift}.csv")
        np.savetxt(paths[-1], np.sort(np.round(rng.normal(size=20_000) + shift, 2)), fmt="%.2f")
    return str(paths[0]), str(paths[1])


def test_outputs_in_files(files: tuple[str, str]) -> None:
    kept = zcdp("audit", *files, "--epsilon", "4.4", "--delta", "1e-5")
    assert kept.returncode == 0
    assert "Not refuted. That is no proof" in kept.stdout
    broken = zcdp("audit", *files, "--epsilon", "1", "--delta", "1e-5", "--json")
    assert broken.returncode == 1
    facts = json.loads(broken.stdout)
    assert facts["violated"]
    assert 1 < facts["epsilon_lower"] < 4.4
    assert sum(facts["law"]["p"]) == pytest.approx(1)
    told = zcdp("audit", *files, "--rho", "0.1")
    assert told.returncode == 1
    assert "VIOLATED" in told.stdout
    assert "at best" in told.stdout


def test_words_and_several_columns(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    for n, keep in enumerate((0.9, 0.1)):
        words = np.where(rng.random(5_000) < keep, "tea,1", "none,2")
        (tmp_path / f"{n}.csv").write_text("\n".join(words) + "\n")
    one, other = str(tmp_path / "0.csv"), str(tmp_path / "1.csv")
    assert zcdp("audit", one, other, "--epsilon", "2.3").returncode == 0
    assert zcdp("audit", one, other, "--epsilon", "1").returncode == 1


def test_a_training_run() -> None:
    run = ("audit", "--canaries", "1000", "--guesses", "100", "--correct", "95", "--delta", "1e-5")
    told = zcdp(*run)
    assert told.returncode == 0
    assert "at least 2.17" in told.stdout
    assert "all of them right would have shown 3.49" in told.stdout
    assert zcdp(*run, "--epsilon", "2").returncode == 1
    assert zcdp(*run, "--epsilon", "3").returncode == 0
    refuted = zcdp(*run, "--claim", "Gaussian(sigma=2)", "--json")
    assert refuted.returncode == 1
    assert json.loads(refuted.stdout)["p_value"] < 0.05
    assert zcdp(*run, "--claim", "Gaussian(sigma=0.5)").returncode == 0


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--canaries", "100"),
        ("one.csv",),
        ("nowhere.csv", "nothing.csv", "--epsilon", "1"),
        ("--canaries", "10", "--guesses", "20", "--correct", "5"),
        ("--canaries", "10", "--guesses", "5", "--correct", "5", "--rho", "1"),
    ],
)
def test_bad_usage(words: tuple[str, ...]) -> None:
    done = zcdp("audit", *words)
    assert done.returncode == 2
    assert done.stderr
