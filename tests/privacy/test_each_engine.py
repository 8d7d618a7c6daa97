"""Engines of second choice, each asked directly and against the truth; what each leaves out, where that is much."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, partial
from itertools import product
from math import comb
from types import SimpleNamespace

import pytest
from flint import arb
from independent import profile_reference as reference
from mpmath import mp, mpf
from privacy.by_engine import ends

from zcdp import Gaussian, Laplace, LossPair
from zcdp.numeric.balls import above, at_precision, below, lift
from zcdp.privacy.loss.law import Game, LossLaw, Parts
from zcdp.privacy.profile import binomial_sum, engines
from zcdp.privacy.profile import grid_engine as grid
from zcdp.privacy.profile.adaptive import Adaptive, _Diamond, _fits_diamond, _Square
from zcdp.privacy.profile.binomial_sum import BinomialSum
from zcdp.privacy.profile.engine_base import Engine, Offer
from zcdp.privacy.profile.engines import _close, _second, choose, deltas_by_engine
from zcdp.privacy.profile.finite_sum import CutSum
from zcdp.privacy.profile.grid_engine import Grid, GridLaw, _Composed, _Window
from zcdp.privacy.profile.profile import Profile
from zcdp.privacy.profile.question import Question

F = Fraction
Height = Callable[[arb], arb]


@pytest.fixture(autouse=True)
def many_digits() -> Iterator[None]:
    with mp.workdps(60):
        yield


def real(x: Fraction) -> mpf:
    return mpf(x.numerator) / x.denominator


def law_of(pair: LossPair) -> LossLaw:
    law = pair.pair()
    assert law is not None
    return law


# Two outcomes, many times

PAIRS = [(F(3, 5), F(1, 4)), (F(1, 4), F(3, 5)), (F(1, 1000), F(1, 3)), (F(99, 100), F(1, 50))]


def binomial_delta(p: Fraction, q: Fraction, count: int, epsilon: Fraction) -> mpf:
    """sum over k of C(n, k) (p^k (1-p)^{n-k} - e^epsilon q^k (1-q)^{n-k})_+."""
    e, total = mp.exp(real(epsilon)), mpf(0)
    for k in range(count + 1):
        one, other = real(p**k * (1 - p) ** (count - k)), real(q**k * (1 - q) ** (count - k))
        total += comb(count, k) * max(one - e * other, mpf(0))
    return total


@pytest.mark.parametrize(("p", "q"), PAIRS)
@pytest.mark.parametrize("bits", [0, 2, 6, 20, 192])
def test_terms_of_a_binomial_sum_that_are_left_out_are_charged(
    monkeypatch: pytest.MonkeyPatch, p: Fraction, q: Fraction, bits: int
) -> None:
    """It stops where terms are below 2^-bits of the sum; from the middle, or from the first term that counts."""
    monkeypatch.setattr(binomial_sum, "ctx", SimpleNamespace(prec=bits))
    law = law_of(LossPair(p=[p, 1 - p], q=[q, 1 - q], ordered=True))
    for count, epsilon in ((1, F(1, 5)), (2, F(0)), (9, F(1, 3)), (60, F(0)), (60, F(7)), (60, F(25)), (200, F(1))):
        truth = binomial_delta(p, q, count, epsilon)

        def asked(count: int = count, epsilon: Fraction = epsilon) -> tuple[float, float]:
            expansion = law.expansion()
            assert expansion is not None
            return ends(BinomialSum(expansion, count, epsilon).delta(epsilon))

        lower, upper = at_precision(192, asked)
        assert lower <= truth <= upper
        if bits == 192:
            assert upper <= truth * (1 + mpf(10) ** -14) + mpf(10) ** -300


# Few uses on a grid of losses


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


def laplace(loss: Fraction) -> Formula:
    return Formula(Laplace(epsilon=loss).pair(), lambda e: 1 - ((e - lift(loss)) / 2).exp())


def gaussian_height(mu: arb, e: arb) -> arb:
    below, beyond = mu / 2 - e / mu, -mu / 2 - e / mu
    return ((-below / arb(2).sqrt()).erfc() - e.exp() * (-beyond / arb(2).sqrt()).erfc()) / 2


def gaussian(mu: Fraction) -> Formula:
    return Formula(Gaussian(sigma=1 / mu).pair(), lambda e: gaussian_height(lift(mu), e))


def two_outcomes(p: Fraction, q: Fraction) -> Formula:
    """p > q: the first outcome has the larger loss."""
    pair = law_of(LossPair(p=[p, 1 - p], q=[q, 1 - q], ordered=True))
    return Formula(pair, lambda e: lift(p) - e.exp() * lift(q), lambda e: lift(1 - q) - e.exp() * lift(1 - p))


def _on_a_grid() -> Iterator[tuple[str, Parts, Fraction, mpf]]:
    with mp.workdps(60):
        for epsilon in (F(1, 2), F(13, 2)):
            truth = reference.many_laplace_delta(F(5, 2), 3, epsilon)
            yield f"3 laplace at {epsilon}", ((laplace(F(5, 2)), 3),), epsilon, truth
        for epsilon in (F(1, 4), F(3)):
            truth = reference.two_laplace_delta(F(5, 2), F(1), epsilon)
            yield f"two kinds at {epsilon}", ((laplace(F(5, 2)), 1), (laplace(F(1)), 1)), epsilon, truth
        for count, epsilon in ((1, F(1)), (4, F(1)), (7, F(4))):
            truth = gaussian_delta(mp.sqrt(mpf(count)) / 2, epsilon)
            yield f"{count} gaussian at {epsilon}", ((gaussian(F(1, 2)), count),), epsilon, truth
        for epsilon in (F(1, 3), F(3)):
            truth = binomial_delta(F(3, 5), F(1, 4), 5, epsilon)
            yield f"5 of two outcomes at {epsilon}", ((two_outcomes(F(3, 5), F(1, 4)), 5),), epsilon, truth


ON_A_GRID = {name: (parts, epsilon, truth) for name, parts, epsilon, truth in _on_a_grid()}


@pytest.mark.parametrize("name", ON_A_GRID)
@pytest.mark.parametrize(("points", "negligible"), [(24, 1e-13), (150, 1e-13), (60, 1e-2), (40, 0.5)])
def test_a_grid_of_losses_encloses(monkeypatch: pytest.MonkeyPatch, name: str, points: int, negligible: float) -> None:
    """Coarse and less coarse; and cut so near that what lies beyond the window is a good part of delta."""
    monkeypatch.setattr(grid, "NEGLIGIBLE", negligible)
    parts, epsilon, truth = ON_A_GRID[name]

    def asked() -> tuple[float, float]:
        found = Grid(Question(parts, epsilon=epsilon), points)
        bounds = ends(found.delta(epsilon))
        for other in (epsilon / 2, epsilon + 1):  # it answers for neighbours, too
            assert ends(found.delta(other))[0] <= ends(found.delta(other))[1]
        return bounds

    lower, upper = at_precision(160, asked)
    assert lower <= truth <= upper
    if points == 150:
        assert upper <= truth * 5 / 4
        assert lower >= truth / 2 or name.startswith("7")


@pytest.mark.parametrize(("high", "low"), [(40, 2), (3, 40), (5, 3), (40, 40)])
def test_losses_beyond_a_window_are_moved_to_the_side_that_costs_more(high: int, low: int) -> None:
    """A law on the multiples of 1/2, to the fifth power: above, and below where it must not be above."""
    masses = {-3: F(1, 10), -2: F(2, 5), 1: F(1, 5), 3: F(3, 10)}
    exact = {0: F(1)}
    for _ in range(5):
        longer: dict[int, Fraction] = {}
        for (j, one), (k, other) in product(exact.items(), masses.items()):
            longer[j + k] = longer.get(j + k, F(0)) + one * other
        exact = longer

    def composed(upward: bool, epsilon: Fraction) -> arb:
        window = _Window(arb(1) / 2, arb("0.7"), high, low)
        law = GridLaw(-3, [lift(masses.get(j, F(0))) for j in range(-3, 4)], arb(0))
        return _Composed.of(window, law, upward=upward).power(5).sums().delta(lift(epsilon))

    for epsilon in (F(0), F(1, 4), F(1), F(3)):
        truth = mp.fsum(real(m) * max(-mp.expm1(real(epsilon - F(j, 2))), mpf(0)) for j, m in exact.items())
        lower, upper = (at_precision(192, partial(composed, upward, epsilon)) for upward in (False, True))
        assert below(lower) <= truth <= above(upper)
        if high == low == 40:
            assert above(upper) <= truth * (1 + mpf(10) ** -12) <= below(lower) * (1 + mpf(10) ** -11)


def test_the_second_opinion_is_of_the_same_composition() -> None:
    """What a grid says beside another engine encloses the same truth."""
    parts, epsilon, truth = ON_A_GRID["3 laplace at 1/2"]

    def asked() -> tuple[float, float]:
        question = Question(parts, epsilon=epsilon)
        first, _ = choose(question)
        second = _second(question, first)
        assert isinstance(second, Grid)
        return ends(second.delta(epsilon))

    lower, upper = at_precision(160, asked)
    assert lower <= truth <= upper


# Rows that face either way


def game_value(p: list[Fraction], q: list[Fraction], count: int, epsilon: Fraction) -> mpf:
    """The best of an adversary who chooses the order of the two rows before each use."""
    e = mp.exp(real(epsilon))

    @cache
    def value(left: int, ratio: Fraction) -> mpf:
        if not left:
            return max(1 - e * real(ratio), mpf(0))
        orders = ((p, q), (q, p))
        return max(
            mp.fsum(real(a) * value(left - 1, ratio * b / a) for a, b in zip(one, other, strict=True))
            for one, other in orders
        )

    return value(count, F(1))


ROWS = {
    "two outcomes": ([F(4, 5), F(1, 5)], [F(1, 3), F(2, 3)]),
    "one of three is alike": ([F(3, 5), F(3, 10), F(1, 10)], [F(1, 5), F(3, 10), F(1, 2)]),
    "nearly alike": ([F(2001, 4000), F(1999, 4000)], [F(1999, 4000), F(2001, 4000)]),
    "far apart": ([1 - F(1, 10**9), F(1, 10**9)], [F(1, 10**8), 1 - F(1, 10**8)]),
}


def adaptive(p: list[Fraction], q: list[Fraction], count: int, *, few: bool | None) -> Adaptive:
    game = Game(tuple(p), tuple(q))
    states = _Diamond(game, count) if _fits_diamond(game) else _Square(game, count)
    if few is not None:
        states.few = few
    return Adaptive(states)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("epsilon", [F(0), F(1, 2), F(5, 2), F(9)])
def test_the_recursion_is_the_game(name: str, few: bool, epsilon: Fraction) -> None:
    """Last values in balls and in doubles alike."""
    p, q = ROWS[name]
    truth = game_value(p, q, 5, epsilon)
    lower, upper = at_precision(192, lambda: ends(adaptive(p, q, 5, few=few).delta(epsilon)))
    assert lower <= truth <= upper
    assert upper - lower <= 1e-12


@pytest.mark.parametrize(("name", "count"), [("far apart", 40), ("nearly alike", 2)])
@pytest.mark.parametrize("below", ["1e-3", "1e-7", "3e-8", "1e-9", "5e-10", "7e-11", "1e-12", "3e-14"])
def test_what_doubles_lose_is_charged(name: str, count: int, below: str) -> None:
    """Forty losses of about twenty each, whose sum one double knows to 1e-13; and e^{-x} for x next to 0.

    Only one state is above epsilon, so delta is its mass times (1 - e^{-below}), as small a difference.
    """
    p, q = ROWS[name]
    with mp.workdps(400):
        ratio, mass = max((p[0] / q[0], p[0]), (p[1] / q[1], p[1]), (q[0] / p[0], q[0]), (q[1] / p[1], q[1]))
        top = count * mp.log(real(ratio))
        epsilon = F(int(mp.floor((top - mpf(below)) * mpf(2) ** 200)), 2**200)
        truth = real(mass) ** count * -mp.expm1(real(epsilon) - top)
    lower, upper = at_precision(192, lambda: ends(adaptive(p, q, count, few=False).delta(epsilon)))
    assert lower <= truth <= upper


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
    law = Laplace(epsilon=F(1, 10)).pair()

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
    lower, upper = Profile(((Laplace(epsilon=F(5, 2)).pair(), 16),)).epsilon_bounds(delta)
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
    """Where one engine is vague, a grid of losses is asked too: the ends enclose the truth, and are closer."""
    monkeypatch.setattr(engines, "ENGINES", [(Vague,)])
    epsilon, profile = F(2), Profile(((gaussian(F(1, 2)), 3),))
    delta = F(mp.nstr(gaussian_delta(mp.sqrt(mpf(3)) / 2, epsilon), 40))
    both = profile.epsilon_bounds(delta)
    monkeypatch.setattr(engines, "FEW_USES", 0)
    alone = Profile(((gaussian(F(1, 2)), 3),)).epsilon_bounds(delta)
    for lower, upper in (both, alone):
        assert lower <= epsilon <= upper
    assert both[1] - both[0] < (alone[1] - alone[0]) / 5
