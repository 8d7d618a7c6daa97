"""The certified search finds peaks it was not told about, and refuses what is false."""

from __future__ import annotations

from fractions import Fraction
from math import log

import pytest
from flint import arb, arb_series
from hypothesis import given, settings
from hypothesis import strategies as st

from zcdp import NotCertified
from zcdp.numeric import supremum
from zcdp.numeric.balls import lift
from zcdp.numeric.supremum import steepest_ratio

MASSES = st.lists(st.integers(1, 1000), min_size=2, max_size=5)


def losses(p: list[Fraction], q: list[Fraction]) -> list[arb]:
    return [(lift(a) / lift(b)).log() for a, b in zip(p, q, strict=True)]


def search(
    p: list[Fraction], q: list[Fraction], tolerance: float = 1e-9, *, chords: bool = False
) -> tuple[float, float]:
    def cumulant(s: arb_series) -> arb_series:
        terms = ((s * loss).exp() * lift(mass) for mass, loss in zip(p, losses(p, q), strict=True))
        return sum(terms, arb_series([0], prec=s.prec)).log()

    def largest() -> arb:
        return max(losses(p, q), key=float)

    def spread() -> arb:
        return largest() - min(losses(p, q), key=float)

    return steepest_ratio(cumulant, largest, None if chords else spread, tolerance)


def grid_maximum(p: list[Fraction], q: list[Fraction]) -> float:
    """Plain floats over a grid of orders: a lower bound, by another road."""
    pairs = [(float(a), float(b)) for a, b in zip(p, q, strict=True)]
    best = sum(a * log(a / b) for a, b in pairs)
    for n in range(1, 400):
        alpha = 1 + 10 ** (n / 70 - 4)  # to 50: where the loss ratio is at most 5 * 10^6, beyond any peak
        moment = sum(a * (a / b) ** (alpha - 1) for a, b in pairs)
        best = max(best, log(moment) / (alpha * (alpha - 1)))
    return best


@settings(deadline=None, max_examples=40)
@given(MASSES, MASSES)
def test_any_finite_pair(left: list[int], right: list[int]) -> None:
    size = min(len(left), len(right))
    p = [Fraction(n, sum(left[:size])) for n in left[:size]]
    q = [Fraction(n, sum(right[:size])) for n in right[:size]]
    if max(abs(a / b - 1) for a, b in zip(p, q, strict=True)) < Fraction(1, 100):
        return
    lower, upper = search(p, q)
    assert upper <= lower * (1 + 3e-9)
    grid = grid_maximum(p, q)
    assert grid <= upper * (1 + 1e-9)
    assert lower <= grid * 1.01  # the grid is that fine


def test_chords_agree_with_the_third_cumulant() -> None:
    p, q = [Fraction(1, 100), Fraction(99, 100)], [Fraction(1, 2000), Fraction(1999, 2000)]
    assert search(p, q, chords=True) == pytest.approx(search(p, q), rel=3e-9)


def test_a_bound_below_the_truth_is_never_proven() -> None:
    p, q = [Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]
    with pytest.raises(NotCertified):
        search(p, q, -1e-9)
    with pytest.raises(NotCertified):
        search(p, q, -1e-9, chords=True)


def test_a_peak_that_the_search_missed_is_found_by_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    p, q = [Fraction(1, 1000), Fraction(999, 1000)], [Fraction(1, 10**6), Fraction(10**6 - 1, 10**6)]
    expected = search(p, q)
    honest = supremum._search
    calls = []

    def blind_at_first(*arguments: object) -> arb:
        calls.append(1)
        return arb(2) ** -20 if len(calls) == 1 else honest(*arguments)

    monkeypatch.setattr(supremum, "_search", blind_at_first)
    assert search(p, q) == pytest.approx(expected, rel=1e-8)
    assert len(calls) > 1
