"""What every engine asks of a question: what is counted more than once, what is known without a contour."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import inf, log
from typing import ClassVar

import pytest
from flint import arb
from mpmath import mp, mpf

from zcdp import Laplace, Log, LossPair, Mechanism, PureDP, RandomizedResponse
from zcdp.numeric.balls import Undecided, above, at_precision, lift
from zcdp.numeric.exact import Exact, Value, positive
from zcdp.numeric.functions import Number, sinhc
from zcdp.numeric.functions import log as log_of
from zcdp.privacy.curve import Peak
from zcdp.privacy.loss import Claim, gaussian_pair, laplace_pair, logistic_pair
from zcdp.privacy.loss.law import LossLaw, Parts
from zcdp.privacy.loss.transform import Transform
from zcdp.privacy.profile import profile as engines
from zcdp.privacy.profile.engine import Engine, Line, Offer, Question
from zcdp.privacy.profile.profile import Profile, _OneDirection
from zcdp.privacy.sampled_curve import product_claim

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
    parts = tuple((one.pair().upper, count) for one, count in MANY[name])
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
    law = pair.pair().upper
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
    law = product_claim(2 * pair + RandomizedResponse(epsilon=Log(3), k=2)).upper
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
    law = LossPair(p=q if flipped else p, q=p if flipped else q, ordered=True).pair().upper
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
    everything = ((LossPair(p=[1, 0], q=[0, 1], ordered=True).pair().upper, 1),)
    assert known(everything, epsilon=F(1)) == (1.0, 1.0)
    same = ((LossPair(p=["1/2", "1/2"], q=["1/2", "1/2"], ordered=True).pair().upper, 3),)
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


# A mechanism and an engine from outside the package, each written by its recipe alone (CONTRIBUTING.md).


@dataclass(frozen=True, init=False, repr=False)
class Sech(Mechanism):
    """Noise of density sech^2, as the logistic mechanism has it, written anew from its closed forms."""

    theorem: ClassVar[str] = "logistic"
    epsilon: Exact

    def __init__(self, *, epsilon: Value) -> None:
        self._set(epsilon=positive(epsilon, "epsilon"))

    def cumulant(self, s: Number) -> Number:
        epsilon = lift(self.epsilon)
        return log_of(sinhc(epsilon * (2 * s + 1) / 2)) - log_of(sinhc(epsilon / 2))

    def peak(self) -> Peak:
        half = lift(self.epsilon) / 2
        return Peak(2 * (half * half.coth() - 1), arb(1))

    def pair(self) -> Claim:
        return Claim.exactly(logistic_pair(self.epsilon))  # its own pair, not only one that dominates


def test_a_mechanism_of_ones_own_has_all_that_is_derived() -> None:
    m = Sech(epsilon=1)
    assert repr(m) == "Sech(epsilon=1)"
    assert m.rho == pytest.approx(0.163953413738652, rel=1e-14)
    assert m.search_rho()[1] == pytest.approx(m.rho, rel=1e-9)
    lower, upper = (30 * m + Laplace(epsilon="0.1")).epsilon_bounds(delta="1e-6")
    assert 0 < lower <= upper <= lower * (1 + 1e-12)
    assert m.calibrate(rho="0.1").rho <= 0.1


class Enumerated(Engine):
    """delta(epsilon) = sum over all outcomes of p (1 - e^{epsilon - L})_+, each by itself; for few atoms."""

    name = "all outcomes"

    @classmethod
    def offer(cls, question: Question) -> Offer | None:
        expansions = [(law.expansion(), count) for law, count in question.parts]
        outcomes = 1
        for expansion, count in expansions:
            if expansion is None or expansion.width:
                return None
            outcomes *= len(expansion.rows) ** count
        return Offer(1000 * outcomes, lambda: cls(question)) if outcomes <= 5000 else None

    def __init__(self, question: Question) -> None:
        atoms = []
        for law, count in question.parts:
            expansion = law.expansion()
            assert expansion is not None
            exponents = [expansion.exponent(k) for k in range(len(expansion.rows))]
            one = [(a, row[0] * (a / 2).exp()) for a, row in zip(exponents, expansion.rows, strict=True)]
            atoms.extend([one] * count)
        self.outcomes = []
        for outcome in product(*atoms):
            loss, mass = arb(0), arb(1)
            for a, p in outcome:
                loss, mass = loss + a, mass * p
            self.outcomes.append((loss, mass))

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        point = lift(epsilon)
        value = sum((mass * (1 - (point - loss).exp()).max(arb(0)) for loss, mass in self.outcomes), arb(0))
        return value, value

    def estimate(self, epsilon: float) -> float:
        value = float(self.delta(Fraction(epsilon))[0].mid())
        return log(value) if value > 0 else -inf


def test_an_engine_of_ones_own_takes_its_place_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = 3 * RandomizedResponse(epsilon="0.7", k=5) + 2 * PureDP(epsilon="0.3")
    parts = tuple((claim.upper, count) for part, count in plan.parts if (claim := part.pair()) is not None)
    before, usual = Profile(parts).delta(Fraction(1, 2)), Profile(parts).epsilon(Fraction(1, 100))
    monkeypatch.setattr(engines, "ENGINES", [(Enumerated,), *engines.ENGINES])
    after, found = Profile(parts).delta(Fraction(1, 2)), Profile(parts).epsilon(Fraction(1, 100))
    assert before.method != after.method == found.method == "all outcomes"
    assert after[:2] == pytest.approx(before[:2], rel=1e-15)
    assert found[:2] == pytest.approx(usual[:2], rel=1e-14)
    laplace = Laplace(epsilon=1).pair()
    assert laplace is not None
    assert Profile(((laplace.upper, 1),)).delta(Fraction(1, 2)).method == "finite sum"  # it has nothing to offer there
