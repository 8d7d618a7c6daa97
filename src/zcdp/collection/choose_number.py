"""The choice of a design for the mean of a bounded number: windows, one bit or their hybrid, of least error in budget.

The search is that of `choose`: heuristic, in floats; every design returned is certified to fit the budget.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache
from math import exp, log, sqrt
from typing import Any

from zcdp.collection.choose import Choice, Design, Search
from zcdp.collection.collection_budget import Budget
from zcdp.collection.families import Family, down
from zcdp.collection.limits import PHONE, Limits, Size, whole_bytes
from zcdp.errors import BadValue
from zcdp.estimation.number_estimates import (
    MOST_POINTS,
    Scores,
    hybrid_scores,
    share_deviation,
    window_rows,
    window_scores,
)
from zcdp.mechanisms import HybridResponse, Mechanism, SquareWave
from zcdp.mechanisms.local.number_randomizer import bounds
from zcdp.numeric.exact import Value, integer, rational
from zcdp.text.calls import spoken

__all__ = ["choose_number", "compare_number"]

STEPS = 256  # of the grid that numbers are rounded to: that adds at most 4e-6 to the variance
COARSE = 32  # where quantiles are asked
COUNT = 8  # bytes of one count in a server's memory


class NumberFamily(Family):
    """A family of randomizers of numbers; k is the number of grid points, and the shape is the width of a window."""

    @property
    def steps(self) -> int:
        """The number of intervals of the grid."""
        return self.k - 1

    def shapes(self) -> tuple[float, float] | None:
        """From one cell to twice the grid."""
        return log(1.0), log(2.0 * self.steps)

    def whole(self, shape: float) -> list[float]:
        """The whole numbers on both sides."""
        return [max(1, int(shape)), int(shape) + 1]

    @abstractmethod
    def scores(self, e: float, shape: float) -> Scores:
        """The scores of a member."""

    def variance(self, epsilon: float, shape: float, frequency: float) -> float:
        """The largest variance of a score; of clients who hold one number, if `frequency` is that (not 1/2)."""
        scores = self.scores(exp(epsilon), shape)
        return scores.worst_deviation**2 if frequency == WORST else scores.deviation(frequency) ** 2

    def size(self, shape: float) -> Size:
        """A report is a cell."""
        cells = self.steps + max(1, int(shape)) + 2
        return Size(whole_bytes(cells), 4, COUNT * cells)


WORST = -1.0  # in the place of a mean: the worst one


@lru_cache(maxsize=4096)
def _window(e: float, steps: int, width: int) -> Scores:
    return window_scores(1 / e, steps, width)


class Windows(NumberFamily):
    """Windows of any width, as `SquareWave`."""

    def kappa(self, e: float, shape: float) -> float:
        """m/w + 1 up to w = m, e (w/m - 1) + 2 beyond."""
        ratio = max(shape, 1.0) / self.steps
        return 1 / ratio + 1 if ratio <= 1 else e * (ratio - 1) + 2

    def scores(self, e: float, shape: float) -> Scores:
        """The scores of windows."""
        return _window(e, self.steps, max(1, round(shape)))

    def build(self, epsilon: float, shape: float) -> Mechanism:
        """The mechanism at epsilon, rounded down."""
        return SquareWave(epsilon=down(epsilon), steps=self.steps, width=max(1, int(shape)))


class OneBit(NumberFamily):
    """One bit: an end of the range, to which the number is rounded; there is no shape."""

    def shapes(self) -> tuple[float, float] | None:
        """None: there is nothing to tune."""
        return None

    def kappa(self, e: float, shape: float) -> float:  # noqa: ARG002
        """kappa is 2."""
        return 2.0

    def scores(self, e: float, shape: float) -> Scores:  # noqa: ARG002
        """The scores of one step."""
        return _window(e, 1, 1)

    def build(self, epsilon: float, shape: float) -> Mechanism:  # noqa: ARG002
        """The mechanism at epsilon, rounded down."""
        return SquareWave.one_bit(epsilon=down(epsilon))

    def size(self, shape: float) -> Size:  # noqa: ARG002
        """A report is a bit."""
        return Size(1, 2, 2 * COUNT)


class Hybrids(NumberFamily):
    """Windows with probability 1 - e^{-c epsilon/2}, else one bit: `HybridResponse`; Wang et al. (2019) have c = 1."""

    c = 1.0

    def shapes(self) -> tuple[float, float] | None:
        """Up to the grid."""
        return log(1.0), log(float(self.steps))

    def whole(self, shape: float) -> list[float]:
        """The whole numbers on both sides, within the range."""
        return [max(1, min(int(shape), self.steps)), min(int(shape) + 1, self.steps)]

    def _share(self, e: float) -> float:
        return float(min(max(round(1 - e ** (-self.c / 2), 4), 1e-4), 1 - 1e-4))

    def kappa(self, e: float, shape: float) -> float:
        """1/P(-epsilon) + 1 - e."""
        m, w, t, x = self.steps, shape, self._share(e), 1 / e
        return 1 + (w * (1 - t) + m * (x + t)) / (t * w * (1 + x) + (1 - t) * (w + m * x))

    def scores(self, e: float, shape: float) -> Scores:
        """The scores of windows and of one bit."""
        return hybrid_scores(1 / e, self.steps, max(1, round(shape)), self._share(e))

    def build(self, epsilon: float, shape: float) -> Mechanism:
        """The mechanism at epsilon, rounded down."""
        share = str(self._share(exp(epsilon)))
        return HybridResponse(epsilon=down(epsilon), steps=self.steps, width=max(1, int(shape)), share=share)


def _with_bits(c: float) -> type[Hybrids]:
    """The hybrids of another c."""
    return type(Hybrids.__name__, (Hybrids,), {"c": c})


@lru_cache(maxsize=4096)
def _share_deviation(fall: float, steps: int, width: int) -> float:
    return share_deviation(window_rows(fall, steps, width))


class Shares(Windows):
    """Windows that tell best which share of the clients is below a number; of one cell they are randomized response."""

    def whole(self, shape: float) -> list[float]:
        """Beside those on both sides the parts of the grid: the error is no smooth function of the width."""
        parts = (self.steps // n + more for n in range(1, min(self.steps, 12) + 1) for more in (0, 1))
        return sorted({*super().whole(shape), *parts})

    def variance(self, epsilon: float, shape: float, frequency: float) -> float:  # noqa: ARG002
        """The largest variance of the estimate of a share from one report, if numbers are spread evenly."""
        return _share_deviation(exp(-epsilon), self.steps, max(1, round(shape))) ** 2


SHARES_OF_BITS = (0.5, 0.75, 1.2, 1.4, 2.0)  # c that are tried beside 1
NUMBER_FAMILIES: tuple[type[NumberFamily], ...] = (OneBit, Windows, Hybrids, *map(_with_bits, SHARES_OF_BITS))


@spoken
def choose_number(
    *,
    low: Value,
    high: Value,
    clients: Value,
    rounds: Value = 1,
    epsilon: Value | None = None,
    delta: Value | None = None,
    rho: Value | None = None,
    every_round: bool = False,
    mean: Value | None = None,
    quantiles: bool = False,
    steps: Value | None = None,
    shuffled: bool = False,
    most_bytes: Value | None = PHONE.bytes,
    most_draws: Value | None = PHONE.draws,
    most_memory: Value | None = PHONE.memory,
) -> Choice:
    """The designs of least error for the mean of a number from `low` to `high` in each round, within a budget.

    The error is the largest over all numbers that clients may hold, or that of clients who all hold `mean`; it is of
    the mean over all clients, including those who do not answer the round. With `quantiles` it is the largest error of
    the share of clients below a grid point, where numbers are spread evenly: quantiles have intervals then. `steps` are
    the intervals of the grid that numbers are rounded to, 256 for a mean and 32 for quantiles unless told. All else is
    as in `choose`. Theorem: docs/theorems/numbers.md.

    >>> best = choose_number(low=0, high=120, rho="0.1", clients=10**5).best
    >>> best.mechanism, round(best.standard_error, 3)
    (HybridResponse(epsilon='0.459615478', steps=256, width=144, share='0.1583'), 0.851)
    """
    ends = bounds(low, high)
    reach = float(ends[1] - ends[0])
    place = None if mean is None else float((rational(mean, "mean") - ends[0]) / (ends[1] - ends[0]))
    if place is not None and not 0 <= place <= 1:
        raise BadValue(f"mean ({mean}) must lie between low ({low}) and high ({high})")
    count = integer(steps, "steps", 1) if steps is not None else COARSE if quantiles else STEPS
    if quantiles and (mean is not None or count >= MOST_POINTS):
        raise BadValue(f"quantiles are of at most {MOST_POINTS - 1} steps, and not of a mean")
    search = (_ShareSearch if quantiles else _NumberSearch).asked(
        count + 1,
        WORST if place is None else place,
        clients,
        rounds,
        Budget.of(rho=rho, epsilon=epsilon, delta=delta),
        Limits.of(most_bytes=most_bytes, most_draws=most_draws, most_memory=most_memory),
        every_round=every_round,
        shuffles=shuffled,
    )
    found = search.choice((Shares,) if quantiles else NUMBER_FAMILIES)
    if quantiles:
        reach = 1.0  # shares have no unit

    def scaled(one: Design) -> Design:
        grid: Any = one.mechanism
        error = one.standard_error * reach
        return replace(one, standard_error=error, k=grid.k, frequency=None, range=ends, quantiles=quantiles)

    best: dict[tuple[type[Mechanism], int], Design] = {}
    for one in found.designs:  # Of the hybrids only the best is of interest.
        best.setdefault((type(one.mechanism), one.bytes), one)
    over = {name: tuple((r, error * reach) for r, error in line) for name, line in found.over_rounds.items()}
    return Choice(tuple(map(scaled, best.values())), scaled(found.textbook), over, tuple(map(scaled, found.beyond)))


@dataclass(frozen=True)
class _NumberSearch(Search):
    """The search for designs for a number: `told` is the mean in units of the range, or WORST."""

    def variance_of(self, mechanism: Any) -> float:
        """The largest variance of a score, or that at the mean."""
        scores: Scores = mechanism._scores
        return scores.worst_deviation**2 if self.told == WORST else scores.deviation(self.frequency) ** 2

    def total(self, variance: float, rounds: int) -> float:
        """The squared standard error, among all clients; the numbers of those who are not asked may be at both ends."""
        share, spread = rounds / self.of, 0.25 if self.told == WORST else self.frequency * (1 - self.frequency)
        missing = (1 / share - 1) * spread * self.clients / (self.clients - 1)
        return (variance / share + missing) / self.clients

    def shorter(self, within: list[Design]) -> list[Design]:  # noqa: ARG002
        """None: reports of numbers are short."""
        return []

    def textbook(self) -> Design:
        """The hybrid mechanism of Wang et al. (2019), with the budget split evenly over all rounds."""
        mechanism = HybridResponse.best(epsilon=min(self.even_share, 50.0), steps=self.k - 1)
        return self._of(mechanism, self.of, Hybrids(self.k).size(sqrt(self.k)))


@dataclass(frozen=True)
class _ShareSearch(_NumberSearch):
    """The search for designs for shares of a number's distribution, on its grid."""

    def variance_of(self, mechanism: Any) -> float:
        """The largest variance of an estimated share, if numbers are spread evenly."""
        return _share_deviation(mechanism._fall, mechanism.steps, mechanism.width) ** 2

    def textbook(self) -> Design:
        """The square wave of Li et al. (2020), with the budget split evenly over all rounds."""
        mechanism = SquareWave.of_densities(epsilon=min(self.even_share, 50.0), steps=self.k - 1)
        return self._of(mechanism, self.of, Windows(self.k).size(mechanism.width))


def compare_number(design: Design, **budget: Any) -> Choice:
    """What `choose_number` finds for the mean within a budget, for the range, rounds and clients of this design."""
    assert design.range is not None
    low, high = design.range
    shuffled = design.shuffled is not None
    return choose_number(low=low, high=high, clients=design.clients, rounds=design.of, shuffled=shuffled, **budget)
