"""The table, a figure and the report, by the real program and with the real modules."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cli.program import ROOT, zcdp

from zcdp.cli import main
from zcdp.cli.figure import _ordered
from zcdp.paper import table


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
    assert _ordered(written, names) == ["a-noise.svg", "a-krr.svg", "a-sgd.svg"]
    assert _ordered(["a.svg"], ["krr"]) == ["a.svg"]
