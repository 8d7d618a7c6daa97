"""The rules of a query in words: whom it counts, of which rows, by which keys, and what is cut off."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from typing import Any

from zcdp.tables.domain import Bins, Dates, Domain, plain
from zcdp.tables.nested import Coarser, Nested
from zcdp.tables.table_query import Condition, TableQuery
from zcdp.text.numbers import edge

__all__ = ["condition_in_words", "domain_in_words", "rules"]

SIGNS = {"==": "is", "!=": "is not", "<": "is below", "<=": "is at most", ">": "is above", ">=": "is at least"}
SIGNS |= {"in": "is one of", "not in": "is none of"}
MOST_NAMED = 8
"""The most values of a condition that are named; of longer lists the number is told."""


def rules(query: TableQuery, unit: str) -> list[str]:
    """What a reader must know of a table: one sentence for each rule; `unit` is the person's column, or "row".

    >>> from zcdp.tables.table_query import read_query
    >>> given = {"name": "a", "measure": "persons", "where": [["age", ">=", 18]], "mechanism": ""}
    >>> rules(read_query(given, {}, "person_id"), "person_id")
    ['Counts persons, each once.', 'Only rows where age is at least 18; a row without the value is left out.']
    """
    said = [_measured(query, unit), _rows(query.where), *_cells(query, unit)]
    if query.non_negative:
        said.append("No figure is below 0.")
    return said


def _measured(query: TableQuery, unit: str) -> str:
    """The sentence on what a cell holds."""
    each = "" if unit == "row" else f", at most {_many(query.max_rows, 'row')} of one person in a cell"
    if query.measure == "persons":
        return "Counts persons, each once." if not query.by else "Counts persons, each once in a cell."
    if query.measure in ("count", "histogram"):
        return f"Counts rows{each}."
    if query.measure == "top":
        assert query.of is not None
        counted = ", with their counts" if query.counted else ""
        return f"The {query.k} most frequent of {domain_in_words(query.of)}, by rows{each}{counted}."
    if query.measure == "quantiles":
        assert query.of is not None
        levels = _listed([f"{float(q):.4g}" for q in query.quantiles])
        return (
            f"The bin of {query.of.column} that holds the {_many(len(query.quantiles), 'quantile', levels)}: "
            f"{domain_in_words(query.of)}{_of_whom(query, unit)}."
        )
    if query.amount is None:
        return f"Measures {query.measure}."
    one = query.amount
    whose = "what a row has" if unit == "row" else "what one person has in a cell"
    ends = " to ".join(_number(end * one.grid) for end in (one.low, one.high))
    what = {"sum": "Adds up", "mean": "The mean over persons of", "variance": "The variance over persons of"}
    if "sum" in query.publish:
        what["mean"] = "The sum and the mean over persons of"
    rounded = f"{whose} is rounded to steps of {_number(one.grid)} and cut to {ends}"
    if query.over is None:
        return f"{what[query.measure]} {one.column}; {rounded}."
    below = query.over
    ends = " to ".join(_number(end * below.grid) for end in (below.low, below.high))
    return (
        f"The sum of {one.column} over that of {below.column}, of rows that have both; {rounded}, and of "
        f"{below.column} to steps of {_number(below.grid)} and to {ends}."
    )


def _of_whom(query: TableQuery, unit: str) -> str:
    """What quantiles are of, and how they were found."""
    if query.histogram:
        return f"; read off the published table {query.histogram!r}"
    if unit == "row":
        return ""
    if query.per == "person":
        assert query.amount is not None
        return f"; of what each person has in the cell in total, rounded to steps of {_number(query.amount.grid)}"
    return f"; of single rows, at most {_many(query.max_rows, 'row')} of one person in a cell"


def _rows(where: Sequence[Condition]) -> str:
    """The sentence on which rows count."""
    if not where:
        return "All rows count."
    said = _listed([condition_in_words(one) for one in where])
    return f"Only rows where {said}; a row without the value is left out."


def condition_in_words(one: Condition) -> str:
    """A condition of `where`.

    >>> condition_in_words(Condition("age", "in", (1, 2)))
    'age is one of 1, 2'
    """
    values = one.value if isinstance(one.value, tuple) else (one.value,)
    named = ", ".join(map(_value, values)) if len(values) <= MOST_NAMED else f"{len(values):,} listed values"
    return f"{one.column} {SIGNS[one.operation]} {named}"


def _cells(query: TableQuery, unit: str) -> list[str]:
    """The sentences on the keys of the table, and in how many of its cells a person is counted."""
    if not query.by:
        return []
    said = [f"By {_listed([domain_in_words(one) for one in query.by])}: {_many(query.cells, 'cell')}."]
    if unit != "row" and query.cells > 1:
        most = query.reached
        said.append(
            f"A person is counted in at most {_many(most, 'cell')}; of those who are in more, {most} "
            f"{'is' if most == 1 else 'are'} kept, by a secret hash."
        )
    return said


def domain_in_words(domain: Domain) -> str:
    """The name of a domain and what its keys are.

    >>> from zcdp.tables.domain import Keys
    >>> domain_in_words(Keys("region", "reg", ("R01", "R02"), "elsewhere"))
    "region (column reg; 2 keys, all others are 'elsewhere')"
    """
    other = domain.other
    column = "" if domain.column == domain.name else f"column {domain.column}; "
    if isinstance(domain, Coarser):
        column = f"by the public list of {domain.fine.name}; "
    if not isinstance(domain, Bins | Dates):
        rest = "others are left out" if other is None else f"all others are {other!r}"
        count = _many(domain.size - (other is not None), "key")
        if isinstance(domain, Nested):
            count += f" within {domain.within.name}"
            rest += "" if domain.unknown is None else f", or {domain.unknown!r} of theirs"
        return f"{domain.name} ({column}{count}, {rest})"
    rest = "values outside are put into the first or last" if domain.clip else "values outside are left out"
    if other is not None:
        rest = f"{rest}, missing ones are {other!r}" if domain.clip else f"all else is {other!r}"
    bins = domain.size - (other is not None)
    if isinstance(domain, Dates):
        ends = f"{domain.days[0].isoformat()} to before {domain.days[-1].isoformat()}"
        return f"{domain.name} ({column}{_many(bins, 'interval')} from {ends}, {rest})"
    ends = f"from {_number(domain.start)} to below {_number(domain.end)}"
    return f"{domain.name} ({column}{_many(bins, 'bin')} {ends}, {rest})"


def _many(count: int, what: str, more: str = "") -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}{' ' + more if more else ''}"


def _number(value: Fraction | int) -> str:
    return edge(plain(Fraction(value)))


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date):
        return value.isoformat()
    return edge(value) if isinstance(value, int | float) else repr(value)


def _listed(words: Sequence[str]) -> str:
    """The words with commas, and "and" before the last.

    >>> _listed(["a", "b", "c"])
    'a, b and c'
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
