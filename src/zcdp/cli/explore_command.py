"""`zcdp explore`: plan in the browser, with certified numbers."""

from __future__ import annotations

import contextlib
import sys
import threading
import webbrowser
from argparse import Namespace
from pathlib import Path

from zcdp.cli.arguments import BadUsage
from zcdp.plans.plan_file import read_plan

__all__ = ["run"]

LARGEST_PORT = 65_535


def _look(where: str, account: str | None) -> None:
    """Open the ledger once, to say here what is wrong with it, or that it has no account of this name."""
    from zcdp.ledger import Ledger

    with Ledger(where) as ledger:
        ledger.accounts() if account is None else ledger.account(account)


def run(options: Namespace) -> int:
    """Serve the page until Ctrl-C; its address goes to stdout at once, as it is all that there is to say."""
    from zcdp.explore.server import Explorer

    path = None if options.plan is None else Path(options.plan)
    if path is not None and path.suffix != ".toml":
        raise BadUsage(f"{options.plan}: a plan file ends in .toml")
    if path is not None and path.exists():
        read_plan(path)  # what is wrong with it is said here, not in a page
    elif path is not None and not path.absolute().parent.is_dir():
        raise BadUsage(f"{options.plan}: there is no directory {str(path.parent)!r}")
    if options.ledger and "://" not in options.ledger and not Path(options.ledger).is_file():
        raise BadUsage(f"{options.ledger}: there is no such ledger")
    if options.account is not None and not options.ledger:
        raise BadUsage("--account is an account of a ledger: say which by --ledger")
    if options.ledger:
        _look(options.ledger, options.account)
    port = options.port
    if not 0 <= port <= LARGEST_PORT:
        raise BadUsage(f"--port ({port}) must be from 0, any that is free, to {LARGEST_PORT}")
    try:
        explorer = Explorer(path, ledger=options.ledger, account=options.account, port=port)
    except OSError as error:
        raise BadUsage(
            f"--port ({port}) cannot be had: {error.strerror}: without it any that is free is taken"
        ) from None
    stream = sys.__stdout__ or sys.stderr
    stream.write(f"zcdp explore is at {explorer.address}\nCtrl-C ends it.\n")
    stream.flush()
    if not options.no_browser:  # in a thread: a browser in the terminal returns when it has ended
        threading.Thread(target=webbrowser.open, args=(explorer.ticket(),), daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        explorer.serve()
    if explorer.draft.changed and explorer.draft.path is not None:
        stream.write(f"Changes of {explorer.draft.name} that were not saved are gone.\n")
    return 0
