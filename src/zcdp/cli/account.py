"""`zcdp account`: what a plan costs, on the terminal, as JSON, or as a report."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from textwrap import wrap

from zcdp.accounting.accounts import Account, BudgetUse, QueryCost
from zcdp.accounting.elsewhere import ADVANCED, RENYI
from zcdp.accounting.parser import parse
from zcdp.accounting.plan_file import read_plan
from zcdp.accounting.statement import account
from zcdp.cli.collection import collection_facts, collection_text
from zcdp.cli.columns import columns
from zcdp.cli.extras import extra
from zcdp.cli.files import check_writable, write_whole
from zcdp.cli.ledger_fit import fits, print_fit, rho_note
from zcdp.cli.notes import print_note_on_moves
from zcdp.cli.output import print_json
from zcdp.cli.rows import query_lines
from zcdp.cli.terminal import Progress, bold, dim, green, line, red, shown, width
from zcdp.display.names import neighbours, route
from zcdp.display.plain import cost, gain, lower, spent
from zcdp.display.rounding import shares
from zcdp.mechanisms.accuracy import Accuracy
from zcdp.privacy.plan import Plan

__all__ = ["errors", "run"]

SHOWN = 20
ADJUSTED = "Tables that add up: std dev and 95% within are those after the adjustment; before it"


def run(options: Namespace) -> int:
    """Print the account; 1 where it exceeds the plan's budget."""
    render = None
    if options.html:
        check_writable(options.html)
        render = extra("zcdp.report", "render")
    with Progress() as progress:
        facts = account(
            _source(options.plan),
            delta=options.delta,
            curve=bool(options.json or options.html),
            full=True if options.full else None,
            progress=progress,
        )
    ledger = fits(options.ledger, options.account, options.plan) if options.ledger else None
    asked = collection_facts(_source(options.plan))
    if render:
        sections = (
            {"sections": extra("zcdp.report.estimates", "collection_section")(collection_text(asked))} if asked else {}
        )
        write_whole(options.html, render(facts, **sections))
    if options.json:
        beside = {"ledger": ledger, "collection": asked}
        print_json(facts.to_dict() | {name: one for name, one in beside.items() if one})
    else:
        _print(shown(facts), everything=options.all)
        for plan in _plans(_source(options.plan)):
            print_note_on_moves(plan)
        if note := rho_note(_source(options.plan), facts.total.rho):
            for text in wrap(note, width()):
                line(text)
        if asked:
            line()
            for text in wrap(f"Collection of {collection_text(asked)}", width()):
                line(text)
        if ledger:
            line()
            print_fit(ledger)
        if options.html:
            line(f"\nReport written to {options.html}")
    over = facts.budget is not None and facts.budget.exceeded
    return 1 if over or (ledger and not ledger["fits"]) else 0


def _plans(source: str | Path) -> Sequence[Plan]:
    if isinstance(source, str):
        return [parse(source)]
    return [entry.plan for entry in read_plan(source).entries if entry.plan is not None]


def _source(text: str) -> str | Path:
    """The name of a file, or an expression."""
    try:
        is_file = text.endswith((".toml", ".csv")) or (bool(text) and Path(text).exists())
    except (OSError, ValueError):  # too long for a name, or a null character
        is_file = False
    return Path(text) if is_file else text


def _print(facts: Account, *, everything: bool) -> None:
    line(bold(facts.title or facts.source))
    for text in wrap(facts.description or "", width()):
        line(dim(text))
    line()
    _queries(facts.queries, everything=everything)
    line()
    _total(facts)
    if facts.budget:
        line()
        _budget(facts.budget)


def _queries(queries: Sequence[QueryCost], *, everything: bool) -> None:
    shown = list(zip(queries, shares([query.rho for query in queries]), strict=True))
    if len(queries) > SHOWN and not everything:
        shown = sorted(shown, key=lambda row: -row[0].rho)[:SHOWN]
    rows = [["query", "uses", "mechanism", "std dev", "95% within", "rho", "share", "saved"]]
    for query, share in shown:
        bound = "" if query.is_tight else "*"
        rows.append(
            [
                query.name,
                f"{query.count}",
                query.mechanism,
                *errors(query.accuracy),
                cost(query.rho) + bound,
                share,
                gain(query.saved),
            ]
        )
    for text in query_lines(rows, "<><>>>>>"):
        line(text)
    if len(shown) < len(queries):
        rest = 100 - sum(Decimal(share.rstrip("%")) for _, share in shown)
        line(dim(f"and {len(queries) - SHOWN} more queries, {rest}% of rho together (--all lists them)"))
    if any(query.alone for query, _ in shown):
        before = (f"{query.name} {' and '.join(errors(query.alone))}" for query, _ in shown if query.alone)
        for text in wrap(f"{ADJUSTED} {'; '.join(before)}.", width()):
            line(dim(text))
    if not all(query.is_tight for query, _ in shown):
        line(dim("* a proven upper bound, not known to be exact"))


def errors(accuracy: Accuracy | None) -> tuple[str, str]:
    """Standard deviation and half-width, rounded up; nothing where no noise is added."""
    return ("", "") if accuracy is None else (cost(accuracy.standard_deviation, 4), cost(accuracy.half_width, 4))


def _total(facts: Account) -> None:
    total, delta = facts.total, facts.delta
    low, high = total.epsilon_bounds
    line(f"{bold('rho')}      {bold(cost(total.rho))}")
    line(f"{bold('epsilon')}  {bold(cost(total.epsilon))} at delta = {delta:g}, by the {route(total.route)}")
    if total.relation != "either":
        line(dim(f"         neighbours: {neighbours(total.relation, facts.unit)}"))
    if "profile" in total.routes:
        same = lower(low) == lower(high) or high - low < 1e-5 * high
        line(dim(f"         certified: never below the truth{'' if same else f', which is at least {lower(low)}'}"))
    else:
        line(dim("         many different mechanisms, so from rho alone: --full is sharper, and slow"))
    line()
    rows = [["the same queries, accounted by", "rho", "epsilon"]]
    for name, epsilon in sorted(total.routes.items(), key=lambda item: item[1]):
        rho = cost(total.rho) if name == "zcdp" else ""
        rows.append([route(name), rho, cost(epsilon)])
    for name, charge in sorted(total.usual.items(), key=lambda item: item[1].epsilon):
        rows.append([f"{name} each", cost(charge.rho), cost(charge.epsilon)])
    rows += [[one.name, "", cost(one.epsilon)] for one in total.elsewhere if one.name in (ADVANCED, RENYI)]
    head, *body = columns(rows, "<>>", width=width())
    line(dim(head))
    for text in body:
        line(text)
    if total.elsewhere:
        best = total.elsewhere[0]
        line(f"Saved {_saved(total.saved_epsilon)} of epsilon against {best.name}, the best elsewhere.")
    if total.saved_rho is not None:
        line(f"Saved {_saved(total.saved_rho)} of rho against epsilon^2/2 each.")


def _saved(share: float | None) -> str:
    """A share that is saved; nothing, where others are as good."""
    return gain(max(share or 0.0, 0.0))


def _budget(budget: BudgetUse) -> None:
    if budget.rho is not None:
        limit = f"rho = {budget.rho:.15g}"
    else:
        limit = f"epsilon = {budget.epsilon:.15g} at delta = {budget.delta:.15g}"
    share, left = spent(budget.spent, exceeded=budget.exceeded), budget.left
    if budget.exceeded:
        line(red(f"OVER BUDGET: {share} of {limit}, {cost(-left, 4)} too much."))
    else:
        line(green(f"Within budget: {share} of {limit}, {lower(left, 4)} left."))
