"""`zcdp randomize`: values are randomized once, numbers and names."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from cli.program import called as program
from collection.colours import DESIGN, ask, filled

from zcdp.collection.randomize import receipt_of

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return filled(tmp_path)


def run(folder: Path, *arguments: str) -> Any:
    return program(*arguments, cwd=folder)


def test_values_are_randomized_once(folder: Path) -> None:
    again = "randomize", "design.toml", "values.parquet", "--out"
    assert ask(folder, *again, "a.parquet").returncode == 0
    first = (folder / "a.parquet").read_bytes()
    done = ask(folder, *again, "b.parquet")
    assert done.returncode == 2
    assert "was randomized already, says values.parquet.randomized" in done.stderr
    assert not (folder / "b.parquet").exists()
    # a copy, a link and the same values in another form are the same values
    table = parquet.read_table(folder / "values.parquet")
    parquet.write_table(table.cast(arrow.schema([("value", arrow.uint8())])), folder / "copy.parquet")
    (folder / "link.parquet").symlink_to(folder / "values.parquet")
    for name in ("copy.parquet", "link.parquet"):
        done = ask(folder, "randomize", "design.toml", name, "--out", "b.parquet")
        assert done.returncode == 2
        assert "was randomized already, says values.parquet.randomized" in done.stderr
    assert sorted(one.name for one in folder.glob("*.randomized")) == ["values.parquet.randomized"]
    assert ask(folder, "randomize", "design.toml", "copy.parquet", "--out", "b.parquet", "--round", "2").returncode == 0
    done = ask(folder, "randomize", "design.toml", "values.parquet", "--out", "c.parquet", "--round", "3")
    assert "was randomized in 2 rounds, says copy.parquet.round-2.randomized: the plan accounts for 2" in done.stderr
    done = ask(folder, "randomize", "design.toml", "values.parquet", "--out", "c.parquet", "--round", "4")
    assert "--round 4 must be from 1 to 3, the rounds of the plan" in done.stderr
    assert not (folder / "c.parquet").exists()
    (folder / "copy.parquet.round-2.randomized").unlink()
    receipt_of(folder / "values.parquet").unlink()
    done = ask(folder, *again, "a.parquet")
    assert done.returncode == 2
    assert "exists already" in done.stderr
    assert (folder / "a.parquet").read_bytes() == first


def test_a_survey_of_names_from_csv_to_a_table(folder: Path) -> None:
    names = ["t=e,a", "<b>coffee</b>", "none"]
    (folder / "design.toml").write_text(
        DESIGN.replace("k = 10\n", "values = ['t=e,a', '<b>coffee</b>', 'none']\n").replace("k=10)", "k=3)")
    )
    with (folder / "survey.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([["id", "drink"], *([n, names[min(n % 5, 2)]] for n in range(3000))])
    given = "randomize", "design.toml", "survey.csv", "--out", "reports.parquet"
    assert "survey.csv: has the columns id, drink: say which one" in run(folder, *given).stderr
    done = run(folder, *given, "--column", "drink")
    assert (done.returncode, done.stderr) == (0, "")
    done = run(folder, "estimate", "design.toml", "reports.parquet", "--csv", "e.csv", "--html", "e.html")
    assert (done.returncode, done.stderr) == (0, "")
    with (folder / "e.csv").open() as file:
        rows = {row["value"]: row for row in csv.DictReader(file)}
    assert list(rows) == names
    truth = dict(zip(names, (0.2, 0.2, 0.6), strict=True))  # epsilon = 2: wrong by this much once in 10^9 surveys
    assert all(abs(float(row["frequency"]) - truth[name]) < 0.15 for name, row in rows.items())
    assert "<b>coffee" not in (folder / "e.html").read_text()
    parquet.write_table(arrow.table({"drink": arrow.array(names * 5).dictionary_encode()}), folder / "more.parquet")
    assert run(folder, "randomize", "design.toml", "more.parquet", "--out", "more-reports.parquet").returncode == 0
