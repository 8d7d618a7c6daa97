"""`zcdp ledger`: open accounts, spend, show, verify, export and report, from the command line.

The exit code is 1 if a spend is refused or a verification fails.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from zcdp.accounting import Plan
from zcdp.cli.arguments import BadUsage, extra
from zcdp.cli.output import check_writable, print_json, write_all, write_whole
from zcdp.cli.terminal import Progress, bold, columns, dim, green, line, red, width
from zcdp.ledger import Account, BudgetExceeded, Entry, KeyConflict, Ledger, LedgerError
from zcdp.ledger.ledger_statement import exact, mechanism_of, statement
from zcdp.ledger.migrations import STEPS, script
from zcdp.ledger.model import amount
from zcdp.ledger.terms import Terms
from zcdp.plans.plan_file import PlanFileError, read_plan
from zcdp.plans.plan_text import parse
from zcdp.text.names import spelled
from zcdp.text.numbers import cost, lower, spent

__all__ = ["accounts_table", "history_table", "plan_from", "run"]


# Tables for the terminal. Text from the ledger is made safe first, as it may contain escape sequences.


def accounts_table(accounts: Iterable[Account]) -> Iterator[str]:
    """The lines of a table with one line for each account."""
    rows = [["account", "unit", "counts", "budget", "spent", "", "remaining"]]
    for one in accounts:
        order = one.terms.order
        rows.append(
            [
                spelled(one.name),
                spelled(one.terms.unit),
                "rho" if order is None else f"order {float(order):g}",
                cost(float(one.budget)),
                cost(float(one.spent)),
                spent(float(one.spent / one.budget)),
                lower(float(one.remaining)),
            ]
        )
    head, *body = columns(rows, "<<<>>>>", width=width(), gives_way=(0, 1))
    yield dim(head)
    yield from body


def history_table(entries: Iterable[Entry]) -> Iterator[str]:
    """The lines of a table with two lines for each entry: its facts, and below them mechanisms and reason."""
    rows = [["", "when", "what", "account", "key", "amount", "by"]]
    below = []
    for one in entries:
        size = cost(float(amount(one.amount))) if one.amount else ""
        by = f"{one.login} ({one.who})" if one.who else one.login
        words = map(spelled, (one.kind, one.account, one.key))
        rows.append([str(one.seq), one.at[:16].replace("T", " "), *words, size, spelled(by)])
        run = mechanism_of(one.what) if one.kind == "spend" else ""
        below.append(spelled(" - ".join(part for part in (run, one.why) if part)))
    head, *body = columns(rows, "><<<<><", width=width(), gives_way=(4, 3, 6))
    yield dim(head)
    for text, more in zip(body, below, strict=True):
        yield text
        if more:
            room = width() - 4
            yield dim(f"    {more if len(more) <= room else more[: room - 1] + '…'}")


# The command, and one function for each of its actions: `_open`, `_spend` and so on.


def run(options: Namespace) -> int:
    """Run the action that was named; a refused spend prints its reason and returns 1."""
    if options.action == "sql":
        return _sql(options)
    action = globals()[f"_{options.action}"]
    try:
        expected = None if options.action == "verify" else getattr(options, "expect_head", None)
        with Ledger(options.ledger, expect_head=expected) as ledger:
            code: int = action(ledger, options)
            return code
    except (BudgetExceeded, KeyConflict) as refusal:
        if options.json:
            print_json({"admitted": False, "reason": spelled(str(refusal))})
        sys.stderr.write(f"zcdp: refused: {spelled(str(refusal))}\n")
        return 1
    except LedgerError as error:
        raise BadUsage(spelled(str(error))) from None


def plan_from(text: str) -> tuple[Plan, dict[str, str]]:
    """The sum of all queries of a plan file, or of an expression; and the unit and neighbours that a file states."""
    if not text.endswith((".toml", ".csv")) and not os.path.exists(text):
        return parse(text), {}
    plan = read_plan(Path(text))
    for entry in plan.entries:
        if entry.plan is None:
            raise PlanFileError(f"{text}:{entry.line}: mechanism: '?' has no value yet: zcdp allocate finds one")
    unit = plan.tables.protects if plan.tables else plan.unit
    neighbours = plan.neighbours.replace("_", "-") if plan.neighbours else None
    stated = {"unit": unit, "neighbours": neighbours}
    whole = Plan.sum_of(*(Plan.repeated(entry.plan, entry.count) for entry in plan.entries if entry.plan))
    return whole, {name: said for name, said in stated.items() if said is not None}


def _open(ledger: Ledger, options: Namespace) -> int:
    workload, stated = plan_from(options.workload) if options.workload else (None, {})
    Terms(options.unit, options.neighbours).agree(**stated)
    account = ledger.open_account(
        options.account,
        unit=options.unit,
        neighbours=options.neighbours,
        rho=options.rho,
        epsilon=options.epsilon,
        delta=options.delta,
        order=options.order,
        workload=workload,
        why=options.why,
        who=options.who,
    )
    return _told(ledger, options, account.name, f"Account {account.name} is open.")


def _told(ledger: Ledger, options: Namespace, name: str, words: str, **more: Any) -> int:
    """Print what was done and the new state of the account; returns the exit code 0."""
    account, head = ledger.account(name), ledger.head
    if options.json:
        sums = {"budget": account.budget, "spent": account.spent, "remaining": account.remaining}
        print_json({"account": name, **more, **{key: exact(value) for key, value in sums.items()}, "head": head})
        return 0
    line(spelled(words))
    line(f"{lower(float(account.remaining))} of {cost(float(account.budget))} remain ({account.currency}).")
    line(dim(f"head {head}"))
    return 0


def _spend(ledger: Ledger, options: Namespace) -> int:
    if (options.plan is None) == (options.rho is None):
        raise BadUsage("give a plan, or --rho")
    plan, stated = (None, {}) if options.plan is None else plan_from(options.plan)
    said = {"key": options.key, "why": options.why, "who": options.who, **stated}
    made = ledger.spend(options.account, plan, rho=options.rho, **said)
    words = f"Spent {cost(_above(made.cost))} under the key {made.key}."
    if made.repeated:
        words = f"The key {made.key} was spent before ({cost(_above(made.cost))}): nothing more was spent."
    more = {"admitted": True, "repeated": made.repeated, "key": made.key, "cost": exact(made.cost)}
    return _told(ledger, options, made.account, words, **more)


def _above(number: Fraction) -> float:
    """The cost as a float; a positive cost too small for a float becomes the smallest positive one, not 0."""
    return float(number) or (5e-324 if number else 0.0)


def _raise(ledger: Ledger, options: Namespace) -> int:
    account = ledger.raise_budget(
        options.account, rho=options.rho, epsilon=options.epsilon, why=options.why, who=options.who
    )
    return _told(ledger, options, account.name, f"The budget of {account.name} was raised.")


def _status(ledger: Ledger, options: Namespace) -> int:
    accounts = [ledger.account(options.account)] if options.account else ledger.accounts()
    if options.json:
        rows = [
            {
                "account": one.name,
                "unit": one.terms.unit,
                "neighbours": one.terms.neighbours,
                "currency": one.currency,
                "budget": exact(one.budget),
                "spent": exact(one.spent),
                "remaining": exact(one.remaining),
            }
            for one in accounts
        ]
        print_json({"accounts": rows, "head": ledger.head})
        return 0
    for text in accounts_table(accounts):
        line(text)
    line()
    line(dim(f"head {ledger.head}"))
    return 0


def _history(ledger: Ledger, options: Namespace) -> int:
    from collections import deque

    limit = None if options.all else max(options.limit, 0)
    entries = deque(ledger.history(options.account), maxlen=limit)
    if options.json:
        print_json([entry._asdict() for entry in entries])
        return 0
    for text in history_table(entries):
        line(text)
    return 0


def _verify(ledger: Ledger, options: Namespace) -> int:
    with Progress() as progress:
        progress(0.0, "reading")
        found = ledger.verify(expect_head=options.expect_head)
    if options.json:
        head, findings = str(found.head), [*map(spelled, found.findings)]
        print_json({"passed": found.passed, "entries": found.entries, "head": head, "findings": findings})
        return 0 if found else 1
    for text in found.findings:
        line(red(spelled(text)))
    if found:
        of = "1 account" if found.accounts == 1 else f"{found.accounts} accounts"
        line(green(bold(f"All {found.entries} entries of {of} are as they were written.")))
    line(dim(f"head {found.head}"))
    return 0 if found else 1


def _export(ledger: Ledger, options: Namespace) -> int:
    if options.out is None:
        if options.json:
            raise BadUsage("an export is JSON already: give --out to be told of it in JSON")
        ledger.export(sys.stdout)
        return 0
    count = 0

    def write(path: Path) -> None:
        nonlocal count
        with path.open("w", encoding="utf-8") as file:
            count = ledger.export(file)

    write_all(options.out, write)
    if options.json:
        print_json({"entries": count, "out": options.out, "head": ledger.head})
    else:
        line(f"{count} entries written to {options.out}")
    return 0


def _import(ledger: Ledger, options: Namespace) -> int:
    with Path(options.file).open(encoding="utf-8") as file:
        count = ledger.load(file)
    if options.json:
        print_json({"entries": count, "head": ledger.head})
        return 0
    line(f"{count} entries, all verified.")
    line("From now on spend here only: the ledger that was exported must not be used any more.")
    line(dim(f"head {ledger.head}"))
    return 0


def _report(ledger: Ledger, options: Namespace) -> int:
    if not options.html and not options.json:
        raise BadUsage("give --html FILE for the page, or --json for its data")
    if options.html:
        check_writable(options.html)
        render = extra("zcdp.report.ledger_report", "render_ledger")
    with Progress() as progress:
        progress(0.0, "reading")
        facts = statement(ledger, [options.account] if options.account else (), delta=options.delta)
    if options.html:
        write_whole(options.html, render(facts))
    if options.json:
        print_json(facts)
    else:
        line(f"Report written to {options.html}")
    return 0 if facts["passed"] else 1


def _upgrade(ledger: Ledger, options: Namespace) -> int:
    before, now = ledger.upgrade(), len(STEPS["sqlite"])
    if options.json:
        print_json({"before": before, "now": now, "head": ledger.head})
    else:
        line(f"Schema {now} already." if before == now else f"Upgraded from schema {before} to {now}.")
    return 0


def _sql(options: Namespace) -> int:
    names = STEPS["postgres"] if options.which == "schema" else ["roles.sql"]
    text = "\n".join(script(name) for name in names)
    if options.json:
        print_json({"which": options.which, "sql": text})
    else:
        line(text.rstrip())
    return 0
