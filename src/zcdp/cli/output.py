"""What commands print and write: colours, tables and progress on a terminal, JSON, and files that appear whole.

Stdout is held back until the exit code is known.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from io import StringIO
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, Self, TextIO

from zcdp.cli.arguments import BadUsage
from zcdp.text.names import is_hidden, printable

__all__ = [
    "Held",
    "Progress",
    "bold",
    "check_writable",
    "columns",
    "complain",
    "dim",
    "green",
    "line",
    "print_json",
    "query_lines",
    "red",
    "shorten",
    "shown",
    "table_lines",
    "width",
    "write_all",
    "write_out",
    "write_whole",
]


_OURS = re.compile(r"(\x1b\[(?:1|2|32|1;31|0)m)")  # the escape sequences that this module writes


def _coloured(stream: TextIO) -> bool:
    """Whether to use colours: only on a terminal, and not if NO_COLOR has a value (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _paint(code: str, text: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if _coloured(sys.stdout) else text


def bold(text: str) -> str:
    """The text in bold."""
    return _paint("1", text)


def dim(text: str) -> str:
    """The text less prominent."""
    return _paint("2", text)


def green(text: str) -> str:
    """The text in green, for success."""
    return _paint("32", text)


def red(text: str) -> str:
    """The text in bold red, for failure."""
    return _paint("1;31", text)


def width() -> int:
    """The width of lines: that of the terminal, from 60 to 120 characters; 80 if it is not known."""
    import shutil

    return max(60, min(shutil.get_terminal_size((80, 24)).columns, 120))


def shown(data: Any) -> Any:
    """A copy of the data in which each text is made printable; to be applied before colours are added."""
    if isinstance(data, str):
        return printable(data)
    if is_dataclass(data) and not isinstance(data, type):
        return replace(data, **{one.name: shown(getattr(data, one.name)) for one in fields(data)})
    if isinstance(data, Mapping):
        return {printable(name): shown(value) for name, value in data.items()}
    return type(data)(shown(one) for one in data) if isinstance(data, list | tuple) else data


def line(text: str = "") -> None:
    """Print one line on stdout; escape sequences other than the colours of this module are made harmless."""
    pieces = _OURS.split(text) if _coloured(sys.stdout) else [text]
    sys.stdout.write("".join(p if n % 2 else printable(p, keep="\n\t") for n, p in enumerate(pieces)) + "\n")


class Progress:
    """A progress bar on stderr, shown after half a second, and only if stderr is a terminal."""

    LENGTH, PATIENCE, PAUSE = 30, 0.5, 0.05  # characters; seconds before the bar appears; seconds between updates

    def __init__(self) -> None:
        self.start, self.last, self.drawn = monotonic(), 0.0, False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self.drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def __call__(self, share: float, what: str) -> None:
        """Update the bar: the share that is done, from 0 to 1, and the name of the next step."""
        now = monotonic()
        if not sys.stderr.isatty() or now - self.start < self.PATIENCE or now - self.last < self.PAUSE:
            return
        self.last, self.drawn = now, True
        full = round(self.LENGTH * min(max(share, 0.0), 1.0))
        bar = "#" * full + "." * (self.LENGTH - full)
        sys.stderr.write(f"\r[{bar}] {share:4.0%} {what[:30]}\x1b[K")
        sys.stderr.flush()


# Tables in columns: numbers to the right; the columns `gives_way` are shortened if a line is too long.


def shorten(text: str, length: int) -> str:
    """The text cut to at most `length` characters, with an ellipsis if it was longer.

    >>> shorten("RandomizedResponse(epsilon=1, k=2925)", 20)
    'RandomizedResponse(…'
    """
    return text if len(text) <= length else text[: length - 1] + "…"


def columns(rows: Sequence[Sequence[str]], align: str, *, width: int, gives_way: Sequence[int] = ()) -> list[str]:
    """Rows of cells as aligned lines; `align` has one of < and > for each column.

    >>> columns([["a", "1"], ["bcd", "20"]], "<>", width=80)
    ['a     1', 'bcd  20']
    """
    sizes = [max(len(row[n]) for row in rows) for n in range(len(align))]
    for n in gives_way:
        excess = sum(sizes) + 2 * (len(sizes) - 1) - width
        sizes[n] = max(sizes[n] - max(excess, 0), min(sizes[n], 12))
    return [
        "  ".join(
            f"{shorten(cell, size):{side}{size}}" for cell, size, side in zip(row, sizes, align, strict=True)
        ).rstrip()
        for row in rows
    ]


def table_lines(rows: Sequence[Sequence[str]], align: str, *, gives_way: Sequence[int] = ()) -> Iterator[str]:
    """The lines of a table as wide as the terminal; `rows` begins with the head, which is less prominent."""
    head, *body = columns(rows, align, width=width(), gives_way=gives_way)
    yield dim(head)
    yield from body


# Tables of queries: one line for each if the mechanism fits beside the numbers, else it is on a second line below.

MECHANISM_COLUMN = 2


def query_lines(rows: Sequence[Sequence[str]], align: str) -> Iterator[str]:
    """The lines of a table of queries; `rows` begins with the head, and the third column is the mechanism."""
    room = width()
    if max(map(len, columns(rows, align, width=10**6))) <= room:
        yield from table_lines(rows, align)
        return
    narrow = [[*row[:MECHANISM_COLUMN], *row[MECHANISM_COLUMN + 1 :]] for row in rows]
    head, *body = columns(narrow, align[:MECHANISM_COLUMN] + align[MECHANISM_COLUMN + 1 :], width=room, gives_way=(0,))
    yield dim(head)
    for text, row in zip(body, rows[1:], strict=True):
        yield text
        yield dim(f"  {shorten(row[MECHANISM_COLUMN], room - 2)}")


# Streams: stdout held back, and errors in one line.


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
