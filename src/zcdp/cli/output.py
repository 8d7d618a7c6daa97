"""Output of commands: stdout held back until the exit code is known, JSON, and files written whole or not at all."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any, TextIO

from zcdp.cli.arguments import BadUsage
from zcdp.cli.terminal import line
from zcdp.text.names import is_hidden

__all__ = ["Held", "check_writable", "complain", "print_json", "write_all", "write_out", "write_whole"]


class Held(StringIO):
    """A buffer for what a command prints, which reports the properties of the stream it will be written to."""

    def __init__(self, stream: TextIO | None) -> None:
        super().__init__()
        self.stream = stream

    def isatty(self) -> bool:
        """Whether the final stream is a terminal, so that colours may be used."""
        return self.stream is not None and self.stream.isatty()


def write_out(text: str, stream: TextIO | None, code: int) -> int:
    """Write the text and return the exit code of the program.

    If the reader closed the pipe, as `head` does, the code is unchanged; any other failure to write turns 0 into 2.
    """
    if stream is None or not text:  # without stdout the exit code is the only answer
        return code
    try:
        if hasattr(stream, "reconfigure"):  # escape characters that the terminal's encoding lacks
            stream.reconfigure(errors="backslashreplace")
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        _discard(stream)
        return code
    except (OSError, ValueError) as error:
        _discard(stream)
        reason = getattr(error, "strerror", None) or error
        complain(f"the output could not be written: {reason}")
        return code or 2
    return code


def complain(message: str) -> None:
    """Write one line to stderr; failures are ignored."""
    try:
        if sys.stderr is not None:
            sys.stderr.write(f"zcdp: {message}\n")
            sys.stderr.flush()
    except (OSError, ValueError):
        _discard(sys.stderr)


def _discard(stream: TextIO) -> None:
    """Redirect the stream to the null device, or the interpreter fails at exit when it flushes the buffer."""
    with suppress(OSError, ValueError):  # the stream has no file descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def print_json(data: Any) -> None:
    """Print indented JSON with all digits; hidden and control characters are written as escapes."""
    import json

    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    line(text if text.isascii() else "".join(_escaped(one) for one in text))


def _escaped(character: str) -> str:
    if character == "\n" or not is_hidden(character):
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[n]:02x}{units[n + 1]:02x}" for n in range(0, len(units), 2))


# Files: written into a temporary directory beside the target, then renamed.


def check_writable(path: str) -> None:
    """Raise `BadUsage` if the target cannot be written; called before a long computation."""
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
    """Call `write` with a path of this name in a temporary directory, then move each file it made into place.

    Returns the paths of the files. Each appears whole or not at all.
    """
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
    """Write `text` as the whole content of a file."""
    write_all(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))
