"""The account of a plan: what each query and the whole plan cost, certified, beside what other accounting charges.

The parts of this file: `Account` and the values it is made of, with its JSON form; `Total`,
the cost of a whole plan by every route; and the function `account`.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from math import inf, isfinite, isinf
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from zcdp.accounting.adjusted_accuracy import adjusted_accuracies
from zcdp.accounting.baselines import elsewhere, usual, usual_total
from zcdp.accounting.predictions import Prediction, predictions
from zcdp.accounting.risks import Risk, risk_of
from zcdp.accounting.theorem_pages import title
from zcdp.errors import BadType, BadValue
from zcdp.mechanisms import Mechanism, PureDP
from zcdp.mechanisms.noise.additive import Accuracy, AddedNoise
from zcdp.mechanisms.revealing_event import event_of, without_events
from zcdp.numeric.balls import NotCertified, enclose, lift
from zcdp.numeric.exact import Value, float_above, positive_rational, probability, rational
from zcdp.numeric.work import SECOND, within
from zcdp.plans.plan_file import Budget, Entry, PlanFile, PlanFileError, read_plan
from zcdp.plans.plan_text import PlanError, parse_written
from zcdp.privacy.convert import rdp_to_epsilon, zcdp_to_delta, zcdp_to_epsilon
from zcdp.privacy.curve import Curve, Plan, why_infinite
from zcdp.privacy.relation import Relation
from zcdp.text.calls import spoken, spoken_class
from zcdp.text.notebook import shown
from zcdp.text.numbers import cost
from zcdp.text.suggestions import thing

__all__ = [
    "Account",
    "BudgetUse",
    "Charge",
    "Citation",
    "DerivedColumn",
    "Point",
    "QueryCost",
    "Route",
    "Total",
    "TotalCost",
    "account",
    "accounts",
    "cited",
    "curve_points",
    "plan_of",
    "total_of",
]


Held = TypeVar("Held")


@dataclass(frozen=True)
class Charge:
    """The cost of the same releases by another bound: rho, and epsilon at the account's delta. For comparison only."""

    rho: float
    epsilon: float


@dataclass(frozen=True)
class QueryCost:
    """The cost of one query: `count` uses of `mechanism`, which is the text as it was written."""

    name: str
    mechanism: str
    count: int
    note: str | None
    rho: float
    """rho of all uses together, rounded up."""
    rho_one: float
    """rho of one use, rounded up."""
    rho_bounds_one: tuple[float, float]
    """Certified lower and upper end of the tight rho of one use."""
    rho_order: float | None
    """The Renyi order at which rho is attained; None if it is not known."""
    is_tight: bool
    """Whether rho is the tight value of the mechanism; else it is a proven upper bound."""
    pure_epsilon_one: float
    """The pure epsilon of one use; inf if the mechanism is not pure DP."""
    theorem: str
    """The name of the page under docs/theorems that proves rho."""
    share: float | None
    """The share of this query in the sum of all queries' rho."""
    usual: Mapping[str, float | None]
    """rho of all uses by the bounds in common use; None where a bound does not apply."""
    saved: float | None
    """The share of rho saved against the first of the usual bounds."""
    accuracy: Accuracy | None = None
    """The accuracy of one answer, if the mechanism adds noise to it: standard deviation, and half-width at 95%."""
    alone: Accuracy | None = None
    """For a table that is adjusted to add up with others: the accuracy before; `accuracy` is that after adjustment."""
    predicted: tuple[Prediction, ...] = ()
    """For means, ratios, variances, quantiles and top lists: their accuracy, for a guessed number of persons a cell."""
    delta: float = 0.0
    """The probability of an event that may give a person away, as where keys are found in the data; rounded up."""
    about: str = ""
    """What the cost is about, where it is not about whatever neighbours: only some inputs of a channel, say."""


@dataclass(frozen=True)
class Route:
    """epsilon at the account's delta by a method in use elsewhere. For comparison only."""

    name: str
    epsilon: float


@dataclass(frozen=True)
class TotalCost:
    """The cost of all queries together; rho, epsilon and the routes are certified upper bounds."""

    rho: float
    rho_bounds: tuple[float, float]
    """Certified lower and upper end of the tight rho."""
    rho_order: float | None
    """The Renyi order at which rho is attained; None if the parts attain theirs at different orders."""
    relation: str
    """The neighbouring relation: add_remove, replace, or either."""
    pure_epsilon: float
    epsilon: float
    """The least epsilon at the account's delta over all routes."""
    epsilon_bounds: tuple[float, float]
    """Certified lower and upper end of the least epsilon at the account's delta."""
    route: str
    """The route that gives the least epsilon."""
    full: bool
    """Whether every route was computed; else epsilon comes from rho or the pure epsilon alone."""
    routes: Mapping[str, float]
    """epsilon at the account's delta by each route."""
    usual: Mapping[str, Charge]
    """The cost by the bounds in common use; empty if no part is pure DP."""
    saved_rho: float | None
    """The share of rho saved against the first of the usual bounds."""
    saved_epsilon: float | None
    """The share of epsilon saved against the least of `elsewhere`."""
    elsewhere: tuple[Route, ...] = ()
    """epsilon by the methods that a careful user has elsewhere, the least first: for comparison, not guarantees."""
    event_delta: float = 0.0
    """The delta of approximate zCDP: rho holds but for events of this probability, the sum over all queries."""


@dataclass(frozen=True)
class BudgetUse:
    """A budget, in rho or in epsilon at delta, and how much of it the plan spends."""

    rho: float | None
    epsilon: float | None
    delta: float | None
    spent: float
    """The spent share of the budget."""
    left: float
    """The rest of the budget, in its own unit, rounded down; negative if it is exceeded."""
    exceeded: bool
    """Whether the plan costs more than the budget, decided in exact numbers."""


@dataclass(frozen=True)
class Point:
    """One point of the privacy curve: the plan is certified to be (epsilon, delta)-DP."""

    epsilon: float
    delta: float


@dataclass(frozen=True)
class Citation:
    """A theorem that the numbers rest on, with the path of its page."""

    id: str
    title: str
    path: str


@dataclass(frozen=True)
class DerivedColumn:
    """A column that the plan derives from each row, or from one person's rows, before anything is counted."""

    name: str
    words: str
    """What is computed, as a reader writes it: wage / hours."""


@spoken_class
@dataclass(frozen=True)
class Account:
    """The cost of a plan: of each query, in total, and against its budget; with versions, title, author and data set.

    `to_dict()` is what `zcdp account --json` prints, `Account.from_dict` its inverse.
    """

    zcdp: str
    python: str
    python_flint: str
    date: str
    """The day on which the account was made, in UTC."""
    title: str | None
    description: str | None
    author: str | None
    dataset: str | None
    unit: str | None
    """The unit of privacy, whose data neighbours differ in: a person, a household."""
    source: str
    """The name of the plan file, or the expression."""
    inputs: str = field(repr=False)
    """The text of the plan file, or the expression."""
    delta: float
    budget: BudgetUse | None
    queries: tuple[QueryCost, ...] = field(repr=False)
    total: TotalCost
    curve: tuple[Point, ...] = field(repr=False)
    theorems: tuple[Citation, ...] = field(repr=False)
    derived: tuple[DerivedColumn, ...] = field(default=(), repr=False)
    """The columns that the plan derives, as [lookup] and [derive] declare them."""
    assumptions: tuple[str, ...] = field(default=(), repr=False)
    """What is not proven of a mechanism but was stated by whoever wrote it: the numbers hold if it is true."""
    risk: Risk | None = field(default=None, repr=False)
    """What an attacker gains, where it was asked for."""

    def to_dict(self) -> dict[str, Any]:
        """The account as data for JSON: infinity is the text "inf", tuples are lists."""
        plain: dict[str, Any] = _plain(self)
        return plain

    def _repr_html_(self) -> str:
        """What a notebook shows: each query with its share, the total, the budget and the curve."""
        return shown(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Account:
        """The account from its dictionary, as read from JSON: the inverse of `to_dict`.

        >>> Account.from_dict({"zcdp": "0.2.0"})
        Traceback (most recent call last):
        ...
        zcdp.errors.BadValue: the account has no 'python'
        """
        return _held(cls, data, "the account")


def _plain(value: Any) -> Any:
    """The value as data for JSON."""
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return "inf" if isinstance(value, float) and isinf(value) and value > 0 else value


def _held(kind: type[Held], data: Any, where: str) -> Held:
    """The value of the declared type `kind` from JSON data; data of another type is refused, with its place `where`."""
    if is_dataclass(kind):
        if not isinstance(data, Mapping):
            raise BadValue(f"{where} must be a table of fields, not {type(data).__name__}")
        hints, given = get_type_hints(kind), {}
        for one in (field for field in fields(kind) if field.name in data or field.default is MISSING):
            if one.name not in data:
                raise BadValue(f"{where} has no {one.name!r}")
            given[one.name] = _held(hints[one.name], data[one.name], f"{one.name!r} of {where}")
        return kind(**given)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (UnionType, Union):
        if data is None and NoneType in inner:
            return None  # type: ignore[return-value]
        [other] = [one for one in inner if one is not NoneType]
        return _held(other, data, where)  # type: ignore[no-any-return]
    if origin is tuple and isinstance(data, list | tuple):
        kinds = inner[:1] * len(data) if inner[-1] is Ellipsis else inner
        if len(kinds) == len(data):
            return tuple(_held(one, part, where) for one, part in zip(kinds, data, strict=True))  # type: ignore[return-value]
    elif origin is not None and isinstance(data, Mapping):
        return MappingProxyType({str(name): _held(inner[1], one, where) for name, one in data.items()})  # type: ignore[return-value]
    elif kind is float and (data == "inf" or (isinstance(data, int | float) and not isinstance(data, bool))):
        found = float(data)
        if isfinite(found) or found == inf:
            return found  # type: ignore[return-value]
    elif kind in (str, bool, int) and type(data) is kind:
        return data
    raise BadValue(f"{where} ({str(data)[:40]!r}) is not what an account has there")


def cited(names: set[str]) -> tuple[Citation, ...]:
    """The citations of the theorems of these names, sorted by name.

    >>> cited({"rappor"})[0].title
    'RAPPOR: rho = epsilon tanh(epsilon/4)'
    """
    return tuple(Citation(n, title(n), f"docs/theorems/{n}.md") for n in sorted(names))


# The cost of a whole plan: rho, epsilon at delta by every route, and points of its (epsilon, delta) curve.

MOST_KINDS_IN_FULL = 2_000
"""A plan of more different mechanisms is accounted by rho alone: all routes would take ten seconds and more."""
MOST_KINDS_BY_POINT = 64
"""The curve of a plan of more different mechanisms comes from the profile alone, with neighbouring points together."""
CURVE_STEPS = 40
HASTE, LITTLE_HASTE = 32, 4
"""Points of a curve get one HASTE-th of the effort of a single delta, those computed together one LITTLE_HASTE-th."""
QUICK_WORK = SECOND // 10
"""Work of the profile in an account that is there at once."""
BOUNDLESS = "rho is infinite, and so many different mechanisms are accounted by rho alone: give full=True"
FAR = 1000
"""An epsilon above which only outcomes that give an input away tell more."""


@dataclass(frozen=True)
class Total:
    """The cost of a whole plan at one delta, from which `TotalCost`, its public form, is made."""

    plan: Plan
    rho: float
    rho_bounds: tuple[float, float]
    rho_order: float | None
    routes: dict[str, float]
    epsilon_bounds: tuple[float, float]
    full: bool
    event_delta: Fraction = Fraction(0)
    """The sum of the probabilities of events that may give a person away, which `plan` and `rho` leave out."""
    quick: bool = False
    """Whether the profile was left out for an answer at once."""

    @property
    def route(self) -> str:
        """The route that gives the least epsilon."""
        return min(self.routes, key=lambda name: self.routes[name])

    @property
    def epsilon(self) -> float:
        """The certified upper end: the least epsilon of all routes."""
        return self.epsilon_bounds[1]

    @property
    def exact_rho(self) -> Fraction:
        """An exact upper bound on rho for comparison with a budget: the sum of the parts' rationals, if below `rho`."""
        parts = sum((part.rho_fraction * count for part, count in self.plan.parts), Fraction(0))
        return min(parts, Fraction(self.rho)) if self.rho < inf else parts

    @property
    def exact_epsilon(self) -> Fraction:
        """An exact upper bound on epsilon for comparison with a budget: the largest loss, if below `epsilon`."""
        try:
            loss = self.plan.largest_loss
        except (AttributeError, TypeError, ValueError):  # the sum of the losses is not one exact number
            loss = None
        return min(loss, Fraction(self.epsilon)) if isinstance(loss, Fraction) else Fraction(self.epsilon)

    @property
    def theorems(self) -> set[str]:
        """The names of the theorems that the composition and the chosen route rest on."""
        route = {"profile": {"profile"}, "rdp": {"rdp-to-approx"}, "zcdp": {"rdp-to-approx"}}.get(self.route, set())
        more = {"discovered-keys", "approximate-filter"} if self.event_delta else set()
        return route | more | ({"composition"} if sum(count for _, count in self.plan.parts) > 1 else set())


def total_of(plan: Plan, delta: Fraction, full: bool | None = None, *, quick: bool = False) -> Total:
    """The cost of the plan at `delta`; `full` says whether to compute the exact profile and the Renyi curve.

    `quick`: the profile in haste, or the Renyi curve, for an answer at once.
    """
    finite, event = without_events(plan)
    if event and finite is not None:
        return _with_events(plan, finite, event, delta, full, quick=quick)
    if full is None:
        full = len(plan.parts) <= MOST_KINDS_IN_FULL
    if not full:
        return _by_rho(plan, delta)
    if quick:
        return _at_once(plan, delta)
    routes = {name: epsilon for name, epsilon in plan.routes(delta=delta).items() if epsilon < inf}
    lower, upper = plan.epsilon_bounds(delta=delta)
    best = min([upper, *routes.values()])
    if not routes or best == inf:
        raise BadValue(_why_unbounded(plan, delta))
    order = _order(plan)
    return Total(plan, plan.rho, plan.rho_bounds, order, routes, (min(lower, best), best), full)


def _why_unbounded(plan: Plan, delta: Fraction) -> str:
    """Why no epsilon is certified at `delta`, and what to ask instead."""
    cause = why_infinite(plan, "the plan")
    most = plan.delta_at(epsilon=FAR)
    if most > delta:
        return f"epsilon is infinite at delta = {float(delta):g}, but not above delta = {cost(most)}; {cause}"
    return f"no epsilon is certified at delta = {float(delta):g}; {cause}"


def _with_events(
    plan: Plan, finite: Plan, event: Fraction, delta: Fraction, full: bool | None, *, quick: bool
) -> Total:
    """The cost of a plan with events that may give a person away, from that of the rest, for both directions.

    With d the probability of an event: as the person comes, epsilon' + log(1-d) for epsilon' at (delta - d)/(1 - d); as
    the person goes, epsilon' - log(1-d) for epsilon' at delta. Theorem: docs/theorems/discovered-keys.md.
    """
    if delta <= event:
        raise BadValue(
            f"delta ({float(delta):g}) must be above {float_above(event):g}, the probability with which a key of one "
            "person alone is published"
        )
    first = total_of(finite, (delta - event) / (1 - event), full, quick=quick)
    second = total_of(finite, delta, full, quick=quick)
    shift = Fraction(0)
    if plan.relation is Relation.ADD_REMOVE:
        shift = Fraction(enclose(lambda: -(-lift(event)).log1p())[0])
    more = Fraction(enclose(lambda: -(-lift(event)).log1p())[1])
    routes = {
        name: float_above(max(Fraction(first.routes[name]) - shift, Fraction(second.routes[name]) + more, Fraction(0)))
        for name in first.routes
        if name in second.routes and max(first.routes[name], second.routes[name]) < inf
    }
    upper = max(Fraction(first.epsilon) - shift, Fraction(second.epsilon) + more, Fraction(0))
    ends = second.epsilon_bounds[0], min(float_above(upper), *routes.values())
    return replace(first, routes=routes, epsilon_bounds=ends, event_delta=event)


def _by_rho(plan: Plan, delta: Fraction) -> Total:
    """The cost from the parts' rho and pure epsilons alone: certified and quick for any number of parts, not tight."""
    rhos = [(part.rho_fraction, count) for part, count in plan.parts]
    top = sum((rho * count for rho, count in rhos), Fraction(0))
    order: float | None = None
    try:
        bounds, order = enclose(lambda: plan.peak().rho), plan.parts[0][0].rho_order
    except NotCertified:  # the parts attain their rho at different orders
        bounds = enclose(plan.kl)[0], float_above(top)
    if not plan._of_tight_parts:  # the rho of some part is only an upper bound
        bounds = 0.0, bounds[1]
    if bounds[1] == inf:
        raise BadValue(BOUNDLESS)
    routes = {"zcdp": zcdp_to_epsilon(bounds[1], delta)}
    if plan.pure_epsilon < inf:
        routes["pure"] = plan.pure_epsilon
    return Total(plan, bounds[1], bounds, order, routes, (0.0, min(routes.values())), full=False)


def _at_once(plan: Plan, delta: Fraction) -> Total:
    """The cost from the profile in haste, if that takes a moment only, and else from the Renyi curve.

    Certified: with the profile mostly to seven digits, without it a few percent above.
    """
    if plan.rho == inf:  # the profile alone has an answer
        return replace(total_of(plan, delta, full=True), quick=True)
    # what is found under a limit may be less sharp, and is kept: the copy keeps it from the plan itself
    copy = Plan.sum_of(*(Plan.repeated(part, count) for part, count in plan.parts))
    routes: dict[str, float] = {}
    with suppress(NotCertified):
        routes = within(QUICK_WORK, lambda: copy._routes_in_haste(delta, HASTE))
    if not {"profile", "rdp"} & set(routes):
        with suppress(NotCertified):
            routes["rdp"] = rdp_to_epsilon(plan.cumulant, delta)
    routes["zcdp"] = zcdp_to_epsilon(plan.rho, delta) if plan.rho else 0.0
    if plan.pure_epsilon < inf:
        routes["pure"] = plan.pure_epsilon
    ends = 0.0, min(routes.values())
    return Total(plan, plan.rho, plan.rho_bounds, _order(plan), routes, ends, full=False, quick=True)


def curve_points(
    plan: Plan, total: Total, delta: Fraction, progress: Callable[[float, str], None]
) -> Iterator[tuple[float, float]]:
    """Certified points (epsilon, delta) from epsilon = 0 to where delta is a thousandth of `delta`, at most 1e-9."""
    if total.event_delta:  # docs/theorems/approximate-filter.md, 4
        event = total.event_delta
        for epsilon, found in curve_points(total.plan, replace(total, event_delta=Fraction(0)), delta, progress):
            yield epsilon, float_above(event + (1 - event) * Fraction(found))
        return
    last = max(min(Fraction(delta) / 1000, Fraction(1, 10**9)), LEAST_DELTA)
    several = len(plan.parts) > MOST_KINDS_BY_POINT
    short = total.full and not several
    if total.rho == inf:  # and delta may never be so small
        end = min(plan.epsilon_at(delta=last), max(2 * total.epsilon, 1.0))
    else:
        end = plan.epsilon_at(delta=last) if short else min(zcdp_to_epsilon(total.rho, last), plan.pure_epsilon)
    if total.full and several:
        progress(0.5, "curve")
        epsilons = [Fraction(end * (n / CURVE_STEPS)) for n in range(CURVE_STEPS + 1)]
        yield from zip(map(float, epsilons), plan._curve_in_haste(epsilons, LITTLE_HASTE), strict=True)
        return
    for n in range(CURVE_STEPS + 1):
        progress(0.4 + 0.6 * n / CURVE_STEPS, "curve")
        epsilon = end * (n / CURVE_STEPS)  # end * n might overflow
        if total.full:
            yield epsilon, plan._delta_in_haste(epsilon, HASTE)
        elif epsilon >= plan.pure_epsilon:
            yield epsilon, 0.0
        else:
            yield epsilon, zcdp_to_delta(total.rho, epsilon) if epsilon else 1.0


# The function `account`, from a plan file, an expression or a plan to an `Account`.

DEFAULT_DELTA = 1e-6
LEAST_DELTA = Fraction(1, 10**300)  # of the domain, at which a curve ends
Progress = Callable[[float, str], None]


def _silent(share: float, what: str) -> None:
    """The `progress` callback where none is given: it does nothing."""


@spoken
def account(
    source: str | Path | Curve | PlanFile,
    *,
    delta: Value | None = None,
    curve: bool = True,
    full: bool | None = None,
    risk: bool = False,
    progress: Progress | None = None,
) -> Account:
    """The cost of a plan file, an expression or a plan; `to_dict()` of the answer is what `zcdp account --json` prints.

    Text is an expression and never opens a file: a plan file is given as a `Path`. If delta is not given it is that of
    the file, or 1e-6. `curve` adds points of the (epsilon, delta) curve, `risk` what an attacker gains. For a plan of
    more than 2000 different mechanisms epsilon comes from rho alone, and `full` is False in the total, unless
    `full=True` asks for the exact profile, which is slow.

    >>> a = account("100 * Laplace(epsilon=0.1) + RAPPOR(epsilon=1)", delta=1e-6, curve=False)
    >>> a.total.rho, a.total.epsilon, a.total.route
    (0.72866046..., 5.505867..., 'profile')
    """
    for name, value in (("curve", curve), ("full", full), ("risk", risk)):
        if not isinstance(value, bool | None):
            raise BadType(f"{name} ({thing(value)}) must be True or False")
    progress = progress or _silent
    asked = _Asked.of(source, delta, progress)
    progress(0.3, "composing")
    total = total_of(asked.whole, asked.delta, full)
    gains = None
    if risk:
        if not total.full:
            raise BadValue("risk: so many different mechanisms are accounted by rho alone: give full=True")
        progress(0.4, "risk")
        gains = risk_of(total.plan, total.event_delta)
    made = asked.account(total, curve_points(asked.whole, total, asked.delta, progress) if curve else (), gains)
    progress(1.0, "done")
    return made


def accounts(
    source: str | Path | Curve | PlanFile,
    *,
    delta: Value | None = None,
    quick: bool = True,
    progress: Progress | None = None,
) -> Iterator[Account]:
    """The account of a plan thrice: at once, then by every route with all effort, then with the curve.

    Every number of each of them is certified; those of the second are those of `account`. Without `quick` the first is
    left out.

    >>> quick, whole, drawn = accounts("100 * Laplace(epsilon=0.1)")
    >>> quick.total.epsilon >= whole.total.epsilon == drawn.total.epsilon
    True
    """
    progress = progress or _silent
    asked = _Asked.of(source, delta, progress)
    if quick:
        yield asked.account(total_of(asked.whole, asked.delta, quick=True), ())
    progress(0.3, "composing")
    total = total_of(asked.whole, asked.delta)
    yield asked.account(total, ())
    yield asked.account(total, curve_points(asked.whole, total, asked.delta, progress))


@dataclass(frozen=True)
class _Asked:
    """A plan that an account is made of: its queries, all of them together, and the delta of the question."""

    plan: PlanFile
    queries: tuple[QueryCost, ...]
    whole: Plan
    delta: Fraction

    @classmethod
    def of(cls, source: str | Path | Curve | PlanFile, delta: Value | None, progress: Progress) -> _Asked:
        """The plan of a source, checked; delta is the given one, or that of the plan."""
        plan = plan_of(source)
        chosen = delta if delta is not None else plan.delta or (plan.budget and plan.budget.delta) or DEFAULT_DELTA
        if rational(chosen, "delta") == 0:
            raise BadValue("delta (0) must be above 0 in an account: the guarantee at delta = 0 is its pure_epsilon")
        at = probability(chosen, "delta")
        queries, whole = _queries(plan, progress)
        plan.relation_of(whole)
        return cls(plan, queries, whole, at)

    def account(self, total: Total, curve: Iterable[tuple[float, float]], risk: Risk | None = None) -> Account:
        """The account with this total, these points of the curve, and what an attacker gains, if that was asked."""
        plan, whole = self.plan, self.whole
        names = {name for part, _ in whole.parts for name in _theorems(part)} | total.theorems
        derived = plan.tables.derived.values() if plan.tables else ()
        names |= {"derived-columns"} if derived else set()
        names |= {"tradeoff"} if risk is not None else set()
        return Account(
            **_versions(),
            date=_today(),
            title=plan.title,
            description=plan.description,
            author=plan.author,
            dataset=plan.dataset,
            unit=plan.unit or (plan.tables.protects if plan.tables else None),
            source=plan.source,
            inputs=plan.text,
            delta=float(self.delta),
            budget=_budget(plan.budget, total, whole, self.delta),
            queries=self.queries,
            total=_total(total, self.delta, plan.relation_of(whole)),
            curve=tuple(Point(*point) for point in curve),
            theorems=cited(names),
            derived=tuple(DerivedColumn(one.name, one.words()) for one in derived),
            assumptions=tuple(dict.fromkeys(one for part, _ in whole.parts for one in _assumptions(part))),
            risk=risk,
        )


def _total(total: Total, delta: Fraction, relation: Relation) -> TotalCost:
    """The total as the account states it, with comparisons unless it is to be there at once."""
    compared = not total.quick
    charged = usual_total(total.plan, delta) if compared and total.rho < inf else {}
    usuals = {name: Charge(**sums) for name, sums in charged.items()}
    first = next(iter(usuals.values()), None)
    others = sorted(elsewhere(total.plan, delta).items(), key=lambda item: item[1]) if compared else []
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
        saved_rho=1 - total.rho / first.rho if first and first.rho and total.rho < inf else None,
        saved_epsilon=1 - total.epsilon / others[0][1] if others and others[0][1] else None,
        elsewhere=tuple(Route(*one) for one in others),
        event_delta=float_above(total.event_delta),
    )


def plan_of(source: str | Path | Curve | PlanFile) -> PlanFile:
    """The source as a plan file; one entry for each different mechanism of an expression or a plan."""
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
    """The parts of a plan with their counts, by mechanism and sensitivity.

    Mechanisms of equal cost compare equal, and those of different sensitivities still have different errors.
    """
    found: dict[tuple[Curve, object], tuple[Curve, int]] = {}
    for part, count in Plan.sum_of(plan).leaves():
        key = part, getattr(part, "sensitivity", None)
        found[key] = part, found.get(key, (part, 0))[1] + count
    return found


def _queries(plan: PlanFile, progress: Progress) -> tuple[tuple[QueryCost, ...], Plan]:
    """The cost of each query, and the plan of all of them; equal queries are computed once."""
    uses: dict[tuple[Curve, int], tuple[QueryCost, Plan]] = {}
    accuracies: dict[str, Accuracy | None] = {}
    rows: list[QueryCost] = []
    for n, entry in enumerate(plan.entries):
        if entry.plan is None:
            where = plan.where(entry)
            raise PlanFileError(f"{where}: mechanism: '?' has no value yet: zcdp allocate finds one")
        key = (entry.plan, entry.count)
        if key not in uses:
            event = event_of(entry.plan.parts[0][0])
            made = _facts(*key) if event is None else _event(event * entry.count, entry.count)
            uses[key] = made, Plan.repeated(*key)
        # mechanisms of equal cost may be written differently, with different noise: accuracies are kept by text
        written = " ".join(entry.text.split())
        if written not in accuracies:
            accuracies[written] = _accuracy(entry.plan)
        noise = accuracies[written]
        told = None if noise is None else entry.in_values(noise)
        rows.append(replace(uses[key][0], name=entry.name, mechanism=written, note=entry.note, accuracy=told))
        if n % 64 == 0:
            progress(0.3 * n / len(plan.entries), "queries")
    rows = _predicted(plan, _adjusted(plan, rows))
    # what is infinite shares all of it, as if each were 1; if nothing is spent, all queries have the same share
    sizes = [row.rho for row in rows]
    sizes = [float(size == inf) for size in sizes] if inf in sizes else sizes
    whole = sum(sizes)
    rows = [replace(row, share=size / whole if whole else 1 / len(rows)) for row, size in zip(rows, sizes, strict=True)]
    times: dict[tuple[Curve, int], int] = {}
    for entry in plan.entries:
        assert entry.plan is not None
        times[entry.plan, entry.count] = times.get((entry.plan, entry.count), 0) + 1
    return tuple(rows), Plan.sum_of(*(Plan.repeated(uses[key][1], often) for key, often in times.items()))


def _adjusted(plan: PlanFile, rows: list[QueryCost]) -> list[QueryCost]:
    """The queries, with the accuracy after adjustment for tables that are made to add up."""
    if plan.tables is None or not plan.tables.together:
        return rows
    found = adjusted_accuracies(plan.tables, plan.entries)
    return [
        replace(row, accuracy=entry.in_values(found[row.name]), alone=row.accuracy) if row.name in found else row
        for row, entry in zip(rows, plan.entries, strict=True)
    ]


def _predicted(plan: PlanFile, rows: list[QueryCost]) -> list[QueryCost]:
    """The queries, with what is predicted of tables; of a table with two mechanisms at the first of them."""
    found = predictions(plan)
    return [
        replace(row, predicted=found.pop(row.name)) if entry.field == "mechanism" and row.name in found else row
        for row, entry in zip(rows, plan.entries, strict=True)
    ]


def _facts(plan: Plan, count: int) -> QueryCost:
    """The cost of `count` uses of a plan, with name, text and share left open."""
    # a single mechanism is asked itself and not through its plan: it caches the answers, and the total needs them again
    one = plan.parts[0][0] if len(plan.parts) == 1 and plan.parts[0][1] == 1 else plan
    rho = Plan.repeated(one, count).rho if count > 1 else one.rho
    charged = usual(one, count)
    first = next(iter(charged.values()))
    notes = [getattr(part, "note", "") for part, _ in one.parts] + ([why_infinite(one, "it")] if rho == inf else [])
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
        about="; ".join(dict.fromkeys(filter(None, notes))),
    )


def _event(delta: Fraction, count: int) -> QueryCost:
    """The cost of an event that may give a person away, but for which nothing is told: no rho, and its delta."""
    return QueryCost(
        name="",
        mechanism="",
        count=count,
        note=None,
        rho=0.0,
        rho_one=0.0,
        rho_bounds_one=(0.0, 0.0),
        rho_order=None,
        is_tight=True,
        pure_epsilon_one=inf,
        theorem="discovered-keys",
        share=None,
        usual=MappingProxyType(dict.fromkeys(usual(PureDP(epsilon=1), 1))),
        saved=None,
        delta=float_above(delta),
    )


def _accuracy(plan: Plan) -> Accuracy | None:
    """The accuracy of one answer of a mechanism that adds noise; None if it does not, or cannot be computed."""
    [(part, _), *others] = plan.parts
    try:
        return part.accuracy() if isinstance(part, AddedNoise) and not others else None
    except (TypeError, NotCertified):  # a staircase without a stated sensitivity; parameters that are too extreme
        return None


def _order(curve: Curve) -> float | None:
    """The Renyi order that attains rho; None if it is not known."""
    try:
        return curve.rho_order
    except NotCertified:
        return None


def _assumptions(curve: Curve) -> tuple[str, ...]:
    return curve.assumptions if isinstance(curve, Mechanism) else ()


def _theorems(curve: Curve) -> tuple[str, ...]:
    return curve.theorems if isinstance(curve, Mechanism) else ()


def _budget(budget: Budget | None, total: Total, whole: Plan, delta: Fraction) -> BudgetUse | None:
    """How much of the file's budget the plan spends, compared in exact numbers; `delta` is that of the total."""
    if budget is None:
        return None
    if budget.rho is not None:
        if total.rho == inf:
            raise BadValue(f"budget: {why_infinite(whole, 'the plan')}: state one of epsilon and delta")
        limit, spent = _written(budget.rho, "rho"), total.exact_rho
    else:
        assert budget.epsilon is not None
        assert budget.delta is not None
        limit = _written(budget.epsilon, "epsilon")
        chance, full = probability(budget.delta, "delta"), total.full or total.quick
        at = total if chance == delta else total_of(whole, chance, full, quick=total.quick)
        spent = at.exact_epsilon
    numbers = {name: None if value is None else float(_written(value, name)) for name, value in vars(budget).items()}
    left = 0.0 - float_above(spent - limit)  # rounded down
    return BudgetUse(**numbers, spent=float(spent / limit), left=left, exceeded=spent > limit)


def _written(value: float | str, name: str) -> Fraction:
    """The number as the file writes it, as an exact decimal whether in quotes or not."""
    return positive_rational(str(value), name)


def _today() -> str:
    """The day, in UTC; that of SOURCE_DATE_EPOCH if it is set, for reproducible builds."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    at = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdecimal() and len(epoch) < 12 else datetime.now(UTC)
    return at.date().isoformat()


def _versions() -> dict[str, str]:
    import flint

    # read from the loaded modules: importlib.metadata would take a tenth of a second
    own = str(sys.modules["zcdp"].__version__)
    return {"zcdp": own, "python": platform.python_version(), "python_flint": str(flint.__version__)}
