"""Atoms on a lattice: the transform against a plain sum, and domination of shuffled reports that are enumerated."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

import pytest
from flint import acb, arb

from zcdp import LossPair, RandomizedResponse, Shuffled
from zcdp.numeric.balls import at_precision
from zcdp.privacy.loss.lattice_row_law import LatticeRow
from zcdp.privacy.loss.profile_law import ProfileLaw

STEP = Fraction(1, 8)
ROW = LatticeRow(STEP, {1: Fraction(1, 20), 2: Fraction(1, 30), 3: Fraction(1, 100), 20: Fraction(1, 10**4)})
MASSES = {k: float(q) for k, q in ROW.masses.items()}


def atoms() -> list[tuple[float, float]]:
    """Pairs of loss and P-mass, written out."""
    h = float(STEP)
    both = [(k * h, q * exp(k * h)) for k, q in MASSES.items()] + [(-k * h, q) for k, q in MASSES.items()]
    return [*both, (0.0, 1 - sum(p for _, p in both))]


def test_the_transform_is_that_of_its_atoms() -> None:
    factor = ROW.ready()
    for z in (acb(0), acb(-1), acb(0.3, 2.5), acb(2, -40)):
        plain = sum((acb(p) * (z * loss).exp() for loss, p in atoms()), acb(0))
        assert abs(factor.moment(z) - plain) < 1e-13
    ROW.check()
    assert ROW.lattice().spacing == STEP
    listed = [(float(p), float(q)) for p, q in ROW.outcomes()]
    assert sorted(log(p / q) for p, q in listed) == pytest.approx(sorted(loss for loss, _ in atoms()), abs=1e-12)
    assert sum(p for p, _ in listed) == pytest.approx(1)
    assert sum(q for _, q in listed) == pytest.approx(1)


def test_its_decay_is_bounded_by_what_it_is() -> None:
    for c in (0.0, 3.0):
        share = at_precision(100, lambda c=c: ROW.ready().share(1, arb(c), _taylor(ROW.ready(), c)))
        for weight, turns in share.waves:
            distance = round(turns * 2 * 3.141592653589793 / float(STEP))
            tilted = {round(loss * 8): p * exp(c * loss) for loss, p in atoms()}
            whole = sum(tilted.values())
            pairs = sum(tilted[k] * tilted.get(k + distance, 0.0) for k in tilted) / whole**2
            assert weight == pytest.approx(2 * pairs, rel=1e-9)


def _taylor(factor: object, c: float) -> object:
    from types import SimpleNamespace

    whole = sum(p * exp(c * loss) for loss, p in atoms())
    mean = sum(loss * p * exp(c * loss) for loss, p in atoms()) / whole
    second = sum(loss**2 * p * exp(c * loss) for loss, p in atoms()) / whole
    return SimpleNamespace(moment=factor.moment(arb(c)), variance=arb(second - mean**2))  # type: ignore[attr-defined]


def test_the_rational_law_is_above_it() -> None:
    exact = at_precision(200, lambda: {k: (arb(k) / 8).exp() for k in MASSES})
    for g, p in ROW.source.masses:
        if g > 1:
            k = round(8 * log(g))
            assert at_precision(200, lambda g=g, k=k: arb(g.numerator) / g.denominator >= exact[k].lower())
            assert p == ROW.masses[k] * g
    assert ROW.source.symmetric


@pytest.mark.parametrize("uses", [1, 2, 3])
def test_shuffled_reports_are_on_a_lattice_and_above_their_truth(uses: int) -> None:
    """All outcomes of 4 clients of whom 3 hold the third value, composed by hand."""
    one = Shuffled(RandomizedResponse(epsilon="log(3)", k=3), clients=4)
    law = one.pair().upper
    assert isinstance(law, ProfileLaw)
    assert isinstance(law.dots, LatticeRow)
    true = uses * _explicit(3, Fraction(3), 4)
    for epsilon in ("0.05", "0.3", "0.7", "1"):
        lower, upper = true.delta_bounds(epsilon=epsilon)
        assert (uses * one).delta_at(epsilon=epsilon) >= lower > 0 or upper == 0


def _explicit(k: int, e: Fraction, clients: int) -> LossPair:
    """The histograms of reports if one client holds 0 or 1 and all others hold 2."""
    truth, lie = e / (e + k - 1), 1 / (e + k - 1)

    def law(first: int) -> dict[tuple[int, ...], Fraction]:
        total = {(0,) * k: Fraction(1)}
        for value in (first, *([2] * (clients - 1))):
            grown: dict[tuple[int, ...], Fraction] = {}
            for counts, mass in total.items():
                for report in range(k):
                    after = tuple(n + (i == report) for i, n in enumerate(counts))
                    grown[after] = grown.get(after, Fraction(0)) + mass * (truth if report == value else lie)
            total = grown
        return total

    one, other = law(0), law(1)
    return LossPair(p=[one[key] for key in one], q=[other[key] for key in one])
