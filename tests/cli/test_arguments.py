"""The command line as a person writes it: commands, options, and the actions of a ledger."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from cli.program import zcdp

import zcdp as library
from zcdp import Gaussian
from zcdp.cli import main
from zcdp.ledger import Ledger


def test_help_has_examples() -> None:
    assert "calibrate" in zcdp("--help").stdout
    assert "examples:\n  zcdp account examples/census.toml" in zcdp("account", "--help").stdout
    assert zcdp("--version").stdout == f"zcdp {library.__version__}\n"


COMMANDS = {
    ("account", "missing.toml"): "missing.toml: there is no such file",
    ("account", "Lapace(epsilon=1)"): "there is no mechanism 'Lapace': did you mean 'Laplace'? (character 1)",
    ("account", "Laplace(epsilon=1)", "--delta", "7"): "delta ('7') must lie strictly between 0 and 1",
    ("rho", "Laplace(epsilon=?)"): "'?' is a value to be found",
    ("rho", "Laplace(epsilon=1"): "expected ',' or ')', found the end",
    ("verify", "--proof"): "there is no option '--proof': did you mean '--prove'?",
    ("calibrate", "Laplace(epsilon=1)", "--rho", "1"): "write ? for the parameter to find",
    ("calibrate", "Laplace(epsilon=?)"): "give a budget",
    ("calibrate", "Laplace(epsilon=?)", "--rho", "x"): "rho ('x')",
    ("allocate", "missing.toml", "--rho", "1"): "missing.toml: there is no such file",
    ("acount", "x"): "there is no command 'acount': did you mean 'account'?",
    ("figure", "krr", "--out", "x.docx"): "x.docx: the name must end in .pdf, .svg, .png",
    ("table", "--format", "html"): "invalid choice: 'html'",
    ("rho", "Channel([[1, 0], [0.5, 0.5]])"): "rho is infinite: Channel",
    (
        "account",
        "Channel([[1, 0], [0.5, 0.5]])",
    ): "but not above delta = 0.5; rho is infinite: the plan can",
    ("account", ""): "expected a mechanism, found the end (character 1)",
    ("account", "Laplace(epsilon=1)", "--html", "nowhere/report.html"): "there is no directory 'nowhere'",
    ("account", "/"): "/: cannot be read: Is a directory",
    ("account", os.devnull): "cannot be read: not a regular file",
    ("account", "/dev/zero"): "cannot be read: not a regular file",
    (): "command",
}


def one_line(stderr: str) -> str:
    [line] = stderr.splitlines()
    assert line.startswith("zcdp: ")
    return line


def test_bad_input_of_the_real_program(tmp_path: Path) -> None:
    """The other tests here call the same function without starting Python anew."""
    done = zcdp("account", "plan.toml", "--json", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "zcdp: plan.toml: there is no such file\n")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_bad_command(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(command) == 2
    out, err = capsys.readouterr()
    assert not out
    assert COMMANDS[command] in one_line(err)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    path = str(tmp_path / "budget.db")
    assert main(["ledger", "open", path, "census-2026", "--unit", "person", "--rho", "1"]) == 0
    capsys.readouterr()
    return path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["opn", "x"], "there is no action 'opn': did you mean 'open'?"),
        ([], "required: action"),
        (["status", "/nowhere/at/all.db"], "/nowhere/at/all.db: there is no ledger yet: zcdp ledger open makes one"),
        (["spend", "{}", "census-2026", "--key", "k"], "give a plan, or --rho"),
        (["spend", "{}", "census-2026", "Laplace(epsilon=1)"], "required: --key"),
        (["spend", "{}", "cencus", "Laplace(epsilon=1)", "--key", "k"], "there is no account 'cencus': did you mean"),
        (["spend", "{}", "census-2026", "Laplce(epsilon=1)", "--key", "k"], "there is no mechanism 'Laplce'"),
        (["spend", "{}", "census-2026", "--rho", "x", "--key", "k"], "rho ('x') is not a number"),
        (["raise", "{}", "census-2026", "--rho", "9"], "required: --why"),
        (["raise", "{}", "census-2026", "--rho", "0.5", "--why", "w"], "rho (0.5) must be larger"),
        (["verify", "{}", "--expect-head", "7"], "head ('7') must be a number, a colon and 64 hexadecimal digits"),
        (["report", "{}"], "give --html FILE"),
        (["open", "{}", "b", "--unit", "person"], "give a budget: rho, or epsilon and delta"),
        (["import", "{}", "/nowhere"], "No such file"),
        (["history", "{}", "--limit", "x"], "invalid int"),
    ],
)
def test_bad_usage(where: str, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    assert main(["ledger", *(one.replace("{}", where) for one in arguments)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert err.count("\n") == 1
    assert err.startswith("zcdp: ")


# What `zcdp ledger` prints is on the safe side, whole, and with the exit code that its findings ask for.


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the program, and return its exit code and lines."""

    def call(*arguments: str) -> tuple[int, list[str]]:
        code = main([*arguments])
        return code, capsys.readouterr().out.splitlines()

    return call


def test_an_account_is_opened_on_the_terms_typed(told: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "new.db")
    typed = (
        "--unit",
        "home",
        "--neighbours",
        "replace",
        "--epsilon",
        "3",
        "--delta",
        "1e-7",
        "--why",
        "w",
        "--who",
        "m",
    )
    code, rows = told("ledger", "open", path, "one", *typed, "--order", "7", "--json")
    assert code == 0
    with Ledger(path) as ledger:
        terms, [_, first] = ledger.account("one").terms, list(ledger.history())
        assert (terms.unit, terms.neighbours, terms.order) == ("home", "replace", 7)
        assert (float(terms.epsilon), float(terms.delta)) == (3.0, 1e-7)  # type: ignore[arg-type]
        assert (first.why, first.who) == ("w", "m")
        assert json.loads("\n".join(rows))["head"] == ledger.head
        assert told("ledger", "open", path, "two", *typed, "--workload", "50 * Gaussian(sigma=10)")[0] == 0
        # many more such plans fit than by rho
        fitting = ledger.account("two").budget / ledger.cost("two", 50 * Gaussian(sigma=10))
        ledger.open_account("rho", unit="home", neighbours="replace", epsilon=3, delta="1e-7")
        assert fitting >= ledger.account("rho").budget / ledger.cost("rho", 50 * Gaussian(sigma=10)) * 0.99
