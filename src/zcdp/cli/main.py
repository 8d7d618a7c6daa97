"""From arguments to an exit code: 0 fine, 1 over budget (or a failed check), 2 bad input; errors are one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from zcdp.cli.arguments import BadUsage, arguments

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command."""
    try:
        options = arguments().parse_args(argv)
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader went away, as `head` does: nothing to say, and nothing more to flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except (BadUsage, ValueError, TypeError, ArithmeticError, ModuleNotFoundError) as error:
        return _fail(_one_line(error))


def _one_line(error: Exception) -> str:
    reason = getattr(error, "reason", None)  # of an expression: without the picture of where
    if isinstance(reason, str) and hasattr(error, "position"):
        return f"{reason} (character {error.position + 1})"
    return str(error).split("\n", maxsplit=1)[0]


def _fail(message: str, code: int = 2) -> int:
    sys.stderr.write(f"zcdp: {message}\n")
    return code
