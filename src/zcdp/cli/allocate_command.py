"""`zcdp allocate`: split a budget over the queries of a plan, for the least error, and fill in their noise."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

from zcdp.accounting.allocation import TargetsDoNotFit
from zcdp.accounting.fill import Filled, fill
from zcdp.accounting.plan_account import TotalCost, account
from zcdp.cli.account_command import errors, print_predictions, rho_note
from zcdp.cli.arguments import BadUsage
from zcdp.cli.output import Progress, bold, check_writable, dim, line, print_json, query_lines, shown, write_whole
from zcdp.mechanisms.noise.additive import Accuracy, AddedNoise
from zcdp.numeric.exact import rational
from zcdp.plans.plan_edit import EditError, set_lines
from zcdp.plans.plan_file import Entry, PlanFile, read_plan
from zcdp.privacy.curve import Plan
from zcdp.text.names import parts
from zcdp.text.numbers import cost, lower, shares

__all__ = ["run"]


def run(options: Namespace) -> int:
    """Find the noise of each query, print it, and write the plan file with it if --out is given."""
    if options.out:
        check_writable(options.out)
    plan = read_plan(Path(options.plan))
    if options.ledger or options.share:
        return _share(plan, options)
    risk = {name: value for name in ("advantage", "tpr", "fpr") if (value := getattr(options, name)) is not None}
    if plan.budget is None and options.rho is None and options.epsilon is None and not risk:
        raise BadUsage(
            f"{plan.source}: has no budget: give --rho, or --epsilon and --delta, or --advantage, or --tpr and --fpr"
        )
    if options.epsilon is not None and options.delta is None and plan.delta is None:
        raise BadUsage("--epsilon needs --delta")
    with Progress() as progress:
        progress(0.0, "allocating")
        try:
            limits = {"rho": options.rho, "epsilon": options.epsilon, "delta": options.delta, **risk}
            filled = fill(plan, **limits, objective=options.objective)
        except TargetsDoNotFit as error:
            raise BadUsage(str(error)) from None
        progress(0.9, "certifying")
        made = account(filled.plan, delta=filled.budget.delta, curve=False)
        total = made.total
    spent = _spent(filled, total)
    rows = _rows(filled)
    if options.out:
        write_whole(options.out, _text(filled))
    if options.json:
        budget = {name: value and float(value) for name, value in vars(filled.budget).items()}
        budget |= {name: float(rational(value, name)) for name, value in risk.items()}
        facts = {"objective": options.objective, "held": float(filled.held), "spent": spent, "queries": rows}
        print_json(budget | facts)
        return 0
    _print(shown(plan.title or plan.source), shown(rows), filled, spent)
    print_predictions(shown(made.queries))
    if note := rho_note(replace(filled.plan, budget=filled.budget), total.rho):
        line(note)
    if all(entry.plan is not None for entry in plan.entries):
        line(dim("No parameter is written '?', so all noise was set anew."))
    if options.out:
        line(f"Plan written to {options.out}")
    return 0


def _spent(filled: Filled, total: TotalCost) -> float:
    """What the filled plan costs, in the currency of its budget."""
    if filled.risk is None:
        return total.rho if filled.budget.rho is not None else total.epsilon
    whole = Plan.sum_of(*(Plan.repeated(e.plan, e.count) for e in filled.plan.entries if e.plan is not None))
    return whole.advantage if filled.risk.fpr is None else whole.tpr_at(fpr=filled.risk.fpr)


# The option --ledger: the budget is a share of an account, of which nothing is spent.


def _share(plan: PlanFile, options: Namespace) -> int:
    from zcdp.cli.account_command import chosen_account
    from zcdp.ledger import Ledger
    from zcdp.ledger.ledger_statement import exact
    from zcdp.ledger.shares import fill_share
    from zcdp.text.names import spelled

    if not (options.ledger and options.share):
        raise BadUsage("give --ledger and --share together, such as --ledger budget.db --share 1/4")
    if options.rho is not None or options.epsilon is not None or options.delta is not None:
        raise BadUsage("the budget is a share of the ledger's account: give no --rho, --epsilon or --delta")
    if any(getattr(options, name) is not None for name in ("advantage", "tpr", "fpr")):
        raise BadUsage("the budget is a share of the ledger's account: give no --advantage, --tpr or --fpr")
    try:
        with Ledger(options.ledger) as ledger, Progress() as progress:
            progress(0.0, "allocating")
            name = chosen_account(ledger, options.account, plan)
            kind = {"of": options.share_of, "objective": options.objective}
            found = fill_share(ledger, name, plan, options.share, **kind)
            head = ledger.head
    except TargetsDoNotFit as error:
        raise BadUsage(str(error)) from None
    delta = found.account.terms.delta
    alone = account(found.filled.plan, delta=delta, curve=False)
    filled, rows = found.filled, _rows(found.filled)
    if options.out:
        note = f"# {options.share} of the {options.share_of} budget of account {name!r}, ledger head {head}"
        write_whole(options.out, f"{spelled(note)}\n{_text(filled)}")
    if options.json:
        facts: dict[str, Any] = {
            "account": name,
            "currency": found.account.currency,
            "share": exact(found.target),
            "head": head,
        }
        facts |= {"cost": exact(found.cost), "admits": found.more, "epsilon": alone.total.epsilon, "delta": alone.delta}
        print_json(facts | {"objective": options.objective, "held": float(filled.held), "queries": rows})
        return 0
    _print_rows(shown(plan.title or plan.source), shown(rows), filled)
    of = "budget" if options.share_of == "whole" else "rest"
    share, price = f"{options.share} of the {of} of account {spelled(name)}", cost(float(found.cost), 9)
    line(f"{price} of {lower(float(found.target), 9)}, which is {share} ({found.account.currency}), certified.")
    line(f"{found.more} such releases fit what remains, this one included. Nothing was spent.")
    line(f"By itself this release has epsilon {cost(alone.total.epsilon)} at delta = {alone.delta:g}.")
    print_predictions(shown(alone.queries))
    if options.out:
        line(f"Plan written to {options.out}")
    return 0


def _rows(filled: Filled) -> list[dict[str, Any]]:
    rows = []
    for entry, mechanism in filled.found:
        accuracy = _accuracy(entry, mechanism, entry.level)
        rows.append(
            {
                "name": entry.name,
                "mechanism": entry.text,
                "count": entry.count,
                "rho": Plan.repeated(mechanism, entry.count).rho,
                "relative_error": mechanism.relative_error,
                "standard_deviation": accuracy and accuracy.standard_deviation,
                "half_width": accuracy and accuracy.half_width,
                "level": accuracy and accuracy.level,
            }
        )
    return rows


def _accuracy(entry: Entry, mechanism: object, level: float | str) -> Accuracy | None:
    """Accuracy of one answer, in the query's unit; None for a selection, or for a staircase without a sensitivity."""
    if not isinstance(mechanism, AddedNoise) or mechanism.sensitivity is None:
        return None
    return entry.in_values(mechanism.accuracy(level))


def _print_rows(title: str, rows: list[dict[str, Any]], filled: Filled) -> None:
    line(bold(title))
    line()
    cells = [["query", "uses", "mechanism", "std dev", "95% within", "error", "share"]]
    rhos = [row["rho"] for row in rows]
    names = parts([row["name"] for row in rows], [row["standard_deviation"] is not None for row in rows])
    told = zip(rows, names, filled.found, shares([*rhos, float(filled.held)]), strict=False)
    for row, name, (entry, mechanism), share in told:
        accuracy = _accuracy(entry, mechanism, "0.95")
        relative = f"{row['relative_error']:.4g}"
        cells.append([name, str(row["count"]), row["mechanism"], *errors(accuracy), relative, share])
    for text in query_lines(cells, "<><>>>>"):
        line(text)
    line(dim("error: standard deviation over sensitivity, of a selection that of its scores; share: of rho"))
    line()


def _print(title: str, rows: list[dict[str, Any]], filled: Filled, spent: float) -> None:
    _print_rows(title, rows, filled)
    budget = filled.budget
    limit = f"rho = {budget.rho}" if budget.rho else f"epsilon = {budget.epsilon} at delta = {budget.delta}"
    if filled.risk is not None:
        limit = filled.risk.said(filled.risk.gain)
    kept = f" (rho = {cost(float(filled.held))} of it by queries that are fixed)" if filled.held else ""
    line(f"{cost(spent, 9)} of {limit} spent, certified{kept}.")


def _text(filled: Filled) -> str:
    """The text of the plan file with the mechanisms filled in; all else, comments included, is unchanged."""
    plan = filled.plan
    try:
        return set_lines(plan.text, [(entry.line, entry.field, entry.text) for entry, _ in filled.found])
    except EditError:
        raise BadUsage(f"{plan.source}: to be filled in, each mechanism must stand on a line of its own") from None
