"""`zcdp choose`: the designs of least error for a collection within a budget and limits, and the files of one of them.

A design is a local randomizer and the number of rounds that a client answers. Its plan file is for those who account
and estimate, its design file for clients.
"""

from __future__ import annotations

import json
from argparse import Namespace
from typing import Any

from zcdp.cli.arguments import BadUsage
from zcdp.cli.output import Progress, bold, check_writable, line, print_json, table_lines, write_whole
from zcdp.collection.choose import Choice, Design, choose
from zcdp.collection.choose_number import choose_number
from zcdp.collection.design_file import client_design
from zcdp.text.numbers import cost

__all__ = ["design_facts", "plan_text", "run"]


def run(options: Namespace) -> int:
    """Rank the designs, print them, and write a plan file of the best if --out is given."""
    for path in (options.out, options.client):
        if path:
            check_writable(path)
    names = _asked(options)
    budget = {name: value for name in ("rho", "epsilon", "delta") if (value := getattr(options, name)) is not None}
    with Progress() as progress:
        progress(0.0, "choosing")
        common = {
            "clients": options.clients,
            "rounds": options.rounds,
            "every_round": options.every_round,
            "shuffled": options.shuffled,
            **_limits(options),
            **budget,
        }
        if options.number:
            grid = {"quantiles": options.quantiles, "steps": options.steps}
            choice = choose_number(low=options.low, high=options.high, **grid, **common)
        else:
            choice = choose(k=options.k if names is None else len(names), frequency=options.frequency, **common)
    picked = choice.pick(options.pick)
    if options.out:
        write_whole(options.out, plan_text(picked, budget, names))
    if options.client:
        write_whole(options.client, _client_text(picked, budget, names))
    if options.json:
        lists = {
            name: [design_facts(one) for one in getattr(choice, name)] for name in ("designs", "frontier", "beyond")
        }
        print_json({"budget": budget, **lists, "textbook": design_facts(choice.textbook)})
        return 0
    _print(choice, picked, budget)
    for path, what in ((options.out, "Plan"), (options.client, "Design for clients")):
        if path:
            line(f"{what} written to {path}")
    return 0


def _asked(options: Namespace) -> list[str] | None:
    """The names of the values, if they are given; `BadUsage` for options that do not go together."""
    if options.rho is None and options.epsilon is None:
        raise BadUsage("give a budget: --rho, or --epsilon and --delta")
    names = options.values.split(",") if options.values is not None else None
    if (names is not None) + (options.k is not None) + options.number != 1:
        raise BadUsage("give --k, how many values there are, or --values, their names, or --number")
    if options.number != (options.low is not None) or options.number != (options.high is not None):
        raise BadUsage("--number goes with --low and --high, the ends of its range")
    if not options.number and (options.quantiles or options.steps is not None):
        raise BadUsage("--quantiles and --steps are for a --number")
    if options.number and options.frequency is not None:
        raise BadUsage("--frequency is for values, not for the mean of a --number")
    if names is not None and (len(set(names)) != len(names) or not all(names)):
        raise BadUsage("--values must be different names with commas between them")
    return names


def _limits(options: Namespace) -> dict[str, str | None]:
    """The limits that were given; "none" is no limit."""
    names = ("most_bytes", "most_draws", "most_memory")
    given = {name: value for name in names if (value := getattr(options, name)) is not None}
    return {name: None if value == "none" else value for name, value in given.items()}


def _client_text(design: Design, budget: dict[str, Any], names: list[str] | None) -> str:
    """The design file for clients, as JSON text."""
    number = None
    if design.range is not None:
        low, high = map(str, design.range)
        number = {"low": low, "high": high, "steps": design.k - 1}
    where = {"rounds": design.of, "answered": design.rounds}
    made = client_design(design.released, design.k, **where, names=names, budget=budget, number=number)
    return json.dumps(made, indent=2, ensure_ascii=False) + "\n"


def design_facts(design: Design) -> dict[str, Any]:
    """A design as JSON data, for --json and for the page of a collection."""
    return {
        "mechanism": repr(design.mechanism),
        "answered": design.rounds,
        "rounds": design.of,
        "standard_error": design.standard_error,
        "frequency": design.frequency,
        "told": design.told,
        "bytes": design.bytes,
        "spent": design.spent,
        "shuffled": design.shuffled,
    }


def _print(choice: Choice, best: Design, budget: dict[str, Any]) -> None:
    line(f"{bold(repr(best.mechanism))} in {best.rounds} of {best.of} rounds")
    line(f"  standard error {best.standard_error:.3g} of {best.told}, in each round")
    limits = ", ".join(f"{name} = {value}" for name, value in budget.items())
    line(f"  spends {cost(best.spent, 6)} of {limits}, certified")
    if best.shuffled is not None:
        line(f"  if at least {best.shuffled} reports of each round are shuffled; fewer must not be passed on")
        alone = (best.rounds * best.mechanism).pure_epsilon
        line(f"  against a shuffler who colludes it is no more than epsilon = {cost(alone, 3)}")
    if best.rounds < best.of:
        line(f"  each client draws its {best.rounds} of {best.of} rounds itself, before it knows any of its values")
    line()
    rows, short = [["", "mechanism", "answers", "std error", "bytes", ""]], choice.frontier
    for number, design in enumerate(choice.designs, 1):
        rows.append([str(number), *_cells(design), "*" if design in short else ""])
    rows.append(["", *_cells(choice.textbook, "textbook: "), ""])
    rows += [["", *_cells(design, "too large: "), ""] for design in choice.beyond]
    for text in table_lines(rows, "><>>><", gives_way=(1,)):
        line(text)
    line("* no design with as short a report has less error")


def _cells(design: Design, before: str = "") -> list[str]:
    answers = f"{design.rounds}/{design.of}"
    return [f"{before}{design.mechanism!r}", answers, f"{design.standard_error:.3g}", f"{design.bytes}"]


def plan_text(design: Design, budget: dict[str, Any], names: list[str] | None = None) -> str:
    """A plan file that `account`, `randomize` and `estimate` read."""
    named = f"values = {json.dumps(names, ensure_ascii=False)}\n" if names else ""
    if design.range is not None:
        named = f'low = "{design.range[0]}"\nhigh = "{design.range[1]}"\n'
    limits = "\n".join(f'{name} = "{value.strip()}"' for name, value in budget.items())
    pure = "rho" not in budget and "delta" not in budget
    purse = f"# the budget is pure epsilon = {budget['epsilon'].strip()}\n" if pure else f"[budget]\n{limits}\n"
    return (
        f'title = "Collection of {"a number" if design.range else f"{design.k} values"}"\n\n{purse}\n'
        f"[collection]\nk = {design.k}\nrounds = {design.of}\nanswered = {design.rounds}\n"
        f"clients = {design.clients}\n{named}\n"
        f'[[query]]\nname = "reports of one client"\nmechanism = "{design.released!r}"\ncount = {design.rounds}\n'
    )
