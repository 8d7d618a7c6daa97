"""`main`, the entry point of the command line: parses arguments, runs a command, and turns errors into one line.

Exit codes: 0 success, 1 refused, over budget or a failed check, 2 bad input, 130 interrupted. With --json the answer
of a ledger that refuses is JSON on stdout as well.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from contextlib import redirect_stdout

from zcdp.cli.arguments import arguments
from zcdp.cli.output import Held, complain, print_json, write_out
from zcdp.errors import ZcdpError
from zcdp.text.names import printable, spelled

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Output is held back until the exit code is known, so that a failure to write cannot replace the code of a command.
    """
    stream = sys.stdout
    held, options = Held(stream), Namespace()
    try:
        with redirect_stdout(held):
            code = _run(argv, options)
        return write_out(held.getvalue(), stream, code)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except ZcdpError as error:  # any other exception is a bug, and keeps its traceback
        return _refuse(error, Held(stream) if getattr(options, "json", False) else None)
    except (MemoryError, RecursionError):
        return _fail("this takes more memory than there is")


def _run(argv: Sequence[str] | None, options: Namespace) -> int:
    try:
        arguments().parse_args(argv, options)
        code: int = options.run(options)
    except SystemExit as end:  # help and version were printed
        return end.code if isinstance(end.code, int) else 0
    return code


def _refuse(error: ZcdpError, held: Held | None) -> int:
    """Say why, on stderr; with --json a ledger's answer is data too: its kind, and the level that refuses."""
    code, said = (1, "refused: ") if error.refused else (2, "")
    if held is not None:
        from zcdp.ledger.service import told
        from zcdp.ledger.store import BudgetExceeded, LedgerError

        if isinstance(error, BudgetExceeded | LedgerError):
            facts = {"admitted": False, **told(error)}
            with redirect_stdout(held):
                print_json({name: spelled(text) if isinstance(text, str) else text for name, text in facts.items()})
            code = write_out(held.getvalue(), held.stream, code)
    return _fail(said + _one_line(error), code)


def _one_line(error: Exception) -> str:
    reason = getattr(error, "reason", None)  # a `PlanError` draws the position on further lines
    if isinstance(reason, str) and hasattr(error, "position"):
        return f"{reason} (character {error.position + 1})"
    return spelled(str(error).split("\n", maxsplit=1)[0])


def _fail(message: str, code: int = 2) -> int:
    complain(printable(message))
    return code
