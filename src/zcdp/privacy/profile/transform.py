"""The moment transform of a composition, and what it is like along a vertical line."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log

from flint import acb, arb, arb_series

from zcdp.numeric.certify import Undecided
from zcdp.privacy.loss.law import Parts, Points
from zcdp.privacy.profile.decay import Decay

__all__ = ["Tilt", "Transform"]

SAMPLE = 100


class Transform:
    """M(z) = product of M_i(z)^{n_i}, at the working precision."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.factors = [(law.ready(), count) for law, count in parts]
        self.largest = sum((law.largest() * count for law, count in parts), arb(0))
        """The largest finite loss of the composition; +inf where it is unbounded."""
        self.weight = sum(factor.weight for factor, _ in self.factors)
        """What one transform costs, in transforms of a plain law."""
        self.quick = any(factor.quick for factor, _ in self.factors)
        """Whether some law's estimates are much cheaper than its balls."""
        self._log_count = log(sum(count for _, count in parts))

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

    def sample_log_moment(self, c: arb) -> arb:
        """K(c), of very many parts only from a sample of them: for proposals."""
        if len(self.factors) <= 2 * SAMPLE:
            return self.log_moment(c)
        w = c + arb(1) / 2
        u, stride = 1 / w, len(self.factors) // SAMPLE | 1
        some = self.factors[::stride]
        whole = sum((factor.once(c, w, u).log() * count for factor, count in some), arb(0))
        return whole * len(self.factors) / len(some)

    def estimate(self, c: float) -> tuple[float, float, float]:
        """K(c), K'(c), K''(c), near enough, of very many parts only from a sample of them: for proposals."""
        stride = len(self.factors) // SAMPLE | 1 if len(self.factors) > 2 * SAMPLE else 1
        some = self.factors[::stride]
        scale = len(self.factors) / len(some)
        value = slope = bend = 0.0
        for factor, count in some:
            one = factor.estimate(c)
            value, slope, bend = value + count * one[0], slope + count * one[1], bend + count * one[2]
        return value * scale, slope * scale, bend * scale

    def log_moment(self, c: arb) -> arb:
        """K(c) = log M(c) on the real line."""
        w = c + arb(1) / 2
        u = 1 / w
        return sum((factor.once(c, w, u).log() * count for factor, count in self.factors), arb(0))


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
