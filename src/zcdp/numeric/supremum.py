"""Certified supremum of K(s)/(s(1+s)) for any cumulant: proves a bound cell by cell, needs no theorem."""

from __future__ import annotations

from collections.abc import Callable

from flint import arb, arb_series

from zcdp.numeric.balls import above, at_precision, below
from zcdp.numeric.certify import NotCertified
from zcdp.numeric.functions import derivatives

__all__ = ["steepest_ratio"]

Evaluate = Callable[[arb_series], arb_series]

SMALLEST_STEP = 2.0**-60
GOLDEN = 0.6180339887498949


def _taylor(cumulant: Evaluate, s: arb) -> tuple[arb, arb, arb]:
    return derivatives(cumulant(arb_series([s, 1], prec=3)))


def _ratio(cumulant: Evaluate, s: arb) -> arb:
    return cumulant(arb_series([s], prec=1))[0] / (s * (1 + s))


def _nonnegative(g0: arb, g1: arb, m: arb, h: arb) -> bool:
    """Whether g0 + g1 d + m d^2/2 >= 0 for all d in [0, h], for certain."""
    if not (g0 >= 0 and g0 + g1 * h + m * h * h / 2 >= 0):
        return False
    if m <= 0 or g1 >= 0 or g1 + m * h <= 0:  # the least value is at an end
        return True
    return bool(m > 0 and 2 * m * g0 >= g1 * g1)


def _search(cumulant: Evaluate, start: arb, end: arb) -> arb:
    """A point where the ratio is near its greatest: a proposal, nothing rests on it but speed."""
    grid = [start * (end / start) ** (arb(n) / 96) for n in range(97)]
    best = max(range(97), key=lambda n: float(_ratio(cumulant, grid[n].mid())))
    low, high = (grid[max(best - 1, 0)].mid().log(), grid[min(best + 1, 96)].mid().log())
    for _ in range(60):
        left, right = high - (high - low) * GOLDEN, low + (high - low) * GOLDEN
        if _ratio(cumulant, left.mid().exp().mid()).mid() < _ratio(cumulant, right.mid().exp().mid()).mid():
            low = left
        else:
            high = right
    return ((low + high) / 2).mid().exp().mid()


def steepest_ratio(
    cumulant: Evaluate, largest_loss: Callable[[], arb], spread: Callable[[], arb] | None, tolerance: float = 1e-10
) -> tuple[float, float]:
    """Floats (lower, upper) around sup over s > 0 of K(s)/(s(1+s)), upper/lower <= 1 + 2 tolerance.

    K is convex with K(0) = 0 and K(s) <= s * largest_loss. With the loss in an interval of length `spread`,
    |K'''| <= spread K'' and a cell is bounded from K, K', K'' at its left end; without it (an envelope of several
    pairs) by its chord. See docs/theorems/supremum.md.
    """
    bits = 192
    while bits <= 1 << 13:
        try:
            return at_precision(bits, lambda: _march(cumulant, largest_loss(), spread() if spread else None, tolerance))
        except NotCertified:
            bits *= 2
    raise NotCertified("the supremum over orders could not be enclosed")


def _march(cumulant: Evaluate, largest_loss: arb, spread: arb | None, tolerance: float) -> tuple[float, float]:
    _, kl, _ = _taylor(cumulant, arb(0))
    if not (kl > 0 and kl.rel_accuracy_bits() > 60):
        raise NotCertified
    best, factor = kl.lower(), 1 + arb(tolerance)
    end = (largest_loss / best).upper()
    peak = _ratio(cumulant, _search(cumulant, arb(2) ** -24, end)).lower()
    best = peak if peak > best else best
    bound = (best * factor).upper()
    s, step = arb(0), arb(1)
    while not 1 + s >= largest_loss / bound:
        k0, k1, k2 = _taylor(cumulant, s) if s > 0 else (arb(0), kl, _taylor(cumulant, s)[2])
        if s > 0 and bound * s * (1 + s) < k0:  # the search missed a higher peak: raise the bound, keep the proof
            best = _ratio(cumulant, _search(cumulant, s, end)).lower().max(_ratio(cumulant, s).lower())
            bound = (best * factor).upper()
            continue
        while True:
            if spread is None:
                k_end = cumulant(arb_series([s + step], prec=1))[0]
                slope, curvature = (k_end - k0) / step, 2 * bound
            else:
                slope, curvature = k1, 2 * bound - k2 * (spread * step).exp()
            if _nonnegative(bound * s * (1 + s) - k0, bound * (1 + 2 * s) - slope, curvature, step):
                break
            step = step / 2  # halving and doubling are exact: cells leave no gap
            if step < (s + 1) * SMALLEST_STEP:
                raise NotCertified
        s, step = (s + step).lower(), 2 * step
    return below(best), above(bound)
