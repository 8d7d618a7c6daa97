"""`zcdp account` and `zcdp rho`: each number on the screen, from laws whose cost is known by hand."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from math import exp
from pathlib import Path
from statistics import NormalDist

import pytest

import zcdp
from zcdp.cli import main
from zcdp.cli.account_command import _saved, _total

QUERY = '[[query]]\nname = "{}"\nmechanism = "{}"\ncount = {}\n'


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")


def told(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> str:
    assert main(list(argv)) == code
    return capsys.readouterr().out


def row(text: str, name: str) -> list[str]:
    [line] = [line for line in text.splitlines() if re.match(rf"{name} {{2}}", line)]
    return re.split(r" {2,}", line)


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


def test_a_query_is_told_with_all_its_uses(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """rho = 4/18; 2/e where epsilon^2/2 each is 1; noise is within 1.95996 sigma, or within log 20 scales."""
    text = told(capsys, "account", str(plan))
    first, second = row(text, "first"), row(text, "second")
    assert first[:6] == ["first", "4", "Gaussian(sigma=3)", "3", "5.88", "0.222223"]
    assert second[:6] == ["second", "2", "Laplace(epsilon=1)", "1.415", "2.996", "0.735759"]
    assert (first[7], second[7]) == ("-", "26.4%")
    shares = [Fraction(row(text, name)[-2].rstrip("%")) for name in ("first", "second", "third")]
    assert sum(shares) == 100
    assert shares[0] / shares[1] == pytest.approx(2 / 9 / (2 / exp(1)), rel=1e-2)


def test_an_upper_bound_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    text = told(capsys, "account", "Laplace(epsilon=1) + ReportNoisyMax(epsilon=1)")
    assert row(text, "ReportNoisyMax")[-3].endswith("*")
    assert not row(text, "Laplace")[-3].endswith("*")
    assert "* a proven upper bound" in text
    assert "*" not in told(capsys, "account", "Laplace(epsilon=1)")


def test_the_costliest_twenty_are_listed_and_the_rest_is_added_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of rho = 1, 2, .. 22 the two least are 3/253 of all."""
    file = tmp_path / "plan.toml"
    file.write_text("".join(QUERY.format(f"q{n:02}x", f"Gaussian(rho='{n}')", 1) for n in range(1, 23)))
    text, whole = told(capsys, "account", str(file)), told(capsys, "account", str(file), "--all")
    assert re.findall(r"^q(\d\d)x", text, re.MULTILINE) == [f"{n:02}" for n in range(22, 2, -1)]
    assert re.search(r"and 2 more queries, 1\.[12]% of rho together", text)
    assert re.findall(r"^q(\d\d)x", whole, re.MULTILINE) == [f"{n:02}" for n in range(1, 23)]
    assert "more queries" not in whole


@pytest.mark.parametrize(
    ("rho", "code", "said"),
    [
        ("0.3", 0, "Within budget: 74.1% of rho = 0.3, 0.07777 left."),
        ("2/9", 0, "Within budget: 100.0% of rho = 0.222222222222222, 0 left."),
        ("0.2", 1, "OVER BUDGET: 111.2% of rho = 0.2, 0.02223 too much."),
    ],
)
def test_what_is_left_is_rounded_down_and_what_is_too_much_up(
    rho: str, code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four answers with sigma 3 cost 2/9."""
    (tmp_path / "plan.toml").write_text(f'[budget]\nrho = "{rho}"\n' + QUERY.format("a", "Gaussian(sigma=3)", 4))
    assert said in told(capsys, "account", str(tmp_path / "plan.toml"), code=code)


def delta_of(sigma: float, epsilon: float) -> float:
    """The exact delta of one Gaussian answer (Balle and Wang 2018)."""
    normal = NormalDist().cdf
    return normal(1 / (2 * sigma) - epsilon * sigma) - exp(epsilon) * normal(-1 / (2 * sigma) - epsilon * sigma)


@pytest.mark.parametrize("delta", ["1e-3", "1e-6"])
def test_epsilon_is_that_of_the_delta_asked_for(delta: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = told(capsys, "account", "Gaussian(sigma=2)", "--delta", delta)
    found = re.search(r"epsilon +([\d.]+) at delta = (\S+), by the privacy profile", text)
    assert found is not None
    assert float(found[2]) == float(delta)
    assert delta_of(2, float(found[1]) - 2e-5) > float(delta) >= delta_of(2, float(found[1]))


def test_a_long_plan_is_accounted_by_rho_unless_all_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("zcdp.accounting.plan_account.MOST_KINDS_IN_FULL", 2)
    text = " + ".join(f"Gaussian(rho='0.{n}')" for n in (1, 2, 3))
    quick, full = told(capsys, "account", text), told(capsys, "account", text, "--full")
    assert "so from rho alone: --full is sharper" in quick
    assert "never below the truth" in full
    assert "--full" not in full


def test_what_others_charge_stands_beside(capsys: pytest.CaptureFixture[str]) -> None:
    """Two answers of epsilon 1: epsilon^2/2 each is 1, epsilon tanh(epsilon/2) each is 0.924234."""
    text = told(capsys, "account", "2 * Laplace(epsilon=1)")
    assert row(text, r"epsilon\^2/2 each")[1] == "1"
    assert row(text, r"epsilon tanh\(epsilon/2\) each")[1] == "0.924235"
    assert row(text, r"rho alone \(zCDP\)")[1] == "0.735759"
    assert row(text, "pure epsilons added up")[1:] == ["2"]
    assert "Saved 26.4% of rho against epsilon^2/2 each." in text


def test_a_collection_is_told_with_its_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A report is the true value with p = e/(e+3), each other one with q = 1/(e+3); half of the clients answer a round.

    The frequency f = 1/4 of n answers has the variance f p(1-p) + (1-f) q(1-q) over n (p-q)^2, and that of a draw of
    n out of 2n clients, f(1-f)/(2n).
    """
    file = tmp_path / "design.toml"
    design = "[collection]\nk = 4\nrounds = 6\nanswered = 3\nclients = 20000\n"
    file.write_text(design + QUERY.format("a", "RandomizedResponse(epsilon=1, k=4)", 3))
    facts = json.loads(told(capsys, "account", str(file), "--json"))["collection"]
    p, q, f, n = exp(1) / (exp(1) + 3), 1 / (exp(1) + 3), 1 / 4, 10_000
    variance = (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (n * (p - q) ** 2) + f * (1 - f) / (2 * n)
    assert facts["standard_error"] == pytest.approx(variance**0.5, rel=1e-3)
    assert (facts["k"], facts["rounds"], facts["answered"], facts["clients"]) == (4, 6, 3, 20000)
    assert "4 values; each client answers 3 of 6 rounds" in told(capsys, "account", str(file))
    file.write_text(file.read_text().replace("clients = 20000\n", ""))
    assert "standard_error" not in json.loads(told(capsys, "account", str(file), "--json"))["collection"]


def test_rho_of_an_upper_bound_is_told_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    text = "ReportNoisyMax(epsilon=1)"
    plan, facts = zcdp.Plan.parse(text), json.loads(told(capsys, "rho", text, "--json"))
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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Subsampled(Gaussian(sigma=3), rate='0.1')", "neighbours: one record more or less (add or remove)"),
        ("RandomizedResponse(epsilon=1, k=3)", "neighbours: one record replaced by another"),
        ("Gaussian(sigma=3)", None),
    ],
)
def test_the_neighbours_are_said_where_they_are_one_kind(
    text: str, said: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = told(capsys, "account", text)
    assert (said in shown) if said else ("neighbours" not in shown)


def test_nothing_is_saved_where_others_are_as_good(capsys: pytest.CaptureFixture[str]) -> None:
    """One Laplace answer at a delta that buys nothing costs its epsilon, here and elsewhere."""
    assert "Saved 0.0% of epsilon against pure epsilons added up" in told(
        capsys, "account", "Laplace(epsilon=1)", "--delta", "1e-30"
    )
    assert [_saved(share) for share in (-0.25, None, 0.0, 0.25)] == ["0.0%", "0.0%", "0.0%", "25.0%"]


def test_a_lower_end_is_rounded_down(capsys: pytest.CaptureFixture[str]) -> None:
    made = zcdp.account("Laplace(epsilon=1)", curve=False)
    _total(replace(made, total=replace(made.total, epsilon_bounds=(2 / 3, made.total.epsilon))))
    assert "which is at least 0.666666\n" in capsys.readouterr().out
