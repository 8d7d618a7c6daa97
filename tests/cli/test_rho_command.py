"""`zcdp rho`: rho of all uses, upper bounds called so."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from math import exp
from pathlib import Path

import pytest
from cli.program import zcdp

import zcdp as library
from zcdp.cli import main


def test_rho() -> None:
    done = zcdp("rho", "RandomizedResponse(epsilon=1, k=2925)")
    assert done.returncode == 0
    assert not done.stderr
    m = library.RandomizedResponse(epsilon=1, k=2925)
    for shown in ("0.0334552", repr(m.rho_bounds[0]), repr(m.rho_bounds[1]), "15.4368", "93.3%", "92.7%"):
        assert shown in done.stdout
    facts = json.loads(zcdp("rho", "RandomizedResponse(epsilon=1, k=2925)", "--json").stdout)
    assert facts["rho"] == m.rho
    assert facts["usual"]["epsilon^2/2"] == 0.5


def test_a_part_of_unbounded_loss_has_no_usual_charge() -> None:
    facts = json.loads(zcdp("account", "3 * Gaussian(sigma=2) + Laplace(epsilon=1)", "--json").stdout)
    first, second = facts["queries"]
    assert first["pure_epsilon_one"] == facts["total"]["pure_epsilon"] == "inf"
    assert first["usual"] == {"epsilon^2/2": None, "epsilon tanh(epsilon/2)": None}
    assert first["saved"] is None
    assert facts["total"]["usual"]["epsilon^2/2"]["rho"] == pytest.approx(0.375 + 0.5)
    assert second["saved"] == pytest.approx(1 - 2 * 0.36787944117144233)


QUERY = '[[query]]\nname = "{}"\nmechanism = "{}"\ncount = {}\n'


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")


def told(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> str:
    assert main(list(argv)) == code
    return capsys.readouterr().out


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    file = tmp_path / "plan.toml"
    queries = (
        ("first", "Gaussian(sigma=3)", 4),
        ("second", "Laplace(epsilon=1)", 2),
        ("third", "TopK(epsilon=1, k=2)", 1),
    )
    file.write_text("".join(QUERY.format(*one) for one in queries))
    return file


def test_rho_of_an_upper_bound_is_told_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    text = "ReportNoisyMax(epsilon=1)"
    plan, facts = library.Plan.parse(text), json.loads(told(capsys, "rho", text, "--json"))
    assert facts["is_tight"] is False
    assert facts["rho_bounds"][0] < 0.99 * facts["rho"]
    found = re.search(r"rho +([\d.]+) +a proven upper bound, rounded up", told(capsys, "rho", text))
    assert found is not None
    assert Fraction(plan.rho) <= Fraction(found[1]) <= Fraction(plan.rho) * (1 + Fraction(1, 10**5))
    assert re.search(r"rho +0\.36788 +the exact value, rounded up", told(capsys, "rho", "Laplace(epsilon=1)"))


def test_rho_of_many_uses_is_that_of_all_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    """100 answers of sigma 3 cost 100/18; three Laplace answers of epsilon 1 save 1 - 2/e of 3/2."""
    facts = json.loads(told(capsys, "rho", "100 * Gaussian(sigma=3)", "--json"))
    assert facts["rho"] == pytest.approx(100 / 18, rel=1e-15)
    assert (facts["pure_epsilon"], facts["saved"]) == ("inf", None)
    facts = json.loads(told(capsys, "rho", "3 * Laplace(epsilon=1)", "--json"))
    assert facts["rho"] == pytest.approx(3 / exp(1), rel=1e-15)
    assert facts["usual"]["epsilon^2/2"] == 1.5
    assert facts["saved"] == pytest.approx(1 - 2 / exp(1), rel=1e-12)
    assert (facts["pure_epsilon"], facts["theorem"]) == (3.0, "composition")
