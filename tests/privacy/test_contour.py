"""The plain contour: against sums and closed forms, and with nodes left out."""

from __future__ import annotations

from fractions import Fraction

import pytest
from independent import profile_reference as reference
from mpmath import mpf
from privacy.by_engine import HALF, THIRD, by, parts_of

from zcdp import DiscreteLaplace, Laplace, PureDP, RandomizedResponse
from zcdp.numeric.balls import lift
from zcdp.privacy.loss import gaussian_pair
from zcdp.privacy.profile.profile import Profile
from zcdp.privacy.profile.question import Line


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
