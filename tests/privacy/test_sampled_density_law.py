"""Noise with a density on a sample against integrals of its definition: in each order, and facing either way."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb

from zcdp.numeric.balls import above, at_precision, below
from zcdp.privacy.loss import LossLaw, gaussian_pair, laplace_pair, logistic_pair
from zcdp.privacy.loss import sampled_density_law as sampled_density
from zcdp.privacy.loss import sampled_quadrature as panels
from zcdp.privacy.loss.sampled_density_law import Facing, SampledDensityLaw
from zcdp.privacy.loss.transform import Points

RATE = 0.3


def noises() -> dict[str, tuple[LossLaw, np.ndarray, np.ndarray]]:
    """Each with places l = log P/Q and Q-masses there, many and narrow."""
    found: dict[str, tuple[LossLaw, np.ndarray, np.ndarray]] = {}
    places, weights = np.polynomial.legendre.leggauss(200)
    x = (places + 1) / 2  # Laplace noise between 0 and the shift 1: l = 1 - 2x, of Q-density e^{-(1-x)}/2
    ends = np.array([1.0, -1.0]), np.array([np.exp(-1) / 2, 0.5])
    found["Laplace"] = (
        laplace_pair(Fraction(1)),
        np.concatenate([1 - 2 * x, ends[0]]),
        np.concatenate([weights / 4 * np.exp(x - 1), ends[1]]),
    )
    ratio = (1 + x * np.expm1(2)) ** 2 * np.exp(-2)  # logistic noise shifted by 2, at quantile x: P/Q
    found["logistic"] = logistic_pair(Fraction(2)), np.log(ratio), weights / 2 / ratio
    return found


NOISES = noises()


def law_of(name: str, facing: Facing) -> SampledDensityLaw:
    law = NOISES[name][0] if name in NOISES else gaussian_pair(lambda: arb(1))
    if facing is Facing.EITHER:
        found = law.replaced(Fraction(RATE))
        assert isinstance(found, SampledDensityLaw)
        return found
    one = law.sampled(Fraction(RATE))
    assert isinstance(one, SampledDensityLaw)
    back = one.reverse()
    assert isinstance(back, SampledDensityLaw)
    return one if facing is Facing.WITH else back


def explicit(name: str, facing: Facing) -> tuple[np.ndarray, np.ndarray]:
    """Losses and P-masses: of (A, Q), A = (1-q) Q + q P, or of (Q, A)."""
    _, place, mass = NOISES[name]
    w = 1 - RATE + RATE * np.exp(place)
    if facing is Facing.WITH:
        return np.log(w), mass * w
    return -np.log(w), mass


CASES = [(name, facing) for name in ("Laplace", "logistic") for facing in (Facing.WITH, Facing.WITHOUT)]


@pytest.mark.parametrize(("name", "facing"), CASES)
def test_the_transform_is_that_of_the_mixture(name: str, facing: Facing) -> None:
    law = law_of(name, facing)
    losses, masses = explicit(name, facing)

    def truth(z: complex) -> complex:
        return complex((np.exp(z * losses) * masses).sum())

    def asked() -> None:
        factor = law.ready()
        for z in (0.0, 1.0, 3.5):
            assert complex(acb(factor.moment(arb(z)))) == pytest.approx(truth(z), rel=1e-9)
            assert float(factor.real_moment(arb(z))) == pytest.approx(truth(z).real, rel=1e-9)
        for z in (1 + 2j, 1 - 2j, 0.5 + 30j, 4 - 11j):
            found = factor.moment(acb(z.real, z.imag))
            assert complex(found) == pytest.approx(truth(z), rel=1e-9, abs=1e-9)
        step = arb(0.7)
        kept = [0, 1, 2, 5, 40]
        points = [acb(1.5, 0.7 * k) for k in kept]
        w = [z + arb(1) / 2 for z in points]
        values = factor.moments(Points(arb(1.5), step, kept, points, w, [1 / one for one in w]))
        for k, value in zip(kept, values, strict=True):
            assert complex(value) == pytest.approx(truth(1.5 + 0.7j * k), rel=1e-9, abs=1e-9)
        tilted = factor.tilted(arb(1)).exponentials
        assert tilted is not None
        for y in (0.0, 3.0, 100.0):
            whole = sum((g * (x * acb(0, y)).exp() for g, x in zip(tilted.weights, tilted.rates, strict=True)), acb(0))
            assert abs(complex(whole) - truth(1 + 1j * y) / truth(1)) <= above(tilted.error) + 1e-9
        assert below(law.largest()) <= losses.max() * (1 + 1e-3) + 1e-3
        assert losses.max() <= above(law.largest()) + 1e-12

    at_precision(100, asked)


@pytest.mark.parametrize("name", [*NOISES, "normal"])
def test_the_envelope_is_the_worse_order_with_what_is_left_at_zero(name: str) -> None:
    law = law_of(name, Facing.EITHER)
    if name == "Laplace":
        x = np.polynomial.legendre.leggauss(60)
        part = 0.25 * (x[0] + 1)  # only 0 < x < 1/2 has a positive loss
        place = np.concatenate([1 - 2 * part, [1.0]])
        mass = np.concatenate([0.25 * x[1] * np.exp(part - 1) / 2, [np.exp(-1) / 2]])
    elif name == "logistic":
        x = np.polynomial.legendre.leggauss(60)
        start = (np.exp(1) - 1) / np.expm1(2)
        t = start + (1 - start) / 2 * (x[0] + 1)
        ratio = (1 + t * np.expm1(2)) ** 2 * np.exp(-2)
        place, mass = np.log(ratio), (1 - start) / 2 * x[1] / ratio
    else:
        x = np.polynomial.legendre.leggauss(120)
        place = 4.5 * (x[0] + 1)
        mass = 4.5 * x[1] * np.exp(-((place + 0.5) ** 2) / 2) / np.sqrt(2 * np.pi)
    w = 1 - RATE + RATE * np.exp(place)
    high, p, q = np.log(w), mass * w, mass
    losses, masses = np.concatenate([high, -high, [0.0]]), np.concatenate([p, q, [1 - p.sum() - q.sum()]])

    def asked() -> None:
        factor = law.ready()
        for z in (0j, 1 + 0j, 2.5 + 0j, 1 + 3j, 1 - 3j, 0.4 + 17j):
            truth = (np.exp(z * losses) * masses).sum()
            assert complex(factor.moment(acb(z.real, z.imag))) == pytest.approx(truth, rel=1e-8, abs=1e-8)
            mirrored = factor.moment(acb(-1 - arb(z.real), -z.imag))
            assert complex(mirrored) == pytest.approx(truth, rel=1e-8, abs=1e-8)
        formula = law.alone()
        for epsilon in (0.0, 0.1, 0.25, 0.4):
            truth = (np.maximum(p - np.exp(epsilon) * q, 0)).sum()
            assert float(formula(arb(epsilon))) == pytest.approx(truth, abs=3e-3)

    at_precision(100, asked)


@pytest.mark.parametrize(("name", "facing"), CASES)
def test_one_use_is_a_mean_over_the_outcomes(name: str, facing: Facing) -> None:
    """E (1 - e^{epsilon - L})_+ from a law of many outcomes; beyond the largest loss it is nothing."""
    law = law_of(name, facing)
    size = 1.0 if name == "Laplace" else 2.0

    def reference(epsilon: float) -> float:
        """By the profile of the noise itself: of (A, Q), q d(log(1 + (x-1)/q)); of (Q, A) by exchanging the orders."""
        grow = np.exp(epsilon)
        if facing is Facing.WITH:
            front, place = RATE, np.log1p((grow - 1) / RATE)
        else:
            front = 1 - (1 - RATE) * grow
            place = np.log(RATE * grow / front) if front > 0 else np.inf
        if place >= size:
            return 0.0
        if name == "Laplace":
            return float(front * (1 - np.exp((place - 1) / 2)))
        t = (np.exp((place + 2) / 2) - 1) / np.expm1(2)
        inverse = (1 / (1 + t * np.expm1(2)) - np.exp(-2)) * np.exp(2) / np.expm1(2)
        return float(front * (1 - t - np.exp(place) * inverse))

    def asked() -> None:
        formula = law.alone()
        top = float(law.largest())
        for part in (0.0, 0.2, 0.6, 0.95, 0.9999):
            found = formula(arb(part * top))
            assert float(found) == pytest.approx(reference(part * top), abs=1e-10)
        assert abs(float(formula(law.largest().mid() * (1 - arb(2) ** -30)))) < 1e-6
        if facing is Facing.WITH:
            assert abs(float(formula(law.largest() * arb(1.3)))) < 1e-12

    at_precision(100, asked)


@pytest.mark.parametrize(("name", "facing"), [*CASES, ("Laplace", Facing.EITHER), ("logistic", Facing.EITHER)])
@pytest.mark.parametrize("fall", [0.5, 3.0])
def test_the_error_of_a_quadrature_of_few_points_is_charged(
    name: str, facing: Facing, fall: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M(c), M(c + iy) and the sum for doubles hold the fine values, and are off by something."""
    law, heights = law_of(name, facing), (0.0, 0.4, 2.0)
    c = arb(1.5)

    def fine() -> list[complex]:
        factor = law.ready()
        return [complex(factor.moment(acb(c, y))) for y in heights]

    truth = at_precision(100, fine)
    monkeypatch.setattr(panels, "POINT_COUNTS", (1, 2, 3, 4, 64))
    monkeypatch.setattr(sampled_density, "TILTED_FALL", fall)
    monkeypatch.setattr(sampled_density, "HIGHEST_TILTED", 1.0)
    monkeypatch.setattr(sampled_density, "_working", lambda: fall)

    def coarse() -> tuple[arb, list[acb], list[complex], float]:
        factor = law.ready()
        found = factor.tilted(c).exponentials
        assert found is not None
        terms = list(zip(found.weights, found.rates, strict=True))
        sums = [complex(sum((g * (x * acb(0, y)).exp() for g, x in terms), acb(0))) for y in heights]
        return factor.real(c, fall), [factor.moment(acb(c, y)) for y in heights], sums, above(found.error)

    real, values, sums, error = at_precision(100, coarse)
    assert below(real) - 1e-12 <= truth[0].real <= above(real) + 1e-12
    for value, exact in zip(values, truth, strict=True):
        assert below(value.real) - 1e-12 <= exact.real <= above(value.real) + 1e-12
        assert below(value.imag) - 1e-12 <= exact.imag <= above(value.imag) + 1e-12
    if facing is not Facing.EITHER:
        for found, exact in zip(sums, truth, strict=True):
            assert abs(found - exact / truth[0]) <= error + 1e-12
    assert abs(complex(values[0].mid()) - truth[0]) > 1e-9


@pytest.mark.parametrize("fall", [0.5, 2.0, 4.0, 8.0])
@pytest.mark.parametrize("name", [*NOISES, "normal"])
def test_what_is_left_at_zero_is_known_to_the_error_of_its_quadrature(
    name: str, fall: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1 - A(L > 0) - Q(L > 0), by the probabilities that P and Q give to l > 0."""
    p, q = {
        "Laplace": (1 - np.exp(-0.5) / 2, np.exp(-0.5) / 2),  # noise below half of the shift 1
        "logistic": (1 - 1 / (1 + np.exp(1)), 1 / (1 + np.exp(1))),  # a shift by 2
        "normal": (0.6914624612740131, 0.3085375387259869),  # Phi(1/2)
    }[name]
    truth = 1 - ((1 - RATE) * q + RATE * p) - q
    monkeypatch.setattr(panels, "POINT_COUNTS", (1, 2, 3, 4, 64))
    monkeypatch.setattr(sampled_density, "_working", lambda: fall)
    middle = at_precision(100, lambda: law_of(name, Facing.EITHER).ready()._middle)
    assert below(middle) - 1e-12 <= truth <= above(middle) + 1e-12
    assert abs(float(middle.mid()) - truth) > 1e-12 or fall > 4
