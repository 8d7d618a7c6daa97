"""The mean of the positive part of a sum of draws, by how often each value is drawn: of few draws, or of rare ones."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from flint import arb

__all__ = ["mean_by_counts"]

FEW, FEWER = 20_000, 8_000  # terms of the sum over all counts, and over those of rare values
FEW_DRAWS = 600
TINY = -64  # the power of two that bounds the probability of more rare draws than are summed over

Law = Sequence[tuple[arb, arb]]


def mean_by_counts(law: Law, n: int) -> tuple[arb, arb] | None:
    """Below and above E (Y_1 + ... + Y_n)_+ for places and masses of Y; None where the counts are too many.

    Where all counts together are, those of the values other than the likeliest may be few, up to what is negligible.
    Theorem: docs/theorems/shuffling.md.
    """
    *rare, (often, mass) = sorted(law, key=lambda one: one[1].mid())
    if n <= FEW_DRAWS and n ** len(rare) <= FEW:
        whole = _sum(rare, often, mass, n, n)
        return whole, whole
    chance = sum((m for _, m in rare), arb(0))
    if not chance * 8 < 1:  # They are not rare.
        return None
    for most in range(1, n):
        if comb(most + len(rare), most) > FEWER:
            return None
        if (beyond := arb.bin_uiui(n - 1, most) * chance**most) < arb(2) ** TINY:
            break
    whole = _sum(rare, often, mass, n, most)
    gain = sum((place.max(arb(0)) * m for place, m in rare), arb(0))
    more = arb.bin_uiui(n - 1, most + 1) * chance ** (most + 1)
    return whole, whole + n * (gain * beyond + often.max(arb(0)) * mass * more)


def _sum(rare: Law, often: arb, mass: arb, n: int, most: int) -> arb:
    """The mean of the positive part over the counts of rare values, in all at most so many; other draws are `often`."""
    rare = sorted(rare, key=lambda one: one[0].mid(), reverse=True)  # The last one leads to where nothing is left.
    # n!/(n-N)! mass^(n-N) for N rare draws, and of each value its own mass^m/m!
    rest = [mass ** (n - most)]
    for _ in range(most):
        rest.append(rest[-1] * mass)
    rest.reverse()
    falling = arb(1)
    for drawn in range(most + 1):
        rest[drawn] *= falling
        falling *= n - drawn
    tables = []
    for _, m in rare:
        powers = [arb(1)]
        for times in range(1, most + 1):
            powers.append(powers[-1] * m / times)
        tables.append(powers)
    steps = [place - often for place, _ in rare]

    def over(kind: int, left: int, value: arb) -> arb:
        total, step, powers = arb(0), steps[kind], tables[kind]
        if kind < len(rare) - 1:
            for m in range(left + 1):
                total += powers[m] * over(kind + 1, left - m, value)
                value = value + step
            return total
        falls, drawn = step <= 0, most - left
        for m in range(left + 1):
            if value > 0:
                total += value * powers[m] * rest[drawn + m]
            elif not value <= 0:
                total += value.max(arb(0)) * powers[m] * rest[drawn + m]
            elif falls:
                break
            value = value + step
        return total

    return over(0, most, often * n) if rare else (often * n).max(arb(0)) * rest[0]
