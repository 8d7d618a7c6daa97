"""`zcdp account` and `zcdp rho`: each number on the screen, from laws whose cost is known by hand."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from dataclasses import replace
from fractions import Fraction
from math import exp
from pathlib import Path
from statistics import NormalDist
from types import SimpleNamespace

import pytest
from cli.program import ROOT
from cli.program import zcdp as program

import zcdp
from zcdp import account
from zcdp.cli import main
from zcdp.cli.account_command import _saved, _total
from zcdp.errors import BadValue

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


def test_what_was_stated_of_a_density_is_told_beside_the_guarantee(capsys: pytest.CaptureFixture[str]) -> None:
    noise = "Noise('log(2 + x^2)*exp(-abs(x))', tail=['exponential', '1/2', 1, 40], unimodal=True)"
    text = " ".join(told(capsys, "account", noise, "--delta", "0.01").split())
    assert "certified: never below the truth assuming, not proven: beyond |x| = 40 the density falls" in text
    assert "assuming" not in told(capsys, "account", "Noise('exp(-abs(x))')", "--delta", "0.01")


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


# Numbers on the screen are on the safe side of those in the data.


def test_an_upper_end_is_printed_where_the_ends_differ(capsys: pytest.CaptureFixture[str]) -> None:
    """Of sparse vector only bounds are known, far apart."""
    text = "SparseVector(epsilon_threshold=1, epsilon_queries=1) + ReportNoisyMax(epsilon=1)"
    total = account(text, curve=False).to_dict()["total"]
    low, high = total["epsilon_bounds"]
    assert low < 0.9 * high
    assert main(["account", text]) == 0
    out = capsys.readouterr().out
    rho, epsilon, least = (
        Fraction(re.search(pattern, out)[1])  # type: ignore[index]
        for pattern in (r"rho +([\d.]+)\n", r"epsilon +([\d.]+) at", r"at least ([\d.]+)")
    )
    assert Fraction(total["rho"]) <= rho <= Fraction(total["rho"]) * (1 + Fraction(1, 10**5))
    assert Fraction(high) <= epsilon <= Fraction(high) * (1 + Fraction(1, 10**5))
    assert least <= Fraction(low)


# The table, a figure and the report, by the real program and with the real modules.


def test_the_report_shows_what_json_prints(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = program("account", str(ROOT / "examples" / "census.toml"), "--html", str(page), "--json")
    assert done.returncode == 0
    account = json.loads(done.stdout)
    shown = set(re.findall(r'<data value="([^"]+)"', page.read_text()))
    assert repr(account["total"]["rho"]) in shown
    assert repr(account["total"]["epsilon"]) in shown
    for query in account["queries"]:
        assert repr(query["rho"]) in shown


# The table, the figures and the report are asked of their modules, and a missing module is one clear line.


LAPLACE = "Laplace(epsilon=1)"


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> None:
    def figure(name: str, out: str) -> None:
        Path(out).write_text("half")
        if name == "unknown":
            raise BadValue("there is no figure 'unknown'")
        Path(out).write_text(f"{name} as {Path(out).suffix}")

    monkeypatch.setitem(sys.modules, "zcdp.paper", SimpleNamespace(table="{format} table".format))
    monkeypatch.setitem(sys.modules, "zcdp.plots", SimpleNamespace(figure=figure, ABOUT={"krr": "k-RR"}))
    monkeypatch.setitem(sys.modules, "zcdp.report", SimpleNamespace(render=lambda facts: json.dumps(facts.to_dict())))


@pytest.mark.usefixtures("modules")
def test_the_report_is_made_of_what_json_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["account", LAPLACE, "--html", str(tmp_path / "report.html"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads((tmp_path / "report.html").read_text())


@pytest.mark.parametrize("module", ["paper", "plots", "report"])
def test_a_missing_module(
    module: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, f"zcdp.{module}", None)
    commands = {
        "paper": ["table"],
        "plots": ["figure", "all", "--out", str(tmp_path / "x.pdf")],
        "report": ["account", LAPLACE, "--html", str(tmp_path / "x.html")],
    }
    assert main(commands[module]) == 2
    assert capsys.readouterr() == ("", f"zcdp: zcdp.{module} is not part of this installation\n")
    assert not list(tmp_path.iterdir())


# Every command as it is printed in the documentation, by the real program.


PLAN = """
title = "Two queries"
[budget]
rho = 2
[[query]]
name = "mean"
mechanism = "Laplace(epsilon=0.1, sensitivity=3)"  # a comment
count = 100
note = "daily"
[[query]]
name = "count"
mechanism = "DiscreteLaplace(scale=2)"
[[query]]
name = "choice"
mechanism = "ExponentialMechanism(epsilon=1)"
"""


TOP = [
    "zcdp", "python", "python_flint", "date", "title", "description", "author", "dataset", "unit",
    "source", "inputs", "delta", "budget", "queries", "total", "curve", "theorems", "derived", "assumptions",
    "risk",
]  # fmt: skip
QUERY_FIELDS = {
    "name", "mechanism", "count", "note", "rho", "rho_one", "rho_bounds_one", "rho_order", "is_tight",
    "pure_epsilon_one", "theorem", "share", "usual", "saved", "accuracy", "alone", "predicted", "delta", "about",
}  # fmt: skip
TOTAL = {
    "rho", "rho_bounds", "rho_order", "pure_epsilon", "epsilon", "epsilon_bounds", "relation", "route", "routes",
    "full", "usual", "saved_rho", "saved_epsilon", "elsewhere", "event_delta",
}  # fmt: skip


@pytest.fixture
def plan_of(tmp_path: Path) -> Path:
    file = tmp_path / "plan.toml"
    file.write_text(PLAN)
    return file


@pytest.mark.parametrize("name", ["census", "product", "attribution"])
def test_the_examples_fit_their_budgets_and_eighty_columns(name: str) -> None:
    done = program("account", f"examples/{name}.toml")
    assert done.returncode == 0, done.stderr
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    data = tomllib.loads((ROOT / "examples" / f"{name}.toml").read_text())
    assert all(query["name"] in done.stdout for query in data["query"])
    assert "epsilon" in done.stdout
    assert ("Within budget" in done.stdout) == ("budget" in data)


def test_account_of_an_expression_is_the_schema() -> None:
    expression = "100 * Laplace(epsilon=0.1) + RAPPOR(epsilon=1)"
    done = program("account", expression, "--delta", "1e-6", "--json")
    assert done.returncode == 0
    facts = json.loads(done.stdout)
    exact = 100 * zcdp.Laplace(epsilon=0.1) + zcdp.RAPPOR(epsilon=1)
    assert list(facts) == TOP
    assert all(set(query) == QUERY_FIELDS for query in facts["queries"])
    assert set(facts["total"]) == TOTAL
    assert facts["inputs"] == facts["source"] == expression
    assert facts["total"]["rho"] == exact.rho
    assert facts["total"]["epsilon"] == exact.epsilon_at(delta="1e-6")
    assert facts["total"]["pure_epsilon"] == exact.pure_epsilon
    assert sum(query["share"] for query in facts["queries"]) == pytest.approx(1)
    assert [(query["name"], query["count"]) for query in facts["queries"]] == [("Laplace", 100), ("RAPPOR", 1)]
    for point in facts["curve"][1::10]:
        assert point["delta"] == exact.delta_at(epsilon=point["epsilon"])
    assert facts["curve"] == sorted(facts["curve"], key=lambda point: point["epsilon"])
    assert all((ROOT / theorem["path"]).exists() for theorem in facts["theorems"])


def test_account_from_python_is_the_same(plan_of: Path) -> None:
    facts = json.loads(program("account", str(plan_of), "--json").stdout)
    assert facts == json.loads(json.dumps(zcdp.account(plan_of).to_dict()))
    assert facts["budget"] == {
        "rho": 2.0, "epsilon": None, "delta": None, "spent": facts["total"]["rho"] / 2,
        "left": facts["budget"]["left"], "exceeded": False,
    }  # fmt: skip
    assert 0 <= Fraction(2) - Fraction(facts["total"]["rho"]) - Fraction(facts["budget"]["left"]) < 1e-15
    assert list(facts["queries"][2]["usual"]) == ["epsilon^2/8", "epsilon tanh(epsilon/2)"]
    assert facts["queries"][0]["note"] == "daily"


def test_what_an_attacker_gains_is_printed_on_request(tmp_path: Path) -> None:
    """Gaussian noise of mu = 1: Phi(Phi^-1(a) + 1), 2 Phi(1/2) - 1 and Phi(1/2), rounded up."""
    expression, csv = "4 * Gaussian(sigma=2)", tmp_path / "curve.csv"
    done = program("account", expression, "--risk", "--tradeoff", str(csv))
    told = " ".join(done.stdout.split())
    for words in ("0.1% 1.83%", "10% 39%", "at most 38.3% more", "at most 70%, and 50% without", "mu = 1, up to 1e-12"):
        assert words in told
    assert "attacker" not in program("account", expression).stdout
    facts = json.loads(program("account", expression, "--risk", "--json").stdout)["risk"]
    assert [rate["fpr"] for rate in facts["rates"]] == [0.0001, 0.001, 0.01, 0.1]
    assert facts["rates"][1]["tpr_at_most"] == pytest.approx(0.018298468405656, rel=1e-3)
    head, *rows = csv.read_text().splitlines()
    assert head == "fpr,tpr_at_most,tpr_at_least"
    for fpr, most, least in (map(float, row.split(",")) for row in rows):
        truth = NormalDist().cdf(NormalDist().inv_cdf(fpr) + 1) if 0 < fpr < 1 else fpr
        assert least * (1 - 1e-9) <= truth <= most * (1 + 1e-9) + 1e-300
        assert most - least <= 3e-3 * most + 1e-300
    assert len(rows) == 61
