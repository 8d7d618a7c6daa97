"""Checks of mechanisms on a Poisson sample: transform, decay and profile against rigorous integrals and densities."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import combinations, pairwise, product
from math import exp, pi, sqrt

from flint import acb, arb

from zcdp.mechanisms import (
    L2,
    Allocation,
    Gaussian,
    MixtureOfGaussians,
    PureDP,
    ReplacedSample,
    Subsampled,
    TruncatedSample,
)
from zcdp.numeric.balls import above, at_precision, below, lift
from zcdp.privacy.loss.sampled_gaussian_law import SampledDecay, SampledNormal
from zcdp.training import FixedSize, Poisson, Training
from zcdp.training.participation import Map
from zcdp.verification.checks import Check

__all__ = ["checks"]

PRECISION_BITS = 128
ACCURATE_EFOLDS = 60.0
"""Relative accuracy asked of the transform, as -log(error/F)."""
SETTINGS = (("0.01", "1"), ("0.3", "2"), ("0.0001", "0.5"))
DEEP = (("0.9", "0.3"), ("0.5", "20"), ("1/60000", "5"), ("0.999", "1"))
"""Pairs (rate, sigma); DEEP are those of a deep run in addition."""
POINTS = ((3.5, 0.0), (1.2, 40.0), (-20.0, 3.0), (-0.5, 200.0))
"""Real and imaginary parts of the points at which the transform is compared."""


def checks(*, deep: bool) -> Iterator[Check]:
    """One or more checks for each statement on sampling."""
    for rate, sigma in SETTINGS + DEEP if deep else SETTINGS:
        name = f"Gaussian(sigma={sigma}) at rate {rate}"
        yield Check("sampled-gaussian", f"{name}: the transform is its integral", partial(_transform, rate, sigma))
        yield Check("sampled-gaussian", f"{name}: the transform decays as bounded", partial(_decays, rate, sigma))
        yield Check("sampling", f"{name}: one use by the densities themselves", partial(_once, rate, sigma))
        yield Check("sampling", f"{name}: with against without has the larger curve", partial(_directions, rate, sigma))
        yield Check("sampling", f"{name}: rho is that of the noise, in the limit", partial(_limit, rate, sigma))
    yield Check("random-allocation", "two batches of a binary response, by all outcomes", _allocated)
    yield Check("gaussian-mixtures", "a person with two records, by the densities, in both directions", _mixture)
    yield Check("replaced-samples", "one use by the densities themselves", _replaced)
    yield Check("truncated-batches", "two records of which one is kept, by the densities", _truncated)
    yield Check("training", "noise z C on a sum that moves by C, or by 2 C", _trained)
    yield Check("participation", "steps two apart, by all sets and all signs", _participates)
    yield Check("sampling", "the profile rises with the rate, and falls with the noise", _monotone)
    yield Check(
        "sampling", "ten uses of PureDP(epsilon=0.5) at rate 0.8: the other direction is the worse", _other_direction
    )


def _noise(rate: str, sigma: str) -> SampledNormal:
    return SampledNormal(lift(Fraction(rate)), 1 / lift(Fraction(sigma)) ** 2)


def _integral(noise: SampledNormal, s: acb) -> acb:
    """E w^s by adaptive quadrature; the tails that are cut off are relatively far smaller than e^-ACCURATE_EFOLDS."""
    scale = noise.curvature.sqrt()

    def term(t: acb, _: bool) -> acb:
        weight = noise.rest + noise.rate * (t * scale - noise.half).exp()
        return (weight.log() * s - t * t / 2).exp()

    reach = 24 + abs(s.real) * scale
    return acb.integral(term, -reach.mid(), reach.mid()) / (2 * arb.pi()).sqrt()


def _transform(rate: str, sigma: str) -> bool:
    def holds() -> bool:
        noise = _noise(rate, sigma)
        for x, y in POINTS:
            found, whole = (
                noise.progression(arb(x), arb(y), [1], ACCURATE_EFOLDS)[0],
                noise.real(arb(x), ACCURATE_EFOLDS),
            )
            if not abs(found - _integral(noise, acb(x, y))) < whole * arb(-50).exp():
                return False
        return True

    return at_precision(PRECISION_BITS, holds)


def _decays(rate: str, sigma: str) -> bool:
    def holds() -> bool:
        import numpy

        noise = _noise(rate, sigma)
        for x in (4.0, -30.0):
            whole = noise.real(arb(x), ACCURATE_EFOLDS)
            bound = SampledDecay(noise, arb(x), whole, 3)
            for y in (0.5, 7.0, 300.0):
                size = abs(noise.progression(arb(x), arb(y), [1], ACCURATE_EFOLDS)[0])
                if size > 0 and not float(bound(numpy.array([y]))[0]) <= above((whole / size).log()):
                    return False
        return True

    return at_precision(PRECISION_BITS, holds)


def _once(rate: str, sigma: str) -> bool:
    """delta of one use, A(u > t) - x Q(u > t) with w(t) = x = e^epsilon (Neyman and Pearson's test), is enclosed."""
    plan, epsilon = Subsampled(Gaussian(sigma=sigma), rate=rate), Fraction(rate) / 5

    def truth() -> arb:
        q, mu = lift(Fraction(rate)), 1 / lift(Fraction(sigma))
        x = lift(epsilon).exp()
        place = ((x - 1 + q) / q).log() / mu + mu / 2  # in standard deviations
        tail, shifted = ((t / arb(2).sqrt()).erfc() / 2 for t in (place, place - mu))
        return (1 - q - x) * tail + q * shifted

    value = at_precision(4 * PRECISION_BITS, truth)
    lower, upper = plan.delta_bounds(epsilon=epsilon)
    return lower <= above(value) and below(value) <= upper <= lower * (1 + 1e-12)


def _directions(rate: str, sigma: str) -> bool:
    def holds() -> bool:
        noise = _noise(rate, sigma)
        return all(
            bool(noise.real(arb(1 + s), ACCURATE_EFOLDS) >= noise.real(arb(-s), ACCURATE_EFOLDS))
            for s in (0.5, 2.0, 9.0)
        )

    return at_precision(PRECISION_BITS, holds)


def _limit(rate: str, sigma: str) -> bool:
    noise, sampled = Gaussian(sigma=sigma), Subsampled(Gaussian(sigma=sigma), rate=rate)
    ratios = [sampled.rdp(order) / order for order in (2, 20, 60)]
    return sampled.rho == noise.rho and ratios == sorted(ratios) and ratios[-1] < noise.rho


def _monotone() -> bool:
    """delta rises with the rate and falls with sigma: compares certified ends of adjacent cells of a table."""
    table = [
        [(20 * Subsampled(Gaussian(sigma=sigma), rate=rate)).delta_bounds(epsilon="0.3") for sigma in (1, 2, 3)]
        for rate in ("0.05", "0.1", "0.2")
    ]
    rises = all(low[1] < high[0] for one, more in pairwise(table) for low, high in zip(one, more, strict=True))
    return rises and all(high[0] > low[1] for row in table for high, low in pairwise(row))


def _other_direction() -> bool:
    lower, upper = (10 * Subsampled(PureDP(epsilon="0.5"), rate="0.8")).delta_bounds(epsilon="3.38610")
    return 0.00284343 < lower <= upper < 0.00284344


def _trained() -> bool:
    """Poisson batches are noise at sensitivity 1; those of one size cost no more than their envelope."""
    poisson = Training(noise_multiplier=2, steps=30, sampling=Poisson("0.1"))
    fixed = Training(noise_multiplier=4, steps=30, sampling=FixedSize(10, of=100))
    return poisson.delta_bounds(epsilon=1) == (30 * Subsampled(Gaussian(sigma=2), rate="0.1")).delta_bounds(
        epsilon=1
    ) and fixed.delta_at(epsilon=1) <= (
        30 * Subsampled(Gaussian(sigma=2, sensitivity=L2(1)), size=10, of=100)
    ).delta_at(epsilon=1)


def _participates() -> bool:
    """Of a lower triangular matrix without negative entries: the largest |sum of c_i u_i|^2, u_i = 1 or -1."""
    rows = [[1, 0, 0, 0], [2, 3, 0, 0], [0, 1, 2, 0], [1, 1, 0, 5]]
    sets = [one for n in (1, 2) for one in combinations(range(4), n) if all(b - a >= 2 for a, b in pairwise(one))]
    truth = max(
        sum(sum(row[i] * u for i, u in zip(chosen, signs, strict=True)) ** 2 for row in rows)
        for chosen in sets
        for signs in product((1, -1), repeat=len(chosen))
    )
    found = Map([[Fraction(entry) for entry in row] for row in rows]).separated(2, 2)
    return found.square == truth if found.exact else found.square >= truth


def _stick(first: list[tuple[float, float]], second: list[tuple[float, float]], epsilon: float) -> float:
    """The hockey-stick divergence of two mixtures, as (weight, mean), of normal laws of variance 1, in floats."""

    def density(mixture: list[tuple[float, float]], x: float) -> float:
        return sum(weight * exp(-((x - mean) ** 2) / 2) for weight, mean in mixture) / sqrt(2 * pi)

    step = 1 / 200
    places = (n * step for n in range(-2200, 2200))
    return step * sum(max(density(first, x) - exp(epsilon) * density(second, x), 0.0) for x in places)


def _allocated() -> bool:
    """The mean of P x Q and Q x P against Q x Q, P and Q the laws of a binary response at epsilon = 1."""
    p, q = {0: exp(1) / (1 + exp(1)), 1: 1 / (1 + exp(1))}, {0: 1 / (1 + exp(1)), 1: exp(1) / (1 + exp(1))}
    epoch = Allocation(PureDP(epsilon=1), batches=2)
    for epsilon in (0.0, 0.2, 0.5):
        mixed = {y: (p[y[0]] * q[y[1]] + q[y[0]] * p[y[1]]) / 2 for y in product((0, 1), repeat=2)}
        apart = {y: q[y[0]] * q[y[1]] for y in mixed}
        truth = max(
            sum(max(one[y] - exp(epsilon) * other[y], 0.0) for y in mixed)
            for one, other in ((mixed, apart), (apart, mixed))
        )
        lower, upper = epoch.delta_bounds(epsilon=epsilon)
        if not lower <= truth + 1e-12 or not truth - 1e-12 <= upper:
            return False
    return True


def _mixture() -> bool:
    """Two records at 1, each drawn with probability 1/2, beside noise of sigma = 1: neither, one or both."""
    mixed, apart = [(0.25, 0.0), (0.5, 1.0), (0.25, 2.0)], [(1.0, 0.0)]
    truth = max(_stick(mixed, apart, 0.5), _stick(apart, mixed, 0.5))
    lower, upper = MixtureOfGaussians(sigma=1, rate="0.5", examples=2).delta_bounds(epsilon="0.5")
    return lower <= truth + 1e-6 and truth - 1e-6 <= upper <= lower * 1.001


def _replaced() -> bool:
    """A record at 1 replaced by one at -1, drawn with probability 0.3, beside noise of sigma = 1."""
    truth = _stick([(0.7, 0.0), (0.3, 1.0)], [(0.7, 0.0), (0.3, -1.0)], 0.5)
    lower, upper = ReplacedSample(Gaussian(sigma=1), rate="0.3").delta_bounds(epsilon="0.5")
    return lower <= truth + 1e-7 and truth - 1e-7 <= upper <= lower * 1.001


def _truncated() -> bool:
    """Records at 1 and -1 drawn with probability 1/2, one kept of two: with the first record, and without it."""
    truth = _stick([(0.25, 0.0), (0.375, 1.0), (0.375, -1.0)], [(0.5, 0.0), (0.5, -1.0)], 0.5)
    return truth - 1e-7 <= TruncatedSample(Gaussian(sigma=1), rate="0.5", most=1, of=2).delta_at(epsilon="0.5")
