"""`zcdp table` and `zcdp figure`, by the real program and with the real modules, and without them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from cli.program import zcdp

from zcdp.cli import main
from zcdp.cli.paper_command import _by_figure
from zcdp.errors import BadValue
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
def test_table_and_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", "--format", "latex"]) == 0
    assert capsys.readouterr().out == "latex table\n"
    assert main(["figure", "krr", "--out", str(tmp_path / "fig.svg")]) == 0
    assert (tmp_path / "fig.svg").read_text() == "krr as .svg"
    assert capsys.readouterr().out == f"{tmp_path / 'fig.svg'}: k-RR\n"
    assert main(["figure", "unknown", "--out", str(tmp_path / "other.pdf")]) == 2
    assert capsys.readouterr().err == "zcdp: there is no figure 'unknown'\n"
    assert [file.name for file in tmp_path.iterdir()] == ["fig.svg"]


def test_figures_without_matplotlib_say_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    for name in [name for name in sys.modules if name.startswith("zcdp.plots")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["figure", "krr", "--out", str(tmp_path / "x.pdf")]) == 2
    command = "pip install 'matplotlib>=3.8' (the extra plots)"
    assert capsys.readouterr().err == f"zcdp: figures need matplotlib: {command}\n"
    assert not list(tmp_path.iterdir())
