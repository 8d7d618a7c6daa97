"""`zcdp release`: compute and publish the noisy tables of a plan, charged to a ledger unless --no-ledger is given."""

from __future__ import annotations

import atexit
import os
import sys
from argparse import Namespace
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from zcdp.cli.arguments import BadUsage
from zcdp.cli.output import Progress, bold, line, print_json, shown, table_lines
from zcdp.ledger import Ledger
from zcdp.plans.plan_file import read_plan
from zcdp.release import Release, ReleaseFailed, release
from zcdp.release.archive import check_folder
from zcdp.text.numbers import cost, lower

__all__ = ["run"]


def run(options: Namespace) -> int:
    """Check, spend, read the data and publish; raises if the budget or the key does not allow it."""
    if bool(options.ledger) == options.no_ledger:
        raise BadUsage(
            "without a ledger nothing remembers what was spent: give --ledger with --key, or say --no-ledger"
        )
    if options.new and not options.ledger:
        raise BadUsage("--new asks whether a ledger has the key: give --ledger")
    check_folder(Path(options.out))
    atexit.register(_hush)
    plan = read_plan(Path(options.plan))
    key = options.key or (plan.tables and plan.tables.key) or None
    if options.ledger and not key:
        raise BadUsage(
            "give --key: a name for this release, which is paid once and gives the same bytes again; or write it into "
            'the plan, as [data] vintage = "2026-Q1", key = "{vintage}"'
        )
    with ExitStack() as stack:
        ledger = stack.enter_context(Ledger(options.ledger)) if options.ledger else None
        progress = stack.enter_context(Progress())
        made = release(plan, Path(options.data), ledger=ledger, key=key, progress=progress, **_named(options))
        try:
            made.write(options.out)
        except OSError as error:
            sealed = f"; the tables are sealed under the key {key}: the same command without --new writes them"
            raise ReleaseFailed(f"{error}{sealed if ledger else ''}") from None
        name = options.account or (plan.tables and plan.tables.account)
        left = float(ledger.remaining(name)) if ledger and name else None
    facts = _facts(made, key if options.ledger else None, options.out, left)
    if options.json:
        print_json(facts)
    else:
        _print(shown(facts))
    return 0


def _hush() -> None:
    """Silence stderr at exit: DuckDB's binding may complain there about objects that Python still holds."""
    with suppress(OSError, ValueError):
        sys.stderr.flush()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _named(options: Namespace) -> dict[str, Any]:
    return {"account": options.account, "who": options.who or "", "new": options.new}


def _facts(made: Release, key: str | None, out: str, left: float | None) -> dict[str, Any]:
    index = made.index
    return {
        "title": index["title"],
        "vintage": index.get("vintage"),
        "key": key,
        "repeated": made.repeated,
        "sealed_at": made.sealed_at or None,
        "sealed_by": made.sealed_by or None,
        "paid_at": made.paid_at or None,
        "out": out,
        "total": index["total"],
        "remaining": left,
        "tables": [
            {"name": one["name"], "file": one["csv"], "rows": len(made.tables[one["name"]].rows), "about": one["about"]}
            for one in index["tables"]
        ],
    }


def _print(facts: dict[str, Any]) -> None:
    total = facts["total"]
    if facts["repeated"]:
        by = f" by {facts['sealed_by']}" if facts["sealed_by"] else ""
        line(bold(f"Nothing was read or spent: the key {facts['key']} was sealed on {facts['sealed_at']}{by}."))
        line("These are the same bytes, whatever the data is by now. Other data needs another key.")
        line()
    line(bold(f"{facts['title'] or facts['out']}{', ' + facts['vintage'] if facts['vintage'] else ''}"))
    line()
    rows = [["table", "rows", "file"]]
    rows += [[one["name"], str(one["rows"]), one["file"]] for one in facts["tables"]]
    for text in table_lines(rows, "<><"):
        line(text)
    line()
    if facts["paid_at"]:
        line(f"Nothing more was spent: the key {facts['key']} was paid for on {facts['paid_at']}, and not drawn then.")
    unpaid = facts["remaining"] is None
    spent = "Its cost was" if facts["repeated"] or facts["paid_at"] or unpaid else "Spent"
    line(f"{spent} rho = {cost(total['rho'])}, epsilon = {cost(total['epsilon'])} at delta = {total['delta']:g}.")
    if unpaid:
        line("No ledger remembers it. If the rows are about people, they have paid it all the same.")
    else:
        line(f"The ledger has it; {lower(facts['remaining'])} of the budget remain.")
    line(f"Tables as CSV and Parquet, and report.html, are in {facts['out']}")
