"""Numbers as they come in, and as they go out: limits, signs, texts and floats, each at its edge."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import inf, log, nextafter
from random import Random

import pytest
from flint import arb

from zcdp.errors import BadValue
from zcdp.numeric.balls import (
    NotCertified,
    Undecided,
    at_precision,
    ceiling,
    floor,
    lift,
    log_size,
    root_below,
    upper_float,
)
from zcdp.numeric.exact import (
    Log,
    Readable,
    integer,
    literal,
    log_of,
    positive,
    positive_rational,
    probability,
    rational,
    readable,
    real,
    shown,
    times,
)
from zcdp.numeric.functions import expm1, log1p
from zcdp.numeric.search import crossing, float_above, solve, straight

NUMBERS = [Fraction(n, d) for n in (-7, -3, -1, 0, 1, 2, 3, 10, 999) for d in (1, 3, 4, 7, 1000, 1024, 3333)]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_is_read_back_as_what_was_written(number: Fraction) -> None:
    written = literal(number)
    assert rational(eval(written), "x") == number
    assert rational(str(number), "x") == number
    assert rational(repr(float(number)), "x") == Fraction(repr(float(number)))
    assert rational(float(number), "x") == Fraction(float(number))
    assert rational(Decimal(repr(float(number))), "x") == Fraction(Decimal(repr(float(number))))
    assert float(shown(number, 17)) == float(number)
    assert Readable(number) == number
    assert Fraction(eval(f"Fraction({str(number)!r})")) == readable(number)
    near = repr(Readable(number))
    assert float(Fraction(near)) == float(number)
    assert Fraction(near) == number or number.denominator >= 1000
    if number > 0:
        assert log_of(number) == pytest.approx(log(number), rel=1e-14, abs=1e-300)


def test_what_is_short_is_written_as_people_do() -> None:
    assert [literal(Fraction(x)) for x in ("3", "0.25", "0.1", "1/3", "1e19", "1e20")] == [
        "3", "0.25", "'0.1'", "'1/3'", str(10**19), "1e+20"]  # fmt: skip
    assert literal(Log(Fraction(3, 2))) == "'log(3/2)'"
    assert [repr(Readable(Fraction(x))) for x in ("4", "1/2", "1/3", "2/7", "1/1009", "1/1024")] == [
        "4", "0.5", "1/3", "2/7", repr(1 / 1009), repr(1 / 1024)]  # fmt: skip
    assert [shown(Fraction(x), 3) for x in ("2/3", "0", "1e-500", "123456")] == ["0.667", "0", "1e-500", "1.23e+05"]
    assert log_of(Fraction(10) ** -4000) == pytest.approx(-4000 * log(10))
    assert log_of(Fraction(10) ** 4000) == pytest.approx(4000 * log(10))
    assert log_of(Fraction(1, 10**310)) == pytest.approx(-310 * log(10))


@pytest.mark.parametrize("bad", ["0", "1", "-1/2", "3/2", 0, 1, 1.0, -0.1])
def test_a_probability_lies_strictly_between_zero_and_one(bad: str | float) -> None:
    with pytest.raises(BadValue, match="strictly between 0 and 1"):
        probability(bad, "p")


def test_signs_and_limits_are_kept() -> None:
    assert probability("1/2", "p") == Fraction(1, 2)
    assert probability(nextafter(1, 0), "p") < 1
    for bad in ("0", 0, -1, "-0.1", "log(1)", "log(1/2)", Log(Fraction(9, 10))):
        with pytest.raises(BadValue, match="positive"):
            positive(bad, "epsilon")
    for bad in (0, "0", -1):
        with pytest.raises(BadValue, match="positive"):
            positive_rational(bad, "sigma")
    assert positive("log(3/2)", "epsilon") == real("ln(3/2)", "epsilon") == Log(Fraction(3, 2))
    assert real("log(1)", "epsilon") == 0
    for bad in ("log(0)", "log(-1)"):
        with pytest.raises(BadValue, match="positive"):
            real(bad, "epsilon")
    for least in (0, 1, 5):
        assert integer(least, "k", least) == least
        with pytest.raises(BadValue, match=f"at least {least}"):
            integer(least - 1, "k", least)
    for bad in (1.5, "5/2"):
        with pytest.raises(BadValue, match="whole"):
            integer(bad, "k", 0)
    for bad in (
        "inf",
        "nan",
        float("inf"),
        float("nan"),
        Decimal("NaN"),
        "1e4001",
        "1e-4001",
        "1/0",
        "1_0",
        "0x10",
        "",
    ):
        with pytest.raises(BadValue):
            rational(bad, "x")
    assert rational("1e4000", "x") == 10**4000
    assert times(3, Fraction(1, 7)) == Fraction(3, 7)
    assert times(3, Log(Fraction(2, 5))) == Log(Fraction(8, 125))


def test_floats_above_rationals_are_the_least() -> None:
    random = Random(6)
    for _ in range(300):
        value = Fraction(random.randint(-(10**20), 10**20), random.randint(1, 10**20))
        found = float_above(value)
        assert Fraction(found) >= value
        assert Fraction(nextafter(found, -inf)) < value
    largest = nextafter(inf, 0)
    assert float_above(Fraction(10) ** 400) == inf
    assert float_above(-(Fraction(10) ** 400)) == -largest
    assert float_above(Fraction(1, 10**400)) == 5e-324
    assert float_above(-Fraction(1, 10**400)) == 0


@pytest.mark.parametrize("number", ["7/2", "-7/2", "3", "-3", "1/1000", "-1/1000", "123456789/10"])
def test_whole_numbers_around_a_ball_hold_all_of_it(number: str) -> None:
    exact = Fraction(number)
    for radius in (0.0, 0.3, 1.7):
        ball = at_precision(80, lambda r=radius: lift(exact) + arb(0, r))
        low, high = exact - Fraction(radius), exact + Fraction(radius)
        assert floor(ball) <= low
        assert ceiling(ball) >= high
        assert floor(ball) > low - 1 - Fraction(1, 10**6)
        assert ceiling(ball) < high + 1 + Fraction(1, 10**6)
    for endless in (arb.pos_inf(), arb("nan")):
        with pytest.raises(Undecided):
            floor(endless)


def test_roots_and_sizes_are_on_their_side() -> None:
    for square, radius in ((2.0, 0.0), (2.0, 0.5), (1e-8, 9e-9)):
        found = root_below(arb(square, radius))
        assert Fraction(found) ** 2 <= Fraction(square) - Fraction(radius) + Fraction(1, 10**25)
        assert found >= (square - radius) ** 0.5 * (1 - 1e-6)
    assert root_below(arb(0, 1)) == root_below(arb(-1)) == root_below(arb("nan")) == 0
    assert log_size(arb(3)) == pytest.approx(log(3))
    assert log_size(arb(0, 0.5)) == pytest.approx(log(0.5))
    assert log_size(arb(0)) == -inf


def test_an_upper_float_is_never_below() -> None:
    for n in range(2, 40):
        found = upper_float(lambda n=n: arb(n).sqrt() - arb(n - 1).sqrt())
        assert at_precision(200, lambda n=n, f=found: arb(f) >= arb(n).sqrt() - arb(n - 1).sqrt())
        assert found == pytest.approx(n**0.5 - (n - 1) ** 0.5, rel=1e-12)
        thick = upper_float(lambda n=n: arb(n, n * 2.0**-45))
        assert n * (1 + 2.0**-45) <= thick <= n * (1 + 2.0**-44)
    with pytest.raises(NotCertified):
        upper_float(lambda: arb(1, 0.1))


def test_series_of_exponentials_and_logarithms_have_all_their_coefficients() -> None:
    from flint import arb_series

    def asked() -> None:
        x = arb_series([arb(0.25), 2, 1], prec=3)
        for found, plain in ((expm1(x), x.exp() - 1), (log1p(x), (1 + x).log())):
            assert found.prec == 3
            assert all(found[n].overlaps(plain[n]) for n in range(3))

    at_precision(100, asked)


def test_searches_find_the_place() -> None:
    for root in (1e-6, 0.3, 1.0, 70.0, 1e9):
        assert crossing(lambda x, r=root: x * x - r * r, tolerance=1e-9) == pytest.approx(root, rel=1e-8)
        assert crossing(lambda x, r=root: -1.0 if x < r else inf, guess=3.0) == pytest.approx(root, rel=0.02)
        assert straight(lambda x, r=root: 3 * log(x / r), guess=1.0, slope=2.0, tolerance=1e-9) == pytest.approx(root)
        assert straight(lambda x, r=root: -2 * log(x / r), guess=5.0, slope=-2.0, tolerance=1e-9) == pytest.approx(root)
        assert solve(lambda x, r=root: r / x, 1.0, 1e-9, inf, 1.0) == pytest.approx(root, rel=1e-12)
        assert solve(lambda x, r=root: r / x, 1.0, 1e-9, 1e12, 1.0) == pytest.approx(root, rel=1e-12)
    assert solve(lambda x: 1 / x, 10.0, 0.5, inf, 1.0) == 0.5
