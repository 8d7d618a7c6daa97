"""`zcdp explore` prints its address at once, refuses what it cannot open, and ends by Ctrl-C."""

from __future__ import annotations

import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from zcdp import Ledger
from zcdp.cli import main

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plan.csv"], "a plan file ends in .toml"),
        (["nowhere/plan.toml"], "there is no directory"),
        (["bad.toml"], "not valid TOML"),
        (["--ledger", "none.db"], "there is no such ledger"),
        (["--port", "99999"], "must be from 0"),
        (["--account", "census"], "say which by --ledger"),
        (["--ledger", "budget.db", "--account", "cencus"], "there is no account 'cencus'"),
        (["--ledger", "bad.toml"], "not a ledger"),
    ],
)
def test_what_cannot_be_opened(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.toml").write_text("nonsense")
    with Ledger("budget.db") as ledger:
        ledger.open_account("census", unit="person", rho=1)
    assert main(["explore", *arguments, "--no-browser"]) == 2
    assert words in capsys.readouterr().err


def test_a_port_of_another_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        assert main(["explore", str(tmp_path / "a.toml"), "--no-browser", "--port", port]) == 2
    assert f"--port ({port}) cannot be had" in capsys.readouterr().err


def test_it_serves_until_ctrl_c(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "census.toml", tmp_path)
    command = [sys.executable, "-m", "zcdp", "explore", "census.toml", "--no-browser"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = re.search(r"http://127\.0\.0\.1:\d+/[\w-]{32,}/plan", process.stdout.readline())
        assert address
        with urllib.request.urlopen(address[0], timeout=30) as answer:
            assert b"zcdp explore" in answer.read()
        process.send_signal(signal.SIGINT)
        said, complained = process.communicate(timeout=30)
        assert process.returncode == 0
        assert "Traceback" not in complained
        assert "not saved" not in said
