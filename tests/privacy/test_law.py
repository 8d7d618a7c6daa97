"""What a law claims of itself, of its lower laws and of the other order, in every combination; and its lattice."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import ceil, log

import pytest
from flint import arb

from zcdp.errors import BadValue
from zcdp.numeric.balls import at_precision, lift
from zcdp.numeric.exact import Log, gcd
from zcdp.privacy.loss import (
    LossLaw,
    discrete_gaussian_pair,
    discrete_laplace_pair,
    finite_law,
    gaussian_pair,
    laplace_pair,
    three_point_pair,
)
from zcdp.privacy.loss.lattice import Lattice, common_lattice, snap
from zcdp.privacy.loss.law import Outcomes, Parts
from zcdp.privacy.relation import Relation

ONE, OTHER, THIRD = (three_point_pair(Fraction(1, n)) for n in (8, 9, 10))
NEIGHBOURS: tuple[Parts, ...] = (((ONE, 2), (THIRD, 1)), ((OTHER, 1),))


@pytest.mark.parametrize("flags", list(product([False, True], repeat=5)))
def test_lower_ends_rest_on_what_is_attained_and_on_nothing_else(flags: tuple[bool, ...]) -> None:
    """A law that is exact for one use is none of several; nor is a lower law of one use alone."""
    exact, exact_alone, has_witness, has_alone, has_neighbours = flags
    law = replace(
        three_point_pair(Fraction(1)),
        exact=exact,
        exact_alone=exact_alone,
        witness=ONE if has_witness else None,
        witness_alone=OTHER if has_alone else None,
        neighbours=NEIGHBOURS if has_neighbours else (),
    )
    own: Parts = ((law, 1),)
    several = law.attained(alone=False)
    if exact:
        assert several == (own,)
    else:
        assert several == ((((ONE, 1),),) if has_witness else ()) + (NEIGHBOURS if has_neighbours else ())
    alone = law.attained(alone=True)
    if exact or exact_alone:
        assert alone == (own,)
    elif has_alone:
        assert alone == (((OTHER, 1),),)
    else:
        assert alone == several


def ordered(*atoms: tuple[str, str], **claims: object) -> LossLaw:
    rows = [(Fraction(p), Fraction(q)) for p, q in atoms]
    return finite_law(rows, symmetric=False, relation=Relation.ADD_REMOVE, **claims)


def test_a_reversed_law_claims_reversed_laws() -> None:
    small = ordered(("2/5", "3/10"), ("3/5", "7/10"))
    tiny = ordered(("1/3", "3/10"), ("2/3", "7/10"))
    large = ordered(("4/5", "1/10"), ("1/5", "9/10"))
    claims = {"witness": small, "witness_alone": tiny, "neighbours": (((small, 2), (tiny, 1)),), "coarser": large}
    law = ordered(("1/2", "3/10"), ("1/2", "7/10"), exact_alone=True, **claims)
    back = law.reverse()

    def moment(one: LossLaw | None) -> float:
        assert one is not None
        return float(at_precision(128, lambda: one.factor().moment(arb(2))))

    def turned(p: float, q: float) -> float:
        """E e^{2L} of the pair in the other order, of two outcomes."""
        return q**3 / p**2 + (1 - q) ** 3 / (1 - p) ** 2

    assert moment(back) == pytest.approx(turned(0.5, 0.3))
    assert moment(back.witness) == pytest.approx(turned(0.4, 0.3))
    assert moment(back.witness_alone) == pytest.approx(turned(1 / 3, 0.3))
    assert moment(back.coarser) == pytest.approx(turned(0.8, 0.1))
    [[(first, twice), (second, once)]] = back.neighbours
    assert (twice, once) == (2, 1)
    assert (moment(first), moment(second)) == pytest.approx((turned(0.4, 0.3), turned(1 / 3, 0.3)))
    assert (back.exact, back.exact_alone) == (False, True)


def test_a_lower_law_may_not_be_above() -> None:
    replace(laplace_pair(Fraction(1)), witness=laplace_pair(Fraction(1))).check()
    replace(laplace_pair(Fraction(1)), witness=laplace_pair(Fraction(9, 10))).check()
    with pytest.raises(BadValue, match="lower law that is above"):
        replace(laplace_pair(Fraction(1)), witness=laplace_pair(Fraction(11, 10))).check()
    with pytest.raises(BadValue, match="lower law that is above"):
        replace(laplace_pair(Fraction(1)), witness=gaussian_pair(lambda: arb(9))).check()


def test_renyi_divergences_are_those_of_the_pair() -> None:
    law = ordered(("1/2", "3/10"), ("1/2", "7/10"))
    for s in (0.5, 1.0, 7.0):
        truth = log(0.5 ** (1 + s) / 0.3**s + 0.5 ** (1 + s) / 0.7**s) / s
        assert float(at_precision(128, lambda s=s: law.renyi(arb(s)))) == pytest.approx(truth)
    assert at_precision(128, lambda: ordered(("1/2", "0"), ("1/2", "1")).renyi(arb(1))) == arb.pos_inf()


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
    parts: Parts = tuple((laplace_pair(e, exact=True), n + 1) for n, e in enumerate(given))
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
        assert all(law.exact for law, _ in moved)
    far = tuple(
        (laplace_pair(e), 1) for e in (Fraction(0.1), Fraction(0.3) * (1 - Fraction(1, 2**30)) + Fraction(1, 10**12))
    )
    assert snap(far) == (far, far)
    assert snap(parts[:1]) == (parts[:1], parts[:1])


def test_largest_ratios_are_those_of_the_first_and_the_last_outcome() -> None:
    rows = [("1/2", "1/8"), ("3/8", "3/8"), ("1/8", "1/2")]
    found = Outcomes([(lift(Fraction(p)), lift(Fraction(q))) for p, q in rows]).largest_ratios()
    assert [float(x) for x in found] == [4, 4]
    rows = [("1/2", "1/10"), ("3/8", "3/10"), ("1/8", "6/10")]
    found = Outcomes([(lift(Fraction(p)), lift(Fraction(q))) for p, q in rows]).largest_ratios()
    assert [float(x) for x in found] == pytest.approx([5, 4.8])
    for p, q in (("0", "1/2"), ("1/2", "0")):
        rest = Fraction(1) - Fraction(p), Fraction(1) - Fraction(q)
        both = [(lift(Fraction(p)), lift(Fraction(q))), (lift(rest[0]), lift(rest[1]))]
        ends = Outcomes(both if q == "0" else both[::-1]).largest_ratios()
        assert [end.is_finite() for end in ends] == [q != "0", p != "0"]


def test_the_greatest_common_measure_divides_both() -> None:
    for a, b in product([Fraction(n, 12) for n in (1, 6, 8, 9, 30)], repeat=2):
        found = gcd(a, b)
        assert (a / found).denominator == (b / found).denominator == 1
        assert not any(
            (a / (found * n)).denominator == (b / (found * n)).denominator == 1 for n in range(2, ceil(a / found) + 1)
        )
