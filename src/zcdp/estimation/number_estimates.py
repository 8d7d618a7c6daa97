"""Estimates of a bounded number from randomized reports: its mean with exact intervals, distribution and quantiles.

A report is a cell, and each cell has a score whose mean is the client's number, in units of its range. Theorem:
docs/theorems/numbers.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zcdp.errors import BadValue
from zcdp.estimation.estimator import TERNARY_STEPS, moment_interval
from zcdp.estimation.frequency_estimates import Estimate
from zcdp.estimation.frequency_intervals import ROUNDING, crossing
from zcdp.estimation.support import checked
from zcdp.numeric.exact import Value, probability
from zcdp.text.calls import spoken_class

__all__ = [
    "MOST_POINTS",
    "NumberEstimate",
    "Scores",
    "hybrid_scores",
    "share_deviation",
    "share_weights",
    "window_rows",
    "window_scores",
]

Floats = NDArray[Any]
BERRY_ESSEEN = 0.5601  # the constant for sums of independent terms (Shevtsova 2010 has 0.5600)
LARGEST_TILT = 40.0  # the largest z of the Chernoff bounds, times the range of the scores
END_ACCURACY = 1e-4  # in standard errors: an end is at most this far outside of the one that the bounds give
NORMAL = NormalDist()
LARGEST_BIAS = 1e-3  # of a share's weights
MOST_POINTS = 65  # of a grid of which shares are told


@dataclass(frozen=True)
class Scores:
    """The scores of the cells, and what is known of their laws; numbers are in units of the range, from 0 to 1."""

    score: Floats
    """Of each cell: its mean over the report is the client's number."""
    means: Callable[[Floats], Floats]
    """From numbers for all cells to their mean over the report, on each grid point."""
    second: Floats
    """The second moment of the score on each grid point, a quadratic and convex function of it."""

    @property
    def steps(self) -> int:
        """The number of intervals of the grid."""
        return self.second.size - 1

    def deviation(self, place: float) -> float:
        """The standard deviation of the score of a client who holds the number `place`, rounding included."""
        low = min(int(place * self.steps), self.steps - 1)
        up = place * self.steps - low
        moment = (1 - up) * self.second[low] + up * self.second[low + 1]
        return float(np.sqrt(max(moment - place * place, 0.0)))

    @property
    def worst_deviation(self) -> float:
        """The largest standard deviation of a score, over all numbers that a client may hold."""
        grid = np.arange(self.steps + 1) / self.steps
        slope = np.diff(self.second) * self.steps
        place = np.clip(slope / 2, grid[:-1], grid[1:])  # where second - place^2 is largest between two grid points
        spread = self.second[:-1] + slope * (place - grid[:-1]) - place**2
        return float(np.sqrt(spread.max()))

    @property
    def least_variance(self) -> float:
        """A lower bound on the variance of a score, over all numbers that a client may hold."""
        grid = np.arange(self.steps + 1) / self.steps
        return float((self.second - grid**2).min()) * (1 - 1e-9)

    def most_variance(self, low: Floats, high: Floats, *, of: str) -> Floats:
        """An upper bound on the mean variance of scores of clients whose mean number is between `low` and `high`."""
        first, last = self.second[0], self.second[-1]

        def highest(slope: float, bend: float) -> Floats:
            """The supremum of first + slope x - bend x^2 from low to high, for bend >= 0."""
            if bend == 0:
                return np.asarray(np.maximum(first + slope * low, first + slope * high))
            place = np.clip(slope / (2 * bend), low, high)
            return np.asarray(first + slope * place - bend * place**2)

        every = highest(last - first, 1.0)
        if of == "population":
            return every
        # second - x^2 on the grid is first + slope x + bend x^2: of a convex one the chord counts, of a concave one
        # the function itself. Rounding to the grid adds at most a quarter of the square of its step.
        bend = self._bend - 1
        flat = highest(last - 1 - first, 0.0) if bend >= 0 else highest(last - 1 - first - bend, -bend)
        return np.asarray(np.minimum(every, flat + 1 / (4 * self.steps**2))) * (1 + 1e-9)

    @property
    def _bend(self) -> float:
        """The coefficient of x^2 in the second moment, a quadratic function on the grid; 0 if there are two points."""
        middle = self.steps // 2
        if not middle:
            return 0.0
        x, first, last = middle / self.steps, self.second[0], self.second[-1]
        return float(((self.second[middle] - first) / x - (last - first)) / (x - 1))

    @property
    def reach(self) -> float:
        """The largest possible distance of a score from the number."""
        return float(max(self.score.max(), 1 - self.score.min()))


def window_scores(fall: float, steps: int, width: int) -> Scores:
    """The scores of windows: `fall` is e^-epsilon; a cell outside is so likely, times that of a cell inside.

    >>> window_scores(1 / 3, 1, 1).score.round(9).tolist()
    [-0.5, 1.5]
    """
    cells = steps + width
    inside = 1 / (width + steps * fall)
    gain = (1 - fall) * inside * width
    y = np.arange(cells)
    score = ((y - fall * inside * cells * (cells - 1) / 2) / gain - (width - 1) / 2) / steps

    def means(of: Floats) -> Floats:
        windows = np.lib.stride_tricks.sliding_window_view(of, width).sum(axis=1)
        return np.asarray(fall * inside * of.sum() + (1 - fall) * inside * windows)

    return Scores(score, means, means(score**2))


def window_rows(fall: float, steps: int, width: int) -> Floats:
    """How likely each cell is on each grid point."""
    point, cell = np.arange(steps + 1)[:, None], np.arange(steps + width)
    return np.asarray(np.where((cell >= point) & (cell < point + width), 1.0, fall) / (width + steps * fall))


def hybrid_scores(fall: float, steps: int, width: int, share: float) -> Scores:
    """The scores of a window with probability `share`, else of one bit."""
    window, bit = window_scores(fall, steps, width), window_scores(fall, 1, 1)
    grid = np.arange(steps + 1) / steps

    def means(of: Floats) -> Floats:
        low, high = bit.means(of[-2:])
        return np.asarray(share * window.means(of[:-2]) + (1 - share) * ((1 - grid) * low + grid * high))

    score = np.concatenate([window.score, bit.score])
    return Scores(score, means, means(score**2))


@spoken_class
@dataclass(frozen=True, eq=False)
class NumberEstimate(Estimate):
    """The mean of the numbers that clients hold, from their reports; intervals hold for every number of reports.

    >>> from zcdp import SquareWave
    >>> from zcdp.estimation.frequency_estimates import Counts
    >>> m = SquareWave.one_bit(epsilon="log(3)")
    >>> found = m.estimate(Counts(repr(m), 1000, [400, 600]), low=0, high=10)
    >>> round(found.mean, 9), [round(end, 2) for end in found.interval()]
    (7.0, [6.15, 7.83])
    """

    scores: Scores = field(repr=False)
    low: float
    high: float
    rows: Callable[[], Sequence[Sequence[Fraction]]] = field(repr=False)
    """How likely each cell is on each grid point."""

    @property
    def _total(self) -> float:
        return float(self.scores.score @ self.counts.supports)

    def _scaled(self, place: float) -> float:
        return self.low + (self.high - self.low) * place

    @property
    def mean(self) -> float:
        """The estimated mean. It is unbiased, so it may lie outside of the range."""
        return self._scaled(self._total / self.reports)

    @property
    def sum(self) -> float:
        """The estimated sum over these clients."""
        return self.mean * self.reports

    @property
    def standard_error(self) -> float:
        """The standard error of the mean, from the spread of the scores that came."""
        spread = float(self.scores.score**2 @ self.counts.supports) / self.reports - (self._total / self.reports) ** 2
        return float((self.high - self.low) * max(spread, 0.0) ** 0.5 / self.reports**0.5)

    def interval(self, level: Value = 0.95, *, of: str = "clients") -> tuple[float, float]:
        """Lower and upper end with coverage of at least `level`, for the mean of the "clients" or of the "population".

        The coverage is guaranteed for every number of reports and whatever the numbers are. Theorem:
        docs/theorems/numbers.md.
        """
        checked(of)
        risk, squares = float(1 - probability(level, "level")), float(self.scores.score**2 @ self.counts.supports)
        ends = mean_interval(self.scores, self._total, self.reports, risk, of=of, squares=squares)
        return self._scaled(ends[0]), self._scaled(ends[1])

    # The distribution of the numbers, on the grid.

    def distribution(self, steps: int = 500) -> Floats:
        """About how the clients' numbers are spread over the grid points: likeliest frequencies, by the EM algorithm.

        Post-processing, without a guarantee; intervals are those of `share_below` and `quantile`.
        """
        rows = _matrix(self.rows())
        seen = self.counts.supports / self.reports
        found = np.full(len(rows), 1 / len(rows))
        for _ in range(steps):
            found = found * (rows @ (seen / np.maximum(found @ rows, 1e-300)))
        return np.asarray(found / found.sum())

    def share_below(self, level: Value = 0.95, *, of: str = "clients") -> tuple[Floats, Floats]:
        """Lower and upper ends for the shares of clients whose grid point is at most 0, 1, .. steps - 1, all at once.

        From weights whose mean is 1 for a grid point up to there and 0 beyond. Numbers between grid points are rounded
        at random before they are reported, and the shares are of the rounded ones. Theorem: docs/theorems/numbers.md.
        """
        rows, risk = _matrix(self.rows()), float(1 - probability(level, "level"))
        if len(rows) > MOST_POINTS:
            raise BadValue(
                f"shares are told for at most {MOST_POINTS} grid points, not {len(rows)}: choose a design with steps=32"
            )
        weights = share_weights(rows)
        found = [self._below(rows, j, weights[j], risk / (len(rows) - 1), of) for j in range(len(rows) - 1)]
        lower, upper = (np.array(ends) for ends in zip(*found, strict=True))
        lower, upper = np.maximum.accumulate(lower), np.minimum.accumulate(upper[::-1])[::-1]
        # Where they cross, no clients' reports are likely to be these: then all between both is told.
        return np.minimum(lower, upper), np.maximum(lower, upper)

    def _below(self, rows: Floats, j: int, weight: Floats, risk: float, of: str) -> tuple[float, float]:
        """The ends for one grid point, from weights of the cells."""
        within, beyond = rows[: j + 1], rows[j + 1 :]

        def excess(z: Floats, sign: float) -> tuple[Floats, Floats, Floats]:
            rise = np.expm1(sign * np.multiply.outer(weight, z))
            return (within @ rise).max(axis=0), (beyond @ rise).max(axis=0), (rows @ np.abs(rise)).max(axis=0)

        total = np.array([float(weight @ self.counts.supports)])
        low, high = moment_interval(
            total,
            self.reports,
            risk,
            lambda z: excess(z, 1.0),
            lambda z: excess(z, -1.0),
            largest=LARGEST_TILT / float(np.ptp(weight)),
            guess=total / self.reports,
            whole=of == "clients",
        )
        return max(float(low[0]), 0.0), min(float(high[0]), 1.0)

    def quantile(self, share: Value, level: Value = 0.95, *, of: str = "clients") -> tuple[float, float]:
        """The ends between which the quantile of the rounded numbers lies: half of them, for the median "1/2".

        All quantiles together have coverage of at least `level`.
        """
        wanted = float(probability(share, "share"))
        lower, upper = self.share_below(level, of=of)
        steps = self.scores.steps
        first = int(np.searchsorted(upper, wanted))  # the least grid point below which so many may be
        last = int(np.searchsorted(lower, wanted))  # the least grid point below which so many are for certain
        return self._scaled(first / steps), self._scaled(last / steps)


def share_weights(rows: Floats) -> Floats:
    """For each grid point but the last, weights of the cells whose mean is 1 up to there and 0 beyond.

    Of all such weights they have the least variance where every grid point is equally likely. `rows` is the channel.
    Rows that are too much alike for that in floats are refused.
    """
    scaled = rows / rows.mean(axis=0)
    wanted = np.tri(len(rows) - 1, len(rows))
    try:
        found = np.asarray(np.linalg.solve(scaled @ rows.T, wanted.T).T @ scaled)
    except np.linalg.LinAlgError:
        found = np.zeros((len(rows) - 1, rows.shape[1]))
    if not np.abs(found @ rows.T - wanted).max() < LARGEST_BIAS:
        raise BadValue("these reports do not tell shares apart: their epsilon is too small")
    return found


def share_deviation(rows: Floats) -> float:
    """The largest standard deviation of such a weight over the grid points, if each is equally likely; inf for none.

    >>> response = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> round(share_deviation(response), 9)
    1.0
    """
    try:
        weights, share = share_weights(rows), np.arange(1, len(rows)) / len(rows)
    except BadValue:
        return inf
    return float(np.sqrt((weights**2 @ rows.mean(axis=0) - share**2).max()))


def _matrix(rows: Sequence[Sequence[Fraction]]) -> Floats:
    return np.array([[float(entry) for entry in row] for row in rows])


# Exact intervals for the mean: the numbers for which neither tail of the sum of scores is small, by the smaller of a
# Chernoff bound and the normal law with the error of Berry and Esseen.


ENOUGH_REPORTS = 1000  # from which on the spread of the scores that came is used
RISK_OF_SPREAD = 1 / 50  # the part of the risk that goes to it


def mean_interval(
    scores: Scores, total: float, n: int, risk: float, *, of: str, squares: float | None = None
) -> tuple[float, float]:
    """Lower and upper end of the mean number, in units of the range, wrong together with probability at most risk.

    `total` is the sum of n scores, `squares` that of their squares; without it each end is wrong with at most risk/2.
    """
    low = high = 0.0
    sides = (scores, total, squares), _mirrored(scores, total, n, squares)
    if squares is None or n < ENOUGH_REPORTS:
        low, high = (_lower_end(*side[:2], n, risk / 2, of=of) for side in sides)
        return low, min(float(np.nextafter(1 - high, 2)), 1.0)
    found = []
    for own, sums, square in sides:
        assert square is not None
        part = risk * RISK_OF_SPREAD / 2
        first = _lower_end(own, sums, n, (risk - 2 * part) / 2, of=of)
        second = most_second_moment(own, square, n, part)
        better = _lower_end(own, sums, n, (risk - 2 * part) / 2, of=of, known=(first, second - first**2))
        found.append(max(first, better))
    return found[0], min(float(np.nextafter(1 - found[1], 2)), 1.0)


def most_second_moment(scores: Scores, squares: float, n: int, risk: float) -> float:
    """An upper bound on the clients' mean of E s^2 from the sum of n squares, below it with probability at most risk.

    By Hoeffding's inequality. Theorem: docs/theorems/numbers.md, part 7.
    """
    reach = float((scores.score**2).max())
    return float(squares / n + reach * (-np.log(risk) / (2 * n)) ** 0.5 * (1 + 1e-9) + ROUNDING * reach)


def _mirrored(scores: Scores, total: float, n: int, squares: float | None) -> tuple[Scores, float, float | None]:
    """The scores of 1 less the number, with their sum and the sum of their squares."""
    turned = Scores(1 - scores.score, lambda of: scores.means(of)[::-1], _turned(scores.second))
    return turned, n - total, None if squares is None else n - 2 * total + squares


def _lower_end(
    scores: Scores, total: float, n: int, risk: float, *, of: str, known: tuple[float, float] | None = None
) -> float:
    """The least mean whose upper tail of `total` is above the risk.

    If `known` is given, means below known[0] are out, and the variance of one score is at most known[1] at others.
    """
    gap = max(END_ACCURACY * scores.worst_deviation / n**0.5, 1e-12)
    base = 0.0 if known is None else known[0]  # means below it are not searched
    guess = np.clip(np.array([total / n - base]), 0.0, 1.0 - base)

    def tail(_: NDArray[Any], place: Floats) -> Floats:
        return _tail(scores, total, n, base + place, of=of, most=None if known is None else known[1])

    return base + float(crossing(tail, risk, np.array([1.0 - base]), gap, guess)[0][0])


def _turned(second: Floats) -> Floats:
    """The second moments of 1 - score on the grid points in the other order."""
    grid = np.arange(second.size) / (second.size - 1)
    return np.asarray((1 - 2 * grid + second)[::-1])


def _tail(scores: Scores, total: float, n: int, mean: Floats, *, of: str, most: float | None = None) -> Floats:
    """An upper bound on the probability that the scores add up to `total` or more; it rises with the mean number.

    The mean variance of the scores is at most `most`, if that is given.
    """
    off = ROUNDING * n * scores.reach  # more than the rounding error of a sum of scores
    place = mean[0]
    beyond = total - off - n * place
    if beyond <= 0:
        return np.ones(1)
    spread = float(scores.most_variance(np.zeros(1), mean, of=of)[0]) * n
    if most is not None:
        spread = min(spread, most * n)
    least = scores.least_variance * n
    normal = 1.0
    if least > 0:
        far = beyond / spread**0.5 * (1 - 1e-9)
        normal = NORMAL.cdf(-far) * (1 + 1e-9) + 1e-15 + BERRY_ESSEEN * scores.reach / least**0.5
    return np.array([min(normal, _chernoff(scores, total - off, n, place, of=of), 1.0)])


def _chernoff(scores: Scores, total: float, n: int, mean: float, *, of: str) -> float:
    """The least Chernoff bound on that probability over the z that a ternary search finds; every z gives one."""
    low, high = 0.0, LARGEST_TILT / float(np.ptp(scores.score))

    def bound(z: float) -> float:
        """An upper bound on log( e^{-z total} E e^{z sum} ); rounding errors are added."""
        rise = np.expm1(z * scores.score)
        moments = scores.means(rise)
        log = float(np.log1p((1 - mean) * moments[0] + mean * moments[-1]))
        if of == "clients":
            logs, grid = np.log1p(moments), np.arange(moments.size) / scores.steps
            chord = (1 - grid) * logs[0] + grid * logs[-1]
            more = float((logs - chord).max()) + float(np.abs(np.diff(logs)).max()) ** 2 / 8
            log = min(log, float((1 - mean) * logs[0] + mean * logs[-1]) + more)
        size = float(scores.means(np.abs(rise)).max())
        slack = ROUNDING * (n * (4 * size / (1 + float(moments.min())) + abs(log)) + abs(z * total))
        return n * log - z * total + slack

    for _ in range(TERNARY_STEPS // 2):
        third = (high - low) / 3
        if bound(low + third) > bound(high - third):
            low += third
        else:
            high -= third
    return float(np.exp(min(bound(low), bound((low + high) / 2), 0.0))) * (1 + ROUNDING)
