"""The actions of `zcdp ledger` with their options, as subparsers of `argparse`."""

from __future__ import annotations

import argparse
from collections.abc import Callable

__all__ = ["ACTIONS", "ledger_arguments"]

WHERE = "the ledger: a file, or postgresql://host/database (give the password by PGPASSWORD or ~/.pgpass)"
EXPECTED = "a head written down earlier: a restored backup or another copy is refused"
Build = Callable[[argparse.ArgumentParser], None]


def _account(command: argparse.ArgumentParser, *, needed: bool = True) -> None:
    command.add_argument("account", nargs=None if needed else "?", help="its name")


def _words(command: argparse.ArgumentParser, *, needed: bool = False) -> None:
    command.add_argument("--why", default="", required=needed, help="what for: goes on the record")
    command.add_argument("--who", default="", help="who asks: goes on the record beside the login")


def _budget(command: argparse.ArgumentParser) -> None:
    command.add_argument("--rho", help="the budget as rho")
    command.add_argument("--epsilon", help="or as epsilon, at --delta")


def _open(command: argparse.ArgumentParser) -> None:
    _account(command)
    command.add_argument("--unit", required=True, help="whom the budget protects: person, household, device ...")
    command.add_argument("--neighbours", default="add-remove", help="add-remove, replace or local")
    _budget(command)
    command.add_argument("--delta", help="delta of an epsilon")
    command.add_argument("--order", help="count an epsilon at this Renyi order, for good")
    command.add_argument("--workload", metavar="PLAN", help="or at the best order for many such plans")
    _words(command)


def _spend(command: argparse.ArgumentParser) -> None:
    _account(command)
    command.add_argument("plan", nargs="?", help="a plan file (TOML), or an expression")
    command.add_argument("--rho", help="a cost that is known otherwise")
    command.add_argument("--key", required=True, help="names this spend: the same key again spends nothing")
    _words(command)


def _status(command: argparse.ArgumentParser) -> None:
    _account(command, needed=False)


def _history(command: argparse.ArgumentParser) -> None:
    _account(command, needed=False)
    command.add_argument("--limit", type=int, default=20, help="so many of the latest (20)")
    command.add_argument("--all", action="store_true", help="all entries")


def _export(command: argparse.ArgumentParser) -> None:
    command.add_argument("--out", metavar="FILE", help="write JSON lines to this file")


def _import(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", help="JSON lines that were exported")


def _raise(command: argparse.ArgumentParser) -> None:
    _account(command)
    _budget(command)
    _words(command, needed=True)


def _report(command: argparse.ArgumentParser) -> None:
    _account(command, needed=False)
    command.add_argument("--html", metavar="FILE", help="write the page to this file")
    command.add_argument("--delta", default="1e-6", help="delta at which to tell epsilon (1e-6)")


def _nothing(command: argparse.ArgumentParser) -> None:
    """Add no arguments: the action has none of its own."""


def _sql(command: argparse.ArgumentParser) -> None:
    command.add_argument("which", choices=("schema", "roles"), help="for PostgreSQL: tables and functions, or roles")


ACTIONS: dict[str, tuple[str, Build]] = {
    "open": ("open an account with a budget; makes the ledger where there is none", _open),
    "spend": ("charge a plan to an account, if it fits", _spend),
    "status": ("what was spent and what remains", _status),
    "history": ("the entries", _history),
    "verify": ("check chain, sums, seals and costs", _nothing),
    "export": ("all entries as JSON lines", _export),
    "import": ("make a new ledger of exported lines", _import),
    "raise": ("a larger budget, with a reason, on the record", _raise),
    "report": ("the statement for the privacy office, as a page", _report),
    "upgrade": ("bring an old ledger to this version's schema", _nothing),
    "sql": ("print the SQL for PostgreSQL, to be read or run by its owner", _sql),
}


def ledger_arguments(command: argparse.ArgumentParser) -> None:
    """Add a subparser for each action to the parser of `zcdp ledger`."""
    kind = type(command)
    actions = command.add_subparsers(dest="action", required=True, metavar="action", parser_class=kind)
    for name, (summary, build) in ACTIONS.items():
        action = actions.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if name != "sql":
            action.add_argument("ledger", help=WHERE)
        build(action)
        if name not in ("open", "import", "sql", "upgrade"):
            action.add_argument("--expect-head", metavar="HEAD", help=EXPECTED)
        action.add_argument("--json", action="store_true", help="print JSON, with nothing rounded")
