"""Tables: selections and ranks of small tables, with every person who may come."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import exp, log

from zcdp.tables.query import rank_sensitivity
from zcdp.verification.checks import Check

__all__ = ["checks"]


def checks(*, deep: bool) -> Iterator[Check]:
    """One for each theorem."""
    most = 4 if deep else 2
    yield Check("monotone-selection", "losses of all counts up to so many lie within epsilon", lambda: _selects(most))
    yield Check("table-sensitivity", "rank scores of all small histograms move no further", lambda: _ranks(most))


def _selects(most: int) -> bool:
    """Three candidates, a person who adds 0, 1 or 2 to each of them, epsilon = 1: weights e^{u/2}."""

    def law(counts: tuple[int, ...]) -> list[float]:
        weights = [exp(count / 2) for count in counts]
        return [weight / sum(weights) for weight in weights]

    for counts in product(range(most + 1), repeat=3):
        for added in product(range(3), repeat=3):
            more = tuple(a + b for a, b in zip(counts, added, strict=True))
            losses = [log(p / q) for p, q in zip(law(more), law(counts), strict=True)]
            if max(losses) - min(losses) > 1 + 1e-12:
                return False
    return True


def _ranks(most: int) -> bool:
    """Three bins, one more row in any of them, for some quantiles."""

    def scores(counts: list[int], a: int, c: int) -> list[int]:
        return [-abs((c - a) * sum(counts[:n]) - a * sum(counts[n + 1 :])) for n in range(3)]

    for q in (Fraction(1, 10), Fraction(1, 2), Fraction(3, 4)):
        a, c = q.numerator, q.denominator
        reached = 0
        for counts in product(range(most + 1), repeat=3):
            for place in range(3):
                more = [count + (n == place) for n, count in enumerate(counts)]
                both = zip(scores(list(counts), a, c), scores(more, a, c), strict=True)
                reached = max(reached, *(abs(one - other) for one, other in both))
        if reached != rank_sensitivity(q):
            return False
    return True
