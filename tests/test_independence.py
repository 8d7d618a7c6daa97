"""What the library is held against cannot import it: references, rows of mechanisms, laws of neighbours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent
HARNESS = {"neighbours.table", "neighbours.checks", "neighbours.laws"}


def test_the_truth_runs_where_there_is_no_zcdp() -> None:
    modules = {
        f"{folder}.{path.stem}"
        for folder in ("independent", "neighbours", "rows")
        for path in (TESTS / folder).glob("*.py")
        if not path.stem.startswith(("_", "test_"))
    }
    assert len(modules) >= 40
    names = ", ".join(sorted(modules - HARNESS))
    code = f"import sys; sys.modules['zcdp'] = None; sys.path.insert(0, {str(TESTS)!r}); import {names}"
    subprocess.run([sys.executable, "-c", code], check=True)
    without = "import sys; sys.modules['zcdp'] = None; import zcdp"
    assert subprocess.run([sys.executable, "-c", without], capture_output=True, check=False).returncode == 1
