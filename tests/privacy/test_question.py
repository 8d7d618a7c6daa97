"""What a contour counts more than once, and what is known without one: against closed forms of delta."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import inf

import pytest
from flint import arb
from mpmath import mp, mpf

from zcdp import Laplace, Log, LossPair, RandomizedResponse
from zcdp.numeric.balls import Undecided, above, at_precision, lift
from zcdp.privacy.loss import gaussian_pair, laplace_pair
from zcdp.privacy.loss.law import LossLaw, Parts
from zcdp.privacy.loss.transform import Transform
from zcdp.privacy.profile.profile import Profile, _OneDirection
from zcdp.privacy.profile.question import Line, Question
from zcdp.privacy.sampled_curve import product_law

F = Fraction


@pytest.fixture(autouse=True)
def many_digits() -> Iterator[None]:
    with mp.workdps(25):
        yield


def laplace_delta(loss: mpf, epsilon: mpf) -> mpf:
    """Of the densities exp(-|x|)/2 and exp(-|x - loss|)/2, at any real epsilon: P above e^epsilon times Q.

    P is the one at `loss`; the loss of x is |x| - |x - loss|, which rises from -loss to loss between 0 and `loss`.
    """
    if epsilon >= loss:
        return mpf(0)
    if epsilon < -loss:
        return 1 - mp.exp(epsilon)
    edge = (epsilon + loss) / 2  # from there on the loss is larger
    p = 1 - mp.exp(edge - loss) / 2
    q = mp.exp(-edge) / 2
    return p - mp.exp(epsilon) * q


def gaussian_delta(mu: mpf, epsilon: mpf) -> mpf:
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


KINDS = {
    "laplace": (((laplace_pair(F(4)), 1),), lambda e: laplace_delta(mpf(4), e)),
    "gaussian": (((gaussian_pair(lambda: arb(4)), 1),), lambda e: gaussian_delta(mpf(2), e)),
    "two gaussians": (((gaussian_pair(lambda: arb(1)), 2),), lambda e: gaussian_delta(mp.sqrt(mpf(2)), e)),
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("period", ["1.5", "4"])
def test_aliases_are_above_every_other_term_of_the_sum(name: str, period: str) -> None:
    """sum over j != 0 of e^{cjP} delta(epsilon + jP), to the left and to the right, at periods far too short."""
    parts, delta = KINDS[name]
    for c in ("0.4", "2.5"):
        for epsilon in (F(0), F(5, 2), F(19, 5)):
            p, order, point = mpf(period), mpf(c), mpf(epsilon.numerator) / epsilon.denominator
            others = (j for j in range(-int(25 / order / p) - 1, int(25 / p) + 2) if j)  # the rest is next to nothing
            truth = mp.fsum(mp.exp(order * j * p) * delta(point + j * p) for j in others)

            def bound(c: str = c, epsilon: Fraction = epsilon) -> float:
                line = Line(Transform(parts), arb(c), lift(epsilon))
                return above(line.aliases(arb(period), lift(epsilon)))

            assert truth <= at_precision(128, bound) * (1 + mpf(10) ** -12)


@pytest.mark.parametrize("name", KINDS)
def test_no_delta_is_held_to_be_surely_below_a_smaller_one(name: str) -> None:
    """True only where it is so; and where the number is far above delta, or the largest loss is passed, it is seen."""
    parts, delta = KINDS[name]
    order = _OneDirection(parts)
    for epsilon in (F(0), F(1, 10), F(1), F(5, 2), F(39, 10)):
        truth = delta(mpf(epsilon.numerator) / epsilon.denominator)
        for part in ("0.05", "0.3", "0.7", "0.95", "0.999999"):
            assert not order.surely_below(epsilon, F(mp.nstr(truth * mpf(part), 30)))
        assert order.surely_below(epsilon, F(1))
    assert order.surely_below(F(9), F(1, 20))


MANY = {
    "two kinds": ((Laplace(epsilon=1), 3), (Laplace(epsilon=F(1, 2)), 4)),
    "one kind": ((Laplace(epsilon=F(1, 4)), 20),),
}


@pytest.mark.parametrize("name", MANY)
def test_no_composition_is_held_to_be_surely_below_a_part_of_its_delta(name: str) -> None:
    """By a Chernoff bound or a coarse contour: the truth is what the finite sums enclose."""
    parts = tuple((one.pair(), count) for one, count in MANY[name])
    whole, order = Profile(parts), _OneDirection(parts)
    for epsilon in (F(1, 2), F(2), F(4)):
        lower, upper = whole.delta_bounds(epsilon)
        for part in ("0.01", "0.1", "0.5", "0.9", "0.999"):
            assert not order.surely_below(epsilon, F(lower) * F(part))
        assert order.surely_below(epsilon, 40 * F(upper))


def given_away(mass: Fraction) -> LossLaw:
    """An outcome of that mass that only the first of two inputs can produce, beside two others."""
    rest = 1 - mass
    pair = LossPair(p=[mass, rest * F(2, 3), rest / 3], q=[0, F(1, 3), F(2, 3)], ordered=True)
    law = pair.pair()
    assert law is not None
    return law


def one_use(mass: Fraction, epsilon: Fraction) -> mpf:
    rest, x = 1 - mass, mp.exp(mpf(epsilon.numerator) / epsilon.denominator)
    finite = ((rest * F(2, 3), F(1, 3)), (rest / 3, F(2, 3)))
    real = [(mpf(p.numerator) / p.denominator, mpf(q.numerator) / q.denominator) for p, q in finite]
    return mpf(mass.numerator) / mass.denominator + mp.fsum(max(p - x * q, mpf(0)) for p, q in real)


@pytest.mark.parametrize("mass", [F(1, 100), F(1, 5)])
def test_infinite_losses_are_counted_where_an_order_is_compared(mass: Fraction) -> None:
    """Below, at and beyond the largest finite loss."""
    order = _OneDirection(((given_away(mass), 1),))
    for epsilon in (F(0), F(1, 4), F(1, 2), F(7, 10), F(3)):
        truth = one_use(mass, epsilon)
        for part in ("0.5", "0.99"):
            assert not order.surely_below(epsilon, F(mp.nstr(truth * mpf(part), 30)))
    assert order.surely_below(F(3), mass * F(101, 100))


def test_infinite_losses_are_counted_beside_a_formula() -> None:
    """Two uses that show the input with probability 1/4 each, and a response: 9 + 3 outcomes, by enumeration."""
    pair = LossPair(p=["1/4", "3/4", "0"], q=["0", "3/4", "1/4"])
    law = product_law(2 * pair + RandomizedResponse(epsilon=Log(3), k=2))
    assert law is not None
    order = _OneDirection(((law, 1),))
    for epsilon in (F(0), F(1, 2), F(1)):
        x = mp.exp(mpf(epsilon.numerator) / epsilon.denominator)
        truth = mpf(7) / 16 + mpf(9) / 16 * (mpf(3) / 4 - x / 4)
        for part in ("0.1", "0.4", "0.9", "0.999"):
            assert not order.surely_below(epsilon, F(mp.nstr(truth * mpf(part), 20)))
        assert order.surely_below(epsilon, F(mp.nstr(truth * mpf("1.001"), 20)))


@pytest.mark.parametrize("flipped", [False, True])
def test_the_largest_loss_that_occurs_is_that_of_either_order(flipped: bool) -> None:
    """log 5 one way and log(9/5) the other; each use counts, and it is not rounded up."""
    p, q = [F(1, 2), F(1, 2)], [F(1, 10), F(9, 10)]
    law = LossPair(p=q if flipped else p, q=p if flipped else q, ordered=True).pair()
    assert law is not None
    found = Profile(((law, 3),)).loss_that_occurs()
    with mp.workdps(40):
        assert 3 * mp.log(5) * (1 - mpf(10) ** -15) <= found <= 3 * mp.log(5)
    for count in range(1, 40):
        with mp.workdps(40):
            assert Profile(((law, count),)).loss_that_occurs() <= count * mp.log(5)


def known(parts: Parts, **asked: Fraction) -> tuple[float, float] | None:
    def ends() -> tuple[float, float] | None:
        found = Question(parts, **asked).known()
        return None if found is None else found[:2]

    return at_precision(128, ends)


def test_what_is_known_without_an_engine() -> None:
    """Beyond the largest loss only what is given away counts; a delta below that has no epsilon at all."""
    parts = ((given_away(F(1, 5)), 1),)
    beyond = known(parts, epsilon=F(2))
    assert beyond is not None
    assert beyond[0] <= F(1, 5) <= beyond[1]
    assert beyond[1] - beyond[0] < 1e-15
    assert known(parts, epsilon=F(1, 10)) is None
    assert known(parts, delta=F(1, 10)) == (inf, inf)
    assert known(parts, delta=F(199, 1000)) == (inf, inf)
    with pytest.raises(Undecided):
        known(parts, delta=F(1, 5))
    everything = ((LossPair(p=[1, 0], q=[0, 1], ordered=True).pair(), 1),)
    assert known(everything, epsilon=F(1)) == (1.0, 1.0)
    same = ((LossPair(p=["1/2", "1/2"], q=["1/2", "1/2"], ordered=True).pair(), 3),)
    assert known(same, delta=F(1, 10)) == (0.0, 0.0)
    assert known(same, epsilon=F(0)) == (0.0, 0.0)


def test_what_is_left_of_delta_for_finite_losses_is_solved_for() -> None:
    """epsilon of one use with an outcome of mass 1/5 that gives the input away, from both sides of its delta."""
    profile = Profile(((given_away(F(1, 5)), 1),))
    for epsilon in (F(1, 10), F(3, 10)):
        delta = F(mp.nstr(one_use(F(1, 5), epsilon), 30))
        answer = profile.directions[0].epsilon(delta)
        assert answer.lower <= epsilon * (1 + F(1, 10**12))
        assert epsilon <= answer.upper * (1 + 1e-12)
        assert answer.upper - answer.lower < 1e-9
