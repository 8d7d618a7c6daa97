"""The integrand of a contour: the transform of a composition, and its size and decay along a vertical line."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite, log

from flint import acb, arb, arb_series

from zcdp.numeric.certify import Undecided
from zcdp.numeric.once import cached_property
from zcdp.privacy.conversions.rdp_to_approx import tail_factor
from zcdp.privacy.loss.law import Parts, Points
from zcdp.privacy.loss.share import Decay

__all__ = ["Line", "Tilt", "Transform", "log_size"]

SAMPLE = 100
TOLERANCE = 1e-17
ORDERS = (1.07, 1.15, 1.25, 1.4, 1.6, 1.9, 2.5, 3.5, 5.0)  # The orders of Chernoff bounds, as multiples of c.


class Transform:
    """M(z) = product of M_i(z)^{n_i}, at the working precision."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.factors = [(law.ready(), count) for law, count in parts]
        self.largest = sum([law.largest() * count for law, count in parts], arb(0))
        """The largest finite loss of the composition; +inf where it is unbounded."""
        self.weight = sum([factor.weight for factor, _ in self.factors])
        """What one transform costs, in transforms of a plain law."""
        self.quick = any(factor.quick for factor, _ in self.factors)
        """Whether some law's estimates are much cheaper than its balls."""
        self._log_count = log(sum([count for _, count in parts]))
        self._stride = len(parts) // SAMPLE | 1 if len(parts) > 2 * SAMPLE else 1

    def moment(self, z: acb) -> acb:
        """M(z)."""
        return self.moments(z.real, z.imag, [1])[0]

    def moments(self, c: arb, step: arb, kept: Sequence[int], needed: float = inf) -> list[acb]:
        """M at the points c + ik step, for the k that are kept; see `Points` for `needed`."""
        z = [acb(c, step * k) for k in kept]
        w = [point + arb(1) / 2 for point in z]
        points = Points(c, step, kept, z, w, [1 / point for point in w], needed + self._log_count)
        product = [acb(1)] * len(kept)
        for factor, count in self.factors:
            once = factor.moments(points)
            powers = once if count == 1 else [value**count for value in once]
            product = [whole * power for whole, power in zip(product, powers, strict=True)]
        if not all(value.is_finite() for value in product):
            raise Undecided
        return product

    def estimate(self, c: float) -> tuple[float, float, float]:
        """K(c), K'(c), K''(c), near enough, of very many parts only from a sample of them: for proposals."""
        some = self.factors[:: self._stride]
        scale = len(self.factors) / len(some)
        value = slope = bend = 0.0
        for factor, count in some:
            one = factor.estimate(c)
            value, slope, bend = value + count * one[0], slope + count * one[1], bend + count * one[2]
        return value * scale, slope * scale, bend * scale

    def log_moment(self, c: arb, *, sample: bool = False) -> arb:
        """K(c) = log M(c) on the real line; `sample`: of very many parts only from some of them, for proposals."""
        w = c + arb(1) / 2
        u, stride = 1 / w, self._stride if sample else 1
        some = self.factors[::stride] if stride > 1 else self.factors
        whole = sum((factor.once(c, w, u).log() * count for factor, count in some), arb(0))
        return whole * len(self.factors) / len(some) if stride > 1 else whole

    def revealed(self) -> arb:
        """P(L = +inf) of the composition: that some part gives the input away."""
        masses = [(mass, count) for law, count in self.parts if not (mass := law.infinite_mass()).is_zero()]
        if not masses:
            return arb(0)
        if any(mass == 1 for mass, _ in masses):
            return arb(1)
        return -sum(((-mass).log1p() * count for mass, count in masses), arb(0)).expm1()


class Tilt:
    """The line Re z = c: K(c), K'(c), K''(c), and a lower bound on log M(c) - log |M(c + iy)|.

    Theorem: docs/theorems/decay.md.
    """

    def __init__(self, transform: Transform, c: arb) -> None:
        self.value = self.slope = self.variance = arb(0)
        shares = []
        z = arb_series([c, 1], prec=3)
        w = z + arb(1) / 2
        u = 1 / w
        for factor, count in transform.factors:
            taylor = factor.along(z, w, u)
            self.value += taylor.value * count
            self.slope += taylor.slope * count
            self.variance += taylor.variance * count
            shares.append(factor.share(count, c, taylor))
        self.decay = Decay(shares, c)


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
