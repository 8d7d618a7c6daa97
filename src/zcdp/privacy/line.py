"""A vertical line to integrate along: the size of the integrand, and the aliases of a trapezoidal sum on it."""

from __future__ import annotations

from math import inf, isfinite, log

from flint import acb, acb_mat, arb

from zcdp.numeric.certify import Undecided
from zcdp.numeric.once import cached_property
from zcdp.privacy.rdp_to_approx import tail_factor
from zcdp.privacy.transform import Tilt, Transform

__all__ = ["Line", "Phases", "log_size"]

TOLERANCE = 1e-17
BLOCK = 32


class Line:
    """Re z = c, chosen for the delta near `epsilon`. Theorem: docs/theorems/profile.md, 2."""

    def __init__(self, transform: Transform, c: arb, epsilon: arb, *, tolerance: float = TOLERANCE) -> None:
        """Things that weigh less than `tolerance` of delta may be left out."""
        self.transform, self.c, self.epsilon = transform, c, epsilon
        self.limit = log(tolerance)
        self.tilt = Tilt(transform, c)
        self.weight = self.tilt.value.exp()
        bend = self.tilt.variance + 1 / (c * c) + 1 / ((1 + c) * (1 + c))
        estimate = self.tilt.value - c * epsilon - (c * (1 + c)).log() - (2 * arb.pi() * bend).log() / 2
        self.log_delta = float(estimate.mid())
        self.head = float((self.tilt.value - c * epsilon).mid()) - self.log_delta
        """log(M(c) e^{-c epsilon}/delta), near enough."""
        if not isfinite(self.head):
            raise Undecided

    def size(self, epsilon: arb) -> arb:
        """M(c) e^{-c epsilon}."""
        return self.weight * (-self.c * epsilon).exp()

    @cached_property
    def chernoff(self) -> list[tuple[arb, arb]]:
        """Orders s > c with log of the Chernoff bound on delta(0) at s."""
        orders = [(self.c * factor).mid() for factor in (1.25, 1.6, 2.5, 5)]
        return [(s, self.transform.log_moment(s) + tail_factor(s)) for s in orders]

    @cached_property
    def period(self) -> float:
        """Long enough that both neighbours in the sum over j are negligible; only accuracy rests on it."""
        tiny, c = -self.limit, float(self.c)
        left = (tiny - self.log_delta + 2) / c
        right = inf
        if self.transform.largest_loss is not None:
            right = max(float((self.transform.largest_loss - self.epsilon).mid()), 0.0)
        for s, size in self.chernoff:
            bound = float((size - s * self.epsilon).mid())
            right = min(right, (bound - self.log_delta + tiny) / (float(s) - c))
        return max(left, right)

    def aliases(self, period: arb, epsilon: arb) -> arb:
        """An upper bound on sum over j != 0 of e^{cjP} delta(epsilon + jP)."""
        c = self.c
        q = (-c * period).exp()
        left = q / (1 - q)
        top = self.transform.largest_loss
        if top is not None and epsilon + period >= top:
            return left
        best = None
        for s, size in self.chernoff:
            q = ((c - s) * period).exp()
            bound = (size - s * epsilon).exp() * q / (1 - q)
            best = bound if best is None else best.min(bound)
        assert best is not None
        return left + best


class Phases:
    """Sums over the nodes k that are kept of value_k e^{-i k angle}: with k = 32 q + r few exponentials serve all."""

    def __init__(self, kept: list[int]) -> None:
        self.blocks = sorted({k // BLOCK for k in kept})
        place = {q: n * BLOCK for n, q in enumerate(self.blocks)}
        self.places = [place[k // BLOCK] + k % BLOCK for k in kept]

    def spread(self, rows: list[list[acb]]) -> acb_mat:
        """A matrix for `sums`, of one row for each row and block; each row holds a value for each node that is kept."""
        size = len(self.blocks) * BLOCK
        entries = [acb(0)] * (size * len(rows))
        for n, row in enumerate(rows):
            for place, value in zip(self.places, row, strict=True):
                entries[n * size + place] = value
        return acb_mat(len(rows) * len(self.blocks), BLOCK, entries)

    def sums(self, matrix: acb_mat, angle: arb) -> list[arb]:
        """The real part of the sum of each row."""
        short = [acb(1), acb(0, -angle).exp()]
        for r in range(2, BLOCK):
            short.append(short[r // 2] * short[r - r // 2])  # by halves: balls hardly grow
        long = [acb(0, -angle * (q * BLOCK)).exp() for q in self.blocks]
        inner = (matrix * acb_mat(BLOCK, 1, short)).entries()
        outer = acb_mat(len(inner) // len(long), len(long), inner) * acb_mat(len(long), 1, long)
        return [x.real for x in outer.entries()]


def log_size(value: arb) -> float:
    """The logarithm of a number, near enough for proposals; of one that is lost in its ball, that of the upper end."""
    size = value if value > 0 else value.upper()
    return float(size.log().mid()) if size > 0 else -inf if size.is_finite() else inf
