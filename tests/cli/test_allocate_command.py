"""`zcdp allocate` and `zcdp calibrate`: what is printed is what was found, within the budget that was asked for."""

from __future__ import annotations

import json
import re
import tomllib
from math import sqrt
from pathlib import Path

import pytest
from cli.program import called as program

import zcdp
from zcdp.cli import main
from zcdp.plans.plan_file import read_plan

QUERY = '[[query]]\nname = "{}"\nmechanism = "{}"\n'


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")


def told(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main(list(argv)) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(("objective", "ratio"), [("worst", 9), ("total", 3)])
def test_the_objective_asked_for_is_made_small(
    objective: str, ratio: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Gaussian noise of rho r has variance 1/(2r): w/r is equal where r goes with w, sum w/r least with sqrt(w)."""
    file = tmp_path / "plan.toml"
    file.write_text(
        "[budget]\nrho = 1\n"
        + QUERY.format("a", "Gaussian(sigma=?)")
        + "weight = 9\n"
        + QUERY.format("b", "Gaussian(sigma=?)")
        + "count = 4\n"
    )
    found = json.loads(told(capsys, "allocate", str(file), "--objective", objective, "--json"))
    first, second = found["queries"]
    assert 4 * first["rho"] / second["rho"] == pytest.approx(ratio, rel=1e-6)
    assert (first["count"], second["count"]) == (1, 4)
    assert first["rho"] + second["rho"] == pytest.approx(found["spent"], rel=1e-12)
    assert 1 - 1e-7 <= found["spent"] <= 1
    for query, uses in ((first, 1), (second, 4)):
        assert query["standard_deviation"] == pytest.approx(sqrt(uses / (2 * query["rho"])), rel=1e-9)
        assert query["half_width"] == pytest.approx(1.959963985 * query["standard_deviation"], rel=1e-8)
        assert query["level"] == 0.95
    assert found["objective"] == objective


def test_what_is_spent_is_told_at_the_delta_of_the_budget(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(
        "delta = 1e-2\n[budget]\nepsilon = 2\ndelta = 1e-6\n" + QUERY.format("a", "Laplace(epsilon=?)") + "count = 9\n"
    )
    found = json.loads(told(capsys, "allocate", str(file), "--json"))
    assert 2 - 1e-6 <= found["spent"] <= 2
    assert (found["epsilon"], found["delta"], found["rho"]) == (2.0, 1e-6, None)
    text = told(capsys, "allocate", str(file))
    assert re.search(r"^(2|1\.99999\d+) of epsilon = 2 at delta = 1e-06 spent, certified", text, re.MULTILINE)
    asked = json.loads(told(capsys, "allocate", str(file), "--epsilon", "1", "--json"))
    assert (asked["epsilon"], asked["delta"]) == (1.0, 1e-2)
    assert 1 - 1e-6 <= asked["spent"] <= 1


def test_errors_are_told_at_95_per_cent_whatever_the_level_of_the_target(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """JSON says the level of the target: noise of scale 10 is within 10 log 2 half of the time, 10 log 20 mostly."""
    file = tmp_path / "plan.toml"
    target = "half_width = 6.931471805599453\nlevel = 0.5\n"
    file.write_text(
        "[budget]\nrho = 1\n"
        + QUERY.format("first", "Laplace(scale=?)")
        + target
        + QUERY.format("b", "Gaussian(sigma=?)")
        + 'weight = "1e9"\n'
    )
    line = next(line for line in told(capsys, "allocate", str(file)).splitlines() if line.startswith("first"))
    assert re.split(r" {2,}", line)[3:5] == ["14.15", "29.96"]
    query = json.loads(told(capsys, "allocate", str(file), "--json"))["queries"][0]
    assert (query["level"], query["half_width"]) == (0.5, pytest.approx(6.931471805599453, rel=1e-8))


def test_what_is_held_has_its_share(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Three quarters of rho = 1 are spent already."""
    file = tmp_path / "plan.toml"
    file.write_text(
        "[budget]\nrho = 1\n"
        + QUERY.format("held", "6 * Gaussian(sigma=2)")
        + QUERY.format("open", "Gaussian(sigma=?)")
    )
    text = told(capsys, "allocate", str(file))
    line = next(line for line in text.splitlines() if line.startswith("open"))
    assert line.endswith("25.0%")
    assert "(rho = 0.75 of it by queries that are fixed)" in text


@pytest.mark.parametrize(
    "query",
    [
        '[[query]]\nname = "a"\nmechanism = """\nGaussian(sigma=?)"""\n',
        '[[query]]\nname = "a"\n"mechanism" = "Gaussian(sigma=?)"\n# mechanism = "Gaussian(sigma=?)"\n',
        '[[query]]\nname = "a"\n  mechanism = "Gaussian(sigma=?)"  # kept by nobody\ncount = 2\n',
    ],
)
def test_a_plan_is_filled_in_as_a_whole_or_not_at_all(
    query: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is written reads as the same file but for the noise, or nothing is written."""
    file, out = tmp_path / "plan.toml", tmp_path / "filled.toml"
    file.write_text(f"[budget]\nrho = 1\n{query}")
    if main(["allocate", str(file), "--out", str(out)]) == 0:
        before, after = tomllib.loads(file.read_text()), tomllib.loads(out.read_text())
        text = after["query"][0].pop("mechanism")
        assert before["query"][0].pop("mechanism") == "Gaussian(sigma=?)"
        assert before == after
        uses = after["query"][0].get("count", 1)
        assert 1 - 1e-7 <= (uses * zcdp.Plan.parse(text)).rho <= 1
    else:
        assert "each mechanism must stand on a line of its own" in capsys.readouterr().err
        assert not out.exists()


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


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    file = tmp_path / "plan.toml"
    file.write_text(PLAN)
    return file


def test_allocate_fills_in_the_noise(plan: Path, tmp_path: Path) -> None:
    done = program("allocate", str(plan), "--rho", "0.5", "--out", str(tmp_path / "filled.toml"))
    assert done.returncode == 0, done.stderr
    filled = (tmp_path / "filled.toml").read_text()
    assert 'note = "daily"' in filled
    queries = read_plan(tmp_path / "filled.toml").entries
    whole = zcdp.Plan.sum_of(*(query.count * query.plan for query in queries if query.plan is not None))
    assert 0.4999 <= whole.rho <= 0.5


def test_allocate_leaves_what_is_not_marked(plan: Path, tmp_path: Path) -> None:
    plan.write_text(PLAN.replace("epsilon=0.1", "epsilon=?"))
    found = json.loads(program("allocate", str(plan), "--json").stdout)
    assert [query["name"] for query in found["queries"]] == ["mean"]
    assert 2 * (1 - 1e-7) <= found["held"] + found["queries"][0]["rho"] <= 2
    assert found["spent"] <= 2
    unfilled = program("account", str(plan))
    assert unfilled.returncode == 2
    assert f"{plan}:7: mechanism: '?' has no value yet" in unfilled.stderr


GOOD = '[[query]]\nname = "a"\nmechanism = "Laplace(epsilon=1)"\n'


def one_line(stderr: str) -> str:
    [line] = stderr.splitlines()
    assert line.startswith("zcdp: ")
    return line


def test_allocate_asks_for_the_delta_that_neither_plan_nor_command_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plan.toml").write_text(GOOD.replace("epsilon=1", "epsilon=?"))
    assert main(["allocate", str(tmp_path / "plan.toml"), "--epsilon", "1"]) == 2
    assert one_line(capsys.readouterr().err) == "zcdp: --epsilon needs --delta"
