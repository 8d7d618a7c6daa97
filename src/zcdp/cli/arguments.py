"""The command line: all commands, and the actions of `zcdp ledger`, with options and help texts, by `argparse`."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, NoReturn

from zcdp.errors import MissingExtra, ZcdpError

__all__ = ["ACTIONS", "COMMANDS", "PLAN_FILE", "BadUsage", "arguments", "extra", "ledger_arguments"]

# The actions of `zcdp ledger`.

WHERE = "the ledger: a file, or postgresql://host/database (give the password by PGPASSWORD or ~/.pgpass)"
EXPECTED = "a head written down earlier: a restored backup or another copy is refused"
Build = Callable[[argparse.ArgumentParser], None]


def _account_name(command: argparse.ArgumentParser, *, needed: bool = True) -> None:
    command.add_argument("account", nargs=None if needed else "?", help="its name")


def _words(command: argparse.ArgumentParser, *, needed: bool = False) -> None:
    command.add_argument("--why", default="", required=needed, help="what for: goes on the record")
    command.add_argument("--who", default="", help="who asks: goes on the record beside the login")
    command.add_argument("--private-who", action="store_true", help="a commitment does, and the name can be erased")


def _budget(command: argparse.ArgumentParser) -> None:
    command.add_argument("--rho", help="the budget as rho")
    command.add_argument("--epsilon", help="or as epsilon, at --delta")


def _open(command: argparse.ArgumentParser) -> None:
    _account_name(command)
    command.add_argument("--unit", required=True, help="whom the budget protects: person, household, device ...")
    command.add_argument("--neighbours", default="add-remove", help="add-remove, replace or local")
    _budget(command)
    command.add_argument("--delta", help="delta of an epsilon")
    command.add_argument("--order", help="count an epsilon at this Renyi order, for good")
    command.add_argument("--workload", metavar="PLAN", help="or at the best order for many such plans")
    command.add_argument("--approximate", metavar="DELTA", help="spends may have a delta, up to this sum")
    command.add_argument("--under", metavar="ACCOUNT", help="a cap within this account: spends are charged to both")
    command.add_argument("--every", metavar="PERIOD", help="the budget anew each day, week, month, quarter or year")
    command.add_argument("--zone", help="the time zone of --every (UTC)")
    _words(command)


def _spend(command: argparse.ArgumentParser) -> None:
    _account_name(command)
    command.add_argument("plan", nargs="?", help="a plan file (TOML), or an expression")
    command.add_argument("--rho", help="a cost that is known otherwise")
    command.add_argument("--delta", help="it holds but for an event of this probability (approximate zCDP)")
    command.add_argument("--key", required=True, help="names this spend: the same key again spends nothing")
    _words(command)


def _reserve(command: argparse.ArgumentParser) -> None:
    _spend(command)
    command.add_argument("--expires", required=True, metavar="SECONDS", type=float, help="given back after so long")


def _reserved(command: argparse.ArgumentParser) -> None:
    _account_name(command)
    command.add_argument("--key", required=True, help="the key of the reservation")
    _words(command)


def _close(command: argparse.ArgumentParser) -> None:
    _account_name(command)
    _words(command, needed=True)


def _forget(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", help="the name, as it was given by --who with --private-who")
    command.add_argument("--why", required=True, help="the reason, without the name: goes on the record")


def _upgrade(command: argparse.ArgumentParser) -> None:
    command.add_argument("--dry-run", action="store_true", help="see that it can be done, and change nothing")


def _status(command: argparse.ArgumentParser) -> None:
    _account_name(command, needed=False)


def _history(command: argparse.ArgumentParser) -> None:
    _account_name(command, needed=False)
    command.add_argument("--limit", type=int, default=20, help="so many of the latest (20)")
    command.add_argument("--all", action="store_true", help="all entries")


def _export(command: argparse.ArgumentParser) -> None:
    command.add_argument("--out", metavar="FILE", help="write JSON lines to this file")


def _import(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", help="JSON lines that were exported")


def _raise(command: argparse.ArgumentParser) -> None:
    _account_name(command)
    _budget(command)
    _words(command, needed=True)


def _report(command: argparse.ArgumentParser) -> None:
    _account_name(command, needed=False)
    command.add_argument("--html", metavar="FILE", help="write the page to this file")
    command.add_argument("--delta", default="1e-6", help="delta at which to tell epsilon (1e-6)")


def _plan(command: argparse.ArgumentParser) -> None:
    command.add_argument("plan", help="a release as it will be repeated: a plan file (TOML), or an expression")
    command.add_argument("--epsilon", required=True, help="epsilon to be held")
    command.add_argument("--delta", required=True, help="delta to be held")
    command.add_argument("--neighbours", help="add-remove, replace or local; else those of the plan file")
    command.add_argument("--approximate", metavar="DELTA", help="the part of delta that releases may give away")
    command.add_argument("--each", metavar="DELTA", help="the delta of one such release")


def _nothing(command: argparse.ArgumentParser) -> None:
    """Add no arguments: the action has none of its own."""


def _sql(command: argparse.ArgumentParser) -> None:
    command.add_argument("which", choices=("schema", "roles"), help="for PostgreSQL: tables and functions, or roles")


ACTIONS: dict[str, tuple[str, Build]] = {
    "plan": ("compare ways to hold an epsilon and delta, before an account is opened", _plan),
    "open": ("open an account with a budget; makes the ledger where there is none", _open),
    "spend": ("charge a plan to an account, if it fits", _spend),
    "reserve": ("keep the cost of a plan back, until it is committed, released or expires", _reserve),
    "commit": ("make a reservation a spend", _reserved),
    "release": ("give a reservation back, before anything was spent under its key", _reserved),
    "status": ("what was spent and what remains", _status),
    "history": ("the entries", _history),
    "verify": ("check chain, sums, seals and costs", _nothing),
    "export": ("all entries as JSON lines", _export),
    "import": ("make a new ledger of exported lines", _import),
    "raise": ("a larger budget, with a reason, on the record", _raise),
    "lower": ("a smaller budget, that covers what is spent and reserved, with a reason", _raise),
    "close": ("close an account to further spends, for good, with a reason", _close),
    "forget": ("erase a person's name that was given with --private-who; the chain stays whole", _forget),
    "report": ("the statement for the privacy office, as a page", _report),
    "upgrade": ("bring an old ledger to this version's schema, forwards only", _upgrade),
    "sql": ("print the SQL for PostgreSQL, to be read or run by its owner", _sql),
}


def ledger_arguments(command: argparse.ArgumentParser) -> None:
    """Add a subparser for each action to the parser of `zcdp ledger`."""
    kind = type(command)
    actions = command.add_subparsers(dest="action", required=True, metavar="action", parser_class=kind)
    for name, (summary, build) in ACTIONS.items():
        action = actions.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if name not in ("sql", "plan"):
            action.add_argument("ledger", help=WHERE)
        build(action)
        if name not in ("open", "import", "sql", "upgrade", "plan"):
            action.add_argument("--expect-head", metavar="HEAD", help=EXPECTED)
        action.add_argument("--json", action="store_true", help="print JSON, with nothing rounded")


# The commands.


PLAN_FILE = """

A plan file is TOML:
  title, description, delta           all optional
  [budget]   rho, or epsilon and delta
  [collection]  k, rounds, answered, clients, values = ["tea", "none"] (names),
                low, high (of a number), beside one local randomizer
  [[query]]  name, mechanism = "Laplace(epsilon=0.1)", count, note, weight,
             sd or half_width (with level): what allocate is to reach

A plan of tables, for zcdp release, has
  [data]     unit = "person_id", neighbours, account, vintage = "2026-Q1",
             key = "{vintage}"
  [domain]   region = ["R01", "R02"], age = { from = 0, to = 100, step = 5 }
  [[query]]  name, measure = "count", by, where, max_cells, mechanism,
             adds_up = "population" (tables that are adjusted to add up) ..."""


# Examples in the help texts.

RHO = "RandomizedResponse(epsilon=1, k=2925)"
PLAN = "100 * Laplace(epsilon=0.1) + RAPPOR(epsilon=1)"
TRAINING = "--examples 60000 --batch 256 --epochs 60"


class BadUsage(ZcdpError):
    """Wrong or contradictory arguments on the command line; exit code 2."""


class _Help(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=79)


class _Parser(argparse.ArgumentParser):
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does, but for an unknown option suggest the most similar known one."""
        found, rest = super().parse_known_args(args, namespace)
        if rest and rest[0].startswith("--"):
            from zcdp.text.suggestions import unknown

            known = [option for option in self._option_string_actions if option.startswith("--")]
            self.error(unknown("option", rest[0].split("=")[0], known))
        return found, rest

    def error(self, message: str) -> NoReturn:
        choice = "invalid choice: "
        if choice in message and "command" in message:
            from zcdp.text.suggestions import unknown

            given = message.split(choice)[1].split("'")[1]
            message = unknown("command", given, COMMANDS)
        elif choice in message and "argument action" in message:
            from zcdp.text.suggestions import unknown

            message = unknown("action", message.split(choice)[1].split("'")[1], ACTIONS)
        message = re.sub(r"(\w+://)[^\s@/]*@", r"\1", message)  # an address may hold a password
        raise BadUsage(f"{message} ({self.prog} --help says more)")


OF_THE_PAPER = "table", "figure"
"""Commands implemented in `cli/paper_command.py`; every other one has a module of its own."""


def _lazy(name: str) -> Callable[[Any], int]:
    """A function that imports the command's module and runs it: imports on use make each command start fast."""

    def run(options: Any) -> int:
        module, function = ("paper", f"run_{name}") if name in OF_THE_PAPER else (name, "run")
        code: int = getattr(import_module(f"zcdp.cli.{module}_command"), function)(options)
        return code

    return run


def arguments() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = _Parser(
        prog="zcdp",
        description="How much privacy was spent: exact, certified zCDP accounting.",
        epilog="zcdp COMMAND --help has examples. Exit codes: 0 fine, 1 over budget, 2 bad input.",
        formatter_class=_Help,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and stop")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command", parser_class=_Parser)
    for name, (summary, examples, build) in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=summary,
            description=summary[0].upper()
            + summary[1:]
            + "."
            + (PLAN_FILE if name in ("account", "allocate", "release") else ""),
            epilog="examples:\n" + "\n".join(f"  zcdp {name} {example}".rstrip() for example in examples),
            formatter_class=_Help,
        )
        build(command)
        command.set_defaults(run=_lazy(name))
    return parser


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        import zcdp

        sys.stdout.write(f"zcdp {zcdp.__version__}\n")
        parser.exit(0)


def _json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print JSON, with nothing rounded")


def _rho(command: argparse.ArgumentParser) -> None:
    command.add_argument("expression", help="a mechanism, or a sum of counted mechanisms")
    _json(command)


def _account(command: argparse.ArgumentParser) -> None:
    command.add_argument("plan", help="a plan file (TOML), a list of releases (CSV), or an expression")
    command.add_argument("--delta", help="delta of (epsilon, delta)-DP; else that of the file, or 1e-6")
    command.add_argument("--html", metavar="FILE", help="write a report to this file")
    command.add_argument("--risk", action="store_true", help="say what an attacker gains who looks for a person")
    command.add_argument("--tradeoff", metavar="FILE", help="write true positive rates at false positive rates as CSV")
    command.add_argument("--full", action="store_true", help="exact profile of more than 2000 different mechanisms too")
    command.add_argument("--all", action="store_true", help="list every query, not only the costliest twenty")
    command.add_argument("--ledger", metavar="LEDGER", help="say whether it would fit an account of this ledger")
    command.add_argument("--account", metavar="NAME", help="the account, where the ledger has several")
    _json(command)


def _explore(command: argparse.ArgumentParser) -> None:
    command.add_argument("plan", nargs="?", help="a plan file (TOML); one that is not there yet is made by Save")
    command.add_argument("--ledger", metavar="LEDGER", help="show what is left there, and what the plan would take")
    command.add_argument("--account", metavar="NAME", help="the account, where the ledger has several")
    command.add_argument("--port", type=int, default=0, help="on this machine alone (any that is free)")
    command.add_argument("--no-browser", action="store_true", help="print the address, and open nothing")


def _calibrate(command: argparse.ArgumentParser) -> None:
    command.add_argument("expression", help="a plan in which each ? is the one parameter to find")
    _within(command)
    _risk(command)
    _json(command)


def _allocate(command: argparse.ArgumentParser) -> None:
    command.add_argument("plan", help="a plan file; a parameter to find is written ?, such as Laplace(epsilon=?)")
    command.add_argument("--rho", help="the budget as rho; else that of the file")
    command.add_argument("--epsilon", help="or as epsilon, at --delta or the delta of the file")
    command.add_argument("--delta", help="delta of the budget")
    _risk(command)
    command.add_argument(
        "--objective",
        choices=("worst", "total"),
        default="worst",
        help="equal relative errors (worst, unless told), or the least sum of their squares",
    )
    command.add_argument("--ledger", metavar="LEDGER", help="the budget is a --share of an account of this ledger")
    command.add_argument("--account", metavar="NAME", help="the account, where the ledger has several")
    command.add_argument("--share", metavar="PART", help="such as 1/4: of the account's whole budget, unless told")
    command.add_argument("--share-of", choices=("whole", "remaining"), default="whole", help="or of what remains")
    command.add_argument("--out", metavar="FILE", help="write the plan file with the noise filled in")
    _json(command)


def _sgd(command: argparse.ArgumentParser) -> None:
    command.add_argument("--examples", help="how many there are")
    command.add_argument("--batch", help="how many are drawn in a step, on average")
    command.add_argument("--rate", help="in place of --batch: the probability that a step draws an example, as 1/235")
    command.add_argument("--epochs", help="how often each is seen, on average: ceil(epochs * examples / batch) steps")
    command.add_argument("--steps", help="in place of --epochs: how often noise is added")
    command.add_argument("--sigma", help="noise on the sum of clipped gradients, as a multiple of the clipping norm C")
    command.add_argument("--epsilon", help="or the budget, to find the noise for it")
    command.add_argument("--delta", required=True, help="delta of (epsilon, delta)-DP")
    command.add_argument("--fixed", action="store_true", help="batches of exactly that size: one example moves 2 C")
    command.add_argument(
        "--allocation", action="store_true", help="in each epoch each example goes to one of the batches, at random"
    )
    command.add_argument("--truncated", metavar="MOST", help="larger batches are cut to so many examples")
    command.add_argument(
        "--schedule",
        metavar="EPOCHS:FACTOR,...",
        help="in place of --epochs: noise of FACTOR times sigma, as 20:1.5,40:1",
    )
    command.add_argument(
        "--users",
        nargs="?",
        const="whole",
        metavar="EXAMPLES",
        help="neighbours differ by a user: with at most so many examples, or drawn and clipped as a whole",
    )
    _json(command)


def _within(command: argparse.ArgumentParser) -> None:
    command.add_argument("--rho", help="the budget as rho")
    command.add_argument("--epsilon", help="or as epsilon, at --delta")
    command.add_argument("--delta", help="delta of the budget (0: pure DP)")


def _risk(command: argparse.ArgumentParser) -> None:
    command.add_argument("--advantage", help="or as true less false positive rate of any attack")
    command.add_argument("--tpr", help="or as the share of members that an attack finds, at --fpr")
    command.add_argument("--fpr", help="the share of others that it takes for members")


def _choose(command: argparse.ArgumentParser) -> None:
    command.add_argument("--k", help="how many values there are")
    command.add_argument("--values", metavar="NAMES", help="or what they are called, with commas between them")
    command.add_argument("--number", action="store_true", help="or a number from --low to --high, whose mean is asked")
    command.add_argument("--low", help="the least number that a client may hold")
    command.add_argument("--high", help="the largest")
    command.add_argument("--quantiles", action="store_true", help="of a number its quantiles are asked, not its mean")
    command.add_argument("--steps", metavar="N", help="of the grid of a number (256; for quantiles 32)")
    command.add_argument("--clients", required=True, help="how many clients there are")
    command.add_argument("--rounds", default="1", help="how many rounds (1 unless told)")
    _within(command)
    command.add_argument("--every-round", action="store_true", help="clients must answer every round")
    command.add_argument("--frequency", help="of which the error is to be least (1/k unless told)")
    command.add_argument("--shuffled", action="store_true", help="the reports of a round are shuffled by someone else")
    command.add_argument("--most-bytes", metavar="N", help="of a report (1024 unless told; none: no limit)")
    command.add_argument("--most-draws", metavar="N", help="of random numbers by a client for a report (100000)")
    command.add_argument("--most-memory", metavar="N", help="of a server that counts, in bytes (2 GiB)")
    command.add_argument("--pick", metavar="ROW", default="1", help="another row of the table than the best, 1")
    command.add_argument("--out", metavar="FILE", help="write the design as a plan file")
    command.add_argument("--client", metavar="FILE", help="write it as a design file for clients, in JSON")
    _json(command)


def _randomize(command: argparse.ArgumentParser) -> None:
    command.add_argument("plan", help="a plan file with a [collection]")
    command.add_argument("values", help="a Parquet or CSV file of values, one for each client: 0 to k-1, or names")
    command.add_argument("--column", help="the column of the values; else the only one")
    command.add_argument("--out", metavar="FILE", required=True, help="a new Parquet file for the reports")
    command.add_argument("--rows", action="store_true", help="one report a row, not packed blocks of many")
    command.add_argument("--round", type=int, default=1, help="which of the rounds that a client answers (1)")
    _json(command)


def _estimate(command: argparse.ArgumentParser) -> None:
    command.add_argument("plan", help="the plan file that the reports were made with")
    command.add_argument("reports", nargs="+", help="Parquet files of reports, or shards that --count wrote")
    command.add_argument("--count", metavar="FILE", help="only count these reports, into a shard to be added up later")
    command.add_argument("--top", type=int, metavar="N", help="only the N most frequent values")
    command.add_argument(
        "--heavy", nargs="?", const="0", metavar="SHARE", help="only values whose interval is above a share (0)"
    )
    command.add_argument("--quantile", metavar="SHARE", action="append", help="of a number, as 1/2; may be repeated")
    command.add_argument("--engine", choices=("pyarrow", "duckdb"), default="pyarrow", help="what reads the files")
    command.add_argument("--level", default="0.95", help="at which all intervals hold together (0.95)")
    command.add_argument("--population", action="store_true", help="speak of the population, not of these clients")
    command.add_argument("--csv", metavar="FILE", help="write a table of all values")
    command.add_argument("--html", metavar="FILE", help="write a page with a chart")
    _json(command)


def _gather(command: argparse.ArgumentParser) -> None:
    command.add_argument("design", help="the design file that clients have, in JSON")
    command.add_argument("messages", nargs="+", help="files of messages, one on each line")
    command.add_argument("--day", type=int, default=1, help="of which the reports are written (1)")
    command.add_argument("--out", metavar="FILE", required=True, help="a new Parquet file for the reports")
    _json(command)


def _heavy(command: argparse.ArgumentParser) -> None:
    actions = command.add_subparsers(dest="action", required=True, metavar="action", parser_class=type(command))
    design = actions.add_parser("design", help="how clients report", description="How clients report strings.")
    design.add_argument("--epsilon", required=True, help="of the one report of each client")
    design.add_argument("--alphabet", default="a-z", help="the characters of strings, with ranges (a-z)")
    design.add_argument("--length", required=True, help="the most characters that a string has")
    design.add_argument("--delta", default="1e-6", help="at which epsilon is printed (1e-6)")
    design.add_argument("--out", metavar="FILE", help="write the design, in JSON")
    randomize = actions.add_parser("randomize", help="strings into reports: once", description="Strings into reports.")
    randomize.add_argument("design", help="the design file")
    randomize.add_argument("values", help="a Parquet or CSV file of strings, one for each client")
    randomize.add_argument("--column", help="the column of the strings; else the only one")
    randomize.add_argument("--out", metavar="FILE", required=True, help="a new Parquet file for the reports")
    find = actions.add_parser("find", help="the frequent strings", description="The most frequent strings.")
    find.add_argument("design", help="the design file that the reports were made with")
    find.add_argument("reports", nargs="+", help="Parquet files of reports")
    find.add_argument("--top", default="50", help="how many strings (50)")
    find.add_argument("--level", default="0.95", help="at which all intervals hold together (0.95)")
    find.add_argument("--csv", metavar="FILE", help="write a table of them")
    for action in (design, randomize, find):
        _json(action)


def _release(command: argparse.ArgumentParser) -> None:
    command.add_argument("plan", help="a plan file with [data], [domain] and queries that measure something")
    command.add_argument("data", help="a Parquet or CSV file, one row a record")
    command.add_argument("--out", metavar="FOLDER", required=True, help="a new or empty folder for the tables")
    command.add_argument("--ledger", metavar="LEDGER", help="the ledger that is debited, and that keeps the answer")
    command.add_argument("--account", metavar="NAME", help="the account; else that of the plan")
    command.add_argument(
        "--key", help="names this release (else that of the plan): the same key again is free and gives the same bytes"
    )
    command.add_argument("--new", action="store_true", help="refuse a key that was used before: for scheduled jobs")
    command.add_argument("--who", help="who releases, for the record and the report")
    command.add_argument("--no-ledger", action="store_true", help="say that nothing remembers the spend")
    _json(command)


def _table(command: argparse.ArgumentParser) -> None:
    command.add_argument("--format", choices=("markdown", "latex", "csv"), default="markdown", help="of the table")
    command.add_argument("--out", metavar="FILE", help="write it to this file")
    _json(command)


def _figure(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "name", help="mechanisms (the paper's Figure 1); krr, composition, noise, sgd, designs (ours); all"
    )
    command.add_argument("--out", metavar="FILE", required=True, help="a .pdf, .svg or .png")
    _json(command)


def _verify(command: argparse.ArgumentParser) -> None:
    command.add_argument("--deep", action="store_true", help="many more points, and more draws")
    command.add_argument(
        "--prove",
        action="store_true",
        help="prove the paper's theorems for epsilon from 1/1000 to 50 and all orders, by subdivision: some seconds",
    )
    _json(command)


def _audit(command: argparse.ArgumentParser) -> None:
    command.add_argument("outputs", nargs="*", help="two files of outputs, one a line, of two neighbouring inputs")
    command.add_argument("--epsilon", help="the stated epsilon")
    command.add_argument("--delta", help="its delta (0 unless told: pure DP)")
    command.add_argument("--rho", help="the stated rho")
    command.add_argument("--canaries", help="or of one training run: records put in or left out by fair coins")
    command.add_argument("--guesses", help="on how many of them a guess was made")
    command.add_argument("--correct", help="how many guesses were right")
    command.add_argument("--claim", metavar="PLAN", help="what the run is stated to be: a plan file or an expression")
    command.add_argument("--confidence", help="of the bound (0.999999; of a training run 0.95)")
    _json(command)


def _completion(command: argparse.ArgumentParser) -> None:
    command.add_argument("shell", choices=("bash", "zsh", "fish"))
    _json(command)


COMMANDS: dict[str, tuple[str, tuple[str, ...], Callable[[argparse.ArgumentParser], None]]] = {
    "rho": ("tight rho of a mechanism, and what other bounds would charge", (f'"{RHO}"', f'"{PLAN}" --json'), _rho),
    "account": (
        "what a plan costs: each query, the total, epsilon at delta",
        ("examples/census.toml", f'"{PLAN}" --delta 1e-6', "plan.toml --html report.html --json", "plan.toml --risk"),
        _account,
    ),
    "explore": (
        "plan in the browser, on this machine: move a slider, see what it costs",
        ("examples/census.toml", "plan.toml --ledger budget.db", ""),
        _explore,
    ),
    "calibrate": (
        "the least noise that stays within a budget",
        (
            '"1000 * Laplace(epsilon=?)" --epsilon 1 --delta 1e-6',
            '"Laplace(scale=?, sensitivity=3)" --rho 0.1',
            '"100 * Gaussian(sigma=?)" --tpr 0.01 --fpr 0.001',
        ),
        _calibrate,
    ),
    "sgd": (
        "what training by noisy gradients costs, or the noise for a budget",
        (f"{TRAINING} --sigma 1.1 --delta 1e-5", f"{TRAINING} --epsilon 3 --delta 1e-5 --fixed"),
        _sgd,
    ),
    "allocate": (
        "split a budget over the queries of a plan",
        ("plan.toml --out filled.toml", "plan.toml --epsilon 2 --delta 1e-9"),
        _allocate,
    ),
    "release": (
        "from a table to noisy tables: one debit, CSV, Parquet and a report",
        ("plan.toml persons.parquet --out tables --ledger budget.db --key 2026-q1 --new",),
        _release,
    ),
    "ledger": (
        "a budget that lasts: open, spend, status, history, verify, export, import, raise, report",
        (
            "open budget.db census-2026 --unit person --rho 2",
            'spend budget.db census-2026 "Laplace(epsilon=0.1)" --key q1/table-3 --why "ages"',
            "report budget.db --html report.html",
        ),
        ledger_arguments,
    ),
    "choose": (
        "the local randomizer and rounds of least error within a budget",
        ("--k 256 --rounds 30 --epsilon 8 --delta 1e-6 --clients 1e6", "--k 64 --rho 0.1 --clients 1e5 --out a.toml"),
        _choose,
    ),
    "randomize": (
        "clients' values into reports: once",
        ("design.toml values.parquet --out reports.parquet",),
        _randomize,
    ),
    "estimate": (
        "frequencies from reports, with exact intervals",
        ("design.toml reports.parquet --csv estimates.csv --html estimates.html",),
        _estimate,
    ),
    "audit": (
        "put a stated epsilon or rho to the test, by outputs or by one training run",
        (
            "without.csv with.csv --epsilon 1 --delta 1e-5",
            "--canaries 1000 --guesses 100 --correct 95 --delta 1e-5 --epsilon 2",
        ),
        _audit,
    ),
    "gather": (
        "clients' messages into a file of reports",
        ("design.json messages.jsonl --day 7 --out reports.parquet",),
        _gather,
    ),
    "heavy": (
        "frequent strings that nobody listed: design, randomize, find",
        (
            "design --epsilon 4 --alphabet a-z --length 6 --out words.json",
            "randomize words.json words.csv --out reports.parquet",
            "find words.json reports.parquet --top 50",
        ),
        _heavy,
    ),
    "table": ("the paper's Table 1, computed", ("", "--format latex"), _table),
    "figure": ("the paper's figure, and more of its kind", ("all --out fig.pdf", "krr --out krr.svg"), _figure),
    "verify": ("spot checks of every theorem, or proofs on boxes of parameters", ("", "--deep", "--prove"), _verify),
    "completion": (
        "a completion script for your shell",
        ("bash > ~/.local/share/bash-completion/completions/zcdp", "zsh > ~/.zfunc/_zcdp"),
        _completion,
    ),
}


# Optional parts of zcdp, which may not be installed.


def extra(module: str, name: str) -> Any:
    """The attribute `name` of a module of zcdp; raises an error in one line that says what is not installed."""
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name == module or module.startswith(f"{error.name}."):
            raise BadUsage(f"{module} is not part of this installation") from None
        if isinstance(error, MissingExtra):
            raise
        raise MissingExtra(f"this needs {error.name}", extra="plots", name=error.name) from None
