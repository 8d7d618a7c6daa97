"""The exact worst case of adaptive composition if each use may have either direction: dynamic programming.

It is for one local randomizer with two rows of probabilities, of which an adversary who has seen all earlier outputs
chooses at each use which one is P and which is Q.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf, log
from typing import TYPE_CHECKING

from flint import arb

from zcdp.numeric.balls import above, below, lift, trusted
from zcdp.numeric.doubles import decays
from zcdp.numeric.exact import Log
from zcdp.numeric.work import GAME_STATE
from zcdp.privacy.loss.law import Game
from zcdp.privacy.profile.engine import GAME, Engine, Offer, Question

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Adaptive"]

ULP = 2.0**-53
TABLE_ERROR = 2.0**-49  # The absolute error of `decays` is less.
UNDERFLOW = 1e-300  # All that is lost by underflow is less.
MOST_STATES_IN_BALLS = 400  # With so few states, the final values come from balls, which keep small values accurate.


class Adaptive(Engine):
    """delta(epsilon) = V_n(e^epsilon) by the recursion over the n uses, V_0(g) = (1 - g)_+.

    For some tens of answers of one asymmetric randomized response, where the law that dominates both directions is
    about two percent loose. Dynamic programming (Bellman 1957) over what an adaptive adversary has seen.

    V_n(g) is the maximum over the two directions of the sum over outputs y of p(y) V_{n-1}(g q(y)/p(y)). The argument
    is g times a product of ratios q/p, so it depends only on the uses of each ratio in direction (P, Q) minus those in
    direction (Q, P). If at most two ratios other than 1 occur, a state is these two differences, each in -n..n. Values
    are doubles, and a bound on their rounding is added. Theorem: docs/theorems/adaptive.md.
    """

    name = "adaptive recursion"
    only_rounding = False
    attained = True
    most_laws = 1
    of_atoms = True

    @classmethod
    def offer(cls, question: Question) -> Offer | None:
        """For one law alone that has such a game, used more than once and not too often."""
        [(law, count)] = question.parts
        game = law.game()
        if game is None or count == 1 or len(game.ratios()) > 2:
            return None
        states = _Diamond if _fits_diamond(game) else _Square
        cost = states.size(count) * count / 3 * GAME_STATE
        if cost > GAME / question.haste:
            return None
        return Offer(cost, lambda: cls(states(game, count), guess=question.given or Fraction(0)))

    def __init__(self, states: _Square, *, guess: Fraction = Fraction(0)) -> None:
        self.states, self.guess = states, guess

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """Certified bounds below and above delta(epsilon)."""
        return self._value(epsilon, up=False), self.upper(epsilon)

    def upper(self, epsilon: Fraction) -> arb:
        """A certified upper bound on delta(epsilon)."""
        return self._value(epsilon, up=True)

    def _value(self, epsilon: Fraction, *, up: bool) -> arb:
        """A certified bound on V_n(e^epsilon), upper if `up`, else lower."""
        states = self.states
        value = states.last_in_balls(epsilon, up=up) if states.few else states.last(epsilon, up=up)
        for _ in range(states.count):
            value = states.step(value)
        end = float(value.ravel()[0])
        room = 8 * (states.count + 1) * ULP
        return arb(end) * (1 + room) + UNDERFLOW if up else (arb(end) * (1 - room) - UNDERFLOW).max(arb(0))

    def estimate(self, epsilon: float) -> float:
        """Heuristic log delta(epsilon)."""
        value = float(self._value(Fraction(epsilon), up=True).mid()) - UNDERFLOW
        return log(value) if value > 0 else -inf


def _fits_diamond(game: Game) -> bool:
    """Whether each output changes exactly one of two counts, because no output has the ratio 1."""
    ratios = game.ratios()
    return len(ratios) == 2 and sum(p for p, _ in ratios) == 1


class _Square:
    """States with a count from -n to n for each ratio; outputs of ratio 1 do not change the state."""

    def __init__(self, game: Game, count: int) -> None:
        self.count, self.ratios = count, game.ratios()
        self.masses = [(float(p), float(q)) for p, q in self.ratios]
        self.same = float(1 - sum(p for p, _ in self.ratios))
        self.few = self.size(count) <= MOST_STATES_IN_BALLS

    @classmethod
    def size(cls, count: int) -> float:
        """The number of final states, after all uses."""
        return (2 * count + 1) ** 2

    def counts(self) -> list[NDArray[np.int64]]:
        """For each ratio the array of its count, over all states."""
        import numpy as np

        line = np.arange(-self.count, self.count + 1)
        return [line.reshape(shape) for shape, _ in zip(((-1, 1), (1, -1)), self.ratios, strict=False)]

    def last(self, epsilon: Fraction, *, up: bool) -> Floats:
        """Certified bounds on the final values (1 - e^{epsilon - L})_+ in all states, in doubles."""
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
            return np.where(x >= 0, np.minimum(inside + TABLE_ERROR, 1.0), 0.0)
        return np.where(x > 0, np.maximum(inside - TABLE_ERROR, 0.0), 0.0)

    def last_in_balls(self, epsilon: Fraction, *, up: bool) -> Floats:
        """Certified bounds on the final values (1 - e^{epsilon - L})_+, from balls rounded outward."""
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
        """The values one use earlier; the array shrinks by one on each side of each axis."""
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
    """States indexed by (a + b + n)/2 and (a - b + n)/2, for counts a and b of which each use changes one.

    Both indices are whole for every state that can be reached, so the states are four times fewer.
    """

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
