"""Samples of a fixed size against every pair of neighbours of small data sets, and against other integrals."""

from __future__ import annotations

import warnings
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise, product
from math import asinh, comb, exp, log, log1p, pi, sqrt

import numpy as np
import pytest
from flint import arb
from independent.sampled_reference import gaussian_delta

from zcdp import (
    L2,
    AsymmetricLaplace,
    Channel,
    DiscreteLaplace,
    Gaussian,
    GeneralizedGaussian,
    Laplace,
    Log,
    Mechanism,
    Plan,
    RandomizedResponse,
    Subsampled,
)
from zcdp.cli import main
from zcdp.errors import SensitivityWarning
from zcdp.numeric.balls import at_precision, lift
from zcdp.privacy.loss.finite_law import finite_law
from zcdp.privacy.loss.law import LossLaw
from zcdp.privacy.loss.tradeoff_hull import both_directions, hull, rounded
from zcdp.privacy.profile.profile import Profile
from zcdp.privacy.relation import Relation

Row = tuple[Fraction, ...]
REACH = 12  # outputs of the noisy count beyond it are clipped, which is post-processing


@cache
def noisy_count(count: int) -> Row:
    """A count with two-sided geometric noise of base 1/2, clipped to -REACH .. REACH: exact, tails at the ends."""
    row = []
    for place in range(-REACH, REACH + 1):
        away = abs(place - count)
        mass = Fraction(1, 3) * Fraction(1, 2) ** away
        row.append(mass if abs(place) < REACH else mass * 2)  # the tail from there on is 1/2 + 1/4 + ... of it more
    assert sum(row) == 1
    return tuple(row)


def one_report(value: int, k: int = 3) -> Row:
    """Randomized response with e^epsilon = 2."""
    return tuple(Fraction(2 if out == value else 1, k + 1) for out in range(k))


CHANNEL = ((Fraction(3, 4), Fraction(1, 4)), (Fraction(2, 5), Fraction(3, 5)))


def sampled(records: tuple[int, ...], size: int, law: object) -> Row:
    """The mean of the output's law over all samples."""
    samples = list(combinations(records, size))
    rows = [law(sample) for sample in samples]
    return tuple(sum(column) / len(rows) for column in zip(*rows, strict=True))


def hockey_stick(p: Row, q: Row, x: Fraction, uses: int) -> Fraction:
    """delta of `uses` independent outputs, by every sequence of them; outcomes of one ratio together."""
    merged: dict[Fraction | None, tuple[Fraction, Fraction]] = {}
    for a, b in zip(p, q, strict=True):
        key = a / b if b else None
        one, other = merged.get(key, (Fraction(0), Fraction(0)))
        merged[key] = one + a, other + b
    whole = [(Fraction(1), Fraction(1))]
    for _ in range(uses):
        whole = [(a * c, b * d) for a, b in whole for c, d in merged.values()]
    return sum((max(a - x * b, Fraction(0)) for a, b in whole), Fraction(0))


CASES = [
    pytest.param(DiscreteLaplace(epsilon=Log(2)), 2, lambda s: noisy_count(sum(s)), id="count"),
    pytest.param(RandomizedResponse(epsilon=Log(2), k=3), 3, lambda s: one_report(s[0]), id="one report"),
    pytest.param(Channel([["3/4", "1/4"], ["2/5", "3/5"]]), 2, lambda s: CHANNEL[s[0]], id="channel"),
]


@pytest.mark.parametrize("x", [Fraction(1), Fraction(21, 20), Fraction(13, 10)], ids=str)
@pytest.mark.parametrize("uses", [1, 2])
@pytest.mark.parametrize(("mechanism", "values", "law"), CASES)
def test_every_data_set_of_up_to_four_records(
    mechanism: Mechanism, values: int, law: object, uses: int, x: Fraction
) -> None:
    local = values == 3 or isinstance(mechanism, Channel)
    for records in range(1, 5):
        for size in (1,) if local else range(1, records + 1):
            worst = Fraction(0)
            for others in product(range(values), repeat=records - 1):
                for mine, changed in product(range(values), repeat=2):
                    if mine != changed:
                        p, q = (sampled((*others, one), size, law) for one in (mine, changed))
                        worst = max(worst, hockey_stick(p, q, x, uses))
            plan = uses * Subsampled(mechanism, size=size, of=records)
            lower, upper = plan.delta_bounds(epsilon=log(x))
            assert float(worst) <= upper * (1 + 1e-12), (records, size)
            assert lower <= float(worst) * (1 + 1e-9) + 2.0**-REACH
            if uses == 1:
                assert upper <= float(worst) * (1 + 1e-9) + 2.0**-REACH


def test_the_reference_can_fail() -> None:
    """A record that is drawn with a higher probability is too much for the pair."""
    p, q = (sampled((0, 0, 0, one), 2, lambda s: noisy_count(sum(s))) for one in (1, 0))
    truth = hockey_stick(p, q, Fraction(21, 20), 1)
    assert float(truth) > Subsampled(DiscreteLaplace(epsilon=Log(2)), size=1, of=4).delta_at(epsilon=log(21 / 20))


def envelope(q: float, mu: float, epsilon: float) -> float:
    """One use, at any real epsilon."""
    if epsilon < 0:
        return -np.expm1(epsilon) + exp(epsilon) * envelope(q, mu, -epsilon)
    return q * gaussian_delta(mu, log1p(np.expm1(epsilon) / q))


def losses(q: float, mu: float, points: int) -> tuple[np.ndarray, np.ndarray]:
    """Losses of the envelope with their masses, the middle one last: from the densities, by the midpoint rule."""
    step = (14 * mu + 3 * mu * mu) / points
    base = (np.arange(points) + 0.5) * step
    mass = np.exp(-((base + mu * mu / 2) ** 2) / (2 * mu * mu)) / (mu * sqrt(2 * pi)) * step
    loss = np.log1p(q * np.expm1(base))
    above, below = mass * np.exp(loss), mass
    rest = 1 - above.sum() - below.sum()
    return np.concatenate([loss, -loss, [0.0]]), np.concatenate([above, below, [rest]])


@pytest.mark.parametrize(("size", "of", "sigma"), [(1, 10, "0.7"), (30, 100, 2)])
def test_two_uses_of_gaussian_noise_by_a_real_integral(size: int, of: int, sigma: object) -> None:
    plan = 2 * Subsampled(Gaussian(sigma=sigma), size=size, of=of)
    q, mu = size / of, 1 / float(sigma)
    place, mass = losses(q, mu, 20_000)
    truth = float(sum(m * envelope(q, mu, 0.3 - x) for x, m in zip(place.tolist(), mass.tolist(), strict=True)))
    answer = plan.profile.delta(Fraction(0.3))
    assert truth * (1 - 1e-4) <= answer.lower <= truth * (1 + 1e-6)
    assert truth * (1 - 1e-6) <= answer.upper <= truth * (1 + 1e-4)


def test_many_uses_of_gaussian_noise_on_a_grid_of_losses() -> None:
    """10^4 uses, composed by a transform of losses that are put on a grid: another method, to five digits."""
    step, size, uses, tilt = 2e-5, 1 << 21, 10_000, 2.6
    place, mass = losses(0.01, 1.0, 400_000)
    mass = mass * np.exp(tilt * place)
    left = np.floor(place / step).astype(np.int64)
    part = place / step - left
    grid = np.bincount(left % size, mass * (1 - part), size) + np.bincount((left + 1) % size, mass * part, size)
    moment = mass.sum()
    composed = np.fft.irfft(np.fft.rfft(grid / moment) ** uses, size)
    sums = (np.arange(size) + size // 4) % size - size // 4
    loss = sums * step
    lower, upper = (uses * Subsampled(Gaussian(sigma=1), size=600, of=60_000)).profile.epsilon_bounds(
        Fraction(1, 10**5)
    )
    assert upper - lower < 1e-12
    weight = np.where(loss > upper, -np.expm1(upper - loss), 0.0)
    delta = float((composed * weight * np.exp(uses * log(moment) - tilt * loss)).sum())
    assert delta == pytest.approx(1e-5, rel=2e-4)


def test_a_sum_of_two_sides_stays_below() -> None:
    """True neighbours by another route: a record that moves the sum from -1/2 to 1/2, the others at 0."""
    u = np.linspace(-9, 9, 40_001)

    def density(mean: float) -> np.ndarray:
        return np.exp(-((u - mean) ** 2) / 2) / sqrt(2 * pi)

    p, q = (0.9 * density(0) + 0.1 * density(mean) for mean in (0.5, -0.5))
    step = Subsampled(Gaussian(sigma=1), size=1, of=10)
    for epsilon in (0.0, 0.02, 0.1):
        truth = float(np.maximum(p - exp(epsilon) * q, 0).sum() * (u[1] - u[0]))
        assert 0 < truth < step.delta_at(epsilon=epsilon)


def test_beside_what_is_in_use() -> None:
    """Pure DP: log(1 + q(e^epsilon - 1)) is what one use costs. RDP at a whole order: the bound of Wang and others."""
    pure = Subsampled(Laplace(epsilon=1), size=600, of=60_000)
    assert pure.pure_epsilon == pytest.approx(log1p(0.01 * np.expm1(1)), rel=1e-12)
    step, q, sigma = Subsampled(Gaussian(sigma=2), size=600, of=60_000), 0.01, 2.0

    def known(order: int) -> float:
        """log(1 + q^2 C(a,2) min(4(e^{eps(2)} - 1), 2 e^{eps(2)}) + sum 2 q^j C(a,j) e^{(j-1) eps(j)})/(a - 1)."""
        second = exp(2 / (2 * sigma**2))
        total = 1 + q**2 * comb(order, 2) * min(4 * (second - 1), 2 * second)
        total += sum(2 * q**j * comb(order, j) * exp((j - 1) * j / (2 * sigma**2)) for j in range(3, order + 1))
        return log(total) / (order - 1)

    for order in (2, 8, 32):
        assert step.rdp(order) < known(order)


def test_rho_and_what_is_claimed() -> None:
    step = Subsampled(Gaussian(sigma="0.7"), size=3, of=100)
    assert step.relation is Relation.REPLACE
    assert step.rho == Gaussian(sigma="0.7").rho
    assert not step.is_tight
    assert Subsampled(Gaussian(sigma="0.7"), size=3, of=3).is_tight
    one = step.epsilon_bounds(delta=1e-6)
    assert one[1] - one[0] <= 1e-12 * one[1]
    many = (100 * step).epsilon_bounds(delta=1e-6)
    assert (100 * Subsampled(Gaussian(sigma="0.7"), rate="0.03")).epsilon_at(delta=1e-6) == pytest.approx(many[0])
    assert many[0] < many[1]
    assert 2 * step + RandomizedResponse(epsilon=1, k=4)


def test_text_keeps_it() -> None:
    text = "500 * Subsampled(Gaussian(sigma=1), size=256, of=60000)"
    assert repr(Plan.parse(text)) == text
    assert Plan.from_json(Plan.parse(text).to_json()) == Plan.parse(text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 300, "of": 200}, "size (300) must be at most of (200): no record is drawn twice"),
        ({"size": 0, "of": 200}, "size (0) must be at least 1"),
        ({"size": 1.5, "of": 200}, "size (1.5) must be a whole number"),
        ({"size": 3}, "give a rate, for a Poisson sample, or size and of"),
        ({}, "give a rate, for a Poisson sample, or size and of"),
        ({"rate": "0.1", "size": 1, "of": 2}, "give a rate, for a Poisson sample, or size and of"),
    ],
)
def test_bad_sizes(options: dict[str, object], message: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        Subsampled(Gaussian(sigma=1), **options)
    assert message in str(caught.value)


def test_samples_of_samples_have_one_relation() -> None:
    with pytest.raises(ValueError, match="do not compose"):
        Subsampled(Subsampled(Gaussian(sigma=1), rate="0.1"), size=1, of=2)
    with pytest.raises(ValueError, match="do not compose"):
        Subsampled(Gaussian(sigma=1), rate="0.1") + Subsampled(Gaussian(sigma=1), size=1, of=10)


def usual(rate: float, sigma: float, steps: int, delta: float) -> float:
    """The bound of Wang, Balle and Kasiviswanathan (2019), Theorem 9, for Gaussian noise at integer orders."""
    best = float("inf")
    for order in range(2, 64):
        second = min(4 * (exp(1 / sigma**2) - 1), 2 * exp(1 / sigma**2))
        terms = [0.0, 2 * log(rate) + log(comb(order, 2)) + log(second)]
        terms += [j * log(rate) + log(2 * comb(order, j)) + (j - 1) * j / (2 * sigma**2) for j in range(3, order + 1)]
        rdp = steps * float(np.logaddexp.reduce(terms)) / (order - 1)
        best = min(best, rdp + log((order - 1) / order) - (log(delta) + log(order)) / (order - 1))
    return best


@pytest.mark.parametrize(
    ("sigma", "size", "steps", "delta", "figures"),
    [(1, 600, 10_000, 1e-5, (13.15, 8.084, 6.187)), (2, 600, 1000, 1e-6, (1.698, 0.8272, 0.7209))],
)
def test_figures_beside_the_usual_bound(
    sigma: int, size: int, steps: int, delta: float, figures: tuple[float, ...]
) -> None:
    """The rows of the page on DP-SGD."""
    lower, upper = (steps * Subsampled(Gaussian(sigma=sigma), size=size, of=60_000)).epsilon_bounds(delta=delta)
    found = usual(size / 60_000, sigma, steps, delta), upper, lower
    assert found == pytest.approx(figures, rel=2e-4)


def test_sigma_without_a_sensitivity_warns_once_that_a_replaced_gradient_moves_by_two_norms() -> None:
    """A gradient clipped to C = 1 that is replaced by its opposite moves the sum by 2: sensitivity=2 says so."""
    with pytest.warns(SensitivityWarning, match=r"2C.*sensitivity=2") as caught:
        plain = Subsampled(Gaussian(sigma=1), size=3, of=100)
    assert [one.filename for one in caught] == [__file__]
    with pytest.warns(SensitivityWarning):
        Subsampled(Laplace(epsilon=1) + Gaussian(sigma=1), size=3, of=100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stated = Subsampled(Gaussian(sigma=2, sensitivity=2), size=3, of=100)
        on_purpose = Subsampled(Gaussian(sigma=1, sensitivity=L2(1)), size=3, of=100)
        Subsampled(Gaussian(sigma=1), rate="0.03")
        Subsampled(Laplace(epsilon=1), size=3, of=100)
        # what was written down long ago is read in silence, and what is printed can be pasted back
        for one in (plain, stated, on_purpose):
            assert Plan.parse(repr(one)) == Plan.from_json(Plan.sum_of(one).to_json()) == Plan.sum_of(one)
    assert repr(stated) == "Subsampled(Gaussian(sigma=2, sensitivity=2), size=3, of=100)"
    assert repr(on_purpose) == "Subsampled(Gaussian(sigma=1, sensitivity=L2(1)), size=3, of=100)"
    assert plain.delta_at(epsilon=1) == stated.delta_at(epsilon=1) == on_purpose.delta_at(epsilon=1)


def test_an_account_of_replaced_records_says_what_clipping_leaves(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["account", "10 * Subsampled(Gaussian(sigma=1), size=3, of=100)"]) == 0
    said = capsys.readouterr()
    assert "(sums clipped to C move 2C)" in said.out
    assert not said.err


def three_apart(rate: Fraction, square: Fraction) -> LossLaw:
    """A pair below one use on sums at the corners of a triangle of sides sqrt(square): at each of many rectangles.

    The common records have one corner; x has another, x' the third. A coordinate u runs along the side from x' to x, v
    across; the rectangles are joined where their losses are near, which tells less.
    """

    def cells() -> list[tuple[arb, arb]]:
        q, side = lift(rate), lift(square).sqrt()
        height = side * arb(3).sqrt() / 2

        def masses(edges: list[float], middle: arb) -> list[arb]:
            ends = [arb(0), *(((middle - edge) / arb(2).sqrt()).erfc() / 2 for edge in edges), arb(1)]
            return [high - low for low, high in pairwise(ends)]

        across = [n * 6 / 40 for n in range(-39, 40)], [n * 10.5 / 30 - 4 for n in range(31)]
        rows = [masses(across[0], middle) for middle in (arb(0), side / 2, -side / 2)]
        columns = [masses(across[1], middle) for middle in (arb(0), height)]
        joined: dict[int, tuple[arb, arb]] = {}
        for (u, near, far), (v, there) in product(zip(*rows, strict=True), zip(*columns, strict=True)):
            p, p_other = ((1 - q) * u * v + q * one * there for one in (near, far))
            loss = log(float(p / p_other))
            place = round(20 * asinh(20 * loss))
            a, b = joined.get(place, (arb(0), arb(0)))
            joined[place] = a + p, b + p_other
        return [joined[place] for place in sorted(joined, key=lambda n: -float(joined[n][0] / joined[n][1]))]

    points = at_precision(320, lambda: rounded(cells(), 1))
    return finite_law(hull(both_directions([points])))


@pytest.mark.deep
def test_any_three_sums_attain_more_than_two() -> None:
    """So the lower end of `Subsampled` is not the truth of long compositions."""
    many, delta = 10_000, Fraction(1, 100_000)
    found = Profile(((three_apart(Fraction(1, 100), Fraction(1)), many),)).epsilon(delta)
    ends = (many * Subsampled(Gaussian(sigma=2, sensitivity=2), size=600, of=60_000)).epsilon_bounds(delta=delta)
    assert ends[0] < 6.19
    assert 6.65 < found.lower < ends[1]


def test_own_noise_that_is_laplace_noise() -> None:
    """The balls of its outcomes are too wide at the first precision."""
    how: dict[str, int] = {"size": 2, "of": 10}
    own = Subsampled(GeneralizedGaussian(power=1, scale=1), **how)
    noise = Subsampled(Laplace(scale=1), **how)
    for epsilon in ("0.1", "0.25"):
        low, high = own.delta_bounds(epsilon=epsilon)
        assert low <= noise.delta_bounds(epsilon=epsilon)[1]
        assert noise.delta_bounds(epsilon=epsilon)[0] <= high <= low * 1.001
    assert noise.rho_bounds[0] <= own.rho <= noise.rho * 1.001
    assert own.pure_epsilon == noise.pure_epsilon


def test_asymmetric_own_noise_in_its_worse_direction() -> None:
    """Exponentials of means 2 and 1, moved by 1: the loss is 1 above the larger and -1/2 below the smaller place."""
    own = Subsampled(AsymmetricLaplace(left=2, right=1), size=1, of=5)
    share, places = 0.2, np.linspace(-80, 80, 320_001)
    density = np.exp(-np.maximum(places, -places / 2)) / 3
    moved = np.exp(-np.maximum(places - 1, -(places - 1) / 2)) / 3
    for epsilon in (0.02, 0.1):
        worst = 0.0
        for p, q in ((density, moved), (moved, density)):
            drawn = share * p + (1 - share) * q
            for one, other in ((drawn, q), (q, drawn)):
                worst = max(worst, float(np.trapezoid(np.maximum(one - np.exp(epsilon) * other, 0), places)))
        low, high = own.delta_bounds(epsilon=epsilon)
        assert low * (1 - 1e-6) <= worst <= high * (1 + 1e-6)
        assert worst * 0.999 <= low
