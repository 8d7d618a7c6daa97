"""Report noisy max with Laplace noise: the index of the largest score plus noise, compared exactly.

Floats know each noisy score up to a margin; candidates that come so close to the best are told apart by lazy bits.
See docs/theorems/lazy-inversion.md.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from zcdp.numeric.balls import lift
from zcdp.samplers.exponential_coins import Rate
from zcdp.samplers.lazy import Real
from zcdp.samplers.lazy_laplace import MARGIN, LazyLaplace, greatest, near
from zcdp.samplers.scores import Scores
from zcdp.samplers.source import BLOCK, Source, secure, words

__all__ = ["LaplaceMax"]

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
