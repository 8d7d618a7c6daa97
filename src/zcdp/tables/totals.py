"""Sets of tables that add up, as margins of one finest table: they are found and checked before any data is read.

Theorems: docs/theorems/totals.md, docs/theorems/forests.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from math import prod
from typing import Any

import numpy as np

from zcdp.tables.domain import DeclarationError, Domain, Keys
from zcdp.tables.forest import Tree
from zcdp.tables.margins import chain_of, cube, margin
from zcdp.tables.nested import Coarser, Nested, declared_above, family, places_in
from zcdp.tables.table_query import MOST_CELLS, TableQuery, always_has_a_key

__all__ = ["Together", "check_alike", "sets"]

MOST_KEYS = 8
"""The most factors of a set; the work of the adjustment grows exponentially with their number."""


@dataclass(frozen=True)
class Together:
    """Tables whose figures add up: each is a margin of `finest`, the one table that is computed from the data.

    A *factor* is a key; if tables have coarser and finer bins of one column, a factor is the index of a fine bin within
    the coarse one. `sizes` are the sizes of all factors, and `axes` has the factors of each table, as its cells run.
    Lists within lists, of which one key may have more keys than another, are one `tree`, and no factors: then the first
    key of `finest` is that of its leaves, and `levels` has the level of each table, 0 if it is by no key of the tree.
    """

    name: str
    queries: tuple[TableQuery, ...] = field(repr=False)
    finest: TableQuery = field(repr=False)
    sizes: tuple[int, ...]
    axes: tuple[tuple[int, ...], ...]
    tree: Tree | None = field(default=None, repr=False)
    levels: tuple[int, ...] = ()

    @classmethod
    def of(cls, name: str, queries: Sequence[TableQuery]) -> Together:
        """The set of these tables; refused if even their exact figures need not add up."""
        if len(queries) < 2:
            raise DeclarationError("adds_up", f"{name!r} is said of one table alone: others that add up say it too")
        keys = [_families(query.by) for query in queries]
        chains = {one: _chain(_all(found.get(one) for found in keys)) for found in keys for one in found}
        for one, chain in chains.items():
            _check_rows(chain, [(query, found.get(one)) for query, found in zip(queries, keys, strict=True)])
        _check_related(chains, keys)
        forest = _forest(chains)
        leaves = [] if forest is None else chains.pop(forest)
        finest = replace(queries[0], by=tuple(chain[-1] for chain in (*([leaves] if leaves else []), *chains.values())))
        if finest.cells > MOST_CELLS:
            raise DeclarationError("adds_up", f"the keys of all tables have {finest.cells} cells, over {MOST_CELLS}")
        sizes, factors = _factors(chains.values())
        if len(sizes) > MOST_KEYS:
            raise DeclarationError("adds_up", f"tables that add up have at most {MOST_KEYS} keys together")
        axes = tuple(tuple(n for one in query.by for n in factors.get(one.name, ())) for query in queries)
        names = [one.name for one in leaves]
        levels = tuple(
            max((1 + names.index(one.name) for one in query.by if one.name in names), default=0) for query in queries
        )
        made = cls(name, (), finest, sizes, axes, _tree(leaves) if leaves else None, levels if leaves else ())
        if queries[0].non_negative:
            made.check_non_negative()
        merged = [replace(one, merges=made._merges(k), finest=finest.cells) for k, one in enumerate(queries)]
        return replace(made, queries=tuple(merged))

    def _merges(self, k: int) -> int:
        """The largest number of finest cells in one cell of table k."""
        leaves = 1 if self.tree is None else int(max(self.tree.leaves(self.levels[k])))
        return leaves * prod(self.sizes) // prod(self.sizes[a] for a in self.axes[k])

    @property
    def chain(self) -> list[int] | None:
        """The tables by index, coarsest first, if each refines the one before; None if they are not such a chain."""
        return chain_of(self.axes, self.levels or None)

    def check_non_negative(self) -> None:
        """Refuse tables for which no figures of at least 0 are known that add up and are all near the estimates."""
        if self.chain is not None or (self.tree is not None and len({a for axes in self.axes for a in axes}) == 1):
            return
        raise DeclarationError(
            "non_negative",
            "goes with adds_up only where each table divides the cells of another, or where all tables are by nested "
            "lists and one other key: leave it out, or tables that do not",
        )

    def margins_of(self, finest: Sequence[int]) -> list[list[int]]:
        """The figures of each table, from those of the finest one: sums, which add up by construction."""
        everything = tuple(range(len(self.sizes)))
        levels = [cube(finest, self.sizes, 1 if self.tree is None else self.tree.sizes[-1])]
        for level in reversed(range(0 if self.tree is None else self.tree.depth)):
            assert self.tree is not None
            levels.append(self.tree.summed(level, levels[-1]))
        levels.reverse()
        return [
            self.outer(k, list(margin(levels[self.levels[k] if self.levels else 0], everything, axes).ravel()))
            for k, axes in enumerate(self.axes)
        ]

    def outer(self, k: int, cells: Sequence[Any]) -> list[Any]:
        """Cells of table k that run by node first, as its own keys run."""
        return self._turned(k, cells, back=False)

    def inner(self, k: int, cells: Sequence[Any]) -> list[Any]:
        """Cells of table k as its own keys run, by node first."""
        return self._turned(k, cells, back=True)

    def _turned(self, k: int, cells: Sequence[Any], *, back: bool) -> list[Any]:
        if self.tree is None or not self.levels[k]:
            return list(cells)
        by = self.queries[k].by
        leaves = family(self.finest.by[0])
        at = next(n for n, one in enumerate(by) if family(one) == leaves)
        sizes = [one.size for one in by]
        shape = sizes if back else [sizes[at], *sizes[:at], *sizes[at + 1 :]]
        array = cube(cells, shape)[0]
        return list((np.moveaxis(array, at, 0) if back else np.moveaxis(array, 0, at)).ravel())


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
    """The domains of a table by column, nested lists by that of the coarsest; two of one are refused."""
    found: dict[str, Domain] = {}
    for one in by:
        if family(one) in found:
            names = f"{found[family(one)].name!r} and {one.name!r}"
            same = "within one list" if isinstance(one, Nested | Coarser) else "of one column"
            raise DeclarationError("adds_up", f"{names} are {same}: a table that adds up has one of them")
        found[family(one)] = one
    return found


def _all(domains: Iterable[Domain | None]) -> list[Domain]:
    """The domains without None and without repetition, the coarsest first."""
    found = {one.name: one for one in domains if one is not None}.values()
    return sorted(found, key=lambda one: (one.size, len(declared_above(one))))


def _chain(domains: list[Domain]) -> list[Domain]:
    """The domains of one column, refused unless each refines the one before."""
    for coarse, fine in pairwise(domains):
        if places_in(coarse, fine) is None:
            same = "within one list" if isinstance(fine, Nested | Coarser) else "of one column"
            raise DeclarationError(
                "adds_up",
                f"{coarse.name!r} and {fine.name!r} are {same}, and not each key of the one is as many keys of "
                "the other: they do not add up",
            )
    return domains


def _check_rows(chain: list[Domain], tables: Sequence[tuple[TableQuery, Domain | None]]) -> None:
    """Refuse a set in which a row is in a table and in no finer one, or in another key there than the finer one says.

    That may be for want of a key, or as a coarser list is read by a column of its own.
    """
    for query, mine in tables:
        if mine is None and not always_has_a_key(chain[-1], query.where):
            raise DeclarationError("adds_up", _dropped(chain[-1], query))
        if isinstance(mine, Keys | Nested) and mine.name != chain[-1].name:
            raise DeclarationError(
                "adds_up",
                f"{mine.name!r} is read from a column of its own, which may say another thing than {chain[-1].name!r}: "
                f"leave its column out, or give {chain[-1].name!r} unknown = ..., for rows that tell no more",
            )


def _check_related(chains: Mapping[str, list[Domain]], keys: Sequence[Mapping[str, Domain]]) -> None:
    """Refuse two lists that no table has both of: if they are nested, they would add up with the total alone."""
    lists = [one for one, chain in chains.items() if _is_list(chain[-1])]
    for one, other in combinations(lists, 2):
        said = any(isinstance(key, Keys) and key.flat for key in (*chains[one], *chains[other]))
        if not said and not any(one in found and other in found for found in keys):
            first, second = chains[one][-1].name, chains[other][-1].name
            raise DeclarationError(
                "adds_up",
                f"no table is by both {first!r} and {second!r}: where each key of the one has one key of the other, "
                "say so (within = ...); where any two can meet, say flat = true of one of them",
            )


def _is_list(domain: Domain) -> bool:
    """Whether it is a list whose keys might be within those of another."""
    return isinstance(domain, Nested | Coarser) or (isinstance(domain, Keys) and domain.kind != "boolean")


def _forest(chains: Mapping[str, list[Domain]]) -> str | None:
    """The column whose keys are the tree of the set: nested lists, or bins of which one has more parts than another."""
    uneven = [one for one, chain in chains.items() if not _is_even(chain)]
    if len(uneven) > 1:
        first, second = (chains[one][-1].name for one in uneven[:2])
        raise DeclarationError(
            "adds_up",
            f"{first!r} and {second!r} are both divided unevenly, and tables by the one and by the other do not come "
            "apart: take one level of one of them",
        )
    nested = [one for one, chain in chains.items() if isinstance(chain[-1], Nested | Coarser)]
    return next(iter((*uneven, *nested)), None)


def _is_even(chain: list[Domain]) -> bool:
    """Whether each key is divided into as many finer ones as any other."""
    return all(
        not fine.size % coarse.size
        and places_in(coarse, fine) == tuple(n // (fine.size // coarse.size) for n in range(fine.size))
        for coarse, fine in pairwise(chain)
    )


def _tree(chain: list[Domain]) -> Tree:
    """The tree of nested keys: its levels below the root are the domains of the chain."""
    parents: Iterator[Any] = (places_in(coarse, fine) for coarse, fine in pairwise(chain))
    return Tree.of([[0] * chain[0].size, *parents])


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
    if _is_list(domain) or isinstance(domain, Keys):
        return f"{rows}: give it {{ other = ... }}, or all tables a where that leaves no other key"
    return (
        f"{rows}: give it {{ other = ... }}, or all tables a where that leaves none, such as "
        f"[{domain.column!r}, '>=', ...]"
    )
