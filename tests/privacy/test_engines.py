"""Each method for the profile, forced onto compositions whose truth is known: its two ends enclose it."""

from __future__ import annotations

import random
import sys
from fractions import Fraction
from math import inf, nextafter
from typing import Any

import numpy as np
import pytest
from flint import acb, arb
from independent import profile_reference as reference
from mpmath import mp, mpf

from zcdp import (
    RAPPOR,
    BoundedRange,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Laplace,
    LocalHashing,
    Log,
    Logistic,
    Plan,
    PureDP,
    RandomizedResponse,
    TruncatedGeometric,
)
from zcdp.numeric.balls import above, at_precision, below, lift
from zcdp.privacy.loss import discrete_laplace_pair, gaussian_pair, laplace_pair, logistic_pair, three_point_pair
from zcdp.privacy.loss.exponential_sum import ExponentialSum
from zcdp.privacy.loss.law import Parts
from zcdp.privacy.loss.snap import common_lattice, snap
from zcdp.privacy.profile.contour import Contour
from zcdp.privacy.profile.effort import MILLISECOND, Effort
from zcdp.privacy.profile.finite_cut import Cut, cut_degree, expanded
from zcdp.privacy.profile.finite_sum import CutSum, WholeSum, whole_degree
from zcdp.privacy.profile.integrand import Line, Tilt, Transform
from zcdp.privacy.profile.lattice_contour import LatticeContour
from zcdp.privacy.profile.profile import Profile
from zcdp.privacy.profile.question import line_for_epsilon, saddle_estimate
from zcdp.privacy.profile.smoothed import Smoothed
from zcdp.privacy.profile.trapezoid import TooManyNodes, charge, choose, octaves

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
        terms = expanded(parts)
        assert terms is not None
        if method == "whole sum":
            return ends(WholeSum(parts, Cut(Fraction(0), whole_degree(terms), c, arb("-inf"))).delta(epsilon))
        if method == "cut sum":
            cut = cut_degree(transform, terms, c, point, saddle_estimate(transform, c, point), epsilon)
            return ends(CutSum(parts, cut).delta(epsilon))
        if method == "smoothed":
            return ends(Smoothed(parts, c, epsilon, Effort(80 * MILLISECOND), 120 * MILLISECOND).delta(epsilon))
        line = Line(transform, c, point, tolerance=tolerance)
        if method == "contour":
            return ends(Contour(line, Effort(1600 * MILLISECOND)).delta(epsilon))
        lattice = common_lattice(parts)
        assert lattice is not None
        return ends(LatticeContour(line, lattice, Effort(1600 * MILLISECOND)).delta(epsilon))

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


@pytest.mark.parametrize("delta", [1e-2, 1e-6])
def test_a_mass_that_is_exactly_zero_is_no_term_of_the_sum(delta: float) -> None:
    """Two hashed values are binary randomized response: three points, of which the middle one has no mass."""
    atoms = TruncatedGeometric(epsilon=0.25, n=8, sensitivity=4)  # on no lattice with the other atoms
    rest = 2 * ExponentialMechanism(epsilon=2) + 3 * BoundedRange(eta=0.4) + atoms
    found = (LocalHashing(epsilon=5, g=2) + rest).epsilon_bounds(delta=delta)
    assert found == pytest.approx((PureDP(epsilon=5) + rest).epsilon_bounds(delta=delta), rel=1e-13)


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
    from math import inf

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
                        true = float(size - abs(transform.moment(c + arb(y) * _i())).log())
                        assert bound <= true + 1e-12

    at_precision(128, run)


def _i() -> object:
    return acb(0, 1)


@pytest.mark.parametrize("tolerance", [1e-1, 1e-2, 1e-4])
@pytest.mark.parametrize("epsilon", [0, 1, 3, 6, 8])
def test_coarse_lattice_sums_still_enclose(monkeypatch: pytest.MonkeyPatch, tolerance: float, epsilon: int) -> None:
    """With an error that can be seen, the bounds on aliases and on nodes left out must carry it; see test_coarse.py."""
    monkeypatch.setattr("zcdp.privacy.profile.smoothed.TOLERANCE", tolerance)
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


@pytest.mark.parametrize("epsilon", [0, 12])
def test_nodes_of_a_lattice_left_out_are_charged_with_all_their_images(epsilon: int) -> None:
    """|M| is the same at a node and at its images: all of them against the bound, not its effect on one sum."""
    parts = parts_of(Plan.repeated(PureDP(epsilon=THIRD), 400))

    def run() -> None:
        transform, lattice = Transform(parts), common_lattice(parts)
        assert lattice is not None
        line = Line(transform, line_for_epsilon(transform, Fraction(epsilon)), arb(epsilon), tolerance=0.1)
        contour = LatticeContour(line, lattice, Effort(200_000))
        kept, missing = set(contour.kept), arb(0)
        period = 2 * arb.pi() / contour.spacing
        left = [k for k in range(1, (contour.count - 1) // 2 + 1) if k not in kept]
        assert left
        for k in left:
            places = [acb(line.c, contour.step * k + period * m) for m in range(-50, 51)]
            images = sum((1 / abs(z * (z + 1)) for z in places), arb(0))
            missing += abs(transform.moment(places[50])) / line.weight * images
        assert missing * contour.step / arb.pi() < contour.slack

    at_precision(128, run)


@pytest.mark.parametrize("negligible", [-2.0, 0.0, 3.0])
@pytest.mark.parametrize("epsilon", [1, 4, 8])
def test_atoms_above_the_cut_are_charged(monkeypatch: pytest.MonkeyPatch, negligible: float, epsilon: int) -> None:
    """All of them add to delta, and no power is left out: nothing but the bound on them makes up for it."""
    monkeypatch.setattr("zcdp.privacy.profile.finite_cut.NEGLIGIBLE", negligible)
    rows = [("rr", HALF, 7, 60)]
    lower, upper = by("cut sum", parts_of(Plan.repeated(RandomizedResponse(epsilon=HALF, k=7), 60)), Fraction(epsilon))
    truth = reference.lattice_delta(*reference.composed(rows), Fraction(epsilon))
    assert lower <= truth <= upper
    assert upper - lower > 1e-12 * truth  # something was cut off


@pytest.mark.parametrize("window", [True, False])
@pytest.mark.parametrize("negligible", [0.0, 3.0, 10.0])
@pytest.mark.parametrize("epsilon", [3, 12, 30])
def test_coarse_cuts_still_enclose(
    monkeypatch: pytest.MonkeyPatch, negligible: float, epsilon: int, *, window: bool
) -> None:
    monkeypatch.setattr("zcdp.privacy.profile.finite_cut.NEGLIGIBLE", negligible)
    if not window:
        monkeypatch.setattr("zcdp.privacy.profile.finite_cut._ceiling", lambda *_: (float("inf"), arb("-inf")))
    e, count = Fraction(5, 2), 16
    lower, upper = by("cut sum", parts_of(count * Laplace(epsilon=e)), Fraction(epsilon))
    assert lower <= reference.many_laplace_delta(e, count, Fraction(epsilon)) <= upper


def brute_force(parts: list[tuple[str, Fraction, int]], epsilon: Fraction) -> mpf:
    """Every outcome of every mechanism: an atom, or a draw from the density e^{l/2} b on (-e, e).

    The sum of draws has the density e^{s/2} times that of a sum of uniform variables and their widths: signed powers.
    """
    from itertools import combinations_with_replacement, product

    from mpmath import exp, factorial, quad, sinh

    choices = []
    for kind, e, count in parts:
        x = reference.real(e)
        if kind == "laplace":
            options = [(e, None, mpf(1) / 2), (-e, None, exp(-x) / 2), (Fraction(0), e, exp(-x / 2) / 4)]
        elif kind == "logistic":
            options = [(Fraction(0), e, 1 / (4 * sinh(x / 2)))]
        else:
            options = [(a * e, None, mass) for a, mass in reference.outputs(kind, e, 3)]
        rows = []
        for numbers in combinations_with_replacement(range(len(options)), count):
            pick, mass = [options[n] for n in numbers], factorial(count)
            for n in set(numbers):
                mass *= options[n][2] ** numbers.count(n) / factorial(numbers.count(n))
            rows.append((sum(o[0] for o in pick), [o[1] for o in pick if o[1] is not None], mass))
        choices.append(rows)
    total = mpf(0)
    for rows in product(*choices):
        place, widths = sum(row[0] for row in rows), [w for row in rows for w in row[1]]
        mass = mpf(1)
        for row in rows:
            mass *= row[2]
        start, n = epsilon - place, len(widths)
        if not widths:
            total += mass * max(-reference.mpmath.expm1(reference.real(start)), mpf(0))
            continue
        kinks: dict[Fraction, int] = {}
        for signs in product((1, -1), repeat=n):
            where = sum(-s * w for s, w in zip(signs, widths, strict=True))
            sign = 1 if signs.count(-1) % 2 == 0 else -1
            kinks[where] = kinks.get(where, 0) + sign
        bounds = sorted({max(k, start) for k in kinks})

        def density(s: mpf, kinks: dict[Fraction, int] = kinks, n: int = n, start: Fraction = start) -> mpf:
            power = sum(c * (s - reference.real(k)) ** (n - 1) for k, c in kinks.items() if reference.real(k) < s)
            return power / factorial(n - 1) * exp(s / 2) * -reference.mpmath.expm1(reference.real(start) - s)

        if len(bounds) > 1:
            total += mass * quad(density, [reference.real(b) for b in bounds])
    return total


MIXES = [
    ([("laplace", HALF, 3), ("rr", Fraction(1, 4), 2)], Fraction(3, 5)),
    ([("laplace", HALF, 2), ("laplace", THIRD, 1), ("rappor", Fraction(1), 2)], Fraction(1, 7)),
    ([("logistic", THIRD, 2), ("pure", HALF, 3)], Fraction(0)),
    ([("logistic", Fraction(3), 1), ("laplace", Fraction(2), 2), ("geometric", Fraction(3), 1)], Fraction(4)),
    ([("laplace", Fraction(5), 2), ("pure", Fraction(10), 1)], Fraction(15)),
]


def pairs_of(parts: list[tuple[str, Fraction, int]]) -> Parts:
    make = {
        "laplace": laplace_pair,
        "logistic": logistic_pair,
        "rr": lambda e: three_point_pair(e, 3),
        "pure": three_point_pair,
        "rappor": lambda e: RAPPOR(epsilon=e).pair(),
        "geometric": lambda e: DiscreteLaplace(epsilon=e, sensitivity=3).pair(),
    }
    return tuple((make[kind](e), count) for kind, e, count in parts)


@pytest.mark.parametrize(("mix", "epsilon"), MIXES)
def test_atoms_and_densities_on_a_lattice(mix: list[tuple[str, Fraction, int]], epsilon: Fraction) -> None:
    reference.mpmath.mp.prec = 150
    truth = brute_force(mix, epsilon)
    reference.mpmath.mp.prec = 400
    error = truth * mpf(10) ** -25
    for method, loose in (("whole sum", 1e-13), ("lattice", 1e-13), ("smoothed", 0.5)):
        lower, upper = by(method, pairs_of(mix), epsilon)
        assert lower <= truth + error
        assert truth - error <= upper <= truth * (1 + mpf(loose))


@pytest.mark.parametrize("tolerance", [0.3, 1e-2, 1e-5, 1e-17])
def test_a_coarse_lattice_with_densities_still_encloses(tolerance: float) -> None:
    """Whatever is left out, of powers, of nodes and of their images, is charged: against the whole sum."""
    rng = random.Random(7)
    makes = [laplace_pair, logistic_pair, three_point_pair, lambda e: three_point_pair(e, 5)]
    for _ in range(25):
        parts = tuple(
            (rng.choice(makes)(Fraction(rng.choice((1, 2, 3, 7)), rng.choice((1, 2, 10)))), rng.choice((1, 2, 4, 8)))
            for _ in range(rng.choice((1, 2, 3)))
        )
        top = sum(Fraction(str(pair.loss)) * count for pair, count in parts)
        epsilon = top * Fraction(rng.randrange(98), 100)
        truth = by("whole sum", parts, epsilon)
        lower, upper = by("lattice", parts, epsilon, tolerance=tolerance)
        assert lower <= truth[1]
        assert truth[0] <= upper
        if tolerance == 1e-17:
            assert upper <= lower * (1 + 1e-12)


@pytest.mark.parametrize(
    "pair",
    [
        laplace_pair(HALF),
        three_point_pair(HALF, 5),
        logistic_pair(HALF),
        laplace_pair(Fraction(4)),
        discrete_laplace_pair(Fraction(30), 60),
    ],
)
def test_decay_of_images_is_a_lower_bound(pair: ExponentialSum) -> None:
    from math import pi

    def run() -> None:
        transform = Transform(((pair, 3),))
        g = float(pair.loss) * float(pair.ratio)
        for c in (arb("0.1"), arb(2), arb(30)):
            decay, size = Tilt(transform, c).decay, transform.log_moment(c)
            for begin, end in ((0.01, 0.02), (0.3, 0.31), (0.1, 0.4), (0.49, 0.5)):
                low, high = 2 * pi / g * begin, 2 * pi / g * end
                bound = decay.bound_images(np.array([low]), np.array([high]), pi / g)[0]
                for y in (low, (low + high) / 2, high):
                    for m in (1, -1, 2, 5):
                        true = float(size - abs(transform.moment(c + arb(y + m * 2 * pi / g) * _i())).log())
                        assert bound <= true + 1e-9

    at_precision(128, run)


def test_nodes_and_cells_are_counted() -> None:
    def nothing(i: Any, j: Any) -> Any:
        return i < 0

    with pytest.raises(TooManyNodes):
        choose(octaves(1 << 40), nothing, most=1000, work=10**9)
    with pytest.raises(TooManyNodes):
        choose(octaves(1 << 40), lambda i, j: i % 3 == 0, most=10**9, work=1000)
    nodes = choose(octaves(1 << 20), lambda i, j: i >= 64, most=1000, work=1000)
    assert nodes.kept == list(range(65))
    assert sum((nodes.end - nodes.begin).tolist()) == (1 << 20) - 64


def test_what_is_charged_covers_what_is_left_out() -> None:
    weights, decays = np.array([0.5, 2.0, 1e-3, 3.0]), np.array([0.3, 7.77, 0.31, 1e12])
    exact = sum(w * np.exp(-d) for w, d in zip(weights, decays, strict=True))
    assert exact <= above(charge(weights, decays)) <= exact * 1.2


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


def test_decimals_as_floats_share_a_lattice() -> None:
    plan = 10 * RandomizedResponse(epsilon=0.3, k=4) + 10 * Laplace(epsilon=0.05) + 5 * Laplace(epsilon=0.7)
    profile = Profile(snap(parts_of(plan))[0])
    *bounds, method = profile.epsilon(Fraction(1, 10**6))[:3]
    assert method == "lattice"
    exact = 10 * RandomizedResponse(epsilon="0.3", k=4) + 10 * Laplace(epsilon="0.05") + 5 * Laplace(epsilon="0.7")
    lower, upper = Profile(parts_of(exact)).epsilon_bounds(Fraction(1, 10**6))
    assert lower * (1 - 1e-13) < bounds[0] <= bounds[1] < upper * (1 + 1e-13)


@pytest.mark.parametrize("part", [4, 8, 16])
@pytest.mark.parametrize("c", ["0.5", "2"])
def test_images_of_nodes_left_out_are_charged(monkeypatch: pytest.MonkeyPatch, part: int, c: str) -> None:
    """A loss that is nearly always 0, at epsilon 0: no decay, and all nodes and images left out have the same sign."""
    monkeypatch.setattr(LatticeContour, "_negligible", lambda self, i, j: i >= self.count // part)
    parts = ((three_point_pair(Fraction(1), 10**9), 1),)
    lattice = common_lattice(parts)
    assert lattice is not None

    def run() -> tuple[float, float]:
        line = Line(Transform(parts), arb(c), arb(0))
        return ends(LatticeContour(line, lattice, Effort()).delta(Fraction(0)))

    lower, upper = at_precision(128, run)
    assert lower <= 1.718281828e-9 <= upper


@pytest.mark.parametrize("epsilon", [0, 12])
def test_few_points_for_the_lower_end(monkeypatch: pytest.MonkeyPatch, epsilon: int) -> None:
    """With two neighbours only, what lies beyond them must be charged."""
    monkeypatch.setattr("zcdp.privacy.profile.smoothed.LEFT", 1)
    monkeypatch.setattr("zcdp.privacy.profile.smoothed.RIGHT", 1)
    lower, upper = by("smoothed", parts_of(16 * Laplace(epsilon=Fraction(5, 2))), Fraction(epsilon))
    assert lower <= reference.many_laplace_delta(Fraction(5, 2), 16, Fraction(epsilon)) <= upper


@pytest.mark.parametrize(
    ("plan", "method", "apart"),
    [
        (39 * Logistic(epsilon=1.5), "finite sum", 1e-13),
        (2 * PureDP(epsilon="0.7") + RAPPOR(epsilon="0.1"), "finite sum", 1e-13),
        (1000 * Laplace(epsilon=0.1), "contour", 1e-13),
        (300 * PureDP(epsilon="0.1") + 30 * Laplace(epsilon="0.3"), "lattice", 1e-13),
        (3000 * PureDP(epsilon=0.012345678) + 2000 * RAPPOR(epsilon=0.02718281828), "smoothed contour", 1e-6),
    ],
)
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_both_ends_are_tight(plan: Plan, method: str, apart: float, delta: float) -> None:
    profile = Profile(parts_of(plan))
    lower, upper, found = profile.epsilon(Fraction(delta))[:3]
    assert found == method
    assert upper * (1 - apart) <= lower <= upper
    lower, upper = profile.delta_bounds(Fraction(lower))
    assert upper * (1 - 1e3 * apart) <= delta <= upper * (1 + 1e3 * apart)
    assert upper * (1 - 1e3 * apart) <= lower <= upper


def test_near_one() -> None:
    """1 - delta = E min(1, e^{epsilon - L}), of many binary randomized responses far below their mean loss."""
    e, count, epsilon = Fraction(1, 10), 80_000, Fraction(100)
    profile = Profile(((three_point_pair(e), count),))
    lower, upper, method = profile.delta(epsilon)[:3]
    assert method == "Chernoff bound"
    assert lower <= reference.binary_delta(e, count, epsilon) <= upper == 1.0
    assert lower > 1 - 1e-15
    assert Profile(((three_point_pair(e), count),)).delta_bounds(Fraction(390))[1] < 1


def test_the_last_answer_is_kept_with_its_method() -> None:
    profile = Profile(parts_of(1000 * Laplace(epsilon=0.1)))
    first = profile.epsilon(Fraction(1, 1000))
    assert profile.delta(Fraction(101))[:3] == (0.0, 0.0, "largest loss")
    assert profile.epsilon(Fraction(1, 1000)) is first
    assert first.method == "contour"
    assert profile.epsilon(Fraction(1, 10**6)).lower > first.upper


@pytest.mark.parametrize(
    ("count", "loss", "power"), [(1, "5", 140), (7, "0.3", 140), (35_315, "5", 250), (35_315, "0.3", 9000)]
)
def test_a_delta_that_only_the_largest_loss_reaches(count: int, loss: str, power: int) -> None:
    """At the lower end the largest loss alone weighs more than delta, and the upper end is that loss, rounded up."""
    plan = count * PureDP(epsilon=loss)
    assert plan.profile is not None
    lower, upper = plan.profile.epsilon_bounds(Fraction(1, 10**power))  # a plan takes no numbers of so many digits
    assert plan.pure_epsilon <= upper <= nextafter(plan.pure_epsilon, inf)  # of which a plan takes the less
    assert upper * (1 - 1e-15) <= lower < count * Fraction(loss)
    gap = reference.real(count * Fraction(loss) - Fraction(lower))
    alone = (1 - mp.exp(-gap)) / (1 + mp.exp(-reference.real(Fraction(loss)))) ** count
    assert alone > mpf(10) ** -power


def test_a_density_next_to_its_largest_loss() -> None:
    """Two logistic densities, (top - epsilon)^3 or so: 1e-140 is 1e-47 below the top; 1e-20 is far from it."""
    plan = 2 * ExponentialMechanism(epsilon=1) + PureDP(epsilon=2)
    assert plan.profile is not None
    lower, upper, method = plan.profile.epsilon(Fraction(1, 10**140))[:3]
    assert (upper, method) == (plan.pure_epsilon, "largest loss")
    assert lower >= upper * (1 - 1e-15)
    lower, upper = plan.profile.epsilon_bounds(Fraction(1, 10**20))
    assert lower <= upper < plan.pure_epsilon * (1 - 1e-8)


@pytest.mark.parametrize("power", [100, 154, 156, 200, 290])
def test_tiny_losses_have_decays_whose_squares_overflow(power: int) -> None:
    """delta(0) is 2 Phi(mu/2) - 1, nearly mu/sqrt(2 pi), however small mu is."""
    truth = mp.erf(mpf(10) ** -power / (2 * mp.sqrt(2)))
    lower, upper = Gaussian(sigma=f"1e{power}").delta_bounds(epsilon=0)
    assert lower <= truth <= upper <= truth * (1 + mpf(10) ** -9)


def test_many_tiny_densities_have_decays_whose_squares_overflow() -> None:
    """4000 logistic losses of 1e-156: nearly uniform on (-eta, eta), so delta(0) is half of their mean absolute sum."""
    small, large = ((4000 * Logistic(epsilon=f"1e-{power}")).delta_bounds(epsilon=0) for power in (156, 100))
    assert small[1] * 1e56 == pytest.approx(large[1], rel=1e-9)
    assert small[0] <= small[1]


def test_a_density_that_ends_before_the_last_bit_of_the_largest_loss() -> None:
    plan = 1000 * PureDP(epsilon=1) + 100 * Logistic(epsilon="1e-20")
    lower, upper = plan.epsilon_bounds(delta=1e-18)
    rest = (1000 * PureDP(epsilon=1)).epsilon_bounds(delta=1e-18)
    assert lower <= rest[1] * (1 + 1e-12)
    assert upper >= rest[0]


def test_threads_that_ask_one_profile_get_their_own_answers() -> None:
    from concurrent.futures import ThreadPoolExecutor

    plan = 20 * Laplace(epsilon="0.1")
    expected = {e: plan.delta_bounds(epsilon=e) for e in (0, 1)}
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            asked = [n % 2 for n in range(400)]
            answers = list(pool.map(lambda e: plan.delta_bounds(epsilon=e), asked))
    finally:
        sys.setswitchinterval(before)
    assert answers == [expected[e] for e in asked]


@pytest.mark.parametrize("loss", ["1/3", "0.1", "1", "log(3)"])
def test_the_lower_end_at_delta_zero_is_not_above_the_loss(loss: str) -> None:
    lower, upper = RandomizedResponse(epsilon=loss, k=2).epsilon_bounds(delta=0)
    exact = mp.log(3) if loss == "log(3)" else reference.real(Fraction(loss))
    assert lower <= exact <= upper
    assert upper - lower <= 5e-16 * upper


@pytest.mark.parametrize("sensitivity", [9, 60, 500])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(7)])
def test_many_atoms_in_closed_form_are_their_sum(sensitivity: int, epsilon: Fraction) -> None:
    """Discrete Laplace noise from its masses, at real and complex points, next to a period of the lattice too."""

    def run() -> None:
        t = lift(epsilon / sensitivity)
        pair = discrete_laplace_pair(epsilon, sensitivity)
        closed, scale = pair.ready().moment, ((t / 2).exp() - (-t / 2).exp()) / ((t / 2).exp() + (-t / 2).exp())
        for place in (acb(0.3), acb(2, 1.7), acb(1, arb.pi() / t + 1e-9), acb(40, 3)):
            # losses t (|i - d| - |i|) of mass proportional to e^{-t|i|}; the two tails are geometric
            total = acb(0)
            for i in range(1, sensitivity):
                total += scale * (place * t * (sensitivity - 2 * i) - t * i).exp()
            tail = scale / (1 - (-t).exp())
            total += tail * ((place * lift(epsilon)).exp() + ((-place - 1) * lift(epsilon)).exp())
            assert abs(closed(place) - total) < abs(total) * arb("1e-30")

    at_precision(200, run)


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


@pytest.mark.parametrize(
    ("plan", "delta"),
    [
        (100 * DiscreteLaplace(epsilon=0.5, sensitivity=300), "1e-40"),
        (
            Plan.parse(
                "DiscreteLaplace(epsilon='0.002', sensitivity=2) + DiscreteLaplace(epsilon='0.01', sensitivity=5)"
                " + DiscreteLaplace(epsilon='0.2', sensitivity=2) + DiscreteLaplace(epsilon='0.3')"
                " + DiscreteLaplace(epsilon=3, sensitivity=2) + DiscreteLaplace(epsilon='0.06', sensitivity=5)"
            ),
            "2e-9",
        ),
    ],
)
def test_just_below_the_largest_loss_there_is_a_lower_end(plan: Plan, delta: str) -> None:
    lower, upper = plan.epsilon_bounds(delta=delta)
    assert plan.pure_epsilon * (1 - 1e-6) < lower <= upper < plan.pure_epsilon
    assert upper <= lower * (1 + 1e-12)


def test_a_line_far_from_epsilon_zero_is_not_taken_for_a_small_delta() -> None:
    lower, upper = (1000 * Laplace(epsilon="6.4")).epsilon_bounds(delta="1e-100")
    assert 6220.1 < lower <= upper <= lower * (1 + 1e-12)


@pytest.mark.parametrize("power", [14, 154, 156, 160, 300])
@pytest.mark.parametrize("more", [False, True])
def test_tiny_losses_on_no_lattice_are_not_lost(power: int, *, more: bool) -> None:
    """delta over the scale does not depend on it: 0.63964... for these losses."""
    rng = random.Random(1)
    losses = [Fraction(rng.uniform(0.05, 1)) for _ in range(30)]
    scale = Fraction(43, 10**power)
    far = Fraction(10**20 if more else 0)  # one mechanism that is always told: it only shifts epsilon
    plan = Plan.sum_of(*(Laplace(epsilon=loss * scale) for loss in losses), *([PureDP(epsilon=far)] if more else []))
    lower, upper = plan.delta_bounds(epsilon=sum(losses) * scale / 10 + far)
    assert Fraction(lower) / scale < Fraction("0.63965")
    assert Fraction("0.63964") < Fraction(upper) / scale < Fraction("1.3")
