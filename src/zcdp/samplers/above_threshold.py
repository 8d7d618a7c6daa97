"""The sparse vector technique: is a query plus noise at least a noisy threshold? Answered exactly, one after another.

With threshold noise Z/e1 and query noise Z_n/b, in units of the sensitivity, the answer is whether
b (query - threshold) + Z_n >= (b/e1) Z. The threshold's Z is one lazy variable for the whole run: it gets more bits
when a comparison needs them, and keeps them. See docs/theorems/lazy-inversion.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zcdp.numeric.balls import at_precision, lift
from zcdp.numeric.exact import Value, rational
from zcdp.samplers.lazy import GUARD
from zcdp.samplers.lazy_laplace import MARGIN, LazyLaplace, near
from zcdp.samplers.source import Source, bits, secure, words

__all__ = ["AboveThreshold"]



class AboveThreshold:
    """`rate` e1 of the threshold noise, `query_rate` b of the query noise, `positives` answers of True at most.

    >>> list(AboveThreshold(Fraction(1), Fraction(1), 2).run([-1000, 1000, -1000, 1000, 1000]))
    [False, True, False, True]
    """

    def __init__(self, rate: Fraction, query_rate: Fraction, positives: int, *, forced: bool = False) -> None:
        self._query_rate, self._ratio, self._positives = query_rate, query_rate / rate, positives
        self._forced = forced

    def run(self, queries: Iterable[Value], source: Source = secure) -> Iterator[bool]:
        """An answer for each query, whose value is its distance above the threshold; ends after the last positive."""
        threshold, left = LazyLaplace(bits(64, source), source), self._positives
        for query in queries:
            answer = self._exceeds(rational(query, "query"), LazyLaplace(bits(64, source), source), threshold)
            yield answer
            left -= answer
            if not left:
                return

    def _exceeds(self, query: Fraction, noise: LazyLaplace, threshold: LazyLaplace) -> bool:
        level = query * self._query_rate
        known = 64
        while True:

            def compare() -> bool | None:
                gap = lift(level) + noise.ball() - lift(self._ratio) * threshold.ball()
                return True if gap > 0 else False if gap < 0 else None

            if (answer := at_precision(known + GUARD, compare)) is not None:
                return answer
            known = max(noise.refine(), threshold.refine())

    def draw(self, queries: Sequence[Value], count: int, source: Source = secure) -> NDArray[Any]:
        """So many independent runs on the same queries, as rows of 1 (above), 0 (below) and -1 (not asked)."""
        levels = [rational(query, "query") for query in queries]
        near_levels = np.array([float(level * self._query_rate) for level in levels])
        drawn = words(count * (len(levels) + 1), np.uint64, source).reshape(count, -1)
        noise, unknown = near(drawn)
        own = noise[:, :1] * float(self._ratio)
        gaps = near_levels + noise[:, 1:] - own
        sizes = abs(near_levels) + abs(noise[:, 1:]) + abs(own)
        doubt = abs(gaps) <= MARGIN * (1 + float(self._ratio)) + RELATIVE * sizes
        doubt |= unknown[:, 1:] | unknown[:, :1] | self._forced
        answers: NDArray[Any] = (gaps > 0).astype(np.int8)
        for row in np.flatnonzero(doubt.any(axis=1)).tolist():
            threshold = LazyLaplace(int(drawn[row, 0]), source)
            for n in np.flatnonzero(doubt[row]).tolist():
                answers[row, n] = self._exceeds(levels[n], LazyLaplace(int(drawn[row, n + 1]), source), threshold)
        answers[np.cumsum(answers, axis=1) - answers >= self._positives] = -1
        return answers
