"""The release of a plan's tables: check everything, charge the ledger, read the data, add noise, and seal the result.

Errors after the data was read reveal nothing about it: details go to a private file.
"""

from __future__ import annotations

import os
import re
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
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
from zcdp.mechanisms.revealing_event import event_of
from zcdp.plans.plan_file import Entry, PlanFile, PlanFileError, plan_at
from zcdp.privacy.curve import Plan
from zcdp.release.archive import Release, file_names, packed
from zcdp.release.bounding import exact_table, key_counts
from zcdp.release.expressions import Source, source_of
from zcdp.release.published_tables import published
from zcdp.release.quantile_tables import from_histogram
from zcdp.release.table_description import columns_of
from zcdp.release.table_noise import Table, published_keys, published_together
from zcdp.report.release_report import Paid
from zcdp.report.table_charts import Shown, axes_of, axes_of_bins
from zcdp.samplers.source import bits, secure
from zcdp.tables.declaration import Declaration
from zcdp.tables.discovered_keys import Discovered, appears, threshold
from zcdp.tables.domain import Bins, Keys
from zcdp.tables.query_words import rules
from zcdp.tables.table_query import TableQuery
from zcdp.text.calls import spoken
from zcdp.text.suggestions import thing

__all__ = ["ReleaseFailed", "release"]

Progress = Callable[[float, str], None]
PLAN_NAMED = re.compile(r": plan ([0-9a-f]{64})$")  # the digest of the plan, at the end of the reason of a debit
COMMITMENT = "name:sha256:"  # how a ledger writes a name that may be forgotten
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

    `plan` is the path of a plan file, its text, or what `load` or `read_plan` made of one. `data` is a path (Parquet,
    CSV), or a frame of pandas, Polars, DuckDB, PySpark or pyarrow, which is computed by its own engine. `account` is
    the ledger account to charge and `key` the name of the release there; unless given, those of the plan. `who` is the
    name of who releases, for the ledger and the report. With `ledger=None` the spend is recorded nowhere.

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
            return Release.from_bytes(_draw(asked, cost, tables, source, watch, Paid(who=who)))
    name, key = account or tables.account, key or tables.key
    if name is None or not key:
        raise BadValue(
            "a release from a ledger needs an account ([data] account = ..., or --account) and a key ([data] key = "
            '"{vintage}", or --key)'
        )
    if ledger.sealed(name, key) is not None:
        before = ledger.sealing(name, key)
        if new:
            raise KeyConflict(
                f"the key {key!r} was sealed on {before.at}: nothing was read, and nothing was spent; take another "
                "key, or leave out --new (new=True) to get the sealed tables again"
            )
        _debit(ledger, name, whole, asked, tables, key, who)
        found = _same(ledger.deliver(name, key, who=who), tables, key)
        return replace(found, sealed_at=before.at, sealed_by=before.who or before.login)
    with source_of(data, tables) as source:
        debit = _debit(ledger, name, whole, asked, tables, key, who)
        if new and debit.repeated:
            raise KeyConflict(
                f"the key {key!r} was paid for on {debit.entry.at}, and nothing is sealed yet: nothing was read, and "
                "nothing was spent; the same release without --new (new=True) draws what was paid for"
            )
        paid = _paid(ledger, name, debit)
        with _private():
            drawn = _draw(asked, cost, tables, source, watch, paid)
            ledger.seal(name, key, drawn, who=who)
            delivered = ledger.deliver(name, key, who=who)
    return replace(_same(delivered, tables, key), paid_at=debit.entry.at if debit.repeated else "")


def _read(plan: object) -> PlanFile:
    """The plan file, from any of the forms that `release` accepts."""
    if isinstance(plan, PlanFile):
        return plan
    if isinstance(plan, Queries):
        return plan.file
    if isinstance(plan, str | PathLike):
        return plan_at(plan)
    raise BadType(
        f"plan ({thing(plan)}) must be the path of a plan file, its text, or what load or read_plan made of one"
    )


def _closed(plan: PlanFile) -> PlanFile:
    """The plan with every parameter `?` found within the plan's own budget."""
    entry = next((one for one in plan.entries if one.plan is None), None)
    if entry is None:
        return plan
    if plan.budget is None:
        raise PlanFileError(
            f"{plan.where(entry)}: {entry.field}: '?' has no value, and the plan no [budget] to find one within: "
            "zcdp allocate finds one, also for a share of a ledger's account"
        )
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
    for found in plan.key_entries:
        _check_threshold(plan, *found)
    parts = (Plan.repeated(entry.plan, entry.count) for entry in plan.entries if entry.plan)
    return plan.tables, Plan.sum_of(*parts), cost


def _check_threshold(plan: PlanFile, domain: Discovered, noise: Entry, event: Entry) -> None:
    """Refuse a plan that was changed by hand so that a threshold costs more delta than the plan says."""
    mechanism: Any = noise.plan.parts[0][0] if noise.plan else None
    least = threshold(mechanism.variance, domain.delta, domain.max_cells)
    charged = event_of(event.plan.parts[0][0]) if event.plan else None
    if charged is None or charged < appears(mechanism.variance, least, domain.max_cells):
        raise PlanFileError(f"{plan.source}: the delta of the keys of {domain.name!r} is not that of their noise")


def _debit(ledger: Ledger, name: str, whole: Plan, plan: PlanFile, tables: Declaration, key: str, who: str) -> Spend:
    """Charge the plan to the ledger under the key; a key that was charged for the same plan is not charged again.

    A ledger compares costs, and another plan may cost the same, such as that of another vintage: it is refused.
    """
    why = f"{reason_of(plan) or plan.source}: plan {tables.digest}"
    agreed = {"unit": tables.protects, "neighbours": tables.neighbours}
    try:
        try:
            debit = ledger.spend(name, whole, key=key, why=why, who=who, **agreed)
        except KeyConflict:
            raise KeyConflict(_other_plan(key)) from None
        named = PLAN_NAMED.search(debit.entry.why)
        if named and named[1] != tables.digest:
            raise KeyConflict(_other_plan(key))
        return debit
    except BudgetExceeded as refusal:
        if plan.budget is None or plan.budget.epsilon is None:
            raise
        raise BudgetExceeded(
            f"{refusal} (by its exact profile the plan is within its own epsilon and delta; an account, whose later "
            "plans may depend on results, adds up rho: plan within a [budget] of the rho that remains)",
            account=refusal.account,
            remaining=refusal.remaining,
            what=refusal.what,
        ) from None


def _other_plan(key: str) -> str:
    return (
        f"the key {key!r} was used for another plan (any edit makes a plan another one, of its noise too): nothing was "
        "spent; take a key of its own, or the plan that was paid for, which zcdp ledger history names"
    )


def _same(sealed: bytes, tables: Declaration, key: str) -> Release:
    """The sealed release, checked to be of this plan: a ledger compares costs, and another plan may cost the same."""
    try:
        found = Release.from_bytes(sealed)
        digest = found.index["plan_sha256"]
    except Exception:
        raise KeyConflict(f"the key {key!r} was used for something else than a release") from None
    if digest != tables.digest:
        raise KeyConflict(_other_plan(key))
    return found


def _paid(ledger: Ledger, name: str, debit: Spend) -> Paid:
    """What the page tells of the payment: from the ledger alone, before any data is read."""
    mine, entry = ledger.account(name), debit.entry
    terms = mine.terms
    known = terms.epsilon is not None and terms.delta is not None
    return Paid(
        who="" if entry.who.startswith(COMMITMENT) else entry.who,
        account=name,
        key=debit.key,
        head=f"{entry.seq}:{entry.hash}",
        currency=mine.currency,
        budget=mine.budget,
        left=ledger.remaining(name),
        cost=debit.cost,
        epsilon=float(terms.epsilon) if known and terms.epsilon is not None else None,
        delta=float(terms.delta) if known and terms.delta is not None else None,
        period=mine.period,
        above=mine.above,
    )


def _draw(plan: PlanFile, cost: Account, tables: Declaration, source: Source, progress: Progress, paid: Paid) -> bytes:
    """The packed files: reads the data once for each table or set of tables that add up, and adds the noise."""
    tables, made = _with_found_keys(plan, tables, source)
    entries = iter(plan.query_entries)
    for one in tables.together:
        progress(0.9 * len(made) / len(tables.queries), one.name)
        exact = exact_table(source, tables, one.finest, bits(SALT, secure))
        made |= {table.name: table for table in published_together(one, plan.entries, exact)}
    mine: dict[str, list[Entry]] = {}
    for query in tables.queries[len(tables.discovered) :]:
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
    said = {
        "zcdp": cost.zcdp,
        "title": plan.title,
        "author": plan.author,
        "dataset": plan.dataset,
        "vintage": tables.vintage,
        "plan_sha256": tables.digest,
        "account": paid.account or None,
        "key": paid.key or None,
        "paid_by": paid.head or None,
        "engine": source.engine.name,
        "unit": tables.unit,
        "protects": tables.protects,
        "neighbours": tables.neighbours,
        "total": {"rho": cost.total.rho, "epsilon": cost.total.epsilon, "delta": cost.delta},
        "plan": plan.text,
    }
    ordered = [_dated(made[query.name], tables.vintage) for query in tables.queries]
    columns = [columns_of(query, table) for query, table in zip(tables.queries, ordered, strict=True)]
    return packed(ordered, _page(cost, tables, ordered, said, paid), said, columns, tables.lists)


def _with_found_keys(plan: PlanFile, tables: Declaration, source: Source) -> tuple[Declaration, dict[str, Table]]:
    """The declaration with the lists of keys that are found and published, as tables of their own before the others."""
    made: dict[str, Table] = {}
    lists: dict[str, Keys] = {}
    keys = []
    for domain, noise, _ in plan.key_entries:
        counts = key_counts(source, tables.person, domain, bits(SALT, secure))
        table = made[noise.name] = published_keys(domain, noise, counts)
        found = lists[domain.name] = domain.found(table.columns[domain.name])
        keys.append(TableQuery(noise.name, "persons", (replace(found, other=None),), (), domain.max_cells, 1))
    queries = [replace(query, by=tuple(lists.get(one.name, one) for one in query.by)) for query in tables.queries]
    return replace(tables, queries=(*keys, *queries)), made


def _dated(table: Table, vintage: str | None) -> Table:
    """The table with the vintage as its first column, if the plan has one."""
    if vintage is None:
        return table
    return replace(table, columns={"vintage": [vintage] * len(table.rows), **table.columns})


def _page(cost: Account, tables: Declaration, made: Sequence[Table], said: Mapping[str, Any], paid: Paid) -> str:
    """The report: each table with its picture, its rules and the name of its file."""
    from zcdp.report.release_report import render_release

    files = file_names([table.name for table in made])
    shown = [
        Shown(
            table.name,
            table.about,
            query.measure,
            table.columns,
            axes_of((query.of,) if query.measure == "top" and query.of else query.by),
            tuple(rules(query, tables.unit)),
            f"{file}.csv",
            axes_of_bins(query.of) if query.measure == "quantiles" and isinstance(query.of, Bins) else None,
        )
        for table, query, file in zip(made, tables.queries, files, strict=True)
    ]
    return render_release(cost, shown, said, paid)


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
            f"the same key may try again (without --new or new=True); why, which may show data, is in {path}"
        ) from None


def _silent(share: float, what: str) -> None:
    """The `progress` callback where none is given: it does nothing."""
