"""The plain contour: against sums and closed forms, and with nodes left out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from independent import profile_reference as reference
from mpmath import mpf
from privacy.by_engine import HALF, THIRD, by, ends, parts_of

from zcdp import DiscreteLaplace, Laplace, PureDP, RandomizedResponse
from zcdp.numeric.balls import at_precision, below, lift
from zcdp.privacy.loss import gaussian_pair
from zcdp.privacy.loss.law import Parts
from zcdp.privacy.loss.transform import Transform
from zcdp.privacy.profile.contour import Contour
from zcdp.privacy.profile.engine import MILLISECOND, Effort, Line, line_for_epsilon
from zcdp.privacy.profile.profile import Profile


def test_many_laplace_by_the_contour() -> None:
    """80 x Laplace(2) at 70, by `reference.many_laplace_delta`, which takes a minute."""
    truth = Fraction("0.95388669190359325434244681264")
    lower, upper = by("contour", parts_of(80 * Laplace(epsilon=2)), Fraction(70))
    assert truth * (1 - Fraction(1, 10**14)) < lower <= truth <= upper < truth * (1 + Fraction(1, 10**14))


@pytest.mark.parametrize("mu", [Fraction(1), Fraction(1, 100), Fraction(5)])
@pytest.mark.parametrize("share", [0, 1, 3, 8])
def test_gaussian_has_its_closed_form(mu: Fraction, share: int) -> None:
    """delta = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)."""
    from mpmath import erfc, exp, sqrt

    epsilon = mu * share
    e, m = reference.real(epsilon), reference.real(mu)
    truth = erfc((e / m - m / 2) / sqrt(mpf(2))) / 2 - exp(e) * erfc((e / m + m / 2) / sqrt(mpf(2))) / 2
    lower, upper = Profile(((gaussian_pair(lambda: lift(mu * mu)), 1),)).delta_bounds(epsilon)
    assert lower <= truth <= upper <= truth * (1 + mpf(10) ** -12)


@pytest.mark.parametrize("epsilon", [0, 1, 2, 3, 4, 5, 6, 7])
def test_nodes_left_out_are_charged(monkeypatch: pytest.MonkeyPatch, epsilon: int) -> None:
    """A period so long that there are no aliases to hide behind: what is left out has either sign."""
    period = Line.period
    monkeypatch.setattr(Line, "period", property(lambda self: 20 * period.func(self)))
    rows = [("pure", THIRD, 1, 12), ("rr", HALF, 7, 9)]
    plan = 12 * PureDP(epsilon=THIRD) + 9 * RandomizedResponse(epsilon=HALF, k=7)
    lower, upper = by("lattice", parts_of(plan), Fraction(epsilon), tolerance=0.3)
    assert lower <= reference.lattice_delta(*reference.composed(rows), Fraction(epsilon)) <= upper


@pytest.mark.parametrize(
    ("count", "epsilon", "sensitivity"),
    [(20, 0.05, 1000), (100, 0.5, 300), (1, 1, 15_000), (20, 1, 5000), (5, 3, 10**6)],
)
def test_long_discrete_laplace_noise_is_known_to_1e_8(count: int, epsilon: float, sensitivity: int) -> None:
    """That it is right is tested where its atoms are listed: test_coarse.py."""
    plan = count * DiscreteLaplace(epsilon=epsilon, sensitivity=sensitivity)
    lower, upper = plan.epsilon_bounds(delta=1e-6)
    assert lower <= upper <= lower * (1 + 1e-8)
    # rounded to whole numbers, Laplace noise is no longer what was asked of it: it costs no less
    assert (count * Laplace(epsilon=epsilon)).epsilon_bounds(delta=1e-6)[0] <= upper


def test_a_line_far_from_epsilon_zero_is_not_taken_for_a_small_delta() -> None:
    lower, upper = (1000 * Laplace(epsilon="6.4")).epsilon_bounds(delta="1e-100")
    assert 6220.1 < lower <= upper <= lower * (1 + 1e-12)


def coarse(parts: Parts, epsilon: Fraction, tolerance: float, period: float = 1.0) -> Contour:
    transform = Transform(parts)
    line = Line(transform, line_for_epsilon(transform, epsilon), lift(epsilon), tolerance=tolerance)
    line.__dict__["period"] = line.period * period
    return Contour(line, Effort(1600 * MILLISECOND))


@pytest.mark.parametrize("tolerance", [0.5, 0.1, 1e-2])
@pytest.mark.parametrize("epsilon", [1, 4, 8])
def test_a_coarse_contour_encloses_by_its_aliases(epsilon: int, tolerance: float) -> None:
    """Its sum is that of delta at all epsilon + jP: the lower end is below only because they are taken off."""
    truth = reference.many_laplace_delta(Fraction(5, 2), 4, Fraction(epsilon))

    def asked() -> tuple[float, float, float]:
        found = coarse(parts_of(4 * Laplace(epsilon="2.5")), Fraction(epsilon), tolerance, 0.5)
        total, slack = found._sum(arb(epsilon))
        return *ends(found.delta(Fraction(epsilon))), below(total - slack)

    lower, upper, alone = at_precision(128, asked)
    assert lower <= truth <= upper
    assert alone > truth or tolerance < 0.1


@pytest.mark.parametrize("count", [2, 5])
def test_no_nodes_of_a_contour_decay_less_than_is_said(count: int) -> None:
    """Those from i + 1 to j, one by one: |E e^{zL}| of Laplace noise and of two atoms at +-1/3."""
    e, t = 2.5, 1 / 3
    plan = count * Laplace(epsilon="5/2") + count * PureDP(epsilon=THIRD)

    def asked() -> tuple[Contour, float, float]:
        found = coarse(parts_of(plan), Fraction(2), 0.2)
        return found, float(found.line.c), float(found.step)

    contour, c, step = at_precision(128, asked)

    def moment(z: np.ndarray) -> np.ndarray:
        between = (1 - np.exp(-(2 * z + 1) * e)) / (2 * (2 * z + 1))
        noise = np.exp(z * e) * (0.5 + between) + np.exp(-z * e) * np.exp(-e) / 2
        atoms = (np.exp(z * t) + np.exp(-t - z * t)) / (1 + np.exp(-t))
        return (noise * atoms) ** count

    k = np.arange(1, 4000)
    true = -np.log(abs(moment(c + 1j * step * k)) / abs(moment(np.array([c + 0j]))))
    for length in (1, 2, 7):
        i = np.arange(1, 300)
        found = at_precision(
            128, lambda i=i, length=length: contour._decay(i.astype(float), (i + length).astype(float))
        )
        least = np.array([true[n : n + length].min() for n in i])  # of the nodes n + 1, ..., n + length
        assert (found <= least + 1e-9).all()
        assert found.max() > 0.1
    kept = set(contour.kept)
    weights = np.exp(-true) / abs((c + 1j * step * k) * (c + 1 + 1j * step * k))
    missing = sum(weight for n, weight in zip(k.tolist(), weights, strict=True) if n not in kept)
    assert missing * step / np.pi <= float(contour.slack)


def test_nodes_beyond_the_last_cell_are_charged() -> None:
    """The atoms of two Laplace mechanisms never decay: however far one goes, the rest weighs something."""

    def asked() -> tuple[float, float, float, set[int]]:
        found = coarse(parts_of(2 * Laplace(epsilon="5/2")), Fraction(1), 0.3, 4.0)
        return float(found.line.c), float(found.step), float(found.slack), set(found.kept)

    c, step, slack, kept = at_precision(128, asked)
    k = np.array([n for n in range(1, 400_000) if n not in kept])
    z = c + 1j * step * k
    e = 2.5
    between = (1 - np.exp(-(2 * z + 1) * e)) / (2 * (2 * z + 1))
    size = abs(np.exp(z * e) * (0.5 + between) + np.exp(-z * e) * np.exp(-e) / 2) ** 2
    whole = (np.exp(c * e) * (0.5 + (1 - np.exp(-(2 * c + 1) * e)) / (2 * (2 * c + 1))) + np.exp(-(c + 1) * e) / 2) ** 2
    assert (size / whole / abs(z * (z + 1))).sum() * step / np.pi <= slack
