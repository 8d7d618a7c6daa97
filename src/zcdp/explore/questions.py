"""What the page can ask: each question is a generator of events, answered in a process of its own.

An event is data for the page: `html` (pieces by the id of their place), `values` (of fields), `said` (one sentence for
those who listen), and for the server `text`, the plan's new text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from zcdp.accounting.alternatives import alternatives, mechanism_of, prices
from zcdp.accounting.fill import fill
from zcdp.accounting.plan_account import Account, accounts
from zcdp.errors import BadValue, ZcdpError
from zcdp.explore import plan_view, understand_view
from zcdp.explore.edits import STRUCTURAL, apply, labelled, noise_of, plain, with_noise
from zcdp.numeric.balls import NotCertified
from zcdp.numeric.exact import integer, positive_rational, probability
from zcdp.plans.plan_edit import set_lines
from zcdp.plans.plan_file import PlanFile, read_plan
from zcdp.plans.plan_text import parse
from zcdp.privacy.curve import Plan
from zcdp.report.charts import escape

__all__ = ["QUESTIONS"]

Progress = Callable[[float, str], None]
Events = Iterator[dict[str, Any]]


_parsed: dict[str, Plan] = {}
"""Mechanisms of the last changes by their text: of a plan of which one changes, the others know their cost already."""
MOST_PARSED = 1_000


@lru_cache(2)
def _known(source: str, text: str) -> PlanFile:
    if len(_parsed) > MOST_PARSED:
        _parsed.clear()
    return read_plan(source, text, parsed=_parsed)


def _read(source: str, text: str) -> PlanFile:
    """The plan of a text; that of the last change is read already, unless it may name files that have changed."""
    return read_plan(source, text) if "[data]" in text else _known(source, text)


def _closed(plan: PlanFile) -> PlanFile | None:
    """The plan of the queries whose noise is known; None if there is none."""
    known = tuple(entry for entry in plan.entries if entry.plan is not None)
    if len(known) == len(plan.entries):
        return plan
    return replace(plan, entries=known, tables=None) if known else None


def _stages(plan: PlanFile, progress: Progress, *, quick: bool = True) -> Iterator[Account]:
    closed = _closed(plan)
    return iter(()) if closed is None else accounts(closed, quick=quick, progress=progress)


def _open(plan: PlanFile) -> int:
    return sum(entry.plan is None for entry in plan.entries)


def _numbers(plan: PlanFile, account: Account | None, *, last: bool = False) -> dict[str, Any]:
    """What changes on the page when numbers do; after the `last` account none will be sharper."""
    told = {
        "summary": plan_view.summary(account, _open(plan), last=last),
        "strip": plan_view.strip(account, last=last),
    }
    told |= plan_view.cells(plan, account) | {"allocate-words": plan_view.to_allocate(plan, _open(plan))}
    return {"html": told, "values": plan_view.values(plan, account), "said": plan_view.said(account, last=last)}


def _whole(plan: PlanFile, account: Account | None) -> dict[str, Any]:
    """What changes on the page when rows come or go."""
    event = _numbers(plan, account)
    event["html"] |= {"rows": plan_view.rows(plan, account), "heading": plan_view.heading(plan)}
    return event | {"tables": plan.tables is not None, "open": _open(plan)}


def show(progress: Progress, *, text: str, source: str) -> Events:
    """The plan as it is, with the numbers that are there at once."""
    plan = read_plan(source, text)
    yield {**_whole(plan, next(_stages(plan, progress), None)), "text": text}


def edit(progress: Progress, *, text: str, source: str, edits: list[dict[str, Any]]) -> Events:
    """The plan after changes; one that is refused says why, and the others are made."""
    plan, problems, kinds = _read(source, text), {}, {}
    account, structural = None, False
    for one in edits:
        try:
            changed = apply(plan, str(one.get("what")), one.get("row"), one.get("value", ""), _read)
            account = next(_stages(changed, progress), None)
        except (ZcdpError, NotCertified) as error:
            problems[str(one.get("field"))] = labelled(str(one.get("what")), plain(error, source))
            row = one.get("row")
            if one.get("what") == "kind" and isinstance(row, int) and 0 <= row < len(plan.entries):
                kinds[f"kind-{row}"] = type(mechanism_of(plan.entries[row])).__name__  # the choice is put back
            continue
        opened = _open(changed) != _open(plan)  # what is to be found has no slider, and no other of equal accuracy
        plan, structural = changed, structural or opened or one.get("what") in STRUCTURAL
    if len(problems) == len(edits):
        yield {"problems": problems, **({"values": kinds} if kinds else {})}
        return
    if account is None:
        account = next(_stages(plan, progress), None)
    told = _whole(plan, account) if structural else _numbers(plan, account)
    told["values"] |= kinds
    yield {**told, "problems": problems, "text": plan.text}


def sharpen(progress: Progress, *, text: str, source: str) -> Events:
    """The numbers by every route, then the curve."""
    plan = read_plan(source, text)
    stages = _stages(plan, progress, quick=False)
    whole = next(stages, None)
    if whole is None:  # the pictures of the plan before are none of this one
        yield {"html": dict.fromkeys(("curve", "routes", "points"), ""), "done": True}
        return
    event = _numbers(plan, whole, last=True)
    event["html"] |= plan_view.pictures(whole)
    yield event
    yield {"html": plan_view.pictures(next(stages)), "done": True}


def which(progress: Progress, *, text: str, source: str, row: int) -> Events:
    """The mechanisms of equal accuracy for a row, each with what the whole plan would cost."""
    plan = read_plan(source, text)
    if not 0 <= row < len(plan.entries):
        return
    budget = plan.budget.delta if plan.budget else None
    by = "rho" if plan.budget is not None and plan.budget.rho is not None else "epsilon"
    at = probability(plan.delta or budget or 1e-6, "delta")
    options = alternatives(plan.entries[row], plan.collection.k if plan.collection else None)
    found = []
    for n, one in enumerate(prices(plan, row, options, Fraction(at))):
        found.append(one)
        progress(n / len(options), "comparing")
        yield {"html": {f"which-{row}": plan_view.which(row, found, by=by, waiting=len(options) - n - 1)}}
    yield {"html": {f"which-{row}": plan_view.which(row, found, by=by)}}


def allocate(progress: Progress, *, text: str, source: str, objective: str) -> Events:
    """The plan with its open noise found within its budget; if none is open, with all noise set anew."""
    plan = read_plan(source, text)
    progress(0.1, "allocating")
    try:
        filled = fill(plan, objective="total" if objective == "total" else "worst")
    except ZcdpError as error:
        yield {"problems": {"allocate": plain(error, source)}}
        return
    new = set_lines(plan.text, [(entry.line, entry.field, entry.text) for entry, _ in filled.found])
    made = read_plan(source, new)
    before, after = (next(_stages(one, progress), None) for one in (plan, made))
    told = _whole(made, after)
    told["html"]["allocated"] = plan_view.allocated(plan, made, before, after)
    yield {**told, "text": new}


def understand(progress: Progress, *, given: dict[str, str], text: str, source: str) -> Events:
    """One mechanism or plan in pictures, as they are drawn; an error stands at its field."""
    written, noise = given.get("mechanism", "").strip(), given.get("noise", "").strip()
    asked: dict[str, Any] = {}
    problems: dict[str, str] = {}
    rules: dict[str, Callable[[str], Any]] = {
        "delta": lambda value: probability(value, "delta"),
        "uses": _uses,
        "rate": lambda value: probability(value, "rate"),
    }
    for name, rule in rules.items():
        try:
            asked[name] = rule(given.get(name, ""))
        except ZcdpError as error:
            problems[name] = plain(error, source)
    changed = False
    try:
        if written == understand_view.THIS_PLAN:
            closed = _closed(read_plan(source, text))
            if closed is None:
                raise BadValue("every query of this plan is open: nothing is known of it yet")
            plan = Plan.sum_of(*(Plan.repeated(one.plan, one.count) for one in closed.entries if one.plan is not None))
            relation = closed.relation_of(plan).value
        else:
            own = noise_of(written)
            if noise and own is not None and own.value != noise:
                written, changed = with_noise(written, noise), True
            plan = parse(written)
            relation = plan.relation.value
    except (ZcdpError, NotCertified) as error:
        problems["noise" if changed else "mechanism"] = plain(error, source)
    if problems:
        yield {"problems": problems}
        return
    own = noise_of(written)
    shown = {} if own is None else {"noise": own.value}
    name = own.name if own is not None else ""
    glass = {} if name == given.get("parameter", "") else {"glass": understand_view.glass(name)}
    yield {"html": glass, "values": {"mechanism": written, **shown}, "problems": {}}
    found = understand_view.Asked(plan, written, asked["delta"], asked["uses"], asked["rate"], relation)
    for where, html in understand_view.pictures(found, progress):
        yield {"html": {where: html}}


def _uses(value: str) -> int:
    if not value.strip().isdecimal() or not 1 <= int(value) <= understand_view.MOST_USES:
        raise BadValue(f"uses ({value!r}) must be a whole number from 1 to {understand_view.MOST_USES:,}")
    return int(value)


def train(progress: Progress, *, given: dict[str, str], source: str, **_: str) -> Events:
    """A training run: epsilon or the noise for it, over epochs, over targets, and by other accountants."""
    from zcdp.explore import train_view

    target, problems = given.get("target", "").strip(), {}
    rules: dict[str, Callable[[str], Any]] = {
        "examples": lambda value: integer(value, "examples", 1),
        "batch": lambda value: integer(value, "batch", 1),
        "epochs": lambda value: positive_rational(value, "epochs"),
        "delta": lambda value: probability(value, "delta"),
        **({"target": lambda value: positive_rational(value, "target")} if target else {}),
        **({} if target else {"sigma": lambda value: positive_rational(value, "sigma")}),
    }
    found: dict[str, Any] = {}
    for name, rule in rules.items():
        try:
            found[name] = rule(given.get(name, "").strip())
        except ZcdpError as error:
            problems[name] = plain(error, source)
    if not problems and found["batch"] > found["examples"]:
        problems["batch"] = f"batch ({found['batch']}) must be at most the number of examples ({found['examples']})"
    drawn = given.get("drawn", "poisson")
    if not problems and drawn in train_view.DRAWN:
        run = train_view.Run(
            found["examples"],
            found["batch"],
            found["epochs"],
            found["delta"],
            drawn,
            found.get("sigma"),
            found.get("target"),
        )
        try:
            yield from train_view.pictures(run, given, progress)
        except (ZcdpError, NotCertified) as error:
            problems["target" if target else "sigma"] = plain(error, source)
    yield {"problems": problems}


def budget(
    progress: Progress,
    *,
    ledger: str,
    account: str | None,
    text: str,
    source: str,
    delta: str = "1e-6",
    unsaved: bool = False,
) -> Events:
    """What is left in the ledger, and what the plan would take of it."""
    from zcdp.explore import budget_view
    from zcdp.ledger import Ledger

    progress(0.1, "reading the ledger")
    if "://" not in ledger and not Path(ledger).is_file():
        raise BadValue(f"{ledger}: there is no such ledger")
    with Ledger(ledger) as book:
        try:
            takes = budget_view.take(book, account, read_plan(source, text), unsaved=unsaved)
        except ZcdpError as error:
            takes = f'<p class="verdict bad">{escape(plain(error, source))}</p>'
        yield {"html": {"takes": takes}}
        yield {"html": {"ledger": budget_view.told(book, account, delta)}}


QUESTIONS: dict[str, Callable[..., Events]] = {
    "show": show,
    "edit": edit,
    "sharpen": sharpen,
    "which": which,
    "allocate": allocate,
    "understand": understand,
    "train": train,
    "budget": budget,
}
