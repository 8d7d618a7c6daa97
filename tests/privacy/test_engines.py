"""All engines give the same answer, each says which it is, and answers are kept apart."""

from __future__ import annotations

import sys
from fractions import Fraction
from math import exp, log

import pytest
from flint import arb
from independent import profile_reference as reference
from mpmath import mpf
from privacy.by_engine import HALF, THIRD, by, parts_of

from zcdp import RAPPOR, DiscreteLaplace, Laplace, Logistic, Plan, PureDP, RandomizedResponse
from zcdp.numeric.balls import NotCertified, at_precision, lift
from zcdp.privacy.loss import gaussian_pair, three_point_pair
from zcdp.privacy.loss.envelope_law import directed_law
from zcdp.privacy.loss.law import Parts
from zcdp.privacy.profile import engines
from zcdp.privacy.profile.engine_base import Engine, Offer
from zcdp.privacy.profile.engines import _outward, choose, delta_by_engine, epsilon_by_engine
from zcdp.privacy.profile.profile import Profile
from zcdp.privacy.profile.question import Answer, Question


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
    answer = at_precision(128, lambda: delta_by_engine(NOISE, Fraction(2), 1, asked))
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
    answer = at_precision(128, lambda: delta_by_engine(NOISE, Fraction(2), 1, []))
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
    answer = at_precision(128, lambda: delta_by_engine(((law, 1),), Fraction(1, 2), 1, []))
    assert answer is not None
    value = exp(-1 / 40)
    assert answer[:2] == pytest.approx((0.2 + 0.09 * value, 0.2 + 0.11 * value), rel=1e-14)
    beyond = at_precision(128, lambda: delta_by_engine(AWAY, Fraction(1), 1, []))
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
