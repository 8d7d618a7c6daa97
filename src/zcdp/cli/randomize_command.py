"""`zcdp randomize`: turn a file of clients' values into a file of randomized reports, once for each round."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from zcdp.cli.arguments import BadUsage
from zcdp.cli.output import check_writable, line, print_json
from zcdp.collection.randomize import randomize_file, receipt_of
from zcdp.mechanisms import Shuffled
from zcdp.plans.plan_file import Collection, PlanFile, read_plan

__all__ = ["collected", "local_of", "run"]


def collected(path: str) -> tuple[PlanFile, Collection, Any]:
    """A plan file, its collection and what is released; a plan without a collection raises `BadUsage`."""
    plan = read_plan(Path(path))
    if plan.collection is None or plan.entries[0].plan is None:
        raise BadUsage(f"{path}: has no [collection]: `zcdp choose --out` writes such a file")
    return plan, plan.collection, plan.entries[0].plan.parts[0][0]


def local_of(released: Any) -> Any:
    """The local randomizer of what is released: itself, or that whose reports are shuffled."""
    return released.mechanism if isinstance(released, Shuffled) else released


def run(options: Namespace) -> int:
    """Draw one report for each value and write them."""
    check_writable(options.out)
    _, collection, released = collected(options.plan)
    mechanism = local_of(released)  # a client runs the local randomizer, whoever shuffles
    values = Path(options.values)
    ends = None if collection.low is None or collection.high is None else (collection.low, collection.high)
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
        ends=ends,
    )
    if options.json:
        print_json({"reports": written, "mechanism": repr(mechanism), "k": collection.k, "out": options.out})
        return 0
    line(f"{written} reports of {mechanism!r} written to {options.out}")
    line(f"{receipt_of(values, options.round)} says so: these values are not randomized again in this round")
    return 0
