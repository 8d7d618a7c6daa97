"""The table, the figures and the report are asked of their modules, and a missing module is one clear line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from zcdp.cli import main
from zcdp.errors import BadValue

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
def test_table_and_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", "--format", "latex"]) == 0
    assert capsys.readouterr().out == "latex table\n"
    assert main(["figure", "krr", "--out", str(tmp_path / "fig.svg")]) == 0
    assert (tmp_path / "fig.svg").read_text() == "krr as .svg"
    assert capsys.readouterr().out == f"{tmp_path / 'fig.svg'}: k-RR\n"
    assert main(["figure", "unknown", "--out", str(tmp_path / "other.pdf")]) == 2
    assert capsys.readouterr().err == "zcdp: there is no figure 'unknown'\n"
    assert [file.name for file in tmp_path.iterdir()] == ["fig.svg"]


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
