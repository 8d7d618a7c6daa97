"""`zcdp choose`: the designs of least error for a collection within a budget, and a plan file of the best.

A design is a local randomizer and the number of rounds that a client answers.
"""

from __future__ import annotations

import json
from argparse import Namespace
from typing import Any

from zcdp.cli.arguments import BadUsage
from zcdp.cli.output import Progress, bold, check_writable, line, print_json, table_lines, write_whole
from zcdp.collection.choose import Choice, Design, choose
from zcdp.text.numbers import cost

__all__ = ["design_facts", "plan_text", "run"]


def run(options: Namespace) -> int:
    """Rank the designs, print them, and write a plan file of the best if --out is given."""
    if options.out:
        check_writable(options.out)
    if options.rho is None and options.epsilon is None:
        raise BadUsage("give a budget: --rho, or --epsilon and --delta")
    names = options.values.split(",") if options.values is not None else None
    if (names is None) == (options.k is None):
        raise BadUsage("give --k, how many values there are, or --values, their names")
    if names is not None and (len(set(names)) != len(names) or not all(names)):
        raise BadUsage("--values must be different names with commas between them")
    budget = {name: value for name in ("rho", "epsilon", "delta") if (value := getattr(options, name)) is not None}
    with Progress() as progress:
        progress(0.0, "choosing")
        choice = choose(
            k=options.k if names is None else len(names),
            clients=options.clients,
            rounds=options.rounds,
            every_round=options.every_round,
            frequency=options.frequency,
            **budget,
        )
    if options.out:
        write_whole(options.out, plan_text(choice.best, budget, names))
    if options.json:
        designs = [design_facts(one) for one in choice.designs]
        print_json({"budget": budget, "designs": designs, "textbook": design_facts(choice.textbook)})
        return 0
    _print(choice, budget)
    if options.out:
        line(f"Plan written to {options.out}")
    return 0


def design_facts(design: Design) -> dict[str, Any]:
    """A design as JSON data, for --json and for the page of a collection."""
    return {
        "mechanism": repr(design.mechanism),
        "answered": design.rounds,
        "rounds": design.of,
        "standard_error": design.standard_error,
        "frequency": design.frequency,
        "bytes": design.bytes,
        "spent": design.spent,
    }


def _print(choice: Choice, budget: dict[str, Any]) -> None:
    best = choice.best
    line(f"{bold(repr(best.mechanism))} in {best.rounds} of {best.of} rounds")
    line(f"  standard error {best.standard_error:.3g} of a frequency of {best.frequency:.3g}, in each round")
    limits = ", ".join(f"{name} = {value}" for name, value in budget.items())
    line(f"  spends {cost(best.spent, 6)} of {limits}, certified")
    line()
    rows = [["mechanism", "answers", "std error", "bytes"]]
    for design in (*choice.designs, choice.textbook):
        name = ("textbook: " if design is choice.textbook else "") + repr(design.mechanism)
        rows.append([name, f"{design.rounds}/{design.of}", f"{design.standard_error:.3g}", f"{design.bytes:.3g}"])
    for text in table_lines(rows, "<>>>", gives_way=(0,)):
        line(text)


def plan_text(design: Design, budget: dict[str, Any], names: list[str] | None = None) -> str:
    """A plan file that `account`, `randomize` and `estimate` read."""
    named = f"values = {json.dumps(names, ensure_ascii=False)}\n" if names else ""
    limits = "\n".join(f'{name} = "{value.strip()}"' for name, value in budget.items())
    pure = "rho" not in budget and "delta" not in budget
    purse = f"# the budget is pure epsilon = {budget['epsilon'].strip()}\n" if pure else f"[budget]\n{limits}\n"
    return (
        f'title = "Collection of {design.k} values"\n\n{purse}\n'
        f"[collection]\nk = {design.k}\nrounds = {design.of}\nanswered = {design.rounds}\n"
        f"clients = {design.clients}\n{named}\n"
        f'[[query]]\nname = "reports of one client"\nmechanism = "{design.mechanism!r}"\ncount = {design.rounds}\n'
    )
