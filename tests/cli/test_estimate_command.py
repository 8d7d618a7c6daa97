"""`zcdp choose` and `zcdp estimate`: every option reaches the design and the intervals; the cost is a client's."""

from __future__ import annotations

import json
from math import expm1
from pathlib import Path

import pytest

from zcdp import RandomizedResponse
from zcdp.cli import main
from zcdp.plans.plan_file import read_plan

DESIGN = """{head}[collection]
k = 4
rounds = 5
answered = 3
[[query]]
name = "a"
mechanism = "RandomizedResponse(epsilon=1, k=4)"
count = 3
"""
VALUES = [0] * 12 + [1] * 6 + [2] * 5 + [3]
ONE = expm1(1) / (expm1(1) + 4)
"""rho of one answer: epsilon (e^epsilon - 1)/(e^epsilon - 1 + k), Theorem 17 of the paper."""


def facts(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, object]:
    assert main([*argv, "--json"]) == 0, capsys.readouterr()
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("estimate")
    (made / "design.toml").write_text(DESIGN.format(head=""))
    (made / "budget.toml").write_text(DESIGN.format(head="delta = 1e-2\n[budget]\nepsilon = 9\ndelta = 1e-4\n"))
    (made / "delta.toml").write_text(DESIGN.format(head="delta = 1e-2\n"))
    (made / "named.toml").write_text(DESIGN.format(head="").replace("k = 4\n", 'values = ["d", "c", "b", "a"]\n', 1))
    (made / "values.csv").write_text("value\n" + "".join(f"{one}\n" for one in VALUES))
    files = [str(made / name) for name in ("design.toml", "values.csv", "reports.parquet")]
    assert main(["randomize", *files[:2], "--out", files[2]]) == 0
    return made


def test_a_client_pays_for_the_rounds_it_answers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for plan, delta in (("design", "1e-6"), ("delta", "1e-2"), ("budget", "1e-4")):
        found = facts(capsys, "estimate", str(folder / f"{plan}.toml"), str(folder / "reports.parquet"))
        assert found["rho"] == pytest.approx(3 * ONE, rel=1e-14)
        assert float(str(found["delta"])) == float(delta)
        mechanism = RandomizedResponse(epsilon=1, k=4)
        assert (3 * mechanism).delta_at(epsilon=float(str(found["epsilon"]))) <= float(delta)
        assert (3 * mechanism).delta_at(epsilon=float(str(found["epsilon"])) * (1 - 1e-5)) > float(delta)
        assert (found["reports"], found["k"], found["rounds"], found["answered"]) == (len(VALUES), 4, 5, 3)
        assert (found["within"] == "epsilon = 9, delta = 0.0001") == (plan == "budget")
    assert main(["estimate", str(folder / "design.toml"), str(folder / "reports.parquet")]) == 0
    assert "a client's 3 answers in 5 rounds cost" in capsys.readouterr().out


def test_intervals_hold_the_estimate_and_widen_with_the_level(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = str(folder / "design.toml"), str(folder / "reports.parquet")
    widths = []
    for level in ("0.5", "0.99"):
        found = facts(capsys, "estimate", *files, "--level", level)
        rows = found["estimates"]
        assert found["level"] == level
        widths.append([row["upper"] - row["lower"] for row in rows])  # type: ignore[attr-defined]
        assert [row["value"] for row in rows] == [0, 1, 2, 3]  # type: ignore[attr-defined]
    assert all(narrow <= wide for narrow, wide in zip(*widths, strict=True))
    assert sum(widths[0]) < sum(widths[1])


def test_the_population_varies_more_than_these_clients(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The draw of n clients adds f(1 - f)/n to the variance of a frequency f."""
    files = str(folder / "design.toml"), str(folder / "reports.parquet")
    clients, drawn = facts(capsys, "estimate", *files), facts(capsys, "estimate", *files, "--population")
    assert (clients["of"], drawn["of"]) == ("clients", "population")
    for one, other in zip(clients["estimates"], drawn["estimates"], strict=True):  # type: ignore[call-overload]
        assert one["frequency"] == other["frequency"]
        if 0 < one["frequency"] < 1:  # an estimate beyond these ends counts as one at the end, where f(1 - f) is 0
            assert one["standard_error"] < other["standard_error"]
        else:
            assert one["standard_error"] <= other["standard_error"]


def test_values_have_their_own_names(folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "estimates.csv"
    found = facts(capsys, "estimate", str(folder / "named.toml"), str(folder / "reports.parquet"), "--csv", str(out))
    assert [row["value"] for row in found["estimates"]] == ["d", "c", "b", "a"]  # type: ignore[attr-defined]
    lines = [line.split(",") for line in out.read_text().splitlines()]
    assert lines[0] == ["value", "frequency", "standard_error", "lower", "upper"]
    assert [line[0] for line in lines[1:]] == ["d", "c", "b", "a"]
    rows = [[float(cell) for cell in line[1:]] for line in lines[1:]]
    assert rows == [list(row.values())[1:] for row in found["estimates"]]  # type: ignore[attr-defined]


def test_the_number_of_clients_follows_from_the_reports(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """24 reports in a round in which three fifths answer are of 40 clients."""
    found = facts(capsys, "estimate", str(folder / "design.toml"), str(folder / "reports.parquet"))
    assert found["design"]["clients"] == 40  # type: ignore[index]
    assert found["within"] == "epsilon = 3"  # the plan has no budget: three times epsilon = 1


CHOOSE = ("choose", "--rho", "1", "--clients", "1e5")


@pytest.mark.parametrize("names", ["tea,tea", "tea,,coffee", "tea,"])
def test_names_of_values_differ(names: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*CHOOSE, "--values", names]) == 2
    assert "--values must be different names" in capsys.readouterr().err


def test_names_are_counted_and_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "named.toml"
    assert main([*CHOOSE, "--values", "tea,coffee,none", "--out", str(out)]) == 0
    collection = read_plan(out).collection
    assert collection is not None
    assert (collection.k, collection.values) == (3, ("tea", "coffee", "none"))


def test_only_the_values_that_are_asked_for_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(folder / "design.toml"), str(folder / "reports.parquet")]
    whole = facts(capsys, "estimate", *files)["estimates"]
    assert isinstance(whole, list)
    falling = sorted(whole, key=lambda row: -row["frequency"])
    assert facts(capsys, "estimate", *files, "--top", "2")["estimates"] == falling[:2]
    heavy = facts(capsys, "estimate", *files, "--heavy")["estimates"]
    assert heavy == [row for row in falling if row["lower"] > 0]
    most = facts(capsys, "estimate", *files, "--heavy", "0.9")["estimates"]
    assert most == [row for row in falling if row["lower"] > 0.9]
    assert main(["estimate", *files, "--heavy", "0.9", "--csv", str(folder / "none.csv")]) == 0
    assert (folder / "none.csv").read_text().startswith("value,frequency,standard_error,lower,upper\n")


def test_how_many_are_above_is_told_however_few_are_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plan, values, reports = (str(tmp_path / name) for name in ("sure.toml", "values.csv", "reports.parquet"))
    Path(plan).write_text(DESIGN.format(head="").replace("epsilon=1,", "epsilon=9,"))
    Path(values).write_text("value\n" + "0\n1\n2\n" * 300)
    assert main(["randomize", plan, values, "--out", reports]) == 0
    capsys.readouterr()
    assert len(facts(capsys, "estimate", plan, reports, "--heavy", "--top", "1")["estimates"]) == 1  # type: ignore[arg-type]
    assert main(["estimate", plan, reports, "--heavy", "--top", "1"]) == 0
    assert "3 of 4 values are above 0 for certain" in capsys.readouterr().out


def test_shards_are_estimated_as_their_reports(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files, shard = [str(folder / "design.toml"), str(folder / "reports.parquet")], str(folder / "one.counts")
    assert main(["estimate", *files, "--count", shard]) == 0
    assert "24 reports counted in" in capsys.readouterr().out
    assert facts(capsys, "estimate", files[0], shard) == facts(capsys, "estimate", *files)
    assert main(["estimate", files[0], shard, shard]) != 0
    assert "each report counts once" in capsys.readouterr().err


def test_a_number_goes_from_a_file_to_its_mean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan, values, reports = (str(tmp_path / name) for name in ("d.toml", "v.csv", "r.parquet"))
    ask = ("choose", "--number", "--low", "0", "--high", "120", "--epsilon", "8", "--clients", "2000")
    assert main([*ask, "--out", plan, "--client", str(tmp_path / "d.json")]) == 0
    assert json.loads((tmp_path / "d.json").read_text())["number"] == {"low": "0", "high": "120", "steps": 256}
    numbers = [30 + (n % 41) / 2 for n in range(2000)]
    Path(values).write_text("age\n" + "".join(f"{one}\n" for one in numbers))
    assert main(["account", plan]) == 0
    assert main(["randomize", plan, values, "--out", reports]) == 0
    capsys.readouterr()
    found = facts(capsys, "estimate", plan, reports, "--level", "0.999999")
    [row] = found["estimates"]  # type: ignore[misc]
    assert row["lower"] < sum(numbers) / 2000 < row["upper"]
    assert row["upper"] - row["lower"] < 3
    assert found["design"]["told"] == "the mean, at most"  # type: ignore[index]
    errors = [(one["standard_error"], one["name"]) for one in found["designs"]]  # type: ignore[attr-defined]
    assert found["design"]["standard_error"] == pytest.approx(min(errors)[0], rel=1e-3)  # type: ignore[index]
    assert "textbook" in {name for error, name in errors if error > 1.2 * min(errors)[0]}
    assert main(["estimate", plan, reports, "--html", str(tmp_path / "page.html")]) == 0
    assert "Error of the textbook" in (tmp_path / "page.html").read_text()
    assert "for these clients" in capsys.readouterr().out
    Path(values).write_text("age\n121\n")
    assert main(["randomize", plan, values, "--out", str(tmp_path / "x.parquet")]) != 0
    assert "numbers must lie between 0 and 120" in capsys.readouterr().err


def test_quantiles_of_a_number_have_intervals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan, values, reports = (str(tmp_path / name) for name in ("d.toml", "v.csv", "r.parquet"))
    ask = ("choose", "--number", "--low", "0", "--high", "80", "--epsilon", "6", "--clients", "20000")
    assert main([*ask, "--quantiles", "--steps", "8", "--out", plan]) == 0
    assert "of the share below a number, in each round" in capsys.readouterr().out
    numbers = [10 * (n % 8) for n in range(20000)]  # an eighth each on 0, 10, .. 70
    Path(values).write_text("age\n" + "".join(f"{one}\n" for one in numbers))
    assert main(["randomize", plan, values, "--out", reports]) == 0
    capsys.readouterr()
    asked = ("--quantile", "1/3", "--quantile", "0.9", "--level", "0.999999")
    found = facts(capsys, "estimate", plan, reports, *asked)
    assert found["quantiles"] == [  # type: ignore[comparison-overlap]
        {"share": "1/3", "lower": 20.0, "upper": 20.0},
        {"share": "0.9", "lower": 70.0, "upper": 70.0},
    ]
    assert main(["estimate", plan, reports, *asked, "--html", str(tmp_path / "page.html")]) == 0
    assert "quantile 0.9 between 70 and 70" in capsys.readouterr().out
    assert "<td>1/3</td><td class='number'>20</td><td class='number'>20</td>" in (tmp_path / "page.html").read_text()
    assert main(["choose", "--k", "4", "--quantiles", "--rho", "1", "--clients", "9"]) == 2
    assert "--quantiles and --steps are for a --number" in capsys.readouterr().err


def test_a_shuffled_design_needs_its_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan, values, reports = (str(tmp_path / name) for name in ("d.toml", "v.csv", "r.parquet"))
    local = "RandomizedResponse(epsilon=1, k=4)"
    design = DESIGN.format(head="").replace(local, f"Shuffled({local}, clients=500)")
    Path(plan).write_text(design)
    Path(values).write_text("value\n" + "".join(f"{n % 4}\n" for n in range(499)))
    assert main(["randomize", plan, values, "--out", reports]) == 0
    assert main(["estimate", plan, reports]) != 0
    assert "reports (499) must be at least clients (500)" in capsys.readouterr().err
