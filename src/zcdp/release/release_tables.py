"""The release of a plan's tables: check everything, charge the ledger, read the data, add noise, and seal the result.

Errors after the data was read reveal nothing about it: details go to a private file.
"""

from __future__ import annotations

import os
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from os import PathLike
from pathlib import Path
from typing import Any

from zcdp.accounting.fill import fill
from zcdp.accounting.filter import BudgetExceeded
from zcdp.accounting.plan_account import Account
from zcdp.accounting.plan_account import account as account_of
from zcdp.accounting.plan_queries import Queries
from zcdp.errors import BadType, BadValue, ZcdpError
from zcdp.ledger import KeyConflict, Ledger
from zcdp.ledger.model import Spend
from zcdp.ledger.spend_text import reason_of
from zcdp.plans.plan_file import Entry, PlanFile, PlanFileError, read_plan
from zcdp.privacy.curve import Plan
from zcdp.release.archive import Release, packed
from zcdp.release.bounding import exact_table
from zcdp.release.expressions import Source, source_of
from zcdp.release.published_tables import published
from zcdp.release.quantile_tables import from_histogram
from zcdp.release.table_noise import Table, published_together
from zcdp.samplers.source import bits, secure
from zcdp.tables.declaration import Declaration
from zcdp.text.calls import spoken
from zcdp.text.suggestions import thing

__all__ = ["ReleaseFailed", "release"]

Progress = Callable[[float, str], None]
SALT = 63  # bits of the secret that decides which cells of a person are kept, drawn for each table


class ReleaseFailed(ZcdpError, RuntimeError):
    """The release failed after data was read; the cause is in a private file, as it may show data."""


@spoken
def release(
    plan: str | PathLike[str] | Queries | PlanFile,
    data: Any,
    *,
    ledger: Ledger | None,
    key: str | None = None,
    account: str | None = None,
    who: str = "",
    new: bool = False,
    progress: Progress | None = None,
) -> Release:
    """Publish the tables of a plan from a file or a frame: one charge for each key, and always the same bytes for it.

    `plan` is the path of a plan file, or what `load` or `read_plan` made of one. `data` is a path (Parquet, CSV), or a
    frame of pandas, Polars, DuckDB, PySpark or pyarrow, which is computed by its own engine. `account` is the ledger
    account to charge, that of the plan unless given. With `ledger=None` the spend is recorded nowhere.

    If the key was sealed before, its release is returned: nothing is read and nothing is spent, even if the data has
    changed, and `repeated` is True. `new=True` refuses a key that was used before.
    """
    if ledger is not None and not isinstance(ledger, Ledger):
        raise BadType(
            f"ledger ({thing(ledger)}) must be a Ledger, as Ledger('budget.db'); or None: nothing remembers the spend"
        )
    asked = _closed(_read(plan))
    tables, whole, cost = _checked(asked)
    watch = progress or _silent
    if ledger is None:
        if new:
            raise BadValue("new=True asks whether a ledger has the key: give the ledger")
        with source_of(data, tables) as source, _private():
            return Release.from_bytes(_draw(asked, cost, tables, source, watch))
    name = account or tables.account
    if name is None or not key:
        raise BadValue("a release from a ledger needs an account ([data] account = ..., or --account) and a key")
    if ledger.sealed(name, key) is not None:
        before = ledger.sealing(name, key)
        if new:
            raise KeyConflict(
                f"the key {key!r} was sealed on {before.at}: nothing was read, and nothing was spent; take another "
                "key, or leave out `new` to get the sealed tables again"
            )
        _debit(ledger, name, whole, asked, tables, key, who)
        found = _same(ledger.deliver(name, key, who=who), tables, key)
        return replace(found, sealed_at=before.at, sealed_by=before.who or before.login)
    with source_of(data, tables) as source:
        debit = _debit(ledger, name, whole, asked, tables, key, who)
        if new and debit.repeated:
            raise KeyConflict(
                f"the key {key!r} was paid for on {debit.entry.at}, and nothing is sealed yet: nothing was read, and "
                "nothing was spent; the same release without `new` draws what was paid for"
            )
        with _private():
            drawn = _draw(asked, cost, tables, source, watch)
            ledger.seal(name, key, drawn, who=who)
            delivered = ledger.deliver(name, key, who=who)
    return _same(delivered, tables, key)


def _read(plan: object) -> PlanFile:
    """The plan file, from any of the forms that `release` accepts."""
    if isinstance(plan, PlanFile):
        return plan
    if isinstance(plan, Queries):
        return plan.file
    if isinstance(plan, str | PathLike):
        return read_plan(Path(plan))
    raise BadType(f"plan ({thing(plan)}) must be the path of a plan file, or what load or read_plan made of one")


def _closed(plan: PlanFile) -> PlanFile:
    """The plan with every parameter `?` found within the plan's own budget."""
    entry = next((one for one in plan.entries if one.plan is None), None)
    if entry is None:
        return plan
    if plan.budget is None:
        where = f"{plan.source}:{entry.line}: {entry.field}"
        raise PlanFileError(f"{where}: '?' has no value, and the plan no [budget] to find one within")
    return fill(plan).plan


def _checked(plan: PlanFile) -> tuple[Declaration, Plan, Account]:
    """The declaration, the plan of all mechanisms, and its account; refused if the plan exceeds its own budget.

    All of the account is computed here, so that nothing about it can fail after the debit.
    """
    if plan.tables is None:
        raise PlanFileError(f"{plan.source}: has no [data]: a release needs to know whom its tables are about")
    cost = account_of(plan)
    if cost.budget is not None and cost.budget.exceeded:
        raise BudgetExceeded(f"{plan.source}: the plan costs more than its budget: nothing was spent")
    parts = (Plan.repeated(entry.plan, entry.count) for entry in plan.entries if entry.plan)
    return plan.tables, Plan.sum_of(*parts), cost


def _debit(ledger: Ledger, name: str, whole: Plan, plan: PlanFile, tables: Declaration, key: str, who: str) -> Spend:
    """Charge the plan to the ledger under the key; a key that was charged for the same plan is not charged again."""
    why = f"{reason_of(plan) or plan.source}: plan {tables.digest}"
    agreed = {"unit": tables.protects, "neighbours": tables.neighbours}
    try:
        return ledger.spend(name, whole, key=key, why=why, who=who, **agreed)
    except BudgetExceeded as refusal:
        if plan.budget is None or plan.budget.epsilon is None:
            raise
        raise BudgetExceeded(
            f"{refusal} (by its exact profile the plan is within its own epsilon and delta; an account, whose later "
            "plans may depend on results, adds up rho: plan within a [budget] of the rho that remains)"
        ) from None


def _same(sealed: bytes, tables: Declaration, key: str) -> Release:
    """The sealed release, checked to be of this plan: a ledger compares costs, and another plan may cost the same."""
    try:
        found = Release.from_bytes(sealed)
        digest = found.index["plan_sha256"]
    except Exception:
        raise KeyConflict(f"the key {key!r} was used for something else than a release") from None
    if digest != tables.digest:
        raise KeyConflict(f"the key {key!r} was used for another plan: nothing was spent")
    return found


def _draw(plan: PlanFile, cost: Account, tables: Declaration, source: Source, progress: Progress) -> bytes:
    """The packed files: reads the data once for each table or set of tables that add up, and adds the noise."""
    made: dict[str, Table] = {}
    for one in tables.together:
        progress(0.9 * len(made) / len(tables.queries), one.name)
        exact = exact_table(source, tables, one.finest, bits(SALT, secure))
        made |= {table.name: table for table in published_together(one, plan.entries, exact)}
    entries = iter(plan.entries)
    mine: dict[str, list[Entry]] = {}
    for query in tables.queries:
        statistics = query.statistics(tables.neighbours)
        mine[query.name] = [next(entries) for _ in {one.field for one in statistics}]
        if query.name in made or query.histogram:
            continue
        progress(0.9 * len(made) / len(tables.queries), query.name)
        exact = exact_table(source, tables, query, bits(SALT, secure))
        made[query.name] = published(query, mine[query.name], exact, statistics)
    for query in tables.queries:
        if query.histogram:
            made[query.name] = from_histogram(query, made[query.histogram], mine[query.histogram][0])
    progress(0.9, "report")
    from zcdp.report.release_report import render_release

    said = {
        "zcdp": cost.zcdp,
        "title": plan.title,
        "plan_sha256": tables.digest,
        "engine": source.engine.name,
        "unit": tables.unit,
        "protects": tables.protects,
        "neighbours": tables.neighbours,
        "total": {"rho": cost.total.rho, "epsilon": cost.total.epsilon, "delta": cost.delta},
        "plan": plan.text,
    }
    ordered = [made[query.name] for query in tables.queries]
    report = render_release(cost, [asdict(table) for table in ordered], said)
    return packed(ordered, report, said)


@contextmanager
def _private() -> Iterator[None]:
    """Replace any error inside the block by one fixed message; the traceback goes to a file for its owner alone."""
    try:
        yield
    except Exception:
        number, path = tempfile.mkstemp(prefix="zcdp-private-", suffix=".txt")  # made with mode 0600
        with os.fdopen(number, "w", encoding="utf-8") as file:
            traceback.print_exc(file=file)
        raise ReleaseFailed(
            "the release failed after data was read: nothing was published, and what was spent stays spent; "
            f"the same key may try again; why, which may show data, is in {path}"
        ) from None


def _silent(share: float, what: str) -> None:
    """The `progress` callback where none is given: it does nothing."""
