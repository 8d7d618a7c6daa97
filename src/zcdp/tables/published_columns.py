"""The columns of a published table, from the plan alone: the vintage, keys, and figures; each name stands once."""

from __future__ import annotations

from typing import Any

from zcdp.tables.discovered_keys import Discovered
from zcdp.tables.domain import Bins, Dates, DeclarationError, Domain
from zcdp.tables.nested import declared_above
from zcdp.tables.table_query import TableQuery

__all__ = ["check_columns", "check_found_columns", "figure_columns", "key_columns"]

INTERVAL = ("value", "sd", "lower", "upper")
SUM = ("sum", "sum_sd", "sum_lower", "sum_upper")
PERSONS = ("persons_lower", "persons_upper")


def key_columns(domain: Domain | Discovered) -> tuple[str, ...]:
    """The columns of the keys of a domain: those of coarser lists first, and both ends of bins.

    >>> from fractions import Fraction
    >>> key_columns(Bins("age", "age", Fraction(0), Fraction(5), 20))
    ('age_from', 'age_to')
    """
    if isinstance(domain, Bins | Dates):
        return f"{domain.name}_from", f"{domain.name}_to"
    if isinstance(domain, Discovered):
        return (domain.name,)
    return tuple(one.name for one in reversed(declared_above(domain)))


def figure_columns(query: TableQuery) -> tuple[str, ...]:
    """The columns of a published table that are no keys of a domain, in their order."""
    if query.measure == "quantiles":
        return ("quantile", "from", "to", *(("rank_error",) if query.method == "select" else ("lower", "upper")))
    if query.measure == "top":
        return ("rank", "count_error", *(INTERVAL if query.counted else ()))
    if query.measure == "ratio":
        return (*INTERVAL, "over")
    if query.measure == "variance":
        return (*INTERVAL, "persons")
    if query.measure == "mean":
        whole, persons = "sum" in query.publish, "persons" in query.publish
        more = (("persons",) if persons else ()) + (PERSONS if whole and persons else ())
        return (*(SUM if whole else ()), *INTERVAL, *more)
    return INTERVAL


def check_columns(vintage: str | None, query: TableQuery) -> None:
    """Refuse a table two of whose columns would have one name: the later would take the place of the earlier."""
    printed = (query.of,) if query.measure == "top" else query.by
    _check(vintage, [one for one in printed if one is not None], figure_columns(query), "by")


def check_found_columns(vintage: str | None, domain: Discovered) -> None:
    """Refuse keys that are found, and published in a table of their own, under the name of another column of it."""
    _check(vintage, [domain], INTERVAL, domain.name)


def _check(vintage: str | None, domains: list[Any], figures: tuple[str, ...], field: str) -> None:
    seen = dict.fromkeys(figures, "what is published")
    if vintage is not None:
        seen["vintage"] = "the vintage of [data]"
    for domain in domains:
        for name in key_columns(domain):
            if name in seen:
                raise DeclarationError(
                    field,
                    f"the keys of {domain.name!r} would be a column {name!r}, and so is {seen[name]}: give the domain "
                    f'another name, and say what it is read from: column = "{domain.column}"',
                )
            seen[name] = f"that of the keys of {domain.name!r}"
