"""What the terminal can show: colour where there is one and it is wanted, its width, a progress bar on stderr."""

from __future__ import annotations

import os
import sys
from time import monotonic
from types import TracebackType
from typing import Self, TextIO

__all__ = ["Progress", "bold", "dim", "green", "line", "red", "width"]


def _coloured(stream: TextIO) -> bool:
    """See no-color.org: any value but the empty one turns colour off."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _paint(code: str, text: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if _coloured(sys.stdout) else text


def bold(text: str) -> str:
    """Bold."""
    return _paint("1", text)


def dim(text: str) -> str:
    """Less prominent."""
    return _paint("2", text)


def green(text: str) -> str:
    """Good news."""
    return _paint("32", text)


def red(text: str) -> str:
    """Bad news."""
    return _paint("1;31", text)


def width() -> int:
    """Columns to write in: 80, or those of the terminal up to 120."""
    import shutil

    return max(60, min(shutil.get_terminal_size((80, 24)).columns, 120))


def line(text: str = "") -> None:
    """One line on stdout."""
    sys.stdout.write(text + "\n")


class Progress:
    """A bar on stderr for what takes more than half a second; nothing where stderr is not a terminal."""

    LENGTH, PATIENCE, PAUSE = 30, 0.5, 0.05

    def __init__(self) -> None:
        self.start, self.last, self.drawn = monotonic(), 0.0, False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self.drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def __call__(self, share: float, what: str) -> None:
        """So much is done, and this is next."""
        now = monotonic()
        if not sys.stderr.isatty() or now - self.start < self.PATIENCE or now - self.last < self.PAUSE:
            return
        self.last, self.drawn = now, True
        full = round(self.LENGTH * min(max(share, 0.0), 1.0))
        bar = "#" * full + "." * (self.LENGTH - full)
        sys.stderr.write(f"\r[{bar}] {share:4.0%} {what[:30]}\x1b[K")
        sys.stderr.flush()
