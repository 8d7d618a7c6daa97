"""A vertical line to integrate along: the size of the integrand, and the aliases of a trapezoidal sum on it."""

from __future__ import annotations

from math import inf, isfinite, log

from flint import arb

from zcdp.numeric.certify import Undecided
from zcdp.numeric.once import cached_property
from zcdp.privacy.conversions.rdp_to_approx import tail_factor
from zcdp.privacy.profile.transform import Tilt, Transform

__all__ = ["Line", "log_size"]

TOLERANCE = 1e-17
ORDERS = (1.07, 1.15, 1.25, 1.4, 1.6, 1.9, 2.5, 3.5, 5.0)  # of Chernoff bounds, over c


class Line:
    """Re z = c, chosen for the delta near `epsilon`. Theorem: docs/theorems/contour.md."""

    def __init__(
        self,
        transform: Transform,
        c: arb,
        epsilon: arb,
        *,
        tolerance: float = TOLERANCE,
        log_delta: float | None = None,
    ) -> None:
        """What weighs less than `tolerance` of delta may be left out; `log_delta` where it is known beforehand."""
        self.transform, self.c, self.epsilon = transform, c, epsilon
        self.limit = log(tolerance)
        self.tilt = Tilt(transform, c)
        self.weight = self.tilt.value.exp()
        bend = self.tilt.variance + 1 / (c * c) + 1 / ((1 + c) * (1 + c))
        estimate = self.tilt.value - c * epsilon - (c * (1 + c)).log() - (2 * arb.pi() * bend).log() / 2
        self.log_delta = float(estimate.mid()) if log_delta is None else log_delta
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
        factors = [self._best_order()] if self.transform.quick else [1.25, 1.6, 2.5, 5]
        orders = [(self.c * factor).mid() for factor in factors]
        return [(s, self.transform.log_moment(s) + tail_factor(s)) for s in orders]

    def _best_order(self) -> float:
        """The order, as a multiple of c, that makes the period shortest: by estimates."""
        c, epsilon = float(self.c), float(self.epsilon.mid())

        def right(factor: float) -> float:
            s = c * factor
            size = self.transform.estimate(s)[0] + s * log(s) - (1 + s) * log(1 + s) - s * epsilon
            return (size - self.log_delta - self.limit) / (s - c)

        return min(ORDERS, key=right)

    @cached_property
    def period(self) -> float:
        """Long enough that both neighbours in the sum over j are negligible; only accuracy rests on it."""
        tiny, c = -self.limit, float(self.c)
        left = (tiny - self.log_delta + 2) / c
        right = max(float((self.transform.largest - self.epsilon).mid()), 0.0)
        for s, size in self.chernoff:
            bound = float((size - s * self.epsilon).mid())
            right = min(right, (bound - self.log_delta + tiny) / (float(s) - c))
        return max(left, right)

    def aliases(self, period: arb, epsilon: arb) -> arb:
        """An upper bound on sum over j != 0 of e^{cjP} delta(epsilon + jP)."""
        c = self.c
        q = (-c * period).exp()
        left = q / (1 - q)
        if epsilon + period >= self.transform.largest:
            return left
        best = None
        for s, size in self.chernoff:
            q = ((c - s) * period).exp()
            bound = (size - s * epsilon).exp() * q / (1 - q)
            best = bound if best is None else best.min(bound)
        assert best is not None
        return left + best


def log_size(value: arb) -> float:
    """The logarithm of a number, near enough for proposals; of one that is lost in its ball, that of the upper end."""
    size = value if value > 0 else value.upper()
    return float(size.log().mid()) if size > 0 else -inf if size.is_finite() else inf
