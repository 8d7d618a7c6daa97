"""A pair of output laws on finitely many outcomes: composed, seen in less detail, and measured.

Outcomes that are merged, masses added, are a post-processing: no divergence can grow. So a law in which the outputs
of continuous noise are binned, or many outcomes of a long composition merged, is a bound from *below* on what the true
neighbours tell. A bound from *above* splits each bin into two outcomes, at the two extreme ratios found in it and of
the same total masses: a hockey stick (p - g q)_+ is convex in the ratio p/q for fixed q, and so is every f-divergence.
Doubles are used throughout; all sums are of positive numbers, and SLACK is some hundred times their rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SLACK = 1e-13
LEAST = 1e-290  # masses that are still known to full precision
SAME = 1e-12  # losses this near are of one outcome
MOST = 800  # outcomes that are kept apart
SORTED = 100_000  # outcomes that are few enough to look for equal losses among them


@dataclass(frozen=True, eq=False)
class Law:
    """The masses of the same outcomes under an input and under its neighbour."""

    p: Array
    q: Array

    @classmethod
    def of(cls, p: Sequence[object] | Array, q: Sequence[object] | Array) -> Law:
        """Of any numbers; outcomes that neither input has are left out."""
        left, right = np.array([float(x) for x in p]), np.array([float(x) for x in q])  # type: ignore[arg-type]
        assert abs(left.sum() - 1) < 1e-12, left.sum()
        assert abs(right.sum() - 1) < 1e-12, right.sum()
        kept = (left > 0) | (right > 0)
        return cls(left[kept], right[kept])

    @property
    def loss(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.p) - np.log(self.q)

    def reversed(self) -> Law:
        return Law(self.q, self.p)

    def times(self, other: Law, above: bool, most: int = MOST) -> Law:
        """Both mechanisms run, independently: outcomes of one loss are one, too many are merged."""
        p, q = np.outer(self.p, other.p).ravel(), np.outer(self.q, other.q).ravel()
        # a product that underflows is left out: only a factor of 0 makes an outcome impossible
        impossible = ~np.outer((self.p > 0) & (self.q > 0), (other.p > 0) & (other.q > 0)).ravel()
        kept = np.where(impossible, np.maximum(p, q) > LEAST, np.minimum(p, q) > LEAST)
        law = Law(p[kept], q[kept])
        return law.same().merged(above, most) if len(law.p) <= SORTED else law.merged(above, most)

    def same(self) -> Law:
        """Sorted by loss, and what differs by rounding only made one."""
        loss = self.loss
        order = np.argsort(loss, kind="stable")
        law, loss = Law(self.p[order], self.q[order]), loss[order]
        place = np.clip(loss, -1e300, 1e300)  # infinite losses of one sign are the same
        starts = np.diff(place, prepend=-np.inf) > SAME * (1 + np.abs(place))
        return Law(*(np.add.reduceat(masses, np.flatnonzero(starts)) for masses in (law.p, law.q)))

    def merged(self, above: bool, most: int = MOST) -> Law:
        """The outcomes of each cell of losses made one, a bound from below, or two, of the losses at its ends."""
        if len(self.p) <= most:
            return self
        loss = self.loss
        finite = np.isfinite(loss)
        low, high = loss[finite].min(), loss[finite].max()
        width = (high - low) * (1 + 1e-9) / most
        cell = np.where(finite, (np.where(finite, loss, low) - low) / width, most).astype(np.int64)
        cell[loss == -np.inf] = most + 1
        p, q = (np.bincount(cell, masses, most + 2) for masses in (self.p, self.q))
        ends = low + width * np.arange(most + 1)
        whole = Law(p[:most], q[:most])
        if above:
            whole = split(whole, ends[:-1], ends[1:])
        found = Law(np.append(whole.p, p[most:]), np.append(whole.q, q[most:]))
        kept = (found.p > 0) | (found.q > 0)
        return Law(found.p[kept], found.q[kept])

    def delta(self, epsilon: float, side: int) -> float:
        """The hockey stick divergence, from below (side -1) or above (side 1) as far as rounding goes."""
        grown = np.exp(epsilon)
        more = self.p - grown * self.q
        told = more > 0
        return max(float(more[told].sum()) + side * SLACK * float(self.p[told].sum()), 0.0)

    def cumulant(self, s: float) -> float:
        """log of the sum of p (p/q)^s."""
        has = self.p > 0
        loss = self.loss[has]
        if np.isinf(loss).any():
            return np.inf
        exponents = np.log(self.p[has]) + s * loss
        top = exponents.max()
        return float(top + np.log(np.exp(exponents - top).sum()))

    def kl(self) -> float:
        has = self.p > 0
        return float((self.p[has] * self.loss[has]).sum())

    def largest(self) -> float:
        return float(self.loss[self.p > 0].max())


def split(whole: Law, low: Array, high: Array) -> Law:
    """Each outcome, known to hold losses from `low` to `high`, becomes two of exactly these."""
    single = ~(high - low > 1e-9) | ~np.isfinite(low) | ~np.isfinite(high)
    one = Law(whole.p[single], whole.q[single])
    p, q, bottom, top = whole.p[~single], whole.q[~single], np.exp(low[~single]), np.exp(high[~single])
    right = np.clip((p - bottom * q) / (top - bottom), 0, q)
    left = q - right
    found = Law(np.concatenate([one.p, bottom * left, top * right]), np.concatenate([one.q, left, right]))
    kept = (found.p > 0) | (found.q > 0)
    return Law(found.p[kept], found.q[kept])


@dataclass(frozen=True, eq=False)
class Pair:
    """What two neighbouring inputs tell, from below and from above; the same where outcomes are finitely many."""

    low: Law
    high: Law

    @classmethod
    def exactly(cls, p: Sequence[object] | Array, q: Sequence[object] | Array) -> Pair:
        law = Law.of(p, q).same()
        return cls(law, law)

    @classmethod
    def binned(cls, p: Array, q: Array, losses: Array) -> Pair:
        """Bins of outputs between which the loss is monotone, and the losses at the ends of the bins."""
        law = Law.of(p, q)
        assert len(losses) == len(p) + 1 == len(law.p) + 1
        low, high = np.minimum(losses[:-1], losses[1:]), np.maximum(losses[:-1], losses[1:])
        return cls(law, split(law, low, high).same())

    def reversed(self) -> Pair:
        return Pair(self.low.reversed(), self.high.reversed())

    def both(self) -> tuple[Pair, Pair]:
        return self, self.reversed()

    def times(self, other: Pair) -> Pair:
        low = self.low.times(other.low, above=False)
        if self.low is self.high and other.low is other.high and len(low.p) < MOST:
            return Pair(low, low)
        return Pair(low, self.high.times(other.high, above=True))

    def power(self, count: int) -> Pair:
        """So many independent runs."""
        whole: Pair | None = None
        square = self
        while True:
            if count & 1:
                whole = square if whole is None else whole.times(square)
            count >>= 1
            if not count:
                assert whole is not None
                return whole
            square = square.times(square)


def together(pairs: Sequence[Pair]) -> Pair:
    """All of them run, independently."""
    whole = pairs[0]
    for pair in pairs[1:]:
        whole = whole.times(pair)
    return whole
