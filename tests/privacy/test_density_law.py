"""The laws of noise of any density: mass, order of the ends, gaps that fall as the square, and cells of shifts."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import atan, erfc, exp, pi, sqrt

import pytest
from flint import arb

from zcdp.numeric.balls import at_precision, lift
from zcdp.numeric.density import FormulaDensity
from zcdp.numeric.formula import read
from zcdp.privacy.loss.density_law import DensityLaw, ShiftedDensity, Support, coarser_law, lattice_law_below
from zcdp.privacy.loss.law import LossLaw
from zcdp.privacy.profile.profile import Profile


def pair(text: str, shift: int = 1, support: Support | None = None) -> ShiftedDensity:
    return ShiftedDensity(FormulaDensity(read(text)), Fraction(shift), support or Support())


def variance(law: LossLaw) -> float:
    """Of the loss under the law, up to its mean: M''(0) in balls by difference quotients."""

    def second() -> arb:
        factor, h = law.factor(), arb(2) ** -20
        return (factor.moment(h) + factor.moment(-h) - 2 * factor.moment(arb(0))) / (h * h)

    return float(at_precision(200, second))


@pytest.mark.parametrize("text", ["exp(-abs(x))", "exp(-x^2/2)", "exp(-max(x, -x/2))"])
def test_no_mass_is_missing(text: str) -> None:
    one = pair(text)
    law = DensityLaw.of([one] if one.is_symmetric else [one, one.reversed()], points=32, exact=True)
    laws = [law, lattice_law_below(law) or coarser_law(one, 16)]
    for some in laws:
        assert some is not None
        factor = at_precision(128, some.ready)
        assert at_precision(128, lambda f=factor: f.mass() + f.revealed).overlaps(arb(1, 1e-25))


@pytest.mark.parametrize("text", ["exp(-abs(x))", "(1 + x^2/12)^-2"])
def test_gaps_fall_by_four_when_cells_double(text: str) -> None:
    one = pair(text)
    gaps = []
    for points in (16, 32, 64):
        law = DensityLaw.of([one], points=points, exact=True)
        below = lattice_law_below(law)
        assert below is not None
        gaps.append((variance(law), variance(below)))
    above = [gaps[n][0] - gaps[n + 1][0] for n in range(2)]
    under = [gaps[n + 1][1] - gaps[n][1] for n in range(2)]
    assert 3.5 < above[0] / above[1] < 4.5
    assert 3.5 < under[0] / under[1] < 4.5


@pytest.mark.parametrize("text", ["exp(-abs(x))", "(1 + x^2/12)^-2"])
def test_the_gap_of_a_hundred_uses_falls_by_four_when_cells_double(text: str) -> None:
    widths = []
    for points in (16, 32, 64):
        law = DensityLaw.of([pair(text)], points=points, exact=True)
        below = lattice_law_below(law)
        assert below is not None
        ends = [Profile(((one, 100),)).epsilon(Fraction(1, 10**6)) for one in (below, law)]
        assert ends[0].lower < ends[1].upper
        widths.append(ends[1].upper - ends[0].lower)
    assert 3.5 < widths[0] / widths[1] < 4.5
    assert 3.5 < widths[1] / widths[2] < 4.5


@pytest.mark.parametrize(
    "text",
    [
        "(1 + x^2/12)^-2",
        "exp(-abs(x - 1/3)^1.5)",
        "exp(-abs(x - 2)) + exp(-abs(x + 2))",
        "exp(-abs(x^2 - 1))",
        "exp(-max(x^2/2, x^2/200 + 5))",
        "exp(-min(abs(x), 2 + abs(x)/3))",
        "exp(-x^2/2)*(1 + x^2)^(-3/2)",
        "1/(1 + 2*x^2 - x^4 + x^6/6)",
    ],
)
@pytest.mark.parametrize("shift", ["1/100", "1", "3"])
def test_ranges_hold_the_loss_at_every_place_of_a_cell(text: str, shift: str) -> None:
    """Also beside kinks, at which cells end, and where the loss has a peak inside a cell or jumps in slope."""
    one = ShiftedDensity(FormulaDensity(read(text)), Fraction(shift))
    kinks = sorted({kink + by for kink in one.density.kinks for by in (0, one.shift)})
    places = sorted({*kinks, *(Fraction(n, 7) for n in range(-40, 41))})
    for low, high in pairwise(places):

        def ends(low: Fraction = low, high: Fraction = high) -> tuple[arb, arb, list[arb]]:
            inside = [lift(low + (high - low) * n / 32) for n in range(1, 32)]
            return *one.loss_range(lift(low), lift(high), 1e-3), [one.loss(x) for x in inside]

        least, most, losses = at_precision(128, ends)
        assert all(loss.upper() >= least and loss.lower() <= most for loss in losses), (low, high)
        spread = max(map(float, losses)) - min(map(float, losses))
        assert float(most) - float(least) < 2 * spread + 4e-3


def test_one_use_of_a_gaussian_is_its_closed_form() -> None:
    law = DensityLaw.of([pair("exp(-x^2/2)")], points=32, exact=True).single_use()
    ends = at_precision(128, law.ends_alone)
    infinite = at_precision(128, lambda: law.ready().revealed)
    for epsilon in (0.25, 1.0, 4.0):
        low, high = at_precision(128, lambda e=epsilon: ends(arb(e)))  # type: ignore[misc]
        d = 0.5 - epsilon
        true = erfc(-d / sqrt(2)) / 2 - exp(epsilon) * erfc((1 + epsilon - 0.5) / sqrt(2)) / 2
        assert float(low + infinite) == pytest.approx(true, rel=1e-10)
        assert not low > high
        assert float(high - low) < 1e-25


def test_noise_that_ends_reveals() -> None:
    one = pair("exp(-abs(x))", 1, Support(Fraction(-3), Fraction(3)))
    law = DensityLaw.of([one], points=16, exact=True)
    infinite = at_precision(128, lambda: law.ready().revealed)
    assert float(infinite) == pytest.approx((exp(-2) - exp(-3)) / (2 * (1 - exp(-3))), rel=1e-12)


def test_what_is_outside_adds_up_to_the_rest() -> None:
    """Of Cauchy noise beyond 5, by its distribution function; with an end of its own at 9, and beyond it."""

    def cdf(x: float) -> float:
        return atan(x) / pi

    def both_sides(one: ShiftedDensity, place: int) -> list[arb]:
        return [one.outside(side, Fraction(place)) for side in (1, -1)]

    one_end = pair("1/(1 + x^2)", 1, Support(low=Fraction(5)))
    both = pair("1/(1 + x^2)", 1, Support(Fraction(5), Fraction(9)))
    for place in (3, 5, 7, 100, 10**6):
        right, left = at_precision(128, partial(both_sides, one_end, place))
        assert float(right + left) == pytest.approx(1, rel=1e-12)
        assert float(right) == pytest.approx((0.5 - cdf(max(place, 5))) / (0.5 - cdf(5)), rel=1e-9)
    for place in (3, 5, 7, 9, 12):
        right, left = at_precision(128, partial(both_sides, both, place))
        inside = min(max(place, 5), 9)
        assert float(right) == pytest.approx((cdf(9) - cdf(inside)) / (cdf(9) - cdf(5)), abs=1e-12)
        assert float(left) == pytest.approx((cdf(inside) - cdf(5)) / (cdf(9) - cdf(5)), abs=1e-12)


def test_a_cell_of_shifts_covers_each_of_them() -> None:
    density = FormulaDensity(read("exp(-abs(x - 1)) + exp(-abs(x + 1))"))
    cell = ShiftedDensity(density, Fraction(1), radius=Fraction(1, 4))
    law = DensityLaw.of([cell, cell.reversed()], points=24, exact=False)
    heights = at_precision(128, lambda: [float(h) for h in law._lattices()[0].profile()])
    step = float(law.loss) / law.points
    for shift in (Fraction(3, 4), Fraction(1), Fraction(5, 4)):
        single = ShiftedDensity(density, shift)
        cells = at_precision(128, lambda one=single: one.cells(one.borders(24)))
        for k in (0, 6, 12):
            x = exp(step * k)
            least = sum(max(float(c.p) - x * float(c.q), 0.0) for c in cells)
            assert heights[k] >= least - 1e-12, (shift, k)
