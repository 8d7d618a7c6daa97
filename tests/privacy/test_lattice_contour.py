"""The contour on a lattice: images of nodes, densities beside atoms, and what is left out."""

from __future__ import annotations

import random
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from flint import acb, arb
from independent import profile_reference as reference
from mpmath import mpf
from privacy.by_engine import HALF, THIRD, by, ends, parts_of

from zcdp import RAPPOR, DiscreteLaplace, Laplace, Log, Plan, PureDP, RandomizedResponse
from zcdp.numeric.balls import at_precision
from zcdp.privacy.loss import discrete_laplace_pair, laplace_pair, logistic_pair, three_point_pair
from zcdp.privacy.loss.decay import Decay
from zcdp.privacy.loss.exponential_law import ExponentialSum
from zcdp.privacy.loss.lattice import common_lattice, snap
from zcdp.privacy.loss.law import Parts
from zcdp.privacy.loss.transform import Transform
from zcdp.privacy.profile.engine import Effort, Line, line_for_epsilon
from zcdp.privacy.profile.lattice_contour import LatticeContour
from zcdp.privacy.profile.profile import Profile


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
        "rappor": lambda e: RAPPOR(epsilon=e).pair().upper,
        "geometric": lambda e: DiscreteLaplace(epsilon=e, sensitivity=3).pair().upper,
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
            decay, size = Decay(transform.tilt(c).shares, c), transform.log_moment(c)
            for begin, end in ((0.01, 0.02), (0.3, 0.31), (0.1, 0.4), (0.49, 0.5)):
                low, high = 2 * pi / g * begin, 2 * pi / g * end
                bound = decay.bound_images(np.array([low]), np.array([high]), pi / g)[0]
                for y in (low, (low + high) / 2, high):
                    for m in (1, -1, 2, 5):
                        true = float(size - abs(transform.moment(c + arb(y + m * 2 * pi / g) * acb(0, 1))).log())
                        assert bound <= true + 1e-9

    at_precision(128, run)


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


def e_pure(z: np.ndarray, e: float) -> np.ndarray:
    """E e^{zL} of two losses, e and -e."""
    return (np.exp(z * e) + np.exp(-(z + 1) * e)) / (1 + np.exp(-e))


def e_laplace(z: np.ndarray, e: float) -> np.ndarray:
    """That of Laplace noise at e: losses e - 2x between 0 and e."""
    between = (1 - np.exp(-(2 * z + 1) * e)) / (2 * (2 * z + 1))
    return np.exp(z * e) * (0.5 + between) + np.exp(-z * e) * np.exp(-e) / 2


@pytest.mark.parametrize("densities", [0, 1, 100])
@pytest.mark.parametrize("where", ["first", "last"])
def test_single_nodes_left_out_are_charged_for_themselves_and_for_their_images(
    densities: int, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two nodes near the first one, or the last one, at half a period: there the nearest image is as near as it is."""
    e = Fraction(2, 3) if not densities else Fraction(1, 10)

    def left_out(last: int) -> np.ndarray:
        return np.arange(40, 42) if where == "first" else np.arange(last, last + 1)

    def asked() -> tuple[LatticeContour, int]:
        plan = Plan.repeated(PureDP(epsilon=e), 1)
        parts = parts_of(plan + densities * Laplace(epsilon=e) if densities else plan)
        transform, lattice = Transform(parts), common_lattice(parts)
        assert lattice is not None
        line = Line(transform, arb(0.05), arb(0.1), tolerance=1e-3)
        count = 2 * int(line.period / float(lattice.gap()) / 2) + 3
        gone = left_out((count - 1) // 2)
        kept = [k for k in range((count - 1) // 2 + 1) if k not in gone]
        nodes = SimpleNamespace(kept=kept, begin=gone - 1, end=gone)
        monkeypatch.setattr("zcdp.privacy.profile.lattice_contour.choose_nodes", lambda *_, **__: nodes)
        monkeypatch.setattr(LatticeContour, "_powers", lambda self: (0, arb(0)))
        return LatticeContour(line, lattice, Effort(10**9)), (count - 1) // 2

    contour, last = at_precision(128, asked)
    step, gap, c = (float(one) for one in (contour.step, contour.spacing, contour.line.c))

    def size(z: np.ndarray) -> np.ndarray:
        return abs(e_pure(z, float(e)) * e_laplace(z, float(e)) ** densities)

    missing = 0.0
    for k in left_out(last).tolist():
        z = c + 1j * (step * k + 2 * np.pi / gap * np.arange(-2000, 2001))
        missing += float((size(z) / size(np.array(c + 0j)) / abs(z * (z + 1))).sum())
    assert missing * step / np.pi <= float(contour.slack)
    assert where == "last" or densities == 0 or missing * step / np.pi > float(contour.slack) / 4
