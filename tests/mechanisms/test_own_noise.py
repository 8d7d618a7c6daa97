"""Noise whose density is written: against built-in noise, mpmath, and for every bad input."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise
from math import exp, inf

import mpmath
import numpy as np
import pytest

from zcdp import L2, GeneralizedGaussian, L0LInf, Laplace, Logistic, Mixture, Noise, Plan, StudentT, account
from zcdp import Gaussian as BuiltIn
from zcdp.errors import BadType, BadValue

STUDENT = Noise("(1 + x^2/12)^-2")
NARROW, WIDE = (GeneralizedGaussian(power=2, scale=scale) for scale in (1, 2))


@pytest.mark.parametrize(
    ("written", "built"),
    [
        (Noise("exp(-abs(x)/2)"), Laplace(scale=2)),
        (Noise("exp(-x^2/8)"), BuiltIn(sigma=2)),
        pytest.param(Noise("1/cosh(x/4)^2"), Logistic(scale=2), marks=pytest.mark.deep),
    ],
    ids=["laplace", "gaussian", "logistic"],
)
def test_built_in_noise_that_is_written_as_a_density(written: Noise, built: Laplace) -> None:
    lower, upper = written.rho_bounds
    assert lower <= built.rho <= upper * (1 + 1e-12)
    assert upper <= lower * (1 + 1e-8)
    for delta in (0.01, 1e-6):
        low, high = written.epsilon_bounds(delta=delta)
        assert low <= built.epsilon_bounds(delta=delta)[1]
        assert high >= built.epsilon_bounds(delta=delta)[0]
        assert high - low < 1e-9
    low, high = (20 * written).epsilon_bounds(delta=1e-6)
    first, second = (20 * built).epsilon_bounds(delta=1e-6)
    assert low <= second
    assert high >= first
    assert high - low < 0.004 * high


@pytest.mark.deep
def test_the_values_of_students_t() -> None:
    assert STUDENT.rho_bounds == pytest.approx((0.08205490093, 0.08205490095), rel=1e-9)
    assert STUDENT.epsilon_at(delta=1e-6) == pytest.approx(0.57520920347523, rel=1e-12)
    assert STUDENT.pure_epsilon == pytest.approx(0.57536414490356, rel=1e-12)


@pytest.mark.deep
def test_the_renyi_curve_is_no_looser_than_rho() -> None:
    """Integrals of more digits than anyone needs used up the work of its search: 12.8, not 2.55."""
    found = account(10 * StudentT(degrees=3, scale=4), delta=1e-6).total.routes
    assert found["profile"] < found["rdp"] < 2.56 < found["zcdp"]


@pytest.mark.deep
def test_a_hundred_uses() -> None:
    low, high = (100 * STUDENT).epsilon_bounds(delta=1e-6)
    assert 25.93944 < low < 25.9398 < high < 25.93990
    flat = GeneralizedGaussian(power="1.5", scale=2)
    assert flat.rho_bounds == pytest.approx((0.18026599482, 0.18026599500), rel=1e-9)
    assert flat.epsilon_at(delta=1e-6) == pytest.approx(1.606078422218539, rel=1e-13)
    low, high = (100 * flat).epsilon_bounds(delta=1e-6)
    assert 44.22 < low < 44.2416 < high < 44.2447


def _true_delta(v: object, shift: float, epsilon: float, reach: float) -> mpmath.mpf:
    """The integral of (f - e^epsilon f_D)+ by mpmath, cut where its sign changes on a grid."""
    mpmath.mp.dps = 20
    f = lambda x: mpmath.exp(-v(x))  # type: ignore[operator]  # noqa: E731
    grid = [mpmath.mpf(-reach) + 2 * reach * n / 400 for n in range(401)] + [mpmath.mpf(0), mpmath.mpf(shift)]
    grid = sorted(set(grid))
    whole = sum((mpmath.quad(f, [a, b]) for a, b in pairwise(grid)), mpmath.mpf(0))
    beyond = [[-mpmath.inf, grid[0]], [grid[-1], mpmath.inf]]
    whole += sum(mpmath.quad(f, tail) for tail in beyond)
    g = lambda x: f(x) - mpmath.exp(epsilon) * f(x - shift)  # noqa: E731
    total = sum(
        (mpmath.quad(g, tail) for tail, x in zip(beyond, (grid[0], grid[-1]), strict=True) if g(x) > 0), mpmath.mpf(0)
    )
    for a, b in pairwise(grid):
        if g(a) > 0 and g(b) > 0:
            total += mpmath.quad(g, [a, b])
        elif g(a) > 0 or g(b) > 0:
            inside, outside = (a, b) if g(a) > 0 else (b, a)
            for _ in range(60):
                middle = (inside + outside) / 2
                inside, outside = (middle, outside) if g(middle) > 0 else (inside, middle)
            total += mpmath.quad(g, sorted([a if g(a) > 0 else b, inside]))
    return total / whole


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(200))
def test_ends_bracket_mpmath(seed: int) -> None:
    """Random families, scales, sensitivities and epsilons."""
    rng = random.Random(seed)
    scale, shift = Fraction(rng.randint(5, 40), 10), Fraction(rng.randint(2, 20), 10)
    kind = seed % 3
    if kind == 0:
        nu = rng.randint(2, 9)
        noise = StudentT(degrees=nu, scale=scale, sensitivity=shift)
        v = lambda x: mpmath.mpf(nu + 1) / 2 * mpmath.log(1 + (x / mpmath.mpf(float(scale))) ** 2 / nu)  # noqa: E731
        reach = 400.0 * float(scale)
    elif kind == 1:
        power = Fraction(rng.randint(3, 10), 4)
        noise = GeneralizedGaussian(power=power, scale=scale, sensitivity=shift)
        v = lambda x: abs(x / mpmath.mpf(float(scale))) ** mpmath.mpf(float(power))  # noqa: E731
        reach = float(scale) * 45.0 ** (1 / float(power))
    else:
        a, b = rng.randint(1, 4), rng.randint(1, 4)
        noise = Noise(f"exp(-max(x/{a}, -x/{b}))", sensitivity=shift)
        v = lambda x: max(x / mpmath.mpf(a), -x / mpmath.mpf(b))  # noqa: E731
        reach = 45.0 * max(a, b)
    epsilon = Fraction(rng.randint(1, 80), 100)
    low, high = noise.delta_bounds(epsilon=epsilon)
    true = max(_true_delta(v, side * float(shift), float(epsilon), reach) for side in (1, -1))
    assert low - 1e-13 <= true <= high + 1e-13  # mpmath's own error, of quadrature between kinks and the cut tails
    assert high - low <= 1e-12 + 1e-9 * high


@pytest.mark.parametrize(
    ("density", "named", "error", "told"),
    [
        ("exp(-x^2)*(x - 3.25)", {}, BadValue, "density is negative near x = "),
        ("1/(1 + abs(x))", {}, BadValue, "its integral diverges"),
        ("log(2 + x^2)*exp(-x^2)", {}, BadValue, "no tail bound found on the left, however far out: state tail="),
        ("exp(-abs(y))", {}, BadValue, "there is no name 'y'"),
        ("exp(-abz(x))", {}, BadValue, "did you mean 'abs'"),
        ("exp(-abs(x))", {"sensitivity": 0}, BadValue, "sensitivity (0) must be positive"),
        ("exp(-abs(x))", {"sensitivity": float("nan")}, BadValue, "sensitivity (nan) must be finite"),
        ("exp(-abs(x))", {"sensitivity": L2(1)}, BadValue, "must be a number or L0LInf"),
        ("exp(-abs(x))", {"tail": "power"}, BadValue, "must be ['power', a, b, x]"),
        ("exp(-abs(x))", {"tail": ["power", 1]}, BadValue, "must be above 1"),
        ("exp(-abs(x))", {"tail": ["exponential", 2, 1]}, BadValue, "must be at least a"),
        ("exp(-abs(x))", {"unimodal": 1}, BadType, "unimodal"),
        (3, {}, BadType, "density (3) must be text"),
        (lambda x: 1 if x > 0 else 2, {}, BadType, "traced once with a symbol"),
    ],
)
def test_bad_input_is_answered(density: object, named: dict[str, object], error: type[Exception], told: str) -> None:
    with pytest.raises(error) as caught:
        Noise(density, **named)  # type: ignore[arg-type]
    assert told in str(caught.value)


def test_an_assumption_travels_with_the_value() -> None:
    noise = Noise("log(2 + x^2)*exp(-abs(x))", tail=["exponential", "1/2", 1, 40], unimodal=True)
    assert any("beyond |x| = 40" in one for one in noise.assumptions)
    assert eval(repr(noise), {"Noise": Noise}) == noise
    assert Plan.parse(repr(noise)).parts[0][0].assumptions == noise.assumptions  # type: ignore[attr-defined]
    open_ended = Noise("log(2 + x^2)*exp(-abs(x))", tail=["exponential", "1/2", None, 60])
    assert open_ended.rho == inf
    assert "stated" in open_ended.infinite_because


def test_a_tail_whose_slope_has_no_upper_end() -> None:
    """All mass beyond stays: delta is that of the same noise of which everything is known, and so are the draws."""
    known = Laplace(scale=1)
    noise = Noise("exp(-abs(x))", tail=["exponential", 1, None, "0.5"])
    for epsilon in ("0.1", "0.5", "0.9"):
        lower, upper = noise.delta_bounds(epsilon=epsilon)
        assert lower <= known.delta_bounds(epsilon=epsilon)[1] * (1 + 1e-12)
        assert upper >= known.delta_bounds(epsilon=epsilon)[0] * (1 - 1e-12)
        assert upper - lower < 1e-9
    assert noise.rho_bounds[0] <= known.rho
    assert noise.rho_bounds[1] == inf
    drawn = noise.sample(1000)
    for place in (-2, -1, 0, 1, 2):
        below = exp(-abs(place)) / 2 if place <= 0 else 1 - exp(-place) / 2
        assert abs((drawn < place).mean() - below) < 5 * (0.25 / 1000) ** 0.5
    heavy = Noise("(1+x^2)^-2", tail=["power", 3])
    assert heavy.delta_bounds(epsilon=1) == pytest.approx(Noise("(1+x^2)^-2").delta_bounds(epsilon=1), rel=1e-9)


def test_lower_ends_where_tails_are_cut() -> None:
    """What is so rare that it counts as an infinite loss is one from above alone."""
    wide = GeneralizedGaussian(power=2, scale="1.4142135623730951")  # Gaussian noise of deviation 1
    assert wide.delta_bounds(epsilon=25)[0] <= 2.9e-134
    lower, upper = wide.epsilon_bounds(delta="1e-60")
    assert lower <= 16.723 <= upper < 17
    steep = Noise("exp(-x^2)", tail=["exponential", 1, None, 3])
    assert steep.delta_bounds(epsilon=25)[0] <= 5.3e-66
    assert steep.delta_bounds(epsilon=25)[1] >= 5.2e-66
    assert STUDENT.epsilon_bounds(delta="1e-300")[0] <= 4 * np.arcsinh(0.5 / 12**0.5)


def test_the_largest_loss_where_balls_know_nothing_of_some_cells() -> None:
    """The logarithm of a polynomial on a wide ball may be anything; the largest loss lies elsewhere, and is found."""
    noise = Noise("1/(1 + 2*x^2 - x^4 + x^6/6)", sensitivity="1.24", unimodal=True)
    square = np.linspace(-6, 6, 200_001) ** 2
    moved = (np.linspace(-6, 6, 200_001) - 1.24) ** 2
    v, w = (np.log1p(2 * s - s**2 + s**3 / 6) for s in (square, moved))
    assert np.max(w - v) <= noise.pure_epsilon <= np.max(w - v) * (1 + 1e-6)


def test_where_no_bound_on_rho_is_known_its_lower_end_is_finite() -> None:
    lower, upper = Noise("exp(-x^4 + 3*x^2)").rho_bounds
    assert (lower, upper) == (inf, inf)
    lower, upper = Noise("exp(-2*(x-2)^2) + exp(-2*(x+2)^2)").rho_bounds  # V'' is at most 4, and so rho at most 2
    assert 1.9 < lower <= upper <= 2.0000001


@pytest.mark.parametrize(
    ("density", "named", "told"),
    [
        ("exp(-abs(x-3)) + exp(-abs(x+3))", {"unimodal": True}, "unimodal: the density rises again near x = "),
        ("exp(-x^2/2)", {"tail": ["exponential", 1, 2, 3]}, "tail: near x = -3 the slope of -log f is 3 in size"),
        ("(1+x^2)^-2", {"tail": ["power", 3, "3.5", 100]}, "|x| times the slope of -log f is 4 in size"),
        ("log(3+x^2)*exp(-abs(x))", {"tail": ["exponential", "1/10", "1/5", 40]}, "not as stated"),
    ],
)
def test_what_is_stated_and_false_is_refused(density: str, named: dict[str, object], told: str) -> None:
    with pytest.raises(BadValue) as caught:
        Noise(density, **named)  # type: ignore[arg-type]
    assert told in str(caught.value)


def test_ends_of_rho_that_are_apart_are_not_called_exact() -> None:
    apart = Mixture([["0.9", NARROW], ["0.1", WIDE]])
    assert apart.rho_bounds[0] < apart.rho_bounds[1] * 0.9
    assert not apart.is_tight
    assert STUDENT.is_tight
    assert Noise("exp(-x^4)").is_tight


def test_what_is_proven_is_not_an_assumption() -> None:
    assert Noise("exp(-abs(x))", unimodal=True).assumptions == ()


def test_infinite_rho_names_its_cause() -> None:
    steep = GeneralizedGaussian(power=3, scale=2)
    assert steep.rho == inf
    assert "faster than that of any Gaussian" in steep.infinite_because
    assert 0 < steep.rdp(2) < inf
    made = account(steep + Laplace(epsilon=1), delta=1e-6)
    assert made.queries[0].about == f"rho is infinite: {steep.infinite_because}"
    assert made.total.rho == inf
    assert made.total.routes["profile"] == made.total.epsilon < inf


@pytest.mark.parametrize("text", ["exp(-sqrt(abs(x^2 - 1)) - abs(x)/10)", "exp(-x^2) + exp(-(x - 9)^2 - abs(x))"])
def test_where_no_bound_is_known_it_is_said(text: str) -> None:
    noise = Noise(text)
    assert noise.rho == inf
    assert noise.infinite_because.startswith("no bound on rho is known for several modes")
    assert "no bound on rho is known" in account(noise, delta="1/10", curve=False).queries[0].about


def test_a_kink_adds_to_the_divergence_of_gaussian_tails() -> None:
    """V = max(x^2/2, 5 + x^2/200): its slope jumps by 3.15 at +-3.18; K(s)/(s(1+s)) in floats is above 0.0095."""
    noise = Noise("exp(-max(x^2/2, x^2/200 + 5))", sensitivity="1/10")
    x = np.linspace(-40, 40, 400_001)
    v, moved = (np.maximum(y * y / 2, y * y / 200 + 5) for y in (x, x - 0.1))
    true = np.log(np.exp(-21 * v + 20 * moved).sum() / np.exp(-v).sum()) / 20
    assert true > 0.0095 * 21
    assert noise.rdp(21) == pytest.approx(true, rel=1e-6)


def test_a_slope_that_changes_far_out_counts() -> None:
    """exp(-|x|) up to 100, and half as steep from there: at epsilon 0.9 that of Laplace noise."""
    noise = Noise("exp(-abs(x) + max(0, x - 100)/2 + max(0, -x - 100)/2)")
    true = 1 - exp(-0.05)
    assert noise.delta_bounds(epsilon="0.9") == pytest.approx((true, true), rel=1e-12)


def test_many_uses_of_a_density_with_a_kink() -> None:
    """Two losses have most of the mass; from some 400 uses on the ends were 0 and twice the truth."""
    noise, built = Noise("exp(-abs(x))", sensitivity="0.01"), Laplace(scale=1, sensitivity="0.01")
    low, high = (500 * noise).epsilon_bounds(delta=1e-6)
    true = (500 * built).epsilon_bounds(delta=1e-6)
    assert low <= true[1]
    assert high >= true[0]
    assert high - low < 1e-6 * high


def test_delta_at_the_largest_loss_is_0() -> None:
    """The loss is 9/20 on a half line: no root to look for there."""
    noise = Noise("exp(-max(x/3, -x/2))", sensitivity="9/10")
    assert noise.pure_epsilon == 0.45
    assert noise.delta_bounds(epsilon="9/20")[1] < 1e-30


@pytest.mark.parametrize("shift", [Fraction(1, 100), Fraction(1, 10**6)])
def test_small_sensitivities(shift: Fraction) -> None:
    """The largest ratio lies at orders of about 1/shift; here in closed form, for both directions."""
    noise, t = Noise("exp(-max(x, -2*x))", sensitivity=shift), mpmath.mpf(shift.numerator) / shift.denominator
    mpmath.mp.dps = 40

    def ratio(s: mpmath.mpf, right: int, left: int) -> mpmath.mpf:
        """Of noise that falls with these rates: losses from -right t to left t."""
        whole, slope = mpmath.mpf(1) / right + mpmath.mpf(1) / left, right + s * (right + left)
        between = mpmath.exp(left * s * t) * -mpmath.expm1(-slope * t) / slope
        ends = mpmath.exp(-right * t * (1 + s)) / right + mpmath.exp(left * s * t) / left
        return mpmath.log((between + ends) / whole) / (s * (1 + s))

    true = max(ratio(mpmath.mpf(10) ** (k / 40) / t, *two) for k in range(-200, 100) for two in ((1, 2), (2, 1)))
    low, high = noise.rho_bounds
    assert true * (1 - 1e-3) < low <= high < true * (1 + 1e-3)
    assert high >= true * (1 - mpmath.mpf(10) ** -15)
    assert high - low < 1e-9 * high


def test_plans_groups_and_vectors() -> None:
    noise = Noise("exp(-abs(x))")
    assert Plan.parse("3 * Noise('exp(-abs(x))')").parts == ((noise, 3),)
    assert noise.group(3) == Noise("exp(-abs(x))", sensitivity=3)
    assert noise.group(3).pure_epsilon == pytest.approx(3)
    many = Noise("exp(-abs(x))", sensitivity=L0LInf(4, 1))
    assert many.pure_epsilon == pytest.approx(4)
    assert many.rho == pytest.approx(4 * noise.rho)
    assert many.delta_at(epsilon=1) == pytest.approx((4 * noise).delta_at(epsilon=1))


@pytest.mark.deep
def test_a_density_of_two_modes_covers_smaller_shifts() -> None:
    """At epsilon 0 the shift by 4 tells modes 4 apart less than a smaller one does."""
    two = Noise("exp(-8*abs(x - 2)) + exp(-8*abs(x + 2))", sensitivity=4)
    assert not two.is_unimodal
    assert not two.is_tight
    assert two.delta_at(epsilon=0) >= 0.99
