"""`zcdp randomize`: turn a file of clients' values into a file of randomized reports, once for each round."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from zcdp.cli.arguments import BadUsage
from zcdp.cli.output import check_writable, line, print_json
from zcdp.collection.randomize import randomize_file, receipt_of
from zcdp.plans.plan_file import Collection, PlanFile, read_plan

__all__ = ["collected", "run"]


def collected(path: str) -> tuple[PlanFile, Collection, Any]:
    """A plan file, its collection and its local randomizer; a plan without a collection raises `BadUsage`."""
    plan = read_plan(Path(path))
    if plan.collection is None or plan.entries[0].plan is None:
        raise BadUsage(f"{path}: has no [collection]: `zcdp choose --out` writes such a file")
    return plan, plan.collection, plan.entries[0].plan.parts[0][0]


def run(options: Namespace) -> int:
    """Draw one report for each value and write them."""
    check_writable(options.out)
    _, collection, mechanism = collected(options.plan)
    values = Path(options.values)
    if not 1 <= options.round <= collection.rounds:
        raise BadUsage(f"--round {options.round} must be from 1 to {collection.rounds}, the rounds of the plan")
    written = randomize_file(
        mechanism,
        collection.k,
        values,
        Path(options.out),
        column=options.column,
        names=collection.values,
        rows=options.rows,
        turn=options.round,
        answered=collection.answered,
    )
    if options.json:
        print_json({"reports": written, "mechanism": repr(mechanism), "k": collection.k, "out": options.out})
        return 0
    line(f"{written} reports of {mechanism!r} written to {options.out}")
    line(f"{receipt_of(values, options.round)} says so: these values are not randomized again in this round")
    return 0
