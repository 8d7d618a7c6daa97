"""The command line `zcdp`. Its commands are listed in `cli/arguments.py`, and each runs in a module of its own."""

from zcdp.cli.main import main

__all__ = ["main"]
