"""The reference of the tests cannot import what it is held against."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

INDEPENDENT = Path(__file__).parent / "independent"


def test_the_reference_runs_where_there_is_no_zcdp() -> None:
    modules = sorted(path.stem for path in INDEPENDENT.glob("*.py") if path.stem != "__init__")
    assert len(modules) >= 8
    names = ", ".join(f"independent.{name}" for name in modules)
    code = f"import sys; sys.modules['zcdp'] = None; sys.path.insert(0, {str(INDEPENDENT.parent)!r}); import {names}"
    subprocess.run([sys.executable, "-c", code], check=True)
    without = "import sys; sys.modules['zcdp'] = None; import zcdp"
    assert subprocess.run([sys.executable, "-c", without], capture_output=True, check=False).returncode == 1
