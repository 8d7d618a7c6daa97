"""Bad input: one clear line on stderr, the right exit code, no traceback, and no half-written file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cli.program import zcdp

from zcdp.cli import main

GOOD = '[[query]]\nname = "a"\nmechanism = "Laplace(epsilon=1)"\n'

FILES = {
    "broken TOML": (GOOD + "count = = 3\n", ":4: not valid TOML: Invalid value"),
    "unfinished text": ('title = "abc\n' + GOOD, ":1: not valid TOML"),
    "unknown mechanism": (
        GOOD.replace("Laplace", "Lapace"),
        ":3: mechanism: there is no mechanism 'Lapace': did you mean 'Laplace'?",
    ),
    "unknown parameter": (
        GOOD.replace("epsilon", "epsilom"),
        ":3: mechanism: Laplace: there is no parameter 'epsilom': did you mean 'epsilon'?",
    ),
    "bad parameter": (GOOD.replace("=1", "=-1"), ":3: mechanism: Laplace: epsilon (-1) must be positive"),
    "unknown field": (GOOD + "conut = 3\n", ":4: there is no field 'conut': did you mean 'count'?"),
    "unknown top field": ('titel = "x"\n' + GOOD, ":1: there is no field 'titel': did you mean 'title'?"),
    "unknown budget field": (GOOD + "[budget]\nrh = 1\n", ":5: there is no field 'rh': did you mean 'rho'?"),
    "half a budget": ("[budget]\nepsilon = 1\n" + GOOD, ":1: a budget is rho, or epsilon and delta"),
    "negative budget": ("[budget]\nrho = -1\n" + GOOD, ":2: rho (-1) must be positive"),
    "duplicate name": (GOOD + "\n" + GOOD, ":6: name: 'a' is the name of the query at line 2 too"),
    "bad count": (GOOD + "count = 0\n", ":4: count (0) must be at least 1"),
    "count of text": (GOOD + "count = true\n", ":4: count: must be a number"),
    "huge count": (GOOD + "count = 10000000000000\n", ":4: count: count (10000000000000) must be at most 10^12"),
    "no mechanism": ('[[query]]\nname = "a"\n', ":1: query 1 has no mechanism"),
    "no queries": ('title = "x"\n', ": query: a plan needs queries"),
    "bad delta": ("delta = 2\n" + GOOD, ":1: delta (2) must lie strictly between 0 and 1"),
    "no quotes": (GOOD.replace('"a"', "a"), ":2: not valid TOML: Invalid value (text and fractions stand in quotes"),
    "a bare fraction": ("delta = 1/3\n" + GOOD, ":1: not valid TOML: Expected newline"),
    "number as name": (GOOD.replace('"a"', "7"), ":2: name: must be text in quotes, not 7"),
    "after a long text": (
        'description = """\nname = "x"\n[[query]]\n"""\n' + GOOD + "conut = 3\n",
        ":8: there is no field",
    ),
}  # fmt: skip

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
    ("account", "Channel([[1, 0], [0.5, 0.5]])"): "Channel: rho is infinite",
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


@pytest.mark.parametrize("kind", FILES)
def test_a_bad_plan_file(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text, message = FILES[kind]
    (tmp_path / "plan.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert main(["account", "plan.toml", "--json"]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert f"zcdp: plan.toml{message}" in one_line(err)


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


@pytest.mark.parametrize("budget", ["rho = 0.36", "epsilon = 0.9\ndelta = 1e-9"])
def test_over_budget_is_exit_code_one(budget: str, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(f"[budget]\n{budget}\n{GOOD}")
    done = zcdp("account", "plan.toml", cwd=tmp_path)
    assert done.returncode == 1
    assert not done.stderr
    assert "OVER BUDGET: 10" in done.stdout or "OVER BUDGET: 11" in done.stdout


@pytest.mark.parametrize("target", ["nowhere/out.toml", ".", "closed/out.toml"])
def test_an_unwritable_target_is_refused_before_anything_is_computed(target: str, tmp_path: Path) -> None:
    if target.startswith("closed") and os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    (tmp_path / "closed").mkdir(mode=0o555)
    (tmp_path / "plan.toml").write_text(GOOD)
    done = zcdp("allocate", "plan.toml", "--rho", "1", "--out", target, cwd=tmp_path)
    assert done.returncode == 2
    assert target in one_line(done.stderr)
    assert {file.name for file in tmp_path.iterdir()} == {"closed", "plan.toml"}


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(
        "[budget]\nrho = 1\n" + GOOD.replace('"Lap', '"""\nLap').replace('1)"', '1)"""')
    )
    (tmp_path / "out.toml").write_text("old")
    done = zcdp("allocate", "plan.toml", "--out", "out.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert "on a line of its own" in one_line(done.stderr)
    assert (tmp_path / "out.toml").read_text() == "old"
    assert {file.name for file in tmp_path.iterdir()} == {"out.toml", "plan.toml"}


def test_writing_stops_halfway(tmp_path: Path) -> None:
    from zcdp.cli.output import write_all

    (tmp_path / "out.pdf").write_text("old")

    def broken(temporary: Path) -> None:
        temporary.write_text("half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_all(str(tmp_path / "out.pdf"), broken)
    assert [file.name for file in tmp_path.iterdir()] == ["out.pdf"]
    assert (tmp_path / "out.pdf").read_text() == "old"


def test_allocate_asks_for_the_delta_that_neither_plan_nor_command_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plan.toml").write_text(GOOD.replace("epsilon=1", "epsilon=?"))
    assert main(["allocate", str(tmp_path / "plan.toml"), "--epsilon", "1"]) == 2
    assert one_line(capsys.readouterr().err) == "zcdp: --epsilon needs --delta"
