"""`zcdp account`: what a plan costs, on the terminal, as JSON, or as a report."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from textwrap import wrap
from typing import Any

from zcdp.accounting.statement import account
from zcdp.cli.columns import columns
from zcdp.cli.extras import extra
from zcdp.cli.files import check_writable, write_whole
from zcdp.cli.ledger_fit import fits, print_fit
from zcdp.cli.numbers import cost, gain, lower, percent
from zcdp.cli.output import print_json
from zcdp.cli.rows import query_lines
from zcdp.cli.terminal import Progress, bold, dim, green, line, red, shown, width

__all__ = ["run"]

SHOWN = 20
NEIGHBOURS = {
    "add_remove": "neighbours that differ by one record, added or removed (add_remove)",
    "replace": "neighbours that differ in one record, replaced (replace)",
}
ROUTES = {
    "profile": "privacy profile",
    "rdp": "Renyi curve",
    "zcdp": "tight rho alone",
    "pure": "pure epsilons added up",
}


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
    if options.ledger:
        facts["ledger"] = fits(options.ledger, options.account, options.plan)
    if render:
        write_whole(options.html, render(facts))
    if options.json:
        print_json(facts)
    else:
        _print(shown(facts), everything=options.all)
        if options.ledger:
            line()
            print_fit(facts["ledger"])
        if options.html:
            line(f"\nReport written to {options.html}")
    over = facts["budget"] and facts["budget"]["exceeded"]
    return 1 if over or not facts.get("ledger", {"fits": True})["fits"] else 0


def _source(text: str) -> str | Path:
    """The name of a file, or an expression."""
    try:
        is_file = text.endswith(".toml") or (bool(text) and Path(text).exists())
    except (OSError, ValueError):  # too long for a name, or a null character
        is_file = False
    return Path(text) if is_file else text


def _print(facts: dict[str, Any], *, everything: bool) -> None:
    line(bold(facts["title"] or facts["source"]))
    for text in wrap(facts["description"] or "", width()):
        line(dim(text))
    line()
    _queries(facts["queries"], everything=everything)
    line()
    _total(facts)
    if facts["budget"]:
        line()
        _budget(facts["budget"])


def _queries(queries: list[dict[str, Any]], *, everything: bool) -> None:
    shown = queries
    if len(queries) > SHOWN and not everything:
        shown = sorted(queries, key=lambda query: -query["rho"])[:SHOWN]
    rows = [["query", "uses", "mechanism", "rho", "share", "saved"]]
    for query in shown:
        bound = "" if query["is_tight"] else "*"
        rows.append(
            [
                query["name"],
                f"{query['count']}",
                query["mechanism"],
                cost(query["rho"]) + bound,
                percent(query["share"]),
                gain(query["saved"]),
            ]
        )
    for text in query_lines(rows, "<><>>>"):
        line(text)
    if len(shown) < len(queries):
        rest = sum(query["share"] for query in queries) - sum(query["share"] for query in shown)
        line(dim(f"and {len(queries) - SHOWN} more queries, {percent(rest)} of rho together (--all lists them)"))
    if not all(query["is_tight"] for query in shown):
        line(dim("* a proven upper bound, not known to be exact"))


def _total(facts: dict[str, Any]) -> None:
    total, delta = facts["total"], facts["delta"]
    low, high = total["epsilon_bounds"]
    line(f"{bold('rho')}      {bold(cost(total['rho']))}")
    line(f"{bold('epsilon')}  {bold(cost(total['epsilon']))} at delta = {delta:g}, by the {_route(total['route'])}")
    if total["relation"] != "either":
        line(dim(f"         for {NEIGHBOURS[total['relation']]}"))
    if "profile" in total["routes"]:
        same = lower(low) == lower(high) or high - low < 1e-5 * high
        line(dim(f"         certified: never below the truth{'' if same else f', which is at least {lower(low)}'}"))
    else:
        line(dim("         many different mechanisms, so from rho alone: --full is sharper, and slow"))
    line()
    rows = [["the same queries, accounted by", "rho", "epsilon"]]
    for name, epsilon in sorted(total["routes"].items(), key=lambda route: float(route[1])):
        rho = cost(total["rho"]) if name == "zcdp" else ""
        rows.append([_route(name), rho, cost(epsilon)])
    for name, charge in sorted(total["usual"].items(), key=lambda item: item[1]["epsilon"]):
        rows.append([f"{name} each", cost(charge["rho"]), cost(charge["epsilon"])])
    head, *body = columns(rows, "<>>", width=width())
    line(dim(head))
    for text in body:
        line(text)
    if (total["saved_rho"] or 0) > 0:
        saved = f"{gain(total['saved_rho'])} of rho, {gain(total['saved_epsilon'])} of epsilon"
        line(f"Saved against epsilon^2/2: {saved}.")


def _route(name: str) -> str:
    return ROUTES.get(name, name)


def _budget(budget: dict[str, Any]) -> None:
    if budget["rho"] is not None:
        limit = f"rho = {budget['rho']:.15g}"
    else:
        limit = f"epsilon = {budget['epsilon']:.15g} at delta = {budget['delta']:.15g}"
    share, left = percent(budget["spent"]), budget["left"]
    if budget["exceeded"]:
        share = "a little more than 100%" if share == "100.0%" else share
        line(red(f"OVER BUDGET: {share} of {limit}, {cost(-left, 4)} too much."))
    else:
        line(green(f"Within budget: {share} of {limit}, {lower(left, 4)} left."))
