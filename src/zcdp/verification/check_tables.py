"""Checks of tables: selections and ranks on all small tables with every person added, and tables that add up."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import exp, log

from zcdp.mechanisms import DiscreteLaplace, TopK
from zcdp.mechanisms.noise.noise_sums import NoiseSum
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
