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
from zcdp.cli.output import (
    Progress,
    bold,
    check_writable,
    dim,
    green,
    line,
    print_json,
    red,
    table_lines,
    width,
    write_all,
    write_whole,
)
from zcdp.ledger import Account, Entry, Ledger
from zcdp.ledger.ledger_statement import exact, mechanism_of, statement
from zcdp.ledger.migrations import STEPS, script
from zcdp.ledger.model import Cost, in_tree, least_of
from zcdp.ledger.spend_text import reason_of
from zcdp.ledger.terms import Terms
from zcdp.plans.plan_file import PlanFileError, read_plan
from zcdp.plans.plan_text import parse
from zcdp.text.names import spelled
from zcdp.text.numbers import cost, lower, spent

__all__ = ["accounts_table", "history_table", "plan_from", "run"]


# Tables for the terminal. Text from the ledger is made safe first, as it may contain escape sequences.


def accounts_table(accounts: Iterable[Account]) -> Iterator[str]:
    """The lines of a table with one line for each account, those under others below them and indented."""
    known = list(accounts)
    reserved = any(one.reserved for one in known)
    rows = [["account", "unit", "counts", "budget", "spent", "", *(["reserved"] if reserved else []), "remaining"]]
    for one in in_tree(known):
        order = one.terms.order
        depth = sum(other.name in one.above for other in known)
        counts = "rho" if order is None else f"order {float(order):g}"
        rows.append(
            [
                "  " * depth + spelled(one.name) + (" (closed)" if one.closed else ""),
                spelled(one.terms.unit),
                f"{counts}, {one.period}" if one.period else counts,
                lower(float(one.budget)),
                cost(float(one.spent)),
                spent(float(one.spent / one.budget)),
                *([cost(float(one.reserved))] if reserved else []),
                lower(float(one.remaining)),
            ]
        )
    yield from table_lines(rows, "<<<>>>>" + ">" * reserved, gives_way=(0, 1))


def history_table(entries: Iterable[Entry]) -> Iterator[str]:
    """The lines of a table with two lines for each entry: its facts, and below them mechanisms and reason."""
    rows = [["", "when", "what", "account", "key", "amount", "by"]]
    below = []
    for one in entries:
        size = cost(float(Cost.parse(one.amount).size)) if one.amount else ""
        by = f"{one.login} ({one.who})" if one.who else one.login
        words = map(spelled, (one.kind, one.account, one.key))
        rows.append([str(one.seq), one.at[:16].replace("T", " "), *words, size, spelled(by)])
        run = mechanism_of(one.what) if one.kind == "spend" else ""
        below.append(spelled(" - ".join(part for part in (run, one.why) if part)))
    head, *body = table_lines(rows, "><<<<><", gives_way=(4, 3, 6))
    yield head
    for text, more in zip(body, below, strict=True):
        yield text
        if more:
            room = width() - 4
            yield dim(f"    {more if len(more) <= room else more[: room - 1] + '…'}")


# The command, and one function for each of its actions: `_open`, `_spend` and so on.


def run(options: Namespace) -> int:
    """Run the action that was named and return its exit code; a refusal is raised, for `main` to tell."""
    if options.action in ("sql", "plan"):  # these need no ledger
        return _sql(options) if options.action == "sql" else _plan(options)
    action = globals()[f"_{options.action}"]
    expected = None if options.action == "verify" else getattr(options, "expect_head", None)
    hidden = getattr(options, "private_who", False)
    with Ledger(options.ledger, expect_head=expected, private_names=hidden) as ledger:
        code: int = action(ledger, options)
        return code


def plan_from(text: str) -> tuple[Plan, dict[str, str]]:
    """The sum of all queries of a plan file, or of an expression; and the unit and neighbours that a file states."""
    if not text.endswith((".toml", ".csv")) and not os.path.exists(text):
        return parse(text), {}
    plan = read_plan(Path(text))
    for entry in plan.entries:
        if entry.plan is None:
            raise PlanFileError(f"{plan.where(entry)}: mechanism: '?' has no value yet: zcdp allocate finds one")
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
        approximate=options.approximate,
        under=options.under,
        every=options.every,
        zone=options.zone,
        why=options.why,
        who=options.who,
    )
    return _told(ledger, options, account.name, f"Account {account.name} is open.")


def _told(ledger: Ledger, options: Namespace, name: str, words: str, **more: Any) -> int:
    """Print what was done and the new state of the account; returns the exit code 0."""
    levels, head = ledger.levels(name), ledger.head
    account = levels[0]
    least = least_of(levels)
    left = Fraction(0) if least.closed else least.remaining
    if options.json:
        sums = {
            "budget": account.budget,
            "spent": account.spent,
            "reserved": account.reserved,
            "remaining": account.remaining,
            "available": left,
        }
        told = {key: exact(value) for key, value in sums.items()}
        print_json({"account": name, **more, **told, "level": least.name, "head": head})
        return 0
    line(spelled(words))
    line(f"{lower(float(account.remaining))} of {lower(float(account.budget))} remain ({account.currency}).")
    if least.name != account.name:
        rest = "is closed: nothing" if least.closed else f"has {lower(float(left))} left: no more"
        line(spelled(f"Above it {least.name} {rest} can be spent."))
    line(dim(f"head {head}"))
    return 0


def _why(options: Namespace) -> str:
    """The reason that was given, or the title, data set and author of the plan file."""
    given: str = options.why
    if given or options.plan is None or not options.plan.endswith(".toml"):
        return given
    return reason_of(read_plan(Path(options.plan)))


def _spend(ledger: Ledger, options: Namespace) -> int:
    if (options.plan is None) == (options.rho is None):
        raise BadUsage("give a plan, or --rho")
    plan, stated = (None, {}) if options.plan is None else plan_from(options.plan)
    said = {"key": options.key, "why": _why(options), "who": options.who, **stated}
    made = ledger.spend(options.account, plan, rho=options.rho, delta=options.delta, **said)
    words = f"Spent {cost(_above(made.cost))} under the key {made.key}."
    if made.repeated:
        words = f"The key {made.key} was spent before ({cost(_above(made.cost))}): nothing more was spent."
    more = {"admitted": True, "repeated": made.repeated, "key": made.key, "cost": exact(made.cost)}
    return _told(ledger, options, made.account, words, **more)


def _reserve(ledger: Ledger, options: Namespace) -> int:
    if (options.plan is None) == (options.rho is None):
        raise BadUsage("give a plan, or --rho")
    plan, stated = (None, {}) if options.plan is None else plan_from(options.plan)
    ledger.account(options.account).terms.agree(**stated)
    made = ledger.reserve(
        options.account,
        plan,
        rho=options.rho,
        delta=options.delta,
        key=options.key,
        expires=options.expires,
        why=_why(options),
        who=options.who,
    )
    words = (
        f"Reserved {cost(_above(made.cost))} under the key {made.key} until {made.until[:19].replace('T', ' ')} UTC."
    )
    more = {"admitted": True, "repeated": made.repeated, "key": made.key, "cost": exact(made.cost), "until": made.until}
    return _told(ledger, options, made.account, words, **more)


def _commit(ledger: Ledger, options: Namespace) -> int:
    made = ledger.commit(options.account, options.key, why=options.why, who=options.who)
    more = {"admitted": True, "repeated": made.repeated, "key": made.key, "cost": exact(made.cost)}
    words = f"Spent {cost(_above(made.cost))} under the key {made.key}, as it was reserved."
    return _told(ledger, options, made.account, words, **more)


def _release(ledger: Ledger, options: Namespace) -> int:
    made = ledger.give_back(options.account, options.key, why=options.why, who=options.who)
    words = f"What was reserved under the key {made.key} {'expired' if made.kind == 'expire' else 'was given back'}."
    return _told(ledger, options, made.account, words, key=made.key, ended=made.kind)


def _above(number: Fraction) -> float:
    """The cost as a float; a positive cost too small for a float becomes the smallest positive one, not 0."""
    return float(number) or (5e-324 if number else 0.0)


def _raise(ledger: Ledger, options: Namespace) -> int:
    account = ledger.raise_budget(
        options.account, rho=options.rho, epsilon=options.epsilon, why=options.why, who=options.who
    )
    return _told(ledger, options, account.name, f"The budget of {account.name} was raised.")


def _lower(ledger: Ledger, options: Namespace) -> int:
    account = ledger.lower_budget(
        options.account, rho=options.rho, epsilon=options.epsilon, why=options.why, who=options.who
    )
    return _told(ledger, options, account.name, f"The budget of {account.name} was lowered.")


def _close(ledger: Ledger, options: Namespace) -> int:
    account = ledger.close_account(options.account, why=options.why, who=options.who)
    return _told(ledger, options, account.name, f"Account {account.name} is closed: nothing more is spent from it.")


def _forget(ledger: Ledger, options: Namespace) -> int:
    count = ledger.forget(options.name, why=options.why)
    if options.json:
        print_json({"erased": count, "head": ledger.head})
    else:
        line(f"Erased under {count} commitments. Backups and exports may still have the name.")
    return 0


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
                "reserved": exact(one.reserved),
                "remaining": exact(one.remaining),
                "above": list(one.above),
                "period": one.period,
                "closed": one.closed,
                **({"delta_remaining": exact(one.delta_remaining)} if one.delta_budget else {}),
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
    names = ledger.names()
    for text in history_table([entry._replace(who=names.get(entry.who, entry.who)) for entry in entries]):
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
    findings = ledger.verify().findings if options.dry_run else ()
    before, now = ledger.upgrade(dry_run=options.dry_run), len(STEPS["sqlite"])
    if options.json:
        told = {"dry_run": True, "findings": [*map(spelled, findings)]} if options.dry_run else {}
        print_json({"before": before, "now": now, **told, "head": ledger.head})
        return 1 if findings else 0
    for text in findings:
        line(red(spelled(text)))
    done = "Would be upgraded" if options.dry_run else "Upgraded"
    line(f"Schema {now} already." if before == now else f"{done} from schema {before} to {now}.")
    if options.dry_run:
        line("Nothing was changed. Older versions of zcdp refuse a ledger that was upgraded.")
    return 1 if findings else 0


def _plan(options: Namespace) -> int:
    from zcdp.ledger.shares import ways

    workload, stated = plan_from(options.plan)
    neighbours = options.neighbours or stated.get("neighbours", "add-remove")
    found = ways(
        workload,
        epsilon=options.epsilon,
        delta=options.delta,
        neighbours=neighbours,
        approximate=options.approximate,
        each=options.each,
    )
    if options.json:
        rows = [{"counts": way.name, "orders": [*map(exact, way.orders)], "admits": way.admits} for way in found]
        print_json({"epsilon": options.epsilon, "delta": options.delta, "ways": rows})
        return 0
    opened = {"rho": "--epsilon and --delta alone", "one order": "--order", "several orders": "Filter, in one process"}
    rows_shown = [["counted by", "admits", "opened by"]]
    for way in found:
        order = f" {float(way.orders[0]):g}" if way.name == "one order" else ""
        rows_shown.append([way.name, f"{way.admits:,}", opened[way.name] + order])
    for text in table_lines(rows_shown, "<><"):
        line(text)
    line()
    line(dim("such releases, each of which may depend on the results before it; the order is fixed when it is opened"))
    return 0


def _sql(options: Namespace) -> int:
    names = STEPS["postgres"] if options.which == "schema" else ["roles.sql"]
    text = "\n".join(script(name) for name in names)
    if options.json:
        print_json({"which": options.which, "sql": text})
    else:
        line(text.rstrip())
    return 0
