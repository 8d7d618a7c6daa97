"""From a curve to (epsilon, delta): what each route may claim, and from which laws each of the two ends is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from math import inf
from typing import Any

import pytest
from mpmath import mp, mpf

from zcdp import Channel, Gaussian, Laplace, LossPair, Plan, PureDP, RandomizedResponse
from zcdp.privacy import routes
from zcdp.privacy.curve import Curve
from zcdp.privacy.loss import Claim, directed_law, laplace_pair, three_point_pair
from zcdp.privacy.loss.law import Parts
from zcdp.privacy.profile.engine import Answer, NoAnswer
from zcdp.privacy.routes import Routes

F = Fraction


@pytest.fixture(autouse=True)
def many_digits() -> Iterator[None]:
    with mp.workdps(25):
        yield


def real(x: Fraction) -> mpf:
    return mpf(x.numerator) / x.denominator


# What a single use attains, many need not


def game_value(rows: tuple[list[Fraction], list[Fraction]], count: int, epsilon: Fraction) -> mpf:
    """The best of an adversary who chooses before each use which of the two rows is the true one's."""
    e = mp.exp(real(epsilon))

    @cache
    def value(left: int, ratio: Fraction) -> mpf:
        if not left:
            return max(1 - e * real(ratio), mpf(0))
        return max(
            mp.fsum(real(a) * value(left - 1, ratio * b / a) for a, b in zip(one, other, strict=True))
            for one, other in (rows, rows[::-1])
        )

    return value(count, F(1))


ROWS = (
    [[F(1, 2), F(3, 10), F(3, 20), F(1, 20)], [F(1, 5), F(1, 5), F(1, 5), F(2, 5)]],
    [[F(7, 10), F(1, 10), F(1, 10), F(1, 10)], [F(1, 10), F(1, 5), F(3, 10), F(2, 5)]],
)


@pytest.mark.parametrize("rows", ROWS, ids=["first", "second"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_neither_end_of_repeated_rows_is_on_the_wrong_side(rows: list[list[Fraction]], count: int) -> None:
    """The envelope of both orders is attained by one use; of several uses it is a bound, and no lower end."""
    plan = Plan.repeated(Channel(rows=rows), count)
    for epsilon in (F(0), F(3, 10), F(1), F(8, 5)):
        truth = game_value((rows[0], rows[1]), count, epsilon)
        lower, upper = plan.delta_bounds(epsilon=epsilon)
        assert lower <= truth * (1 + mpf(10) ** -12)
        assert truth <= upper * (1 + mpf(10) ** -12)
        if count == 1:
            assert upper - lower < 1e-12
        if truth > 0:
            least, most = plan.epsilon_bounds(delta=F(mp.nstr(truth, 22)))
            assert least <= epsilon + 1e-9
            assert epsilon <= most + 1e-9


# Which laws are asked


class Asked:
    """A profile that answers for laws by their names; snapped laws are marked by the side they are moved to."""

    answers: dict[tuple[str, ...], Answer | None]

    def __init__(self, parts: tuple[object, ...]) -> None:
        self.names = tuple(str(part) for part in parts)

    def _answer(self, at: Fraction) -> Answer:
        del at
        found = self.answers[self.names]
        if found is None:
            raise NoAnswer("too extreme", 1.0)
        return found

    def delta(self, epsilon: Fraction, *, haste: int = 1) -> Answer:
        del haste
        return self._answer(epsilon)

    def epsilon(self, delta: Fraction) -> Answer:
        return self._answer(delta)

    def loss_that_occurs(self) -> float:
        return self._answer(Fraction(0)).lower


LAW, COARSER, WITNESS, OTHER = (three_point_pair(F(n)) for n in (5, 6, F(1, 2), 1))
NAMES = {id(LAW): "law", id(COARSER): "coarser", id(WITNESS): "witness", id(OTHER): "other"}


def named(*, exact: bool = False, exact_alone: bool = False, **claims: Any) -> Claim:
    own = (((LAW, 1),),)
    return Claim(
        LAW, **{**({"lower": own} if exact else {}), **({"lower_alone": own} if exact_alone else {}), **claims}
    )


class Known(PureDP):
    """A mechanism of pure epsilon 6 with a law of one's choice, and no curve worth a look."""

    chosen: Claim
    times: int

    @property
    def claims(self) -> list[tuple[Claim, int]]:
        return [(self.chosen, self.times)]


def routes_of(curve: Curve) -> Routes:
    return Routes(curve, curve.claims, curve.relation)


def asked(
    monkeypatch: pytest.MonkeyPatch, claim: Claim, answers: dict[tuple[str, ...], Answer | None], times: int = 1
) -> Routes:
    def snapped(parts: Parts) -> tuple[tuple[str, ...], tuple[str, ...]]:
        names = [f"{count} {NAMES[id(one)]}" for one, count in parts]
        return tuple(f"{name} above" for name in names), tuple(f"{name} below" for name in names)

    monkeypatch.setattr(Asked, "answers", answers, raising=False)
    monkeypatch.setattr(routes, "Profile", Asked)
    monkeypatch.setattr(routes, "snap", snapped)
    monkeypatch.setattr(Routes, "_curve_may_win", lambda *_: False)
    curve = Known(epsilon=6)
    object.__setattr__(curve, "chosen", claim)
    object.__setattr__(curve, "times", times)
    return routes_of(curve)


def wide(lower: float, upper: float) -> Answer:
    return Answer(lower, upper, "test")


ENDS = [lambda r: r.delta_bounds(F(1)), lambda r: r.epsilon_bounds(F(1, 10))]


@pytest.mark.parametrize("bounds", ENDS, ids=["delta", "epsilon"])
def test_the_upper_end_is_of_laws_moved_up_and_the_lower_of_what_is_attained_moved_down(
    monkeypatch: pytest.MonkeyPatch, bounds: Callable[[Routes], tuple[float, float]]
) -> None:
    answers = {
        ("2 law above",): wide(0.3, 0.5),
        ("2 coarser above",): wide(0.0, 0.45),
        ("2 witness below",): wide(0.2, 0.25),
    }
    route = asked(monkeypatch, named(coarser=COARSER, lower=Claim.laws(WITNESS)), answers, times=2)
    assert bounds(route) == (0.2, 0.45)
    answers["2 coarser above",] = wide(0.0, 0.7)
    assert bounds(route) == (0.2, 0.5)
    answers["2 coarser above",] = answers["2 witness below",] = None
    assert bounds(route) == (0.0, 0.5)
    answers["2 law above",] = None
    answers["2 coarser above",] = wide(0.0, 0.6)
    assert bounds(route) == (0.0, 0.6)


@pytest.mark.parametrize("bounds", ENDS, ids=["delta", "epsilon"])
def test_an_exact_law_that_is_moved_has_its_lower_end_from_below(
    monkeypatch: pytest.MonkeyPatch, bounds: Callable[[Routes], tuple[float, float]]
) -> None:
    answers = {("3 law above",): wide(0.41, 0.5), ("3 law below",): wide(0.38, 0.49)}
    assert bounds(asked(monkeypatch, named(exact=True), answers, times=3)) == (0.38, 0.5)


@pytest.mark.parametrize("bounds", ENDS, ids=["delta", "epsilon"])
def test_what_is_exact_alone_is_so_once(
    monkeypatch: pytest.MonkeyPatch, bounds: Callable[[Routes], tuple[float, float]]
) -> None:
    law = named(exact_alone=True, lower=Claim.laws(WITNESS))
    once = {("1 law above",): wide(0.41, 0.5), ("1 law below",): wide(0.4, 0.5)}
    assert bounds(asked(monkeypatch, law, once)) == (0.4, 0.5)
    twice = {("2 law above",): wide(0.41, 0.5), ("2 witness below",): wide(0.2, 0.3)}
    assert bounds(asked(monkeypatch, law, twice, times=2)) == (0.2, 0.5)


@pytest.mark.parametrize("bounds", ENDS, ids=["delta", "epsilon"])
def test_the_best_of_several_neighbours_is_the_lower_end(
    monkeypatch: pytest.MonkeyPatch, bounds: Callable[[Routes], tuple[float, float]]
) -> None:
    """Independent laws of true neighbours, each as often as they are alike times as often as it is used."""
    law = named(lower=(((WITNESS, 1),), ((OTHER, 3), (WITNESS, 1))))
    answers = {
        ("2 law above",): wide(0.4, 0.5),
        ("2 witness below",): wide(0.2, 0.3),
        ("6 other below", "2 witness below"): wide(0.3, 0.35),
    }
    assert bounds(asked(monkeypatch, law, answers, times=2)) == (0.3, 0.5)


def test_an_engine_that_answers_for_the_mechanisms_has_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the pairs of which it is the game are the mechanism's own; else its lower end is of what only dominates."""
    answers = {("2 law above",): wide(0.3, 0.5)._replace(attained=True), ("2 witness below",): wide(0.2, 0.25)}
    own = named(exact_alone=True, lower=Claim.laws(WITNESS))
    assert asked(monkeypatch, own, answers, times=2).delta_bounds(F(1)) == (0.3, 0.5)
    assert asked(monkeypatch, named(lower=Claim.laws(WITNESS)), answers, times=2).delta_bounds(F(1)) == (0.2, 0.5)


def test_an_easier_lower_law_counts_where_the_first_one_is_not_sharp(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is exact has answered with both ends; a law below it that is easier to compose may still have more."""
    exact = Claim(LAW, lower=Claim.laws(LAW, WITNESS), coarser=COARSER)
    answers = {
        ("2 law above",): wide(0.1, 0.5),
        ("2 coarser above",): wide(0.0, 0.45),
        ("2 witness below",): wide(0.2, 0.3),
    }
    route = asked(monkeypatch, exact, answers, times=2)
    route.is_own = True  # Nothing was moved to a lattice.
    assert route.delta_bounds(F(1)) == (0.2, 0.45)
    answers["2 law above",] = wide(0.42, 0.42)
    assert route.delta_bounds(F(1)) == (0.42, 0.42)


def test_a_law_of_one_direction_is_for_add_remove_neighbours_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a plan for replaced records each use may face the other way."""
    law = directed_law([F(2, 5), F(3, 5)], [F(1, 5), F(4, 5)])
    monkeypatch.setattr(LossPair, "pair", lambda _: Claim(law))
    ordered = LossPair(p=["2/5", "3/5"], q=["1/5", "4/5"], ordered=True)
    assert (2 * ordered).delta_bounds(epsilon="0.1")[1] > 0
    with pytest.raises(ValueError, match="tied to the order of add_remove"):
        (2 * LossPair(p=["2/5", "3/5"], q=["1/5", "4/5"])).delta_bounds(epsilon="0.1")


def test_at_delta_zero_the_lower_end_is_the_largest_loss_of_what_is_attained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a law that only dominates, the loss of its lower law, or nothing; of an exact one, the loss itself."""
    answers = {("2 witness below",): wide(3.5, 4.0)}
    assert asked(monkeypatch, named(lower=Claim.laws(WITNESS)), answers, times=2).epsilon_bounds(0) == (3.5, 6.0)
    assert asked(monkeypatch, named(), {}).epsilon_bounds(0) == (0.0, 6.0)
    assert asked(monkeypatch, named(exact=True), {}).epsilon_bounds(0) == (6.0, 6.0)


# Each route by itself


def gaussian_delta(mu: mpf, epsilon: mpf) -> mpf:
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("epsilon", [F(0), F(1, 4), F(1), F(3, 2)])
def test_no_route_is_below_the_truth(epsilon: Fraction) -> None:
    """Three Gaussian mechanisms, and two of Laplace noise of epsilon 1/2: every route, in both directions."""
    noise = 3 * Gaussian(sigma=2)
    truth = gaussian_delta(mp.sqrt(mpf(3)) / 2, real(epsilon))
    found = noise._approximate.deltas(epsilon)
    assert set(found) == {"profile", "rdp"} | ({"zcdp"} if epsilon else set())
    for delta in found.values():
        assert truth <= delta <= 1
    assert noise.delta_at(epsilon=epsilon) <= min(found.values())
    two = 2 * PureDP(epsilon="1/2")
    p = mp.exp(mpf(1) / 2) / (1 + mp.exp(mpf(1) / 2))
    masses = [(p * p, (1 - p) ** 2), (2 * p * (1 - p), 2 * p * (1 - p)), ((1 - p) ** 2, p * p)]
    truth = mp.fsum(max(a - mp.exp(real(epsilon)) * b, mpf(0)) for a, b in masses)
    found = two._approximate.deltas(epsilon)
    assert ("pure" in found) == (epsilon >= 1)
    for name, delta in found.items():
        assert truth <= delta * (1 + mpf(10) ** -15) + mpf(10) ** -300
        assert name != "pure" or delta == 0


@pytest.mark.parametrize("delta", [F(1, 10**6), F(1, 100), F(1, 5)])
def test_every_route_to_epsilon_holds(delta: Fraction) -> None:
    noise, two = 3 * Gaussian(sigma=2), 2 * PureDP(epsilon="1/2")
    for epsilon in noise.routes(delta=delta).values():
        assert gaussian_delta(mp.sqrt(mpf(3)) / 2, mpf(epsilon)) <= real(delta)
    p = mp.exp(mpf(1) / 2) / (1 + mp.exp(mpf(1) / 2))
    for epsilon in two.routes(delta=delta).values():
        assert max(p * p - mp.exp(mpf(epsilon)) * (1 - p) ** 2, mpf(0)) <= real(delta) * (1 + mpf(10) ** -12)
    assert set(noise.routes(delta=delta)) == {"profile", "rdp", "zcdp"}
    assert set(two.routes(delta=delta)) == {"profile", "rdp", "zcdp", "pure"}
    assert two.routes(delta=delta)["pure"] == 1
    assert two.routes(delta=0) == {"pure": 1}
    assert noise.routes(delta=0) == {"pure": inf}


def test_rho_alone_says_nothing_at_epsilon_zero_or_where_it_is_infinite() -> None:
    assert routes_of(Gaussian(sigma=2))._delta_of_rho(F(0)) == 1
    away = LossPair(p=["1/2", "1/2", "0"], q=["1/2", "0", "1/2"])
    assert routes_of(away)._delta_of_rho(F(1)) == 1
    assert routes_of(away)._epsilon_of_rho(F(1, 10)) == inf
    nothing = LossPair(p=["1/2", "1/2"], q=["1/2", "1/2"])
    assert nothing.rho == 0
    assert routes_of(nothing)._delta_of_rho(F(1)) == routes_of(nothing)._epsilon_of_rho(F(1, 10)) == 0
    assert 0.5 <= away.delta_at(epsilon=5) <= 0.5 + 1e-15
    assert away.epsilon_bounds(delta="0.4") == (inf, inf)


def test_delta_is_zero_from_the_largest_loss_on_and_not_before() -> None:
    for m in (Laplace(epsilon="1/2"), RandomizedResponse(epsilon="1/2", k=3), PureDP(epsilon="1/2")):
        assert m.delta_bounds(epsilon="1/2") == (0.0, 0.0)
        assert m.delta_bounds(epsilon="0.4999")[0] > 0
        assert m.epsilon_bounds(delta=0) == (0.5, 0.5)
    assert laplace_pair(F(1, 2)).largest() == 0.5
