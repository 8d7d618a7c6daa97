"""`zcdp account`: what a plan costs, on the terminal, as JSON, or as an HTML report.

With --ledger it also says whether the plan would fit an account of a ledger; with a [collection] it describes that.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from zcdp.accounting.baselines import ADVANCED, RENYI
from zcdp.accounting.plan_account import MOST_KINDS_BY_POINT, Account, BudgetUse, QueryCost, account, plan_of
from zcdp.accounting.risks import Risk, tradeoff_rows
from zcdp.cli.arguments import BadUsage, extra
from zcdp.cli.output import (
    Progress,
    bold,
    check_writable,
    dim,
    green,
    line,
    print_json,
    query_lines,
    red,
    shown,
    table_lines,
    width,
    write_whole,
)
from zcdp.mechanisms.noise.additive import Accuracy
from zcdp.mechanisms.revealing_event import without_events
from zcdp.mechanisms.subsampled import note_on_moves
from zcdp.plans.plan_file import Budget, PlanFile, plan_at
from zcdp.privacy.curve import Curve, Plan
from zcdp.text.names import attack, neighbours, parts, route
from zcdp.text.numbers import cost, gain, in_percent, lower, shares, spent

if TYPE_CHECKING:
    from zcdp.ledger import Ledger

__all__ = [
    "chosen_account",
    "collection_facts",
    "collection_text",
    "errors",
    "fits",
    "print_fit",
    "print_note_on_moves",
    "print_predictions",
    "rho_note",
    "run",
    "source_of",
    "tradeoff_csv",
]


def print_note_on_moves(curve: Curve) -> None:
    """Note the unit of sigma, if Gaussian noise on a sample of fixed size was given without a sensitivity."""
    if note := note_on_moves(curve):
        line()
        for text in wrap(f"Note: {note}.", width()):
            line(text)


# The option --ledger: whether a plan would fit what remains of an account; nothing is spent.


def chosen_account(ledger: Ledger, name: str | None, plan: PlanFile | None = None) -> str:
    """The account that was named, or that the plan names, or the only one of the ledger."""
    from zcdp.text.names import spelled

    name = name or (plan.tables.account if plan and plan.tables else None)
    if name is not None:
        return name
    accounts = ledger.accounts()
    if len(accounts) != 1:
        known = ", ".join(spelled(one.name) for one in accounts)
        raise BadUsage(f"the ledger has {len(accounts)} accounts: name one by --account ({known})")
    return accounts[0].name


def fits(where: str, name: str | None, plan: str) -> dict[str, Any]:
    """The cost of the plan in the currency of the ledger's account, what remains there, and whether it fits."""
    from zcdp.cli.ledger_command import plan_from
    from zcdp.ledger import Ledger
    from zcdp.ledger.ledger_statement import exact
    from zcdp.ledger.model import least_of
    from zcdp.ledger.spend_text import priced
    from zcdp.text.names import spelled

    with Ledger(where) as ledger:
        levels = ledger.levels(chosen_account(ledger, name, plan_at(plan) if plan.endswith(".toml") else None))
    account = levels[0]
    whole, stated = plan_from(plan)
    account.terms.agree(**stated)
    price = priced(account.terms, whole, None)[1]
    asked = price.size
    least = least_of(levels)
    left = Fraction(0) if least.closed else least.remaining
    return {
        "account": spelled(account.name),
        "currency": account.currency,
        "cost": exact(asked),
        "remaining": exact(left),
        "fits": asked <= left and all(price.delta <= level.delta_remaining for level in levels),
        **({"delta": exact(price.delta)} if price.delta else {}),
        **({} if least.name == account.name else {"level": spelled(least.name)}),
    }


def print_fit(fit: dict[str, Any]) -> None:
    """Print the result of `fits` in one line, green or red."""
    price, rest = cost(fit["cost"]["value"]), lower(fit["remaining"]["value"])
    where = f" of {fit['level']}, above it" if "level" in fit else ""
    if fit["fits"]:
        line(green(f"Fits account {fit['account']}: {price} of the {rest} that remain{where} ({fit['currency']})."))
    else:
        line(red(f"DOES NOT FIT account {fit['account']}: {price}, and {rest} remain{where} ({fit['currency']})."))
    if "delta" in fit:
        line(
            dim(f"It needs a delta of {cost(fit['delta']['value'])} for found keys, from what the account has for it.")
        )


def rho_note(plan: PlanFile, rho: float) -> str:
    """A sentence on whether a ledger account with the plan's own epsilon and delta would admit it.

    It is empty for a plan without tables or without such a budget. The answers can differ: the account of a plan uses
    the exact profile, which is sharper but valid only for mechanisms fixed beforehand; the ledger counts rho.
    """
    if plan.tables is None or plan.budget is None or plan.budget.epsilon is None:
        return ""
    return counted(plan.budget, rho)


def counted(budget: Budget, rho: float) -> str:
    """One sentence on whether a ledger account of this epsilon and delta admits a plan that costs `rho`.

    >>> counted(Budget(None, "2", "1e-9"), 0.0495)
    'A ledger account of this epsilon and delta counts rho, and has 0.0561305: the plan fits it.'
    """
    from zcdp.ledger.terms import approx_to_rho

    whole = approx_to_rho(Fraction(str(budget.epsilon)), Fraction(str(budget.delta)))
    has = f"A ledger account of this epsilon and delta counts rho, and has {lower(float(whole))}"
    if Fraction(rho) <= whole:
        return f"{has}: the plan fits it."
    return f"{has}: it would refuse the plan, which takes {cost(rho)}; plan within [budget] rho to spend from one."


# A plan with a [collection]: clients and rounds, the standard error, and the bytes of a report.


def collection_facts(plan: PlanFile) -> dict[str, Any] | None:
    """The collection and its design as JSON data; None if the plan has no collection, or its mechanism is a '?'."""
    if plan.collection is None or plan.entries[0].plan is None:
        return None
    from zcdp.cli.choose_command import design_facts
    from zcdp.collection.choose import design_of

    asked, mechanism = plan.collection, plan.entries[0].plan.parts[0][0]
    where = {"rounds": asked.rounds, "answered": asked.answered}
    clients = asked.clients or 2
    found = design_facts(design_of(mechanism, asked.k, rounds=asked.rounds, answered=asked.answered, clients=clients))
    told = {"k": asked.k, "clients": asked.clients, **where, **found}
    if asked.clients is None:  # the error depends on the number of clients
        del told["standard_error"]
    return told


def collection_text(facts: dict[str, Any]) -> str:
    """The facts of `collection_facts` in one sentence."""
    what = f"{facts['k']} values" if facts["frequency"] is not None else f"a number on {facts['k']} grid points"
    asked = f"{what}; each client answers {facts['answered']} of {facts['rounds']} rounds"
    size = f"with {facts['bytes']:.3g} bytes a report"
    if facts["clients"] is None:
        return f"{asked}, {size}."
    of = (
        "the mean, in units of the range," if facts["frequency"] is None else f"a frequency of {facts['frequency']:.3g}"
    )
    error = f"standard error {facts['standard_error']:.3g} of {of} in each round"
    return f"{asked}, {size}; {error}, from {facts['clients']} clients."


# The command itself.

MOST_QUERIES = 20
"""Queries printed without --all: those of highest rho."""
ADJUSTED = (
    "Tables that add up are adjusted by least squares: what is told of them is about their least accurate cell after "
    "that, and is {} for the noise itself."
)


def run(options: Namespace) -> int:
    """Print the account; exit code 1 if it exceeds the plan's budget or does not fit the ledger's account."""
    for path in (options.tradeoff, options.html):
        if path:
            check_writable(path)
    render = extra("zcdp.report", "render") if options.html else None
    source = source_of(options.plan)
    plan = plan_of(source)
    with Progress() as progress:
        facts = account(
            plan,
            delta=options.delta,
            curve=bool(options.json or options.html),
            full=True if options.full else None,
            risk=options.risk or bool(options.html and _is_small(plan)),
            progress=progress,
        )
    if options.tradeoff:
        write_whole(options.tradeoff, tradeoff_csv(plan))
    ledger = fits(options.ledger, options.account, options.plan) if options.ledger else None
    asked = collection_facts(plan) if options.plan.endswith(".toml") else None
    if render:
        sections = {"sections": _collection(asked)} if asked else {}
        write_whole(options.html, render(facts, **sections))
    if options.json:
        beside = {"ledger": ledger, "collection": asked}
        print_json(facts.to_dict() | {name: one for name, one in beside.items() if one})
    else:
        _print(shown(facts), everything=options.all)
        _print_notes(plan, facts, whole=not isinstance(source, Path))
        if asked:
            line()
            for text in wrap(f"Collection of {collection_text(asked)}", width()):
                line(text)
        if ledger:
            line()
            print_fit(ledger)
        for path, what in ((options.tradeoff, "Trade-off curve"), (options.html, "Report")):
            if path:
                line(f"\n{what} written to {path}")
    over = facts.budget is not None and facts.budget.exceeded
    return 1 if over or (ledger and not ledger["fits"]) else 0


def _print_notes(plan: PlanFile, facts: Account, *, whole: bool) -> None:
    """Notes on the unit of sigma, of the `whole` plan or part by part, and on what a ledger would say."""
    plans = [entry.plan for entry in plan.entries if entry.plan]
    for part in [Plan.sum_of(*plans)] if whole else plans:
        print_note_on_moves(part)
    if note := rho_note(plan, facts.total.rho):
        for text in wrap(note, width()):
            line(text)


def _collection(asked: dict[str, Any]) -> str:
    """The section of a report on a collection."""
    section: str = extra("zcdp.report.estimates_report", "collection_section")(collection_text(asked))
    return section


def source_of(text: str) -> str | Path:
    """A `Path` if the text names a file, else the text itself, an expression."""
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
    for one in facts.derived:
        for text in wrap(f"{one.name}: {one.words}", width()):
            line(dim(text))
    line()
    _total(facts)
    if facts.risk:
        line()
        _risk(facts.risk, attack(facts.total.relation, facts.unit))
    if facts.budget:
        line()
        _budget(facts.budget)


def _queries(queries: Sequence[QueryCost], *, everything: bool) -> None:
    shown = list(zip(queries, shares([query.rho for query in queries]), strict=True))
    if len(queries) > MOST_QUERIES and not everything:
        shown = sorted(shown, key=lambda row: -row[0].rho)[:MOST_QUERIES]
    rows = [["query", "uses", "mechanism", "std dev", "95% within", "rho", "share", "saved"]]
    labels = parts([query.name for query, _ in shown], [query.accuracy is not None for query, _ in shown])
    for (query, share), label in zip(shown, labels, strict=True):
        bound = "" if query.is_tight else "*"
        rows.append(
            [
                label,
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
        line(dim(f"and {len(queries) - MOST_QUERIES} more queries, {rest}% of rho together (--all lists them)"))
    if any(query.alone for query, _ in shown):
        alone: dict[str, list[str]] = {}
        for query, _ in shown:
            if query.alone:
                alone.setdefault(" and ".join(errors(query.alone)), []).append(query.name)
        before = "; ".join(f"{said} ({', '.join(names)})" if len(alone) > 1 else said for said, names in alone.items())
        for text in wrap(ADJUSTED.format(before), width()):
            line(dim(text))
    for query in (query for query, _ in shown if query.about):
        for text in wrap(f"{query.name}: {query.about}.", width()):
            line(text)
    print_predictions([query for query, _ in shown])
    if not all(query.is_tight for query, _ in shown):
        line(dim("* a proven upper bound, not known to be exact"))


def print_predictions(queries: Sequence[QueryCost]) -> None:
    """Print what is predicted of tables whose accuracy depends on how many persons a cell has, if there are any."""
    told = [query for query in queries if query.predicted]
    if not told:
        return
    line()
    line("Expected at 95%, before any data is read")
    for query in told:
        for one in query.predicted:
            where = f"{query.name}, {one.persons:,} a cell" if one.persons else query.name
            for text in wrap(f"{where}: {one.words(cost)}", width(), subsequent_indent="    "):
                line(text)
        for note in dict.fromkeys(one.note for one in query.predicted if one.note):
            for text in wrap(f"{query.name}: {note}.", width()):
                line(dim(text))


def errors(accuracy: Accuracy | None) -> tuple[str, str]:
    """Standard deviation and half-width of an answer as text, rounded up; empty if no noise is added."""
    return ("", "") if accuracy is None else (cost(accuracy.standard_deviation, 4), cost(accuracy.half_width, 4))


def _total(facts: Account) -> None:
    total, delta = facts.total, facts.delta
    low, high = total.epsilon_bounds
    line(f"{bold('rho')}      {bold(cost(total.rho))}")
    line(f"{bold('epsilon')}  {bold(cost(total.epsilon))} at delta = {delta:g}, by the {route(total.route)}")
    if total.event_delta:
        said = f"rho holds but for events of probability {cost(total.event_delta)}, which epsilon counts"
        line(dim(f"         {said}"))
    if total.relation != "either":
        line(dim(f"         neighbours: {neighbours(total.relation, facts.unit)}"))
    if "profile" in total.routes:
        same = lower(low) == lower(high) or high - low < 1e-5 * high
        line(dim(f"         certified: never below the truth{'' if same else f', which is at least {lower(low)}'}"))
    else:
        line(dim("         many different mechanisms, so from rho alone: --full is sharper, and slow"))
    for one in facts.assumptions:
        for text in wrap(f"assuming, not proven: {one}", width(), initial_indent=9 * " ", subsequent_indent=11 * " "):
            line(text)
    line()
    rows = [["the same queries, accounted by", "rho", "epsilon"]]
    for name, epsilon in sorted(total.routes.items(), key=lambda item: item[1]):
        rho = cost(total.rho) if name == "zcdp" else ""
        rows.append([route(name), rho, cost(epsilon)])
    for name, charge in sorted(total.usual.items(), key=lambda item: item[1].epsilon):
        rows.append([f"{name} each", cost(charge.rho), cost(charge.epsilon)])
    rows += [[one.name, "", cost(one.epsilon)] for one in total.elsewhere if one.name in (ADVANCED, RENYI)]
    for text in table_lines(rows, "<>>"):
        line(text)
    if total.elsewhere:
        best = total.elsewhere[0]
        line(f"Saved {_saved(total.saved_epsilon)} of epsilon against {best.name}, the best elsewhere.")
    if total.saved_rho is not None:
        line(f"Saved {_saved(total.saved_rho)} of rho against epsilon^2/2 each.")


def _is_small(plan: PlanFile) -> bool:
    """Whether the risk is computed in a moment, so that a report has it without being asked for it."""
    return len({entry.plan for entry in plan.entries}) <= MOST_KINDS_BY_POINT


def tradeoff_csv(plan: PlanFile) -> str:
    """The trade-off curve of a whole plan as CSV: certified ends of the true positive rate at false positive rates."""
    finite, event = without_events(Plan.sum_of(*(Plan.repeated(e.plan, e.count) for e in plan.entries if e.plan)))
    if finite is None:
        raise BadUsage("nothing is released but keys that may give a person away: there is no curve")
    rows = [f"{one.fpr!r},{one.tpr_at_most!r},{one.tpr_at_least!r}" for one in tradeoff_rows(finite, event)]
    return "\n".join(["fpr,tpr_at_most,tpr_at_least", *rows, ""])


def _risk(risk: Risk, asked: str) -> None:
    """What an attacker gains, in a table and in words; `asked` is what is guessed."""
    for text in wrap(f"What an attacker gains, who guesses from all results {asked}", width()):
        line(bold(text))
    rows = [["false alarms", "members found, at most"]]
    rows += [[in_percent(one.fpr, up=False), in_percent(one.tpr_at_most, up=True)] for one in risk.rates]
    for text in table_lines(rows, ">>"):
        line(text)
    line(f"Advantage: at most {in_percent(risk.advantage[1], up=True)} more members than others are taken for members.")
    for one in risk.guesses:
        told, before = in_percent(one.at_most, up=True, digits=2, over=one.before), in_percent(one.before, up=False)
        prior = in_percent(one.prior, up=False)
        line(f"Right guesses, if {prior} are members: at most {told}, and {before} without the results.")
    if risk.mu is not None:
        said = f"Gaussian DP: mu = {cost(risk.mu, 4)}, up to {cost(risk.slack)} in every probability."
        line(said)


def _saved(share: float | None) -> str:
    """The saved share as a percentage; 0 if others are as good."""
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
