"""The tests at both ends of what pyproject.toml admits: its minima of packages and engines, and the newest there are.

Each end has an environment of its own, `.venv-oldest` and `.venv-newest`. What runs there are the tests that reach what
numpy and python-flint do: arrays and integers of every width, balls and series, the doors for text and numbers; and
those that reach DuckDB, narwhals, pandas, Polars and pyarrow: the laws of tables, whoever is removed and whatever a row
holds. Arguments go to pytest in their place: `python tools/versions.py -n 2 tests`. Lint and types are checked by
`make test` alone.
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
    "tests/samplers/test_coins.py",
    "tests/samplers/test_discrete_gaussian_noise.py",
    "tests/samplers/test_geometric.py",
    "tests/samplers/test_grid_laplace.py",
    "tests/samplers/test_grid_noise.py",
    "tests/samplers/test_grid_rounding.py",
    "tests/samplers/test_hostile_precision.py",
    "tests/samplers/test_lazy_inversion.py",
    "tests/samplers/test_reports.py",
    "tests/samplers/test_run_samplers.py",
    "tests/samplers/test_source.py",
    "tests/samplers/test_staircase_noise.py",
    "tests/samplers/test_what_is_drawn.py",
    "tests/estimation/test_report_counts.py",
    "tests/mechanisms/test_bad_input.py",
    "tests/plans",
    "tests/test_what_was_wrong.py",
    "tests/release/test_remove_each_person.py",
    "tests/release/test_same_integers.py",
    "tests/release/test_one_row_alone.py",
    "tests/release/test_frame_engines.py",
    "tests/release/test_frame_engines.py",
    "tests/release/test_reading.py",
)
ENGINES = ("duckdb", "narwhals", "pandas", "polars", "pyarrow")
"""What tables are computed by: the development extra declares the oldest that releases take."""


def minima() -> list[str]:
    """The declared dependencies and engines at their least versions: `numpy>=1.26` as `numpy==1.26`.

    >>> [one.split("==")[0] for one in minima()]
    ['numpy', 'python-flint', 'duckdb', 'narwhals', 'pandas', 'polars', 'pyarrow']
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = dict(re.findall(r"([\w-]+)>=([\d.]+)", " ".join(project["optional-dependencies"]["dev"])))
    engines = [f"{name}=={declared[name]}" for name in ENGINES]
    return [one.replace(">=", "==") for one in project["dependencies"]] + engines


def run(name: str, versions: list[str], arguments: list[str]) -> bool:
    """Whether the tests pass in the environment of that name, made or brought up to date first."""
    python = ROOT / f".venv-{name}" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", python.parent.parent], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade"]
    subprocess.run([*pip, "--editable", f"{ROOT}[dev]", *versions], check=True, cwd=ROOT)
    found = (
        "import sys; print(sys.argv[1], *(f'{one} {__import__(one).__version__}' for one in sys.argv[2:]), flush=True)"
    )
    subprocess.run([python, "-c", found, name, "numpy", "flint", *ENGINES], check=True)
    return subprocess.run([python, "-m", "pytest", "-m", "not deep", *arguments], check=False, cwd=ROOT).returncode == 0


def main() -> int:
    """Both ends, the oldest first; 1 if the tests fail at either."""
    arguments = sys.argv[1:] or [*REACH]
    return 0 if all([run("oldest", minima(), arguments), run("newest", [], arguments)]) else 1


if __name__ == "__main__":
    sys.exit(main())
