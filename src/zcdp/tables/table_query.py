"""A query of a table: what is measured, by which keys, within which bounds; and how far one person can move it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

from zcdp.tables.amounts import Amount, read_amount
from zcdp.tables.conditions import Condition, read_where
from zcdp.tables.domain import Bins, DeclarationError, Domain, known_fields, number, text, whole

__all__ = ["MEASURES", "MECHANISM", "Statistic", "TableQuery", "read_query"]


MECHANISM = ("mechanism", "count_mechanism")
TARGETS = ("sd", "half_width", "level")
"""How good the noise is to be, in the unit of the values."""
SHAPED = ("non_negative", "adds_up")
"""What is done to published numbers, which costs nothing."""
COMMON = ("name", "measure", "by", "where", "max_cells", "mechanism", "note", "weight")
MEASURES: dict[str, tuple[str, ...]] = {
    "count": ("max_rows", *SHAPED, *TARGETS),
    "persons": (*SHAPED, *TARGETS),
    "histogram": ("of", "max_rows", *SHAPED, *TARGETS),
    "sum": ("of", "clip", "grid", *SHAPED, *TARGETS),
    "mean": ("of", "clip", "grid", "count_mechanism"),
    "quantiles": ("of", "quantiles"),
    "top": ("of", "k", "max_rows"),
}
MOST_CELLS = 500_000
MOST_ROWS = 2**26


@dataclass(frozen=True)
class Statistic:
    """What one mechanism is run on: at most `moves` answers move, each by at most `distance`.

    Where there is a `total`, any number of answers moves, each by at most `distance`, and all together by at most that.

    Of a selection `moves` counts the selections that a person can reach, and `distance` is the sensitivity of scores,
    `monotone` whether all of them move the same way.
    """

    label: str
    field: str
    moves: int
    distance: Fraction
    selects: bool = False
    grid: Fraction = Fraction(1)
    monotone: bool = False
    total: Fraction | None = None


@dataclass(frozen=True)
class TableQuery:
    """One published table."""

    name: str
    measure: str
    by: tuple[Domain, ...]
    where: tuple[Condition, ...]
    max_cells: int
    max_rows: int
    amount: Amount | None = None
    of: Domain | None = None
    quantiles: tuple[Fraction, ...] = ()
    k: int = 0
    non_negative: bool = False
    """Whether published values below 0 become 0: what is done to published numbers costs nothing."""
    adds_up: str = ""
    """The name of a set of tables that are adjusted so that they add up."""
    merges: int = 1
    """How many cells of the finest table of its set make up one cell: what a person adds to them is added up."""

    @property
    def domains(self) -> tuple[Domain, ...]:
        """The domains that a row is placed in: those of the cells, and that of bins or candidates."""
        return (*self.by, *([self.of] if self.of else []))

    @property
    def cells(self) -> int:
        """How many cells are published."""
        return prod(domain.size for domain in self.by)

    @property
    def reached(self) -> int:
        """How many cells one person can be in."""
        return min(self.max_cells, self.cells)

    def statistics(self, neighbours: str) -> tuple[Statistic, ...]:
        """What mechanisms are run on, with the sensitivity that follows from the bounds.

        A person who replaces another leaves the cells of one and enters those of the other: twice as many move, and
        an amount may go from one end of its clip to the other. Theorem: docs/theorems/table-sensitivity.md.
        """
        replaced = neighbours == "replace"
        if min(self.max_cells, self.merges) > 1:
            return (self._merged(replaced=replaced),)
        moves = (2 if replaced else 1) * self.reached
        if self.measure in ("count", "histogram", "persons"):
            return (Statistic("", "mechanism", moves, Fraction(self.max_rows)),)
        if self.measure == "quantiles":
            return tuple(
                Statistic("", "mechanism", moves, rank_sensitivity(q, replaced=replaced), selects=True)
                for q in self.quantiles
            )
        if self.measure == "top":
            # counts move in one direction when a person comes or goes: half the noise, however many move;
            # docs/theorems/monotone-selection.md
            rows = Fraction(self.max_rows)
            return (Statistic("", "mechanism", self.k, rows, selects=True, monotone=not replaced),)
        assert self.amount is not None
        if self.measure == "sum":
            ends = self.amount.low, self.amount.high
            return (Statistic("", "mechanism", moves, _distance(*ends, replaced=replaced), grid=self.amount.grid),)
        middle = self.amount.middle
        ends = self.amount.low - middle, self.amount.high - middle
        return (
            Statistic("sum", "mechanism", moves, _distance(*ends, replaced=replaced), grid=self.amount.grid),
            Statistic("count", "count_mechanism", moves, Fraction(1)),
        )

    def _merged(self, *, replaced: bool) -> Statistic:
        """Of a person who is in several cells of the finest table some, or all, may be in one cell of this one.

        Theorem: docs/theorems/totals.md.
        """
        low, high = (self.amount.low, self.amount.high) if self.amount else (0, self.max_rows)
        grid = self.amount.grid if self.amount else Fraction(1)
        distance = min(self.max_cells, self.merges) * _distance(low, high, replaced=replaced)
        finest = min(self.max_cells, self.cells * self.merges)
        total = (2 if replaced else 1) * finest * _distance(low, high, replaced=False)
        return Statistic("", "mechanism", 1, distance, grid=grid, total=total if self.cells > 1 else None)


def _distance(low: int, high: int, *, replaced: bool) -> Fraction:
    """How far an answer moves to which each person adds 0 or an amount between low and high."""
    return Fraction(max(high, 0) - min(low, 0) if replaced else max(abs(low), abs(high)))


def rank_sensitivity(q: Fraction, *, replaced: bool = False) -> Fraction:
    """Of the score -max(0, c below - a all, a all - c (below + in)) for q = a/c, where a person is a row of the cell.

    >>> rank_sensitivity(Fraction(1, 4))
    Fraction(3, 1)
    """
    a, c = q.numerator, q.denominator
    return Fraction(c if replaced else max(a, c - a))


def read_query(data: Mapping[str, Any], domains: Mapping[str, Domain], unit: str) -> TableQuery:
    """A query as a plan file says it, checked as far as that can be done without data."""
    name = text(data.get("name"), "name").strip()
    measure = data.get("measure")
    if measure not in MEASURES:
        raise DeclarationError("measure", f"must be one of {', '.join(MEASURES)}, not {measure!r}")
    known_fields(data, (*COMMON, *MEASURES[measure]), f"a query that measures {measure}")
    for field in (one for one in ("of", *MECHANISM) if one in (*COMMON, *MEASURES[measure]) and one not in data):
        raise DeclarationError("", f"query {name!r} has no {field}")
    by = data.get("by", [])
    if not isinstance(by, list) or len(set(map(str, by))) < len(by):
        raise DeclarationError("by", "must be a list of different names of domains")
    keys = tuple(_domain(domains, one, "by") for one in by)
    of = _domain(domains, data["of"], "of") if measure in ("histogram", "quantiles", "top") else None
    if of is not None and measure != "top" and not isinstance(of, Bins):
        raise DeclarationError("of", f"must name a domain of bins to measure {measure}")
    if measure == "top" and by:
        raise DeclarationError("by", "top selects among the keys of one domain: use where for a part of the rows")
    if measure == "histogram":
        assert of is not None
        if of in keys:
            raise DeclarationError("by", f"{of.name!r} is what the histogram is of already")
        keys, of = (*keys, of), None
    rows = unit == "row"
    if rows and measure == "persons":
        raise DeclarationError("measure", "the unit is a row, so that there are no persons: measure count")
    most = 1 if rows else MOST_ROWS
    query = TableQuery(
        name,
        measure,
        keys,
        read_where(data.get("where", [])),
        whole(data.get("max_cells", 1), "max_cells", 1, 1 if rows else MOST_CELLS),
        whole(data.get("max_rows", 1), "max_rows", 1, most),
        read_amount(text(data["of"], "of"), data) if measure in ("sum", "mean") else None,
        of,
        _quantiles(data.get("quantiles")) if measure == "quantiles" else (),
        _k(data.get("k"), of) if measure == "top" else 0,
        data.get("non_negative", False),
        text(data["adds_up"], "adds_up") if "adds_up" in data else "",
    )
    _check_shape(query)
    if query.cells * (of.size if of else 1) > MOST_CELLS:
        raise DeclarationError("by", f"a table has at most {MOST_CELLS} cells")
    return query


def _check_shape(query: TableQuery) -> None:
    """Whether what is to be done to published numbers makes sense for them."""
    if not isinstance(query.non_negative, bool):
        raise DeclarationError("non_negative", "must be true or false")
    if query.non_negative and query.amount is not None and query.amount.low < 0:
        raise DeclarationError("non_negative", "the clip lets sums be below 0")
    if query.adds_up and query.max_cells > 1 and query.measure == "persons":
        raise DeclarationError("max_cells", "a person in several cells is counted once in their total: max_cells = 1")


def _domain(domains: Mapping[str, Domain], name: Any, field: str) -> Domain:
    if not isinstance(name, str) or name not in domains:
        there = ", ".join(domains) or "none"
        raise DeclarationError(field, f"there is no domain {name!r} (there are: {there}): [domain] declares them")
    return domains[name]


def _quantiles(data: Any) -> tuple[Fraction, ...]:
    if not isinstance(data, list) or not data:
        raise DeclarationError("quantiles", "must be a list: quantiles = [0.25, 0.5, 0.75]")
    found = tuple(number(one, "quantiles") for one in data)
    if not all(0 < q < 1 and q.denominator <= 10_000 for q in found) or len(set(found)) < len(found):
        raise DeclarationError("quantiles", "must be different numbers between 0 and 1, of at most four digits")
    return found


def _k(data: Any, of: Domain | None) -> int:
    assert of is not None
    return whole(data, "k", 1, of.size)
