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
from functools import cached_property

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
        left, right = (
            masses if isinstance(masses, np.ndarray) else np.array([float(x) for x in masses])  # type: ignore[arg-type]
            for masses in (p, q)
        )
        assert abs(left.sum() - 1) < 1e-12, left.sum()
        assert abs(right.sum() - 1) < 1e-12, right.sum()
        kept = (left > 0) | (right > 0)
        return cls(left[kept], right[kept])

    @cached_property
    def loss(self) -> Array:
        if self.all_possible:
            return np.log(self.p) - np.log(self.q)
        with np.errstate(divide="ignore"):
            return np.log(self.p) - np.log(self.q)

    @cached_property
    def all_possible(self) -> bool:
        """Whether each outcome may come from either input."""
        return bool(self.p.all() and self.q.all())

    @cached_property
    def _turned(self) -> Law:
        return Law(self.q, self.p)

    def reversed(self) -> Law:
        return self._turned

    def beside(self, other: Law) -> Law:
        """Both mechanisms run, independently: outcomes of one loss are one, unless they are too many to look."""
        p, q = np.multiply.outer(self.p, other.p).ravel(), np.multiply.outer(self.q, other.q).ravel()
        with np.errstate(invalid="ignore"):  # an outcome of neither input, which is left out
            loss = np.add.outer(self.loss, other.loss).ravel()
        # a product that underflows is left out: only a factor of 0 makes an outcome impossible
        kept = np.minimum(p, q) > LEAST
        if not (self.all_possible and other.all_possible):
            impossible = ~np.outer((self.p > 0) & (self.q > 0), (other.p > 0) & (other.q > 0)).ravel()
            kept = np.where(impossible, np.maximum(p, q) > LEAST, kept)
        law = _known(p, q, loss) if kept.all() else _known(p[kept], q[kept], loss[kept])
        return law.same() if len(law.p) <= SORTED else law

    def same(self) -> Law:
        """Sorted by loss, and what differs by rounding only made one."""
        loss = self.loss
        order = np.argsort(loss, kind="stable")
        loss = loss[order]
        law = _known(self.p[order], self.q[order], loss)
        place = np.clip(loss, -1e300, 1e300)  # infinite losses of one sign are the same
        starts = np.flatnonzero(place[1:] - place[:-1] > SAME * (1 + np.abs(place[1:]))) + 1
        if len(starts) + 1 == len(place):
            return law
        starts = np.concatenate([[0], starts])
        return Law(np.add.reduceat(law.p, starts), np.add.reduceat(law.q, starts))

    def merged(self, above: bool, most: int = MOST) -> Law:
        """The outcomes of each cell of losses made one, a bound from below, or two, of the losses at its ends."""
        if len(self.p) <= most:
            return self
        loss = self.loss
        finite = np.isfinite(loss)
        low, high = loss[finite].min(), loss[finite].max()
        width = (high - low) * (1 + 1e-9) / most
        if finite.all():
            cell = ((loss - low) / width).astype(np.int64)
        else:
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
        return float(self.cumulants(np.array([s]))[0])

    def cumulants(self, s: Array) -> Array:
        """The same at several places."""
        log_p, loss = self._exponents
        if np.isinf(loss).any():
            return np.full(len(s), np.inf)
        exponents = np.multiply.outer(s, loss)
        exponents += log_p
        top = exponents.max(axis=1)
        exponents -= top[:, None]
        found: Array = top + np.log(np.exp(exponents, out=exponents).sum(axis=1))
        return found

    @cached_property
    def _exponents(self) -> tuple[Array, Array]:
        """log p and the losses, where p is positive."""
        has = self.p > 0
        return np.log(self.p[has]), self.loss[has]

    def kl(self) -> float:
        return self._kl

    @cached_property
    def _kl(self) -> float:
        has = self.p > 0
        return float((self.p[has] * self.loss[has]).sum())

    def largest(self) -> float:
        return float(self._exponents[1].max())


def _known(p: Array, q: Array, loss: Array) -> Law:
    """A law of which the losses are known already."""
    law = Law(p, q)
    vars(law)["loss"] = loss
    return law


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

    @cached_property
    def _turned(self) -> Pair:
        return Pair(self.low.reversed(), self.high.reversed())

    def reversed(self) -> Pair:
        return self._turned

    def both(self) -> tuple[Pair, Pair]:
        return self, self.reversed()

    def times(self, other: Pair) -> Pair:
        whole = self.low.beside(other.low)
        low = whole.merged(above=False)
        if self.low is not self.high or other.low is not other.high:
            whole = self.high.beside(other.high)
        return Pair(low, low if low is whole else whole.merged(above=True))

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
