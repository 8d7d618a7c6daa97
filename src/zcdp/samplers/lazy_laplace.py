"""Exact comparisons of sums with Laplace noise, for report noisy max and the sparse vector technique.

The digits of a Laplace variable are drawn when a comparison needs them. Z = sign * -log(V), V uniform on (0, 1). A
64-bit word, which is the sign and 63 bits of V, gives Z in floats up to a margin that nearly always suffices. Where it
does not, more bits of V are drawn and balls decide. This ends, as two sums of independent continuous variables are
equal with probability 0. See docs/theorems/lazy-inversion.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from zcdp.numeric.balls import at_precision, lift
from zcdp.numeric.exact import Value, rational
from zcdp.samplers.coins import Rate
from zcdp.samplers.lazy_inversion import GUARD_BITS, WORD_BITS, Real
from zcdp.samplers.selection_draws import Scores
from zcdp.samplers.source import BLOCK, Source, bits, secure, words

__all__ = ["FLOAT_MARGIN", "AboveThreshold", "LaplaceMax", "LazyLaplace", "greatest", "near"]


V_BITS = 63  # bits of V in the first word
LEAST_FLOAT_V = 1 << 33
"""If V 2^63 is at least this, Z in floats is accurate to the margin; else, for one draw in 2^30, balls decide."""
FLOAT_MARGIN = 2.0**-29  # absolute error of Z in floats, at most


def near(words: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Z in floats, with an error of at most `FLOAT_MARGIN` + 2^-48 |Z|, and where it is not so accurate.

    In the latter places the true |Z| is larger than the float.
    """
    v = words >> np.uint64(1)
    sizes = -np.log((np.maximum(v, np.uint64(LEAST_FLOAT_V)).astype(np.float64)) * 2.0**-V_BITS)
    return np.where(words & np.uint64(1), -sizes, sizes), v < LEAST_FLOAT_V


class LazyLaplace:
    """One standard Laplace variable, whose bits are drawn as they are needed; `word` has its sign and first 63 bits.

    >>> from zcdp.samplers.source import secure
    >>> at_precision(128, LazyLaplace(5, secure).ball) < 0  # an odd word: a negative sign
    True
    """

    def __init__(self, word: int, source: Source) -> None:
        self._v, self._known, self._sign, self._source = word >> 1, V_BITS, -1 if word & 1 else 1, source

    def refine(self) -> int:
        """Draw 64 more bits of V; returns how many are known now."""
        self._v, self._known = self._v << WORD_BITS | bits(WORD_BITS, self._source), self._known + WORD_BITS
        return self._known

    def ball(self) -> arb:
        """A ball that contains Z, from the known bits of V, at the working precision; infinite if V may be 0."""
        if not self._v:
            return arb(0, float("inf"))
        scale = arb(2) ** -self._known
        low, high = -((self._v + 1) * scale).log(), -(self._v * scale).log()
        return self._sign * low.union(high)


def greatest(sums: Sequence[tuple[Callable[[], arb], LazyLaplace]]) -> int:
    """The index of the largest of some sums, each of an exact number (as a `Real`) and a variable; exact.

    >>> from zcdp.samplers.source import secure
    >>> greatest([(lambda: arb(0), LazyLaplace(1 << 63, secure)), (lambda: arb(100), LazyLaplace(1 << 63, secure))])
    1
    """
    alive = list(range(len(sums)))
    while len(alive) > 1:
        known = max(sums[n][1].refine() for n in alive)

        def undecided() -> list[int]:
            balls = {n: sums[n][0]() + sums[n][1].ball() for n in alive}  # noqa: B023
            return [n for n, one in balls.items() if not any(one < other for other in balls.values())]

        alive = at_precision(known + GUARD_BITS, undecided)
    return alive[0]


# Report noisy max with Laplace noise: the index of the largest score plus noise, compared exactly.
#
# Each noisy score is computed in floats up to a margin. Only candidates whose margins overlap that of the best are
# compared exactly, with more bits. See docs/theorems/lazy-inversion.md.

LARGEST_GAP = 1e300  # gaps are cut here, in halvings: differences of infinities could not be compared
RELATIVE_MARGIN = 2.0**-38  # more than the relative rounding errors of gap times rate and of the noise


class LaplaceMax:
    """Selects the index n of the largest scores[n] + Z_n/rate, with Z_n independent standard Laplace variables; exact.

    `forced` makes every comparison in balls, for tests.

    >>> LaplaceMax(lambda: arb(1)).select([0, 1000, 3])
    1
    """

    def __init__(self, rate: Real, *, forced: bool = False) -> None:
        self._rate, self._forced = rate, forced
        self._coins = Rate(rate)

    def select(self, scores: ArrayLike, source: Source = secure) -> int:
        """One selection."""
        return int(self.draw(scores, 1, source)[0])

    def draw(self, scores: ArrayLike, count: int, source: Source = secure) -> NDArray[Any]:
        """`count` independent selections from the same scores."""
        candidates = Scores(scores, self._coins)
        behind = np.minimum(candidates.halvings(candidates.gaps(slice(None))), LARGEST_GAP) * np.log(2.0)
        rows = max(1, BLOCK // candidates.size)
        out = np.empty(count, dtype=np.int64)
        for start in range(0, count, rows):
            part = out[start : start + rows]
            drawn = words(part.size * candidates.size, np.uint64, source).reshape(part.size, -1)
            part[:] = self._rows(candidates, behind, drawn, source)
        return out

    def _rows(self, candidates: Scores, behind: NDArray[Any], drawn: NDArray[Any], source: Source) -> NDArray[Any]:
        noise, unknown = near(drawn)
        noisy = noise - behind
        # Where V is too small for floats, |Z| is larger than `near` returns, by any amount.
        reach = FLOAT_MARGIN + RELATIVE_MARGIN * (abs(noise) + behind)
        high = np.where(unknown & (noise > 0), np.inf, noisy + reach)
        low = np.where(unknown & (noise < 0), -np.inf, noisy - reach)
        if self._forced or not candidates.rate.halvings:
            high[:], low[:] = np.inf, -np.inf
        best: NDArray[Any] = low.argmax(axis=1)
        rivals = high >= low.max(axis=1, keepdims=True)
        for row in np.flatnonzero(rivals.sum(axis=1) > 1).tolist():
            names = np.flatnonzero(rivals[row]).tolist()
            sums = [(partial(self._behind, candidates, n), LazyLaplace(int(drawn[row, n]), source)) for n in names]
            best[row] = names[greatest(sums)]
        return best

    def _behind(self, candidates: Scores, n: int) -> arb:
        return -self._rate() * lift(candidates.gap(n))


# The sparse vector technique: whether a query plus noise is at least a noisy threshold, decided exactly for each query.
#
# With threshold noise Z/e1 and query noise Z_n/b, in units of the sensitivity, the answer is whether
# b (query - threshold) + Z_n >= (b/e1) Z. The threshold's Z is one lazy variable for the whole run: bits that one
# comparison draws are kept for the next. See docs/theorems/lazy-inversion.md.


class AboveThreshold:
    """Runs of the sparse vector technique: `rate` is e1, `query_rate` is b, and a run ends after `positives` positives.

    `forced` makes every comparison in balls, for tests.

    >>> list(AboveThreshold(Fraction(1), Fraction(1), 2).run([-1000, 1000, -1000, 1000, 1000]))
    [False, True, False, True]
    """

    def __init__(self, rate: Fraction, query_rate: Fraction, positives: int, *, forced: bool = False) -> None:
        self._query_rate, self._ratio, self._positives = query_rate, query_rate / rate, positives
        self._forced = forced

    def run(self, queries: Iterable[Value], source: Source = secure) -> Iterator[bool]:
        """Yields an answer for each query, given as its distance above the threshold; ends after the last positive."""
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

            if (answer := at_precision(known + GUARD_BITS, compare)) is not None:
                return answer
            known = max(noise.refine(), threshold.refine())

    def draw(self, queries: Sequence[Value], count: int, source: Source = secure) -> NDArray[Any]:
        """`count` independent runs on the same queries, as rows of 1 (above), 0 (below) and -1 (not asked)."""
        levels = [rational(query, "query") for query in queries]
        near_levels = np.array([float(level * self._query_rate) for level in levels])
        drawn = words(count * (len(levels) + 1), np.uint64, source).reshape(count, -1)
        noise, unknown = near(drawn)
        own = noise[:, :1] * float(self._ratio)
        gaps = near_levels + noise[:, 1:] - own
        sizes = abs(near_levels) + abs(noise[:, 1:]) + abs(own)
        doubt = abs(gaps) <= FLOAT_MARGIN * (1 + float(self._ratio)) + RELATIVE_MARGIN * sizes
        doubt |= unknown[:, 1:] | unknown[:, :1] | self._forced
        answers: NDArray[Any] = (gaps > 0).astype(np.int8)
        for row in np.flatnonzero(doubt.any(axis=1)).tolist():
            threshold = LazyLaplace(int(drawn[row, 0]), source)
            for n in np.flatnonzero(doubt[row]).tolist():
                answers[row, n] = self._exceeds(levels[n], LazyLaplace(int(drawn[row, n + 1]), source), threshold)
        answers[np.cumsum(answers, axis=1) - answers >= self._positives] = -1
        return answers
