"""Laplace, logistic and three-point losses against their definitions: cells, ends, atoms at the top, and precisions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import exp, expm1, log

import numpy as np
import pytest
from flint import acb, arb

from zcdp.numeric.balls import above, at_precision, below, lift
from zcdp.numeric.exact import Log
from zcdp.privacy.loss import (
    LossLaw,
    discrete_laplace_claim,
    discrete_laplace_pair,
    laplace_pair,
    logistic_pair,
    three_point_pair,
)
from zcdp.privacy.loss.exponential_law import EdgedDensity, ExponentialSum, ExponentialSumFactor

EPSILONS = [Fraction(1, 10), Fraction(1), Fraction(5)]


def laplace_loss(loss: float, epsilon: float) -> tuple[float, float]:
    """P(L > loss) and E_P[e^{-L}; L > loss] for noise of density e^-|x|/2: L is epsilon, from x = 0 on epsilon - 2x."""
    x = (epsilon - max(loss, -epsilon)) / 2
    return 0.5 + (1 - exp(-x)) / 2, exp(-epsilon) / 2 + exp(-epsilon) * expm1(x) / 2


def logistic_loss(loss: float, eta: float) -> tuple[float, float]:
    """The loss at quantile t of the noise is 2 log(1 + t (e^eta - 1)) - eta."""
    t = np.clip((np.exp((loss + eta) / 2) - 1) / np.expm1(eta), 0, 1)
    inverse = (1 / (1 + t * np.expm1(eta)) - np.exp(-eta)) * np.exp(eta) / np.expm1(eta)
    return float(1 - t), float(inverse)


KINDS: dict[str, tuple[Callable[[Fraction], ExponentialSum], Callable[[float, float], tuple[float, float]]]] = {
    "Laplace": (laplace_pair, laplace_loss),
    "logistic": (logistic_pair, logistic_loss),
}


def delta(above_loss: Callable[[float, float], tuple[float, float]], epsilon: float, size: float) -> float:
    p, q = above_loss(epsilon, size)
    return p - exp(epsilon) * q if epsilon < size else 0.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", EPSILONS)
def test_cells_of_a_density_are_above_it_or_below_it(kind: str, size: Fraction) -> None:
    make, above_loss = KINDS[kind]

    def asked(inward: bool) -> list[tuple[float, float]]:
        listed = make(size).outcomes(inward=inward)
        assert listed is not None
        return [(float(p), float(q)) for p, q in listed]

    outward, inward = (at_precision(128, lambda side=side: asked(side)) for side in (False, True))
    for rows in (outward, inward):
        assert sum(p for p, _ in rows) == pytest.approx(1)
        assert sum(q for _, q in rows) == pytest.approx(1)
        ratios = [p / q for p, q in rows]
        assert all(one >= other * (1 - 1e-12) for one, other in pairwise(ratios))
        assert max(ratios) <= exp(size) * (1 + 1e-12)
        assert min(ratios) >= exp(-size) * (1 - 1e-12)
    for part in np.linspace(-0.99, 1.05, 83):
        epsilon = float(part * size)
        high, low = (sum(max(p - exp(epsilon) * q, 0) for p, q in rows) for rows in (outward, inward))
        truth = delta(above_loss, epsilon, float(size))
        assert low - 1e-12 <= truth <= high + 1e-12
        assert high - low < 0.03 * float(size)
        if 0 <= part <= 1:
            once = at_precision(128, lambda epsilon=epsilon: make(size)._delta(arb(epsilon)))
            assert float(once) == pytest.approx(truth, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", EPSILONS)
def test_the_loss_under_q_has_its_density_and_atoms(kind: str, size: Fraction) -> None:
    """Q(L > loss) is E_P[e^{-L}; L > loss]: here the atoms from there on, and the density integrated."""
    make, above_loss = KINDS[kind]

    def asked() -> tuple[list[tuple[float, float]], float, Callable[[float], float]]:
        base = make(size)._base()
        assert base.second.is_zero()
        assert below(base.low) <= -size <= above(base.low)
        assert below(base.high) <= size <= above(base.high)
        first, constant = float(base.first), float(base.constant)
        return [(float(a), float(m)) for a, m in base.atoms], first, lambda x: exp(first * x + constant)

    atoms, first, density = at_precision(128, asked)
    for part in (-0.999, -0.5, 0, 0.3, 0.9):
        loss = float(part * size)
        beyond = (density(float(size)) - density(loss)) / first + sum(m for place, m in atoms if place > loss)
        assert beyond == pytest.approx(above_loss(loss, float(size))[1], rel=1e-9)
    assert sum(m for _, m in atoms) + (density(float(size)) - density(-float(size))) / first == pytest.approx(1)


@pytest.mark.parametrize("size", EPSILONS)
def test_what_is_near_the_largest_loss_is_not_above_the_truth(size: Fraction) -> None:
    for kind, (make, above_loss) in KINDS.items():
        for part in (1e-6, 0.1, 0.7, 1.9, 2.0, 2.5, 40.0):
            s = part * float(size)
            atom, near = at_precision(128, lambda m=make, s=s: m(size).factor().near_top(arb(s)))
            true = above_loss(float(size) - s, float(size))[0] if part < 2 else 1.0
            if kind == "Laplace":
                assert float(atom) == pytest.approx(0.5)
            else:
                assert atom.is_zero()
                assert float(near) <= true * (1 + 1e-12)
                assert float(near) >= 0.01 * min(true, s)
    for kappa in (2, 5):
        atom, _ = at_precision(128, lambda k=kappa: three_point_pair(size, k).factor().near_top(arb(1)))
        assert float(atom) == pytest.approx(exp(size) / (exp(size) + kappa - 1))


@pytest.mark.parametrize(
    "law", [laplace_pair(Fraction(1)), three_point_pair(Fraction(2), 7), discrete_laplace_pair(Fraction(3), 12)]
)
def test_a_factor_is_kept_for_one_precision_only(law: LossLaw) -> None:
    for bits in (40, 400, 60, 300):
        accuracy = at_precision(bits, lambda: law.factor().moment(arb(3)).rel_accuracy_bits())
        assert bits - 30 < accuracy <= bits + 2


@pytest.mark.parametrize("kappa", [2, 3, 8])
def test_three_points_are_randomized_response(kappa: int) -> None:
    """k values of which the true one is told with e^epsilon times the probability of each other one."""
    law = three_point_pair(Fraction(3, 2), kappa)
    whole = exp(1.5) + kappa - 1
    outcomes = [(exp(1.5), 1.0), (1.0, exp(1.5)), *[(1.0, 1.0)] * (kappa - 2)]
    for z in (0.0, 1.0, -1.0, 3.5):
        truth = sum(p / whole * (p / q) ** z for p, q in outcomes)
        assert float(at_precision(128, lambda z=z: law.factor().moment(arb(z)))) == pytest.approx(truth)
    listed = at_precision(128, lambda: [(float(p), float(q)) for p, q in law.outcomes() or []])
    assert listed[0] == pytest.approx((exp(1.5) / whole, 1 / whole))
    assert listed[-1] == pytest.approx((1 / whole, exp(1.5) / whole))
    assert kappa == 2 or listed[1] == pytest.approx(((kappa - 2) / whole,) * 2)
    larger = law.family()
    assert larger is not None
    assert larger[0] == Fraction(3, 2)
    assert larger[1](Fraction(2)).loss == 2  # type: ignore[attr-defined]


def test_a_split_transform_is_its_atoms_and_its_density() -> None:
    """M = A + B/w: A is the transform of the atoms alone."""
    law = laplace_pair(Fraction(2))
    w = acb(1.3, 4)

    def asked() -> tuple[acb, acb, acb]:
        factor = law.factor()
        assert isinstance(factor, ExponentialSumFactor)
        atoms, density = factor.split(w)
        z = w - acb(0.5)
        own = ((z * 2).exp() + (z * -2).exp() * arb(-2).exp()) / 2
        return atoms - own, atoms + density / w - factor.moment(z), density

    off, whole, density = at_precision(128, asked)
    assert off.contains(acb(0))
    assert whole.contains(acb(0))
    assert not density.contains(acb(0))


@pytest.mark.parametrize(
    ("epsilon", "sensitivity"), [(Log(3), 30_000), (Log(Fraction(6, 5)), 10**5), (Fraction(1, 2), 10**6)]
)
def test_a_row_too_long_to_list_lies_between_two_laplace_laws(epsilon: Fraction | Log, sensitivity: int) -> None:
    """Of losses epsilon, and at least epsilon + 2 log cosh(t/2), t = epsilon/sensitivity."""
    claim = discrete_laplace_claim(epsilon, sensitivity)
    [[(below, _)]] = claim.lower

    def asked() -> None:
        e, law = lift(epsilon), claim.upper
        more = 2 * (e / (2 * sensitivity)).cosh().log()
        assert isinstance(law, ExponentialSum)
        assert isinstance(below, ExponentialSum)
        assert lift(law.loss) >= e + more
        assert lift(law.loss) <= e + 2 * more + arb(2) ** -50
        assert below.loss == epsilon
        for one in (law, below):
            assert len(one.terms()) == 2
            assert one.factor().moment(acb(1, 2)).overlaps(laplace_pair(one.loss).factor().moment(acb(1, 2)))
        assert not claim.exact

    at_precision(400, asked)


@pytest.mark.parametrize(("epsilon", "sensitivity"), [("1", 1), ("2", 3), ("1", 9), ("4", 30), ("1/5", 8)])
def test_a_row_that_is_listed_has_the_masses_of_geometric_noise(epsilon: str, sensitivity: int) -> None:
    e = Fraction(epsilon)
    law = discrete_laplace_pair(e, sensitivity)
    a = exp(-e / sensitivity)
    far = int(40 * sensitivity / e) + sensitivity
    masses = [(1 - a) / (1 + a) * a ** abs(x) for x in range(-far, far + sensitivity + 1)]
    truth: dict[int, float] = {}
    for x, mass in zip(range(-far, far + sensitivity + 1), masses, strict=True):
        steps = abs(x - sensitivity) - abs(x)
        truth[steps] = truth.get(steps, 0.0) + mass
    listed = at_precision(128, lambda: [(float(p), float(q)) for p, q in law.outcomes() or []])
    assert len(listed) == sensitivity + 1
    for (p, q), steps in zip(listed, range(sensitivity, -sensitivity - 1, -2), strict=True):
        assert p == pytest.approx(truth[steps], rel=1e-9)
        assert log(p / q) == pytest.approx(steps * e / sensitivity, abs=1e-9)
    assert discrete_laplace_claim(e, sensitivity).exact
    z = 1.7 + 2.2j
    moment = sum(m * np.exp(z * steps * float(e) / sensitivity) for steps, m in truth.items())
    assert complex(at_precision(128, lambda: law.factor().moment(acb(1.7, 2.2)))) == pytest.approx(moment, rel=1e-9)


def test_atoms_of_a_density_keep_their_ends() -> None:
    """Of one that is not symmetric: 1/8 more at the top than at the bottom, P- and Q-masses apart by e^{+-1}."""
    edged = EdgedDensity(arb(1), arb(0.25), arb(0.125), arb(0.1))
    for inward in (False, True):
        rows = edged.cells(inward=inward)
        assert [float(x) for x in rows[0]] == pytest.approx([0.25 * exp(0.5), 0.25 * exp(-0.5)])
        assert [float(x) for x in rows[-1]] == pytest.approx([0.125 * exp(-0.5), 0.125 * exp(0.5)])
    places = {round(float(place)): float(mass) for place, mass in edged.base().atoms}
    assert places == pytest.approx({1: 0.25 * exp(-0.5), -1: 0.125 * exp(0.5)})
