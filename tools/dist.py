"""Builds wheel and sdist, installs each into an empty environment, and runs the README's blocks there: `make dist`.

What it leaves in dist/ is what is published. It needs the package index, for `build` and for the dependencies.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"


def environment(folder: Path, *packages: str) -> Path:
    """The Python of a new environment that holds these and nothing else."""
    venv.create(folder, with_pip=True, clear=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages], check=True)
    return python


def main() -> int:
    """0 if both can be installed and the README is true of them."""
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        builder = environment(Path(folder) / "build", "build")
        subprocess.run([builder, "-m", "build", "--outdir", DIST, ROOT], check=True, stdout=subprocess.DEVNULL)
        for made in sorted(DIST.iterdir()):
            python = environment(Path(folder) / made.name, str(made))
            # the README reads examples/census.toml; the package itself must come from the environment, not from src
            options = ["-o", "ELLIPSIS", "-o", "NORMALIZE_WHITESPACE"]
            subprocess.run([python, "-P", "-m", "doctest", *options, "README.md"], check=True, cwd=ROOT)
            where = [python, "-P", "-c", "import zcdp; print(zcdp.__version__, zcdp.__file__)"]
            found = subprocess.run(where, check=True, cwd=ROOT, capture_output=True, text=True).stdout
            version, _, place = found.strip().partition(" ")
            if not Path(place).is_relative_to(Path(folder)):
                sys.exit(f"{made.name}: the README ran on {place}")
            print(f"{made.name}: installed, version {version}, the README's blocks are true of it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
