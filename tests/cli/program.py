"""Runs the real program, as a person would; or its commands in this process, which takes no time to start."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from zcdp.cli import main

ROOT = Path(__file__).parent.parent.parent


def zcdp(*arguments: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """Output and exit code of one command, eighty columns wide."""
    return subprocess.run(
        [sys.executable, "-m", "zcdp", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "80", **environment},
        timeout=120,
    )


def called(*arguments: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """The same without a new process, for commands of which others show that the real program runs them."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with (
        patch.dict(os.environ, {"COLUMNS": "80", **environment}),
        chdir(cwd),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            code = main(list(arguments))
        except SystemExit as end:
            code = int(end.code or 0)
    texts = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(list(arguments), code, *texts)


def on_a_terminal(*arguments: str, program: tuple[str, ...] = ("-m", "zcdp"), **environment: str) -> tuple[str, str]:
    """What a terminal receives on stdout and stderr; `program` is what Python is told to run."""
    import pty

    ends = [pty.openpty() for _ in range(2)]
    variables = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    child = subprocess.Popen(
        [sys.executable, *program, *arguments],
        stdout=ends[0][1],
        stderr=ends[1][1],
        cwd=ROOT,
        env={**variables, "TERM": "xterm", "COLUMNS": "80", **environment},
    )
    for _, inner in ends:
        os.close(inner)
    texts = []
    for outer, _ in ends:
        text = b""
        try:
            while block := os.read(outer, 65536):
                text += block
        except OSError:  # the end of a terminal
            pass
        os.close(outer)
        texts.append(text.decode())
    child.wait()
    return texts[0], texts[1]
