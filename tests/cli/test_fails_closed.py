"""An output that ends early, whatever the reason, never makes an overspent plan look like one within its budget."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

QUERY = '[[query]]\nname = "a"\nmechanism = "Gaussian(sigma=1)"\ncount = {count}\n'
PROGRAM = f"exec {sys.executable} -m zcdp account plan.toml"


@pytest.fixture(params=[1, 300], ids=["short", "long"])
def plan(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Over its budget; the long one prints more than a pipe holds. Gaussian noise is accounted for at once."""
    rows = "".join(QUERY.format(count=2).replace('"a"', f'"{n} {"x" * 200}"') for n in range(request.param))
    (tmp_path / "plan.toml").write_text("[budget]\nrho = 0.1\n" + rows)
    return tmp_path


def shell(command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=cwd, timeout=60)


@pytest.mark.parametrize(
    ("plan", "options"),
    [(1, "--all"), (300, "--all"), (300, "--json")],
    indirect=["plan"],
    ids=["short", "long", "json"],
)
@pytest.mark.parametrize(
    "ending",
    [
        "| head -1",
        "| true",
        "| (exec <&-; sleep 0.1)",
        "> /dev/full",
        ">&-",
        "| head -c 10",
        "> /dev/full 2>&1",
        ">&- 2>&-",
    ],
)
def test_over_budget_stays_one(ending: str, options: str, plan: Path) -> None:
    done = shell(f"set -o pipefail; ({PROGRAM} {options}) {ending}", plan)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_full_disk_is_no_success(tmp_path: Path) -> None:
    plan = tmp_path
    (plan / "plan.toml").write_text(QUERY.format(count=1))
    done = shell(f"({PROGRAM}) > /dev/full", plan)
    assert done.returncode == 2
    assert done.stderr == "zcdp: the output could not be written: No space left on device\n"
    assert shell(f"set -o pipefail; ({PROGRAM}) | true", plan).returncode == 0
    assert shell(f"({PROGRAM}) >&-", plan).returncode == 0
    assert shell(f"{sys.executable} -m zcdp --help > /dev/full", plan).returncode == 2
    assert shell(f"{sys.executable} -m zcdp --version > /dev/full", plan).returncode == 2


@pytest.mark.parametrize("closed", ["2>&-", "2> /dev/full"])
def test_bad_input_stays_two_without_a_place_to_say_so(closed: str, plan: Path) -> None:
    assert shell(f"{sys.executable} -m zcdp account missing.toml {closed}", plan).returncode == 2


def test_a_terminal_without_the_letters(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text('title = "\u00dcberblick"\n[budget]\nrho = 0.1\n' + QUERY.format(count=1))
    done = shell(f"PYTHONIOENCODING=ascii {PROGRAM}", tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("\\xdcberblick\n")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name here")
def test_only_regular_files_are_replaced(plan: Path) -> None:
    os.mkfifo(plan / "pipe")
    done = shell(f"{PROGRAM} --html pipe", plan)
    assert done.returncode == 2
    assert "pipe: is not a regular file" in done.stderr
    assert (plan / "pipe").is_fifo()
