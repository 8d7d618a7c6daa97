"""The text of a plan file: from regular files of limited size, in a structure that is quick to read."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path

from zcdp.errors import BadValue

__all__ = ["LARGEST", "TextError", "check_structure", "load", "places"]

# The limits of every file that comes in. What takes apart TOML needs memory that grows with the square of the parts of
# a dotted key, and a call for each bracket; a plan has keys of two parts and brackets in one another at most twice.
LARGEST = 10_000_000
TOO_LARGE = f"a plan file has at most {LARGEST // 10**6} MB"
PARTS = 8
DEEPEST = 20

# strings (one without its end makes all that follows no TOML, so nothing need be seen there); comments; signs; the rest
_PIECE = re.compile(
    r"""
      \"{3} (?: [^"\\]++ | \\. | "{1,2}(?!") )*+ (?: \"{3,5} | \\?\Z )
    | '{3} (?: [^']++ | '{1,2}(?!') )*+ (?: '{3,5} | \Z )
    | " (?: [^"\\\n]++ | \\[^\n] )*+ (?: " | \\?$ )
    | ' [^'\n]*+ (?: ' | $ )
    | \#[^\n]*+
    | [.=,\[\]{}\n]
    | [^"'\#.=,\[\]{}\n]++
    """,
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)


class TextError(BadValue):
    """The file cannot be read as a plan, whatever its plan may be."""


def load(path: Path) -> str:
    """The text of a regular file; a device or a pipe may have no end."""
    try:
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise TextError("there is no such file") from None
    except OSError as error:
        raise TextError(f"cannot be read: {error.strerror}") from None
    except ValueError:
        raise TextError("cannot be read: there is a null character in its name") from None
    try:
        mode = os.fstat(number).st_mode
        if not stat.S_ISREG(mode):
            raise TextError(f"cannot be read: {'Is a directory' if stat.S_ISDIR(mode) else 'not a regular file'}")
        with os.fdopen(number, "rb", closefd=False) as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise TextError(f"cannot be read: {error.strerror}") from None
    finally:
        os.close(number)
    if len(data) > LARGEST:
        raise TextError(TOO_LARGE)
    try:
        return data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise TextError("not a text file in UTF-8") from None


def check_structure(text: str) -> None:
    """Refuse keys of many parts, and brackets deep inside one another, without reading what they mean.

    >>> check_structure("a" + ".a" * 9 + " = 1")
    Traceback (most recent call last):
    ...
    zcdp.accounting.plan_text.TextError: line 1: a key has at most 8 parts
    """
    if len(text) > LARGEST:
        raise TextError(TOO_LARGE)
    line, depth, dots = 1, 0, 0
    for match in _PIECE.finditer(text):
        piece = match[0]
        if piece == ".":
            dots += 1
            if dots >= PARTS:
                raise TextError(f"line {line}: a key has at most {PARTS} parts")
        elif piece in "=,[]{}\n":
            dots = 0
            depth += (piece in "[{") - (piece in "]}")
            if depth > DEEPEST:
                raise TextError(f"line {line}: more than {DEEPEST} brackets inside one another")
        line += piece.count("\n")


_HEADER = re.compile(r"\s*\[{1,2}\s*([\w.\"'-]+)\s*\]")
_KEY = re.compile(r"\s*[\"']?([\w-]+)[\"']?\s*(?:=|\.)")


def places(text: str) -> Iterable[tuple[tuple[str, int, str], int]]:
    """Where each field stands, (table, which of that name, field) with its line; tomllib does not tell."""
    table, count, fence = ("", 0), 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        if fence:  # inside a text of several lines
            fence = "" if line.count(fence) % 2 else fence
            continue
        if header := _HEADER.match(line):
            name = header[1]
            count += name == "query"
            table = (name, count - 1 if name == "query" else 0)
            yield (*table, ""), number
        elif key := _KEY.match(line):
            yield (*table, key[1]), number
            fence = next((mark for mark in ('"""', "'''") if line.count(mark) % 2), "")
