"""Engines made so coarse that their errors can be seen: what they leave out is charged, and they enclose the truth.

At full tolerance an error that is not charged is too small to show; here it is most of the answer.
"""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import pytest
from flint import acb, arb
from independent import profile_reference as reference
from mpmath import mp, mpf

from zcdp import Laplace, RandomizedResponse
from zcdp.numeric import theta
from zcdp.numeric.balls import above, at_precision, below, lift
from zcdp.numeric.theta import Theta
from zcdp.privacy.curve import Curve, Peak
from zcdp.privacy.loss import gaussian_pair, laplace_pair
from zcdp.privacy.loss.law import Parts
from zcdp.privacy.loss.transform import Transform
from zcdp.privacy.profile import float_contour
from zcdp.privacy.profile import profile as engines
from zcdp.privacy.profile.contour import Contour
from zcdp.privacy.profile.engine import MILLISECOND, Effort, Engine, Line, Offer, Question, line_for_epsilon
from zcdp.privacy.profile.float_contour import FloatContour
from zcdp.privacy.profile.profile import Profile

LOSS, COUNT = Fraction(5, 2), 16
LAPLACES: Parts = ((laplace_pair(LOSS), COUNT),)
TRUTH = {epsilon: reference.many_laplace_delta(LOSS, COUNT, Fraction(epsilon)) for epsilon in (0, 4, 12, 20, 30, 36)}


def by_contour(monkeypatch: pytest.MonkeyPatch, epsilon: int, tolerance: float, period: float) -> tuple[float, float]:
    """The contour, at this tolerance and this multiple of the period that it would take."""
    honest = Line.period
    monkeypatch.setattr(Line, "period", property(lambda self: period * honest.func(self)))

    def run() -> tuple[float, float]:
        transform = Transform(LAPLACES)
        line = Line(transform, line_for_epsilon(transform, Fraction(epsilon)), arb(epsilon), tolerance=tolerance)
        lower, upper = Contour(line, Effort(3200 * MILLISECOND)).delta(Fraction(epsilon))
        return below(lower), above(upper)

    return at_precision(128, run)


@pytest.mark.parametrize("epsilon", TRUTH)
@pytest.mark.parametrize("tolerance", [0.5, 1e-1, 1e-2, 1e-4])
def test_coarse_contours_enclose(monkeypatch: pytest.MonkeyPatch, epsilon: int, tolerance: float) -> None:
    lower, upper = by_contour(monkeypatch, epsilon, tolerance, 1)
    assert lower <= TRUTH[epsilon] <= upper
    assert upper - lower > tolerance / 1000 * TRUTH[epsilon]  # the error is there to be seen


def gaussian_delta(mu: int | Fraction, epsilon: int | Fraction) -> mpf:
    """Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), for an epsilon of either sign."""
    m, e = (mpf(Fraction(x).numerator) / Fraction(x).denominator for x in (mu, epsilon))
    return mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)


ONE_SIDED = [(Fraction(3), 3, 1, 0), (Fraction(3), 1, 2, 3), (Fraction(1, 2), Fraction(1, 2), 2, 1)]


@pytest.mark.parametrize(("mu", "c", "period", "epsilon"), ONE_SIDED)
@pytest.mark.parametrize("shift", [0, Fraction(1, 7)])
def test_each_side_of_the_aliases(
    monkeypatch: pytest.MonkeyPatch, mu: Fraction, c: Fraction, period: int, epsilon: int, shift: Fraction
) -> None:
    """Nearly all of them from above, or nearly all from below: neither side's bound covers the other's sum."""
    monkeypatch.setattr(Line, "period", float(period))
    point = epsilon + shift
    with mp.workdps(60):
        order = mpf(Fraction(c).numerator) / Fraction(c).denominator
        truth = gaussian_delta(mu, point)
        others = mp.fsum(
            mp.exp(order * j * period) * gaussian_delta(mu, point + j * period) for j in range(-60, 61) if j
        )
        needed = mpf(mp.nstr(others, 15))

    def run() -> tuple[float, float, float]:
        line = Line(Transform(((gaussian_pair(lambda: lift(mu * mu)), 1),)), lift(Fraction(c)), lift(point))
        lower, upper = Contour(line, Effort()).delta(point)
        return below(lower), above(upper), above(line.aliases(arb(period), lift(point)))

    lower, upper, bound = at_precision(128, run)
    assert lower <= truth <= upper
    assert needed <= bound
    assert upper - truth >= needed * mpf("0.999999")  # they are in the sum


@pytest.mark.parametrize("epsilon", TRUTH)
@pytest.mark.parametrize("tolerance", [0.9, 0.5, 0.1])
def test_tails_are_charged(monkeypatch: pytest.MonkeyPatch, epsilon: int, tolerance: float) -> None:
    """A period so long that there are no aliases: all that is missing are the nodes left out, of either sign."""
    lower, upper = by_contour(monkeypatch, epsilon, tolerance, 30)
    assert lower <= TRUTH[epsilon] <= upper


def test_each_bound_on_what_is_left_out_is_above_it() -> None:
    """The tail beyond the last node, against the nodes that follow."""

    def run() -> None:
        transform = Transform(LAPLACES)
        for tolerance in (0.9, 0.1, 1e-3):
            line = Line(transform, arb(1) / 3, arb(12), tolerance=tolerance)
            contour = Contour(line, Effort(3200 * MILLISECOND))
            kept = set(contour.kept)
            beyond = arb(0)
            for k in range(1, 20 * contour.kept[-1]):
                if k not in kept:
                    z = acb(line.c, contour.step * k)
                    beyond += abs(transform.moment(z) / line.weight / (z * (z + 1)))
            assert beyond * contour.step / arb.pi() < contour.slack

    at_precision(128, run)


def test_nodes_left_out_before_the_last_are_charged() -> None:
    """In a contour that stops early and charges no tail: nothing else is missing."""

    def run() -> None:
        transform = Transform(((laplace_pair(Fraction(1, 2)), 200),))
        for tolerance in (0.1, 1e-3):
            line = Line(transform, line_for_epsilon(transform, Fraction(0)), arb(0), tolerance=tolerance)
            contour = Contour(line, Effort(3200 * MILLISECOND), rough=True)
            kept, last = set(contour.kept), int(line.decay.least_near_end / below(contour.step))
            left = [acb(line.c, contour.step * k) for k in range(1, last + 1) if k not in kept]
            assert left
            missing = sum((abs(transform.moment(z) / line.weight / (z * (z + 1))) for z in left), arb(0))
            assert missing * contour.step / arb.pi() < contour.slack

    at_precision(128, run)


class Known(Engine):
    """A method that knows delta(epsilon) = e^{-epsilon/20} to one part in ten: it falls far slower than is expected."""

    name, only_rounding = "known", False

    @classmethod
    def offer(cls, question: Question) -> Offer:
        return Offer(1.0, cls)

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        truth = (-lift(epsilon) / 20).exp()
        return truth * 9 / 10, truth * 11 / 10

    def estimate(self, epsilon: float) -> float:
        return -epsilon / 20


@pytest.mark.parametrize("delta", [Fraction(1, 10), Fraction(1, 10**3), Fraction(1, 10**9)])
def test_each_end_of_epsilon_is_sure(monkeypatch: pytest.MonkeyPatch, delta: Fraction) -> None:
    """The upper one from the upper end of delta, the lower one from the lower end."""
    profile = Profile(((gaussian_pair(lambda: arb(1)), 1),))
    monkeypatch.setattr(engines, "ENGINES", [(Known,)])
    lower, upper = profile.epsilon_bounds(delta)
    with mp.workdps(40):
        target = mp.log(mpf(delta.numerator) / delta.denominator)
        assert lower <= 20 * (mp.log("0.9") - target)
        assert upper >= 20 * (mp.log("1.1") - target)
        assert upper - lower < 0.3 * upper


@pytest.mark.parametrize("bits", [1, 3, 8])
@pytest.mark.parametrize("variance", [Fraction(1, 7), Fraction(1, 5), Fraction(1, 4), Fraction(1, 2), Fraction(1, 50)])
@pytest.mark.parametrize("t", ["0", "0.5", "0.3"])
def test_waves_of_theta_that_are_left_out_are_charged(
    monkeypatch: pytest.MonkeyPatch, bits: int, variance: Fraction, t: str
) -> None:
    """As few terms as a precision of so many bits needs, added at a higher one."""
    monkeypatch.setattr(theta, "ctx", SimpleNamespace(prec=bits))
    with mp.workdps(160):
        v = mpf(variance.numerator) / variance.denominator
        truth = mp.fsum(mp.exp(-((x - mpf(t)) ** 2) / (2 * v)) for x in range(-40, 41)) / mp.sqrt(2 * mp.pi * v)
        digits = mp.nstr(truth, 150)

    def encloses() -> bool:
        exact = arb(digits) + arb(0, arb(10) ** -140)
        return all(Theta(variance)(point).real.overlaps(exact) for point in (arb(t), acb(arb(t))))

    assert at_precision(600, encloses)


class Witnessed(Curve):
    """A bound of 2 with a concrete pair of about 1, known to seven digits."""

    is_tight = False
    largest_loss = Fraction(4)

    def cumulant(self, s: arb) -> arb:  # type: ignore[override]
        return 2 * s * (1 + s)

    def peak(self) -> Peak:
        return Peak(arb(2), arb(1))

    def witness(self) -> arb:
        return arb(1, 1e-7)


def test_a_witness_counts_at_its_lower_end() -> None:
    assert Witnessed().rdp(10**9) == 4  # and its curve counts up to the largest loss
    lower, upper = Witnessed().rho_bounds
    assert (1 - 1.1e-7, 2.0) < (lower, upper) <= (1 - 1e-7, 2.0)


@pytest.mark.parametrize("epsilons", [(0.1, 0.3), (0.7, 0.05, 0.3)])
def test_losses_are_moved_up_for_the_upper_end_and_down_for_the_lower(epsilons: tuple[float, ...]) -> None:
    plan = sum((3 * RandomizedResponse(epsilon=e, k=4) + 2 * Laplace(epsilon=e) for e in epsilons), 0)
    found = plan._approximate
    assert found.profile is not None
    [attained] = found.attained
    for (up, _), (down, _), (part, _) in zip(found.profile.parts, attained.parts, plan.parts, strict=True):
        assert down.loss <= part.largest_loss <= up.loss  # type: ignore[attr-defined]
    assert found.profile.parts != attained.parts


def test_a_rounding_of_doubles_is_charged_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """With doubles that are much worse than they are, the sum still encloses that of balls."""
    parts = ((laplace_pair(Fraction(0.317)), 1), (laplace_pair(Fraction(0.0911)), 3))
    point = Fraction(1, 4)

    def run() -> tuple[float, float]:
        lower, upper = FloatContour(parts, 3.5, Fraction(1, 2), 1e6).delta(point)
        return below(lower), above(upper)

    lower, upper = at_precision(128, run)
    monkeypatch.setattr(float_contour, "ULP", 2.0**-30)
    wide = at_precision(128, run)
    assert wide[0] < lower <= upper < wide[1]
