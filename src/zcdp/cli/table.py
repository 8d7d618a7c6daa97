"""`zcdp table`: the paper's Table 1, computed."""

from __future__ import annotations

from argparse import Namespace

from zcdp.cli.extras import extra
from zcdp.cli.files import check_writable, write_whole
from zcdp.cli.output import print_json
from zcdp.cli.terminal import line

__all__ = ["run"]


def run(options: Namespace) -> int:
    """Print the table, or write it to a file."""
    if options.out:
        check_writable(options.out)
    text: str = extra("zcdp.paper", "table")(format=options.format)
    if options.out:
        write_whole(options.out, text.rstrip("\n") + "\n")
    if options.json:
        print_json({"format": options.format, "out": options.out, "table": text})
    elif not options.out:
        line(text.rstrip("\n"))
    return 0
