"""The search for frequent rows of digits: from short prefixes to longer ones, each by reports about it alone.

Reports of linear hashing about the first r digits are (a, z) with a in Z_g^r; they support a prefix u if <a, u> = z.
Supports of all short prefixes are decoded at once, and so are those of all continuations of a prefix that was kept
(docs/theorems/linear-hashing.md, part 3). The search is heuristic: what it finds is judged by other reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf, log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zcdp.estimation.linear_hash_decoding import linear_hash_supports, table_supports

__all__ = ["Found", "HashReports", "by_all_levels", "search", "supports_of"]


AT_ONCE = 16  # prefixes whose products are computed together
MEDIAN_OF_SQUARE = 0.455  # of a standard normal variable


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


@dataclass(frozen=True)
class Found:
    """Rows of digits, likeliest first, and for each level how far its reports speak for them."""

    rows: NDArray[Any]
    scores: NDArray[Any]
    """Of each row and level: the estimated frequency of its prefix, in standard errors of one that nobody holds."""


def search(
    levels: list[HashReports],
    g: int,
    q: float,
    *,
    keep: int,
    most: int,
    heavy: int,
    largest: NDArray[Any],
    valid: Callable[[NDArray[Any]], bool],
) -> Found:
    """At most `most` rows of digits that are likely the most frequent; `heavy` is how many are looked for, about.

    No row is beyond the `largest`, and whole rows are `valid`. At each level the `keep` likeliest prefixes are
    continued. A prefix is as likely as the one that it continues, times the odds of its own level, which are those of
    one continuation among all, times exp(z|z|/2), z being its score: the likelihood of the frequency that is estimated,
    over that of none. The odds are turned into a probability at each level, so that frequent beginnings do not vouch
    for every continuation.
    """
    prefixes, certainty = np.empty((1, 0), dtype=np.int64), np.zeros(1)  # certainty: the logarithm of a probability
    scores = np.empty((1, 0))
    for n, level in enumerate(levels):
        known, last = prefixes.shape[1], n == len(levels) - 1
        added, room = level.digits - known, most if last else keep
        endings = _unpacked(np.arange(g**added), g, added)
        beyond = _packed(endings[:, ::-1], g) > _packed(largest[None, known : level.digits][:, ::-1], g)
        cells = []
        for parent, supports in enumerate(_continued(level, prefixes, g)):
            z = (supports - level.size * q) / sqrt(max(level.size, 1) * q * (1 - q))
            if np.array_equal(prefixes[parent], largest[:known]):
                z[beyond] = -inf
            best = np.argpartition(-z, min(room, z.size - 1))[:room]
            cells.append((np.full(best.size, parent), best, z[best]))
        parents, ends, z = (np.concatenate(column) for column in zip(*cells, strict=True))
        some = (g**added - int(beyond.sum())) / heavy if n == 0 else g**added  # of which one is frequent, about
        total = z * np.abs(z) / 2 - log(max(some, 2.0)) + certainty[parents]
        order = np.argsort(-total, kind="stable")
        rows = ((place, [*prefixes[parents[place]], *endings[ends[place]]]) for place in order[: np.isfinite(z).sum()])
        kept = [*islice(((place, row) for place, row in rows if not last or valid(np.array(row))), room)]
        places = [place for place, _ in kept]
        scores = np.concatenate([scores[parents[places]], z[places, None]], axis=1)
        prefixes = np.array([row for _, row in kept], dtype=np.int64).reshape(len(kept), level.digits)
        certainty = -np.logaddexp(0.0, -total[places])
    return Found(prefixes, scores)


def _continued(level: HashReports, prefixes: NDArray[Any], g: int) -> Iterator[NDArray[Any]]:
    """For each prefix, how many reports support each of its continuations to the digits of the level."""
    known, added = prefixes.shape[1], level.digits - prefixes.shape[1]
    tail = _packed(level.vectors[:, known:], g) * g
    if not known:
        yield linear_hash_supports(tail + level.buckets, g, g**added)
        return
    leading, buckets = level.vectors[:, :known].T.astype(np.float32), level.buckets.astype(np.int32)
    for start in range(0, len(prefixes), AT_ONCE):
        # products of digits are whole numbers that float32 holds exactly, and its matrix product is fast
        for product in prefixes[start : start + AT_ONCE].astype(np.float32) @ leading:
            moved = buckets - product.astype(np.int32)
            moved -= moved // np.int32(g) * np.int32(g)
            table = np.bincount(tail + moved, minlength=g ** (added + 1)).reshape(-1, g)
            yield table_supports(table, g, added, level.size)


def by_all_levels(found: Found, digits: Sequence[int], sizes: Sequence[int], *, heavy: int) -> NDArray[Any]:
    """An order of the rows, most frequent first, by the reports of all levels; `digits` and `sizes` are the levels'.

    The frequency of a prefix is that of its rows and of what else begins so. So a row is estimated by all levels
    together, each less what was estimated for rows before it that share the prefix; a level counts by its variance, to
    which the typical square of what else begins so is added. The order is heuristic: no interval rests on it.
    """
    estimates, spread = found.scores / np.sqrt(sizes), 1 / np.asarray(sizes, dtype=float)
    whole = np.asarray(digits) == found.rows.shape[1]
    own = (estimates[:, whole] / spread[whole]).sum(axis=1) / (1 / spread[whole]).sum()
    first = np.argsort(-own, kind="stable")
    off = np.median((estimates - own[:, None])[first[:heavy]] ** 2, axis=0) / MEDIAN_OF_SQUARE if len(own) else 0.0
    more = np.where(whole, 0.0, np.maximum(off - spread - 1 / (1 / spread[whole]).sum(), 0.0))
    weights = 1 / (spread + more)
    weights /= weights.sum()
    told: list[dict[bytes, float]] = [{} for _ in digits]
    fitted = np.empty(len(own))
    for place in first.tolist():
        names = [found.rows[place, :depth].tobytes() for depth in digits]
        left = [one - known.get(name, 0.0) for one, known, name in zip(estimates[place], told, names, strict=True)]
        fitted[place] = weights @ left
        for known, name in zip(told, names, strict=True):
            known[name] = known.get(name, 0.0) + max(fitted[place], 0.0)
    return np.argsort(-fitted, kind="stable")
