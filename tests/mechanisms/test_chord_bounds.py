"""Chords of a convex cumulant known at points: no supremum is missed, wherever the search was told to begin."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from math import inf, nextafter
from random import Random

import numpy as np
import pytest
from flint import arb
from mpmath import mp, mpf
from numpy.typing import NDArray

from zcdp.mechanisms.selection import chord_bounds as chords
from zcdp.mechanisms.selection.chord_bounds import OCTAVE_POINTS, Chords, _covers, _index, _point
from zcdp.numeric.balls import above, at_precision, lift

Lines = list[tuple[Fraction, Fraction]]
"""K(s) is the largest of a s - b: convex, and 0 at 0, as the first b is 0."""


def cumulant(lines: Lines, s: Fraction) -> Fraction:
    return max(a * s - b for a, b in lines)


def rounded_up(value: Fraction) -> float:
    nearest = float(value)
    return nearest if nearest >= value else nextafter(nearest, inf)


def known(lines: Lines) -> Chords:
    return Chords(lambda s: rounded_up(cumulant(lines, s)), float(lines[0][0]), max(a for a, _ in lines))


def steepest(lines: Lines) -> mpf:
    """sup of K(s)/(s(1+s)): of each line alone at s = (b + sqrt(b^2 + ab))/a, and at the corners in between."""
    with mp.workdps(40):
        exact = [(mpf(a.numerator) / a.denominator, mpf(b.numerator) / b.denominator) for a, b in lines]

        def ratio(s: mpf) -> mpf:
            return max(a * s - b for a, b in exact) / (s * (1 + s))

        peaks = [(b + mp.sqrt(b * b + a * b)) / a for a, b in exact if b]
        corners = [(d - b) / (c - a) for (a, b), (c, d) in pairwise(exact)]
        return max([exact[0][0], *(ratio(s) for s in (*peaks, *corners))])


def two_peaks(later: Fraction) -> Lines:
    """The ratio is 0.998002 at s = 1/1000, falls for many octaves, and peaks once more near s = 500, at `later`.

    That of a line alone is (sqrt(a + b) - sqrt(b))^2 at most.
    """
    return [
        (Fraction(1, 1000), Fraction(0)),
        (Fraction(1), Fraction(1, 10**6)),
        (Fraction(1000), (1000 - later) ** 2 / (4 * later)),
    ]


LOWER, HIGHER = two_peaks(Fraction("0.99799")), two_peaks(Fraction("0.99802"))


def drawn(random: Random) -> Lines:
    """A few lines, each steeper than the one before, that take over at places far apart."""
    slope = Fraction(random.randint(1, 1000), 10**5)
    lines: Lines = [(slope, Fraction(0))]
    corner = Fraction(2) ** random.randint(-14, 0)
    for _ in range(random.randint(1, 4)):
        steeper = lines[-1][0] * Fraction(random.randint(12, 400), 10)
        lines.append((steeper, lines[-1][1] + (steeper - lines[-1][0]) * corner))
        corner *= Fraction(random.randint(15, 600), 10)
    return lines


CASES = [LOWER, HIGHER, *(drawn(Random(seed)) for seed in (1, 2, 3, 4, 5, 7, 9, 10))]


@pytest.mark.parametrize("lines", CASES, ids=range(len(CASES)))
def test_the_supremum_is_proven_and_attained(lines: Lines) -> None:
    lower, upper, _ = known(lines).steepest()
    truth = steepest(lines)
    assert truth <= upper <= truth * (1 + mpf(1) / 1000) + mpf(10) ** -6
    assert lower <= truth * (1 + mpf(10) ** -12)


def test_chords_below_the_proposed_peak_are_needed() -> None:
    """Proposed is the later of two peaks; from there on no ratio is as large as that of the one before."""
    peak = known(LOWER)._propose(Fraction(1000))
    assert _point(peak) > 400
    assert steepest(LOWER[::2]) < known(LOWER).steepest()[1] - 1e-5
    assert known(LOWER).steepest()[2] < 0.01


def test_a_later_peak_that_was_not_proposed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proposed is the first peak, and the second one is a little higher."""
    monkeypatch.setattr(Chords, "_propose", lambda self, largest: _index(0.001))
    lower, upper, s = known(HIGHER).steepest()
    assert steepest(HIGHER) <= upper <= steepest(HIGHER) + mpf(10) ** -5
    assert lower > steepest(LOWER)
    assert s > 400


def test_a_chord_covers_where_it_stays_below_the_parabola() -> None:
    """bound s(1+s) less the chord, exactly: at both ends, and at its least in between."""
    random = Random(5)
    outcomes = set()
    for _ in range(300):
        x = Fraction(random.randint(1, 400), 100)
        y = x + Fraction(random.randint(1, 900), 100)
        bound = Fraction(random.randint(1, 300), 100)
        low, high = (bound * s * (1 + s) - Fraction(random.randint(-2, 40), 10) for s in (x, y))
        left, right = float(low), float(high)
        grid = [x + (y - x) * Fraction(n, 40) for n in range(41)]
        slope = (Fraction(right) - Fraction(left)) / (y - x)
        least = min(bound * s * (1 + s) - Fraction(left) - slope * (s - x) for s in grid)
        found = _covers(bound, x, left, y, right)
        outcomes.add(found)
        if found:
            assert least >= 0
        else:
            assert least <= bound * ((y - x) / 40) ** 2
    assert outcomes == {True, False}
    assert not _covers(Fraction(1), Fraction(1), 0.0, Fraction(2), inf)
    assert not _covers(Fraction(1), Fraction(1), inf, Fraction(2), 0.0)


@pytest.mark.parametrize("lines", CASES[:6], ids=range(6))
def test_a_value_between_the_points_is_above_the_curve(lines: Lines) -> None:
    """Chords between neighbouring points, below the first and beyond the last of them; exact numbers and thin balls."""
    found, random = known(lines), Random(1)
    for octave in [-50, -41, 41, 50, *(random.randint(-39, 39) for _ in range(20))]:
        s = Fraction(random.uniform(0.5, 1)) * Fraction(2) ** octave
        for width in (0, 2.0**-60):
            ball = at_precision(128, lambda s=s, width=width: found.value(lift(s) * arb(1, width)))
            assert above(ball) >= cumulant(lines, s * (1 + Fraction(width)))
            if not width and 2.0**-40 < s < 2**40:
                assert ball.upper() <= lift(cumulant(lines, s)) * (1 + arb(2) ** -11) + lift(s) * arb(2) ** -12


def test_points_are_in_order_and_found_again() -> None:
    for n in (-40 * OCTAVE_POINTS, -12345, -1, 0, 1, OCTAVE_POINTS - 1, OCTAVE_POINTS, 98765):
        s = _point(n)
        assert s < _point(n + 1)
        assert _index(float(s)) == n
        assert _index(nextafter(float(s), 0.0)) == n - 1
    assert chords._more(Fraction(1)) > 1 + Fraction(9, 10**7)


Floats = NDArray[np.float64]


# Chords


def test_a_wide_ball_of_orders_has_a_bound_for_all_of_them() -> None:
    """K(s) = s^2, up to 2s; balls of all widths, over many points, across both ends of what is known."""
    chords = Chords(lambda s: above(lift(s) ** 2), 0.25, Fraction(2))
    for low, high in product([0.0, 1e-14, 1e-9, 0.1, 0.5, 1.0], [1e-13, 1e-8, 0.2, 0.500001, 0.51, 0.6, 1.2, 1.9]):
        if low < high:
            bound = chords.value(arb(low).union(arb(high)))
            assert bound.upper() >= arb(high) ** 2
            assert bound.upper() <= (arb(high) ** 2 * (1 + arb(2) ** -10)).max(arb(2) ** -79)
    assert chords.value(arb("1.1 +/- 1.05")).upper() >= 4
    assert chords.value(arb(3).union(arb(5))).upper() >= 10
    assert chords.value(arb(0.1).union(arb(1e30))).upper() >= 2e30


def cubic(s: Fraction) -> float:
    return float(s * (1 + s)) * 0.25 * (1 + 1e-15)


def test_chords_bound_a_convex_curve_at_every_point() -> None:
    chords = Chords(cubic, 0.25, Fraction(2))
    for s in (1e-15, 1e-4, 0.3, 1.0, 7.123, 100.0):
        value = at_precision(128, lambda s=s: float(chords.value(arb(s)).mid()))
        truth = min(s * (1 + s) / 4, 2 * s)
        assert truth <= value * (1 + 1e-14)
        assert value <= min(truth * (1 + 1e-7), 2 * s * (1 + 1e-15)) + 1e-12 * s
    lower, upper, _ = chords.steepest()
    assert lower <= 0.25 * (1 + 1e-14)
    assert 0.25 <= upper <= 0.25 + 2.0**-20


def test_a_chord_is_compared_everywhere_not_at_its_ends_alone() -> None:
    quarter = Fraction(1, 4)
    assert not _covers(quarter, Fraction(1), 0.5, Fraction(2), 1.5)  # on the curve at both ends, above it between
    assert _covers(quarter, Fraction(1), 0.4, Fraction(2), 1.3)
    assert not _covers(quarter, Fraction(1), 0.51, Fraction(2), 1.3)


@pytest.mark.parametrize("peak", [1e-3, 0.7, 30.0])
def test_the_supremum_of_points_is_proven(peak: float) -> None:
    """K = max(s/100, s - c), convex, whose ratio is largest near the peak: a dense grid finds how large."""
    c = peak**2 / (1 + 2 * peak)

    def bound(s: Fraction) -> float:
        return max(float(s) / 100, float(s) - c) * (1 + 1e-15)

    def ratio(s: Floats) -> Floats:
        return np.maximum(s / 100, s - c) / (s * (1 + s))

    truth = max(0.01, ratio(np.geomspace(c / 2, 1e4, 2_000_001)).max())
    _, upper, _ = Chords(bound, 0.01, Fraction(1)).steepest()
    assert truth * (1 - 1e-9) <= upper <= truth + min(1e-6, truth * 2.0**-11)
