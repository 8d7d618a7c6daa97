"""The hybrid mechanism of Wang et al. (2019) for a bounded number: a window or one bit, and which of them is seen."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from flint import arb

from zcdp.errors import BadValue
from zcdp.mechanisms.local.number_randomizer import CollectsBounded
from zcdp.mechanisms.local.square_wave import SquareWave
from zcdp.mechanisms.three_point_loss import ThreePoint
from zcdp.numeric.balls import lift, settled, trusted
from zcdp.numeric.exact import Exact, Value, integer, positive, probability
from zcdp.numeric.threads import cached_property

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zcdp.estimation.number_estimates import Scores
    from zcdp.samplers.source import Source

__all__ = ["HybridResponse"]

SHARE_DIGITS = 4  # after the point, of the share that `best` proposes
LEAST_EPSILON = 0.61  # below it Wang et al. send one bit always


@dataclass(frozen=True, init=False, repr=False)
class HybridResponse(CollectsBounded, ThreePoint):
    """With probability `share` the report of a `SquareWave` of this width, else one bit: cells after those of windows.

    The bit is of an end of the range, to which the grid point is rounded at random. Theorem: docs/theorems/numbers.md.

    >>> HybridResponse(epsilon=2, steps=100, width=37, share="0.63").rho
    1.3612...
    """

    theorem = "numbers"
    local = True

    epsilon: Exact
    steps: int
    """The number of intervals of the grid that numbers are rounded to; there is one grid point more."""
    width: int
    """The number of cells of a window, at most `steps`."""
    share: Fraction
    """How often the report is that of a window."""

    def __init__(self, *, epsilon: Value, steps: Value, width: Value, share: Value) -> None:
        budget, count, cells = positive(epsilon, "epsilon"), integer(steps, "steps", 1), integer(width, "width", 1)
        if cells > count:
            raise BadValue(f"width ({width}) must be at most steps ({steps})")
        self._set(epsilon=budget, steps=count, width=cells, share=probability(share, "share"))

    @classmethod
    def best(cls, *, epsilon: Value, steps: Value = 256) -> Self | SquareWave:
        """As Wang et al. (2019) have it: the share is 1 - e^{-epsilon/2} and the window piecewise; up to 0.61 one bit.

        >>> HybridResponse.best(epsilon=2, steps=100)
        HybridResponse(epsilon=2, steps=100, width=37, share='0.6321')
        """
        window = SquareWave.piecewise(epsilon=epsilon, steps=steps)
        half = settled(lambda: trusted(1 - (-lift(window.epsilon) / 2).exp()))
        if float(lift(window.epsilon).mid()) <= LEAST_EPSILON:
            return SquareWave.one_bit(epsilon=epsilon)
        told = Fraction(round(half * 10**SHARE_DIGITS), 10**SHARE_DIGITS)
        return cls(epsilon=window.epsilon, steps=window.steps, width=window.width, share=told)

    def kappa(self) -> arb:
        e, m, w, a = lift(self.epsilon), self.steps, self.width, lift(self.share)
        x = (-e).exp()  # e^-epsilon: numerator and denominator are divided by e^epsilon
        return 1 + (w * (1 - a) + m * (x + a)) / (a * w * (1 + x) + (1 - a) * (w + m * x))

    def _outputs(self, k: int) -> int:  # noqa: ARG002 - it has its own number of inputs
        return self.steps + self.width + 2

    @cached_property
    def _window(self) -> SquareWave:
        return SquareWave(epsilon=self.epsilon, steps=self.steps, width=self.width)

    @cached_property
    def _bit(self) -> SquareWave:
        return SquareWave.one_bit(epsilon=self.epsilon)

    def _drawn(self, values: NDArray[Any], k: int, source: Source) -> NDArray[Any]:
        import numpy as np

        from zcdp.samplers.coins import Coin
        from zcdp.samplers.source import integers

        chosen = Coin(lambda: lift(self.share)).flips(values.size, source)
        end = (integers(self.steps, values.size, source).astype(np.int64) < values).astype(np.int64)
        bit = self._bit._drawn(end, 2, source) + self.steps + self.width
        return np.where(chosen, self._window._drawn(values, k, source), bit)

    @cached_property
    def _scores(self) -> Scores:
        from zcdp.estimation.number_estimates import hybrid_scores

        return hybrid_scores(self._window._fall, self.steps, self.width, float(self.share))

    def _row(self, value: int) -> list[Fraction]:
        """How likely each cell is on an input, with e^-epsilon as the fraction of the nearest float, for channels."""
        low, up = Fraction(self._window._fall), Fraction(value, self.steps)
        first = (1 - up + up * low) / (1 + low)
        window = [self.share * one for one in self._window._row(value)]
        return [*window, (1 - self.share) * first, (1 - self.share) * (1 - first)]
