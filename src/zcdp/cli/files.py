"""Files are written whole or not at all: into a temporary directory beside the target, then renamed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from zcdp.cli.arguments import BadUsage

__all__ = ["check_writable", "write_all", "write_whole"]


def check_writable(path: str) -> None:
    """Refuse a target that cannot be written before anything is computed."""
    target = Path(path)
    if target.is_dir():
        raise BadUsage(f"{path}: is a directory: give the name of a file")
    if target.exists() and not target.is_file():  # a pipe or a device would be replaced, not written to
        raise BadUsage(f"{path}: is not a regular file: give the name of one, or a new one")
    if not target.absolute().parent.is_dir():
        raise BadUsage(f"{path}: there is no directory {str(target.parent)!r}")
    if not os.access(target.absolute().parent, os.W_OK) or (target.exists() and not os.access(target, os.W_OK)):
        raise BadUsage(f"{path}: cannot be written: permission denied")


def write_all(path: str, write: Callable[[Path], object]) -> list[str]:
    """Let `write` make a file of this name, or several, in a temporary directory, then put each in place at once."""
    check_writable(path)
    target = Path(path)
    with tempfile.TemporaryDirectory(dir=target.absolute().parent, prefix=".zcdp-") as folder:
        write(Path(folder) / target.name)
        made = sorted(Path(folder).iterdir())
        for file in made:
            check_writable(str(target.absolute().parent / file.name))
        for file in made:
            file.replace(target.absolute().parent / file.name)
    return [str(target.parent / file.name) for file in made]


def write_whole(path: str, text: str) -> None:
    """`text` as the whole file."""
    write_all(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))
