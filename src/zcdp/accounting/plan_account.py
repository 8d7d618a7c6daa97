"""What an account holds: frozen values with names, and the dictionary that is its JSON form."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from math import inf, isfinite, isinf
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from zcdp.accounting.adjusted import adjusted_accuracies
from zcdp.accounting.baselines import PURE, SQUARE, elsewhere, usual
from zcdp.errors import BadType, BadValue
from zcdp.mechanisms import Mechanism
from zcdp.mechanisms.accuracy import Accuracy, Noise
from zcdp.numeric.balls import NotCertified, enclose, lift
from zcdp.numeric.exact import Value, probability, rational
from zcdp.plans.plan_file import Budget, Entry, PlanFile, PlanFileError, read_plan
from zcdp.plans.plan_text import PlanError, parse_written
from zcdp.privacy.convert import zcdp_to_delta, zcdp_to_epsilon
from zcdp.privacy.curve import Curve
from zcdp.privacy.plan import Plan
from zcdp.privacy.relation import Relation
from zcdp.text.calls import spoken, spoken_class
from zcdp.text.names import printable, table
from zcdp.text.numbers import at_most, exactly, shares
from zcdp.text.suggestions import thing

__all__ = [
    "TITLES",
    "Account",
    "BudgetUse",
    "Charge",
    "Citation",
    "Point",
    "QueryCost",
    "Route",
    "Total",
    "TotalCost",
    "account",
    "cited",
    "curve_points",
    "total_of",
]


Held = TypeVar("Held")


@dataclass(frozen=True)
class Charge:
    """What another way of accounting charges for the same releases: rho, and epsilon at the account's delta."""

    rho: float
    epsilon: float


@dataclass(frozen=True)
class QueryCost:
    """What one query costs: `count` uses of a mechanism, which is given as it was written."""

    name: str
    mechanism: str
    count: int
    note: str | None
    rho: float
    """Of all uses together."""
    rho_one: float
    """Of one use."""
    rho_bounds_one: tuple[float, float]
    """Floats on both sides of the tight value of one use."""
    rho_order: float | None
    is_tight: bool
    """Whether rho is exact; else a proven upper bound."""
    pure_epsilon_one: float
    """Of one use; inf where there is none."""
    theorem: str
    """The page that proves it."""
    share: float | None
    """Of the sum of all queries' rho."""
    usual: Mapping[str, float | None]
    saved: float | None
    """Against the first of the usual bounds."""
    accuracy: Accuracy | None = None
    """Of one answer, where the mechanism adds noise to it: standard deviation, and half-width at 95%."""
    alone: Accuracy | None = None
    """Of a table that is made to add up with others: that of its own noise. `accuracy` is that of the adjusted one."""


@dataclass(frozen=True)
class Route:
    """epsilon at the account's delta, by a way of accounting that others offer."""

    name: str
    epsilon: float


@dataclass(frozen=True)
class TotalCost:
    """What all queries cost together; floats of guarantees are never below the truth."""

    rho: float
    rho_bounds: tuple[float, float]
    rho_order: float | None
    relation: str
    """Which two data sets are compared: add_remove, replace, or either."""
    pure_epsilon: float
    epsilon: float
    epsilon_bounds: tuple[float, float]
    route: str
    """The route of the least epsilon."""
    full: bool
    """Whether every route was taken; else epsilon comes from rho alone."""
    routes: Mapping[str, float]
    usual: Mapping[str, Charge]
    saved_rho: float | None
    saved_epsilon: float | None
    """Against the least of `elsewhere`."""
    elsewhere: tuple[Route, ...] = ()
    """What a careful user gets today, the least first: to compare with, not guarantees."""


@dataclass(frozen=True)
class BudgetUse:
    """A budget, in rho or in epsilon at delta, and how much of it is spent."""

    rho: float | None
    epsilon: float | None
    delta: float | None
    spent: float
    """The share of the budget."""
    left: float
    """What remains, rounded down."""
    exceeded: bool


@dataclass(frozen=True)
class Point:
    """A guarantee of its own: (epsilon, delta)-differential privacy."""

    epsilon: float
    delta: float


@dataclass(frozen=True)
class Citation:
    """A theorem that the numbers rest on."""

    id: str
    title: str
    path: str


@spoken_class
@dataclass(frozen=True)
class Account:
    """What a plan costs: by query, together, against its budget; and what is known of who made it about what.

    `to_dict()` is what `zcdp account --json` prints, `Account.from_dict` its inverse.
    """

    zcdp: str
    python: str
    python_flint: str
    date: str
    """The day on which it was made, in UTC."""
    title: str | None
    description: str | None
    author: str | None
    dataset: str | None
    unit: str | None
    """Whose data a neighbour lacks: a person, a household."""
    source: str
    """The file or the expression."""
    inputs: str = field(repr=False)
    delta: float
    budget: BudgetUse | None
    queries: tuple[QueryCost, ...] = field(repr=False)
    total: TotalCost
    curve: tuple[Point, ...] = field(repr=False)
    theorems: tuple[Citation, ...] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain data: what JSON has no word for is text ("inf"), tuples are lists."""
        plain: dict[str, Any] = _plain(self)
        return plain

    def _repr_html_(self) -> str:
        """What a notebook shows: each query with its share, then the whole."""
        shown = shares([query.rho for query in self.queries])
        rows = [
            (printable(query.name), printable(query.mechanism), f"{query.count:,}", at_most(query.rho), share)
            for query, share in zip(self.queries, shown, strict=True)
        ]
        whole = f"\u03b5 = {at_most(self.total.epsilon)} at \u03b4 = {exactly(self.delta)}"
        rows.append(("together", whole, "", at_most(self.total.rho), "100%"))
        return table(printable(self.title or self.source), rows, ("query", "mechanism", "uses", "\u03c1", "share"))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Account:
        """The account of which this is the dictionary, as JSON gives it back.

        >>> Account.from_dict({"zcdp": "0.2.0"})
        Traceback (most recent call last):
        ...
        zcdp.errors.BadValue: the account has no 'python'
        """
        return _held(cls, data, "the account")


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return "inf" if isinstance(value, float) and isinf(value) and value > 0 else value


def _held(kind: type[Held], data: Any, where: str) -> Held:
    """The value of a declared type, from plain data; whatever is not of that type is refused."""
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


# The titles of the theorems that an account cites; the pages themselves are under docs/theorems/.

TITLES = {
    "bounded-range": "Bounded range: rho = eta/(e^eta - 1) + log((e^eta - 1)/eta) - 1",
    "composition": "Composition of curves",
    "cumulant": "The cumulant of the privacy loss",
    "discrete-gaussian": "Discrete Gaussian: the same rho, a slightly lower curve",
    "discrete-gaussian-vectors": "Discrete Gaussian noise on vectors: a Gaussian pair that dominates",
    "discrete-laplace": "Discrete Laplace: rho = epsilon (1 - (1 - e^-epsilon) csch(t)/Delta)",
    "gaussian": "Gaussian: rho = Delta^2/(2 sigma^2)",
    "group": "Group privacy of pure DP is discrete Laplace",
    "laplace": "Laplace: rho = epsilon + e^-epsilon - 1",
    "linear-hashing": "Linear hashing: every two values collide with probability 1/g",
    "logistic": "Logistic noise: rho = epsilon coth(epsilon/2) - 2, and it dominates bounded range",
    "logistic-vectors": "Logistic noise on vectors: what the norm of the move does",
    "memoized-rappor": "RAPPOR with memory",
    "permute-and-flip": "Permute-and-flip: exact curve and rho",
    "profile": "The exact privacy profile of a composition",
    "pure-dp": "Pure DP: rho = epsilon tanh(epsilon/2)",
    "rappor": "RAPPOR: rho = epsilon tanh(epsilon/4)",
    "rdp-to-approx": "From a Renyi curve to (epsilon, delta)",
    "report-noisy-max": "Report noisy max",
    "sampling": "Poisson sampling: the pair, its composition, and why rho does not feel it",
    "shuffling": "Shuffled reports: the pair of randomized response, and of every randomizer",
    "sparse-vector": "Sparse vector: a proven upper bound",
    "supremum": "A certified supremum over orders, without a theorem on the mechanism",
    "three-point-maps": "Which mechanisms are three-point, and their kappa",
    "top-k": "Top-k: one selection after another",
    "total-variation": "Pure DP with a bound on the total variation distance",
    "truncated-geometric": "Truncated geometric: all pairs, certified",
    "two-point": "Two outcomes: asymmetric binary randomized response",
    "vector-queries": "Vector queries: what the norm of the move does",
}


def cited(names: set[str]) -> tuple[Citation, ...]:
    """Identifier, title and page of each.

    >>> cited({"rappor"})[0].title
    'RAPPOR: rho = epsilon tanh(epsilon/4)'
    """
    return tuple(Citation(n, TITLES.get(n, n), f"docs/theorems/{n}.md") for n in sorted(names))


# The whole of a plan: rho, epsilon at delta by every route, and points of its (epsilon, delta) curve.

MANY = 2_000
"""Beyond so many different mechanisms all routes take ten seconds and more; rho alone is quick, and epsilon larger."""
SEVERAL = 64
"""Beyond so many a curve is that of the profile alone, neighbouring points together."""
POINTS = 40
HASTE, LITTLE_HASTE = 32, 4
BOUNDLESS = "rho is infinite: the whole plan spends more than a float can say"


@dataclass(frozen=True)
class Total:
    """What the whole plan costs."""

    plan: Plan
    rho: float
    rho_bounds: tuple[float, float]
    rho_order: float | None
    routes: dict[str, float]
    epsilon_bounds: tuple[float, float]
    full: bool

    @property
    def route(self) -> str:
        """The route that gives the least epsilon."""
        return min(self.routes, key=lambda name: self.routes[name])

    @property
    def epsilon(self) -> float:
        """The least epsilon of all routes."""
        return self.epsilon_bounds[1]

    @property
    def exact_rho(self) -> Fraction:
        """A rational between the tight rho and `rho`: the sum of the parts' own, where that is less than a float."""
        parts = sum((part.rho_fraction * count for part, count in self.plan.parts), Fraction(0))
        return min(parts, Fraction(self.rho)) if self.rho < inf else parts

    @property
    def exact_epsilon(self) -> Fraction:
        """The least epsilon as a rational: the sum of the largest losses, where that is less than a float."""
        try:
            loss = self.plan.largest_loss
        except (AttributeError, TypeError, ValueError):  # no one exact number
            loss = None
        return min(loss, Fraction(self.epsilon)) if isinstance(loss, Fraction) else Fraction(self.epsilon)

    @property
    def theorems(self) -> set[str]:
        """What the composition and the chosen route rest on."""
        route = {"profile": {"profile"}, "rdp": {"rdp-to-approx"}, "zcdp": {"rdp-to-approx"}}.get(self.route, set())
        return route | ({"composition"} if sum(count for _, count in self.plan.parts) > 1 else set())

    def usual(self, delta: Fraction) -> dict[str, dict[str, float]]:
        """The sums of the usual charges, converted as zCDP; a part that has none is charged its own rho.

        Nothing, where no part has a pure epsilon: epsilon^2/2 says nothing of Gaussian noise.
        """
        if all(part.pure_epsilon == inf for part, _ in self.plan.parts):
            return {}
        sums = {SQUARE: 0.0, PURE: 0.0}
        for part, count in self.plan.parts:
            charges = list(usual(part, count).values())
            for name, charge in zip(sums, charges, strict=True):
                sums[name] += part.rho * count if charge is None else charge
        return {
            name: {"rho": rho, "epsilon": zcdp_to_epsilon(rho, delta) if 0 < rho < inf else rho}
            for name, rho in sums.items()
        }


def total_of(plan: Plan, delta: Fraction, full: bool | None = None) -> Total:
    """The whole plan at `delta`; `full` is whether to compute the exact profile and the Renyi curve of all parts."""
    if full is None:
        full = len(plan.parts) <= MANY
    if not full:
        return _by_rho(plan, delta)
    if plan.rho == inf:
        raise BadValue(BOUNDLESS)
    routes = plan.routes(delta=delta)
    try:
        order: float | None = plan.rho_order
    except NotCertified:  # the parts peak at different orders
        order = None
    lower, upper = plan.epsilon_bounds(delta=delta)
    best = min(upper, *routes.values())
    return Total(plan, plan.rho, plan.rho_bounds, order, routes, (min(lower, best), best), full)


def _by_rho(plan: Plan, delta: Fraction) -> Total:
    """The sum of the parts' rho, and what follows from it alone: sound for any number of parts, and quick."""
    rhos = [(part.rho_fraction, count) for part, count in plan.parts]
    top = sum((rho * count for rho, count in rhos), Fraction(0))
    order: float | None = None
    try:
        bounds, order = enclose(lambda: plan.peak().rho), plan.parts[0][0].rho_order
    except NotCertified:  # the parts peak at different orders
        bounds = enclose(plan.kl)[0], enclose(lambda: lift(top))[1]
    if not plan._of_tight_parts:  # some part's own value is only an upper bound
        bounds = 0.0, bounds[1]
    if bounds[1] == inf:
        raise BadValue(BOUNDLESS)
    routes = {"zcdp": zcdp_to_epsilon(bounds[1], delta)}
    if plan.pure_epsilon < inf:
        routes["pure"] = plan.pure_epsilon
    return Total(plan, bounds[1], bounds, order, routes, (0.0, min(routes.values())), full=False)


def curve_points(
    plan: Plan, total: Total, delta: Fraction, progress: Callable[[float, str], None]
) -> Iterator[tuple[float, float]]:
    """Certified (epsilon, delta), from epsilon 0 to where delta is a thousandth of the one asked for."""
    last = min(Fraction(delta) / 1000, Fraction(1, 10**9))
    several = len(plan.parts) > SEVERAL
    short = total.full and not several
    end = plan.epsilon_at(delta=last) if short else min(zcdp_to_epsilon(total.rho, last), plan.pure_epsilon)
    if total.full and several:
        progress(0.5, "curve")
        epsilons = [Fraction(end * (n / POINTS)) for n in range(POINTS + 1)]
        yield from zip(map(float, epsilons), plan._curve_in_haste(epsilons, LITTLE_HASTE), strict=True)
        return
    for n in range(POINTS + 1):
        progress(0.4 + 0.6 * n / POINTS, "curve")
        epsilon = end * (n / POINTS)  # which is finite where end is
        if total.full:
            yield epsilon, plan._delta_in_haste(epsilon, HASTE)
        elif epsilon >= plan.pure_epsilon:
            yield epsilon, 0.0
        else:
            yield epsilon, zcdp_to_delta(total.rho, epsilon) if epsilon else 1.0


# The account of a plan: what each query and the whole cost, beside what other bounds charge.

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
