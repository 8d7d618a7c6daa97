"""Frequent strings that nobody listed: each client hashes a prefix of its string, and prefixes are searched by length.

A client draws a level, whatever its string is, and sends one report of linear hashing about the first digits of its
string. There are no rounds and no answers of the server: all clients report at once. Reports of the last level are kept
out of the search and judge what it found. Theorem: docs/theorems/heavy-hitters.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import exp, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zcdp.collection.client_coins import below
from zcdp.collection.client_reports import kept_chance, respond
from zcdp.collection.string_code import StringCode
from zcdp.errors import BadType, BadValue
from zcdp.estimation.estimator import BySupport
from zcdp.estimation.prefix_search import Found, HashReports, by_all_levels, search, supports_of
from zcdp.mechanisms import LocalHashing
from zcdp.mechanisms.local.local_hashing import is_prime
from zcdp.numeric.balls import lift
from zcdp.numeric.exact import Exact, Log, Value, integer, literal, positive, probability
from zcdp.privacy.curve import Plan
from zcdp.samplers.reports import Response
from zcdp.samplers.source import Source, integers, secure
from zcdp.text.calls import spoken_class

__all__ = ["FORMAT", "FoundStrings", "HeavyHitters"]


FORMAT = "zcdp client strings 1"
LARGEST_BASE = 251  # a digit is a byte
FIRST_PREFIXES, CONTINUATIONS = 1 << 18, 1 << 12  # most prefixes that are decoded at once, first and later
FIRST_WEIGHT, NEXT_WEIGHT = 16, 20  # clients of the first level of the search, and of each other one
SEARCHERS_PER_JUDGE = 4
HEAVY, JUDGED = 4, 10  # for each string asked for: those that the search takes for frequent, and those that are judged
LEAST_JUDGED = 200
AT_ONCE = 1 << 16


def _buckets(epsilon: Exact) -> int:
    """The prime g of least variance q(1-q)/(p-q)^2 of a rare string; in floats, as any g is private."""
    size = float(epsilon.argument) if isinstance(epsilon, Log) else exp(min(float(epsilon), 50.0))

    def variance(g: int) -> float:
        p, q = size / (size + g - 1), 1 / g
        return q * (1 - q) / (p - q) ** 2

    return min([g for g in range(2, LARGEST_BASE + 1) if is_prime(g)], key=variance)


@spoken_class
@dataclass(frozen=True, eq=False)
class FoundStrings:
    """What was found: strings, most frequent first, with estimates from reports that took no part in the search.

    With probability at least `level` all intervals hold together, for the population that the clients were drawn from.
    Theorem: docs/theorems/heavy-hitters.md.
    """

    strings: tuple[str, ...]
    frequencies: NDArray[Any]
    standard_errors: NDArray[Any]
    lower: NDArray[Any]
    upper: NDArray[Any]
    level: float
    judges: int
    """The number of reports that the estimates come from."""
    reports: int

    def heavy(self, above: float = 0.0) -> FoundStrings:
        """Those whose lower end is above a threshold: with probability `level` none of them is false.

        A false one has a frequency of at most the threshold in the population; with 0, also one that no client holds.
        """
        return self._only(np.flatnonzero(self.lower > above))

    def top(self, count: int) -> FoundStrings:
        """The first `count`."""
        return self._only(np.arange(min(count, len(self.strings))))

    def _only(self, places: NDArray[Any]) -> FoundStrings:
        return replace(
            self,
            strings=tuple(self.strings[n] for n in places.tolist()),
            frequencies=self.frequencies[places],
            standard_errors=self.standard_errors[places],
            lower=self.lower[places],
            upper=self.upper[places],
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row for each string."""
        columns = (self.frequencies, self.standard_errors, self.lower, self.upper)
        for string, *numbers in zip(self.strings, *columns, strict=True):
            names = ("frequency", "standard_error", "lower", "upper")
            yield {"string": string, **dict(zip(names, map(float, numbers), strict=True))}

    def __len__(self) -> int:
        return len(self.strings)


@spoken_class
@dataclass(frozen=True, init=False)
class HeavyHitters:
    """Collects strings of at most `length` characters of an alphabet, of which no list is needed.

    Each client sends one report at the full epsilon. `levels` are the numbers of leading digits in base g that reports
    are about, `weights` how many clients draw each level; the last level is that of the judges.

    >>> words = HeavyHitters(epsilon=6, alphabet="abcdefghijklmnopqrstuvwxyz", length=3)
    >>> words.plan, words.report_bytes
    (LocalHashing(epsilon=6, g=251, random_hash=True), 4)
    >>> held = ["tea"] * 6000 + ["rum"] * 3000 + ["ale"] * 1000
    >>> words.find(words.release(held)).top(2).strings
    ('tea', 'rum')
    """

    epsilon: Exact
    alphabet: str
    length: int
    g: int
    levels: tuple[int, ...]
    weights: tuple[int, ...]

    def __init__(
        self,
        *,
        epsilon: Value,
        alphabet: str,
        length: Value,
        g: Value | None = None,
        levels: Sequence[int] | None = None,
        weights: Sequence[int] | None = None,
    ) -> None:
        budget = positive(epsilon, "epsilon")
        code = StringCode(alphabet, integer(length, "length", 1))
        base = _buckets(budget) if g is None else integer(g, "g", 2)
        if base > LARGEST_BASE or not is_prime(base):
            raise BadValue(f"g ({base}) must be a prime of at most {LARGEST_BASE}")
        whole = code.digit_count(base)
        depths = _depths(base, whole) if levels is None else tuple(levels)
        searches = len(depths) - 1
        shares = _shares(searches) if weights is None else tuple(weights)
        rising = all(a < b for a, b in pairwise(depths[:-1]))
        if searches < 1 or depths[0] < 1 or not rising or depths[-2:] != (whole, whole) or searches > 250:
            raise BadValue(f"levels ({list(depths)}) must rise to all {whole} digits, which the last two have")
        if len(shares) != len(depths) or not all(type(one) is int and one > 0 for one in shares):
            raise BadValue(f"weights ({list(shares)}) must be a positive whole number for each of the levels")
        steps = [b - a for a, b in pairwise((0, *depths[:-1]))]
        if base ** max(steps) > FIRST_PREFIXES:
            raise BadValue(f"levels ({list(depths)}) must not grow by more digits than {FIRST_PREFIXES} prefixes have")
        named = {"epsilon": budget, "alphabet": alphabet, "length": code.length, "g": base}
        for name, value in (named | {"levels": depths, "weights": shares}).items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        """Source text that makes the same design, with all that was chosen."""
        return (
            f"HeavyHitters(epsilon={literal(self.epsilon)}, alphabet={self.alphabet!r}, length={self.length}, "
            f"g={self.g}, levels={self.levels}, weights={self.weights})"
        )

    @cached_property
    def code(self) -> StringCode:
        """The strings and their digits."""
        return StringCode(self.alphabet, self.length)

    @cached_property
    def mechanism(self) -> LocalHashing:
        """The local randomizer that a client runs once: level and vector are its random hash."""
        return LocalHashing(epsilon=self.epsilon, g=self.g, random_hash=True)

    @property
    def plan(self) -> Plan:
        """All that one client sends: one report."""
        return 1 * self.mechanism

    @property
    def report_bytes(self) -> int:
        """A report is a byte each for its level, its bucket, and the digits of its vector."""
        return 2 + self.levels[-1]

    # Clients.

    def release(self, strings: Sequence[str]) -> NDArray[Any]:
        """A report for each string: rows of bytes."""
        if isinstance(strings, str):
            raise BadType("values must be a list of strings, one for each client")
        digits = self.code.digits(strings, self.g)
        return self._drawn(digits, secure)

    def _drawn(self, digits: NDArray[Any], source: Source) -> NDArray[Any]:
        response = Response(lambda: lift(self.epsilon), self.g)
        depth, width = np.array(self.levels), self.levels[-1]
        levels = np.repeat(np.arange(len(self.levels)), self.weights)
        out = np.zeros((len(digits), self.report_bytes), dtype=np.uint8)
        for start in range(0, len(digits), AT_ONCE):
            part = digits[start : start + AT_ONCE]
            level = levels[integers(levels.size, len(part), source)]
            vector = integers(self.g, len(part) * width, source).reshape(-1, width).astype(np.int64)
            vector[np.arange(width) >= depth[level][:, None]] = 0
            bucket = (vector * part).sum(axis=1) % self.g
            rows = out[start : start + AT_ONCE]
            rows[:, 0], rows[:, 1], rows[:, 2:] = level, response.respond(bucket, source), vector
        return out

    def report(self, string: str, source: Source = secure) -> bytes:
        """One report as clients of all languages draw it: docs/reference/wire-format.md."""
        digits = self.code.digits([string], self.g)[0].tolist()
        drawn = below(sum(self.weights), source)
        level = 0
        while drawn >= self.weights[level]:
            drawn, level = drawn - self.weights[level], level + 1
        depth, bucket, vector = self.levels[level], 0, []
        for n in range(self.levels[-1]):
            one = below(self.g, source)
            vector.append(one if n < depth else 0)
            bucket = (bucket + vector[n] * digits[n]) % self.g
        return bytes([level, respond(kept_chance(self.epsilon, self.g), self.g, bucket, source), *vector])

    # The server.

    def _may_be_sent(self, raw: bytes) -> bool:
        """Whether bytes are a report that some client may send."""
        if len(raw) != self.report_bytes or raw[0] >= len(self.levels):
            return False
        return max(raw[1:]) < self.g and not any(raw[2 + self.levels[raw[0]] :])

    def find(self, reports: NDArray[Any], *, top: Value = 50, level: Value = 0.95, keep: Value = 1000) -> FoundStrings:
        """The most frequent strings: ten candidates for each of `top` are judged, and sorted by all that was reported.

        `keep` prefixes are continued at each level of the search: more find a little more, and take longer.
        """
        rows = np.asarray(reports)
        if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] != self.report_bytes:
            raise BadValue(f"reports must be rows of {self.report_bytes} bytes: these are of another design")
        if rows.size and (int(rows[:, 0].max()) >= len(self.levels) or int(rows[:, 1:].max()) >= self.g):
            raise BadValue("reports have levels or digits that the design has not: these are of another design")
        risk = float(1 - probability(level, "level"))
        support, count = self.mechanism.support, integer(top, "top", 1)
        parts = [self._of_level(rows, n) for n in range(len(self.levels))]
        *searched, judges = parts
        if not all(part.size for part in parts):
            raise BadValue(f"{len(rows)} reports are too few: some of the {len(parts)} levels have none")
        found = search(
            searched,
            self.g,
            support.q,
            keep=integer(keep, "keep", 1),
            most=max(JUDGED * count, LEAST_JUDGED),
            heavy=HEAVY * count,
            largest=self.code.digits_of(self.code.size - 1, self.g),
            valid=lambda row: self.code.text_of_digits(row.tolist(), self.g) is not None,
        )
        counts = supports_of(judges, found.rows, self.g)
        estimator, n = BySupport(support), judges.size
        # the order is by all reports; estimates and intervals are by the judges alone, who did not choose
        judged = (counts - n * support.q) / sqrt(n * support.q * support.not_q)
        every = Found(found.rows, np.concatenate([found.scores, judged[:, None]], axis=1))
        order = by_all_levels(every, self.levels, [part.size for part in parts], heavy=count)
        counts = counts[order].astype(float)
        frequencies = estimator.frequencies(counts, n)
        lower, upper = estimator.interval(counts, n, risk / max(len(order), 1), of="population")
        errors = estimator.standard_error(np.clip(frequencies, 0, 1), n, of="population")
        named = tuple(str(self.code.text_of_digits(found.rows[place].tolist(), self.g)) for place in order.tolist())
        return FoundStrings(named, frequencies, errors, lower, upper, 1 - risk, n, len(rows))

    def _of_level(self, rows: NDArray[Any], n: int) -> HashReports:
        own = rows[rows[:, 0] == n]
        return HashReports(own[:, 2 : 2 + self.levels[n]].astype(np.int64), own[:, 1].astype(np.int64))

    # The design file.

    def design(self) -> dict[str, Any]:
        """What a client needs, as JSON data; `read` makes the design of it again."""
        return {
            "format": FORMAT,
            "mechanism": repr(self.mechanism),
            "alphabet": self.alphabet,
            "length": self.length,
            "levels": list(self.levels),
            "weights": list(self.weights),
            "report": {"numbers": self.report_bytes, "bytes_each": 1, "bytes": self.report_bytes, "outcomes": 256},
            "randomness": "fresh",
        }

    @classmethod
    def read(cls, text: str, where: object = "the design") -> HeavyHitters:
        """The design of a file that `design` made.

        >>> words = HeavyHitters(epsilon=4, alphabet="ab", length=9)
        >>> HeavyHitters.read(json.dumps(words.design())) == words
        True
        """
        from zcdp.plans.plan_text import parse

        try:
            said = json.loads(text)
            if said["format"] != FORMAT:
                raise BadValue(f"{where}: is of the format {said['format']!r}, not {FORMAT!r}")
            m: Any = parse(said["mechanism"]).parts[0][0]
            made = cls(
                epsilon=m.epsilon,
                alphabet=said["alphabet"],
                length=said["length"],
                g=m.g,
                levels=said["levels"],
                weights=said["weights"],
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, BadValue | BadType):
                raise
            raise BadValue(f"{where}: is no design of strings: {error}") from None
        if said != made.design():
            raise BadValue(f"{where}: its parts do not agree with each other")
        return made


def _shares(searches: int) -> tuple[int, ...]:
    """How many clients draw each level: a fifth are judges, the first level of the search has a little less.

    >>> _shares(2)
    (16, 20, 9)
    """
    searchers = (FIRST_WEIGHT, *(NEXT_WEIGHT,) * (searches - 1))
    return (*searchers, sum(searchers) // SEARCHERS_PER_JUDGE)


def _depths(g: int, whole: int) -> tuple[int, ...]:
    """The levels: as many digits at first as are decoded at once, then as many more as are continued at once."""
    first = max(r for r in range(1, 64) if g**r <= FIRST_PREFIXES)
    more = max(r for r in range(1, 64) if g**r <= max(CONTINUATIONS, g))
    depths = [min(first, whole)]
    while depths[-1] < whole:
        depths.append(min(depths[-1] + more, whole))
    return (*depths, whole)
