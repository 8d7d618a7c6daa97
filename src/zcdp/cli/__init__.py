"""The command line: `zcdp rho`, `account`, `calibrate`, `allocate`, `table`, `figure`, `verify`, `completion`."""

from zcdp.cli.main import main

__all__ = ["main"]
