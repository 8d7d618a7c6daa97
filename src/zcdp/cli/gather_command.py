"""`zcdp gather`: the messages of clients into a file of reports, each report once."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from pathlib import Path

from zcdp.cli.output import check_writable, line, print_json, shown
from zcdp.collection.messages import gather

__all__ = ["run"]


def run(options: Namespace) -> int:
    """Check the messages, and write the reports of one day."""
    check_writable(options.out)
    found = gather(Path(options.design), map(Path, options.messages), Path(options.out), day=options.day)
    if options.json:
        print_json(asdict(found) | {"out": options.out})
        return 0
    line(f"{found.reports} reports of day {options.day} written to {options.out}")
    if found.copies:
        line(f"  {found.copies} messages had come before, and count once")
    if found.other_days:
        line(f"  {found.other_days} messages of other days were left out")
    if found.refused:
        line(f"  {found.refused} messages that no client of this design sends were left out, the first of them:")
        line(f"  {shown(found.why)}")
    return 0
