"""Lazy inversion: one draw from any law on the integers, its bits asked for one word at a time.

U is uniform on [0, 1) and known to `bits` bits: U lies in [u, u+1)/2^bits. The draw is the least k with U < F(k).
Balls decide; where they cannot, U and F get more bits. See docs/theorems/lazy-inversion.md.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from flint import arb

from zcdp.numeric.balls import Undecided, at_precision
from zcdp.numeric.certify import NotCertified
from zcdp.samplers.source import Source, bits

__all__ = ["MOST_BITS", "Real", "invert", "rank", "unsettled"]

Real: TypeAlias = Callable[[], arb]
"""An exact real number: gives a ball around it at the working precision."""

WORD = 64
GUARD = 64
"""Bits of working precision beyond those of U: enough that a ball is thinner than a cell of U."""


MOST_BITS = 1 << 13
"""A draw that needs so many bits has a probability below 2^-8000: something else holds the precision down."""


def unsettled() -> NotCertified:
    """The error for a draw that so many bits have not settled."""
    return NotCertified(f"a draw is not settled by {MOST_BITS} bits: another thread may be setting flint's precision")


def _reached(cut: arb, u: int, known: int) -> bool:
    """Whether U >= cut."""
    scaled = cut * arb(2) ** known
    if scaled <= u:
        return True
    if scaled >= u + 1:
        return False
    raise Undecided


def _count(cuts: Callable[[], list[arb]], u: int, known: int) -> int:
    return sum(_reached(cut, u, known) for cut in cuts())


def rank(cuts: Callable[[], list[arb]], source: Source, u: int = 0, known: int = 0) -> int:
    """How many of a few increasing cuts U has reached, given its first `known` bits.

    >>> from zcdp.samplers.source import secure
    >>> rank(lambda: [arb(0), arb(1)], secure)
    1
    """
    while known < MOST_BITS:
        u, known = u << WORD | bits(WORD, source), known + WORD
        try:
            return at_precision(known + GUARD, partial(_count, cuts, u, known))
        except Undecided:
            pass
    raise unsettled()


def invert(
    cdf: Callable[[int], arb],
    source: Source,
    u: int = 0,
    known: int = 0,
    *,
    guess: Callable[[float], int] | None = None,
    least: int | None = None,
    most: int | None = None,
) -> int:
    """A draw from the law P(X <= k) = cdf(k) on [least, most], given the first `known` bits of U.

    `guess` proposes an outcome from U as a float; nothing rests on it but speed.

    >>> from zcdp.samplers.source import secure
    >>> invert(lambda k: arb(0) if k < 7 else arb(1), secure)
    7
    """
    while known < MOST_BITS:
        u, known = u << WORD | bits(WORD, source), known + WORD
        start = guess(u / (1 << known)) if guess else 0
        try:
            return at_precision(known + GUARD, partial(_search, cdf, u, known, start, least, most))
        except Undecided:
            pass
    raise unsettled()


def _search(cdf: Callable[[int], arb], u: int, known: int, start: int, least: int | None, most: int | None) -> int:
    """The least k with U < cdf(k), by galloping from `start` and bisecting; raises `Undecided` if undecided."""

    def beyond(k: int) -> bool:  # X > k
        if least is not None and k < least:
            return True
        if most is not None and k >= most:
            return False
        return _reached(cdf(k), u, known)

    low, step = start - 1, 1
    while not beyond(low):
        low, step = low - step, 2 * step
    high, step = max(start, low + 1), 1
    while beyond(high):
        low, high, step = high, high + step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if beyond(middle) else (low, middle)
    return high
