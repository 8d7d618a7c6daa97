"""`zcdp audit`: put a stated epsilon or rho to the test, by outputs of a mechanism or by one training run."""

from __future__ import annotations

import csv
from argparse import Namespace
from math import inf
from pathlib import Path
from random import SystemRandom
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from zcdp.auditing import Audit, audit
from zcdp.cli.account_command import source_of
from zcdp.cli.arguments import BadUsage
from zcdp.cli.output import bold, green, line, print_json, red, width
from zcdp.numeric.exact import rational
from zcdp.text.numbers import cost, lower
from zcdp.training_audit import TrainingAudit, audit_training

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["run"]

CANARIES = ("canaries", "guesses", "correct")


def run(options: Namespace) -> int:
    """Print what the audit shows; exit code 1 if it refutes what is stated."""
    given = [name for name in CANARIES if getattr(options, name) is not None]
    if given and options.outputs:
        raise BadUsage("give two files of outputs, or --canaries, --guesses and --correct, not both")
    if given:
        return _training(options, given)
    if len(options.outputs) != 2:
        raise BadUsage("give two files of outputs, of two neighbouring inputs; or --canaries, --guesses and --correct")
    if options.claim is not None:
        raise BadUsage("--claim is for a training run: give --epsilon, with --delta, or --rho")
    if options.epsilon is None and options.rho is None:
        raise BadUsage("say what is stated: --epsilon, at --delta if it is approximate, or --rho")
    first, second = (_outputs(Path(one)) for one in options.outputs)
    if first.dtype.kind != second.dtype.kind or first.shape[1:] != second.shape[1:]:
        raise BadUsage("the outputs of the two files are of different kinds: numbers and text, or of other lengths")
    size = min(len(first), len(second))
    found = audit(
        (lambda n: first[:n], lambda n: second[:n]),
        epsilon=None if options.epsilon is None else float(rational(options.epsilon, "epsilon")),
        rho=None if options.rho is None else float(rational(options.rho, "rho")),
        delta=options.delta or 0,
        draws=size,
        confidence=float(rational(options.confidence or "0.999999", "confidence")),
    )
    if options.json:
        print_json({**_plain(found), "violated": found.violated})
    else:
        _print(found)
    return 1 if found.violated else 0


def _outputs(path: Path) -> NDArray[Any]:
    """The outputs in a file, one a line, shuffled: a file may be sorted, and its halves must be alike.

    Whole numbers, numbers, or text; several columns, as of CSV, are one output together.
    """
    import numpy as np

    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadUsage(f"{path}: {error}") from None
    if len(rows) < 2:
        raise BadUsage(f"{path}: has {len(rows)} outputs, and an audit needs at least 2")
    if len({len(row) for row in rows}) > 1:
        raise BadUsage(f"{path}: lines must all have the same number of columns")
    for kind in (np.int64, np.float64, str):
        try:
            table = np.array([[kind(one) for one in row] for row in rows])
        except (ValueError, OverflowError):
            continue
        order = list(range(len(table)))
        SystemRandom().shuffle(order)
        return table[order, 0] if table.shape[1] == 1 else table[order]
    raise AssertionError("every field is text")


def _plain(found: Audit | TrainingAudit) -> dict[str, Any]:
    """The fields for JSON; the law, which is long, by its two lists of probabilities."""
    law = getattr(found, "law", None)
    facts = {name: value for name, value in vars(found).items() if name != "law" and not name.startswith("_")}
    if law is not None:
        facts["law"] = {"p": [float(one) for one in law.p], "q": [float(one) for one in law.q]}
    return {name: "inf" if value == inf else value for name, value in facts.items()}


def _verdict(violated: bool, confidence: float) -> None:
    risk = f"{1 - confidence:.3g}"
    if violated:
        line(red(f"VIOLATED: what is stated is false (a true statement is called so with probability {risk} at most)."))
    else:
        line(green("Not refuted. That is no proof: a leak that this test does not look for stays unseen."))


def _print(found: Audit) -> None:
    at = f" at delta = {found.delta:g}" if found.delta else ""
    told = "" if found.epsilon == inf else f"; stated: {cost(found.epsilon)}"
    line(f"{bold('epsilon')}  at least {lower(found.epsilon_lower)}{at}{told}")
    if found.law is not None:
        told = "" if found.rho == inf else f"; stated: {cost(found.rho)}"
        line(f"{bold('rho')}      at least {lower(found.rho_lower)}{told}")
    line(f"         by {found.event}")
    line(f"         from {found.draws} outputs of each input: so many show {lower(found.at_best, 4)} at best")
    line()
    _verdict(found.violated, found.confidence)


# One training run.


def _training(options: Namespace, given: list[str]) -> int:
    if len(given) < len(CANARIES):
        raise BadUsage("give --canaries, --guesses and --correct together")
    if options.rho is not None:
        raise BadUsage("a training run is compared with --epsilon at --delta, or with a --claim")
    if options.claim is not None and options.epsilon is not None:
        raise BadUsage("give --epsilon, or a --claim, not both")
    claim = None
    if options.claim is not None:
        from zcdp.accounting.plan_account import plan_of
        from zcdp.privacy.curve import Plan

        entries = plan_of(source_of(options.claim)).entries
        claim = Plan.sum_of(*(Plan.repeated(one.plan, one.count) for one in entries if one.plan is not None))
    found = audit_training(
        canaries=options.canaries,
        guesses=options.guesses,
        correct=options.correct,
        delta=options.delta or 0,
        confidence=options.confidence or "0.95",
        claim=claim,
    )
    stated = None if options.epsilon is None else float(rational(options.epsilon, "epsilon"))
    violated = found.violated if stated is None else found.epsilon_lower > stated
    if options.json:
        print_json({**_plain(found), "epsilon": stated, "violated": violated})
        return 1 if violated else 0
    told = "" if stated is None else f"; stated: {cost(stated)}"
    line(f"{bold('epsilon')}  at least {lower(found.epsilon_lower)} at delta = {found.delta:g}{told}")
    line(f"         {found.correct} of {found.guesses} guesses right, on {found.canaries} canaries, in one run")
    line(f"         all of them right would have shown {lower(found.at_best)}, and no more")
    if found.p_value is not None:
        line(f"         so many right guesses have probability {cost(found.p_value, 4)} at most, if the claim holds")
    note = (
        "It holds if the number of guesses was fixed beforehand, each canary was in by a fair coin of its own, and a "
        "canary is what neighbours differ in."
    )
    for text in wrap(note, width()):
        line(text)
    if violated is not None:
        line()
        _verdict(violated, found.confidence)
    return 1 if violated else 0
