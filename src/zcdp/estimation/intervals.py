"""Exact intervals for the frequency of a value: from a count of supports, never from a normal law.

Theorem: docs/theorems/intervals.md.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zcdp.estimation.inversion import crossing
from zcdp.estimation.support import Support
from zcdp.estimation.tails import upper_tail

__all__ = ["clients_interval", "population_interval"]

Floats = NDArray[Any]
FINE = 1e-5  # of a standard error: how near a real end is to where it could be at best


def clients_interval(counts: Floats, n: int, support: Support, risk: float) -> tuple[Floats, Floats]:
    """How many of these n clients hold the value: all N for which neither tail of the count is at most risk/2.

    The count is Bin(N, p) + Bin(n - N, q).
    """
    yes, no = (support.p, support.not_p), (support.q, support.not_q)
    top = np.full(counts.size, float(n))
    guess, width = _guess(counts, n, support, risk)

    def at_least(which: NDArray[Any], holders: Floats) -> Floats:
        return upper_tail(counts[which], holders, n, yes, no)

    def at_most(which: NDArray[Any], others: Floats) -> Floats:
        """The tail below, as one above: of the reports that do not support it, with the roles exchanged."""
        return upper_tail(n - counts[which], others, n, no[::-1], yes[::-1])

    _, lower = crossing(at_least, risk / 2, top, 1, np.clip((guess - width) * n, 0, n))
    _, fewest = crossing(at_most, risk / 2, top, 1, np.clip((1 - guess - width) * n, 0, n))
    return lower, n - fewest


def population_interval(counts: Floats, n: int, support: Support, risk: float) -> tuple[Floats, Floats]:
    """The share of the value in the population that the clients are drawn from: Clopper and Pearson, mapped."""
    top = np.ones(counts.size)
    guess, width = _guess(counts, n, support, risk)
    gap = max(FINE * support.standard_error(n, 0.5), 1e-15)
    every = np.full(counts.size, float(n))

    def at_least(which: NDArray[Any], share: Floats) -> Floats:
        chance = support.q + support.gain * share, support.not_q - support.gain * share
        return upper_tail(counts[which], every[which], n, chance, chance)

    def at_most(which: NDArray[Any], others: Floats) -> Floats:
        chance = support.not_p + support.gain * others, support.p - support.gain * others
        return upper_tail(n - counts[which], every[which], n, chance, chance)

    lower, _ = crossing(at_least, risk / 2, top, gap, np.clip(guess - width, 0, 1))
    fewest, _ = crossing(at_most, risk / 2, top, gap, np.clip(1 - guess - width, 0, 1))
    return lower, np.minimum(np.nextafter(1 - fewest, 2), 1.0)


def _guess(counts: Floats, n: int, support: Support, risk: float) -> tuple[Floats, Floats]:
    """Where a normal law would put the ends: the search starts there, and goes wherever the tails say."""
    share = np.clip((counts / n - support.q) / support.gain, 0, 1)
    z = NormalDist().inv_cdf(1 - max(risk, 1e-300) / 2) if risk > 1e-15 else np.sqrt(-2 * np.log(risk))
    spread = np.sqrt(np.maximum(support.q * support.not_q, support.p * support.not_p) / n) / support.gain
    return share, np.full(counts.size, z * spread)
