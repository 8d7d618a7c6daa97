"""Every command as it is printed in the documentation, by the real program."""

from __future__ import annotations

import json
import tomllib
from fractions import Fraction
from pathlib import Path

import pytest
from cli.program import ROOT, on_a_terminal, zcdp

import zcdp as library
from zcdp.plans.plan_file import read_plan

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
    "source", "inputs", "delta", "budget", "queries", "total", "curve", "theorems",
]  # fmt: skip
QUERY = {
    "name", "mechanism", "count", "note", "rho", "rho_one", "rho_bounds_one", "rho_order", "is_tight",
    "pure_epsilon_one", "theorem", "share", "usual", "saved", "accuracy", "alone",
}  # fmt: skip
TOTAL = {
    "rho", "rho_bounds", "rho_order", "pure_epsilon", "epsilon", "epsilon_bounds", "relation", "route", "routes",
    "full", "usual", "saved_rho", "saved_epsilon", "elsewhere",
}  # fmt: skip


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    file = tmp_path / "plan.toml"
    file.write_text(PLAN)
    return file


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


@pytest.mark.parametrize("name", ["census", "product", "attribution"])
def test_the_examples_fit_their_budgets_and_eighty_columns(name: str) -> None:
    done = zcdp("account", f"examples/{name}.toml")
    assert done.returncode == 0, done.stderr
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    data = tomllib.loads((ROOT / "examples" / f"{name}.toml").read_text())
    assert all(query["name"] in done.stdout for query in data["query"])
    assert "epsilon" in done.stdout
    assert ("Within budget" in done.stdout) == ("budget" in data)


def test_account_of_an_expression_is_the_schema() -> None:
    expression = "100 * Laplace(epsilon=0.1) + RAPPOR(epsilon=1)"
    done = zcdp("account", expression, "--delta", "1e-6", "--json")
    assert done.returncode == 0
    facts = json.loads(done.stdout)
    exact = 100 * library.Laplace(epsilon=0.1) + library.RAPPOR(epsilon=1)
    assert list(facts) == TOP
    assert all(set(query) == QUERY for query in facts["queries"])
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


def test_account_from_python_is_the_same(plan: Path) -> None:
    facts = json.loads(zcdp("account", str(plan), "--json").stdout)
    assert facts == json.loads(json.dumps(library.account(plan).to_dict()))
    assert facts["budget"] == {
        "rho": 2.0, "epsilon": None, "delta": None, "spent": facts["total"]["rho"] / 2,
        "left": facts["budget"]["left"], "exceeded": False,
    }  # fmt: skip
    assert 0 <= Fraction(2) - Fraction(facts["total"]["rho"]) - Fraction(facts["budget"]["left"]) < 1e-15
    assert list(facts["queries"][2]["usual"]) == ["epsilon^2/8", "epsilon tanh(epsilon/2)"]
    assert facts["queries"][0]["note"] == "daily"


def test_a_part_of_unbounded_loss_has_no_usual_charge() -> None:
    facts = json.loads(zcdp("account", "3 * Gaussian(sigma=2) + Laplace(epsilon=1)", "--json").stdout)
    first, second = facts["queries"]
    assert first["pure_epsilon_one"] == facts["total"]["pure_epsilon"] == "inf"
    assert first["usual"] == {"epsilon^2/2": None, "epsilon tanh(epsilon/2)": None}
    assert first["saved"] is None
    assert facts["total"]["usual"]["epsilon^2/2"]["rho"] == pytest.approx(0.375 + 0.5)
    assert second["saved"] == pytest.approx(1 - 2 * 0.36787944117144233)


def test_calibrate() -> None:
    command = ("calibrate", "1000 * Laplace(epsilon=?)", "--epsilon", "1", "--delta", "1e-6")
    found = json.loads(zcdp(*command, "--json").stdout)["parameter"]
    assert found == pytest.approx(0.00750512783350)
    assert (1000 * library.Laplace(epsilon=found)).delta_at(epsilon=1) <= 1e-6
    assert repr(found) in zcdp(*command).stdout


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


def test_allocate_fills_in_the_noise(plan: Path, tmp_path: Path) -> None:
    done = zcdp("allocate", str(plan), "--rho", "0.5", "--out", str(tmp_path / "filled.toml"))
    assert done.returncode == 0, done.stderr
    filled = (tmp_path / "filled.toml").read_text()
    assert 'note = "daily"' in filled
    queries = read_plan(tmp_path / "filled.toml").entries
    whole = library.Plan.sum_of(*(query.count * query.plan for query in queries if query.plan is not None))
    assert 0.4999 <= whole.rho <= 0.5


def test_allocate_leaves_what_is_not_marked(plan: Path, tmp_path: Path) -> None:
    plan.write_text(PLAN.replace("epsilon=0.1", "epsilon=?"))
    found = json.loads(zcdp("allocate", str(plan), "--json").stdout)
    assert [query["name"] for query in found["queries"]] == ["mean"]
    assert 2 * (1 - 1e-7) <= found["held"] + found["queries"][0]["rho"] <= 2
    assert found["spent"] <= 2
    unfilled = zcdp("account", str(plan))
    assert unfilled.returncode == 2
    assert f"{plan}:7: mechanism: '?' has no value yet" in unfilled.stderr


def test_verify_covers_every_theorem_page() -> None:
    done = zcdp("verify", "--json")
    assert done.returncode == 0, done.stdout
    facts = json.loads(done.stdout)
    assert facts["passed"]
    assert {check["theorem"] for check in facts["checks"]} >= {
        page.stem for page in (ROOT / "docs" / "theorems").glob("*.md")
    }


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_commands_and_options(shell: str) -> None:
    script = zcdp("completion", shell).stdout
    for word in ("account", "calibrate", "verify", "deep", "json", "latex"):
        assert word in script


def test_help_has_examples() -> None:
    assert "calibrate" in zcdp("--help").stdout
    assert "examples:\n  zcdp account examples/census.toml" in zcdp("account", "--help").stdout
    assert zcdp("--version").stdout == f"zcdp {library.__version__}\n"


def test_colour_only_on_a_terminal_that_wants_it() -> None:
    command = ("account", "2 * Laplace(epsilon=1)")
    assert "\x1b[" not in zcdp(*command).stdout
    assert "\x1b[1m" in on_a_terminal(*command)[0]
    assert "\x1b[" not in on_a_terminal(*command, NO_COLOR="1")[0]
    assert "\x1b[" not in on_a_terminal(*command, TERM="dumb")[0]


def test_progress_is_shown_on_a_terminal_only(tmp_path: Path) -> None:
    kinds = ("Laplace(epsilon=0.{:04})", "RAPPOR(epsilon=0.{:04})", "RandomizedResponse(epsilon=0.{:04}, k=99)")
    queries = (f'[[query]]\nname = "{n}"\nmechanism = "{kinds[n % 3].format(n + 1)}"\n' for n in range(2001))
    file = tmp_path / "long.toml"
    file.write_text("\n".join(queries))
    assert zcdp("account", str(file)).stderr == ""
    out, err = on_a_terminal("account", str(file))
    assert "[###" in err
    assert "and 1981 more queries" in out
