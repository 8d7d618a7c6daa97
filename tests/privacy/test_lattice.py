"""Lattices of losses: their first points, sums of losses on a common one, and decimals moved to one."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import ceil, log

import pytest
from flint import arb

from zcdp.numeric.balls import at_precision
from zcdp.numeric.exact import Log, gcd
from zcdp.privacy.loss import (
    LossLaw,
    discrete_gaussian_pair,
    discrete_laplace_pair,
    gaussian_pair,
    laplace_pair,
    three_point_pair,
)
from zcdp.privacy.loss.lattice import Lattice, common_lattice, snap
from zcdp.privacy.loss.law import Parts


@pytest.mark.parametrize("top", ["5/3", "0", "-7/4"])
@pytest.mark.parametrize("spacing", ["1/3", "2", "7/5"])
def test_the_first_point_of_a_lattice_is_the_least_at_or_above(top: str, spacing: str) -> None:
    start, step = Fraction(top), Fraction(spacing)
    for unit, scale in ((None, 1.0), (Log(3), log(3)), (Log(Fraction(11, 10)), log(1.1))):
        lattice = Lattice(start, step, unit)
        for n in range(-30, 31):
            epsilon = Fraction(n, 7)
            found = at_precision(128, lambda lattice=lattice, e=epsilon: lattice.first(e))
            assert ((start - found) / step).denominator == 1
            assert float(found) * scale >= float(epsilon) - 1e-12
            assert (
                float(found - step) * scale < float(epsilon) - 1e-12 or (float(found) * scale - float(epsilon)) < 1e-9
            )
            if unit is None:
                assert found - step < epsilon <= found
        assert float(at_precision(128, lattice.gap)) == pytest.approx(float(step) * scale)
    assert Lattice(start, step).first(start) == start
    assert Lattice(start, step).first(start - step) == start - step


LATTICES: list[tuple[LossLaw, list[Fraction]]] = [
    (three_point_pair(Fraction(3, 4)), [Fraction(3, 4), Fraction(-3, 4)]),
    (three_point_pair(Fraction(1, 2), 5), [Fraction(1, 2), Fraction(0), Fraction(-1, 2)]),
    (discrete_laplace_pair(Fraction(1), 3), [Fraction(n, 3) for n in (3, 1, -1, -3)]),
    (laplace_pair(Fraction(2)), [Fraction(2), Fraction(-2)]),
    (discrete_gaussian_pair(Fraction(3), 2), [Fraction(2 * (2 - 2 * x), 6) for x in range(-6, 7)]),
]


@pytest.mark.parametrize("chosen", [(0, 1), (1, 2), (0, 3), (2, 4), (0, 1, 2), (4, 1)])
def test_every_sum_of_losses_is_on_the_common_lattice(chosen: tuple[int, ...]) -> None:
    parts = tuple((LATTICES[n][0], 1 + n % 3) for n in chosen)
    lattice = common_lattice(parts)
    assert lattice is not None
    losses = {Fraction(0)}
    for n, (_, count) in zip(chosen, parts, strict=True):
        for _ in range(count):
            losses = {one + more for one in losses for more in LATTICES[n][1]}
    assert all(((lattice.top - loss) / lattice.spacing).denominator == 1 for loss in losses)
    steps = Fraction(0)
    for loss in losses:
        steps = gcd(steps, abs(loss - max(losses)))
    assert lattice.spacing == steps  # the coarsest there is
    if 4 not in chosen:
        assert lattice.top == max(losses)


def test_laws_of_two_units_share_no_lattice() -> None:
    assert common_lattice(((three_point_pair(Log(3)), 1), (three_point_pair(Fraction(1)), 1))) is None
    assert common_lattice(((three_point_pair(Log(3)), 1), (three_point_pair(Log(2)), 1))) is None
    assert common_lattice(((three_point_pair(Fraction(1)), 1), (gaussian_pair(lambda: arb(1)), 1))) is None
    both = common_lattice(((three_point_pair(Log(3)), 2), (three_point_pair(Log(3), 4), 3)))
    assert both == Lattice(Fraction(5), Fraction(1), Log(3))


def test_decimals_are_moved_to_tenths_of_one_factor_up_and_down() -> None:
    """0.1 and 0.3 as floats: a law above has both at or above, one below both at or below, by 2^-50 at most."""
    given = [Fraction(0.1), Fraction(0.3), Fraction(0.7)]
    parts: Parts = tuple((laplace_pair(e), n + 1) for n, e in enumerate(given))
    above, below = snap(parts)
    for moved, sign in ((above, 1), (below, -1)):
        assert [count for _, count in moved] == [1, 2, 3]
        losses = [law.loss for law, _ in moved]  # type: ignore[attr-defined]
        assert all(
            sign * (one - e) >= 0 and abs(one / e - 1) <= Fraction(1, 2**49)
            for one, e in zip(losses, given, strict=True)
        )
        assert losses[1] == 3 * losses[0]
        assert losses[2] == 7 * losses[0]
    far = tuple(
        (laplace_pair(e), 1) for e in (Fraction(0.1), Fraction(0.3) * (1 - Fraction(1, 2**30)) + Fraction(1, 10**12))
    )
    assert snap(far) == (far, far)
    assert snap(parts[:1]) == (parts[:1], parts[:1])


def test_the_greatest_common_measure_divides_both() -> None:
    for a, b in product([Fraction(n, 12) for n in (1, 6, 8, 9, 30)], repeat=2):
        found = gcd(a, b)
        assert (a / found).denominator == (b / found).denominator == 1
        assert not any(
            (a / (found * n)).denominator == (b / (found * n)).denominator == 1 for n in range(2, ceil(a / found) + 1)
        )
