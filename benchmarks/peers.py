"""Environments for the libraries we measure against: each in a venv of its own, made on first use."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def peer_python(name: str, *requirements: str) -> Path:
    """The interpreter of the environment `.venv-peers/<name>` with these requirements."""
    home = ROOT / ".venv-peers" / name
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        print(f"setting up {home.relative_to(ROOT)} ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements], check=True)
        (home / "ready").touch()
    return python


def run_peer(python: Path, code: str, *arguments: object) -> Any:
    """Run code in the peer's environment; it gets `arguments` as JSON in sys.argv[1] and prints JSON last."""
    done = subprocess.run(
        [python, "-c", code, json.dumps(arguments)], check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    return json.loads(done.stdout.strip().splitlines()[-1])
