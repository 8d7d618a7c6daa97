"""Checks of tables: selections and ranks on all small tables with every person added, and tables that add up."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from itertools import product
from math import exp, log, sqrt

from zcdp.mechanisms import DiscreteGaussian, DiscreteLaplace, TopK
from zcdp.mechanisms.noise.gaussian_sums import reach_in_deviations
from zcdp.mechanisms.noise.noise_sums import NoiseSum
from zcdp.mechanisms.noise.quotients import Quotients
from zcdp.tables.cumulated_counts import CumulatedCounts, crossing
from zcdp.tables.discovered_keys import appears
from zcdp.tables.forest import Tree, TreeSquares
from zcdp.tables.margins import Margins, whole
from zcdp.tables.table_query import rank_sensitivity
from zcdp.verification.checks import Check

__all__ = ["checks"]


def checks(*, deep: bool) -> Iterator[Check]:
    """One check for each theorem on tables."""
    most = 4 if deep else 2
    yield Check("monotone-selection", "losses of all counts up to so many lie within epsilon", lambda: _selects(most))
    yield Check("top-k", "two of three counts, one by one, tell no more than it says", lambda: _two_of_three(most))
    yield Check("table-sensitivity", "rank scores of all small histograms move no further", lambda: _ranks(most))
    yield Check("totals", "a total and its parts, by hand: they add up, and no other weights are better", _adds_up)
    yield Check("noise-sums", "the sum of two discrete Laplace noises, term by term", _two_noises)
    yield Check("gaussian-sums", "sums of two and of three discrete Gaussian noises stay within reach", _gaussian_sums)
    yield Check("forests", "a total and two cells of equal noise, by hand", _forest)
    yield Check("quotients", "the half-width of a quotient, by adding up all pairs of noise", _quotient)
    yield Check("cumulated-counts", "of all small histograms the bin is the one that holds the quantile", _crosses)
    yield Check("discovered-keys", "how often lone keys appear, by adding up the noise", _lone_keys)
    yield Check("derived-columns", "the first day of each month of 800 years, by the calendar", _months)


def _selects(most: int) -> bool:
    """Losses of the exponential mechanism lie in a range of epsilon = 1, when a person adds 0, 1 or 2 to each count.

    There are three candidates, with weights e^{u/2} for counts u.
    """

    def law(counts: tuple[int, ...]) -> list[float]:
        weights = [exp(count / 2) for count in counts]
        return [weight / sum(weights) for weight in weights]

    for counts in product(range(most + 1), repeat=3):
        for added in product(range(3), repeat=3):
            more = tuple(a + b for a, b in zip(counts, added, strict=True))
            losses = [log(p / q) for p, q in zip(law(more), law(counts), strict=True)]
            if max(losses) - min(losses) > 1 + 1e-12:
                return False
    return True


def _two_of_three(most: int) -> bool:
    """Losses and KL divergences of choosing two of three candidates in turn are at most those that `TopK` states.

    A person adds 0 or 1 to each count u; epsilon = 2, so that weights are e^u.
    """
    top = TopK(epsilon=2, k=2, monotone=True)

    def law(counts: tuple[int, ...]) -> list[float]:
        weights = [exp(count) for count in counts]
        whole = sum(weights)
        return [one / whole * weights[j] / (whole - one) for i, one in enumerate(weights) for j in range(3) if j != i]

    for counts in product(range(most + 1), repeat=3):
        for added in product(range(2), repeat=3):
            p, q = law(tuple(a + b for a, b in zip(counts, added, strict=True))), law(counts)
            for one, other in ((p, q), (q, p)):
                losses = [log(x / y) for x, y in zip(one, other, strict=True)]
                kl = sum(x * loss for x, loss in zip(one, losses, strict=True))
                if max(losses) > top.pure_epsilon + 1e-12 or kl > top.rho + 1e-12:
                    return False
    return True


def _ranks(most: int) -> bool:
    """One more row moves the rank scores of three bins by at most `rank_sensitivity`, which is attained."""

    def scores(counts: list[int], a: int, c: int) -> list[int]:
        rank = a * sum(counts)
        return [-max(0, c * sum(counts[:n]) - rank, rank - c * sum(counts[: n + 1])) for n in range(3)]

    for q in (Fraction(1, 10), Fraction(1, 2), Fraction(3, 4)):
        a, c = q.numerator, q.denominator
        reached = 0
        for counts in product(range(most + 1), repeat=3):
            for place in range(3):
                more = [count + (n == place) for n, count in enumerate(counts)]
                both = zip(scores(list(counts), a, c), scores(more, a, c), strict=True)
                reached = max(reached, *(abs(one - other) for one, other in both))
        if reached != rank_sensitivity(q):
            return False
    return True


def _adds_up() -> bool:
    """A total of variance 2 and three parts of variance 5 each: the adjusted total has variance 1/(1/2 + 1/15)."""
    tables = Margins((3,), ((), (0,)), (Fraction(2), Fraction(5)))
    [([total], below), parts] = tables.estimates([[100], [20, 30, 40]])
    spread = sum(share**2 * count * tables.variances[n] for n, share, count in tables.terms(0))
    exact = Fraction(total, below) == (Fraction(100, 2) + Fraction(90, 15)) / (Fraction(1, 2) + Fraction(1, 15))
    figures = whole(parts, (3,))
    return exact and spread == Fraction(30, 17) and [sum(figures)] == whole(([total], below), ())


def _two_noises() -> bool:
    """The half-width of the sum of two discrete Laplace noises, each with P(x) = 2^-|x|/3.

    The sum is x with probability (3|x| + 5) 2^-|x|/27.
    """
    found = NoiseSum(((DiscreteLaplace(epsilon="log(2)"), Fraction(1), 2),)).accuracy().half_width
    beyond = {h: 1 - sum(Fraction(3 * abs(x) + 5, 27 * 2 ** abs(x)) for x in range(-h, h + 1)) for h in (5, 6)}
    return beyond[6] <= Fraction(1, 20) < beyond[5] and 6 <= found < 6.2


def _gaussian(sigma: int) -> dict[int, float]:
    """The probabilities of discrete Gaussian noise, by its definition."""
    masses = {x: exp(-x * x / (2 * sigma**2)) for x in range(-12 * sigma, 12 * sigma + 1)}
    whole = sum(masses.values())
    return {x: mass / whole for x, mass in masses.items()}


def _gaussian_sums() -> bool:
    """P(|X + 2Y| > c sd) <= 1/20 for the c of two noises of sigma = 3, and of X + Y + Z for that of three."""
    law = _gaussian(3)

    def beyond(coefficients: tuple[int, ...]) -> float:
        reach = reach_in_deviations({Fraction(9): len(coefficients)}) * 3 * sqrt(sum(a * a for a in coefficients))
        sums = {0: 1.0}
        for a in coefficients:
            more: dict[int, float] = {}
            for (z, p), (x, q) in product(sums.items(), law.items()):
                more[z + a * x] = more.get(z + a * x, 0.0) + p * q
            sums = more
        return sum(p for z, p in sums.items() if abs(z) > reach)

    return all(0.02 < beyond(coefficients) <= 0.05 for coefficients in ((1, 2), (1, 1, 1)))


def _forest() -> bool:
    """13 for the sum of 4 and 6: the sum of least squares is (2 * 13 + 10)/3 = 12, and what is added is shared."""
    [([total], below), ([first, second], parts)] = TreeSquares(Tree(((2,),)), (Fraction(1), Fraction(1))).estimates(
        [[13], [4, 6]]
    )
    found = (Fraction(int(total), below), Fraction(int(first), parts), Fraction(int(second), parts))
    near = all(abs(one - truth) < Fraction(1, 10**9) for one, truth in zip(found, (12, 5, 7), strict=True))
    return near and found[0] == found[1] + found[2]


def _quotient() -> bool:
    """Noise of sigma = 5 above and of sigma = 2 below: |X - rY| exceeds the half-width at most once in twenty."""
    some = Quotients(DiscreteGaussian(sigma=5), DiscreteGaussian(sigma=2), Fraction(3))
    laws = _gaussian(5), _gaussian(2)
    for r in (Fraction(0), Fraction(1, 2), Fraction(-2), Fraction(3)):
        half = some.half_width(r)
        missed = sum(p * q for (x, p), (y, q) in product(laws[0].items(), laws[1].items()) if abs(x - r * y) > half)
        if missed > 0.05:
            return False
    return True


def _crosses() -> bool:
    """Without noise c F - a N is at most 0 at the lower edge of the bin that is found, and at least 0 at the upper."""
    counts_of = CumulatedCounts((2, 4))
    for counts in product(range(3), repeat=4):
        for q in (Fraction(1, 4), Fraction(1, 2), Fraction(9, 10)):
            ranks, _ = counts_of.ranks(counts_of.exact(list(counts)), q)
            place = crossing(ranks)
            below, upto = sum(counts[:place]), sum(counts[: place + 1])
            if not below <= q * sum(counts) <= upto:
                return False
    return True


def _lone_keys() -> bool:
    """Two keys of one person, noise of sigma = 3, threshold 8: 1 - (1 - P(X >= 7))^2, rounded up in the sixth digit."""
    chance = sum(p for x, p in _gaussian(3).items() if x >= 7)
    truth = 1 - (1 - chance) ** 2
    return truth * (1 - 1e-9) <= appears(Fraction(9), 8, 2) <= truth * (1 + 2e-5)


def _months() -> bool:
    """The formula of the page against the calendar of Python."""
    for months in range(12 * 1600, 12 * 2400):
        y, m = divmod(months, 12)
        leap = y % 4 == 0 and (y % 100 != 0 or y % 400 == 0)
        less = 0 if m < 2 else 1 if leap else 2
        before = 365 * (y - 1) + (y - 1) // 4 - (y - 1) // 100 + (y - 1) // 400
        if before + (367 * m + 5) // 12 - less + 1 != date(y, m + 1, 1).toordinal():
            return False
    return True
