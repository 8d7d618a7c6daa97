"""The moment transform of a composition, and how fast it decays along a vertical line."""

from __future__ import annotations

from math import floor, inf, log, pi, sin
from typing import Any, TypeAlias

from flint import acb, arb, arb_series

from zcdp.numeric.balls import above, below, lift
from zcdp.numeric.certify import Undecided
from zcdp.privacy.pair import Pair

__all__ = ["Parts", "Tilt", "Transform"]

Parts: TypeAlias = tuple[tuple[Pair, int], ...]

# What floating point may lose in a few dozen operations, with a wide margin: decay is rounded down by it.
SLACK = 1e-12
SAMPLE = 100


class _Factor:
    """M(z)^count of one pair, its constants ready at the working precision."""

    def __init__(self, pair: Pair, count: int) -> None:
        self.pair, self.count = pair, count
        self.loss = None if pair.largest_loss is None else lift(pair.largest_loss)
        self.terms = pair.terms() if pair.terms else None
        self.curvature = pair.curvature() if pair.curvature else None
        self.ratio = lift(pair.ratio)
        self.rise, self.run = pair.ratio.numerator, pair.ratio.denominator
        self.unit = None if self.loss is None else -self.loss / self.run

    def once(self, z: Any, w: Any, u: Any) -> Any:
        """M(z), with w = z + 1/2 and u = 1/w, on real or complex balls or series."""
        if self.curvature is not None:
            return (self.curvature * (z * z + z) / 2).exp()
        assert self.terms is not None
        # one exponential: with ratio = p/q, all exponents are powers of b = e^{-loss w/q}
        base = (w * self.unit).exp()
        step: Any = base**self.rise
        total: Any = None
        for row in reversed(self.terms):
            inner: Any = row[-1]
            for coefficient in row[-2::-1]:
                inner = inner * u + coefficient
            total = inner if total is None else total * step + inner
        return total / base**self.run


class Transform:
    """M(z) = product of M_i(z)^{n_i}, at the working precision."""

    def __init__(self, parts: Parts) -> None:
        self.factors = [_Factor(pair, count) for pair, count in parts]
        losses = [factor.loss * factor.count for factor in self.factors if factor.loss is not None]
        self.largest_loss = sum(losses, arb(0)) if len(losses) == len(self.factors) else None

    def moment(self, z: acb) -> acb:
        """M(z)."""
        w = z + arb(1) / 2
        u = 1 / w
        product = acb(1)
        for factor in self.factors:
            once = factor.once(z, w, u)
            product *= once if factor.count == 1 else once**factor.count
        if not product.is_finite():
            raise Undecided
        return product

    def sample_log_moment(self, c: arb) -> arb:
        """K(c), of very many parts only from a sample of them: for proposals."""
        if len(self.factors) <= 2 * SAMPLE:
            return self.log_moment(c)
        w = c + arb(1) / 2
        u, stride = 1 / w, len(self.factors) // SAMPLE | 1
        some = self.factors[::stride]
        return (
            sum((factor.once(c, w, u).log() * factor.count for factor in some), arb(0)) * len(self.factors) / len(some)
        )

    def log_moment(self, c: arb) -> arb:
        """K(c) = log M(c) on the real line."""
        w = c + arb(1) / 2
        u = 1 / w
        return sum((factor.once(c, w, u).log() * factor.count for factor in self.factors), arb(0))


class Tilt:
    """The line Re z = c: K(c), K'(c), K''(c), and a lower bound on log M(c) - log |M(c + iy)|."""

    def __init__(self, transform: Transform, c: arb) -> None:
        self.value = self.slope = self.variance = arb(0)
        self.gauss = 0.0
        self.decays: list[_Decay] = []
        z = arb_series([c, 1], prec=3)
        w = z + arb(1) / 2
        u = 1 / w
        for factor in transform.factors:
            moment = factor.once(z, w, u)
            taylor = moment.log()
            self.value += taylor[0] * factor.count
            self.slope += taylor[1] * factor.count
            self.variance += 2 * taylor[2] * factor.count
            if factor.curvature is not None:
                self.gauss += below(factor.curvature * factor.count) * (1 - SLACK)
            else:
                self.decays.append(_Decay(factor, c, moment[0], 2 * taylor[2]))
        self.near = sum(d.variance * d.count for d in self.decays) * (1 - SLACK)
        self.near_end = min((d.near_end for d in self.decays), default=inf)

    def decay(self, low: float, high: float) -> float:
        """A lower bound on log( M(c)/|M(c + iy)| ) over low <= y <= high; high may be infinite."""
        gauss = self.gauss * low * low / 2
        if high <= self.near_end:
            return (gauss + 2 / pi**2 * self.near * low * low) * (1 - SLACK)
        return (gauss + sum(d.least(low, high) * d.count for d in self.decays)) * (1 - SLACK)


class _Decay:
    """One pair's share: the best of three bounds, each proven in docs/theorems/profile.md."""

    def __init__(self, factor: _Factor, c: arb, moment: arb, variance: arb) -> None:
        assert factor.loss is not None
        self.count, x = factor.count, c + arb(1) / 2
        self.variance = max(below(variance), 0.0)
        self.near_end = below(arb.pi() / (2 * factor.loss)) * (1 - SLACK)
        self.x = below(x)
        self.far: list[float] = []
        self.waves: list[tuple[float, float]] = []
        assert factor.terms is not None
        rows = factor.terms
        growth = [(factor.loss * (1 - k * factor.ratio) * x).exp() / moment for k in range(len(rows))]
        degree = max(len(row) for row in rows)
        self.far = [
            above(sum((abs(row[j]) * g for row, g in zip(rows, growth, strict=True) if j < len(row)), arb(0)))
            for j in range(degree)
        ]
        atoms = [row[0] * g for row, g in zip(rows, growth, strict=True)]
        for distance in {1, len(rows) - 1}:
            weight = 2 * sum((atoms[k] * atoms[k + distance] for k in range(len(rows) - distance)), arb(0))
            half = above(factor.loss * factor.ratio * distance / 2)
            if weight > 0:
                self.waves.append((below(weight), half))

    def least(self, low: float, high: float) -> float:
        near = 2 / pi**2 * self.variance * low * low if high <= self.near_end else 0.0
        waves = sum(weight * _least_square_sine(half * low, half * high) for weight, half in self.waves)
        distance = (self.x * self.x + low * low) ** 0.5 * (1 - SLACK)
        rest = 0.0
        for bound in reversed(self.far):
            rest = rest / distance + bound
        return max(near, waves, -log(rest * (1 + SLACK)))


def _least_square_sine(low: float, high: float) -> float:
    """A lower bound on sin^2 over [low, high]."""
    error = high * 1e-14
    if not high < 1e12 or floor((low - error) / pi) != floor((high + error) / pi):
        return 0.0
    return max(min(abs(sin(low)), abs(sin(high))) - error, 0.0) ** 2
