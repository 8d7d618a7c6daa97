"""`zcdp choose`: every option reaches the design, and the plan that is written is one that other commands read."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from collection.colours import ask, filled

from zcdp.cli import main
from zcdp.plans.plan_file import read_plan


def facts(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, object]:
    assert main([*argv, "--json"]) == 0, capsys.readouterr()
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


CHOOSE = ("choose", "--rho", "1", "--clients", "1e5")


def test_designs_answer_every_round_where_they_must(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    some = facts(capsys, *CHOOSE, "--k", "16", "--rounds", "6")
    every = facts(capsys, *CHOOSE, "--k", "16", "--rounds", "6", "--every-round")
    assert {design["answered"] for design in every["designs"]} == {6}  # type: ignore[attr-defined]
    assert some["designs"][0]["answered"] < 6  # type: ignore[index]
    assert main([*CHOOSE, "--k", "16", "--rounds", "6", "--out", str(tmp_path / "best.toml")]) == 0
    best, plan = some["designs"][0], read_plan(tmp_path / "best.toml")  # type: ignore[index]
    assert plan.collection is not None
    assert (plan.collection.rounds, plan.collection.answered, plan.collection.k) == (6, best["answered"], 16)
    assert (plan.collection.clients, plan.entries[0].count) == (100_000, best["answered"])
    assert repr(plan.entries[0].plan) == best["mechanism"]
    assert plan.budget is not None
    assert str(plan.budget.rho) == "1"


def test_the_frequency_asked_for_is_that_of_the_error(capsys: pytest.CaptureFixture[str]) -> None:
    usual = facts(capsys, *CHOOSE, "--k", "16")
    asked = facts(capsys, *CHOOSE, "--k", "16", "--frequency", "0.4")
    assert {design["frequency"] for design in usual["designs"]} == {1 / 16}  # type: ignore[attr-defined]
    assert {design["frequency"] for design in asked["designs"]} == {0.4}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("asked", "budget"),
    [
        (("--epsilon", "1"), None),
        (("--epsilon", " 1 "), None),
        (("--epsilon", "1", "--delta", "1e-6"), {"epsilon": "1", "delta": "1e-6", "rho": None}),
        (("--rho", "0.5"), {"rho": "0.5", "epsilon": None, "delta": None}),
    ],
)
def test_a_design_within_any_budget_is_written_as_a_plan(
    asked: tuple[str, ...], budget: dict[str, str | None] | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pure budget has no place in a plan file, and stands there as a comment."""
    out = tmp_path / "design.toml"
    assert main(["choose", "--k", "3", "--clients", "1e4", *asked, "--out", str(out)]) == 0
    plan = read_plan(out)
    assert (plan.budget and vars(plan.budget)) == budget
    assert ("# the budget is pure epsilon = 1\n" in out.read_text()) == (budget is None)
    capsys.readouterr()
    made = facts(capsys, "account", str(out))
    assert not (made["budget"] or {}).get("exceeded")  # type: ignore[attr-defined]
    assert float(str(made["total"]["pure_epsilon"])) <= 1 or budget is not None  # type: ignore[index]


arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return filled(tmp_path)


def test_choose_writes_a_plan_that_the_other_commands_read(folder: Path) -> None:
    done = ask(folder, "choose", "--k", "10", "--rounds", "4", "--rho", "0.5", "--clients", "1e4", "--out", "new.toml")
    assert (done.returncode, done.stderr) == (0, "")
    assert "certified" in done.stdout
    assert ask(folder, "account", "new.toml").returncode == 0
    done = ask(folder, "randomize", "new.toml", "values.parquet", "--out", "reports.parquet")
    assert (done.returncode, done.stderr) == (0, "")
    assert ask(folder, "estimate", "new.toml", "reports.parquet").returncode == 0
    named = "choose", "--values", 'tea,"none"', "--rho", "0.5", "--clients", "1e4", "--out", "named.toml"
    assert ask(folder, *named).returncode == 0
    assert tomllib.loads((folder / "named.toml").read_text())["collection"]["values"] == ["tea", '"none"']
    assert ask(folder, "account", "named.toml").returncode == 0
    wrong = "--values", "a,b", "--k", "2", "--rho", "1", "--clients", "10"
    assert "give --k, how many values there are, or --values" in ask(folder, "choose", *wrong).stderr
    facts = json.loads(ask(folder, "choose", "--k", "10", "--epsilon", "1", "--clients", "1e4", "--json").stdout)
    assert facts["designs"][0]["spent"] <= 1
    assert ask(folder, "choose", "--k", "10", "--clients", "10").returncode == 2


def test_a_row_of_the_table_is_picked_and_limits_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask = ("choose", "--k", "100000", "--epsilon", "8", "--delta", "1e-6", "--clients", "1e6")
    every = facts(capsys, *ask)
    assert main([*ask, "--pick", "3", "--out", str(tmp_path / "d.toml"), "--client", str(tmp_path / "d.json")]) == 0
    third = every["designs"][2]["mechanism"]  # type: ignore[index]
    assert repr(read_plan(tmp_path / "d.toml").entries[0].plan) == third
    assert json.loads((tmp_path / "d.json").read_text())["mechanism"] == third
    assert "no design with as short a report has less error" in capsys.readouterr().out
    short = facts(capsys, *ask, "--most-bytes", "4")
    assert max(design["bytes"] for design in short["designs"]) == 4  # type: ignore[attr-defined]
    free = facts(capsys, *ask, "--most-bytes", "none", "--most-draws", "none")
    assert max(design["bytes"] for design in free["designs"]) == 12_500  # type: ignore[attr-defined]
    for wrong in (("--number", "--k", "3"), ("--number",), ("--k", "3", "--low", "1")):
        assert main(["choose", "--rho", "1", "--clients", "10", *wrong]) == 2
    assert main([*ask, "--pick", "99"]) != 0


def test_a_shuffled_design_says_what_rests_on_the_shuffler(capsys: pytest.CaptureFixture[str]) -> None:
    ask = ("choose", "--k", "3", "--epsilon", "1", "--delta", "1e-6", "--clients", "2000", "--shuffled")
    assert main(ask) == 0
    told = capsys.readouterr().out
    assert "if at least 2000 reports of each round are shuffled; fewer must not be passed on" in told
    found = re.search(r"against a shuffler who colludes it is no more than epsilon = ([\d.]+)", told)
    local = re.search(r"epsilon='([\d.]+)', k=3", told)
    assert found is not None
    assert local is not None
    assert float(found[1]) == pytest.approx(float(local[1]), rel=1e-2)
    assert float(found[1]) > 1
