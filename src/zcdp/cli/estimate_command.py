"""`zcdp estimate`: frequencies or a mean from files of reports, with exact intervals and their privacy cost."""

from __future__ import annotations

import csv
from argparse import Namespace
from collections.abc import Sequence
from fractions import Fraction
from io import StringIO
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from zcdp.cli.choose_command import design_facts
from zcdp.cli.output import Progress, bold, check_writable, line, print_json, shown, table_lines, write_whole
from zcdp.cli.randomize_command import collected, local_of
from zcdp.collection.choose import Design, compare, design_of
from zcdp.collection.choose_number import compare_number
from zcdp.collection.frames import count_duckdb
from zcdp.collection.parquet import count_files, each_once
from zcdp.collection.shards import add_up, make_shard
from zcdp.estimation.frequency_estimates import Histogram
from zcdp.estimation.number_estimates import NumberEstimate
from zcdp.numeric.balls import NotCertified
from zcdp.plans.plan_file import Collection, PlanFile
from zcdp.text.numbers import cost

__all__ = ["run"]


MOST_VALUES = 20
"""Values printed on the terminal: the most frequent ones."""


def run(options: Namespace) -> int:
    """Count the reports, estimate what was collected, print it, and write the files that were asked for."""
    for path in (options.csv, options.html, options.count):
        if path:
            check_writable(path)
    plan, collection, released = collected(options.plan)
    mechanism = local_of(released)  # reports are those of the local randomizer
    counted = count_duckdb if options.engine == "duckdb" else count_files
    paths = list(each_once(map(Path, options.reports)))
    if options.count:
        shard = make_shard(paths, mechanism, collection.k, counted)
        write_whole(options.count, shard.text)
        line(
            f"{shard.counts.reports} reports counted in {options.count}: estimate takes it in the place of their files"
        )
        return 0
    with Progress() as progress:
        progress(0.1, "counting")
        counts = add_up(paths, mechanism, collection.k, counted)
        progress(0.6, "intervals")
        facts = _facts(plan, collection, released, counts.reports, options)
        if collection.low is not None:
            facts |= mean_facts(released.estimate(counts, low=collection.low, high=collection.high), options)
        else:
            facts |= _frequencies(released.estimate(counts), collection, options)
    if options.html or options.json:
        facts |= _others(plan, collection, released, counts.reports)
    if options.csv:
        write_whole(options.csv, _table(facts["estimates"]))
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


def _facts(plan: PlanFile, collection: Collection, released: Any, reports: int, options: Namespace) -> dict[str, Any]:
    """What is told of every collection: the mechanism, the reports, and what a client's answers cost."""
    spent = collection.answered * released
    delta = plan.budget.delta if plan.budget and plan.budget.delta else plan.delta or "1e-6"
    return {
        "title": plan.title,
        "mechanism": repr(released),
        "k": collection.k,
        "rounds": collection.rounds,
        "answered": collection.answered,
        "reports": reports,
        "level": options.level,
        "of": "population" if options.population else "clients",
        "rho": spent.rho,
        "delta": str(delta),
        "epsilon": spent.epsilon_at(delta=delta),
    }


def _frequencies(histogram: Histogram, collection: Collection, options: Namespace) -> dict[str, Any]:
    """The rows of the values that are asked for: all, those whose lower end is above a threshold, or the first few."""
    of = "population" if options.population else "clients"
    heavy = None if options.heavy is None else float(Fraction(options.heavy))
    names, top = collection.values, options.top
    if heavy is None:
        rows = estimates(histogram, options.level, of, names, top=top)
        return {"estimates": rows, "heavy": None, "top": top}
    rows = estimates(histogram, options.level, of, names, heavy=heavy)
    return {"estimates": rows[:top], "heavy": options.heavy, "certain": len(rows), "top": top}


def mean_facts(found: NumberEstimate, options: Namespace) -> dict[str, Any]:
    """The mean of a number, with its interval, as JSON data."""
    low, high = found.interval(options.level, of="population" if options.population else "clients")
    row = {"value": "mean", "frequency": found.mean, "standard_error": found.standard_error}
    rows = [{**row, "lower": low, "upper": high}]
    ends = {"low": found.low, "high": found.high}
    return {"number": ends, "estimates": rows, "quantiles": _quantiles(found, options)}


def _quantiles(found: NumberEstimate, options: Namespace) -> list[dict[str, Any]]:
    """The quantiles that are asked for, each with its interval; all hold together."""
    of, rows = "population" if options.population else "clients", []
    for share in options.quantile or ():
        lower, upper = found.quantile(share, options.level, of=of)
        rows.append({"share": share, "lower": lower, "upper": upper})
    return rows


def _others(plan: PlanFile, collection: Collection, mechanism: Any, reports: int) -> dict[str, Any]:
    """This design and the best of each kind within the plan's budget, or within its own cost if it has none."""
    clients = collection.clients or max(2, reports * collection.rounds // collection.answered)
    number = None if collection.low is None or collection.high is None else (collection.low, collection.high)
    own = design_of(
        mechanism,
        collection.k,
        rounds=collection.rounds,
        answered=collection.answered,
        clients=clients,
        range=number,
    )
    named = {name: one for name, one in vars(plan.budget).items() if one is not None} if plan.budget else {}
    budget = named or _own_cost(own, str(plan.delta or "1e-6"))
    within = ", ".join(f"{name} = {value}" for name, value in budget.items())
    found: dict[str, Any] = {"design": design_facts(own) | {"clients": clients}, "within": within, "designs": []}
    try:
        choice = compare(own, **budget) if number is None else compare_number(own, **budget)
    except NotCertified:
        return found
    for one in (*choice.designs, choice.textbook):
        name = "textbook" if one is choice.textbook else type(one.mechanism).__name__
        found["designs"].append({"name": name, **design_facts(one)})
    return found | {"over_rounds": choice.over_rounds}


def _own_cost(own: Design, delta: str) -> dict[str, Any]:
    """What a design costs: its pure epsilon if it has one, as local budgets mostly are; where shuffled, at delta."""
    if own.shuffled is not None:
        return {"epsilon": own.plan.epsilon_at(delta=delta), "delta": delta}
    epsilon = own.plan.pure_epsilon
    return {"epsilon": f"{epsilon:.9g}"} if epsilon < inf else {"rho": own.spent}


def estimates(
    histogram: Histogram,
    level: str,
    of: str,
    names: Sequence[str] | None = None,
    *,
    heavy: float | None = None,
    top: int | None = None,
) -> list[dict[str, Any]]:
    """One row for each value: number or name, frequency, standard error, and the ends of its interval.

    With `heavy` only values whose lower end is above it, with `top` so many, both the most frequent first.
    """
    low, high = histogram.interval(level, of=of)
    errors, frequencies = histogram.standard_error_of(of), histogram.frequencies
    chosen = np.arange(frequencies.size)
    if heavy is not None:
        chosen = chosen[low > heavy]
    if heavy is not None or top is not None:
        chosen = chosen[np.argsort(-frequencies[chosen], kind="stable")][:top]
    return [
        {
            "value": names[n] if names else int(n),
            "frequency": float(frequencies[n]),
            "standard_error": float(errors[n]),
            "lower": float(low[n]),
            "upper": float(high[n]),
        }
        for n in chosen.tolist()
    ]


def _table(rows: list[dict[str, Any]]) -> str:
    text = StringIO()
    columns = ("value", "frequency", "standard_error", "lower", "upper")
    writer = csv.DictWriter(text, columns, lineterminator="\n")
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
    if facts.get("number"):
        _print_mean(facts)
        return
    best = sorted(facts["estimates"], key=lambda row: -row["frequency"])[: facts["top"] or MOST_VALUES]
    cells = [["value", "frequency", "std error", "lower", "upper"]]
    for row in best:
        numbers = (row[name] for name in ("frequency", "standard_error", "lower", "upper"))
        cells.append([str(row["value"]), *(f"{number:.6f}" for number in numbers)])
    for text in table_lines(cells, ">>>>>"):
        line(text)
    line()
    if facts["heavy"] is not None:
        line(f"{facts['certain']} of {facts['k']} values are above {facts['heavy']} for certain at this level.")
    line(f"All {facts['k']} intervals hold together at level {facts['level']}, for {_whose(facts)}.")


def _print_mean(facts: dict[str, Any]) -> None:
    [row] = facts["estimates"]
    line(f"mean {row['frequency']:.6g}, standard error {row['standard_error']:.3g}")
    line(f"between {row['lower']:.6g} and {row['upper']:.6g} at level {facts['level']}, for {_whose(facts)}")
    for one in facts["quantiles"]:
        line(f"quantile {one['share']} between {one['lower']:.6g} and {one['upper']:.6g}")
    if facts["quantiles"]:
        line(f"All quantiles hold together at level {facts['level']}, of numbers rounded to the grid.")


def _whose(facts: dict[str, Any]) -> str:
    return "these clients" if facts["of"] == "clients" else "the population they are drawn from"
