"""Each method for the profile, forced onto compositions whose truth is known: its two ends enclose it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import profile_reference as reference
import pytest
from flint import arb
from mpmath import mpf

from zcdp import RAPPOR, DiscreteLaplace, Laplace, Log, Plan, PureDP, RandomizedResponse
from zcdp.numeric.balls import above, at_precision, below, lift
from zcdp.privacy.finite_cut import Cut, cut_degree, whole_degree
from zcdp.privacy.lattice import common_lattice
from zcdp.privacy.line import Line
from zcdp.privacy.nodes import Effort
from zcdp.privacy.pair import gaussian_pair, laplace_pair, three_point_pair
from zcdp.privacy.profile import Profile
from zcdp.privacy.profile_contour import Contour
from zcdp.privacy.profile_lattice import LatticeContour
from zcdp.privacy.profile_terms import FiniteSum
from zcdp.privacy.saddle import line_for_epsilon, saddle_estimate
from zcdp.privacy.smoothed import Smoothed
from zcdp.privacy.transform import Parts, Tilt, Transform

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


def parts_of(plan: Plan) -> Parts:
    return tuple((part.pair(), count) for part, count in plan.parts)


def ends(bounds: tuple[arb, arb]) -> tuple[float, float]:
    return below(bounds[0]), above(bounds[1])


def by(method: str, parts: Parts, epsilon: Fraction, *, tolerance: float = 1e-17) -> tuple[float, float]:
    def run() -> tuple[float, float]:
        transform = Transform(parts)
        c = line_for_epsilon(transform, epsilon)
        point = lift(epsilon)
        if method == "whole sum":
            return ends(FiniteSum(parts, Cut(Fraction(0), whole_degree(parts), c, arb("-inf"))).delta(epsilon))
        if method == "cut sum":
            cut = cut_degree(transform, c, point, saddle_estimate(transform, c, point), epsilon)
            return ends(FiniteSum(parts, cut).delta(epsilon))
        if method == "smoothed":
            return ends(Smoothed(parts, c, epsilon, Effort()).delta(epsilon))
        line = Line(transform, c, point, tolerance=tolerance)
        if method == "contour":
            return ends(Contour(line, Effort(200_000)).delta(epsilon))
        lattice = common_lattice(parts)
        assert lattice is not None
        return ends(LatticeContour(line, lattice, Effort(200_000)).delta(epsilon))

    return at_precision(256, run)


@pytest.mark.parametrize("method", ["whole sum", "cut sum", "smoothed"])
@pytest.mark.parametrize("epsilon", [12, 30])
def test_several_laplace(method: str, epsilon: int) -> None:
    e, count = Fraction(5, 2), 16
    lower, upper = by(method, parts_of(count * Laplace(epsilon=e)), Fraction(epsilon))
    truth = reference.many_laplace_delta(e, count, Fraction(epsilon))
    assert lower <= truth <= upper
    if method != "smoothed":
        assert upper <= truth * (1 + mpf(10) ** -9)


def test_many_laplace_by_the_contour() -> None:
    """80 x Laplace(2) at 70, by `reference.many_laplace_delta`, which takes a minute."""
    truth = Fraction("0.95388669190359325434244681264")
    lower, upper = by("contour", parts_of(80 * Laplace(epsilon=2)), Fraction(70))
    assert truth * (1 - Fraction(1, 10**14)) < lower <= truth <= upper < truth * (1 + Fraction(1, 10**14))


@pytest.mark.parametrize("method", ["lattice", "whole sum", "cut sum", "smoothed"])
@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1), Fraction(5), Fraction(11, 3)])
def test_a_lattice(method: str, epsilon: Fraction) -> None:
    rows = [("pure", THIRD, 1, 12), ("rr", HALF, 7, 9), ("rappor", HALF, 1, 4), ("geometric", THIRD, 4, 6)]
    plan = (
        12 * PureDP(epsilon=THIRD)
        + 9 * RandomizedResponse(epsilon=HALF, k=7)
        + 4 * RAPPOR(epsilon=HALF)
        + 6 * DiscreteLaplace(epsilon=THIRD, sensitivity=4)
    )
    lower, upper = by(method, parts_of(plan), epsilon)
    truth = reference.lattice_delta(*reference.composed(rows), epsilon)
    assert lower <= truth <= upper
    if method != "smoothed":
        assert upper <= truth * (1 + mpf(10) ** -9)


def test_a_cut_sum_is_the_whole_sum() -> None:
    """1000 x Laplace(0.0075): 9.8598081370868113794e-7 by the whole sum at 700 bits."""
    lower, upper = by("cut sum", ((laplace_pair(Fraction(0.0075)), 1000),), Fraction(1))
    assert lower <= Fraction("9.8598081370868113794e-7") * (1 + Fraction(1, 10**18))
    assert upper >= Fraction("9.8598081370868113794e-7") * (1 - Fraction(1, 10**18))
    assert upper < lower * (1 + 1e-13)


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


def test_logarithms_have_a_lattice_of_their_own() -> None:
    epsilon = Log(Fraction(3))
    plan = 30 * RandomizedResponse(epsilon=epsilon, k=4) + 20 * PureDP(epsilon=epsilon)
    lower, upper = plan.delta_bounds(epsilon=9)
    # losses are multiples of log 3; a rational close to it, from both sides
    near = [Fraction("1.09861228866810"), Fraction("1.09861228866811")]
    truths = [
        reference.lattice_delta(*reference.composed([("rr", e, 4, 30), ("pure", e, 1, 20)]), Fraction(9)) for e in near
    ]
    assert truths[0] * (1 - mpf(10) ** -9) < lower <= upper < truths[1] * (1 + mpf(10) ** -9)


@pytest.mark.parametrize(
    "pair", [laplace_pair(HALF), three_point_pair(HALF, 5), three_point_pair(HALF), laplace_pair(Fraction(4))]
)
def test_decay_is_a_lower_bound(pair: object) -> None:
    from math import inf, log

    def run() -> None:
        transform = Transform(((pair, 3),))  # type: ignore[arg-type]
        for c in (arb("0.1"), arb(2), arb(30)):
            tilt = Tilt(transform, c)
            size = transform.log_moment(c)
            for low in (0.01, 0.5, 2.0, 3.1, 6.2, 12.5, 50.0, 1000.0):
                for width in (0.0, 0.3, 2.0, inf):
                    bound = tilt.decay.bound(np.array([low]), np.array([low + width]))[0]
                    for step in range(40):
                        y = low + (width if width < inf else 3 * low) * step / 40
                        true = float(size) - log(float(abs(transform.moment(c + arb(y) * _i()))))
                        assert bound <= true + 1e-12

    at_precision(128, run)


def _i() -> object:
    from flint import acb

    return acb(0, 1)


@pytest.mark.parametrize("tolerance", [1e-1, 1e-2, 1e-4])
@pytest.mark.parametrize("epsilon", [0, 1, 3, 6, 8])
def test_coarse_contours_still_enclose(monkeypatch: pytest.MonkeyPatch, tolerance: float, epsilon: int) -> None:
    """With an error that can be seen, the bounds on aliases and on nodes left out must carry it."""
    monkeypatch.setattr("zcdp.privacy.smoothed.TOLERANCE", tolerance)
    rows = [("pure", THIRD, 1, 12), ("rr", HALF, 7, 9)]
    plan = 12 * PureDP(epsilon=THIRD) + 9 * RandomizedResponse(epsilon=HALF, k=7)
    truth = reference.lattice_delta(*reference.composed(rows), Fraction(epsilon))
    lower, upper = by("lattice", parts_of(plan), Fraction(epsilon), tolerance=tolerance)
    assert lower <= truth <= upper
    assert upper > truth * (1 + mpf(10) ** -12)
    lower, upper = by("smoothed", parts_of(plan), Fraction(epsilon))
    assert lower <= truth <= upper


@pytest.mark.parametrize("epsilon", [0, 1, 2, 3, 4, 5, 6, 7])
def test_nodes_left_out_are_charged(monkeypatch: pytest.MonkeyPatch, epsilon: int) -> None:
    """A period so long that there are no aliases to hide behind: what is left out has either sign."""
    period = Line.period
    monkeypatch.setattr(Line, "period", property(lambda self: 20 * period.func(self)))
    rows = [("pure", THIRD, 1, 12), ("rr", HALF, 7, 9)]
    plan = 12 * PureDP(epsilon=THIRD) + 9 * RandomizedResponse(epsilon=HALF, k=7)
    lower, upper = by("lattice", parts_of(plan), Fraction(epsilon), tolerance=0.3)
    assert lower <= reference.lattice_delta(*reference.composed(rows), Fraction(epsilon)) <= upper


@pytest.mark.parametrize("window", [True, False])
@pytest.mark.parametrize("negligible", [0.0, 3.0, 10.0])
@pytest.mark.parametrize("epsilon", [3, 12, 30])
def test_coarse_cuts_still_enclose(
    monkeypatch: pytest.MonkeyPatch, negligible: float, epsilon: int, *, window: bool
) -> None:
    monkeypatch.setattr("zcdp.privacy.finite_cut.NEGLIGIBLE", negligible)
    if not window:
        monkeypatch.setattr("zcdp.privacy.finite_cut._ceiling", lambda *_: (float("inf"), arb("-inf")))
    e, count = Fraction(5, 2), 16
    lower, upper = by("cut sum", parts_of(count * Laplace(epsilon=e)), Fraction(epsilon))
    assert lower <= reference.many_laplace_delta(e, count, Fraction(epsilon)) <= upper
