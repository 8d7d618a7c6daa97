"""`zcdp allocate`: the noise of each query of a plan, so that their error is least within a budget."""

from __future__ import annotations

import tomllib
from argparse import Namespace
from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Any, Literal

from zcdp.accounting.allocation import Query, allocate
from zcdp.accounting.parser import FREE, parse_open
from zcdp.accounting.plan_file import Entry, PlanFile, PlanFileError, read_plan
from zcdp.cli.arguments import BadUsage
from zcdp.cli.files import check_writable, write_whole
from zcdp.cli.output import print_json
from zcdp.cli.rows import query_lines
from zcdp.cli.terminal import Progress, bold, dim, line, shown
from zcdp.display.plain import cost, spent
from zcdp.errors import BadType, ZcdpError
from zcdp.mechanisms import Mechanism
from zcdp.numeric.exact import positive_rational
from zcdp.privacy.plan import Plan

__all__ = ["run"]

NOISE = ("scale", "sigma", "rho")
"""Other names under which the amount of noise is given."""


def run(options: Namespace) -> int:
    """Find the noise, print it, and fill it into the plan file."""
    if options.out:
        check_writable(options.out)
    plan = read_plan(Path(options.plan))
    budget = _budget(options.rho, plan)
    marked = [entry for entry in plan.entries if entry.plan is None]
    chosen = marked or [entry for entry in plan.entries if _adds_noise(entry)]
    fixed = [entry for entry in plan.entries if entry not in chosen]
    spent = sum((Plan.repeated(e.plan, e.count).rho_fraction for e in fixed if e.plan), Fraction(0))
    if spent >= budget:
        spare = f"nothing of {float(budget):g} is left"
        raise BadUsage(f"the queries that stay as they are cost rho = {cost(float(spent))} already: {spare}")
    with Progress() as progress:
        progress(0.0, "allocating")
        queries = [_query(plan, entry) for entry in chosen]
        found = allocate(queries, rho=budget - spent, objective=_objective(options.objective))
    rows = [_row(entry, mechanism) for entry, mechanism in zip(chosen, found, strict=True)]
    if options.out:
        write_whole(options.out, _filled(plan, chosen, found))
    if options.json:
        print_json({"rho": float(budget), "objective": options.objective, "held": float(spent), "queries": rows})
        return 0
    _print(shown(plan.title or plan.source), shown(rows), budget, spent)
    if not marked:
        line(dim("No parameter is written '?', so all noise was set anew."))
    if options.out:
        line(f"Plan written to {options.out}")
    return 0


def _budget(given: str | None, plan: PlanFile) -> Fraction:
    if given is not None:
        return positive_rational(given, "rho")
    if plan.budget is None or plan.budget.rho is None:
        raise BadUsage(f"{plan.source}: has no budget in rho: give --rho")
    return positive_rational(plan.budget.rho, "rho")


def _objective(name: str) -> Literal["total", "worst"]:
    return "worst" if name == "worst" else "total"


def _adds_noise(entry: Entry) -> bool:
    parts = entry.plan.parts if entry.plan else ()
    return len(parts) == 1 and parts[0][1] == 1 and getattr(parts[0][0], "variance", None) is not None


def _query(plan: PlanFile, entry: Entry) -> Query:
    where = f"{plan.source}:{entry.line}: mechanism"
    try:
        mechanism, parameters = entry.open or parse_open(entry.text)
        budget = mechanism.budget
        free = [name for name, value in parameters.items() if value is FREE]
        if free and free != [budget] and free[0] not in NOISE:
            raise BadType(f"'?' must stand for {budget}, not {free[0]}")
        kept = {name: value for name, value in parameters.items() if name not in (*NOISE, budget)}
        return Query(mechanism, weight=entry.weight, count=entry.count, **kept)
    except ZcdpError as error:
        raise PlanFileError(f"{where}: {getattr(error, 'reason', error)}") from None


def _row(entry: Entry, mechanism: Mechanism) -> dict[str, Any]:
    return {
        "name": entry.name,
        "mechanism": repr(mechanism),
        "count": entry.count,
        "rho": Plan.repeated(mechanism, entry.count).rho,
        "standard_deviation": sqrt(float(getattr(mechanism, "variance", 0))),
    }


def _print(title: str, rows: list[dict[str, Any]], budget: Fraction, held: Fraction) -> None:
    line(bold(title))
    line()
    cells = [["query", "uses", "mechanism", "std dev", "rho", "share"]]
    for row in rows:
        deviation, share = f"{row['standard_deviation']:.6g}", spent(row["rho"] / float(budget))
        cells.append([row["name"], str(row["count"]), row["mechanism"], deviation, cost(row["rho"]), share])
    for text in query_lines(cells, "<><>>>"):
        line(text)
    line()
    kept = f" ({cost(float(held))} of it by queries that are fixed)" if held else ""
    line(f"Within rho = {float(budget):g}, certified{kept}.")


def _filled(plan: PlanFile, entries: list[Entry], found: tuple[Mechanism, ...]) -> str:
    """The text of the plan file with the mechanisms in their lines; all else, comments too, as it was."""
    lines = plan.text.splitlines()
    for entry, mechanism in zip(entries, found, strict=True):
        before = lines[entry.line - 1]
        indent = before[: len(before) - len(before.lstrip())]
        lines[entry.line - 1] = f'{indent}mechanism = "{mechanism!r}"'
    text = "\n".join(lines) + "\n"
    expected = tomllib.loads(plan.text)
    texts = {entry.name: repr(mechanism) for entry, mechanism in zip(entries, found, strict=True)}
    for query in expected["query"]:
        query["mechanism"] = texts.get(query["name"].strip(), query["mechanism"])
    try:
        if tomllib.loads(text) == expected:
            return text
    except tomllib.TOMLDecodeError:
        pass
    raise BadUsage(f"{plan.source}: to be filled in, each mechanism must stand on a line of its own")
