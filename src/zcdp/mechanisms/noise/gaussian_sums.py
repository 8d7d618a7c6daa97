"""One factor for all weighted sums of discrete Gaussian noise: a certified half-width as a multiple of the deviation.

It takes no series for each sum, as `NoiseSum` does, and is a little wider: for tables with many different errors.
Theorem: docs/theorems/gaussian-sums.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache, partial
from math import erfc, exp, inf, log, log1p, pi, sqrt
from statistics import NormalDist

from flint import arb

from zcdp.numeric.balls import above, at_precision, lift

__all__ = ["reach_in_deviations"]

BALL_BITS = 96
SHARES = [2.0 ** (-n / 4) for n in range(101)]
"""The variances of the added normal noise that are tried, as parts of the noise's own."""
SHIFTS = [n / 10 for n in range(1, 41)]
"""The shifts that are tried, in deviations of the added noise."""
TRIES = 40
LARGEST = Fraction(2**60)  # a larger v is taken for this one, so that balls stay thin


def reach_in_deviations(noise: Mapping[Fraction, int], level: Fraction = Fraction(19, 20)) -> float:
    """A number c: a sum of a_i X_i is above c sqrt(sum of a_i^2 v_i) in size with probability at most 1 - level.

    `noise` has the number of the X_i for each v, where X_i is a discrete Gaussian of parameter sigma^2 = v_i; the a_i
    are any numbers. That root is the deviation of the sum, rounded up by the little that sigma^2 is above the variance.

    >>> reach_in_deviations({Fraction(10**6): 1000}), reach_in_deviations({Fraction(400): 1000})
    (1.963..., 2.051...)
    """
    return _reach(tuple(sorted(noise.items())), Fraction(level))


@lru_cache(64)
def _reach(noise: tuple[tuple[Fraction, int], ...], level: Fraction) -> float:
    miss = 1 - level
    noise = tuple((min(v, LARGEST), many) for v, many in noise)  # the bound of the theorem falls in v
    variances = [(float(v), many) for v, many in noise]
    tried = [(_proposed(variances, share, shift, float(miss)), share, shift) for share in SHARES for shift in SHIFTS]
    found, share, shift = min(tried)
    plain = at_precision(BALL_BITS, lambda: above((2 * (2 / lift(miss)).log()).sqrt()))
    for _ in range(TRIES):
        if not found < plain:
            return plain
        if at_precision(BALL_BITS, partial(_outside, noise, share, shift, found)) <= lift(miss):
            return found
        found *= 1 + 2.0**-40
    return plain


def _proposed(variances: list[tuple[float, int]], share: float, shift: float, miss: float) -> float:
    """The factor by floats, for normal noise of `share` of each variance and a shift in its deviations; heuristic."""
    waves = [(exp(-2 * pi**2 * v * share / (1 + share)), many) for v, many in variances]
    if max(wave for wave, _ in waves) > 0.9:
        return inf
    swell = sum(many * log1p(2 * wave / (1 - wave**3)) for wave, many in waves)
    tail = log(miss) + log(1 - erfc(shift / sqrt(2)) / 2) - swell
    if tail < -600:
        return inf
    return -NormalDist().inv_cdf(exp(tail) / 2) * sqrt(1 + share) + shift * sqrt(share)


def _outside(noise: tuple[tuple[Fraction, int], ...], share: float, shift: float, c: float) -> arb:
    """The bound of the theorem on the probability that a sum is beyond c of its deviations."""
    part, moved = arb(share), arb(shift)
    swell = arb(1)
    for v, many in noise:
        wave = (-2 * arb.pi() ** 2 * lift(v) * part / (1 + part)).exp()
        swell *= (1 + 2 * wave / (1 - wave**3)) ** many
    reached = (arb(c) - moved * part.sqrt()) / (2 * (1 + part)).sqrt()
    return swell * reached.erfc() / (1 - (moved / arb(2).sqrt()).erfc() / 2)
