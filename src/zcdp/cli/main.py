"""`main`, the entry point of the command line: parses arguments, runs a command, and turns errors into one line.

Exit codes: 0 success, 1 over budget or a failed check, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout

from zcdp.cli.arguments import arguments
from zcdp.cli.output import Held, complain, write_out
from zcdp.errors import ZcdpError
from zcdp.text.names import printable

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Output is held back until the exit code is known, so that a failure to write cannot replace the code of a command.
    """
    stream = sys.stdout
    held = Held(stream)
    try:
        with redirect_stdout(held):
            code = _run(argv)
        return write_out(held.getvalue(), stream, code)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except ZcdpError as error:  # any other exception is a bug, and keeps its traceback
        return _fail(_one_line(error))
    except (MemoryError, RecursionError):
        return _fail("this takes more memory than there is")


def _run(argv: Sequence[str] | None) -> int:
    try:
        options = arguments().parse_args(argv)
        code: int = options.run(options)
    except SystemExit as end:  # help and version were printed
        return end.code if isinstance(end.code, int) else 0
    return code


def _one_line(error: Exception) -> str:
    reason = getattr(error, "reason", None)  # a `PlanError` draws the position on further lines
    if isinstance(reason, str) and hasattr(error, "position"):
        return f"{reason} (character {error.position + 1})"
    return str(error).split("\n", maxsplit=1)[0]


def _fail(message: str, code: int = 2) -> int:
    complain(printable(message))
    return code
