"""`zcdp calibrate`: find the parameter written `?` that gives the least noise within a budget."""

from __future__ import annotations

from argparse import Namespace
from math import isfinite
from typing import Any

from zcdp.accounting.calibration import calibrate
from zcdp.cli.account_command import print_note_on_moves
from zcdp.cli.arguments import BadUsage
from zcdp.cli.output import Progress, bold, line, print_json
from zcdp.errors import BadValue
from zcdp.plans.plan_text import parse
from zcdp.privacy.curve import Plan
from zcdp.text.numbers import cost

__all__ = ["run"]

BUDGETS = (("rho",), ("epsilon", "delta"), ("advantage",), ("tpr", "fpr"))
"""Options that are a budget together."""


def run(options: Namespace) -> int:
    """Find the parameter, and print it with what the plan then spends."""
    if "?" not in options.expression:
        raise BadUsage("write ? for the parameter to find, such as '1000 * Laplace(epsilon=?)'")
    names = ("rho", "epsilon", "delta", "advantage", "tpr", "fpr")
    budget = {name: value for name in names if (value := getattr(options, name)) is not None}
    if tuple(budget) not in BUDGETS:
        raise BadUsage("give a budget: --rho, or --epsilon and --delta, or --advantage, or --tpr and --fpr")
    steps = 0

    with Progress() as progress:

        def build(value: float) -> Plan:
            nonlocal steps
            steps += 1
            progress(1 - 0.9**steps, f"trying {value:.6g}")
            if not isfinite(value):
                raise BadValue("no value fits the budget")
            return parse(options.expression.replace("?", repr(value)))

        found = calibrate(build, **budget)
        plan = build(found)
        text = options.expression.replace("?", repr(found))
        spent = _spent(plan, budget)
    if options.json:
        print_json({"parameter": found, "plan": text, "budget": budget, "spent": spent})
        return 0
    line(f"{bold('?')} = {bold(repr(found))}")
    print_note_on_moves(plan)
    line()
    line(text)
    limits = ", ".join(f"{name} = {value}" for name, value in budget.items())
    line(f"  budget   {limits}")
    if len(spent) == 1:
        line(f"  spent    rho = {cost(spent['rho'], 9)}")
    elif "epsilon" not in budget:
        name = next(iter(spent))
        line(f"  spent    {name} = {cost(spent[name], 9)}; rho = {cost(spent['rho'], 9)}")
    else:
        line(f"  spent    epsilon = {cost(spent['epsilon'], 9)} at this delta; rho = {cost(spent['rho'], 9)}")
    return 0


def _spent(plan: Plan, budget: dict[str, Any]) -> dict[str, float]:
    if "rho" in budget:
        return {"rho": plan.rho}
    if "advantage" in budget:
        return {"advantage": plan.advantage, "rho": plan.rho}
    if "tpr" in budget:
        return {"tpr": plan.tpr_at(fpr=budget["fpr"]), "rho": plan.rho}
    return {"epsilon": plan.epsilon_at(delta=budget["delta"]), "rho": plan.rho}
