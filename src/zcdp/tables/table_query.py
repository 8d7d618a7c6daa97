"""A query for a published table: what is measured, of which rows, by which keys; and the sensitivity it has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from itertools import chain
from math import inf, prod, sqrt
from typing import Any

from zcdp.tables.clipped_sums import LIMB, Amount, read_amount, totals_in_bins
from zcdp.tables.cumulated_counts import CumulatedCounts, group_sizes
from zcdp.tables.discovered_keys import Discovered
from zcdp.tables.domain import EXACT, Bins, Dates, DeclarationError, Domain, known_fields, number, text, whole
from zcdp.tables.nested import Coarser, Nested, declared_above

__all__ = [
    "MEASURES",
    "MECHANISM",
    "Condition",
    "Statistic",
    "TableQuery",
    "always_has_a_key",
    "of_histogram",
    "read_condition",
    "read_query",
    "read_where",
]

# Conditions on rows (`where`): a small language in which every operation is defined for every value.

COMPARISONS = ("<", "<=", ">", ">=")
EQUAL = ("==", "!=")
MEMBER = ("in", "not in")
KINDS = {bool: "boolean", int: "number", float: "number", str: "text", date: "date"}
MOST_LISTED = 1000  # values after "in"


@dataclass(frozen=True)
class Condition:
    """A condition `column operation value`; a row whose value is missing or NaN never fulfils it."""

    column: str
    operation: str
    value: Any

    @property
    def kind(self) -> str:
        """The type that the column is read as: text, number, boolean or date."""
        return KINDS[type(self.value[0] if self.operation in MEMBER else self.value)]


def read_where(data: Any) -> tuple[Condition, ...]:
    """The conditions of a query, all of which a row must fulfil: `[["employed", "==", true], ["age", ">=", 18]]`.

    >>> read_where([["age", ">=", 18]])
    (Condition(column='age', operation='>=', value=18),)
    """
    if not isinstance(data, list):
        raise DeclarationError("where", 'must be a list of conditions: [["age", ">=", 18]]')
    return tuple(read_condition(one, "where") for one in data)


def read_condition(data: Any, field: str) -> Condition:
    """One condition, checked: a known operation, and values of one kind that it can compare."""
    if not isinstance(data, list) or len(data) != 3:
        raise DeclarationError(field, 'a condition is ["column", "operation", value]')
    column, operation, value = text(data[0], field), data[1], data[2]
    if operation not in (*EQUAL, *COMPARISONS, *MEMBER):
        raise DeclarationError(field, f"{operation!r} is none of {', '.join((*EQUAL, *COMPARISONS, *MEMBER))}")
    values = value if operation in MEMBER else [value]
    if not isinstance(values, list) or not 0 < len(values) <= MOST_LISTED:
        raise DeclarationError(field, f"{operation!r} needs a list of 1 to {MOST_LISTED} values")
    kinds = {KINDS.get(type(one)) for one in values}
    if len(kinds) != 1 or None in kinds:
        raise DeclarationError(field, "values are numbers, text, booleans or days, in one list of one kind")
    if kinds == {"number"} and not all(abs(one) < EXACT for one in values):
        raise DeclarationError(field, "numbers must be below 2^53 in size")
    if operation in COMPARISONS and not kinds <= {"number", "date"}:
        raise DeclarationError(field, f"{operation!r} compares numbers and days alone")
    return Condition(column, operation, tuple(value) if operation in MEMBER else value)


# Whether every row that fulfils the conditions of a query has a key in a domain; then a table by it drops no row.

READ_AS = {"text": "text", "integer": "number", "boolean": "boolean", "number": "number", "date": "date"}
"""The kind of condition that reads the column of a domain, by the kind of the domain."""


def always_has_a_key(domain: Domain, where: Iterable[Condition]) -> bool:
    """Whether every row that fulfils the conditions has a key in the domain, from the plan alone; False if in doubt.

    A row that fulfils a condition on a column has a value there, and the condition may bound it.
    Theorem: docs/theorems/totals.md.

    >>> from zcdp.tables.domain import read_domain
    >>> from zcdp.tables.table_query import read_where
    >>> age = read_domain("age", {"from": 0, "to": 100, "step": 5, "clip": True}, None)
    >>> always_has_a_key(age, []), always_has_a_key(age, read_where([["age", ">=", 18]]))
    (False, True)
    """
    if domain.other is not None:
        return True
    said = [one for one in where if one.column == domain.column and one.kind == READ_AS[domain.kind]]
    if isinstance(domain, Bins | Dates):
        return bool(said) and (domain.clip or _inside(domain, said))
    if isinstance(domain, Coarser):
        return always_has_a_key(domain.fine, where)
    if isinstance(domain, Nested) and domain.unknown is not None and always_has_a_key(domain.within, where):
        return True
    both = domain.kind == "boolean" and domain.size == 2
    return bool(said) and (both or any(set(_listed(one)) <= set(domain.values) for one in said if _lists(one)))


def _lists(one: Condition) -> bool:
    """Whether the condition lists all values that fulfil it."""
    return one.operation in ("==", "in")


def _listed(one: Condition) -> tuple[Any, ...]:
    """The values that the condition names, as a tuple."""
    return one.value if isinstance(one.value, tuple) else (one.value,)


def _inside(domain: Bins | Dates, said: list[Condition]) -> bool:
    """Whether the conditions exclude all values outside of the domain; compared in doubles or days, as engines do."""
    ends = (domain.start, domain.end) if isinstance(domain, Bins) else (domain.days[0], domain.days[-1])
    start, end = map(_place, ends)
    from_start = any(_least(one) >= start for one in said)
    # bins are half-open: a value equal to the end is in none
    before_end = any(_most(one) < end or (one.operation == "<" and _most(one) == end) for one in said)
    return from_start and before_end


def _least(one: Condition) -> float:
    """A lower bound on the values that fulfil the condition; -inf if there is none."""
    return min(map(_place, _listed(one))) if _lists(one) or one.operation in (">", ">=") else -inf


def _most(one: Condition) -> float:
    """An upper bound on the values that fulfil the condition; inf if there is none."""
    return max(map(_place, _listed(one))) if _lists(one) or one.operation in ("<", "<=") else inf


def _place(value: Any) -> float:
    """A number, or a date by its ordinal, as a float to compare."""
    return value.toordinal() if isinstance(value, date) else float(value)


# The query itself.


MECHANISM = ("mechanism", "count_mechanism", "over_mechanism", "square_mechanism")
TARGETS = ("sd", "half_width", "level")
"""Fields for the accuracy wanted, in the unit of the values."""
SHAPED = ("non_negative", "adds_up")
"""Fields for post-processing of noisy numbers, which costs no privacy."""
COMMON = ("name", "measure", "by", "where", "max_cells", "mechanism", "note", "weight")
AMOUNT = ("of", "clip", "grid")
EXPECTED = ("expect", "half_width", "level")
"""Fields for the accuracy wanted where it depends on how many persons a cell has: a guess, and no count of the data."""
MEASURES: dict[str, tuple[str, ...]] = {
    "count": ("max_rows", *SHAPED, *TARGETS),
    "persons": (*SHAPED, *TARGETS),
    "histogram": ("of", "max_rows", *SHAPED, *TARGETS),
    "sum": (*AMOUNT, *SHAPED, *TARGETS),
    "mean": (*AMOUNT, "count_mechanism", "publish", *EXPECTED),
    "ratio": (*AMOUNT, "over", "over_clip", "over_grid", "over_mechanism", "expect"),
    "variance": (*AMOUNT, "square_mechanism", "count_mechanism", "expect"),
    "quantiles": ("of", "quantiles", "per", "grid", "max_rows", "method", "histogram", *EXPECTED),
    "top": ("of", "k", "max_rows", "count_mechanism"),
}
"""The measures, each with its fields besides those in COMMON."""
MAY_LACK = {"top": ("count_mechanism",)}
"""Mechanisms that a query of a measure may do without."""
PUBLISHED = ("sum", "mean", "persons")
"""What `publish` may name: all are of one noisy sum and one noisy count."""
LEAST_PART = Fraction(1, 10)
"""The part of rho that a count has at least whose sum would be best without it."""
MOST_CELLS = 500_000  # of one table
MOST_ROWS = 2**26  # of one person in a cell


@dataclass(frozen=True)
class Statistic:
    """The answers that one mechanism is run on, with their sensitivity: a person moves at most `moves` of them.

    Each moves by at most `distance`, in grid steps. With a `total` any number of answers may move, each by at most
    `distance` and all together by at most `total` (L1). For a selection `moves` is the number of selections that depend
    on a person, `distance` the sensitivity of the scores, and `monotone` whether all scores move in the same direction.
    `field` is the field of the query that has the mechanism.
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
    per: str = ""
    """What quantiles are of: the total of each "person" in a cell, or the values of the single "row"."""
    method: str = ""
    """How quantiles are found: "select" a bin by rank, or "cumulated" counts of bins and groups of bins."""
    histogram: str = ""
    """The name of the published table that quantiles are read off, at no cost; "" if they have noise of their own."""
    k: int = 0
    counted: bool = False
    """Whether the keys that `top` selects are published with counts."""
    over: Amount | None = None
    """What the amount of a ratio is divided by."""
    publish: tuple[str, ...] = ()
    """What is published of a noisy sum and a noisy count, out of PUBLISHED."""
    expect: int = 0
    """How many persons (rows, of quantiles of rows) a cell is expected to have; 0 if the plan does not say."""
    non_negative: bool = False
    """Whether published values below 0 become 0: post-processing, which costs no privacy."""
    adds_up: str = ""
    """The name of the set of tables that this one is adjusted to add up with; "" if there is none."""
    merges: int = 1
    """How many cells of the finest table of its set make up one cell, at most; a person's contributions to them add up.
    """
    finest: int = 0
    """How many cells the finest table of its set has; 0 stands for cells times merges."""

    @property
    def domains(self) -> tuple[Domain, ...]:
        """The domains of the exact table: those of the cells, and that of quantile bins or candidates."""
        return (*self.by, *([self.of] if self.of else []))

    @property
    def row_domains(self) -> tuple[Domain, ...]:
        """The domains in which a row needs a key: all, unless it is totals of persons that are put into bins."""
        return self.by if self.per == "person" else self.domains

    @property
    def amounts(self) -> tuple[Amount, ...]:
        """The amounts of which each person has a total in a cell."""
        return tuple(one for one in (self.amount, self.over) if one is not None)

    @property
    def middles(self) -> tuple[int, ...]:
        """What is subtracted from each person's amount before it is added up, so that it moves less."""
        if self.measure not in ("mean", "variance"):
            return (0, 0)
        assert self.amount is not None
        return (self.amount.middle, self.amount.farthest**2 // 2)

    @property
    def columns(self) -> Iterator[tuple[str, str]]:
        """The columns that the query reads, each with the kind of value it is read as."""
        for domain in self.domains:
            read = (domain,) if isinstance(domain, Bins | Dates) else domain.lookups
            yield from ((one.column, one.kind) for one in read)
        yield from ((condition.column, condition.kind) for condition in self.where)
        yield from ((one.column, "number") for one in self.amounts)

    @property
    def cells(self) -> int:
        """The number of published cells."""
        return prod(domain.size for domain in self.by)

    @property
    def reached(self) -> int:
        """The largest number of cells that one person can be in."""
        return min(self.max_cells, self.cells)

    def statistics(self, neighbours: str) -> tuple[Statistic, ...]:
        """The statistics that mechanisms are run on, with the sensitivity that follows from the bounds.

        For neighbours by replacement a person leaves some cells and another enters others: twice as many cells move,
        and an amount may go from one end of its clip to the other. Theorem: docs/theorems/table-sensitivity.md.
        """
        if self.histogram:
            return ()
        replaced = neighbours == "replace"
        if min(self.max_cells, self.merges) > 1:
            return (self._merged(replaced=replaced),)
        moves = (2 if replaced else 1) * self.reached
        if self.measure in ("count", "histogram", "persons"):
            return (Statistic("", "mechanism", moves, Fraction(self.max_rows)),)
        if self.measure == "quantiles":
            return self._ranks(moves, replaced=replaced)
        if self.measure == "top":
            return self._top(replaced=replaced)
        sums = tuple(self._sums(moves, replaced=replaced))
        if self.measure in ("sum", "ratio"):
            return sums
        return (*sums, Statistic("count", "count_mechanism", moves, Fraction(1)))

    def _sums(self, moves: int, *, replaced: bool) -> Iterator[Statistic]:
        """The sums of amounts, of which a person's is between two ends, less the middle of these for a mean."""
        assert self.amount is not None
        first, second = self.middles
        distance = _distance(self.amount.low - first, self.amount.high - first, replaced=replaced)
        label = "" if self.measure == "sum" else "sum"
        yield Statistic(label, "mechanism", moves, distance, grid=self.amount.grid)
        if self.over is not None:
            distance = _distance(self.over.low, self.over.high, replaced=replaced)
            yield Statistic("over", "over_mechanism", moves, distance, grid=self.over.grid)
        if self.measure == "variance":
            distance = _distance(-second, self.amount.farthest**2 - second, replaced=replaced)
            yield Statistic("squares", "square_mechanism", moves, distance, grid=self.amount.grid**2)

    def _ranks(self, moves: int, *, replaced: bool) -> tuple[Statistic, ...]:
        """The selections of quantiles, one for each; or the counts of bins and of groups of bins, level by level."""
        rows = Fraction(self.max_rows)
        if self.method == "select":
            return tuple(
                Statistic("", "mechanism", moves, rows * rank_sensitivity(q, replaced=replaced), selects=True)
                for q in self.quantiles
            )
        assert self.of is not None
        levels = len(group_sizes(self.of.size))
        if rows == 1:
            return (Statistic("", "mechanism", moves * levels, rows),)
        # several rows of a person may be in one group of a level, or in as many: docs/theorems/cumulated-counts.md
        return (Statistic("", "mechanism", levels, rows, total=moves * rows),)

    def _top(self, *, replaced: bool) -> tuple[Statistic, ...]:
        """The selections of largest keys, and their counts if these are published."""
        # all counts move the same way when a person is added or removed, which halves the noise, however many move:
        # docs/theorems/monotone-selection.md
        rows = Fraction(self.max_rows)
        selections = Statistic("", "mechanism", self.k, rows, selects=True, monotone=not replaced)
        counts = Statistic("count", "count_mechanism", self.k, rows)
        return (selections, counts) if self.counted else (selections,)

    def parts(self, neighbours: str) -> dict[str, Fraction]:
        """What rho the noise of each field is to have beside that of the others; none if all are alike.

        Where a sum is published beside its mean, it has the error of the sum about the middle of the clip, and the
        middle times that of the count: it is least if rho is shared as these errors, of one rho, are. The count has a
        tenth of rho at least. Theorem: docs/theorems/quotients.md.

        >>> from zcdp.tables.clipped_sums import Amount
        >>> one = TableQuery("a", "mean", (), (), 1, 1, Amount("pay", Fraction(1), 500, 1000), publish=("sum", "mean"))
        >>> {field: float(part) for field, part in one.parts("add-remove").items()}
        {'mechanism': 0.5, 'count_mechanism': 1.5}
        """
        if "sum" not in self.publish:
            return {}
        assert self.amount is not None
        above, below = self.statistics(neighbours)
        share = below.distance * abs(self.amount.middle)
        share = max(share / (share + above.distance), LEAST_PART)
        return {above.field: 2 * (1 - share), below.field: 2 * share}

    def target_of(self, statistic: Statistic) -> float:
        """What a half-width of 1 asked of the figures allows to the noise of a statistic, in its grid steps.

        A mean is moved as far by its sum as by its count, at the end of its clip; a rank, as a part of all, by the
        counts below the edge of largest error. The answer is a little less than that, as sums of noise have half-widths
        that are a little longer.
        """
        share = 0.98 * self.expect
        if self.measure == "mean":
            assert self.amount is not None
            reach = 1 if statistic.label == "sum" else self.amount.farthest
            return share / (sqrt(2) * reach * float(self.amount.grid))
        assert self.of is not None
        counts = CumulatedCounts(group_sizes(self.of.size))
        edges = range(self.of.size - 1)
        worst = max((counts.spread(q, edge) / q.denominator**2 for q in self.quantiles for edge in edges), default=1)
        return share / sqrt(worst)

    def _merged(self, *, replaced: bool) -> Statistic:
        """The statistic of a margin, where several of a person's cells of the finest table may fall into one cell.

        Theorem: docs/theorems/totals.md.
        """
        low, high = (self.amount.low, self.amount.high) if self.amount else (0, self.max_rows)
        grid = self.amount.grid if self.amount else Fraction(1)
        distance = min(self.max_cells, self.merges) * _distance(low, high, replaced=replaced)
        finest = min(self.max_cells, self.finest or self.cells * self.merges)
        total = (2 if replaced else 1) * finest * _distance(low, high, replaced=False)
        return Statistic("", "mechanism", 1, distance, grid=grid, total=total if self.cells > 1 else None)


def _distance(low: int, high: int, *, replaced: bool) -> Fraction:
    """The sensitivity of a sum to which each person adds 0 or an amount between low and high."""
    return Fraction(max(high, 0) - min(low, 0) if replaced else max(abs(low), abs(high)))


def rank_sensitivity(q: Fraction, *, replaced: bool = False) -> Fraction:
    """The sensitivity of the rank score of a bin for the quantile q = a/c, if a person is one row of the cell.

    For a person of up to R rows it is R times as large.
    The score is -max(0, c below - a all, a all - c (below + in)): the numbers of rows below the bin, in it, and in all.

    >>> rank_sensitivity(Fraction(1, 4))
    Fraction(3, 1)
    """
    a, c = q.numerator, q.denominator
    return Fraction(c if replaced else max(a, c - a))


def _measure(data: Mapping[str, Any]) -> str:
    """What a query measures; a misspelt field is named before a missing one."""
    if "measure" not in data:
        known_fields(data, dict.fromkeys((*COMMON, *chain(*MEASURES.values()))), "a query")
        raise DeclarationError("measure", f"is missing: one of {', '.join(MEASURES)}")
    measure = data["measure"]
    if not isinstance(measure, str) or measure not in MEASURES:
        raise DeclarationError("measure", f"must be one of {', '.join(MEASURES)}, not {measure!r}")
    return measure


def read_query(data: Mapping[str, Any], domains: Mapping[str, Any], unit: str) -> TableQuery:
    """A query from its fields in a plan file, checked as far as possible without data."""
    name = text(data.get("name"), "name").strip()
    measure = _measure(data)
    known_fields(data, (*COMMON, *MEASURES[measure]), f"a query that measures {measure}")
    if measure == "quantiles" and "histogram" in data:
        return _read_off(name, data)
    needed = [one for one in ("of", "over", *MECHANISM) if one in (*COMMON, *MEASURES[measure])]
    for field in (one for one in needed if one not in data and one not in MAY_LACK.get(measure, ())):
        raise DeclarationError("", f"query {name!r} has no {field}")
    by = data.get("by", [])
    if not isinstance(by, list) or len(set(map(str, by))) < len(by):
        raise DeclarationError("by", "must be a list of different names of domains")
    keys = tuple(_domain(domains, one, "by") for one in by)
    of = _domain(domains, data["of"], "of") if measure in ("histogram", "quantiles", "top") else None
    if of is not None and measure != "top" and not isinstance(of, Bins):
        raise DeclarationError("of", f"must name a domain of bins to measure {measure}")
    _check_found(of, keys, data)
    if measure == "quantiles" and getattr(of, "other", None) is not None:
        raise DeclarationError("of", "quantiles are of numbers in order: bins without other, which leave out the rest")
    if measure == "quantiles" and of is not None and of.other is not None:
        raise DeclarationError(
            "of", f"{of.name!r} has other, which has no place in an order: quantiles need plain bins"
        )
    if measure == "top" and by:
        raise DeclarationError("by", "top selects among the keys of one domain: use where for a part of the rows")
    if measure == "histogram":
        assert of is not None
        if of in keys:
            raise DeclarationError("by", f"{of.name!r} is what the histogram is of already")
        keys, of = (*keys, of), None
    # the key of a coarser list follows from that of a list within it, which is printed with it
    above = {one.name for key in keys for one in declared_above(key)[1:]}
    keys = tuple(key for key in keys if key.name not in above)
    rows = unit == "row"
    if rows and measure == "persons":
        raise DeclarationError("measure", "the unit is a row, so that there are no persons: measure count")
    most = 1 if rows else MOST_ROWS
    per = _per(data, rows=rows) if measure == "quantiles" else ""
    query = TableQuery(
        name,
        measure,
        keys,
        read_where(data.get("where", [])),
        whole(data.get("max_cells", 1), "max_cells", 1, 1 if rows else MOST_CELLS),
        whole(data.get("max_rows", 1), "max_rows", 1, most),
        _amount(measure, per, of, data),
        of,
        _quantiles(data.get("quantiles")) if measure == "quantiles" else (),
        per,
        _method(data) if measure == "quantiles" else "",
        "",
        _k(data.get("k"), of) if measure == "top" else 0,
        "count_mechanism" in data and measure == "top",
        _over(data) if measure == "ratio" else None,
        _publish(data) if measure == "mean" else (),
        _expect(data, measure),
        data.get("non_negative", False),
        text(data["adds_up"], "adds_up") if "adds_up" in data else "",
    )
    _check_shape(query)
    if query.cells * (of.size if of else 1) > MOST_CELLS:
        raise DeclarationError("by", f"a table has at most {MOST_CELLS} cells")
    return query


def _per(data: Mapping[str, Any], *, rows: bool) -> str:
    """What quantiles are of, "person" or "row": where a unit has several rows the plan must say which."""
    per = data.get("per", "row" if rows else None)
    if per not in ("person", "row"):
        what = "is missing" if per is None else f"must be one of person, row, not {per!r}"
        raise DeclarationError(
            "per" if "per" in data else "",
            f'per {what}: per = "person" for quantiles of what each person has in the cell in total, or per = "row" '
            "for those of single rows, with max_rows, how many of one person count in a cell",
        )
    if per == "person" and rows:
        raise DeclarationError("per", "the unit is a row, so that there are no persons: leave it out")
    if per == "person" and "max_rows" in data:
        raise DeclarationError("max_rows", 'goes with per = "row": a total is one value, of however many rows')
    if per == "row" and not rows and "max_rows" not in data:
        raise DeclarationError("", 'max_rows is missing: with per = "row", how many rows of one person count in a cell')
    if per == "row" and "grid" in data:
        raise DeclarationError("grid", 'goes with per = "person": rows are not added up')
    return str(per)


def _amount(measure: str, per: str, of: Domain | None, data: Mapping[str, Any]) -> Amount | None:
    """The amount that is added up for each person, if the query adds up any."""
    if measure in ("sum", "mean", "ratio"):
        return read_amount(text(data["of"], "of"), data)
    if measure == "variance":
        found = read_amount(text(data["of"], "of"), data)
        if found.farthest > LIMB:
            raise DeclarationError("grid", f"the clip must be at most {2 * LIMB} grid steps wide: take a larger grid")
        return found
    return totals_in_bins(of, data.get("grid")) if per == "person" and isinstance(of, Bins) else None


def _over(data: Mapping[str, Any]) -> Amount:
    """What a ratio is over, from the fields that begin so."""
    fields = {"over_clip": "clip", "over_grid": "grid"}
    try:
        given = {fields[name]: value for name, value in data.items() if name in fields}
        return read_amount(text(data["over"], "over"), given)
    except DeclarationError as error:
        where = f"over_{error.field}" if error.field in ("clip", "grid") else error.field
        raise DeclarationError(where, error.message if error.field else f"over_{error.message}") from None


def _publish(data: Mapping[str, Any]) -> tuple[str, ...]:
    """What a mean publishes, in the order of PUBLISHED; the mean is always among it."""
    given = data.get("publish", ["mean", "persons"])
    if not isinstance(given, list) or not set(map(str, given)) <= set(PUBLISHED) or "mean" not in given:
        raise DeclarationError("publish", "must be a list of mean and, if wanted, sum and persons")
    return tuple(one for one in PUBLISHED if one in given)


def _expect(data: Mapping[str, Any], measure: str) -> int:
    """How many persons a cell is expected to have; a target of a mean or of quantiles needs it."""
    if "half_width" in data and "expect" in EXPECTED_OF.get(measure, ()) and "expect" not in data:
        raise DeclarationError("half_width", "needs expect, how many persons a cell has: expect = 2000")
    return whole(data["expect"], "expect", 1, EXACT) if "expect" in data else 0


EXPECTED_OF = {measure: fields for measure, fields in MEASURES.items() if "half_width" in fields}


def _method(data: Mapping[str, Any]) -> str:
    """How quantiles are found: as the mechanism is one that selects, or adds noise, unless `method` says it."""
    selects = str(data["mechanism"]).lstrip().startswith("ExponentialMechanism")
    method = data.get("method", "select" if selects else "cumulated")
    if method not in ("select", "cumulated"):
        raise DeclarationError("method", f"must be one of select, cumulated, not {method!r}")
    return str(method)


OF_HISTOGRAM = ("name", "measure", "quantiles", "histogram", "note")
"""The fields of quantiles that are read off a published table."""


def _read_off(name: str, data: Mapping[str, Any]) -> TableQuery:
    """A query for quantiles of a published table, whose keys and bins `of_histogram` adds."""
    known_fields(data, OF_HISTOGRAM, "a query for quantiles of a published histogram")
    asked = text(data["histogram"], "histogram")
    return TableQuery(
        name,
        "quantiles",
        (),
        (),
        1,
        1,
        quantiles=_quantiles(data.get("quantiles")),
        method="cumulated",
        histogram=asked,
    )


def _in_order(query: TableQuery) -> bool:
    """Whether the last keys of a table are bins, and all of them numbers in order."""
    last = query.by[-1] if query.by else None
    return isinstance(last, Bins) and last.other is None


def of_histogram(query: TableQuery, tables: Sequence[TableQuery]) -> TableQuery:
    """The query for quantiles of a published table with the keys of that table; refused if it holds no counts of bins.

    A query that has noise of its own is returned as it is.
    """
    if not query.histogram:
        return query
    found = next((one for one in tables if one.name == query.histogram), None)
    if found is None or found.histogram:
        raise DeclarationError("histogram", f"there is no query {query.histogram!r}: it names a table of this plan")
    if found.measure not in ("count", "persons", "histogram") or not _in_order(found):
        raise DeclarationError("histogram", f"{query.histogram!r} holds no counts by bins, the last of its keys")
    if found.non_negative or found.adds_up:
        changed = "adds_up" if found.adds_up else "non_negative"
        raise DeclarationError("histogram", f"{query.histogram!r} has {changed}: its noise is not what was drawn")
    return replace(query, by=found.by[:-1], of=found.by[-1], where=found.where)


def _check_found(of: Any, keys: Sequence[Any], data: Mapping[str, Any]) -> None:
    """Refuse what needs a list of keys before the data is read, where the keys are found in it."""
    if isinstance(of, Discovered):
        raise DeclarationError("of", f"the keys of {of.name!r} are found in the data: use them in by")
    if any(isinstance(one, Discovered) for one in keys) and "adds_up" in data:
        raise DeclarationError("adds_up", "a table by keys that are found in the data is not made to add up")


def _check_shape(query: TableQuery) -> None:
    """Refuse post-processing that makes no sense for what the query measures."""
    if not isinstance(query.non_negative, bool):
        raise DeclarationError("non_negative", "must be true or false")
    if query.non_negative and query.amount is not None and query.amount.low < 0:
        raise DeclarationError("non_negative", "the clip lets sums be below 0")
    if query.adds_up and query.max_cells > 1 and query.measure == "persons":
        raise DeclarationError("max_cells", "a person in several cells is counted once in their total: max_cells = 1")


def _domain(domains: Mapping[str, Any], name: Any, field: str) -> Any:
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
    """The number of keys that `top` selects."""
    assert of is not None
    return whole(data, "k", 1, of.size)
