"""Windows for a bounded number under local differential privacy: the square wave and the piecewise mechanism.

Li et al. (2020) call it the square wave; with another width it is the piecewise mechanism of Wang et al. (2019), and
with a single step the one bit of Duchi, Jordan and Wainwright (2018).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from flint import arb

from zcdp.mechanisms.local.number_randomizer import CollectsBounded
from zcdp.mechanisms.three_point_loss import ThreePoint
from zcdp.numeric.balls import lift, settled, trusted
from zcdp.numeric.exact import Exact, Value, integer, positive
from zcdp.numeric.threads import cached_property

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zcdp.estimation.number_estimates import Scores
    from zcdp.samplers.reports import WindowReports
    from zcdp.samplers.source import Source

__all__ = ["SquareWave"]


@dataclass(frozen=True, init=False, repr=False)
class SquareWave(CollectsBounded, ThreePoint):
    """Reports one of steps + width cells: those from i to i + width - 1 are e^epsilon times as likely on input i.

    The input i of 0 .. steps is a number of a range, rounded at random to that grid. Of two inputs as far apart as can
    be, all cells of min(steps, width) tell them apart. Theorem: docs/theorems/numbers.md.

    >>> m = SquareWave(epsilon=1, steps=100, width=61)
    >>> m.rho, SquareWave.piecewise(epsilon=1, steps=100) == m
    (0.3943..., True)
    """

    theorem = "numbers"
    local = True

    epsilon: Exact
    steps: int
    """The number of intervals of the grid that numbers are rounded to; there is one grid point more."""
    width: int
    """The number of cells of a window."""

    def __init__(self, *, epsilon: Value, steps: Value, width: Value) -> None:
        self._set(
            epsilon=positive(epsilon, "epsilon"), steps=integer(steps, "steps", 1), width=integer(width, "width", 1)
        )

    @classmethod
    def piecewise(cls, *, epsilon: Value, steps: Value = 256) -> Self:
        """The piecewise mechanism of Wang et al. (2019): the width is nearest to steps e^{-epsilon/2}."""
        exact, count = positive(epsilon, "epsilon"), integer(steps, "steps", 1)

        def share() -> arb:
            return (-lift(exact) / 2).exp()

        return cls(epsilon=exact, steps=count, width=_near(share, count))

    @classmethod
    def of_densities(cls, *, epsilon: Value, steps: Value = 256) -> Self:
        """The width of Li et al. (2020), which tells most of the distribution: 2b steps.

        2b = (epsilon e^epsilon - e^epsilon + 1)/(e^epsilon (e^epsilon - 1 - epsilon)).
        """
        exact, count = positive(epsilon, "epsilon"), integer(steps, "steps", 1)

        def share() -> arb:
            e = lift(exact)
            return (e - 1 + (-e).exp()) / (e.expm1() - e)

        return cls(epsilon=exact, steps=count, width=_near(share, count))

    @classmethod
    def one_bit(cls, *, epsilon: Value) -> Self:
        """One bit: the number is rounded at random to an end of its range, and that goes through randomized response.

        >>> SquareWave.one_bit(epsilon=1).rho
        0.46211715726000...
        """
        return cls(epsilon=epsilon, steps=1, width=1)

    def kappa(self) -> arb:
        if self.width <= self.steps:
            return arb(self.steps) / self.width + 1
        return lift(self.epsilon).exp() * (self.width - self.steps) / self.steps + 2

    def _outputs(self, k: int) -> int:  # noqa: ARG002 - it has its own number of inputs
        return self.steps + self.width

    @cached_property
    def _windows(self) -> WindowReports:
        from zcdp.samplers.reports import WindowReports

        return WindowReports(lambda: lift(self.epsilon), self.steps, self.width)

    def _drawn(self, values: NDArray[Any], k: int, source: Source) -> NDArray[Any]:  # noqa: ARG002
        return self._windows.report(values, source)

    @cached_property
    def _scores(self) -> Scores:
        from zcdp.estimation.number_estimates import window_scores

        return window_scores(self._fall, self.steps, self.width)

    @cached_property
    def _fall(self) -> float:
        """e^-epsilon as the nearest float."""
        return settled(lambda: trusted((-lift(self.epsilon)).exp()))

    def _row(self, value: int) -> list[Fraction]:
        """How likely each cell is on an input, with e^-epsilon as the fraction of the nearest float, for channels."""
        low = Fraction(self._fall)
        whole = self.width + self.steps * low
        inside = range(value, value + self.width)
        return [(1 if y in inside else low) / whole for y in range(self.steps + self.width)]


def _near(share: Any, steps: int) -> int:
    """The whole number nearest to share times steps, at least 1."""
    return max(1, round(settled(lambda: trusted(share() * steps))))
