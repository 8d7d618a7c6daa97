"""Importing zcdp is light."""

from __future__ import annotations

import subprocess
import sys


def test_import_loads_no_heavy_module() -> None:
    heavy = ("mpmath", "sympy", "numpy", "matplotlib", "scipy", "hypothesis")
    use = "import sys, zcdp; zcdp.RandomizedResponse(epsilon=1, k=99).rho"
    code = f"{use}; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
