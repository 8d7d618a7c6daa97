"""The profile: all engines give the same answer, each says which it is, and both ends hold up to the largest loss."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import comb, exp, inf, log, nextafter
from typing import Any

import pytest
from flint import arb
from independent import profile_reference as reference
from mpmath import mp, mpf
from privacy.by_engine import HALF, THIRD, by, parts_of

from zcdp import (
    L2,
    RAPPOR,
    BinaryRandomizedResponse,
    Channel,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Laplace,
    Logistic,
    LossPair,
    Mechanism,
    PermuteAndFlip,
    Plan,
    PureDP,
    RandomizedResponse,
    ReportNoisyMax,
    Subsampled,
    TruncatedGeometric,
)
from zcdp.numeric.balls import NotCertified, at_precision, lift
from zcdp.privacy.loss import Factor, gaussian_pair, laplace_pair, three_point_pair
from zcdp.privacy.loss.envelope_law import directed_law
from zcdp.privacy.loss.law import LossLaw, Parts
from zcdp.privacy.profile import profile as engines
from zcdp.privacy.profile.cells import Cells
from zcdp.privacy.profile.engine import Answer, Engine, Offer, Question
from zcdp.privacy.profile.finite_sum import CutSum
from zcdp.privacy.profile.profile import (
    Profile,
    _close,
    _outward,
    choose,
    delta_by_engine,
    deltas_by_engine,
    epsilon_by_engine,
)


@pytest.mark.parametrize("method", ["whole sum", "cut sum", "smoothed"])
@pytest.mark.parametrize("epsilon", [12, 30])
def test_several_laplace(method: str, epsilon: int) -> None:
    e, count = Fraction(5, 2), 16
    lower, upper = by(method, parts_of(count * Laplace(epsilon=e)), Fraction(epsilon))
    truth = reference.many_laplace_delta(e, count, Fraction(epsilon))
    assert lower <= truth <= upper
    if method != "smoothed":
        assert upper <= truth * (1 + mpf(10) ** -9)


@pytest.mark.parametrize("method", ["lattice", "whole sum", "cut sum", "smoothed"])
@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1), Fraction(5), Fraction(11, 3)])
def test_a_lattice(method: str, epsilon: Fraction) -> None:
    rows = [("pure", THIRD, 1, 12), ("rr", HALF, 7, 9), ("rappor", HALF, 1, 4), ("geometric", THIRD, 4, 6)]
    plan = (
        12 * PureDP(epsilon=THIRD)
        + 9 * RandomizedResponse(epsilon=HALF, k=7)
        + 4 * RAPPOR(epsilon=HALF)
        + 6 * DiscreteLaplace(epsilon=THIRD, sensitivity=4)
    )
    lower, upper = by(method, parts_of(plan), epsilon)
    truth = reference.lattice_delta(*reference.composed(rows), epsilon)
    assert lower <= truth <= upper
    if method != "smoothed":
        assert upper <= truth * (1 + mpf(10) ** -9)


@pytest.mark.parametrize(
    ("plan", "method", "apart"),
    [
        (39 * Logistic(epsilon=1.5), "finite sum", 1e-13),
        (2 * PureDP(epsilon="0.7") + RAPPOR(epsilon="0.1"), "finite sum", 1e-13),
        (1000 * Laplace(epsilon=0.1), "contour", 1e-13),
        (300 * PureDP(epsilon="0.1") + 30 * Laplace(epsilon="0.3"), "lattice", 1e-13),
        (3000 * PureDP(epsilon=0.012345678) + 2000 * RAPPOR(epsilon=0.02718281828), "smoothed contour", 1e-6),
    ],
)
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_both_ends_are_tight(plan: Plan, method: str, apart: float, delta: float) -> None:
    profile = Profile(parts_of(plan))
    lower, upper, found = profile.epsilon(Fraction(delta))[:3]
    assert found == method
    assert upper * (1 - apart) <= lower <= upper
    lower, upper = profile.delta_bounds(Fraction(lower))
    assert upper * (1 - 1e3 * apart) <= delta <= upper * (1 + 1e3 * apart)
    assert upper * (1 - 1e3 * apart) <= lower <= upper


def test_the_last_answer_is_kept_with_its_method() -> None:
    profile = Profile(parts_of(1000 * Laplace(epsilon=0.1)))
    first = profile.epsilon(Fraction(1, 1000))
    assert profile.delta(Fraction(101))[:3] == (0.0, 0.0, "largest loss")
    assert profile.epsilon(Fraction(1, 1000)) is first
    assert first.method == "contour"
    assert profile.epsilon(Fraction(1, 10**6)).lower > first.upper


def test_threads_that_ask_one_profile_get_their_own_answers() -> None:
    from concurrent.futures import ThreadPoolExecutor

    plan = 20 * Laplace(epsilon="0.1")
    expected = {e: plan.delta_bounds(epsilon=e) for e in (0, 1)}
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            asked = [n % 2 for n in range(400)]
            answers = list(pool.map(lambda e: plan.delta_bounds(epsilon=e), asked))
    finally:
        sys.setswitchinterval(before)
    assert answers == [expected[e] for e in asked]


# What is made of an engine's answer


class Told(Engine):
    """e^{-epsilon/20} known to so much on either side, above an epsilon of one's choice."""

    name = "told"
    only_rounding = False
    guess = Fraction(1)
    low, high = Fraction(9, 10), Fraction(11, 10)

    @classmethod
    def offer(cls, question: Question) -> Offer | None:
        del question
        return Offer(7.0, cls)

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        value = (-lift(epsilon) / 20).exp()
        return value * lift(self.low), value * lift(self.high)

    def estimate(self, epsilon: float) -> float:
        return -epsilon / 20


class Attained(Told):
    attained = True


class Sharper(Told):
    low, high = Fraction(95, 100), Fraction(105, 100)


class Looser(Told):
    low, high = Fraction(1, 2), Fraction(3, 2)


class NoLower(Told):
    low = Fraction(0)


NOISE = ((gaussian_pair(lambda: arb(1)), 1),)
AWAY = ((directed_law([Fraction(1, 5), Fraction(4, 5)], [Fraction(0), Fraction(1)]), 1),)


@pytest.mark.parametrize("kind", [Told, Attained])
def test_an_answer_says_what_its_engine_says(monkeypatch: pytest.MonkeyPatch, kind: type[Told]) -> None:
    """Both ends, its name, and whether it is of the mechanisms themselves; the question is noted."""
    monkeypatch.setattr(engines, "ENGINES", [(kind,)])
    asked: list[Question] = []
    answer, _ = at_precision(128, lambda: delta_by_engine(NOISE, Fraction(2), 1, asked, None))
    assert answer is not None
    assert answer[:2] == pytest.approx((0.9 * exp(-0.1), 1.1 * exp(-0.1)), rel=1e-14)
    assert (answer.method, answer.attained, answer.cost) == ("told", kind.attained, 7.0)
    assert len(asked) == 1
    found, enough = at_precision(128, lambda: epsilon_by_engine(NOISE, Fraction(1, 5), 1, asked, None))
    assert found is not None
    assert enough
    assert found.attained is kind.attained
    assert found.lower <= 20 * log(0.9 * 5)
    assert found.upper >= 20 * log(1.1 * 5)
    assert len(asked) == 2


@pytest.mark.parametrize("other", [Sharper, Looser])
def test_of_two_engines_the_one_of_the_less_upper_end_answers(
    monkeypatch: pytest.MonkeyPatch, other: type[Told]
) -> None:
    """Where the first one knows no lower end: both ends are then of one engine."""
    monkeypatch.setattr(engines, "ENGINES", [(NoLower,)])
    monkeypatch.setattr(engines, "_second", lambda *_: other())
    answer, _ = at_precision(128, lambda: delta_by_engine(NOISE, Fraction(2), 1, [], None))
    assert answer is not None
    ends = (0.95, 1.05) if other is Sharper else (0.0, 1.1)
    assert answer[:2] == pytest.approx((ends[0] * exp(-0.1), ends[1] * exp(-0.1)), rel=1e-14)


class Tenth(Told):
    """At most a tenth, so that there is room for what is given away."""

    low, high = Fraction(9, 100), Fraction(11, 100)


def test_what_is_given_away_is_added_to_both_ends_and_taken_from_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fifth of the outcomes shows the input; the largest finite loss is log(4/5), so that epsilon 0 is beyond it."""
    law = directed_law([Fraction(1, 5), Fraction(3, 5), Fraction(1, 5)], [Fraction(0), Fraction(1, 5), Fraction(4, 5)])
    monkeypatch.setattr(engines, "ENGINES", [(Tenth,)])
    answer, _ = at_precision(128, lambda: delta_by_engine(((law, 1),), Fraction(1, 2), 1, [], None))
    assert answer is not None
    value = exp(-1 / 40)
    assert answer[:2] == pytest.approx((0.2 + 0.09 * value, 0.2 + 0.11 * value), rel=1e-14)
    beyond, _ = at_precision(128, lambda: delta_by_engine(AWAY, Fraction(1), 1, [], None))
    assert beyond is not None
    assert beyond[:2] == pytest.approx((0.2, 0.2), rel=1e-15)


def test_what_fewer_bits_told_is_kept_where_it_is_of_the_same_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "ENGINES", [(Told,)])
    alone, _ = at_precision(128, lambda: epsilon_by_engine(NOISE, Fraction(1, 5), 1, [], None))
    assert alone is not None
    narrow = Answer(alone.lower + 1, alone.upper - 1, "before")
    same, _ = at_precision(128, lambda: epsilon_by_engine(NOISE, Fraction(1, 5), 1, [], narrow))
    assert same is not None
    assert same[:2] == narrow[:2]
    wide = Answer(alone.lower - 1, alone.upper + 1, "before")
    same, _ = at_precision(128, lambda: epsilon_by_engine(NOISE, Fraction(1, 5), 1, [], wide))
    assert same is not None
    assert same[:2] == alone[:2]
    other, _ = at_precision(
        128, lambda: epsilon_by_engine(NOISE, Fraction(1, 5), 1, [], narrow._replace(attained=True))
    )
    assert other is not None
    assert other[:2] == alone[:2]


@pytest.mark.parametrize("root", [0.25, 1.0, 3.7])
@pytest.mark.parametrize("part", ["1", "1.0000000001", "1.001", "1.1", "0.999", "0.9"])
def test_an_end_is_moved_outward_until_it_is_sure(root: float, part: str) -> None:
    """`holds` from the truth on, upward or downward; what is returned holds, and is near the truth."""
    truth = Fraction(root) * Fraction(part)
    upper = _outward(root, lambda e: e >= truth, Fraction(0), up=True)
    lower = _outward(root, lambda e: e <= truth, Fraction(0), up=False)
    assert upper is not None
    assert lower is not None
    assert lower <= truth <= upper
    if truth >= root:
        assert upper - truth <= 2 * (truth - Fraction(root)) + Fraction(1, 10**15)
        assert lower == root
    if truth <= root:
        assert truth - Fraction(lower) <= 2 * (Fraction(root) - truth) + Fraction(1, 10**15)
        assert upper == root


def test_where_no_end_is_sure_none_is_told() -> None:
    """Upward there is none, downward it is 0; below where an engine begins nothing is known."""
    assert _outward(1.0, lambda _: False, Fraction(0), up=True) is None
    assert _outward(1.0, lambda _: False, Fraction(0), up=False) == 0
    assert _outward(1.0, lambda _: False, Fraction(9, 10), up=False) is None
    asked: list[Fraction] = []
    assert _outward(1.0, lambda e: bool(asked.append(e)), Fraction(9, 10), up=False) is None
    assert min(asked) >= Fraction(9, 10)
    assert _outward(0.0, lambda _: True, Fraction(0), up=True) == 0
    assert _outward(0.0, lambda _: False, Fraction(0), up=True) is None
    assert _outward(0.0, lambda _: False, Fraction(0), up=False) == 0
    assert _outward(0.5, lambda _: True, Fraction(1), up=True) == 1
    assert _outward(0.5, lambda _: False, Fraction(1), up=True) is None


class Refusing(Told):
    @classmethod
    def offer(cls, question: Question) -> Offer | None:
        del question
        return None


class Failing(Told):
    @classmethod
    def offer(cls, question: Question) -> Offer | None:
        raise NotCertified("it cannot tell")


class Cheap(Told):
    name = "cheap"

    @classmethod
    def offer(cls, question: Question) -> Offer | None:
        del question
        return Offer(3.0, cls)


class Single(Cheap):
    most_uses = 1


class OfOneLaw(Cheap):
    most_laws = 1


class OfAtoms(Cheap):
    of_atoms = True


class OnLattice(Cheap):
    on_lattice = True


def test_the_first_row_that_fits_answers_with_its_cheapest_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines that do not fit the composition are not asked, and one that gives up makes room for the next."""

    def chosen(parts: Parts) -> str:
        return at_precision(128, lambda: choose(Question(parts, epsilon=Fraction(1)))[0].name)

    for row in ([(Refusing,), (Told,)], [(Failing, Refusing), (Told,)], [(Failing, Told)], [(Told,), (Cheap,)]):
        monkeypatch.setattr(engines, "ENGINES", row)
        assert chosen(NOISE) == "told"
    monkeypatch.setattr(engines, "CHEAP", 0)
    for row in ([(Told, Cheap)], [(Cheap, Told)]):
        monkeypatch.setattr(engines, "ENGINES", row)
        assert chosen(NOISE) == "cheap"
    law, atoms = NOISE[0][0], three_point_pair(Fraction(1))
    for kind, fitting, unfitting in (
        (Single, ((law, 1),), ((law, 2),)),
        (Single, ((law, 1),), ((law, 1), (atoms, 1))),
        (OfOneLaw, ((law, 9),), ((law, 1), (atoms, 1))),
        (OfAtoms, ((atoms, 3),), ((atoms, 3), (law, 1))),
        (OnLattice, ((atoms, 3),), ((law, 1),)),
    ):
        monkeypatch.setattr(engines, "ENGINES", [(kind,), (Told,)])
        assert chosen(fitting) == "cheap"
        assert chosen(unfitting) == "told"
    monkeypatch.setattr(engines, "ENGINES", [(Failing,)])
    with pytest.raises(NotCertified, match="cannot tell"):
        chosen(NOISE)


# Engines of second choice, each asked directly and against the truth; what each leaves out, where that is much.


F = Fraction


Height = Callable[[arb], arb]


@pytest.fixture(autouse=True)
def many_digits() -> Iterator[None]:
    with mp.workdps(60):
        yield


def real(x: Fraction) -> mpf:
    return mpf(x.numerator) / x.denominator


def law_of(pair: LossPair) -> LossLaw:
    law = pair.pair().upper
    assert law is not None
    return law


# Few uses


def gaussian_delta(mu: mpf, epsilon: Fraction) -> mpf:
    e = real(epsilon)
    return mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu)


class Formula:
    """A law whose own profile, of one use, is told by a formula in each order; all else it knows as before."""

    def __init__(self, law: LossLaw, here: Height, back: Height | None = None) -> None:
        self.law, self.here, self.back = law, here, back or here

    def alone(self) -> Height:
        return self.here

    def reverse(self) -> Formula:
        return Formula(self.law.reverse(), self.back, self.here)

    def __getattr__(self, name: str) -> object:
        return getattr(self.law, name)


def gaussian_height(mu: arb, e: arb) -> arb:
    below, beyond = mu / 2 - e / mu, -mu / 2 - e / mu
    return ((-below / arb(2).sqrt()).erfc() - e.exp() * (-beyond / arb(2).sqrt()).erfc()) / 2


def gaussian(mu: Fraction) -> Formula:
    return Formula(Gaussian(sigma=1 / mu).pair().upper, lambda e: gaussian_height(lift(mu), e))


# Curves of many epsilons


def enumerated(pairs: list[tuple[LossPair, int]], epsilon: Fraction) -> tuple[mpf, mpf]:
    """delta in each of the two orders, over all outcomes of all uses."""
    products: dict[tuple[Fraction, Fraction], int] = {(F(1), F(1)): 1}
    for pair, count in pairs:
        for _ in range(count):
            longer: dict[tuple[Fraction, Fraction], int] = {}
            for (a, b), times in products.items():
                for p, q in zip(pair.p, pair.q, strict=True):
                    longer[a * p, b * q] = longer.get((a * p, b * q), 0) + times
            products = longer
    e = mp.exp(real(epsilon))
    forward = mp.fsum(times * max(real(a) - e * real(b), mpf(0)) for (a, b), times in products.items())
    backward = mp.fsum(times * max(real(b) - e * real(a), mpf(0)) for (a, b), times in products.items())
    return forward, backward


def ordered(p: list[str], q: list[str]) -> LossPair:
    return LossPair(p=p, q=q, ordered=True)


PLANS = {
    "the reverse is worse": [(ordered(["9/10", "1/10"], ["99/100", "1/100"]), 4)],
    "the reverse is better": [(ordered(["99/100", "1/100"], ["9/10", "1/10"]), 4)],
    "two kinds that disagree": [
        (ordered(["9/10", "1/10"], ["99/100", "1/100"]), 3),
        (ordered(["1/20", "19/20"], ["1/5", "4/5"]), 2),
    ],
    "only the reverse gives away": [
        (ordered(["1/2", "1/2", "0"], ["1/4", "1/2", "1/4"]), 2),
        (ordered(["3/5", "2/5"], ["1/2", "1/2"]), 2),
    ],
    "both give away": [
        (ordered(["1/2", "1/2", "0"], ["1/4", "0", "3/4"]), 2),
        (ordered(["2/3", "1/3"], ["1/2", "1/2"]), 1),
    ],
    "only the first order gives away": [
        (ordered(["1/4", "1/2", "1/4"], ["1/2", "1/2", "0"]), 2),
        (ordered(["3/5", "2/5"], ["1/2", "1/2"]), 2),
    ],
}
EPSILONS = [F(0), F(1, 10), F(1, 2), F(1), F(2), F(4), F(20)]


@pytest.mark.parametrize("name", PLANS)
def test_a_curve_of_ordered_pairs_is_above_both_orders(name: str) -> None:
    (first, times), *others = PLANS[name]
    plan = times * first
    for pair, count in others:
        plan = plan + count * pair
    truth = [max(enumerated(PLANS[name], epsilon)) for epsilon in EPSILONS]
    curve = plan._curve_in_haste(EPSILONS, 1)
    for epsilon, delta, high in zip(EPSILONS, truth, curve, strict=True):
        lower, upper = plan.delta_bounds(epsilon=epsilon)
        assert lower <= delta * (1 + mpf(10) ** -30)
        assert delta <= upper
        assert delta <= high
        assert min(upper, high) <= delta * (1 + mpf(10) ** -4) + mpf(10) ** -12
        if 0 < delta < 1:
            assert plan.epsilon_at(delta=F(upper) * (1 + F(1, 10**6))) <= epsilon + F(1, 10**4)
            assert plan.epsilon_at(delta=F(mp.nstr(delta, 40)) * (1 - F(1, 10**6))) >= epsilon


@pytest.mark.parametrize("name", PLANS)
def test_each_order_alone_is_that_of_its_outcomes(name: str) -> None:
    """What is asked of engines, and what they add of infinite losses, at increasing epsilons."""
    for order in (0, 1):
        laws = tuple((law_of(pair) if not order else law_of(pair).reverse(), count) for pair, count in PLANS[name])
        found = at_precision(192, lambda laws=laws: deltas_by_engine(laws, EPSILONS, 1))
        for epsilon, high in zip(EPSILONS, found, strict=True):
            truth = enumerated(PLANS[name], epsilon)[order]
            assert truth <= high <= truth * (1 + mpf(10) ** -4) + mpf(10) ** -12


def test_an_engine_far_from_its_own_epsilon_is_not_believed() -> None:
    """Its two ends are apart there; near its own they are not."""
    law = Laplace(epsilon=F(1, 10)).pair().upper

    def asked() -> None:
        question = Question(((law, 3000),), epsilon=F(60))
        engine, _ = choose(question)
        assert engine.name == "contour"
        assert _close(engine, F(60)) is not None
        far = _close(engine, F(290))
        if far is not None:
            lower, upper = engine.near(F(290))
            assert upper - lower <= upper * arb("0.001")

    at_precision(192, asked)


@pytest.mark.parametrize("least", [F(13), F(20), F(30)])
def test_an_engine_that_begins_beyond_the_answer_is_asked_again_from_zero(
    monkeypatch: pytest.MonkeyPatch, least: Fraction
) -> None:
    """The sum is cut where epsilon was proposed to be; if it is below, neither end may be taken from there."""
    monkeypatch.setattr(engines, "ENGINES", [(CutSum,)])
    monkeypatch.setattr(Question, "least", property(lambda asked: F(0) if asked.from_zero else least))
    delta = F(mp.nstr(reference.many_laplace_delta(F(5, 2), 16, F(12)), 40))
    lower, upper = Profile(((Laplace(epsilon=F(5, 2)).pair().upper, 16),)).epsilon_bounds(delta)
    assert lower * (1 - 1e-12) <= 12 <= upper * (1 + 1e-12)
    assert upper - lower < 1e-6


class Vague(Engine):
    """Three uses of Gaussian noise at mu = 1/2, known to a third."""

    name = "vague"
    only_rounding = False
    guess = F(2)

    @classmethod
    def offer(cls, question: Question) -> Offer | None:
        return Offer(1.0, cls)

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        truth = gaussian_height(arb(3).sqrt() / 2, lift(epsilon))
        return truth * 2 / 3, truth * 4 / 3

    def estimate(self, epsilon: float) -> float:
        return float(gaussian_height(arb(3).sqrt() / 2, arb(epsilon)).log())


def test_of_two_opinions_each_end_is_the_sharper_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one engine is vague, cells of losses are asked too: the ends enclose the truth, and are closer."""
    monkeypatch.setattr(engines, "ENGINES", [(Vague,)])
    epsilon, profile = F(2), Profile(((gaussian(F(1, 2)), 3),))
    delta = F(mp.nstr(gaussian_delta(mp.sqrt(mpf(3)) / 2, epsilon), 40))
    both = profile.epsilon_bounds(delta)
    monkeypatch.setattr(Cells, "most_uses", 0)
    alone = Profile(((gaussian(F(1, 2)), 3),)).epsilon_bounds(delta)
    for lower, upper in (both, alone):
        assert lower <= epsilon <= upper
    assert both[1] - both[0] < (alone[1] - alone[0]) / 5


# The two ends of a profile: where delta is 1, and where only the largest loss reaches it.


def test_near_one() -> None:
    """1 - delta = E min(1, e^{epsilon - L}), of many binary randomized responses far below their mean loss."""
    e, count, epsilon = Fraction(1, 10), 80_000, Fraction(100)
    profile = Profile(((three_point_pair(e), count),))
    lower, upper, method = profile.delta(epsilon)[:3]
    assert method == "Chernoff bound"
    assert lower <= reference.binary_delta(e, count, epsilon) <= upper == 1.0
    assert lower > 1 - 1e-15
    assert Profile(((three_point_pair(e), count),)).delta_bounds(Fraction(390))[1] < 1


@pytest.mark.parametrize(
    ("count", "loss", "power"), [(1, "5", 140), (7, "0.3", 140), (35_315, "5", 250), (35_315, "0.3", 9000)]
)
def test_a_delta_that_only_the_largest_loss_reaches(count: int, loss: str, power: int) -> None:
    """At the lower end the largest loss alone weighs more than delta, and the upper end is that loss, rounded up."""
    plan = count * PureDP(epsilon=loss)
    assert plan.profile is not None
    lower, upper = plan.profile.epsilon_bounds(Fraction(1, 10**power))  # a plan takes no numbers of so many digits
    assert plan.pure_epsilon <= upper <= nextafter(plan.pure_epsilon, inf)  # of which a plan takes the less
    assert upper * (1 - 1e-15) <= lower < count * Fraction(loss)
    gap = reference.real(count * Fraction(loss) - Fraction(lower))
    alone = (1 - mp.exp(-gap)) / (1 + mp.exp(-reference.real(Fraction(loss)))) ** count
    assert alone > mpf(10) ** -power


def test_a_density_next_to_its_largest_loss() -> None:
    """Two logistic densities, (top - epsilon)^3 or so: 1e-140 is 1e-47 below the top; 1e-20 is far from it."""
    plan = 2 * ExponentialMechanism(epsilon=1) + PureDP(epsilon=2)
    assert plan.profile is not None
    lower, upper, method = plan.profile.epsilon(Fraction(1, 10**140))[:3]
    assert (upper, method) == (plan.pure_epsilon, "largest loss")
    assert lower >= upper * (1 - 1e-15)
    lower, upper = plan.profile.epsilon_bounds(Fraction(1, 10**20))
    assert lower <= upper < plan.pure_epsilon * (1 - 1e-8)


def test_a_density_that_ends_before_the_last_bit_of_the_largest_loss() -> None:
    plan = 10**6 * PureDP(epsilon=1) + 10 * Logistic(epsilon="1e-12")
    lower, upper = plan.epsilon_bounds(delta=1e-18)
    rest = (10**6 * PureDP(epsilon=1)).epsilon_bounds(delta=1e-18)
    assert lower <= rest[1] * (1 + 1e-12)
    assert upper >= rest[0]


@pytest.mark.parametrize("loss", ["1/3", "0.1", "1", "log(3)"])
def test_the_lower_end_at_delta_zero_is_not_above_the_loss(loss: str) -> None:
    lower, upper = RandomizedResponse(epsilon=loss, k=2).epsilon_bounds(delta=0)
    exact = mp.log(3) if loss == "log(3)" else reference.real(Fraction(loss))
    assert lower <= exact <= upper
    assert upper - lower <= 5e-16 * upper


@pytest.mark.parametrize(
    ("plan", "delta"),
    [
        (100 * DiscreteLaplace(epsilon=0.5, sensitivity=300), "1e-40"),
        (
            Plan.parse(
                "DiscreteLaplace(epsilon='0.002', sensitivity=2) + DiscreteLaplace(epsilon='0.01', sensitivity=5)"
                " + DiscreteLaplace(epsilon='0.2', sensitivity=2) + DiscreteLaplace(epsilon='0.3')"
                " + DiscreteLaplace(epsilon=3, sensitivity=2) + DiscreteLaplace(epsilon='0.06', sensitivity=5)"
            ),
            "2e-9",
        ),
    ],
)
def test_just_below_the_largest_loss_there_is_a_lower_end(plan: Plan, delta: str) -> None:
    lower, upper = plan.epsilon_bounds(delta=delta)
    assert plan.pure_epsilon * (1 - 1e-6) < lower <= upper < plan.pure_epsilon
    assert upper <= lower * (1 + 1e-12)


# At delta 0 the answer is the largest loss: its lower end is a loss that true neighbours have.


@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize(
    ("mechanism", "loss"),
    [
        (Channel([["3/4", "1/4"], ["2/5", "3/5"]]), log(0.6 / 0.25)),
        (BinaryRandomizedResponse(p="0.6", q="0.3"), log(2)),
        (DiscreteLaplace(epsilon=1, sensitivity=L2(2)), 1.0),  # four coordinates that move by 1, each 1/4
        (DiscreteLaplace(epsilon=1, sensitivity=L2("2.5")), 1.0),
    ],
    ids=repr,
)
def test_both_ends_are_the_largest_loss(mechanism: Mechanism, loss: float, count: int) -> None:
    lower, upper = (count * mechanism).epsilon_bounds(delta=0)
    assert lower == pytest.approx(count * loss, rel=1e-14)
    assert upper == pytest.approx(count * loss, rel=1e-14)
    assert lower <= upper


def test_truncated_noise_by_its_own_table() -> None:
    m = TruncatedGeometric(epsilon=1, n=5)
    weights = [[exp(-abs(x - y)) for y in range(6)] for x in range(6)]
    rows = [[weight / sum(row) for weight in row] for row in weights]
    losses = [abs(log(p / q)) for one, two in pairwise(rows) for p, q in zip(one, two, strict=True)]
    lower, upper = m.epsilon_bounds(delta=0)
    assert lower <= upper
    assert lower == pytest.approx(max(losses), rel=1e-12)
    assert upper == pytest.approx(max(losses), rel=1e-12)


def softmax(scores: list[float], epsilon: float) -> list[float]:
    weights = [exp(epsilon / 2 * score) for score in scores]
    return [weight / sum(weights) for weight in weights]


def test_the_exponential_mechanism_comes_as_near_as_its_pair_says() -> None:
    """Utilities that all move by 1, one up and the others down, have a loss above the lower end."""
    lower, upper = ExponentialMechanism(epsilon=1).epsilon_bounds(delta=0)
    one, other = softmax([1.0] + [0.0] * 10**4, 1.0), softmax([0.0] + [1.0] * 10**4, 1.0)
    assert 0.4 < lower <= log(one[0] / other[0]) <= upper == 1.0


@pytest.mark.parametrize("m", [PermuteAndFlip(epsilon=1), ReportNoisyMax(epsilon=1, noise="gumbel")], ids=repr)
def test_the_lower_end_at_zero_is_above_that_of_every_small_delta(m: Mechanism) -> None:
    lower, upper = m.epsilon_bounds(delta=0)
    assert m.epsilon_bounds(delta="1e-9")[0] <= lower <= upper == 1.0


def test_a_loss_without_bound_has_no_pure_epsilon() -> None:
    """Under L2 the move may be spread over any number of coordinates: the largest loss grows with their root."""
    assert (3 * Laplace(epsilon=1, sensitivity=L2(2))).epsilon_bounds(delta=0) == (inf, inf)


class Plain(Factor):
    """The transform of Laplace noise, and nothing else that is known of it."""

    def __init__(self) -> None:
        self.laplace = laplace_pair(Fraction(1)).ready()

    def moment(self, z: Any) -> Any:
        return self.laplace.moment(z)


@dataclass(frozen=True, eq=False)
class Careful(LossLaw):
    """A law that knows its largest loss only from above."""

    def ready(self) -> Factor:
        return Plain()

    def largest(self) -> arb:
        return arb(5)


def test_a_largest_loss_that_is_not_seen_to_occur_is_no_lower_end() -> None:
    assert Profile(((Careful(), 3),)).loss_that_occurs() == 0.0
    assert Profile(((Careful(), 3), (laplace_pair(Fraction(1)), 2))).loss_that_occurs() == 2.0


@pytest.mark.parametrize(
    ("sigma", "rate", "count", "epsilon"), [(1, "0.01", 1000, 2), (2, "0.3", 10, 1), (1, 0.1, 5, 1)]
)
def test_deltas_in_floats_are_near_certified_ones(sigma: int, rate: str, count: int, epsilon: int) -> None:
    plan = count * Subsampled(Gaussian(sigma=sigma), rate=rate) + count * Subsampled(Gaussian(sigma=2), rate=rate)
    assert plan.profile is not None
    found = plan.profile.propose_in_floats(Fraction(epsilon))
    assert found == pytest.approx(log(plan.delta_at(epsilon=epsilon)), abs=1e-8)


def test_what_is_not_known_in_floats() -> None:
    for plan in (2 * Laplace(epsilon=1), Laplace(epsilon=1) + Subsampled(Gaussian(sigma=1), rate="0.1")):
        assert plan.profile is not None
        assert plan.profile.propose_in_floats(Fraction(1, 2)) is None


@pytest.mark.parametrize("count", [1, 2, 5])
def test_the_total_variation_itself_needs_hardly_any_epsilon(count: int) -> None:
    """delta is that of epsilon 0, which balls do not tell from a smaller one."""
    plan = count * Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    total = sum(
        max(comb(count, k) * (Fraction(3) ** k - Fraction(3) ** (count - k)) / 4**count, Fraction(0))
        for k in range(count + 1)
    )
    lower, upper = plan.epsilon_bounds(delta=total)
    assert 0 <= lower <= upper < 1e-20
