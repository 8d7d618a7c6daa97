"""`zcdp heavy`: alphabets with ranges, a file of strings drawn once, and what is found in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from zcdp.cli import main
from zcdp.cli.heavy_command import _characters

pytest.importorskip("pyarrow")


def test_alphabets_have_ranges() -> None:
    assert _characters("a-e") == "abcde"
    assert _characters("a-c0-2.-") == "abc012.-"
    assert _characters("-ab") == "-ab"
    assert _characters("aab") == "ab"


def test_a_file_of_strings_is_drawn_once_and_searched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    design, values, reports = (str(tmp_path / name) for name in ("words.json", "words.csv", "reports.parquet"))
    Path(values).write_text("word\n" + "tea\n" * 3000 + "rum\n" * 1500)
    assert main(["heavy", "design", "--epsilon", "5", "--length", "4", "--out", design]) == 0
    said = capsys.readouterr().out
    assert "LocalHashing(epsilon=5, g=149, random_hash=True), once for each client" in said
    assert "a report has 5 bytes" in said
    assert main(["heavy", "randomize", design, values, "--out", reports]) == 0
    assert "4500 reports written" in capsys.readouterr().out
    assert main(["heavy", "randomize", design, values, "--out", reports + "2"]) == 2
    assert "was randomized already" in capsys.readouterr().err
    table = str(tmp_path / "found.csv")
    assert main(["heavy", "find", design, reports, "--top", "2", "--csv", table]) == 0
    said = capsys.readouterr().out
    assert "none is false, at level 0.95" in said
    rows = Path(table).read_text().splitlines()
    assert rows[0] == "string,frequency,standard_error,lower,upper,surely_held"
    assert [row.split(",")[0] for row in rows[1:]] == ["tea", "rum"]


def test_strings_outside_of_the_design_are_refused_before_any_draw(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    design, values = str(tmp_path / "words.json"), tmp_path / "words.csv"
    values.write_text("word\ntea\nsecret drink\n")
    assert main(["heavy", "design", "--epsilon", "5", "--length", "4", "--out", design]) == 0
    assert main(["heavy", "randomize", design, str(values), "--out", str(tmp_path / "r.parquet")]) == 2
    error = capsys.readouterr().err
    assert "strings must have at most 4 characters, all of them in the alphabet" in error
    assert "secret" not in error
    assert sorted(one.name for one in tmp_path.iterdir()) == ["words.csv", "words.json"]


def test_reports_of_another_design_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = tmp_path / "words.csv"
    values.write_text("word\n" + "tea\n" * 100)
    for epsilon in ("4", "5"):
        assert main(["heavy", "design", "--epsilon", epsilon, "--length", "4", "--out", str(tmp_path / epsilon)]) == 0
    reports = str(tmp_path / "r.parquet")
    assert main(["heavy", "randomize", str(tmp_path / "4"), str(values), "--out", reports]) == 0
    assert main(["heavy", "find", str(tmp_path / "5"), reports]) == 2
    assert "has reports of HeavyHitters(epsilon=4" in capsys.readouterr().err
