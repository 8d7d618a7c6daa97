"""What an account holds: frozen values with names, and the dictionary that is its JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from math import inf, isfinite, isinf
from types import MappingProxyType, NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from zcdp.accounting.printable import printable
from zcdp.display.calls import Spoken
from zcdp.display.notebook import table
from zcdp.display.rounding import shares
from zcdp.display.typeset import at_most, exactly
from zcdp.errors import BadValue
from zcdp.mechanisms.accuracy import Accuracy

__all__ = ["Account", "BudgetUse", "Charge", "Citation", "Point", "QueryCost", "Route", "TotalCost"]

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


@dataclass(frozen=True)
class Account(metaclass=Spoken):
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
