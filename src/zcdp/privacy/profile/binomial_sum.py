"""The profile of many uses of a law with two losses: a binomial sum over how often the larger one occurs."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

from flint import arb, ctx

from zcdp.numeric.balls import Undecided, ceiling, lift, log_size
from zcdp.numeric.work import TERM
from zcdp.privacy.loss.exponential_terms import Expansion
from zcdp.privacy.profile.engine import CUT_SUM, Engine, Offer, Question

__all__ = ["BinomialSum"]

# The expected number of terms is 24 standard deviations plus 40; it only sets the price of the engine.
DEVIATIONS, LEAST_TERMS = 24, 40


class BinomialSum(Engine):
    """delta(epsilon) = sum over k of C(n, k) p^k r^{n-k} (1 - e^{epsilon - k a - (n-k) b})_+, a > b.

    For hundreds of uses of one pair with two outcomes that is not symmetric; for a symmetric one it is the composition
    theorem of Kairouz, Oh and Viswanath (2015).

    All terms are non-negative. The sum begins at the first k with a positive term or at the mean, whichever is larger;
    it goes upward, and from the mean also downward, until a geometric series bounds the rest.
    Theorem: docs/theorems/finite-sum.md.
    """

    name = "binomial sum"
    most_laws = 1
    of_atoms = True

    @classmethod
    def offer(cls, question: Question) -> Offer | None:
        """For one law of two atoms that share no lattice."""
        [(law, count)] = question.parts
        expansion = law.expansion()
        if expansion is None or expansion.regular or len(expansion.rows) != 2 or expansion.width:
            return None
        cost = (DEVIATIONS * sqrt(count) + LEAST_TERMS) * 8 * TERM
        if cost > CUT_SUM / question.haste:
            return None
        return Offer(cost, lambda: cls(expansion, count, question.epsilon))

    def __init__(self, expansion: Expansion, count: int, guess: Fraction) -> None:
        self.count, self.guess = count, guess
        self.high, self.low = expansion.exponent(0), expansion.exponent(1)
        [[one], [other]] = expansion.rows
        self.p, self.r = one * (self.high / 2).exp(), other * (self.low / 2).exp()

    def delta(self, epsilon: Fraction) -> tuple[arb, arb]:
        """Certified bounds below and above delta(epsilon)."""
        n, point = self.count, lift(epsilon)
        gap = self.high - self.low
        first = max(ceiling((point - self.low * n) / gap), 0)  # at most one too large, if epsilon is at a loss
        first = max(first - 1, 0)
        if first > n:
            return arb(0), arb(0)
        middle = int(float((self.p / (self.p + self.r)).mid()) * n)
        start = max(first, min(middle, n))
        term = arb.bin_uiui(n, start) * self.p**start * self.r ** (n - start)
        fall = (point - self.high * start - self.low * (n - start)).exp()
        up, rest_up = self._toward(term, fall, start, n, gap)
        below, rest_below = (arb(0), arb(0))
        if start > first:
            below, rest_below = self._downward(term, fall, start, first, gap)
        total = up + below
        return total, total + rest_up + rest_below

    def _toward(self, term: arb, fall: arb, k: int, n: int, gap: arb) -> tuple[arb, arb]:
        """The sum of the terms from k upward, and an upper bound on those left out."""
        odds, drop, total = self.p / self.r, (-gap).exp(), arb(0)
        tiny = arb(2) ** -ctx.prec
        while True:
            total += term * (1 - fall).max(arb(0))
            if k == n:
                return total, arb(0)
            ratio = odds * (n - k) / (k + 1)
            if ratio < 1 and term < total * tiny:
                return total, term * ratio / (1 - ratio)  # Later ratios are smaller.
            term, fall, k = term * ratio, fall * drop, k + 1
            if not term.is_finite():
                raise Undecided

    def _downward(self, term: arb, fall: arb, k: int, first: int, gap: arb) -> tuple[arb, arb]:
        """The sum of the terms below k, down to `first`, and an upper bound on those left out."""
        odds, rise, total = self.r / self.p, gap.exp(), arb(0)
        tiny, size = arb(2) ** -ctx.prec, term
        while k > first:
            ratio = odds * k / (self.count - k + 1)
            term, fall, k = term * ratio, fall * rise, k - 1
            total += term * (1 - fall).max(arb(0))
            further = odds * k / (self.count - k + 1)
            if further < 1 and term < size * tiny:
                return total, term * further / (1 - further)
        return total, arb(0)

    def estimate(self, epsilon: float) -> float:
        """Heuristic log delta(epsilon)."""
        return log_size(self.delta(Fraction(epsilon))[1])
