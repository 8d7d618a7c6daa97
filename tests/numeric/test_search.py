"""One-dimensional searches against brute force, with their ends: no root, a root at an end, flat, NaN, infinite."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import cosh, exp, inf, isnan, log, nan, nextafter

import pytest
from flint import arb
from hypothesis import example, given
from hypothesis import strategies as st

from zcdp.numeric.balls import Undecided, at_precision, lift
from zcdp.numeric.search import (
    bisect_integers,
    bisection,
    false_position,
    gallop,
    golden_section,
    greatest_float,
    least_integer,
    newton,
    secant,
    sign_change,
)

ROOTS = (1e-6, 0.3, 1.0, 70.0, 1e9)
LARGEST = nextafter(inf, 0)


class Asked:
    """A predicate that remembers where it was asked."""

    def __init__(self, holds: Callable[[float], bool]) -> None:
        self.holds, self.places = holds, []

    def __call__(self, place: float) -> bool:
        self.places.append(place)
        return self.holds(place)


# integers


def test_bisection_of_integers_is_a_linear_search() -> None:
    for low in range(-5, 3):
        for high in range(low + 1, low + 12):
            for edge in range(low, high + 3):
                asked = Asked(lambda n, edge=edge: n >= edge)
                truth = next((n for n in range(low + 1, high) if n >= edge), high)
                assert bisect_integers(asked, low, high) == truth
                assert all(low < n < high for n in asked.places)


@given(st.integers(-60, 60), st.integers(-60, 60))
def test_galloping_finds_the_edge_from_any_start(edge: int, start: int) -> None:
    asked = Asked(lambda n: n >= edge)
    assert least_integer(asked, start) == edge
    assert len(asked.places) <= 4 + 2 * abs(edge - start).bit_length()


@given(st.integers(-9, 9), st.integers(-9, 9), st.integers(-9, 9), st.integers(0, 9))
def test_galloping_keeps_to_its_ends(edge: int, start: int, least: int, room: int) -> None:
    asked = Asked(lambda n: n >= edge)
    assert least_integer(asked, start, least=least, most=least + room) == min(max(edge, least), least + room)
    assert all(least <= n < least + room for n in asked.places)


def test_galloping_where_nothing_or_everything_holds() -> None:
    assert least_integer(lambda n: False, most=10**40) == 10**40
    assert least_integer(lambda n: True, start=5, least=-(10**40)) == -(10**40)
    assert least_integer(lambda n: n >= 10**300) == 10**300


# floats


@given(st.floats(min_value=5e-324, allow_infinity=False))
def test_finds_every_float(limit: float) -> None:
    assert greatest_float(lambda x: x <= limit) == limit
    if limit > 5e-324:
        assert greatest_float(lambda x: x < limit) == nextafter(limit, -inf)


def test_the_two_ends_of_all_floats() -> None:
    assert greatest_float(lambda x: True) == LARGEST
    assert greatest_float(lambda x: False) is None


@given(st.floats(1e-30, 1e30), st.floats(1e-30, 1e30), st.sampled_from([0.01, 0.5, 1.25, 2.0]), st.booleans())
def test_a_gallop_ends_on_both_sides_of_the_edge(edge: float, start: float, factor: float, faster: bool) -> None:
    def fits(x: float) -> bool:
        return x <= edge if factor > 1 else x >= edge

    asked = Asked(fits)
    found = gallop(asked, start, factor, faster=faster)
    assert found is not None
    outside, inside = found
    assert fits(inside)
    assert not fits(outside)
    assert {inside, outside} <= {*asked.places}
    if not faster:
        assert outside / inside == pytest.approx(factor)
    else:  # in logarithms a step is twice as long as the one before it
        assert abs(log(outside / inside)) <= abs(log(start / edge)) + 2 * abs(log(factor))


@pytest.mark.parametrize("fits", [lambda x: True, lambda x: False])
@pytest.mark.parametrize("faster", [True, False])
def test_a_gallop_that_finds_no_edge_ends(fits: Callable[[float], bool], faster: bool) -> None:
    asked = Asked(fits)
    assert gallop(asked, 1.0, 2.0, faster=faster, least=1e-9, most=1e9) is None
    assert len(asked.places) < (8 if faster else 40)


@example(0.0, 8e307, 0.0)  # so many halvings as there are
@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300), st.floats(0, 1))
def test_bisection_ends_at_neighbouring_floats(outside: float, inside: float, share: float) -> None:
    edge = outside + (inside - outside) * share
    ends = sorted((outside, inside))
    asked = Asked(lambda x: x >= edge if inside > outside else x <= edge)
    fails, fits = bisection(asked, outside, inside)
    assert all(ends[0] < x < ends[1] for x in asked.places)
    assert fails in {outside, *asked.places}
    assert fits in {inside, *asked.places}
    if outside != inside:
        assert nextafter(fails, fits) == fits
    assert fits == inside or asked.holds(fits)
    assert fails == outside or not asked.holds(fails)


@pytest.mark.parametrize(("outside", "inside"), [(0.0, 8.0), (8.0, 0.0), (-8.0, 3.0)])
def test_bisection_stops_at_its_tolerances(outside: float, inside: float) -> None:
    def fits(x: float) -> bool:
        return x >= 1 if inside > outside else x <= 1

    for absolute in (3.0, 0.1, 1e-6):
        fails, holds = bisection(fits, outside, inside, absolute=absolute)
        assert absolute / 2 < abs(holds - fails) <= absolute
    for relative in (0.5, 0.1, 1e-6):
        fails, holds = bisection(fits, outside, inside, relative=relative)
        assert abs(holds - fails) <= relative * max(abs(fails), abs(holds))
        assert min(fails, holds) <= 1 <= max(fails, holds)
    asked = Asked(fits)
    fails, holds = bisection(asked, outside, inside, steps=5)
    assert len(asked.places) == 5
    assert abs(holds - fails) == abs(outside - inside) / 32


def test_bisection_where_there_is_nothing_between() -> None:
    for outside, inside in [(1.0, nextafter(1.0, 2)), (0.0, 5e-324), (3.0, 3.0)]:
        asked = Asked(lambda x: True)
        assert bisection(asked, outside, inside) == (outside, inside)
        assert not asked.places
    assert bisection(lambda x: False, 1.0, 2.0) == (nextafter(2.0, 0), 2.0)  # nothing but the end fits
    assert bisection(lambda x: True, 1.0, 2.0) == (1.0, nextafter(1.0, 2))
    assert bisection(lambda x: True, 0.0, inf) == (0.0, inf)  # no middle
    assert isnan(bisection(lambda x: True, 0.0, nan)[1])


# sign changes, with a proof


@given(st.fractions(min_value=Fraction(1, 10**12), max_value=10**12))
def test_a_bracket_holds_the_root_and_is_thin(root: Fraction) -> None:
    def evaluate() -> tuple[arb, arb]:
        ball = sign_change(lambda x: (lift(root) ** 3 - x**3, -3 * x**2))
        return ball, lift(root)

    ball, truth = at_precision(128, evaluate)
    assert ball.overlaps(truth)
    assert ball.rel_accuracy_bits() > 55


def test_a_steep_function_that_misleads_newton() -> None:
    ball = at_precision(128, lambda: sign_change(lambda x: (-(x - 100).atan(), -1 / (1 + (x - 100) ** 2))))
    assert ball.contains(100)


@pytest.mark.parametrize("root", ["1.25", "1.75"])
def test_newton_is_not_believed(root: str) -> None:
    with pytest.raises(Undecided):
        at_precision(128, lambda: sign_change(lambda x: (arb(root) - x, -(arb(10) ** 60))))


@pytest.mark.parametrize("root", [Fraction(1, 3), Fraction(1, 10**9), Fraction(499999, 10**6)])
def test_a_root_before_a_given_end(root: Fraction) -> None:
    ball = at_precision(128, lambda: sign_change(lambda x: (lift(root) - x, arb(-1)), arb(1) / 2))
    assert at_precision(128, lambda: ball.overlaps(lift(root)))


def test_a_sign_that_cannot_be_told_is_undecided() -> None:
    for value in (arb(0), arb(0, 1), arb("nan")):
        with pytest.raises(Undecided):
            sign_change(lambda x, value=value: (value, arb(1)))


# heuristic roots


@pytest.mark.parametrize("root", ROOTS)
def test_roots_are_found_from_afar(root: float) -> None:
    assert false_position(lambda x: x * x - root * root, tolerance=1e-9) == pytest.approx(root, rel=1e-8)
    assert false_position(lambda x: -1.0 if x < root else inf, guess=3.0) == pytest.approx(root, rel=0.02)
    assert false_position(lambda x: -inf if x < root else 1.0, guess=3.0) == pytest.approx(root, rel=0.02)
    assert secant(lambda x: 3 * log(x / root), guess=1.0, slope=2.0, tolerance=1e-9) == pytest.approx(root)
    assert secant(lambda x: -2 * log(x / root), guess=5.0, slope=-2.0, tolerance=1e-9) == pytest.approx(root)
    assert newton(lambda x: root / x, 1.0, 1e-9, inf, 1.0) == pytest.approx(root, rel=1e-12)
    assert newton(lambda x: root / x, 1.0, 1e-9, 1e12, 1.0) == pytest.approx(root, rel=1e-12)


@pytest.mark.parametrize("root", ROOTS)
def test_a_slope_that_is_not_as_expected_does_not_mislead_the_secant(root: float) -> None:
    steps = 0

    def kinked(x: float) -> float:
        nonlocal steps
        steps += 1
        return log(x / root) * (100 if x < root else 0.01)

    assert secant(kinked, guess=1.0, slope=1.0, tolerance=1e-9) == pytest.approx(root, rel=1e-8)
    assert secant(lambda x: -inf if x < root else 1.0, guess=1.0, slope=1.0, tolerance=1e-9) == pytest.approx(root)
    assert steps < 150


@pytest.mark.parametrize("root", ROOTS)
def test_newton_gets_over_a_kink(root: float) -> None:
    found = newton(lambda x: (root - x) * (1e-6 if x < root else 1e6), 0.0, 0.0, inf, 3.0)
    assert found == pytest.approx(root, rel=1e-12)


def test_a_root_at_an_end_or_none() -> None:
    assert newton(lambda x: 1 / x, 10.0, 0.5, inf, 1.0) == 0.5  # below the target everywhere
    assert newton(lambda x: 1 / x, 2.0, 0.5, inf, 1.0) == 0.5  # at the target from the start
    assert newton(lambda x: 10 - x, 0.0, 0.0, 4.0, 1.0) == pytest.approx(4)  # above it everywhere
    assert newton(lambda x: 1.0 if x < 3 else 0.0, 0.5, 0.0, 8.0, 1.0) == pytest.approx(3)  # a jump
    assert newton(lambda x: 0.5, 0.5, 0.25, 8.0, 1.0) == 0.25  # flat at the target
    assert false_position(lambda x: 1.0) == pytest.approx(1e-300)
    assert false_position(lambda x: -1.0) == pytest.approx(1e300)
    assert false_position(lambda x: x - 5, guess=5.0) == pytest.approx(5, rel=0.02)
    assert false_position(lambda x: x - 1, guess=0.0) == pytest.approx(1, rel=0.02)
    assert 0 < false_position(lambda x: nan) < inf


# heuristic minima


@pytest.mark.parametrize("least", [-3.0, -2.9, 0.0, 1.7, 4.999, 5.0])
@pytest.mark.parametrize("shape", [abs, cosh, lambda x: x * x, lambda x: -exp(-x * x), lambda x: min(abs(x), 2.0)])
def test_minima_are_those_of_a_fine_grid(least: float, shape: Callable[[float], float]) -> None:
    def function(x: float) -> float:
        return shape((x - least) / 4)

    found = golden_section(function, -3.0, 5.0, steps=60)
    grid = min((-3 + n / 1000 for n in range(8001)), key=function)
    assert abs(found - grid) < 2e-3
    rough = golden_section(function, -3.0, 5.0, steps=60, tolerance=0.5)
    assert abs(rough - least) < 0.5


def test_golden_sections_keep_a_point_of_each_step_and_one_side_of_a_plateau() -> None:
    places: list[float] = []

    def flat(x: float) -> float:
        places.append(x)
        return 1.0

    assert golden_section(flat, 0.0, 1.0, steps=30) < 1e-6
    assert len(places) == 32
    assert all(0 < x < 1 for x in places)
    assert golden_section(lambda x: inf if x < 0.999 else -x, 0.999, 1.0, steps=40) == pytest.approx(1)
    assert golden_section(abs, 2.0, 2.0, steps=9) == 2.0  # an empty bracket
    assert 0 <= golden_section(lambda x: nan, 0.0, 1.0, steps=9) <= 1


def test_golden_sections_in_balls_find_what_floats_do_not_see() -> None:
    found = at_precision(
        256, lambda: golden_section(lambda x: ((x - 1) ** 2 * arb(10) ** -400).mid(), arb(0), arb(3), steps=80).mid()
    )
    assert abs(found - 1) < 1e-15  # floats: (x - 1)^2 1e-400 is 0 everywhere
