"""The exact worst case of two rows that may face either way in each use: a recursion over all states of the game."""

from __future__ import annotations

from fractions import Fraction
from math import inf, log
from typing import TYPE_CHECKING

from flint import arb

from zcdp.numeric.balls import above, below, lift, trusted
from zcdp.numeric.doubles import decays
from zcdp.numeric.exact import Log
from zcdp.privacy.loss.law import Game
from zcdp.privacy.profile.engine import Engine, Offer
from zcdp.privacy.profile.question import GAME, GAME_STATE, Question

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Adaptive"]

ULP = 2.0**-53
TABLE = 2.0**-49  # `decays` errs by less.
TINY = 1e-300  # All that underflows is less.
IN_BALLS = 400  # The last values of so few states are taken from balls, so that no small one is lost.


class Adaptive(Engine):
    """V_n(g) = max over the two orders of sum over y of p(y) V_{n-1}(g q(y)/p(y)), V_0(g) = (1 - g)_+; g = e^epsilon.

    Where at most two ratios q/p are not 1, a state is two counts: how often each of them occurred, in one order less in
    the other. All is in doubles, and their rounding is charged. Theorem: docs/theorems/adaptive.md.
    """

    name = "adaptive recursion"
    only_rounding = False
    attained = True
    most_laws = 1
    of_atoms = True

    @classmethod
    def offer(cls, question: Question) -> Offer | None:
        """For one such law alone, used more than once and not too often."""
        [(law, count)] = question.parts
        game = law.game()
        if game is None or count == 1 or len(game.ratios()) > 2:
            return None
        states = _Diamond if _fits_diamond(game) else _Square
        cost = states.size(count) * count / 3 * GAME_STATE
        if cost > GAME / question.share:
            return None
        return Offer(cost, lambda: cls(states(game, count), guess=question.given or Fraction(0)))

    def __init__(self, states: _Square, *, guess: Fraction = Fraction(0)) -> None:
        self.states, self.guess = states, guess

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """Balls whose lower end is below, and whose upper end is above delta(epsilon)."""
        return self._value(epsilon, up=False), self.upper(epsilon)

    def upper(self, epsilon: Fraction) -> arb:
        """A ball whose upper end is above delta(epsilon)."""
        return self._value(epsilon, up=True)

    def _value(self, epsilon: Fraction, *, up: bool) -> arb:
        """An upper or a lower bound on V_n(e^epsilon)."""
        states = self.states
        value = states.last_in_balls(epsilon, up=up) if states.few else states.last(epsilon, up=up)
        for _ in range(states.count):
            value = states.step(value)
        end = float(value.ravel()[0])
        room = 8 * (states.count + 1) * ULP
        return arb(end) * (1 + room) + TINY if up else (arb(end) * (1 - room) - TINY).max(arb(0))

    def estimate(self, epsilon: float) -> float:
        """log delta(epsilon), near enough: for proposals."""
        value = float(self._value(Fraction(epsilon), up=True).mid()) - TINY
        return log(value) if value > 0 else -inf


def _fits_diamond(game: Game) -> bool:
    """Whether each use moves one of two counts."""
    ratios = game.ratios()
    return len(ratios) == 2 and sum(p for p, _ in ratios) == 1


class _Square:
    """States with a count for each ratio, from -n to n; outcomes of ratio 1 leave them where they are."""

    def __init__(self, game: Game, count: int) -> None:
        self.count, self.ratios = count, game.ratios()
        self.masses = [(float(p), float(q)) for p, q in self.ratios]
        self.same = float(1 - sum(p for p, _ in self.ratios))
        self.few = self.size(count) <= IN_BALLS

    @classmethod
    def size(cls, count: int) -> float:
        """How many states there are before the first use."""
        return (2 * count + 1) ** 2

    def counts(self) -> list[NDArray[np.int64]]:
        """Each count, over the states."""
        import numpy as np

        line = np.arange(-self.count, self.count + 1)
        return [line.reshape(shape) for shape, _ in zip(((-1, 1), (1, -1)), self.ratios, strict=False)]

    def last(self, epsilon: Fraction, *, up: bool) -> Floats:
        """Bounds on (1 - e^{epsilon - L})_+ in all states, in doubles."""
        import numpy as np

        losses = slip = np.zeros((1, 1))
        for (p, q), counts in zip(self.ratios, self.counts(), strict=True):
            loss = lift(Log(p / q))
            each = counts * trusted(loss)
            losses, slip = losses + each, slip + np.abs(each) * (8 * ULP) + np.abs(counts) * above(loss.rad()) * 2
        point = float(epsilon)
        slip = slip + (abs(point) + np.abs(losses)) * (8 * ULP)
        x = losses - point + (slip if up else -slip)
        inside = 1 - decays(np.maximum(x, 0.0))
        if up:
            return np.where(x >= 0, np.minimum(inside + TABLE, 1.0), 0.0)
        return np.where(x > 0, np.maximum(inside - TABLE, 0.0), 0.0)

    def last_in_balls(self, epsilon: Fraction, *, up: bool) -> Floats:
        """The same from balls, rounded outward."""
        import numpy as np

        counts = np.broadcast_arrays(*self.counts())
        losses, point = [lift(Log(p / q)) for p, q in self.ratios], lift(epsilon)
        values = []
        for state in zip(*(one.ravel().tolist() for one in counts), strict=True):
            t = sum((n * loss for n, loss in zip(state, losses, strict=True)), -point)
            ball = -(-t).expm1()
            values.append(max(above(ball) if up else below(ball), 0.0) if t > 0 or (up and not t < 0) else 0.0)
        return np.array(values).reshape(counts[0].shape)

    def step(self, value: Floats) -> Floats:
        """One use: the states shrink by one on each side of each axis."""
        import numpy as np

        inner = [slice(1, -1) if n > 1 else slice(None) for n in value.shape]
        forward = backward = value[tuple(inner)] * self.same
        for axis, (p, q) in enumerate(self.masses):
            ahead, behind = inner.copy(), inner.copy()
            ahead[axis], behind[axis] = slice(2, None), slice(None, -2)
            forward = forward + value[tuple(ahead)] * p
            backward = backward + value[tuple(behind)] * q
        return np.maximum(forward, backward)


class _Diamond(_Square):
    """States by (a + b + n)/2 and (a - b + n)/2: each use moves both by a half, so they are four times fewer."""

    @classmethod
    def size(cls, count: int) -> float:
        return (count + 1) ** 2

    def counts(self) -> list[NDArray[np.int64]]:
        import numpy as np

        line = np.arange(self.count + 1)
        both, apart = 2 * line.reshape(-1, 1) - self.count, 2 * line.reshape(1, -1) - self.count
        return [(both + apart) // 2, (both - apart) // 2]

    def step(self, value: Floats) -> Floats:
        import numpy as np

        (p, q), (p_other, q_other) = self.masses
        forward = value[1:, 1:] * p + value[1:, :-1] * p_other
        backward = value[:-1, :-1] * q + value[:-1, 1:] * q_other
        return np.maximum(forward, backward)
