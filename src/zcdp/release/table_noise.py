"""From exact to published tables: noise, standard deviations and intervals, and adjustment of tables that add up.

The parts of this file: the published `Table`; the error of a table, known from the plan alone; noise on counts and
sums; and sets of tables that are adjusted to add up.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from io import StringIO
from itertools import product
from math import floor, inf
from statistics import NormalDist
from typing import Any

from zcdp.accounting.adjusted_accuracy import Adjustment, adjustment
from zcdp.numeric.search import bisection
from zcdp.plans.plan_file import Entry
from zcdp.release.bounding import Exact
from zcdp.tables.discovered_keys import Discovered, threshold
from zcdp.tables.domain import plain
from zcdp.tables.table_query import Statistic, TableQuery
from zcdp.tables.totals import Together
from zcdp.text.numbers import grouped

__all__ = [
    "LEVEL",
    "Table",
    "deviation",
    "drawn",
    "exact_margins",
    "half_width",
    "in_values",
    "keys_of",
    "mechanism_of",
    "noisy_table",
    "plain_error",
    "published_keys",
    "published_together",
]


READ: dict[str, Callable[[str], Any]] = {
    "text": str,
    "integer": int,
    "number": float,
    "boolean": lambda text: text == "true",
}


@dataclass(frozen=True)
class Table:
    """One published table; `pandas.DataFrame(table.columns)` and `polars.DataFrame(table.columns)` read it.

    Its columns are keys, noisy values, the standard deviation of the noise, and the ends of an interval. A value that
    nothing is known of is None, and empty in CSV.

    >>> table = Table("a", "sd and interval of each cell", {"region": ["R01"], "value": [12]})
    >>> table.to_csv()
    'region,value\\nR01,12\\n'
    """

    name: str
    about: str
    columns: Mapping[str, list[Any]] = field(repr=False)

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """The rows, as the keys of the domains run."""
        return list(zip(*self.columns.values(), strict=True))

    def _repr_html_(self) -> str:
        """What a notebook shows: the first rows."""
        from zcdp.report.notebook import table_html

        return table_html(self.name, self.columns)

    def kinds(self) -> dict[str, str]:
        """The kind of each column: text, integer, number or boolean."""
        return {name: _kind(values) for name, values in self.columns.items()}

    def to_csv(self) -> str:
        """The table as CSV text with a header."""
        out = StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([_written(value) for value in row] for row in self.rows)
        return out.getvalue()

    @classmethod
    def from_csv(cls, name: str, about: str, text: str, kinds: Mapping[str, str]) -> Table:
        """The table from its CSV text and the kinds of its columns: the inverse of `to_csv`."""
        header, *rows = csv.reader(StringIO(text))
        listed = {column: [_read(row[n], kinds[column]) for row in rows] for n, column in enumerate(header)}
        return cls(name, about, listed)


def _kind(values: list[Any]) -> str:
    kinds = {type(value) for value in values if value is not None}
    if values and not kinds:  # only figures are ever left out
        return "number"
    if kinds == {bool}:
        return "boolean"
    if kinds <= {int}:
        return "integer"
    return "number" if kinds <= {int, float} else "text"


def _written(value: Any) -> Any:
    """A cell of a CSV: infinities as the types of XML Schema spell them, which CSV on the Web refers to.

    None is left to the writer, which leaves its cell empty.
    """
    if isinstance(value, float):
        return repr(value).replace("inf", "INF")
    return str(value).lower() if isinstance(value, bool) else value


def _read(text: str, kind: str) -> Any:
    """The value of a cell of a CSV: of a figure that was left out, None."""
    return None if not text and kind != "text" else READ[kind](text)


# The error of the noise, known from the plan alone, before any data is read.

LEVEL = Fraction(19, 20)  # of the intervals


def mechanism_of(entry: Entry) -> Any:
    """The one mechanism of an entry of a table."""
    assert entry.plan is not None
    [(mechanism, _)] = entry.plan.parts
    return mechanism


@lru_cache(64)
def _accuracy(mechanism: Any, level: Fraction) -> Any:
    return mechanism.accuracy(level)


def deviation(entry: Entry) -> float:
    """The standard deviation of the noise of one cell, in grid steps."""
    return float(_accuracy(mechanism_of(entry), LEVEL).standard_deviation)


def half_width(entry: Entry, level: Fraction = LEVEL) -> int:
    """An integer, in grid steps, that the noise of one cell exceeds in size with probability at most 1 - level."""
    return int(_accuracy(mechanism_of(entry), level).half_width)


# Noise, drawn once for each table by the samplers of the mechanisms that are accounted for.

LARGEST_FAST_VARIANCE = 2.0**100  # beyond it draws might not fit 64 bits


def drawn(entry: Entry, values: list[int]) -> list[int]:
    """The values with independent noise added, as Python integers, which do not overflow."""
    mechanism = mechanism_of(entry)
    if float(mechanism.variance) > LARGEST_FAST_VARIANCE:  # depends on the plan alone, not on the data
        return [mechanism.release(value) for value in values]
    return [value + noise for value, noise in zip(values, mechanism.sample(len(values)).tolist(), strict=True)]


def keys_of(query: TableQuery) -> dict[str, list[Any]]:
    """The columns of keys for all cells, the last domain running fastest."""
    places = list(product(*(range(domain.size) for domain in query.by)))
    return {
        name: [values[place[n]] for place in places]
        for n, domain in enumerate(query.by)
        for name, values in domain.columns().items()
    }


def noisy_table(query: TableQuery, entries: Sequence[Entry], exact: Exact, statistics: Sequence[Statistic]) -> Table:
    """A table of counts or sums with noise on each cell."""
    entry, grid = entries[0], statistics[0].grid
    values = drawn(entry, exact.amounts if query.measure == "sum" else exact.counts)
    spread, half = plain_error(deviation(entry), grid), half_width(entry)
    least: Any = 0 if query.non_negative else -inf
    # the interval of a value below 0 is that of 0: cut alone, it would shrink to "0 to 0", and look like certainty
    columns = keys_of(query) | {
        "value": in_values((max(value, least) for value in values), grid),
        "sd": [spread] * len(values),
        "lower": in_values((max(value - half, least) for value in values), grid),
        "upper": in_values((max(value, least) + half for value in values), grid),
    }
    about = f"noise of standard deviation {grouped(spread)} on each value; each interval holds at {float(LEVEL):.0%}"
    if query.non_negative:  # the true value is at least 0, so that cutting an interval at 0 keeps its level
        about += (
            "; values and intervals are cut at 0, so that sums of small cells are too large on average; a value of 0 "
            f"may be anything up to {grouped(plain(half * grid))}"
        )
    return Table(query.name, about, columns)


def published_keys(domain: Discovered, entry: Entry, counts: Sequence[tuple[Any, int]]) -> Table:
    """The keys whose noisy number of persons reaches the threshold, in the order of the keys, with that number.

    Nothing depends on how many others there are. Theorem: docs/theorems/discovered-keys.md.
    """
    least = threshold(mechanism_of(entry).variance, domain.delta, domain.max_cells)
    values = drawn(entry, [persons for _, persons in counts])
    noisy = ((key, value) for (key, _), value in zip(counts, values, strict=True))
    found = [(key, value) for key, value in noisy if value >= least and domain.is_key(key)]
    if len(found) > domain.most_keys:
        found = sorted(found, key=lambda one: (-one[1], one[0]))[: domain.most_keys]
    found.sort()
    spread, half = plain_error(deviation(entry), Fraction(1)), half_width(entry)
    columns: dict[str, list[Any]] = {
        domain.name: [key for key, _ in found],
        "value": [value for _, value in found],
        "sd": [spread] * len(found),
        "lower": [value - half for _, value in found],
        "upper": [value + half for _, value in found],
    }
    about = (
        f"persons of each key, with noise of standard deviation {_short(spread)}; a key is published if that number is "
        f"{least} or more; of all keys at most {float(1 - LEVEL):.0%} are published and miss their interval, of those "
        "listed with few persons more"
    )
    return Table(entry.name, about, columns)


def in_values(steps: Iterable[int], grid: Fraction) -> list[int | float]:
    """Grid steps converted to the unit of the values.

    >>> in_values([3, -1], Fraction(1, 2))
    [1.5, -0.5]
    """
    if grid.denominator == 1:
        return [step * grid.numerator for step in steps]
    return [plain(step * grid) for step in steps]


def plain_error(steps: float, grid: Fraction) -> float:
    """A standard deviation in grid steps converted to the unit of the values, to six digits.

    >>> plain_error(90000.00000000001, Fraction(10))
    900000.0
    """
    return float(f"{steps * float(grid):.6g}")


# Tables that add up: margins of one exact table, noise on each, and an adjustment by least squares and rounding. After
# the noise is drawn only noisy numbers and the plan are used: post-processing. Theorem: docs/theorems/totals.md.


def exact_margins(together: Together, exact: Exact) -> list[list[int]]:
    """The exact figures of each table of a set, as margins of the finest table: they add up by construction."""
    return together.margins_of(exact.amounts if together.finest.amount else exact.counts)


def published_together(together: Together, entries: Sequence[Entry], exact: Exact) -> list[Table]:
    """The published tables of a set, as the set lists them."""
    mine = {entry.name: entry for entry in entries}
    noise = [mine[query.name] for query in together.queries]
    noisy = [drawn(*one) for one in zip(noise, exact_margins(together, exact), strict=True)]
    return adjusted_tables(adjustment(together, entries), noise, noisy)


def adjusted_tables(adjusted: Adjustment, noise: Sequence[Entry], noisy: Sequence[list[int]]) -> list[Table]:
    """The published tables from noisy figures; the coefficients of the adjustment depend on the plan alone."""
    estimates = adjusted.estimates(noisy)
    figures = adjusted.figures(estimates)
    return [_table(adjusted, k, noise[k], estimates[k], figures[k]) for k in range(len(figures))]


def _table(adjusted: Adjustment, k: int, entry: Entry, estimate: tuple[list[int], int], values: list[int]) -> Table:
    """Table k of a set, with the published integers and the intervals around the estimates before rounding."""
    query, errors = adjusted.together.queries[k], adjusted.errors[k]
    grid = query.amount.grid if query.amount else Fraction(1)
    halves = [Fraction(one.half_width) for one in errors.kinds]
    ends = list(_ends(*estimate, [halves[n] for n in errors.which], values))
    if query.non_negative:  # the published value is not below 0, so that the lower end is not above it
        # an estimate below 0 has at least the upper end of 0: cut alone, it would be "0 to 0", and look like certainty
        ends = [(max(low, 0), max(high, floor(halves[n]))) for (low, high), n in zip(ends, errors.which, strict=True)]
    spreads = [plain_error(one.standard_deviation, grid) for one in errors.kinds]
    columns = keys_of(query) | {
        "value": in_values(values, grid),
        "sd": [spreads[n] for n in errors.which],
        "lower": in_values((low for low, _ in ends), grid),
        "upper": in_values((high for _, high in ends), grid),
    }
    return Table(query.name, _about(adjusted, k, entry), columns)


def _ends(cells: list[int], below: int, halves: Sequence[Fraction], values: list[int]) -> Iterator[tuple[int, int]]:
    """For each cell the range of integers within its half-width of the estimate, extended to the published value."""
    for cell, half, value in zip(cells, halves, values, strict=True):
        reach, unit = half.numerator * below, half.denominator * below
        estimate = cell * half.denominator
        yield min(-((reach - estimate) // unit), value), max((estimate + reach) // unit, value)


def _about(adjusted: Adjustment, k: int, entry: Entry) -> str:
    """What is said of an adjusted table: with which others it adds up, and what that does to its errors."""
    together, query = adjusted.together, adjusted.together.queries[k]
    grid = query.amount.grid if query.amount else Fraction(1)
    others = ", ".join(repr(one.name) for one in together.queries if one is not query)
    errors = adjusted.errors[k].kinds
    spread = _range(plain_error(one.standard_deviation, grid) for one in errors)
    half = _range(plain_error(one.half_width, grid) for one in errors)
    steps = "numbers" if grid == 1 else f"steps of {plain(grid)}"
    away = f"at most {plain(Fraction(2 ** len(query.by), 2) * grid)} away"
    if query.non_negative and query.cells == 1:  # a total is shared out among its parts, and is not moved by them
        away = "not below 0"
    elif query.non_negative:
        away = "none below 0, the sums of coarser tables kept, so that small cells are too large on average"
        away += _bias(errors, grid) if together.tree is not None else ""
    listed = _listed_by(together, k)
    before, alone = _short(plain_error(deviation(entry), grid)), grouped(plain(half_width(entry) * grid))
    return (
        f"adjusted so that it adds up with {others}: by least squares, which leaves an error of standard deviation "
        f"{spread} ({before} before), then to whole {steps}, {away}; each interval holds at {float(LEVEL):.0%}, and "
        f"reaches {half} from the estimate before rounding ({alone} from the value without the adjustment){listed}"
    )


def _range(numbers: Iterable[float]) -> str:
    """The smallest and the largest of some numbers, as text; one number where they look alike."""
    found = sorted(numbers)
    low, high = _short(found[0]), _short(found[-1])
    return low if low == high else f"{low} to {high}"


EMPTY_CELLS = (1, 10)
"""Numbers of empty cells beside a large one for which the average error of figures that may not be below 0 is told."""


def _bias(errors: Iterable[Any], grid: Fraction) -> str:
    """How far off cells are on average in groups with empty ones, if errors are about normal.

    With r empty cells for each large one the large ones fall by z deviations and the empty ones rise by z/r, where
    r (phi(z) - z Q(z)) = z.
    """
    spread = max(plain_error(one.standard_deviation, grid) for one in errors)
    normal = NormalDist()

    def too_low(r: int) -> float:
        return bisection(lambda z: r * (normal.pdf(z) - z * normal.cdf(-z)) <= z, 0.0, 6.0, absolute=1e-6)[1]

    said = (
        f"{_short(too_low(r) * spread)} where {r} empty cell{'s stand' if r > 1 else ' stands'} beside each"
        for r in EMPTY_CELLS
    )
    return f", and large cells of a group too small, by about {' and '.join(said)}"


def _listed_by(together: Together, k: int) -> str:
    """A note for tables by a coarser list: which list decides where a row counts."""
    if together.tree is None or not 0 < together.levels[k] < together.tree.depth:
        return ""
    return f"; which key a row has here follows from its key of {together.finest.by[0].name!r}, by the public list"


def _short(width: float) -> str:
    """A standard deviation or half-width to four digits."""
    return grouped(float(f"{width:.4g}"))
