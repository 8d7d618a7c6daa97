"""The tests at both ends of what pyproject.toml admits: its minima of numpy and python-flint, and the newest there are.

Each end has an environment of its own, `.venv-oldest` and `.venv-newest`. What runs there are the tests that reach what
the two packages do: arrays and integers of every width, balls and series, the doors for text and numbers. Arguments go
to pytest in their place: `python tools/versions.py -n 2 tests`. Lint and types are checked by `make test` alone.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
REACH = (
    "tests/numeric",
    "tests/samplers/test_release.py",
    "tests/samplers/test_blocks.py",
    "tests/samplers/test_cells.py",
    "tests/samplers/test_hostile_precision.py",
    "tests/samplers/test_what_is_drawn.py",
    "tests/estimation/test_counting.py",
    "tests/mechanisms/test_bad_input.py",
    "tests/accounting/test_door_limits.py",
    "tests/accounting/test_parser.py",
    "tests/test_what_was_wrong.py",
)


def minima() -> list[str]:
    """The declared dependencies at their least versions: `numpy>=1.26` as `numpy==1.26`.

    >>> [one.split("==")[0] for one in minima()]
    ['numpy', 'python-flint']
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [re.fullmatch(r"([\w-]+)>=([\d.]+)", one).expand(r"\1==\2") for one in project["dependencies"]]  # type: ignore[union-attr]


def run(name: str, versions: list[str], arguments: list[str]) -> bool:
    """Whether the tests pass in the environment of that name, made or brought up to date first."""
    python = ROOT / f".venv-{name}" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", python.parent.parent], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade"]
    subprocess.run([*pip, "--editable", f"{ROOT}[dev]", *versions], check=True, cwd=ROOT)
    found = "import numpy, flint, sys; print(sys.argv[1], numpy.__version__, flint.__version__, flush=True)"
    subprocess.run([python, "-c", found, f"{name}: numpy, python-flint"], check=True)
    return subprocess.run([python, "-m", "pytest", "-m", "not deep", *arguments], check=False, cwd=ROOT).returncode == 0


def main() -> int:
    """Both ends, the oldest first; 1 if the tests fail at either."""
    arguments = sys.argv[1:] or [*REACH]
    return 0 if all([run("oldest", minima(), arguments), run("newest", [], arguments)]) else 1


if __name__ == "__main__":
    sys.exit(main())
