"""Laplace variables whose digits are drawn when a comparison asks for them: sums of them are compared exactly.

Z = sign * -log(V), V uniform on (0, 1) and known to some bits. A 64-bit word, a sign and 63 bits of V, gives Z in
floats up to a margin that nearly always suffices; where it does not, V gets more bits, and balls decide. Two sums of
independent continuous variables are never equal. See docs/theorems/lazy-inversion.md.
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
from zcdp.samplers.lazy_inversion import GUARD, WORD, Real
from zcdp.samplers.selection_draws import Scores
from zcdp.samplers.source import BLOCK, Source, bits, secure, words

__all__ = ["MARGIN", "AboveThreshold", "LaplaceMax", "LazyLaplace", "greatest", "near"]


KNOWN = 63
SURE = 1 << 33
"""From this V 2^63 on a float knows Z to the margin; below it, one draw in 2^30, it is left to balls."""
MARGIN = 2.0**-29


def near(words: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Z in floats, to within `MARGIN` (and 2^-48 of itself), and where it is not known so well: |Z| is larger there."""
    v = words >> np.uint64(1)
    sizes = -np.log((np.maximum(v, np.uint64(SURE)).astype(np.float64)) * 2.0**-KNOWN)
    return np.where(words & np.uint64(1), -sizes, sizes), v < SURE


class LazyLaplace:
    """One standard Laplace variable.

    >>> from zcdp.samplers.source import secure
    >>> at_precision(128, LazyLaplace(5, secure).ball) < 0  # an odd word: a negative sign
    True
    """

    def __init__(self, word: int, source: Source) -> None:
        self._v, self._known, self._sign, self._source = word >> 1, KNOWN, -1 if word & 1 else 1, source

    def refine(self) -> int:
        """Draws more bits; how many are known now."""
        self._v, self._known = self._v << WORD | bits(WORD, self._source), self._known + WORD
        return self._known

    def ball(self) -> arb:
        """A ball around what is known of Z, at the working precision; infinite if V may be 0."""
        if not self._v:
            return arb(0, float("inf"))
        scale = arb(2) ** -self._known
        low, high = -((self._v + 1) * scale).log(), -(self._v * scale).log()
        return self._sign * low.union(high)


def greatest(sums: Sequence[tuple[Callable[[], arb], LazyLaplace]]) -> int:
    """The index of the largest of some sums, each of an exact number and a variable.

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

        alive = at_precision(known + GUARD, undecided)
    return alive[0]


# Report noisy max with Laplace noise: the index of the largest score plus noise, compared exactly.
#
# Floats know each noisy score up to a margin; candidates that come so close to the best are told apart by lazy bits.
# See docs/theorems/lazy-inversion.md.

FAR = 1e300  # halvings: infinite differences would not compare
RELATIVE = 2.0**-38  # beyond every rounding of a gap times the rate, and of the noise


class LaplaceMax:
    """Index n of the largest scores[n] + Z_n/rate, Z_n independent standard Laplace; `forced` leaves all to lazy bits.

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
        behind = np.minimum(candidates.halvings(candidates.gaps(slice(None))), FAR) * np.log(2.0)
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
        # where V is small |Z| is larger than near says: a positive one may be anything up to infinity
        reach = MARGIN + RELATIVE * (abs(noise) + behind)
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


# The sparse vector technique: is a query plus noise at least a noisy threshold? Answered exactly, one after another.
#
# With threshold noise Z/e1 and query noise Z_n/b, in units of the sensitivity, the answer is whether
# b (query - threshold) + Z_n >= (b/e1) Z. The threshold's Z is one lazy variable for the whole run: it gets more bits
# when a comparison needs them, and keeps them. See docs/theorems/lazy-inversion.md.


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
