"""The sparse vector technique: which of many queries exceed a noisy threshold, up to some number of positives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import ClassVar

from flint import arb

from zcdp.mechanisms.base import Mechanism
from zcdp.mechanisms.laplace import Laplace
from zcdp.numeric.balls import lift
from zcdp.numeric.certify import enclose
from zcdp.numeric.exact import Value, integer, positive_rational
from zcdp.numeric.functions import Number
from zcdp.numeric.once import cached_property
from zcdp.privacy.curve import Peak
from zcdp.privacy.loss import LossLaw, laplace_pair

__all__ = ["SparseVector"]


@dataclass(frozen=True, init=False, repr=False)
class SparseVector(Mechanism):
    """Threshold noise Laplace(sensitivity/e1) once, query noise Laplace(2c sensitivity/e2), stops after c positives.

    Any number of adaptive queries, outputs above/below only. With rho_L the Laplace value,
    rho = min( rho_L(e1) + 2c rho_L(e2/c), rho_L(e1 + e2) ) is an upper bound: `is_tight` is False.
    Theorem: docs/theorems/sparse-vector.md.

    >>> m = SparseVector(epsilon_threshold=0.5, epsilon_queries=0.5, positives=20)
    >>> m.rho, m.is_tight, m.pure_epsilon
    (0.11892714084594018, False, 1.0)
    """

    theorem: ClassVar[str] = "sparse-vector"
    budget = None
    epsilon_threshold: Fraction
    epsilon_queries: Fraction
    positives: int = 1

    def __init__(self, *, epsilon_threshold: Value, epsilon_queries: Value, positives: Value = 1) -> None:
        self._set(
            epsilon_threshold=positive_rational(epsilon_threshold, "epsilon_threshold"),
            epsilon_queries=positive_rational(epsilon_queries, "epsilon_queries"),
            positives=integer(positives, "positives", 1),
        )

    @property
    def is_tight(self) -> bool:
        return False

    @property
    def largest_loss(self) -> Fraction:
        return self.epsilon_threshold + self.epsilon_queries

    is_envelope = True

    @property
    def _parts(self) -> tuple[Laplace, Laplace, Laplace]:
        share = self.epsilon_queries / self.positives
        return Laplace(epsilon=self.epsilon_threshold), Laplace(epsilon=share), Laplace(epsilon=self.largest_loss)

    def pair(self) -> LossLaw:
        """The Laplace pair at the whole epsilon. Theorem: docs/theorems/lipschitz.md."""
        return laplace_pair(self.largest_loss, exact=False)

    @cached_property
    def _split(self) -> bool:
        """Whether threshold and queries apart give the smaller rho than both as one."""
        threshold, query, whole = self._parts
        return threshold.rho + 2 * self.positives * query.rho < whole.rho

    def _cumulant(self, s: Number, *, split: bool) -> Number:
        threshold, query, whole = self._parts
        if split:
            return threshold.cumulant(s) + 2 * self.positives * query.cumulant(s)
        return whole.cumulant(s)

    def cumulant(self, s: Number) -> Number:
        """The bound of smaller rho: the least of both, order by order, would not be convex."""
        return self._cumulant(s, split=self._split)

    def _divergence(self, excess: Fraction) -> float:
        if excess == 0:
            return self.rho

        def bound(*, split: bool) -> arb:
            s = lift(excess)
            return self._cumulant(s, split=split) / s

        return min(self.pure_epsilon, *(enclose(partial(bound, split=split))[1] for split in (True, False)))

    def peak(self) -> Peak:
        threshold, query, whole = (part.peak().rho for part in self._parts)
        return Peak((threshold + 2 * self.positives * query).min(whole), arb(1))

    def group(self, size: Value) -> SparseVector:
        """Inputs at a distance of `size` neighbours: the sensitivity times `size`, the noise as it is."""
        steps = integer(size, "size", 1)
        threshold, queries = steps * self.epsilon_threshold, steps * self.epsilon_queries
        return SparseVector(epsilon_threshold=threshold, epsilon_queries=queries, positives=self.positives)

    def witness(self) -> arb:
        """Five queries that are 1 higher on the neighbour, then twelve that are 1 lower: when is the first positive?

        On the input all queries lie a quarter unit of query noise below the threshold.
        """
        rate, query_rate = self.epsilon_threshold, self.epsilon_queries / (2 * self.positives)
        level = -1 / (4 * query_rate)
        flat = _first_positive([level] * 17, rate, query_rate)
        moved = _first_positive([level + 1] * 5 + [level - 1] * 12, rate, query_rate)
        best = arb(0)
        for left, right in ((flat, moved), (moved, flat)):
            logs = [(p.log(), q.log()) for p, q in zip(left, right, strict=True)]
            for n in range(-4, 16):
                s = arb(2) ** n
                moment = sum(((p * (1 + s) - q * s).exp() for p, q in logs), arb(0))
                best = best.max(moment.log() / (s * (1 + s)))
        return best


def _first_positive(levels: Sequence[Fraction], rate: Fraction, query_rate: Fraction) -> list[arb]:
    """Law of the index of the first noisy query above threshold noise around 0, for these rates; last: none.

    Between two kinks the integrand is a polynomial in e^{query_rate t} times e^{+-rate t}: integrated term by term.
    """
    cuts: list[Fraction | None] = [None, *sorted({Fraction(0), *levels}), None]
    law = [arb(0)] * (len(levels) + 1)
    for low, high in pairwise(cuts):
        side = 1 if high is not None and high <= 0 else -1
        below = {0: lift(rate) / 2}  # coefficients of e^{n query_rate t}: no query has been above so far
        for index, level in enumerate(levels):
            sign = 1 if high is not None and high <= level else -1
            growth = lift(-sign * query_rate * level).exp() / 2
            tail = {n + sign: coefficient * growth for n, coefficient in below.items()}
            rest = dict(below)
            for n, coefficient in tail.items():
                rest[n] = rest.get(n, arb(0)) - coefficient
            above, below = (rest, tail) if sign > 0 else (tail, rest)
            law[index] += _integral(above, side * rate, query_rate, low, high)
        law[-1] += _integral(below, side * rate, query_rate, low, high)
    return law


def _integral(
    terms: dict[int, arb], rate: Fraction, step: Fraction, low: Fraction | None, high: Fraction | None
) -> arb:
    """Of the sum of terms[n] e^{(n step + rate) t} from low to high; None is infinity, where it vanishes."""
    total = arb(0)
    for n, coefficient in terms.items():
        power = n * step + rate
        if power == 0:
            total += coefficient * lift((high or Fraction(0)) - (low or Fraction(0)))  # both ends are finite here
        else:
            start, end = (arb(0) if cut is None else lift(power * cut).exp() for cut in (low, high))
            total += coefficient * (end - start) / lift(power)
    return total
