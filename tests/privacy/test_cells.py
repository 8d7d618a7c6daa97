"""Cells of losses: a measure above and one below each composition, against all outcomes and against integrals."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp, log1p, prod
from random import Random

import numpy as np
import pytest
from flint import arb
from mpmath import mp, mpf

from zcdp import Gaussian, Laplace, Subsampled
from zcdp.numeric.balls import above, at_precision, below
from zcdp.privacy.loss.finite_law import finite_law
from zcdp.privacy.loss.law import Parts
from zcdp.privacy.profile import cells
from zcdp.privacy.profile.cells import Cells, Loss, fall, rise
from zcdp.privacy.profile.engine import Question

F = Fraction
Atoms = list[tuple[Fraction, Fraction]]


def test_both_series_are_within_their_errors() -> None:
    t = np.concatenate([np.geomspace(1e-300, 0.5, 2_000), np.linspace(0, 0.5, 500)])
    for place, value in zip(t.tolist(), fall(t).tolist(), strict=True):
        truth = at_precision(120, lambda place=place: -(-arb(place)).expm1())
        assert abs(arb(value) - truth) <= truth * arb(2) ** -46
    for place, value in zip(t.tolist(), rise(t).tolist(), strict=True):
        truth = at_precision(120, lambda place=place: -(-arb(place)).log1p())
        assert truth * (1 - arb(2) ** -44) <= arb(value) <= truth


def atoms_of(rng: Random, size: int) -> Atoms:
    p, q = ([rng.randint(1, 9) ** rng.randint(1, 4) for _ in range(size)] for _ in range(2))
    return [(F(a, sum(p)), F(b, sum(q))) for a, b in zip(p, q, strict=True)]


def delta_of(atoms: Atoms, uses: int, x: Fraction) -> Fraction:
    """What P has above x times Q, over all outcomes of so many uses."""
    total = F(0)
    for drawn in product(atoms, repeat=uses):
        total += max(prod((p for p, _ in drawn), start=F(1)) - x * prod((q for _, q in drawn), start=F(1)), F(0))
    return total


@pytest.mark.parametrize("seed", range(6))
def test_a_composition_lies_between_both_measures(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With so few nodes that each product moves its losses; at all epsilons, not only the one that was asked for."""
    rng = Random(seed)
    atoms, uses = atoms_of(rng, rng.randint(2, 4)), rng.randint(2, 5)
    parts: Parts = ((finite_law(atoms), uses),)
    monkeypatch.setattr(cells, "POINTS", 100)

    def ends(x: Fraction) -> tuple[arb, arb]:
        engine = Cells(Question(parts, epsilon=F(1, 2)), 40)
        return engine.delta(F(log_of(x)))

    for x in (F(1), F(11, 10), F(2), F(5), F(40)):
        low, high = at_precision(160, lambda x=x: ends(x))
        truth = float(delta_of(atoms, uses, F(exp(log_of(x)))))
        assert below(low) <= truth * (1 + 1e-12) + 1e-18, (x, "below")
        assert truth * (1 - 1e-12) - 1e-18 <= above(high), (x, "above")
    low, high = at_precision(160, lambda: ends(F(2)))
    assert above(high) - below(low) < 0.1


def log_of(x: Fraction) -> float:
    return log1p(float(x) - 1)


def two_steps(rate: float, epsilon: float) -> mpf:
    """delta of two steps of normal noise of deviation 1 at this rate: the closed form of one, integrated over one."""
    q, x = mpf(rate), mp.exp(mpf(epsilon))

    def after(w: mpf) -> mpf:
        kappa = (x / w - (1 - q)) / q
        if kappa <= 0:
            return 1 - x / w
        d = mpf(1) / 2 - mp.log(kappa)
        return q * (mp.ncdf(d) - kappa * mp.ncdf(d - 1))

    def inner(y: mpf) -> mpf:
        density = (1 - q) * mp.npdf(y) + q * mp.npdf(y - 1)
        return density * after(1 - q + q * mp.exp(y - mpf(1) / 2))

    edge = mp.log((x / (1 - q) - (1 - q)) / q) + mpf(1) / 2
    return mp.quad(inner, sorted([*mp.linspace(-12, 14, 27), edge]))


def test_two_steps_at_a_tiny_rate_are_those_of_an_integral() -> None:
    law = Subsampled(Gaussian(sigma=1), rate="1e-5").pair().upper
    epsilon = F("3.8878e-5")
    low, high = at_precision(160, lambda: Cells(Question(((law, 2),), epsilon=epsilon), 700).delta(epsilon))
    with mp.workdps(25):
        assert below(low) <= two_steps(1e-5, float(epsilon)) <= above(high)
    assert 0.997e-6 < below(low) < 1e-6 < above(high) < 1.003e-6


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(100))
def test_two_steps_at_random_rates_are_those_of_an_integral(seed: int) -> None:
    rng = Random(f"two steps {seed}")
    rate, epsilon = 10 ** rng.uniform(-6, -1), 10 ** rng.uniform(-5, 0)
    plan = 2 * Subsampled(Gaussian(sigma=1), rate=rate)
    parts = ((plan.parts[0][0].pair().upper, 2),)  # type: ignore[attr-defined]

    def ends() -> tuple[arb, arb]:
        return Cells(Question(parts, epsilon=F(epsilon)), 700).delta(F(epsilon))

    low, high = at_precision(160, ends)
    with mp.workdps(25):
        truth = float(two_steps(rate, epsilon))
    assert below(low) <= truth * (1 + 1e-12)
    assert truth * (1 - 1e-12) <= above(high)


def test_a_law_by_its_formula_lies_between_both_measures() -> None:
    """Three sampled steps of Laplace noise, in each direction, by the smoothed contour and by cells."""
    step = Subsampled(Laplace(epsilon=1), rate="0.1").pair()
    assert step is not None
    for law, truth in ((step.upper, 0.4755952), (step.upper.reverse(), None)):
        engine = at_precision(160, lambda law=law: Cells(Question(((law, 3),), delta=F("1e-6")), 500))
        low, high = at_precision(160, lambda engine=engine: engine.delta(F("0.4755952")))
        assert below(low) <= above(high)
        if truth:
            assert below(low) * 0.99 < 1e-6 < above(high) * 1.01  # delta falls by a hundredth within 1e-6 of epsilon


def test_what_is_moved_keeps_both_masses() -> None:
    """Two losses between two nodes: above them the P- and Q-masses stay, below them they are one loss."""
    one = Loss(np.array([0.1, 0.2]), np.array([0.5, 0.4]), 0.0, upward=True)
    moved = one._moved(np.array([0.1, 0.15, 0.2]), np.array([0.3, 0.4, 0.2]), 0.01, 2, 1e-9)
    assert float(moved.masses.sum()) == pytest.approx(0.9, rel=1e-9)
    q = sum(mass * exp(-place) for place, mass in zip(moved.losses.tolist(), moved.masses.tolist(), strict=True))
    assert q == pytest.approx(0.3 * exp(-0.1) + 0.4 * exp(-0.15) + 0.2 * exp(-0.2), rel=1e-9)
    assert moved.revealed >= 0.01
    below_it = Loss(one.losses, one.masses, 0.0, upward=False)
    merged = below_it._moved(np.array([0.1, 0.15, 0.2]), np.array([0.3, 0.4, 0.2]), 0.0, 2, 1e-9)
    q = sum(mass * exp(-place) for place, mass in zip(merged.losses.tolist(), merged.masses.tolist(), strict=True))
    assert q == pytest.approx(0.3 * exp(-0.1) + 0.4 * exp(-0.15) + 0.2 * exp(-0.2), rel=1e-9)


def test_products_that_underflow_are_moved_to_infinity_or_left_out() -> None:
    for upward in (True, False):
        rare = Loss(np.array([0.0, 1.0]), np.array([1.0, 1e-200]), 0.0, upward=upward)
        both = rare.times(rare, 10, 1e-9)
        assert both.revealed > 0 if upward else both.revealed == 0
        assert float(both.losses.max()) <= 1 + 1e-12


def test_it_is_offered_where_all_is_known() -> None:
    atoms: Atoms = [(F(3, 4), F(1, 4)), (F(1, 4), F(3, 4))]
    law = finite_law(atoms)

    def offered(parts: Parts) -> tuple[bool, bool]:
        question = Question(parts, epsilon=F(1, 2))
        return Cells.offer(question) is not None, Cells.second(question) is not None

    assert at_precision(128, lambda: offered(((law, 3),))) == (False, True)
    assert at_precision(128, lambda: offered(((law, 1),))) == (False, False)


class Formula:
    """A law with formulas for one use, and infinite losses of these masses in the two directions."""

    late = few = False

    def __init__(self, revealed: float, hidden: float) -> None:
        self.revealed, self.hidden = arb(revealed), hidden

    def alone(self) -> object:
        return lambda epsilon: epsilon

    def factor(self) -> Formula:
        return self

    def reverse(self) -> Formula:
        return Formula(self.hidden, float(self.revealed))


def test_formulas_that_do_not_count_infinite_losses_are_not_used() -> None:
    """Chords begin at H(0) = 1, and the two directions belong to each other only if nothing is left out."""
    assert cells._known(Formula(0, 0))  # type: ignore[arg-type]
    assert not cells._known(Formula(0.1, 0))  # type: ignore[arg-type]
    assert not cells._known(Formula(0, 0.1))  # type: ignore[arg-type]
