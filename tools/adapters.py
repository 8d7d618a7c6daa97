"""The bridges of zcdp.adapters, each tried with the system it is for, in an environment of its own.

`.venv-opendp`, `.venv-tumult` and so on are made on the first run. Arguments are names of systems, and all of them
where there are none: `python tools/adapters.py opendp`. Each runs the doctests of the bridge, its page and its tests,
among them the tests that dp-accounting and Opacus publish with themselves. `dp-accounting=FOLDER` takes a copy of the
system in its place, of the folder that holds the package: the newest source, say, of which the tests are run too.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
SYSTEMS = {"dp-accounting": "dp_accounting", "opendp": "opendp", "opacus": "opacus", "tumult": "tumult"}
"""The extra of each system, and the name of its bridge."""


def paths(bridge: str) -> list[str]:
    """What is run for a bridge.

    >>> paths("dp_accounting")[1:]
    ['docs/drop-in/dp-accounting.md', 'tests/adapters/test_dp_accounting.py']
    """
    home = Path("src/zcdp/adapters") / bridge
    source = home if (ROOT / home).is_dir() else home.with_suffix(".py")
    return [str(source), f"docs/drop-in/{bridge.replace('_', '-')}.md", f"tests/adapters/test_{bridge}.py"]


def run(extra: str, bridge: str, copy: str) -> bool:
    """Whether all is well with one system, in its environment, which is made or brought up to date first."""
    python = ROOT / f".venv-{extra}" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", python.parent.parent], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--editable", f"{ROOT}[{extra}]", "pytest>=9", "hypothesis>=6.100"], check=True, cwd=ROOT)
    print(f"{extra}:", flush=True)
    own = {"PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": str(python)}  # Spark starts its workers by name
    if copy:
        own["PYTHONPATH"] = os.pathsep.join(filter(None, [copy, os.environ.get("PYTHONPATH", "")]))
    tests = [python, "-m", "pytest", "--override-ini", "filterwarnings=default", *paths(bridge)]  # theirs are no errors
    done = subprocess.run(tests, check=False, cwd=ROOT, env=os.environ | own)
    return done.returncode == 0


def main() -> int:
    """The systems that were named, or all; 1 if one of them fails."""
    named = [(name, copy) for name, _, copy in (one.partition("=") for one in sys.argv[1:] or SYSTEMS)]
    if unknown := [name for name, _ in named if name not in SYSTEMS]:
        sys.exit(f"unknown: {', '.join(unknown)}; there are {', '.join(SYSTEMS)}")
    if missing := [copy for name, copy in named if copy and not (Path(copy) / SYSTEMS[name]).is_dir()]:
        sys.exit(f"no package there: {', '.join(missing)}; give the folder that holds it")
    well = [
        run(name, SYSTEMS[name], copy and str(Path(copy).resolve())) for name, copy in named
    ]  # whatever the first says
    return 0 if all(well) else 1


if __name__ == "__main__":
    sys.exit(main())
