"""The account of a plan: what each query and the whole cost, beside what other bounds charge."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from math import inf
from pathlib import Path
from types import MappingProxyType

from zcdp.accounting.accounts import Account, BudgetUse, Charge, Point, QueryCost, Route, TotalCost
from zcdp.accounting.adjusted import adjusted_accuracies
from zcdp.accounting.elsewhere import elsewhere
from zcdp.accounting.parser import PlanError, parse_written
from zcdp.accounting.plan_file import Budget, Entry, PlanFile, PlanFileError, read_plan
from zcdp.accounting.theorems import cited
from zcdp.accounting.total import Total, curve_points, total_of
from zcdp.accounting.usual import usual
from zcdp.display.calls import spoken
from zcdp.display.things import thing
from zcdp.errors import BadType, BadValue
from zcdp.mechanisms import Mechanism
from zcdp.mechanisms.accuracy import Accuracy, Noise
from zcdp.numeric.balls import lift
from zcdp.numeric.certify import NotCertified, enclose
from zcdp.numeric.exact import Value, probability, rational
from zcdp.privacy.curve import Curve
from zcdp.privacy.plan import Plan
from zcdp.privacy.relation import Relation

__all__ = ["account"]

DELTA = 1e-6
SMALLEST, LARGEST = 5e-324, 1.7976931348623157e308
Progress = Callable[[float, str], None]


def _silent(share: float, what: str) -> None:
    """Progress that nobody watches."""


@spoken
def account(
    source: str | Path | Curve | PlanFile,
    *,
    delta: Value | None = None,
    curve: bool = True,
    full: bool | None = None,
    progress: Progress | None = None,
) -> Account:
    """What a plan file, an expression or a plan costs; `to_dict()` of the answer is what `zcdp account --json` prints.

    Text is an expression, and never opens a file: a plan file is given as a `Path`.
    delta is that of the file, or 1e-6, unless given. `curve` adds points of the (epsilon, delta) curve. A plan of more
    than 2000 different mechanisms gets its epsilon from rho alone, and `full` is False in the total; unless `full` asks
    for the slow exact profile.

    >>> a = account("100 * Laplace(epsilon=0.1) + RAPPOR(epsilon=1)", delta=1e-6, curve=False)
    >>> a.total.rho, a.total.epsilon, a.total.route
    (0.72866046..., 5.505867..., 'profile')
    """
    for name, value in (("curve", curve), ("full", full)):
        if not isinstance(value, bool | None):
            raise BadType(f"{name} ({thing(value)}) must be True or False")
    progress = progress or _silent
    plan = _read(source)
    chosen = delta if delta is not None else plan.delta or (plan.budget and plan.budget.delta) or DELTA
    if rational(chosen, "delta") == 0:
        raise BadValue("delta (0) must be above 0 in an account: the guarantee at delta = 0 is its pure_epsilon")
    at = probability(chosen, "delta")
    shown = _double(at, chosen, "delta")
    queries, whole = _queries(plan, progress)
    relation = plan.relation_of(whole)
    progress(0.3, "composing")
    total = total_of(whole, at, full)
    names = {name for part, _ in whole.parts for name in _theorems(part)} | total.theorems
    made = Account(
        **_versions(),
        date=_today(),
        title=plan.title,
        description=plan.description,
        author=plan.author,
        dataset=plan.dataset,
        unit=plan.unit or (plan.tables.protects if plan.tables else None),
        source=plan.source,
        inputs=plan.text,
        delta=shown,
        budget=_budget(plan.budget, total, whole),
        queries=queries,
        total=_total(total, at, relation),
        curve=tuple(Point(*point) for point in curve_points(whole, total, at, progress)) if curve else (),
        theorems=cited(names),
    )
    progress(1.0, "done")
    return made


def _total(total: Total, delta: Fraction, relation: Relation) -> TotalCost:
    usuals = {name: Charge(**sums) for name, sums in total.usual(delta).items()}
    first = next(iter(usuals.values()), None)
    others = sorted(elsewhere(total.plan, delta).items(), key=lambda item: item[1])
    return TotalCost(
        rho=total.rho,
        rho_bounds=total.rho_bounds,
        rho_order=total.rho_order,
        relation=relation.value,
        pure_epsilon=total.plan.pure_epsilon,
        epsilon=total.epsilon,
        epsilon_bounds=total.epsilon_bounds,
        route=total.route,
        full=total.full,
        routes=MappingProxyType(dict(total.routes)),
        usual=MappingProxyType(usuals),
        saved_rho=1 - total.rho / first.rho if first and first.rho else None,
        saved_epsilon=1 - total.epsilon / others[0][1] if others and others[0][1] else None,
        elsewhere=tuple(Route(*one) for one in others),
    )


def _read(source: str | Path | Curve | PlanFile) -> PlanFile:
    if isinstance(source, PlanFile):
        return source
    if isinstance(source, Path):
        return read_plan(source)
    if isinstance(source, str) and source.endswith((".toml", ".csv")):
        raise PlanError(f"text is an expression, and only a Path opens a plan file: Path({source!r})", source, 0)
    plan, written = parse_written(source) if isinstance(source, str) else (source, {})
    if not isinstance(plan, Curve):
        raise BadType(f"source ({thing(source)}) must be a plan, an expression, or the Path of a plan file")
    text = source if isinstance(source, str) else repr(plan)
    seen: dict[str, int] = {}
    entries = []
    for key, (part, count) in _different(plan).items():
        name = type(part).__name__
        seen[name] = seen.get(name, 0) + 1
        label = name if seen[name] == 1 else f"{name} {seen[name]}"
        entries.append(Entry(label, written.get(key) or repr(part), Plan.sum_of(part), None, count))
    return PlanFile(text, text, tuple(entries))


def _different(plan: Curve) -> dict[tuple[Curve, object], tuple[Curve, int]]:
    """The parts of a plan; those of equal cost apart if their sensitivities, and so their errors, differ."""
    found: dict[tuple[Curve, object], tuple[Curve, int]] = {}
    for part, count in Plan.sum_of(plan).leaves():
        key = part, getattr(part, "sensitivity", None)
        found[key] = part, found.get(key, (part, 0))[1] + count
    return found


def _queries(plan: PlanFile, progress: Progress) -> tuple[tuple[QueryCost, ...], Plan]:
    uses: dict[tuple[Curve, int], tuple[QueryCost, Plan]] = {}
    accuracies: dict[str, Accuracy | None] = {}
    rows: list[QueryCost] = []
    for n, entry in enumerate(plan.entries):
        if entry.plan is None:
            where = f"{plan.source}:{entry.line}" if entry.line else plan.source
            raise PlanFileError(f"{where}: mechanism: '?' has no value yet: zcdp allocate finds one")
        key = (entry.plan, entry.count)
        if key not in uses:
            if entry.plan.rho == inf:
                raise BadValue(f"{entry.name}: rho is infinite: {entry.text} can give an input away")
            uses[key] = _facts(*key), Plan.repeated(*key)
        # equal mechanisms may be written differently, and their noise be another
        written = " ".join(entry.text.split())
        if written not in accuracies:
            accuracies[written] = _accuracy(entry.plan)
        noise = accuracies[written]
        told = None if noise is None else entry.in_values(noise)
        rows.append(replace(uses[key][0], name=entry.name, mechanism=written, note=entry.note, accuracy=told))
        if n % 64 == 0:
            progress(0.3 * n / len(plan.entries), "queries")
    rows = _adjusted(plan, rows)
    whole = sum(row.rho for row in rows)
    # where nothing is spent, all do so alike
    rows = [replace(row, share=row.rho / whole if whole else 1 / len(rows)) for row in rows]
    times: dict[tuple[Curve, int], int] = {}
    for entry in plan.entries:
        assert entry.plan is not None
        times[entry.plan, entry.count] = times.get((entry.plan, entry.count), 0) + 1
    return tuple(rows), Plan.sum_of(*(Plan.repeated(uses[key][1], often) for key, often in times.items()))


def _adjusted(plan: PlanFile, rows: list[QueryCost]) -> list[QueryCost]:
    """The queries, those of tables that are made to add up with the accuracy that they have then."""
    if plan.tables is None or not plan.tables.together:
        return rows
    found = adjusted_accuracies(plan.tables, plan.entries)
    return [
        replace(row, accuracy=entry.in_values(found[row.name]), alone=row.accuracy) if row.name in found else row
        for row, entry in zip(rows, plan.entries, strict=True)
    ]


def _facts(plan: Plan, count: int) -> QueryCost:
    # of a single mechanism the facts are asked of itself, which remembers them for the total
    one = plan.parts[0][0] if len(plan.parts) == 1 and plan.parts[0][1] == 1 else plan
    rho = Plan.repeated(one, count).rho if count > 1 else one.rho
    charged = usual(one, count)
    first = next(iter(charged.values()))
    return QueryCost(
        name="",
        mechanism="",
        count=count,
        note=None,
        rho=rho,
        rho_one=one.rho,
        rho_bounds_one=one.rho_bounds,
        rho_order=_order(one),
        is_tight=one.is_tight,
        pure_epsilon_one=one.pure_epsilon,
        theorem=next(iter(_theorems(one)), "composition"),
        share=None,
        usual=MappingProxyType(charged),
        saved=None if first is None else 1 - rho / first,
    )


def _accuracy(plan: Plan) -> Accuracy | None:
    """Of one answer of a mechanism that adds noise."""
    [(part, _), *others] = plan.parts
    try:
        return part.accuracy() if isinstance(part, Noise) and not others else None
    except (TypeError, NotCertified):  # a staircase of no stated sensitivity, and what is too extreme to tell
        return None


def _order(curve: Curve) -> float | None:
    """The order that attains rho, where it is known."""
    try:
        return curve.rho_order
    except NotCertified:
        return None


def _theorems(curve: Curve) -> tuple[str, ...]:
    return curve.theorems if isinstance(curve, Mechanism) else ()


def _budget(budget: Budget | None, total: Total, whole: Plan) -> BudgetUse | None:
    if budget is None:
        return None
    if budget.rho is not None:
        limit, spent = _written(budget.rho), total.exact_rho
    else:
        assert budget.epsilon is not None
        assert budget.delta is not None
        limit = _written(budget.epsilon)
        spent = total_of(whole, probability(budget.delta, "delta"), total.full).exact_epsilon
    numbers = {
        name: None if value is None else _double(_written(value), value, name) for name, value in vars(budget).items()
    }
    left = enclose(lambda: lift(limit - spent), floor=-inf)[0]
    share = float(min(spent / limit, Fraction(LARGEST)))
    return BudgetUse(**numbers, spent=share, left=left, exceeded=spent > limit)


def _written(value: float | str) -> Fraction:
    """The decimal number that stands in the file, in quotes or not."""
    return rational(str(value), "budget")


def _double(number: Fraction, value: object, name: str) -> float:
    """The float nearest to a positive number that JSON and the report are to show."""
    if not SMALLEST <= number <= LARGEST:
        rule = "at least 5e-324" if number < SMALLEST else "at most 1.8e308"
        raise BadValue(f"{name} ({value}) must be {rule} in an account, which states floats")
    return float(number)


def _today() -> str:
    """The day, in UTC; that of SOURCE_DATE_EPOCH for those who build the same pages again."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    at = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdecimal() and len(epoch) < 12 else datetime.now(UTC)
    return at.date().isoformat()


def _versions() -> dict[str, str]:
    import flint

    # what is loaded says it at once; to ask the metadata of installations takes a tenth of a second
    own = str(sys.modules["zcdp"].__version__)
    return {"zcdp": own, "python": platform.python_version(), "python_flint": str(flint.__version__)}
