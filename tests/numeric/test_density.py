"""Densities: integrals against closed forms, proven tails and modes, and what is refused, with its place."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from flint import arb

from zcdp.errors import BadValue
from zcdp.numeric.balls import at_precision, lift
from zcdp.numeric.density import Density, FormulaDensity, MixtureDensity, Stated, Tail, between
from zcdp.numeric.formula import read
from zcdp.numeric.work import SECOND, within

INTEGRALS = {
    "exp(-abs(x))": 2.0,
    "exp(-x^2/2)": math.sqrt(2 * math.pi),
    "1/(1 + x^2)": math.pi,
    "(1 + x^2/3)^-2": math.pi * math.sqrt(3) / 2,
    "(1 + x^2/2)^(-3/2)": 2 * math.sqrt(2),
    "(1 + x^2)^(-7/4)": math.sqrt(math.pi) * math.gamma(5 / 4) / math.gamma(7 / 4),
    "exp(-atan(x)^2)/(1 + x^2)": math.sqrt(math.pi) * math.erf(math.pi / 2),
    "exp(-abs(x)^0.5)": 4.0,
    "exp(-max(x, -x)^1.5)": 2 * math.gamma(5 / 3),
    "exp(-max(0, x)^1.5 - max(0, -x))": math.gamma(5 / 3) + 1,
    "exp(-max(1, abs(x)))": 4 / math.e,
    "exp(-max(x, -x/2))": 3.0,
    "exp(-abs(x - 1/3)^1.5)": 2 * math.gamma(5 / 3),
    "exp(-x)/(1 + exp(-x))^2": 1.0,
    "exp(-(x - 100)^2)": math.sqrt(math.pi),
}


def density(text: str) -> FormulaDensity:
    return FormulaDensity(read(text))


@pytest.mark.parametrize(("text", "whole"), INTEGRALS.items())
def test_integrals_over_the_line(text: str, whole: float) -> None:
    found = at_precision(100, density(text).whole)
    assert float(found) == pytest.approx(whole, rel=1e-14)
    assert found.rad() < 1e-24


@pytest.mark.parametrize("text", [*INTEGRALS, "1/(1 + x^4)", "(1 + abs(x - 1/3)^3)^-2", "exp(-abs(x))/(1 + x^4)"])
def test_one_mode_is_proven(text: str) -> None:
    assert density(text).is_unimodal


@pytest.mark.parametrize(
    "text",
    [
        "exp(-(x-2)^2) + exp(-(x+2)^2)",
        "exp(-abs(x-1)) + exp(-abs(x+1))",
        "(1+x^2)*exp(-abs(x)/2)",
        "exp(-abs(abs(x) - 1))",
        "exp(-x^2/2)*(1 + exp(-(1000*(x - 0.7))^2)/2)",
        "exp(-x^2) + exp(-(x - 100000)^2 - 100)",
        # peaks that lie in one cell, on each side of which V is convex
        "exp(-min(x^2/100, min(1000000*(x-0.7)^2 - 3, 1000000*(x-1.7)^2 - 3)))",
        # V rises up to a kink that is no double, and falls behind it
        "exp(-(x+20)^2-min(0,56/3*(-286/15-x)))",
        "exp(-(x-20)^2-min(0,56/3*(-286/15+x)))",
    ],
)
def test_two_modes_are_not_taken_for_one(text: str) -> None:
    assert not density(text).is_unimodal


# Slopes that change once more far out.
LATE = (
    "exp(-abs(x) + max(0, x - 100)/2 + max(0, -x - 30)/2)",
    "exp(-abs(x) - 2*max(0, x - 25))",
    "exp(-max(abs(x), 2*abs(x) - 40))",
    "(1 + x^2)^-2 + (1 + (x - 50)^2)^-2",
)
# The heavier of two kinds of tails takes over far out.
TWO_KINDS = (
    "exp(-x^2/2) + 0.1*exp(-abs(x)/3)",
    "1e-9*(1 + x^2)^-1 + exp(-abs(x))",
    "1e-30*exp(-abs(x)^1.5/9) + exp(-x^2) + 0.2*exp(-(x - 3)^2/2)",
    "1e-6*(1 + abs(x))^-3 + 1e-3*(1 + x^2)^-4 + exp(-x^2)",
)


def test_a_mixture_bends_less_than_its_parts() -> None:
    """V of six peaks on a nearly flat density is concave between them; V'' of each part is 0 there."""
    parts = [density(f"exp(-10*abs(x+{1000 + k}))") for k in range(6)]
    parts += [density("exp(-100*abs(x))"), density("exp(-abs(x)/10000)")]
    weights = [Fraction(1, 10)] * 6 + [Fraction(3, 10), Fraction(1, 10)]
    mixed = MixtureDensity(list(zip(weights, parts, strict=True)))
    assert not mixed.is_unimodal
    x, h = -1002.4, 1e-4
    bent = at_precision(200, lambda: (mixed.v(arb(x + h)) + mixed.v(arb(x - h)) - 2 * mixed.v(arb(x))) / h**2)
    found = at_precision(200, lambda: mixed.bend(arb(x)))
    assert float(bent) < -1
    assert float(found) == pytest.approx(float(bent), rel=1e-3)


def test_a_slope_of_0_inside_takes_few_cells() -> None:
    """V' is (1 - u)^2/(1 + u^2) right of a kink: not proven to be one mode, and not searched for ever."""
    one = density("exp(-abs(x+2))*(1+(x-1/3)^2)")
    assert not within(SECOND, lambda: one.is_unimodal)


def test_wide_balls_of_a_mixture_are_known() -> None:
    one = MixtureDensity([(Fraction(1), density(text)) for text in ("exp(-abs(x)^1.6)", "exp(-abs(x)^1.5)")])
    found = at_precision(128, lambda: one.v(between(arb(1000), arb(1100))))
    ends = [at_precision(128, lambda x=x: one.v(arb(x))) for x in (1000, 1050, 1100)]
    assert all(found.contains(end) for end in ends)
    assert found.rad() < 3000


def test_what_is_stated_of_a_part_is_known_of_a_mixture() -> None:
    told = FormulaDensity(
        read("log(3 + x^2)*exp(-abs(x))"), Stated("exponential", Fraction(1, 2), Fraction(1), Fraction(10**6))
    )
    one = MixtureDensity([(Fraction(1), told), (Fraction(1), density("exp(-2*abs(x))"))])
    tail = one.tail(1)
    for far in (1, 3, 100):
        slope = at_precision(128, lambda far=far: one.slope(tail.start * far))
        assert tail.least <= slope <= tail.most
    assert tail.start >= 10**6


def test_tails_of_parts_that_fall_nearly_alike() -> None:
    """A weight is at most 1, whatever its bound: far out nothing is said that is not known nearer."""
    parts = [(Fraction(1), density("(1 + x^2/3)^-2")), (Fraction(10**9), density("(1 + x^2/3.01)^(-4.01/2)"))]
    one = MixtureDensity(parts)
    for k in (0, 2, 4, 8):
        found = at_precision(128, lambda k=k: one.find_tail(1, one.tail(1).start * 2**k))
        assert found is not None
        assert 3.9 < found.least < found.most < 4.02


def test_near_modes_of_a_mixture_are_one() -> None:
    gaussians = [(Fraction(1, 2), density(f"exp(-(x{place})^2/2)")) for place in ("-0.9", "+0.9")]
    assert MixtureDensity(gaussians).is_unimodal
    apart = [(Fraction(1, 2), density(f"exp(-(x{place})^2/2)")) for place in ("-1.1", "+1.1")]
    assert not MixtureDensity(apart).is_unimodal


def test_tails_are_bounds_of_the_slope() -> None:
    for text in (*INTEGRALS, *LATE, *TWO_KINDS):
        _check_tails(density(text))
    gaussian, laplace, student = map(density, ("exp(-x^2/2)", "exp(-abs(x - 1)/2)", "(1 + x^2)^-1"))
    twice, narrow = [gaussian, gaussian], density("exp(-abs(x))")
    for parts in ([laplace, gaussian], [gaussian, student], [student, gaussian, laplace], twice, [laplace, narrow]):
        weights = [Fraction(1, 10**9), *[Fraction(1)] * (len(parts) - 1)]
        pairs = list(zip(weights, parts, strict=True))
        _check_tails(MixtureDensity(pairs))
        _check_tails(MixtureDensity(pairs[::-1]))


def _check_tails(one: Density) -> None:
    for side in (-1, 1):
        tail = one.tail(side)
        for factor in (1.0, 1.01, 1.1, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 40.0):
            far = float(tail.start) * factor
            slope = side * at_precision(200, lambda x=side * far: one.slope(arb(x)))
            assert tail.is_bounded
            assert (between(tail.least, tail.most) * tail.growth(arb(far))).overlaps(slope), (one, side, far)
            assert tail.least > 0


def test_the_heavier_of_two_kinds_of_tails_decides() -> None:
    power = {
        "exp(-x^2/2) + 0.1*exp(-abs(x)/3)": 0,
        "1e-9*(1 + x^2)^-1 + exp(-abs(x))": -1,
        "1e-30*exp(-abs(x)^1.5/9) + exp(-x^2)": Fraction(1, 2),
    }
    assert [density(text).tail(1).power for text in power] == list(power.values())


def test_what_lies_beyond_is_bounded() -> None:
    """Densities u^-3 and e^-2u from 10 on: integrals of 1/200 and e^-20/2."""
    power, exponential = Tail(Fraction(-1), arb(3), arb(3), arb(1)), Tail(Fraction(0), arb(2), arb(2), arb(1))
    assert power.rest(arb(10) ** -3, arb(10)).contains(arb(1) / 200)
    assert exponential.rest(arb(-20).exp(), arb(10)).overlaps(arb(-20).exp() / 2)
    assert power.rest(arb(10) ** -3, arb(10)) < 0.0051


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("exp(-x^2)*(x - 3)", "density is negative near x = "),
        ("x^2*exp(-x^2)", "density is 0 near x = 0"),
        ("1/(1 + abs(x))", "its integral diverges"),
        ("exp(x)", "its integral diverges"),
        ("1", "its integral diverges"),
        ("log(2 + x^2)*exp(-x^2)", "no tail bound found"),
    ],
)
def test_what_is_no_density_is_refused(text: str, told: str) -> None:
    one = density(text)

    def all_checks() -> None:
        one.probe()
        one.tail(1)
        one.tail(-1)
        one.check()

    with pytest.raises(BadValue) as caught:
        all_checks()
    assert told in str(caught.value)


def test_a_pole_inside_is_found() -> None:
    one = FormulaDensity(
        read("exp(-abs(x))/(x - 0.7)^2"), Stated("exponential", Fraction(1, 2), Fraction(2), Fraction(50))
    )
    with pytest.raises(BadValue, match=r"not finite near x = 0\.7|not finite near x = 0\.69"):
        one.check()


def test_mixtures_add_up() -> None:
    mixed = MixtureDensity([(Fraction(1, 4), density("exp(-abs(x))")), (Fraction(3, 4), density("exp(-abs(x)/3)"))])
    assert float(at_precision(100, mixed.whole)) == pytest.approx(1, rel=1e-14)
    value = at_precision(100, lambda: mixed.f(arb(2)))
    assert float(value) == pytest.approx(math.exp(-2) / 8 + math.exp(-2 / 3) / 8, rel=1e-14)
    assert float(at_precision(100, mixed.mean_square)) == pytest.approx(2 / 4 + 18 * 3 / 4, rel=1e-9)


def test_slopes_that_change_slowly() -> None:
    assert float(density("exp(-x^2/2)").steepest_bend()) == pytest.approx(1)  # type: ignore[arg-type]
    assert density("exp(-abs(x))").steepest_bend() is None
    assert density("exp(-max(x^2/2, x^2/200 + 5))").steepest_bend() is None  # the slope jumps where the two meet
    parts = [(Fraction(1, 2), density(f"exp(-(x {sign} 2)^2/2)")) for sign in "+-"]
    assert 1 <= float(MixtureDensity(parts).steepest_bend()) < 1.01  # type: ignore[arg-type]


def test_kinks_that_are_no_floats_are_covered() -> None:
    one = density("exp(-abs(x - 1/3))")
    low, high = one.cut(arb(0), arb(1))
    assert low[1].contains(lift(Fraction(1, 3)))
    assert high[0].contains(lift(Fraction(1, 3)))


def test_a_slope_that_jumps_at_a_kink_has_no_derivative_there() -> None:
    one = density("exp(-abs(x - 1/3)) + exp(-2*abs(x))/5")
    for low, high, is_known in (
        (-1, 1, False),
        ("1/4", "1/2", False),
        (0, "1/3", True),
        ("1/3", 2, True),
        (1, 2, True),
    ):
        ends = lift(Fraction(low)), lift(Fraction(high))
        found = at_precision(128, lambda ends=ends: one.bend(between(*ends)))
        assert found.is_finite() == is_known, (low, high)


def test_what_is_beyond_adds_up_with_what_is_between() -> None:
    """From places on both sides of the mode, near and far, whatever was asked for before."""
    for text in ("(1 + (x - 5)^2)^-1", "exp(-abs(x - 1/3))", "exp(-max(x, -x/2)) + exp(-abs(x - 3))"):
        one = density(text)

        def missing(one: Density = one) -> list[arb]:
            found = []
            for place in (Fraction(7), Fraction(-900), Fraction(1, 3), Fraction(40), Fraction(10**6), Fraction(5)):
                parts = one.mass_beyond(-1, lift(place)), one.mass_beyond(1, lift(place))
                found.append((parts[0] + parts[1]) / one.whole())
            return found

        assert all(part.overlaps(arb(1)) and part.rad() < 1e-24 for part in at_precision(100, missing))


def test_kinks_that_floats_do_not_tell_apart() -> None:
    """The same form as at 0, where floats are 16 apart; and beside a kink, at a distance of 1e-30."""
    far = density("exp(-abs(x - 10^17) - abs(x - 10^17 - 3))")
    near = density("exp(-abs(x) - abs(x - 3))")
    base = 10**17
    for low, high in ((-5, 0), (0, 3), (1, 2), (3, 4)):
        found = at_precision(200, lambda a=low, b=high: far.mass(lift(base + a), lift(base + b)))
        assert found.overlaps(at_precision(200, lambda a=low, b=high: near.mass(lift(a), lift(b))))
        cell = lift(base + low).union(lift(base + high))
        assert at_precision(200, lambda c=cell: far.slope(c)).overlaps(lift({-5: -2, 0: 0, 1: 0, 3: 2}[low]))
    tiny = arb(10) ** -30
    for side in (-1, 1):
        slope = at_precision(200, lambda side=side: density("exp(-abs(x - 1))").slope(1 + side * tiny))
        assert slope.overlaps(arb(side))
