"""The recursion over states of a game where a loss is next to epsilon: what balls do not tell is charged."""

from __future__ import annotations

from fractions import Fraction

import pytest
from mpmath import mp, mpf
from privacy.by_engine import ends

from zcdp.numeric.balls import at_precision
from zcdp.privacy.loss.law import Game
from zcdp.privacy.profile.adaptive import Adaptive, _Diamond, _Square

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
