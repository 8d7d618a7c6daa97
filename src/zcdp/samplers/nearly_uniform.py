"""The lowest bits of a slow geometric variable: uniform bits, kept with probability exp(-rate l), which is nearly one.

P(L = l) is proportional to exp(-rate l) on 0 .. 2^length - 1, rate 2^length <= 2^-16: of 65536 values of the first 16
bits, all but the last keep the proposal, whatever it is. See docs/theorems/geometric-digits.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zcdp.numeric.balls import at_precision
from zcdp.samplers.lazy import Real, rank
from zcdp.samplers.source import Source, bits, words

__all__ = ["NearlyUniform"]

LAST = (1 << 16) - 1


class NearlyUniform:
    """So many low bits, at most 32.

    >>> from flint import arb
    >>> from zcdp.samplers.source import secure
    >>> bool((NearlyUniform(lambda: arb(2) ** -40, 24).draw(100, secure) < 2**24).all())
    True
    """

    def __init__(self, rate: Real, length: int, *, first: int = 16) -> None:
        if not at_precision(64, lambda: rate() * (1 << length) <= 1 / (1 << 16)):
            raise ValueError(f"length ({length}) must be at most log2(scale) - 16")
        self._rate, self._length = rate, length
        self._doubt = LAST - ((1 << (16 - first)) - 1)  # from here on the proposal itself is looked at

    def draw(self, count: int, source: Source) -> NDArray[Any]:
        """`count` independent draws as uint32."""
        drawn: NDArray[Any] = words(count, np.uint32, source) >> np.uint32(32 - self._length)
        cells = words(count, np.uint16, source)
        for n in np.flatnonzero(cells >= self._doubt).tolist():
            drawn[n] = self._finish(int(drawn[n]), int(cells[n]), source)
        return drawn

    def draw_one(self, source: Source) -> int:
        """One draw."""
        word = bits(48, source)
        return self._finish(word >> (48 - self._length), word & LAST, source)

    def _finish(self, proposal: int, cell: int, source: Source) -> int:
        """The proposal if it is kept, else the next one that is."""
        while cell >= self._doubt and rank(lambda p=proposal: [(-self._rate() * p).exp()], source, cell, 16):  # type: ignore[misc]
            proposal, cell = bits(self._length, source), bits(16, source)
        return proposal
