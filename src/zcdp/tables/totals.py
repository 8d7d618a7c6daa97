"""Sets of tables that add up, as margins of one finest table: they are found and checked before any data is read.

Theorem: docs/theorems/totals.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import prod

from zcdp.tables.domain import Bins, Dates, DeclarationError, Domain, Keys
from zcdp.tables.margins import chain_of
from zcdp.tables.table_query import MOST_CELLS, TableQuery, always_has_a_key

__all__ = ["Together", "check_alike", "sets"]

MOST_KEYS = 8
"""The most factors of a set; the work of the adjustment grows exponentially with their number."""


@dataclass(frozen=True)
class Together:
    """Tables whose figures add up: each is a margin of `finest`, the one table that is computed from the data.

    A *factor* is a key; if tables have coarser and finer bins of one column, a factor is the index of a fine bin within
    the coarse one. `sizes` are the sizes of all factors, and `axes` has the factors of each table, as its cells run.
    """

    name: str
    queries: tuple[TableQuery, ...] = field(repr=False)
    finest: TableQuery = field(repr=False)
    sizes: tuple[int, ...]
    axes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, name: str, queries: Sequence[TableQuery]) -> Together:
        """The set of these tables; refused if even their exact figures need not add up."""
        if len(queries) < 2:
            raise DeclarationError("adds_up", f"{name!r} is said of one table alone: others that add up say it too")
        columns = [_families(query.by) for query in queries]
        chains = {column: _chain(_all(found.get(column) for found in columns)) for found in columns for column in found}
        for column, chain in chains.items():
            apart = next((one for one, found in zip(queries, columns, strict=True) if column not in found), None)
            if apart is not None and not always_has_a_key(chain[-1], apart.where):
                raise DeclarationError("adds_up", _dropped(chain[-1], apart))
        finest = replace(queries[0], by=tuple(chain[-1] for chain in chains.values()))
        if finest.cells > MOST_CELLS:
            raise DeclarationError("adds_up", f"the keys of all tables have {finest.cells} cells, over {MOST_CELLS}")
        sizes, factors = _factors(chains.values())
        if len(sizes) > MOST_KEYS:
            raise DeclarationError("adds_up", f"tables that add up have at most {MOST_KEYS} keys together")
        axes = tuple(tuple(n for one in query.by for n in factors[one.name]) for query in queries)
        if queries[0].non_negative and chain_of(axes) is None:
            raise DeclarationError(
                "non_negative",
                "goes with adds_up only where each table divides the cells of another: leave it out, or tables that "
                "do not",
            )
        margins = tuple(replace(one, merges=finest.cells // one.cells) for one in queries)
        return cls(name, margins, finest, sizes, axes)


def sets(queries: Sequence[TableQuery]) -> dict[str, list[int]]:
    """The indices of the queries of each set, by the name in `adds_up`."""
    found: dict[str, list[int]] = {}
    for n, query in enumerate(queries):
        if query.adds_up:
            found.setdefault(query.adds_up, []).append(n)
    return found


def check_alike(first: TableQuery, other: TableQuery) -> None:
    """Refuse a table that does not measure the same as the first one, over the same rows."""
    for what, one, two in (
        ("measure", _kind(first), _kind(other)),
        ("where", frozenset(first.where), frozenset(other.where)),
        ("of, clip and grid", first.amount, other.amount),
        ("max_cells", first.max_cells, other.max_cells),
        ("max_rows", first.max_rows, other.max_rows),
        ("non_negative", first.non_negative, other.non_negative),
    ):
        if one != two:
            raise DeclarationError("adds_up", f"{what} must be that of {first.name!r}, else they do not add up")


def _kind(query: TableQuery) -> str:
    """The measure; a histogram is a count of rows."""
    return "count" if query.measure == "histogram" else query.measure


def _families(by: Iterable[Domain]) -> dict[str, Domain]:
    """The domains of a table by column; two of one column are refused."""
    found: dict[str, Domain] = {}
    for one in by:
        if one.column in found:
            names = f"{found[one.column].name!r} and {one.name!r}"
            raise DeclarationError("adds_up", f"{names} are of one column: a table that adds up has one of them")
        found[one.column] = one
    return found


def _all(domains: Iterable[Domain | None]) -> list[Domain]:
    """The domains without None and without repetition, the coarsest first."""
    return sorted({one.name: one for one in domains if one is not None}.values(), key=lambda one: one.size)


def _chain(domains: list[Domain]) -> list[Domain]:
    """The domains of one column, refused unless each refines the one before."""
    for coarse, fine in pairwise(domains):
        if not _divides(coarse, fine):
            raise DeclarationError(
                "adds_up",
                f"{coarse.name!r} and {fine.name!r} are of one column, and not each key of the one is as many keys of "
                "the other: they do not add up",
            )
    return domains


def _divides(coarse: Domain, fine: Domain) -> bool:
    """Whether each coarse bin is the same number of fine bins, and both are computed by the same float operations."""
    if fine.size % coarse.size or isinstance(coarse, Keys) or isinstance(fine, Keys):
        return False
    if isinstance(coarse, Bins) and isinstance(fine, Bins):
        ends = (coarse.start, coarse.end, coarse.step.denominator) == (fine.start, fine.end, fine.step.denominator)
        return ends and coarse.clip == fine.clip
    if isinstance(coarse, Dates) and isinstance(fine, Dates):
        ends = (coarse.days[0], coarse.days[-1], coarse.months) == (fine.days[0], fine.days[-1], fine.months)
        return ends and coarse.clip == fine.clip
    return False


def _factors(chains: Iterable[list[Domain]]) -> tuple[tuple[int, ...], dict[str, tuple[int, ...]]]:
    """The sizes of all factors, and the indices of the factors of each domain, by its name."""
    sizes: list[int] = []
    made: dict[str, tuple[int, ...]] = {}
    for chain in chains:
        before: tuple[int, ...] = ()
        for one in chain:
            sizes.append(one.size // prod(sizes[n] for n in before))
            before = made[one.name] = (*before, len(sizes) - 1)
    return tuple(sizes), made


def _dropped(domain: Domain, apart: TableQuery) -> str:
    """The message about rows that one table counts and another drops, with advice."""
    rows = f"rows without a key of {domain.name!r} are in {apart.name!r} and in no table by it, which do not add up"
    if isinstance(domain, Keys):
        return f"{rows}: give it {{ other = ... }}, or all tables a where that leaves no other key"
    return f"{rows}: give all tables a where that leaves none, such as [{domain.column!r}, '>=', ...]"
