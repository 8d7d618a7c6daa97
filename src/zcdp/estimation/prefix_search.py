"""The search for frequent rows of digits: from short prefixes to longer ones, each by reports about it alone.

Reports of linear hashing about the first r digits are (a, z) with a in Z_g^r; they support a prefix u if <a, u> = z.
Supports of all short prefixes are decoded at once, and so are those of all continuations of a prefix that was kept
(docs/theorems/linear-hashing.md, part 3). The search is heuristic: what it finds is judged by other reports.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zcdp.estimation.linear_hash_decoding import linear_hash_supports

__all__ = ["HashReports", "search", "supports_of"]


@dataclass(frozen=True)
class HashReports:
    """Reports about the first digits: a row of `vectors` and a bucket each."""

    vectors: NDArray[Any]
    buckets: NDArray[Any]

    @property
    def size(self) -> int:
        """How many reports there are."""
        return int(self.buckets.size)

    @property
    def digits(self) -> int:
        """How many digits they are about."""
        return int(self.vectors.shape[1])


def _packed(vectors: NDArray[Any], g: int) -> NDArray[Any]:
    """Vectors of digits as numbers in base g; the first digit is the least significant one."""
    whole = np.zeros(len(vectors), dtype=np.int64)
    for column in reversed(range(vectors.shape[1])):
        whole = whole * g + vectors[:, column]
    return whole


def _unpacked(numbers: NDArray[Any], g: int, digits: int) -> NDArray[Any]:
    rows = np.empty((numbers.size, digits), dtype=np.int64)
    for column in range(digits):
        rows[:, column], numbers = numbers % g, numbers // g
    return rows


def supports_of(reports: HashReports, prefixes: NDArray[Any], g: int) -> NDArray[Any]:
    """How many reports support each of some prefixes of as many digits."""
    found = np.empty(len(prefixes), dtype=np.int64)
    columns = [np.ascontiguousarray(one) for one in reports.vectors.T.astype(np.uint8)]
    times = (np.multiply.outer(np.arange(g), np.arange(g)) % g).astype(np.uint16)  # small tables are faster than mod
    rest = (np.arange(len(columns) * g) % g).astype(np.uint8)
    buckets = reports.buckets.astype(np.uint8)
    for n, prefix in enumerate(prefixes):
        total = times[prefix[0]].take(columns[0])
        for column, digit in zip(columns[1:], prefix[1:], strict=True):
            total += times[digit].take(column)
        found[n] = np.count_nonzero(rest.take(total) == buckets)
    return found


def search(
    levels: list[HashReports],
    g: int,
    q: float,
    *,
    keep: int,
    most: int,
    possible: Callable[[NDArray[Any]], bool],
) -> NDArray[Any]:
    """At most `most` rows of digits that are likely the most frequent, best first.

    At each level the `keep` best prefixes are continued. A prefix is scored by z|z|/2 of its own level, z being its
    estimated frequency in standard errors of one that nobody holds, plus as much of the same of the levels before as
    makes it certain that the shorter prefix was no chance finding: frequent beginnings do not vouch for every
    continuation.
    """
    prefixes, sure = np.empty((1, 0), dtype=np.int64), np.zeros(1)
    for n, level in enumerate(levels):
        added = level.digits - prefixes.shape[1]
        children = g**added
        deviation = sqrt(max(level.size, 1) * q * (1 - q))
        cells: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = []
        tail = _packed(level.vectors[:, prefixes.shape[1] :], g) * g
        room = keep if n < len(levels) - 1 else most
        for parent, (prefix, before) in enumerate(zip(prefixes, sure, strict=True)):
            known = (level.vectors[:, : prefixes.shape[1]] @ prefix) % g if prefix.size else 0
            moved = (level.buckets - known) % g
            z = (linear_hash_supports(tail + moved, g, children) - level.size * q) / deviation
            own = z * np.abs(z) / 2
            best = np.argpartition(-own, min(room, children - 1))[: min(room, children)]
            cells.append((np.full(best.size, parent), best, np.stack([own[best], own[best] + before])))
        parents, ends = np.concatenate([one[0] for one in cells]), np.concatenate([one[1] for one in cells])
        own, total = np.concatenate([one[2] for one in cells], axis=1)
        order = np.argsort(-total, kind="stable")
        rows = np.concatenate([prefixes[parents[order]], _unpacked(ends[order], g, added)], axis=1)
        kept = []
        for place, row in enumerate(rows):
            if possible(row):
                kept.append(place)
                if len(kept) == room:
                    break
        # what the `most`-th best of as many chance findings reaches, about
        certain = log(max(children * len(prefixes) / most, 2.0)) if n == 0 else log(children)
        prefixes, sure = rows[kept], np.minimum(own[order][kept], certain) + sure[parents[order][kept]]
    return prefixes
