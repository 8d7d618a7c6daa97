"""A law of finitely many losses against the profile that it is to dominate, of which only rough numbers are known."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp, inf, nan

import pytest
from flint import arb

from zcdp import NotCertified, RandomizedResponse, Shuffled
from zcdp.numeric.balls import at_precision, lift
from zcdp.numeric.exact import Log
from zcdp.privacy.loss import LossLaw, finite_law, profile_law
from zcdp.privacy.loss.profile_law import ProfileLaw, _outward

TOP = 3


def binary(top: float, x: float) -> float:
    """The profile in x = e^epsilon of binary randomized response: (e^top - x)/(e^top + 1), and its mirror image."""
    return 1 - x + x * binary(top, 1 / x) if x < 1 else max((exp(top) - x) / (exp(top) + 1), 0.0)


def truth(x: float) -> float:
    """One of several of them at random, of which it is seen which: small losses likelier than large ones."""
    return sum(2.0 ** -min(n, 29) * binary(TOP * n / 30, x) for n in range(1, 31))


def profile(law: LossLaw, x: float) -> float:
    """E (1 - x e^{-L})_+ of the finite law."""
    made = getattr(law.dots, "source", law.dots)
    return float(made.revealed + sum(max(1 - Fraction(x) / g, Fraction(0)) * p for g, p in made.masses))


def rough(above: Callable[[float], float], asked: list[float] | None = None) -> LossLaw:
    """The law of a profile that is known up to a factor."""

    def ends(epsilon: arb) -> tuple[arb, arb]:
        place = float(epsilon)
        if asked is not None:
            asked.append(place)
        return arb(0), arb(truth(exp(place)) * above(place))

    return profile_law(ends, lambda: arb(TOP))


@pytest.mark.parametrize(
    ("above", "most"),
    [
        (lambda _: 1, 1.05),
        (lambda place: 1 + 0.5 * (int(20 * place) % 2), 1.15),  # It rises here and there.
        (lambda place: 1.05 if place < 1 else 1, 1.1),
        (lambda place: 2 if place < 0.1 else 1, 1.15),  # Chords of it start above 1.
        (lambda place: 2 if 0.5 < place < 0.6 else 1, 1.15),
        (lambda place: 1 + place, 4.1),
    ],
    ids=["exact", "rising", "high", "near", "step", "growing"],
)
def test_it_dominates_and_passes_over_what_is_too_high(above: Callable[[float], float], most: float) -> None:
    law = rough(above)
    for x in (0.06, 0.3, 0.9, 1, 1.001, 1.05, 1.2, 1.7, 1.8, 2.5, 2.75, 4, 7, 11, 16, 19, 20):
        assert truth(x) <= profile(law, x) * (1 + 1e-12) <= most * truth(x)
    assert profile(law, exp(TOP) * (1 + 1e-12)) == 0


def test_where_nothing_is_known_it_is_that_of_the_largest_loss() -> None:
    """As the other order has the same profile: binary randomized response."""
    law = rough(lambda _: inf)
    for x in (0.05, 0.5, 1, 2, 19):
        assert profile(law, x) == pytest.approx(binary(TOP, x), rel=1e-12)


@pytest.mark.parametrize("top", [700, 10**9, 10**30])
def test_losses_beyond_all_grids_are_refused_before_anything_is_asked(top: int) -> None:
    asked: list[arb] = []

    def ends(epsilon: arb) -> tuple[arb, arb]:
        asked.append(epsilon)
        return arb(0), arb(1)

    with pytest.raises(NotCertified, match="too large for a law through points"):
        _ = profile_law(ends, lambda: arb(top)).dots
    assert not asked


def test_what_cannot_be_made_is_tried_once() -> None:
    asked: list[float] = []
    law = rough(lambda _: nan, asked)
    for _ in range(3):
        with pytest.raises(NotCertified):
            _ = law.dots
    assert 0 < len(asked) < 100


def test_blind_reports_of_many_kinds_are_not_lost() -> None:
    """Where the numbers of the profile are not convex, and the law once cost what a report alone does."""
    one = Shuffled(RandomizedResponse(epsilon=10, k=1000), clients=1000)
    assert one.rho < 0.62 * RandomizedResponse(epsilon=10, k=1000).rho
    assert (10 * one).epsilon_at(delta="1e-6") < 67


PAIR = [("1/20", "0"), ("9/20", "1/5"), ("3/10", "3/10"), ("1/5", "2/5"), ("0", "1/10")]
FAR, BACK = [(Fraction(p), Fraction(q)) for p, q in PAIR], [(Fraction(q), Fraction(p)) for p, q in PAIR]


def exactly(atoms: list[tuple[Fraction, Fraction]], x: Fraction) -> Fraction:
    return sum((max(p - x * q, Fraction(0)) for p, q in atoms), Fraction(0))


def known(atoms: list[tuple[Fraction, Fraction]], other: list[tuple[Fraction, Fraction]]) -> ProfileLaw:
    """A law of which only the profile is told, in one order and the other."""

    def side(mine: list[tuple[Fraction, Fraction]], back: Callable[[], LossLaw]) -> ProfileLaw:
        def ends(epsilon: arb) -> tuple[arb, arb]:
            value = sum(((lift(p) - epsilon.exp() * lift(q)).max(arb(0)) for p, q in mine), arb(0))
            return value, value

        top = max(p / q for p, q in mine if p and q)
        infinite = sum((p for p, q in mine if not q), Fraction(0))
        return ProfileLaw(
            ends,
            lambda: lift(top).log(),
            lambda: lift(infinite),
            lambda: finite_law(mine),
            back,
        )

    return side(atoms, lambda: side(other, lambda: side(atoms, lambda: side(other, arb))))  # type: ignore[arg-type]


@pytest.mark.parametrize("rate", ["1/10", "1/2", "9/10"])
@pytest.mark.parametrize("atoms", [FAR, BACK, FAR[1:-1]], ids=["far", "back", "finite"])
def test_a_sample_of_a_profile_is_that_of_the_mixture(rate: str, atoms: list[tuple[Fraction, Fraction]]) -> None:
    """Both orders, their largest losses, and what is given away: beside all outcomes of ((1-q) Q + q P, Q)."""
    q = Fraction(rate)
    if atoms == FAR[1:-1]:
        whole = [sum(one) for one in zip(*atoms, strict=True)]
        atoms = [(a / whole[0], b / whole[1]) for a, b in atoms]
    one = known(atoms, [(b, a) for a, b in atoms]).sampled(q)
    mixed = [(q * a + (1 - q) * b, b) for a, b in atoms]
    for law, truth in ((one, mixed), (one.reverse(), [(b, a) for a, b in mixed]), (one.reverse().reverse(), mixed)):
        assert isinstance(law, ProfileLaw)
        infinite = sum((a for a, b in truth if not b), Fraction(0))
        top = max(a / b for a, b in truth if a and b)

        def asked(law: ProfileLaw = law, infinite: Fraction = infinite, top: Fraction = top) -> None:
            assert law.infinite().overlaps(lift(infinite))
            assert law.top().overlaps(lift(top).log())
            assert law.revealed().overlaps(lift(infinite))

        at_precision(128, asked)
        for grown in (1, Fraction(11, 10), Fraction(7, 5), Fraction(9, 4), 5, 30):
            epsilon = Log(Fraction(grown)) if grown != 1 else Fraction(0)
            low, high = at_precision(128, lambda law=law, e=epsilon: law.ends(lift(e)))
            exact = lift(exactly(truth, Fraction(grown)))
            assert low <= exact + arb(2) ** -40
            assert exact <= high + arb(2) ** -40
            assert high <= exact + arb(2) ** -40
            # without what is given away, which compositions count apart: not too little above, not too much below
            rest = exact - lift(infinite)
            less, more = at_precision(128, lambda law=law, e=epsilon: law.ends_alone()(lift(e)))
            assert less.lower() <= rest + arb(2) ** -40
            assert more.upper() >= rest - arb(2) ** -40
        made = profile_of(law.dots)
        assert all(made(Fraction(x)) == exactly(truth, Fraction(x)) for x in ("1/2", "1", "2", "40"))


def profile_of(law: LossLaw) -> Callable[[Fraction], Fraction]:
    source = getattr(law, "source", law)
    return lambda x: exactly(source.atoms, x)


def test_mass_that_may_be_infinite_is_above_and_not_below() -> None:
    """Losses without end: up to 2^-100 of them may be taken for infinite, in upper ends alone."""

    def ends(epsilon: arb) -> tuple[arb, arb]:
        half = (-epsilon).exp() / 2  # of a pair whose losses have no end
        return half, half

    law = profile_law(ends, arb.pos_inf)
    mass = law.revealed()
    assert mass.contains(0)
    assert mass >= arb(0) or mass.lower() <= 0
    for epsilon in (0.0, 1.0, 9.0):
        low, high = law.ends_alone()(arb(epsilon))
        assert low.lower() <= ends(arb(epsilon))[0]
        assert high.upper() >= ends(arb(epsilon))[1] * (1 - arb(2) ** -45)
        assert (low.lower() + mass.lower()) <= ends(arb(epsilon))[0] + arb(2) ** -90


def test_points_are_moved_up_and_to_the_left() -> None:
    third = Fraction(1, 3)
    x, y = at_precision(1200, lambda: _outward(lift(third), lift(2 * third)))
    assert third - Fraction(1, 2**990) < x < third
    assert 2 * third < y < 2 * third + Fraction(1, 2**990)
    assert at_precision(1200, lambda: _outward(arb(-1), arb(2))) == (0, 1)
