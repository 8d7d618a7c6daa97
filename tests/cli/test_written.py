"""The table, a figure and the report, by the real program and with the real modules."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cli.program import ROOT, zcdp

from zcdp.cli import main
from zcdp.cli.output import write_all
from zcdp.cli.paper_command import _by_figure
from zcdp.errors import ZcdpError
from zcdp.paper import table
from zcdp.verification import Check


@pytest.mark.parametrize(("form", "sign"), [("markdown", "| Mechanism |"), ("latex", r"\tanh"), ("csv", "rho")])
def test_the_papers_table(form: str, sign: str) -> None:
    done = zcdp("table", "--format", form)
    assert done.returncode == 0
    assert sign in done.stdout
    assert "0.3678" in done.stdout  # Laplace at 1


@pytest.mark.parametrize(("name", "suffix", "head"), [("mechanisms", "pdf", b"%PDF"), ("krr", "png", b"\x89PNG")])
def test_a_figure_is_a_file_of_its_kind(name: str, suffix: str, head: bytes, tmp_path: Path) -> None:
    out = tmp_path / f"fig.{suffix}"
    assert zcdp("figure", name, "--out", str(out)).returncode == 0
    assert out.read_bytes().startswith(head)


def test_the_report_shows_what_json_prints(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = zcdp("account", str(ROOT / "examples" / "census.toml"), "--html", str(page), "--json")
    assert done.returncode == 0
    account = json.loads(done.stdout)
    shown = set(re.findall(r'<data value="([^"]+)"', page.read_text()))
    assert repr(account["total"]["rho"]) in shown
    assert repr(account["total"]["epsilon"]) in shown
    for query in account["queries"]:
        assert repr(query["rho"]) in shown


@pytest.mark.parametrize("form", ["markdown", "latex", "csv"])
def test_a_table_in_a_file_is_that_of_the_format_asked_for(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "table.txt"
    assert main(["table", "--format", form, "--out", str(out)]) == 0
    assert capsys.readouterr().out == ""
    assert main(["table", "--format", form, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts == {"format": form, "out": None, "table": table(form)}  # type: ignore[arg-type]
    assert out.read_text() == facts["table"]
    assert {"markdown": "| ---", "latex": "\\begin{tabular}", "csv": "Mechanism,"}[form] in facts["table"]


def test_the_files_of_all_figures_are_told_by_their_own_names() -> None:
    names, written = ["noise", "krr", "sgd"], ["a-krr.svg", "a-noise.svg", "a-sgd.svg"]
    assert _by_figure(written, names) == ["a-noise.svg", "a-krr.svg", "a-sgd.svg"]
    assert _by_figure(["a.svg"], ["krr"]) == ["a.svg"]


def test_several_files_are_put_in_place_together_or_not_at_all(tmp_path: Path) -> None:
    def write(temporary: Path) -> None:
        for name in ("a.txt", "b.txt"):
            temporary.with_name(name).write_text("new")

    (tmp_path / "b.txt").mkdir()
    with pytest.raises(ZcdpError, match=r"b\.txt: is a directory"):
        write_all(str(tmp_path / "c.txt"), write)
    assert [one.name for one in tmp_path.iterdir()] == ["b.txt"]
    (tmp_path / "b.txt").rmdir()
    (tmp_path / "a.txt").write_text("old")
    assert write_all(str(tmp_path / "c.txt"), write) == [str(tmp_path / name) for name in ("a.txt", "b.txt")]
    assert {one.name: one.read_text() for one in tmp_path.iterdir()} == {"a.txt": "new", "b.txt": "new"}


@pytest.mark.parametrize("results", [(True, False), (False, True), (True, True), (False, False)])
def test_checks_have_passed_where_all_have(
    results: tuple[bool, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checks = [Check("pure-dp", "a check", lambda passed=passed: passed) for passed in results]
    monkeypatch.setattr("zcdp.cli.verify_command.checks", lambda *, deep: checks)
    assert main(["verify", "--json"]) == (0 if all(results) else 1)
    facts = json.loads(capsys.readouterr().out)
    assert facts["passed"] == all(results)
    assert [check["passed"] for check in facts["checks"]] == list(results)
    assert main(["verify"]) == (0 if all(results) else 1)
    text = capsys.readouterr().out
    assert ("All 2 spot checks" in text) == all(results)
    assert all(results) or f"{results.count(False)} of 2 checks failed." in text
