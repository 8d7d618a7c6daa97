"""`zcdp gather`: the messages of clients into a file of reports, each report once."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from zcdp.cli.output import check_writable, line, print_json
from zcdp.collection.messages import gather

__all__ = ["run"]


def run(options: Namespace) -> int:
    """Check the messages, and write the reports of one day."""
    check_writable(options.out)
    found = gather(Path(options.design), map(Path, options.messages), Path(options.out), day=options.day)
    if options.json:
        facts = {"reports": found.reports, "copies": found.copies, "other_days": found.other_days, "out": options.out}
        print_json(facts)
        return 0
    line(f"{found.reports} reports of day {options.day} written to {options.out}")
    if found.copies:
        line(f"  {found.copies} messages had come before, and count once")
    if found.other_days:
        line(f"  {found.other_days} messages of other days were left out")
    return 0
