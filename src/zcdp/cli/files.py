"""Files are written whole or not at all: to a temporary file beside the target, then renamed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from zcdp.cli.arguments import BadUsage

__all__ = ["check_writable", "write_whole", "write_with"]


def check_writable(path: str) -> None:
    """Refuse a target that cannot be written before anything is computed."""
    target = Path(path)
    if target.is_dir():
        raise BadUsage(f"{path}: is a directory: give the name of a file")
    if not target.absolute().parent.is_dir():
        raise BadUsage(f"{path}: there is no directory {str(target.parent)!r}")
    if not os.access(target.absolute().parent, os.W_OK) or (target.exists() and not os.access(target, os.W_OK)):
        raise BadUsage(f"{path}: cannot be written: permission denied")


def write_with(path: str, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file of the same ending, then put it in place of the target at once."""
    check_writable(path)
    target = Path(path)
    handle, name = tempfile.mkstemp(dir=target.absolute().parent, prefix=".zcdp-", suffix=target.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~mask)
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def write_whole(path: str, text: str) -> None:
    """`text` as the whole file."""
    write_with(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))
