"""Bounds on the decay of a transform against explicit atoms and densities: over cells, on images, and of each kind."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import inf, pi
from random import Random
from typing import Any

import numpy as np
import pytest
from flint import acb, arb
from mpmath import mp, mpf
from privacy.by_engine import HALF

from zcdp import Gaussian, Logistic
from zcdp.numeric.balls import above, at_precision
from zcdp.numeric.work import TooManyNodes
from zcdp.privacy.loss import (
    LossLaw,
    discrete_gaussian_pair,
    discrete_laplace_pair,
    finite_law,
    gaussian_pair,
    laplace_pair,
    logistic_pair,
    three_point_pair,
)
from zcdp.privacy.loss.decay import Decay, GaussianShare, MonotoneShare, least_distance, least_square_sine, minus_log
from zcdp.privacy.loss.discrete_gaussian_law import _theta_decay
from zcdp.privacy.loss.transform import Transform
from zcdp.privacy.profile.contour import charge, choose_nodes, octaves

Moment = Callable[[np.ndarray], np.ndarray]


def of_atoms(atoms: list[tuple[float, float]]) -> Moment:
    """E e^{zL} for losses with their masses."""
    losses, masses = np.array(atoms).T
    sizes = np.log(masses)

    def moment(z: np.ndarray) -> np.ndarray:
        return np.exp(np.multiply.outer(z, losses) + sizes).sum(axis=-1)

    return moment


def geometric(epsilon: float, sensitivity: int) -> Moment:
    """Noise x of mass (1-a)/(1+a) a^|x| and the same around `sensitivity`: log p(x)/p(x - sensitivity), all x."""
    a = np.exp(-epsilon / sensitivity)
    far = int(45 * sensitivity / epsilon) + sensitivity
    x = np.arange(-far, far + 1)
    steps, which = np.unique(np.abs(x - sensitivity) - np.abs(x), return_inverse=True)
    masses = np.bincount(which, weights=(1 - a) / (1 + a) * a ** np.abs(x))
    return of_atoms(list(zip(steps * epsilon / sensitivity, masses, strict=True)))


def normal_on_integers(variance: float, shift: int) -> Moment:
    far = int(9 * variance**0.5) + 2
    x = np.arange(-far - 6 * shift, far + 1)  # tilted by 6 it has its middle there
    mass = np.exp(-(x**2) / (2 * variance))
    return of_atoms(list(zip(shift * (shift - 2 * x) / (2 * variance), mass / mass.sum(), strict=True)))


def laplace(epsilon: float) -> Moment:
    """Half of the noise has the loss epsilon, e^-epsilon/2 of it the loss -epsilon; between them it is epsilon - 2x."""

    def moment(z: np.ndarray) -> np.ndarray:
        between = (1 - np.exp(-(2 * z + 1) * epsilon)) / (2 * (2 * z + 1))
        return np.exp(z * epsilon) * (0.5 + between) + np.exp(-z * epsilon) * np.exp(-epsilon) / 2

    return moment


def logistic(eta: float) -> Moment:
    """The density of the noise over the same shifted by eta is e^-eta (1 + t (e^eta - 1))^2 at its quantile t."""
    places, weights = np.polynomial.legendre.leggauss(120)
    losses = 2 * np.log1p((places + 1) / 2 * np.expm1(eta)) - eta
    return of_atoms(list(zip(losses, weights / 2, strict=True)))


FREE = [("1/2", "1/5"), ("3/10", "2/5"), ("1/5", "2/5")]
ROW = [("1/8", "1/32"), ("5/8", "5/8"), ("1/4", "11/32")]


def pairs(rows: list[tuple[str, str]]) -> list[tuple[Fraction, Fraction]]:
    return [(Fraction(p), Fraction(q)) for p, q in rows]


def explicit(rows: list[tuple[str, str]]) -> Moment:
    return of_atoms([(float(np.log(float(p / q))), float(p)) for p, q in pairs(rows)])


LAWS: dict[str, tuple[LossLaw, Moment, float]] = {  # and the distance of neighbouring atoms, or so
    "two": (three_point_pair(Fraction(1)), of_atoms([(1, 1 / (1 + np.exp(-1))), (-1, 1 / (1 + np.exp(1)))]), 2.0),
    "three": (
        three_point_pair(Fraction(1, 2), 5),
        of_atoms([(e, np.exp(max(e, 0)) * (3 if e == 0 else 1) / (np.exp(0.5) + 4)) for e in (0.5, 0.0, -0.5)]),
        0.5,
    ),
    "few geometric": (discrete_laplace_pair(Fraction(2), 3), geometric(2, 3), 4 / 3),
    "geometric": (discrete_laplace_pair(Fraction(4), 9), geometric(4, 9), 8 / 9),
    "long geometric": (discrete_laplace_pair(Fraction(1), 40), geometric(1, 40), 1 / 20),
    "free": (finite_law(pairs(FREE)), explicit(FREE), float(np.log(2.5 / 0.75))),
    "narrow": (discrete_gaussian_pair(Fraction(1, 10), 1), normal_on_integers(0.1, 1), 10.0),
    "one": (discrete_gaussian_pair(Fraction(1), 1), normal_on_integers(1, 1), 1.0),
    "even": (discrete_gaussian_pair(Fraction(4), 2), normal_on_integers(4, 2), 0.5),
    "listed": (discrete_gaussian_pair(Fraction(9), 3), normal_on_integers(9, 3), 1 / 3),
    "wide": (discrete_gaussian_pair(Fraction(20), 1), normal_on_integers(20, 1), 1 / 20),
    "normal": (gaussian_pair(lambda: arb(1) / 4), lambda z: np.exp((z * z + z) / 8), 1.0),
    "Laplace": (laplace_pair(Fraction(1)), laplace(1), 2.0),
    "large Laplace": (laplace_pair(Fraction(4)), laplace(4), 8.0),
    "logistic": (logistic_pair(Fraction(2)), logistic(2), 4.0),
}


def true_decay(moment: Moment, c: float, y: np.ndarray) -> np.ndarray:
    """log M(c)/|M(c + iy)|; inf where doubles do not tell."""
    part = abs(moment(c + 1j * y)) / abs(moment(np.array([c + 0j]))[0])
    return np.where(part > 1e-4, -np.log(np.maximum(part, 1e-4)), inf)


def decay_of(law: LossLaw, c: float, count: int) -> Decay:
    return Decay(Transform(((law, count),)).tilt(arb(c)).shares, arb(c))


@pytest.mark.parametrize("name", LAWS)
def test_no_cell_of_heights_decays_less_than_is_said(name: str) -> None:
    """From single heights to three turns of the atoms, at every place: half turns and whole ones among them."""
    law, moment, gap = LAWS[name]
    turn = 2 * pi / gap
    starts = np.concatenate([np.linspace(0.003, 2.6, 90) * turn, np.array([0.25, 0.5, 1, 1.5, 2, 3]) * turn])
    for c in (0.1, 1.0, 6.0):
        for width in (0.0, 0.07, 0.4):
            y = starts[:, None] + np.linspace(0, width * turn, 21 if width else 1)
            true = true_decay(moment, c, y).min(axis=1)
            for count in (1, 3):
                decay = at_precision(128, lambda c=c, count=count: decay_of(law, c, count))
                found = decay.bound(starts, starts + width * turn)
                assert (found <= count * true + 1e-10).all(), (c, width)
            assert width or c > 0.5 or found.max() > 1e-3


@pytest.mark.parametrize("name", ["two", "three", "few geometric", "geometric", "narrow", "one", "listed", "wide"])
def test_a_bound_for_all_larger_heights_knows_that_atoms_come_back(name: str) -> None:
    """However far one begins, |M| is as large again after a turn: no decay is left for all heights together."""
    law, _, gap = LAWS[name]
    starts = np.linspace(0.01, 40, 50) * 2 * pi / gap
    for c in (0.1, 2.0):
        found = at_precision(128, lambda c=c: decay_of(law, c, 2).bound(starts, np.full(50, inf)))
        assert (found <= 1e-12).all()


@pytest.mark.parametrize("name", ["two", "three", "few geometric", "geometric", "one", "even", "wide", "Laplace"])
def test_no_image_decays_less_than_is_said(name: str) -> None:
    """At y + m turns, m = 1, 2, ... and to the other side: all of them at least half a turn from 0."""
    law, moment, gap = LAWS[name]
    turn = 2 * pi / gap
    low = np.linspace(0, 0.48, 60) * turn
    for c in (0.1, 1.5):
        for width in (0.0, 0.02):
            y = low[:, None, None] + np.linspace(0, width * turn, 5)[:, None]
            images = abs(y + turn * np.array([-3, -2, -1, 1, 2, 3]))
            true = true_decay(moment, c, images).min(axis=(1, 2))
            decay = at_precision(128, lambda c=c: decay_of(law, c, 2))
            found = decay.bound_images(low, low + width * turn, images.min())
            assert (found <= 2 * true + 1e-10).all(), (c, width)


@pytest.mark.parametrize(("epsilon", "sensitivity"), [(4, 9), (1, 40), (Fraction(1, 10), 12), (8, 30)])
@pytest.mark.parametrize("c", [0.05, 0.5, 3.0])
def test_a_row_of_atoms_and_the_two_around_it_are_each_bounded(epsilon: Fraction, sensitivity: int, c: float) -> None:
    """Tilted masses, one by one: those of the largest and the least loss, and all others together."""
    e = float(epsilon)
    a = np.exp(-e / sensitivity)
    x = np.arange(sensitivity + 1)
    losses, masses = e - 2 * x * e / sensitivity, (1 - a) / (1 + a) * a**x
    masses[0] += masses[0] * a / (1 - a)  # all below 0
    masses[-1] += masses[-1] * a / (1 - a)  # and all above the shift
    tilted = masses * np.exp(c * losses)
    tilted /= tilted.sum()
    [share] = at_precision(
        128, lambda: Transform(((discrete_laplace_pair(Fraction(epsilon), sensitivity), 1),)).tilt(arb(c)).shares
    )
    gap = 2 * e / sensitivity
    y = np.concatenate([np.linspace(0, 6 * pi / gap, 4001), pi / (2 * e - 2 * gap) * np.arange(1, 60, 2)])
    turning = np.exp(1j * np.multiply.outer(y, losses)) * tilted
    row, ends = abs(turning[:, 1:-1].sum(axis=1)), abs(turning[:, 0] + turning[:, -1])
    allowed = share.size / np.sqrt(share.least + share.wave * np.sin(y * gap / 2) ** 2)
    assert (row <= allowed * (1 + 1e-9)).all()
    assert (allowed / row).min() < 1.01 + gap  # and somewhere it is as large
    weight, turns = share.end_wave
    square = share.ends**2 - 2 * weight * np.sin(pi * turns * y) ** 2
    assert (ends**2 <= square + 1e-12).all()
    assert abs(ends**2 - square).max() < 1e-9


def test_kinds_of_one_composition_add_up() -> None:
    chosen = [("two", 2), ("Laplace", 1), ("normal", 3), ("geometric", 1), ("one", 2), ("free", 1)]
    y = np.linspace(0.01, 9, 400)

    def asked() -> np.ndarray:
        parts = tuple((LAWS[name][0], count) for name, count in chosen)
        return Decay(Transform(parts).tilt(arb(1)).shares, arb(1)).bound(y, y)

    parts = [at_precision(128, lambda n=n, k=k: decay_of(LAWS[n][0], 1.0, k)).bound(y, y) for n, k in chosen]
    assert at_precision(128, asked) == pytest.approx(sum(parts), rel=1e-9)


def test_images_of_what_only_falls_are_taken_where_the_nearest_one_is() -> None:
    """A bound that holds from some height on says nothing of an image but that it is `distance` away."""
    shares = [MonotoneShare(3, lambda heights: heights**2), MonotoneShare(2, lambda heights: heights - 4)]
    decay = Decay(shares, arb(1))
    low = np.array([0.5, 2.0, 7.0])
    assert decay.bound(low, low + 1) == pytest.approx(3 * low**2 + 2 * np.maximum(low - 4, 0), rel=1e-9)
    for distance in (1.0, 5.0):
        found = decay.bound_images(low, low + 1, distance)
        assert (found <= 3 * distance**2 + 2 * max(distance - 4, 0)).all()
        assert found == pytest.approx(3 * distance**2 + 2 * max(distance - 4, 0), rel=1e-9)
    normal = Decay([GaussianShare(2, arb(9), cells=0)], arb(1))
    assert (normal.bound_images(low, low + 1, 0.1) <= 2 * 9 * 0.1**2 / 2).all()
    assert normal.bound(low, low + 1) == pytest.approx(9 * low**2, rel=1e-9)


def test_the_distance_to_the_integers_is_that_of_the_nearest_point_of_a_cell() -> None:
    random = Random(4)
    for _ in range(800):
        low = Fraction(random.randint(0, 4000), 1000)
        high = low + Fraction(random.choice([0, 1, 20, 300, 900, 1100]), 1000)
        whole = -(-low // 1) <= high  # it holds an integer
        truth = Fraction(0) if whole else min(low % 1, 1 - high % 1)
        ends = np.array([float(low)]), np.array([float(high)])
        assert float(truth) - 1e-12 <= least_distance(np, *ends)[0] <= truth
        with mp.workdps(30):
            sine = mp.sin(mp.pi * mpf(truth.numerator) / truth.denominator) ** 2
        assert sine - 1e-3 <= least_square_sine(np, *ends)[0] <= sine
    assert least_distance(np, np.array([0.4]), np.array([inf]))[0] == 0
    assert least_square_sine(np, np.array([0.4]), np.array([inf]))[0] == 0


def test_a_logarithm_is_not_above_the_truth() -> None:
    values = np.concatenate([np.geomspace(1e-300, 1, 500), np.linspace(0.4, 1.2, 500)])
    with mp.workdps(40):
        truth = [max(-mp.log(mpf(x)), mpf(0)) for x in values.tolist()]
    for found, exact in zip(minus_log(np, values).tolist(), truth, strict=True):
        assert exact * (1 - mpf("1e-6")) <= found <= exact
    assert minus_log(np, np.array([0.0]))[0] <= 745


def test_the_bound_by_theta_is_the_least_of_its_cell() -> None:
    """S d^2 - 5 e^{-S(1-2d)} at every distance d to the integers that a cell has; nothing where S is 0."""
    random = Random(1)
    for _ in range(300):
        stiffness = random.choice([19.8, 40.0, 300.0])
        low = random.uniform(0, 3)
        high = low + random.choice([0, 0.01, 0.1, 0.3, 0.8])
        t = np.linspace(low, high, 60)
        d = abs(t - np.round(t))
        least = (stiffness * d**2 - 5 * np.exp(-stiffness * (1 - 2 * d))).min()
        found = _theta_decay(np, np.array([stiffness, 0.0]), np.array([[low]]), np.array([[high]]))[0]
        assert 0 <= found[0] <= max(least, 0) + 1e-2 * stiffness * (high - low) + 1e-12
        assert found[1] == 0
        at_end = stiffness * min(d[0], d[-1]) ** 2 - 5 * np.exp(-stiffness * (1 - 2 * d.max()))
        assert found[0] <= max(at_end, 0) + 1e-12


# Decay along a line and the nodes that are kept: bounds are lower ones, and what is left out is paid for.


@pytest.mark.parametrize(
    "pair",
    [
        laplace_pair(HALF),
        three_point_pair(HALF, 5),
        three_point_pair(HALF),
        laplace_pair(Fraction(4)),
        discrete_laplace_pair(Fraction(4), 9),
        discrete_laplace_pair(Fraction(30), 60),
        discrete_laplace_pair(HALF, 60),
    ],
)
def test_decay_is_a_lower_bound(pair: object) -> None:

    def run() -> None:
        transform = Transform(((pair, 3),))  # type: ignore[arg-type]
        for c in (arb("0.1"), arb(2), arb(30)):
            decay = Decay(transform.tilt(c).shares, c)
            size = transform.log_moment(c)
            for low in (0.01, 0.5, 2.0, 3.1, 6.2, 12.5, 50.0, 1000.0):
                for width in (0.0, 0.3, 2.0, inf):
                    bound = decay.bound(np.array([low]), np.array([low + width]))[0]
                    for step in range(40):
                        y = low + (width if width < inf else 3 * low) * step / 40
                        true = float(size - abs(transform.moment(c + arb(y) * acb(0, 1))).log())
                        assert bound <= true + 1e-12

    at_precision(128, run)


def test_nodes_and_cells_are_counted() -> None:
    def nothing(i: Any, j: Any) -> Any:
        return i < 0

    with pytest.raises(TooManyNodes):
        choose_nodes(octaves(1 << 40), nothing, most=1000, work=10**9)
    with pytest.raises(TooManyNodes):
        choose_nodes(octaves(1 << 40), lambda i, j: i % 3 == 0, most=10**9, work=1000)
    nodes = choose_nodes(octaves(1 << 20), lambda i, j: i >= 64, most=1000, work=1000)
    assert nodes.kept == list(range(65))
    assert sum((nodes.end - nodes.begin).tolist()) == (1 << 20) - 64


def test_what_is_charged_covers_what_is_left_out() -> None:
    weights, decays = np.array([0.5, 2.0, 1e-3, 3.0]), np.array([0.3, 7.77, 0.31, 1e12])
    exact = sum(w * np.exp(-d) for w, d in zip(weights, decays, strict=True))
    assert exact <= above(charge(weights, decays)) <= exact * 1.2


@pytest.mark.parametrize("power", [6, 12, 30])
def test_tiny_losses_are_answered_as_sharply_as_others(power: int) -> None:
    """delta(0) is 2 Phi(mu/2) - 1, nearly mu/sqrt(2 pi), however small mu is."""
    truth = mp.erf(mpf(10) ** -power / (2 * mp.sqrt(2)))
    lower, upper = Gaussian(sigma=f"1e{power}").delta_bounds(epsilon=0)
    assert lower <= truth <= upper <= truth * (1 + mpf(10) ** -9)


def test_many_tiny_densities_are_answered_as_sharply_as_others() -> None:
    """4000 logistic losses of 1e-12: nearly uniform on (-eta, eta), so delta(0) is half of their mean absolute sum."""
    small, large = ((4000 * Logistic(epsilon=f"1e-{power}")).delta_bounds(epsilon=0) for power in (12, 10))
    assert small[1] * 100 == pytest.approx(large[1], rel=1e-9)
    assert small[0] <= small[1]
