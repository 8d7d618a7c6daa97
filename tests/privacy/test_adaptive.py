"""The recursion over states of a game where a loss is next to epsilon: what balls do not tell is charged."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import pytest
from mpmath import mp, mpf
from privacy.by_engine import ends

from zcdp.numeric.balls import at_precision
from zcdp.privacy.loss.law import Game
from zcdp.privacy.profile.adaptive import Adaptive, _Diamond, _fits_diamond, _Square

F = Fraction


@pytest.mark.parametrize("below", ["1e-30", "1e-55", "1e-58", "1e-61", "1e-80", "-1e-58", "-1e-80"])
@pytest.mark.parametrize("kind", ["two", "three"])
def test_a_loss_that_no_ball_tells_from_epsilon_is_charged(kind: str, below: str) -> None:
    """Three uses, the largest loss hardly above epsilon, or hardly below it: at 192 bits that is about 1e-58."""
    p, q = [F(4, 5), F(1, 5)], [F(1, 3), F(2, 3)]
    if kind == "three":
        p, q = [F(1, 2), F(1, 4), F(1, 4)], [F(1, 8), F(1, 4), F(5, 8)]
    game = Game(tuple(p), tuple(q))
    with mp.workdps(200):
        ratio, mass = max((a / b, a) for one, other in ((p, q), (q, p)) for a, b in zip(one, other, strict=True))
        top = 3 * mp.log(mpf(ratio.numerator) / ratio.denominator)
        epsilon = F(int(mp.floor((top - mpf(below)) * mpf(2) ** 500)), 2**500)
        gain = -mp.expm1(mpf(epsilon.numerator) / epsilon.denominator - top)
        truth = max((mpf(mass.numerator) / mass.denominator) ** 3 * gain, mpf(0))

    def asked() -> tuple[float, float]:
        states = _Diamond(game, 3) if kind == "two" else _Square(game, 3)
        states.few = True
        return ends(Adaptive(states).delta(epsilon))

    lower, upper = at_precision(192, asked)
    assert lower <= truth <= upper
    assert upper <= truth * (1 + mpf("1e-9")) + mpf("1e-55")


@pytest.fixture(autouse=True)
def many_digits() -> Iterator[None]:
    with mp.workdps(60):
        yield


def real(x: Fraction) -> mpf:
    return mpf(x.numerator) / x.denominator


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
