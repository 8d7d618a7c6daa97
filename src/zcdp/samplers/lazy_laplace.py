"""Laplace variables whose digits are drawn when a comparison asks for them: sums of them are compared exactly.

Z = sign * -log(V), V uniform on (0, 1) and known to some bits. A 64-bit word, a sign and 63 bits of V, gives Z in
floats up to a margin that nearly always suffices; where it does not, V gets more bits, and balls decide. Two sums of
independent continuous variables are never equal. See docs/theorems/lazy-inversion.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from zcdp.numeric.balls import at_precision
from zcdp.samplers.lazy import GUARD, WORD
from zcdp.samplers.source import Source, bits

__all__ = ["MARGIN", "LazyLaplace", "greatest", "near"]

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
