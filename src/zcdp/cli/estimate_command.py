"""`zcdp estimate`: frequencies from files of reports, with exact simultaneous intervals and their privacy cost."""

from __future__ import annotations

import csv
from argparse import Namespace
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from zcdp.cli.choose_command import design_facts
from zcdp.cli.output import Progress, bold, check_writable, line, print_json, shown, table_lines, write_whole
from zcdp.cli.randomize_command import collected
from zcdp.collection.choose import compare, design_of
from zcdp.collection.frames import count_duckdb
from zcdp.collection.parquet import count_files
from zcdp.estimation.frequency_estimates import Histogram
from zcdp.numeric.balls import NotCertified
from zcdp.plans.plan_file import Collection, PlanFile
from zcdp.text.numbers import cost

__all__ = ["run"]


MOST_VALUES = 20
"""Values printed on the terminal: the most frequent ones."""


def run(options: Namespace) -> int:
    """Count the reports, estimate the frequencies, print them, and write the files that were asked for."""
    for path in (options.csv, options.html):
        if path:
            check_writable(path)
    plan, collection, mechanism = collected(options.plan)
    with Progress() as progress:
        progress(0.1, "counting")
        counted = count_duckdb if options.engine == "duckdb" else count_files
        histogram = mechanism.estimate(counted(map(Path, options.reports), mechanism, collection.k))
        progress(0.6, "intervals")
        rows = estimates(histogram, options.level, "population" if options.population else "clients", collection.values)
    spent = collection.answered * mechanism
    delta = plan.budget.delta if plan.budget and plan.budget.delta else plan.delta or "1e-6"
    facts: dict[str, Any] = {
        "title": plan.title,
        "mechanism": repr(mechanism),
        "k": collection.k,
        "rounds": collection.rounds,
        "answered": collection.answered,
        "reports": histogram.reports,
        "level": options.level,
        "of": "population" if options.population else "clients",
        "rho": spent.rho,
        "delta": str(delta),
        "epsilon": spent.epsilon_at(delta=delta),
        "estimates": rows,
    }
    if options.html or options.json:
        facts |= _others(plan, collection, mechanism, histogram.reports)
    if options.csv:
        write_whole(options.csv, _table(rows))
    if options.html:
        from zcdp.report.estimates_report import render_estimates

        write_whole(options.html, render_estimates(facts))
    if options.json:
        print_json(facts)
        return 0
    _print(shown(facts))
    for path in (options.csv, options.html):
        if path:
            line(f"Written to {path}")
    return 0


def _others(plan: PlanFile, collection: Collection, mechanism: Any, reports: int) -> dict[str, Any]:
    """This design and the best of each kind within the plan's budget, or within its own cost if it has none."""
    clients = collection.clients or max(2, reports * collection.rounds // collection.answered)
    where = {"rounds": collection.rounds, "answered": collection.answered, "clients": clients}
    own = design_of(mechanism, collection.k, **where)
    named = {name: one for name, one in vars(plan.budget).items() if one is not None} if plan.budget else {}
    budget = named or {"rho": own.spent}
    within = ", ".join(f"{name} = {value}" for name, value in budget.items())
    found: dict[str, Any] = {"design": design_facts(own) | {"clients": clients}, "within": within, "designs": []}
    try:
        choice = compare(own, **budget)
    except NotCertified:
        return found
    for one in (*choice.designs, choice.textbook):
        name = "textbook" if one is choice.textbook else type(one.mechanism).__name__
        found["designs"].append({"name": name, **design_facts(one)})
    return found | {"over_rounds": choice.over_rounds}


def estimates(histogram: Histogram, level: str, of: str, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """One row for each value: number or name, frequency, standard error, and the ends of its interval."""
    low, high = histogram.interval(level, of=of)
    errors = histogram.standard_error_of(of)
    return [
        {
            "value": names[n] if names else n,
            "frequency": float(f),
            "standard_error": float(e),
            "lower": float(a),
            "upper": float(b),
        }
        for n, (f, e, a, b) in enumerate(zip(histogram.frequencies, errors, low, high, strict=True))
    ]


def _table(rows: list[dict[str, Any]]) -> str:
    text = StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _print(facts: dict[str, Any]) -> None:
    line(bold(facts["title"] or facts["mechanism"]))
    line(f"  {facts['reports']} reports of {facts['mechanism']}")
    one = f"rho = {cost(facts['rho'])}, epsilon = {cost(facts['epsilon'])} at delta = {facts['delta']}"
    many = facts["rounds"] > 1
    line(
        f"  a client's {facts['answered']} answers in {facts['rounds']} rounds cost {one}"
        if many
        else f"  a client's answer costs {one}"
    )
    line()
    best = sorted(facts["estimates"], key=lambda row: -row["frequency"])[:MOST_VALUES]
    cells = [["value", "frequency", "std error", "lower", "upper"]]
    for row in best:
        numbers = (row[name] for name in ("frequency", "standard_error", "lower", "upper"))
        cells.append([str(row["value"]), *(f"{number:.6f}" for number in numbers)])
    for text in table_lines(cells, ">>>>>"):
        line(text)
    line()
    whose = "these clients" if facts["of"] == "clients" else "the population they are drawn from"
    line(f"All {facts['k']} intervals hold together at level {facts['level']}, for {whose}.")
