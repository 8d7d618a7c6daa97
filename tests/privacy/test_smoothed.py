"""The smoothed contour encloses however much it smooths, and its ends are close where nothing else answers."""

from __future__ import annotations

import random
from fractions import Fraction
from types import SimpleNamespace

import pytest
from flint import arb
from independent import profile_reference as reference
from mpmath import mp, mpf
from privacy.by_engine import by, ends, parts_of

from zcdp import Laplace, Plan, PureDP
from zcdp.numeric.balls import above, at_precision, lift
from zcdp.privacy.loss import three_point_pair
from zcdp.privacy.loss.transform import Transform
from zcdp.privacy.profile.engine import Effort, line_for_epsilon
from zcdp.privacy.profile.smoothed import Smoothed


@pytest.mark.parametrize("epsilon", [4, 12, 20])
def test_what_is_smoothed_by_much_still_encloses(monkeypatch: pytest.MonkeyPatch, epsilon: int) -> None:
    """So few nodes that the Gaussian pair shows: its own delta is above the truth, and no lower end of it."""
    monkeypatch.setattr("zcdp.privacy.profile.smoothed._in_doubles", lambda *_: None)
    e, count = Fraction(5, 2), 16
    parts = parts_of(Plan.repeated(Laplace(epsilon=e), count))

    def run() -> tuple[float, float]:
        c = line_for_epsilon(Transform(parts), Fraction(epsilon))
        return ends(Smoothed(parts, c, Fraction(epsilon), Effort(2_400_000), 0).delta(Fraction(epsilon)))

    lower, upper = at_precision(128, run)
    truth = reference.many_laplace_delta(e, count, Fraction(epsilon))
    assert lower <= truth <= upper
    assert upper > truth * (1 + 1e-6)  # the smoothing is there to be seen


def test_incommensurable_losses_have_two_close_ends() -> None:
    """60 and 30 binary randomized responses at unrelated epsilons: all 61 x 31 losses."""
    from mpmath import binomial, exp, expm1

    e1, e2, epsilon = Fraction("0.10712345"), Fraction("0.0857123170000003"), Fraction("2.6180339")
    truth = mpf(0)
    for a in range(61):
        for b in range(31):
            loss = (60 - 2 * a) * e1 + (30 - 2 * b) * e2
            if loss > epsilon:
                x, y = reference.real(e1), reference.real(e2)
                mass = binomial(60, a) * binomial(30, b) * exp(-a * x - b * y)
                truth += mass / (1 + exp(-x)) ** 60 / (1 + exp(-y)) ** 30 * -expm1(reference.real(epsilon - loss))
    lower, upper = by("smoothed", ((three_point_pair(e1), 60), (three_point_pair(e2), 30)), epsilon)
    assert truth * (1 - mpf("1e-4")) < lower <= truth <= upper < truth * (1 + mpf("1e-4"))


@pytest.mark.parametrize("epsilon", [0, 12])
def test_few_points_for_the_lower_end(monkeypatch: pytest.MonkeyPatch, epsilon: int) -> None:
    """With two neighbours only, what lies beyond them must be charged."""
    monkeypatch.setattr("zcdp.privacy.profile.smoothed.POINTS_LEFT", 1)
    monkeypatch.setattr("zcdp.privacy.profile.smoothed.POINTS_RIGHT", 1)
    lower, upper = by("smoothed", parts_of(16 * Laplace(epsilon=Fraction(5, 2))), Fraction(epsilon))
    assert lower <= reference.many_laplace_delta(Fraction(5, 2), 16, Fraction(epsilon)) <= upper


@pytest.mark.parametrize("power", [9, 12])
@pytest.mark.parametrize("more", [False, True])
def test_tiny_losses_on_no_lattice_are_not_lost(power: int, *, more: bool) -> None:
    """delta over the scale does not depend on it: 0.63964... for these losses."""
    rng = random.Random(1)
    losses = [Fraction(rng.uniform(0.05, 1)) for _ in range(30)]
    scale = Fraction(43, 10**power)
    far = Fraction(10**9 if more else 0)  # one mechanism that is always told: it only shifts epsilon
    plan = Plan.sum_of(*(Laplace(epsilon=loss * scale) for loss in losses), *([PureDP(epsilon=far)] if more else []))
    lower, upper = plan.delta_bounds(epsilon=sum(losses) * scale / 10 + far)
    assert Fraction(lower) / scale < Fraction("0.63965")
    assert Fraction("0.63964") < Fraction(upper) / scale < Fraction("1.3")


def weights_and_beyond(mu: Fraction, c: Fraction) -> tuple[dict[int, arb], arb]:
    engine = object.__new__(Smoothed)
    engine.mu = mu
    engine.contour = SimpleNamespace(line=SimpleNamespace(c=lift(c)))  # type: ignore[assignment]
    return engine._weights


@pytest.mark.parametrize(("left", "right"), [(5, 2), (1, 1), (2, 1)])
@pytest.mark.parametrize(("mu", "c"), [("0.02", "3"), ("0.3", "0.5"), ("0.4", "6")])
def test_chords_are_above_the_mean_of_every_profile(
    monkeypatch: pytest.MonkeyPatch, left: int, right: int, mu: str, c: str
) -> None:
    """A profile is a mean of (1 - x/t)_+: of each of these, by the lognormal's own distribution function.

    With x = 1, u = e^N lognormal of mean 1: E (1 - u/t)_+ = P(u < t) - E[u; u < t]/t. Its transform at c is t^c, and
    with the Gaussian pair t^c e^{mu^2 c(1+c)/2}.
    """
    monkeypatch.setattr("zcdp.privacy.profile.smoothed.POINTS_LEFT", left)
    monkeypatch.setattr("zcdp.privacy.profile.smoothed.POINTS_RIGHT", right)
    weights, beyond = at_precision(128, lambda: weights_and_beyond(Fraction(mu), Fraction(c)))
    m, order = mpf(mu), mpf(c)
    with mp.workdps(25):
        assert min(float(weight) for weight in weights.values()) > -1e-20
        for n in range(-40, 41, 2):
            t = mp.exp(n * m / 5)  # eight deviations to either side
            place = mp.log(t) / m
            mean = mp.ncdf(place + m / 2) - mp.ncdf(place - m / 2) / t
            points = ((mp.exp(k * mpf(7) / 4 * m), weight) for k, weight in weights.items())
            chords = mp.fsum(mpf(float(weight)) * max(1 - x / t, mpf(0)) for x, weight in points)
            outside = mpf(float(beyond)) * t**order * mp.exp(m * m * order * (1 + order) / 2)
            assert mean <= (chords + outside) * (1 + mpf(10) ** -13)
            if left == 5 and 0 <= n <= 10:
                assert chords + outside <= 3 * mean  # and not far above it


class Vague:
    """Gaussian noise at mu = 1, smoothed by a weaker one: known at one epsilon, and to a tenth elsewhere."""

    def __init__(self, mu: Fraction, sharp: Fraction) -> None:
        self.mu, self.sharp, self.line = mu, sharp, self
        self.c = arb(2)

    def size(self, epsilon: arb) -> arb:
        return (self.c * (1 + self.c) * (1 + lift(self.mu) ** 2) / 2 - self.c * epsilon).exp()

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        value = arb(float(noise_delta(mp.sqrt(1 + reference.real(self.mu) ** 2), epsilon)))
        return (value, value) if epsilon == self.sharp else (value * arb("0.9"), value * arb("1.1"))


def noise_delta(mu: mpf, epsilon: Fraction) -> mpf:
    e = reference.real(epsilon)
    return mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu)


@pytest.mark.parametrize("mu", [Fraction(1, 20), Fraction(1, 3)])
@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 2), Fraction(2)])
def test_neighbours_of_the_lower_end_count_at_their_upper_ends(mu: Fraction, epsilon: Fraction) -> None:
    engine = object.__new__(Smoothed)
    engine.mu, engine.contour = mu, Vague(mu, epsilon)  # type: ignore[assignment]
    lower, upper = at_precision(128, lambda: ends(engine.delta(epsilon)))
    truth = noise_delta(mpf(1), epsilon)
    assert lower <= truth <= upper
    assert at_precision(128, lambda: above(engine.upper(epsilon))) == upper
    assert upper == pytest.approx(float(noise_delta(mp.sqrt(1 + reference.real(mu) ** 2), epsilon)), rel=1e-9)
