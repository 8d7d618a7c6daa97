"""A small collection of colours as files: its design, the values of its clients, and a command run beside them."""

from __future__ import annotations

import io
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest

from zcdp.cli import main

DESIGN = """
title = "Colours"
[budget]
epsilon = 4
delta = "1e-6"
[collection]
k = 10
rounds = 3
answered = 2
clients = 3000
[[query]]
name = "reports"
mechanism = "RandomizedResponse(epsilon=2, k=10)"
count = 2
"""


def filled(folder: Path) -> Path:
    """The folder, with design.toml and the values of 3000 clients in values.parquet."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (folder / "design.toml").write_text(DESIGN)
    parquet.write_table(arrow.table({"value": np.arange(3000) % 4}), folder / "values.parquet")
    return folder


def ask(folder: Path, *arguments: str) -> CompletedProcess[str]:
    """A command in this folder, without a process of its own, which would load every library anew."""
    out, err = io.StringIO(), io.StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        code = main(arguments)
    return CompletedProcess(arguments, code, out.getvalue(), err.getvalue())
