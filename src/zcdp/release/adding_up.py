"""Tables that add up: margins of one exact table, noise on each, and figures that are adjusted until they agree.

Nothing but noisy numbers and the plan is used once the noise is drawn. Theorem: docs/theorems/totals.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from zcdp.accounting.adjusted import Adjustment, adjustment
from zcdp.accounting.entry import Entry
from zcdp.release.accuracy import LEVEL, deviation, half_width
from zcdp.release.exact import Exact
from zcdp.release.noise import drawn, in_values, keys_of, plain_error
from zcdp.release.table import Table
from zcdp.tables.domain import plain
from zcdp.tables.margins import cube, margin, whole
from zcdp.tables.query import TableQuery
from zcdp.tables.top_down import non_negative
from zcdp.tables.totals import Together

__all__ = ["exact_margins", "published_together"]


def exact_margins(together: Together, exact: Exact) -> list[list[int]]:
    """The exact figures of each table of a set, from those of the finest: they add up by construction."""
    finest = exact.amounts if together.finest.amount else exact.counts
    everything = tuple(range(len(together.sizes)))
    array = cube(finest, together.sizes)
    return [list(margin(array, everything, axes).ravel()) for axes in together.axes]


def published_together(together: Together, entries: Sequence[Entry], exact: Exact) -> list[Table]:
    """The tables of a set, in its order."""
    mine = {entry.name: entry for entry in entries}
    noise = [mine[query.name] for query in together.queries]
    noisy = [drawn(*one) for one in zip(noise, exact_margins(together, exact), strict=True)]
    return adjusted_tables(adjustment(together, entries), noise, noisy)


def adjusted_tables(adjusted: Adjustment, noise: Sequence[Entry], noisy: Sequence[list[int]]) -> list[Table]:
    """From noisy figures to those that are published; what they are adjusted by is known from the plan."""
    together, estimates = adjusted.together, adjusted.margins.estimates(noisy)
    if together.finest.non_negative:
        figures = non_negative(estimates, together.sizes, together.axes)
    else:
        shapes = ([domain.size for domain in query.by] for query in together.queries)
        figures = [whole(*one) for one in zip(estimates, shapes, strict=True)]
    return [_table(adjusted, k, noise[k], estimates[k], figures[k]) for k in range(len(figures))]


def _table(adjusted: Adjustment, k: int, entry: Entry, estimate: tuple[list[int], int], values: list[int]) -> Table:
    query, accuracy = adjusted.together.queries[k], adjusted.accuracy(k)
    grid = query.amount.grid if query.amount else Fraction(1)
    ends = list(_ends(*estimate, Fraction(accuracy.half_width), values))
    if query.non_negative:  # the published value is not below 0, so that the lower end is not above it
        ends = [(max(low, 0), max(high, 0)) for low, high in ends]
    spread = plain_error(accuracy.standard_deviation, grid)
    columns = keys_of(query) | {
        "value": in_values(values, grid),
        "sd": [spread] * len(values),
        "lower": in_values((low for low, _ in ends), grid),
        "upper": in_values((high for _, high in ends), grid),
    }
    return Table(query.name, _about(adjusted, query, entry, accuracy.half_width, spread), columns)


def _ends(cells: list[int], below: int, half: Fraction, values: list[int]) -> Iterator[tuple[int, int]]:
    """All whole numbers within half of each estimate, of which the truth is one; and the published one."""
    reach, unit = half.numerator * below, half.denominator * below
    for cell, value in zip(cells, values, strict=True):
        estimate = cell * half.denominator
        yield min(-((reach - estimate) // unit), value), max((estimate + reach) // unit, value)


def _about(adjusted: Adjustment, query: TableQuery, entry: Entry, half: float, spread: float) -> str:
    grid = query.amount.grid if query.amount else Fraction(1)
    others = ", ".join(repr(one.name) for one in adjusted.together.queries if one is not query)
    away = f"at most {plain(Fraction(2 ** len(query.by), 2) * grid)} away"
    if query.non_negative:
        away = "none below 0, the sums of coarser tables kept, so that small cells are too large on average"
    return (
        f"adjusted so that it adds up with {others}: by least squares, which leaves an error of standard deviation "
        f"{spread:.4g} ({plain_error(deviation(entry), grid):.4g} before), then to whole grid steps, {away}; each "
        f"interval holds at {float(LEVEL):.0%}, and reaches {plain_error(half, grid):.4g} from the estimate before "
        f"rounding ({plain(half_width(entry) * grid)} from the value without the adjustment)"
    )
