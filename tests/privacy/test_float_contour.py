"""The contour in doubles: every value within its bound of the same in balls, and the sum around the truth."""

from __future__ import annotations

import random
from fractions import Fraction
from math import exp

import numpy as np
import pytest
from flint import acb, arb
from hypothesis import given
from hypothesis.strategies import floats, integers, lists
from independent.profile_laws import law
from independent.profile_truth import Truth

from zcdp import BoundedRange, DiscreteLaplace, Laplace, Plan, PureDP, RandomizedResponse
from zcdp.numeric.balls import Undecided, above, at_precision, lift
from zcdp.numeric.doubles import decays, waves
from zcdp.numeric.work import TooManyNodes
from zcdp.privacy.loss import discrete_gaussian_law as discrete_gaussian
from zcdp.privacy.loss import (
    discrete_gaussian_pair,
    discrete_laplace_pair,
    laplace_pair,
    logistic_pair,
    three_point_pair,
)
from zcdp.privacy.loss import sampled_density_law as sampled_density
from zcdp.privacy.loss.law import Parts
from zcdp.privacy.loss.transform import MOST_TERMS, Exponentials, Polynomial, Tilted
from zcdp.privacy.profile import float_contour, smoothed
from zcdp.privacy.profile.float_contour import HEIGHT, WIDTH, FloatContour, Waves
from zcdp.privacy.profile.profile import Profile

PLANS: dict[str, Parts] = {
    "laplace": ((laplace_pair(Fraction(0.317)), 1), (laplace_pair(Fraction(0.0911)), 3)),
    "atoms": ((three_point_pair(Fraction(0.77), 5), 40), (three_point_pair(Fraction(3.1)), 2)),
    "rows": ((discrete_laplace_pair(Fraction(2.2), 60), 7), (logistic_pair(Fraction(0.4)), 1)),
    "many": ((laplace_pair(Fraction(0.001)), 5000), (three_point_pair(Fraction(0.0007)), 5000)),
}


def contour_of(parts: Parts, work: float = 3e7) -> FloatContour:
    return FloatContour(parts, 3.5, Fraction(1, 2), work)


def sum_and_bound(parts: Parts, work: float = 1e6) -> tuple[arb, arb]:
    """By how much the sum over all nodes is off, against the same in balls, node by node; and what it may be off by."""
    contour = contour_of(parts, work)
    line, point = contour.line, Fraction(1, 3)
    total = acb(0)
    for k in range(contour.nodes):
        z = acb(contour.c, arb(contour.step) * k)
        phase = acb(0, -arb(contour.step) * k * lift(point)).exp()
        term = line.transform.moment(z) / line.weight * phase / (z * (z + 1))
        total += term if k else term / 2
    lower, upper = contour.delta(point)
    scale = line.size(lift(point)) * contour.step / arb.pi()
    middle = (lower + upper + line.aliases(contour.period, lift(point))) / 2 / scale
    return abs(middle - total.real), contour.error


@pytest.mark.parametrize("name", PLANS)
def test_the_sum_of_all_nodes_is_within_its_bound(name: str) -> None:
    several = 3e6 if name == "many" else 1e6  # blocks of nodes, which take long in balls, and one
    found, bound = at_precision(160, lambda: sum_and_bound(PLANS[name], several))
    # roundings go either way, so that a sum of thousands is far from the worst: the next test has none that cancel
    assert 1000 * found < bound < arb("1e-12") * max(count for _, count in PLANS[name])


def test_roundings_that_all_go_one_way_are_within_the_bound_and_near_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every wave as much too long as it may be: in a product of ten thousand factors it adds up, at each node."""

    def stretched(angle: arb, indices: np.ndarray) -> np.ndarray:
        return waves(angle, indices) * (1 + 6 * 2.0**-53)

    monkeypatch.setattr(float_contour, "waves", stretched)

    def off_and_bound() -> tuple[arb, arb]:
        contour = contour_of(PLANS["many"], 1e6)
        off = arb(0)
        for place, row in zip(contour.rows.tolist(), contour.values, strict=True):
            for k, value in enumerate(row.tolist(), start=place * len(row)):
                z = acb(contour.c, arb(contour.step) * k)
                phase = acb(0, -arb(contour.step) * k * contour.top).exp()
                term = contour.line.transform.moment(z) / contour.line.weight * phase / (z * (z + 1))
                off += abs(acb(value) - (term if k else term / 2))
        return off, contour.error

    found, bound = at_precision(160, off_and_bound)
    assert found < bound < 30 * found


def smoothed_delta(parts: Parts, mu: Fraction, epsilon: Fraction) -> float:
    """The mean of the exact profile over the Gaussian's loss, by quadrature."""
    exact, steps = Profile(parts), 801
    total = weight = 0.0
    for n in range(steps):
        s = -8 + 16 * n / (steps - 1)
        density = exp(-s * s / 2)
        loss = Fraction(mu * mu / 2) + mu * Fraction(s)
        total += density * exact.delta_bounds(max(epsilon - loss, Fraction(0)))[1]
        weight += density
    return total / weight


def test_atoms_that_are_not_listed_are_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discrete_gaussian, "TILTED_DEVIATIONS", 1)
    found, bound = at_precision(160, lambda: sum_and_bound(((discrete_gaussian_pair(Fraction(5, 2), 1), 2),)))
    assert bound / 100 < found < bound


def test_the_sum_encloses_that_of_a_finite_sum() -> None:
    """Four Laplace mechanisms."""

    def smooth() -> tuple[float, float, Fraction]:
        contour = contour_of(PLANS["laplace"])
        lower, upper = contour.delta(Fraction(1, 4))
        return float(lower), float(upper), contour.mu

    lower, upper, mu = at_precision(128, smooth)
    assert lower <= upper <= lower * (1 + 1e-9)
    assert upper == pytest.approx(smoothed_delta(PLANS["laplace"], mu, Fraction(1, 4)), rel=1e-8)


def test_nodes_beyond_the_last_are_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a Gaussian pair that is too weak for the few nodes there are."""
    monkeypatch.setattr(float_contour, "TOLERANCE", 1e-2)

    def run() -> None:
        contour = contour_of(PLANS["laplace"], 3e5)
        total, line = arb(0), contour.line
        for k in range(contour.nodes, 2 * contour.nodes):
            z = acb(contour.c, arb(contour.step) * k)
            total += abs(line.transform.moment(z) / line.weight / (z * (z + 1)))
        total *= contour.step / arb.pi()
        assert contour.beyond / 100 < total < contour.beyond
        lower, upper = contour.delta(Fraction(1, 2))
        size = line.size(arb(1) / 2)
        aliases = line.aliases(contour.period, arb(1) / 2)
        assert upper - lower - aliases >= 2 * contour.beyond * size

    at_precision(128, run)


def test_nodes_that_are_left_are_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Left much too early: the ends move apart, and still hold the truth between them."""
    parts = tuple((three_point_pair(Fraction(0.05 + 0.01 * n)), 2) for n in range(40))

    def bounds() -> tuple[float, float]:
        lower, upper = FloatContour(parts, 1.0, Fraction(3), 6e7).delta(Fraction(3))
        return float(lower), float(upper)

    lower, upper = at_precision(128, bounds)
    monkeypatch.setattr(float_contour, "NEGLIGIBLE", 1e-3)
    below, above = at_precision(128, bounds)
    assert below < lower <= upper < above
    assert above - upper > 100 * (upper - lower)


@given(angle=floats(-1e6, 1e6), indices=lists(integers(0, 2**30 - 1), min_size=1, max_size=20))
def test_waves_are_as_near_as_is_said(angle: float, indices: list[int]) -> None:
    def worst() -> arb:
        found = arb(0)
        limit = 6 if max(indices) < 1024 else 32
        for k, value in zip(indices, waves(arb(angle), np.array(indices)), strict=True):
            exact = acb(0, arb(angle) * k).exp()
            found = found.max(abs(acb(value.real, value.imag) - exact))
        return found * 2**53 / limit

    assert at_precision(200, worst) < 1


@given(floats(0, 100))
def test_decays_are_as_near_as_is_said(x: float) -> None:
    value = float(decays(np.array([x]))[0])
    assert at_precision(200, lambda: abs(value - (-arb(x)).exp())) < 2.0**-50


@pytest.mark.parametrize(("c", "loss"), [(1e-150, "1"), (1e150, "1e-150")])
def test_orders_that_doubles_cannot_square_are_left_to_balls(c: float, loss: str) -> None:
    parts = ((laplace_pair(Fraction(loss)), 3),)
    with pytest.raises(TooManyNodes):
        at_precision(128, lambda: FloatContour(parts, c, Fraction(loss), 3e7))


@pytest.mark.parametrize("seed", range(6))
def test_many_different_mechanisms_are_known_to_1e_9(seed: int) -> None:
    rng = random.Random(seed)
    epsilons = [rng.uniform(0.05, 1) for _ in range(26 + 4 * seed)]
    kinds = (Laplace, lambda epsilon: RandomizedResponse(epsilon=epsilon, k=4), DiscreteLaplace)
    plan = Plan.sum_of(*(kinds[n % 3](epsilon=e) for n, e in enumerate(epsilons)))
    lower, upper = plan.epsilon_bounds(delta=1e-6)
    assert plan.profile is not None
    assert plan.profile.epsilon(Fraction(1e-6)).method == "smoothed contour"
    assert lower <= upper <= lower * (1 + 1e-9)


def test_it_is_above_the_truth_of_incommensurable_lattices() -> None:
    epsilons = [Fraction(0.3171), Fraction(0.2113), Fraction(0.1777)]
    counts = (30, 40, 25)
    laws = [(law("rr", e, (Fraction(4),)), n) for e, n in zip(epsilons, counts, strict=True)]
    plan = Plan.sum_of(*(n * RandomizedResponse(epsilon=e, k=4) for e, n in zip(epsilons, counts, strict=True)))
    epsilon = plan.epsilon_at(delta=1e-6)
    truth = Truth(laws, epsilon)
    assert truth.method == "lattice"
    assert truth.delta(Fraction(epsilon)) <= 1e-6
    assert truth.delta(Fraction(epsilon) * (1 - Fraction(1, 10**9))) >= 1e-6


def test_where_doubles_are_too_coarse_balls_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(5)
    plan = Plan.sum_of(*(Laplace(epsilon=rng.uniform(0.05, 1)) for _ in range(26)))
    tight = plan.epsilon_bounds(delta=1e-6)
    with monkeypatch.context() as patch:  # balls are asked too, and doubles are kept, as they are closer
        patch.setattr(smoothed, "DOUBLES_ERROR", 0.0)
        assert Plan.sum_of(*(part for part, _ in plan.parts)).epsilon_bounds(delta=1e-6) == tight
    monkeypatch.setattr(smoothed, "COARSE_DOUBLES_ERROR", 0.0)
    loose = Plan.sum_of(*(part for part, _ in plan.parts)).epsilon_bounds(delta=1e-6)
    assert loose[0] < tight[0] <= tight[1] < loose[1]


def test_rounding_that_has_no_bound_is_left_to_balls() -> None:
    """The density of a logistic pair of tiny loss is a difference of large numbers, which doubles cannot tell."""
    plan = Plan.sum_of(BoundedRange(eta="1e-12"), *(PureDP(epsilon=0.9 + 0.0137 * n**1.5) for n in range(20)))
    assert plan.epsilon_at(delta=0.1) < 21.685


def test_a_table_is_not_made_at_a_precision_that_is_too_low(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a thread that sets the precision of all balls could do: the table would stay."""
    from zcdp.numeric import doubles as module

    monkeypatch.setattr(module, "TABLE_BITS", 60)
    for table in (module._circle, module._exponentials):
        with pytest.raises(Undecided):
            table.__wrapped__()


def test_waves_of_no_known_angle_are_undecided() -> None:
    for angle in (arb("nan"), arb("inf"), arb(1, 1)):
        with pytest.raises(Undecided):
            waves(angle, np.arange(3))


class Known:
    """A factor that is 1/2 at every node, within what it says of e^error - 1."""

    cost, strength, top, count = 1.0, 1.0, arb(0), 1

    def __init__(self, error: float) -> None:
        self.error = arb(error)

    def at(self, first: int, turn: np.ndarray) -> np.ndarray:
        return np.full(turn.shape, 0.5 + 0j)


def blocks_of(factors: list[Known], monkeypatch: pytest.MonkeyPatch) -> tuple[np.ndarray, float]:
    """M(z_k)/(z_k (z_k + 1)) at 128 nodes, and the bound on all errors together."""
    monkeypatch.setattr(float_contour, "WIDTH", 32)
    monkeypatch.setattr(float_contour, "HEIGHT", 4)
    monkeypatch.setattr(float_contour, "FACTORS_PER_GROUP", 1)
    contour = FloatContour.__new__(FloatContour)
    contour.np, contour.c, contour.step = np, arb(1.25), 0.3
    blocks, nodes, error = contour._evaluate(factors, 1e9, 1.0, 0.0)  # type: ignore[arg-type]
    assert nodes == 128
    return blocks[0].value.ravel(), above(error)


def test_what_is_unknown_of_two_factors_multiplies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is 1/2 and may be e^error - 1 more: the product may be off by all three of a' b + a b' + a' b'."""
    one, other = 0.2, 0.3
    value, error = blocks_of([Known(one), Known(other)], monkeypatch)
    most = (0.5 + np.expm1(one)) * (0.5 + np.expm1(other)) - 0.25
    assert (abs(value) * 4).sum() * most <= error <= (abs(value) * 4).sum() * most * (1 + 1e-9)


def test_the_roundings_of_the_kernel_are_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """1/(z (z + 1)) in doubles against fractions, the first node halved."""
    value, error = blocks_of([Known(0.0)], monkeypatch)
    missed = Fraction(0)
    for k, found in enumerate(value.tolist()):
        x, y = Fraction(1.25), Fraction(0.3 * k)
        real, imag = x * x - y * y + x, 2 * x * y + y  # z (z + 1)
        size = (real * real + imag * imag) * (4 if k == 0 else 2)
        missed += max(abs(Fraction(found.real) - real / size), abs(Fraction(found.imag) + imag / size))
    assert 0 < missed <= error < 1e-12


def test_masses_that_are_hardly_known_are_charged_for_each_use() -> None:
    row = Polynomial([[arb(0.5, 1e-6)], [arb(0.25, 2e-6), arb(0.25, 4e-6)]], arb(1), arb(0))
    for count in (1, 30):
        rows = float_contour._Rows(Tilted((row,), arb(1), arb(3e-6)), count, 0.1)
        assert arb(0.99e-5) * count < rows.error < arb(1.01e-5) * count


@pytest.mark.parametrize("highest", [3e4, 1e5])
def test_no_node_is_above_where_the_transforms_are_known(highest: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum of exponentials stands for the transform of a sample up to a height; blocks of nodes are whole."""
    monkeypatch.setattr(sampled_density, "HIGHEST_TILTED", highest)
    sample = laplace_pair(Fraction(1)).sampled(Fraction(1, 10))
    assert sample is not None
    contour = at_precision(128, lambda: FloatContour(((sample, 3),), 3.5, Fraction(1, 5), 3e10))
    assert contour.step * (contour.nodes - 1) <= highest * 4.5


# Sums of exponentials in doubles: within their stated error of the same in balls, on every block and power.


STEP = 2.0**-9 * 1.37


WEIGHTS = [acb(0.5, 0.1), acb(0.25), acb(0.1, -0.05)]
RATES = [acb(0.3, 0.0002), acb(-1.7, 0.001), acb(2.2)]
TURN = np.zeros((HEIGHT, WIDTH), dtype=complex)


def truth(weights: list[acb], rates: list[acb], k: int, count: int) -> complex:
    """(sum over j of g_j e^{iy l_j})^n at y = k step."""
    y = arb(STEP) * k
    total = sum((g * (acb(0, 1) * y * rate).exp() for g, rate in zip(weights, rates, strict=True)), acb(0))
    return complex(total**count)


def made(weights: list[acb], rates: list[acb], count: int, error: str = "0") -> Waves:
    return Waves(Exponentials(weights, rates, arb(error)), count, STEP)


@pytest.mark.parametrize("count", [1, 2, 7])
def test_values_are_those_at_their_own_nodes(count: int) -> None:
    """On the first block, on one further on, on another page of rows, and back again."""

    def compare() -> None:
        waves = made(WEIGHTS, RATES, count)
        allowed = float(waves.error)
        assert allowed < 1e-11
        for first in (0, HEIGHT, 5 * HEIGHT, WIDTH, WIDTH + 3 * HEIGHT, 2 * HEIGHT):
            block = waves.at(first, TURN)
            assert block.shape == (HEIGHT, WIDTH)
            for row, column in ((0, 0), (0, 1), (1, 0), (3, 500), (HEIGHT - 1, WIDTH - 1)):
                right = truth(WEIGHTS, RATES, (first + row) * WIDTH + column, count)
                assert abs(block[row, column] - right) <= allowed + 1e-16

    at_precision(160, compare)


@pytest.mark.parametrize("count", [1, 3, 20])
def test_what_is_not_known_of_the_weights_is_charged_at_every_use(count: int) -> None:
    """Weights that are really larger by their radius, and a sum that is off by its error: of modulus up to 1."""

    def off(weights: list[acb], more: arb, error: str) -> tuple[float, float]:
        waves = made(weights, [acb(0), acb(0)], count, error)
        value = waves.at(0, TURN)[0, 0]
        right = (acb(arb(1) - arb("1e-6")) + more) ** count
        return abs(complex(right) - value), float(waves.error)

    def compare() -> None:
        half = arb("0.5") - arb("5e-7")
        vague = [acb(arb(half.mid(), arb("4e-7"))), acb(half)]
        found, allowed = off(vague, arb("4e-7"), "0")
        assert 3e-7 * count < found <= allowed
        found, allowed = off([acb(half), acb(half)], arb("4e-7"), "4e-7")
        assert 3e-7 * count < found <= allowed
        assert off([acb(half), acb(half)], arb(0), "0")[1] < 1e-12

    at_precision(160, compare)


def test_each_use_may_round_as_much_as_the_first() -> None:
    def errors() -> tuple[arb, arb]:
        return made(WEIGHTS, RATES, 1).error, made(WEIGHTS, RATES, 50).error

    once, often = at_precision(160, errors)
    assert often >= 50 * once * (1 - arb("1e-9"))
    assert once >= arb(2) ** -53 * 100


def test_sums_that_are_too_long_or_not_known_are_refused() -> None:
    def refused(weights: list[acb], rates: list[acb]) -> None:
        with pytest.raises(TooManyNodes):
            made(weights, rates, 1)

    def all_of_them() -> None:
        refused([acb(0)] * (MOST_TERMS + 1), [acb(0)] * (MOST_TERMS + 1))
        refused([acb("0.5")], [acb(0, arb("0.1", "1e-9"))])
        made([acb(0)] * MOST_TERMS, [acb(0)] * MOST_TERMS, 1)

    at_precision(160, all_of_them)
