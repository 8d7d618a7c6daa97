"""The moment transform of a composition, and what it is like along a vertical line."""

from __future__ import annotations

from typing import Any, TypeAlias

from flint import acb, arb, arb_series

from zcdp.numeric.balls import above, below, lift
from zcdp.numeric.certify import Undecided
from zcdp.numeric.trusted import trusted
from zcdp.privacy.decay import Decay, Row, Share, root_below
from zcdp.privacy.pair import Pair

__all__ = ["Factor", "Parts", "Tilt", "Transform"]

Parts: TypeAlias = tuple[tuple[Pair, int], ...]

SAMPLE = 100
ROWS = 8  # rows of a pair that take as long as all the rest


class Factor:
    """M(z)^count of one pair, its constants ready at the working precision."""

    def __init__(self, pair: Pair, count: int) -> None:
        self.pair, self.count = pair, count
        self.loss = None if pair.largest_loss is None else lift(pair.largest_loss)
        self.terms = pair.terms() if pair.terms else None
        self.curvature = pair.curvature() if pair.curvature else None
        self.closed = pair.moment() if pair.moment else None
        self.ratio = lift(pair.ratio)
        self.rise, self.run = pair.ratio.numerator, pair.ratio.denominator
        self.unit = None if self.loss is None else -self.loss / self.run

    def once(self, z: Any, w: Any, u: Any) -> Any:
        """M(z), with w = z + 1/2 and u = 1/w, on real or complex balls or series."""
        if self.curvature is not None:
            return (self.curvature * (z * z + z) / 2).exp()
        if self.closed is not None:
            return self.closed(z)
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

    def split(self, w: acb) -> tuple[acb, acb]:
        """A and B with M = A + B/w: the atoms' part and the density's."""
        assert self.terms is not None
        assert self.unit is not None
        base = (w * self.unit).exp()
        step: acb = base**self.rise
        atoms = density = acb(0)
        for row in reversed(self.terms):
            atoms = atoms * step + row[0]
            density = density * step + (row[1] if len(row) > 1 else 0)
        whole = 1 / base**self.run
        return atoms * whole, density * whole


class Transform:
    """M(z) = product of M_i(z)^{n_i}, at the working precision."""

    def __init__(self, parts: Parts) -> None:
        self.factors = [Factor(pair, count) for pair, count in parts]
        losses = [factor.loss * factor.count for factor in self.factors if factor.loss is not None]
        self.largest_loss = sum(losses, arb(0)) if len(losses) == len(self.factors) else None
        self.weight = sum(2 if f.closed else 1 + len(f.terms or ()) / ROWS for f in self.factors)
        """What one transform costs, in transforms of a plain pair."""

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
    """The line Re z = c: K(c), K'(c), K''(c), and a lower bound on log M(c) - log |M(c + iy)|.

    Theorem: docs/theorems/profile.md, 5.
    """

    def __init__(self, transform: Transform, c: arb) -> None:
        self.value = self.slope = self.variance = arb(0)
        gauss = arb(0)
        shares: list[Share] = []
        z = arb_series([c, 1], prec=3)
        w = z + arb(1) / 2
        u = 1 / w
        for factor in transform.factors:
            try:
                moment = factor.once(z, w, u)
            except ValueError as error:  # of flint: a power of e^{-loss w} that is 0 as far as it can tell
                raise Undecided from error
            taylor = moment.log()
            self.value += taylor[0] * factor.count
            self.slope += taylor[1] * factor.count
            self.variance += 2 * taylor[2] * factor.count
            if factor.curvature is not None:
                gauss += factor.curvature * factor.count
            elif factor.pair.normal is not None:
                shares.append(factor.pair.normal.share(factor.count, c))
            else:
                shares.append(_share(factor, c + arb(1) / 2, moment[0], 2 * taylor[2]))
        self.decay = Decay(shares, gauss, c)


def _share(factor: Factor, x: arb, moment: arb, variance: arb) -> Share:
    assert factor.loss is not None
    assert factor.terms is not None
    rows = factor.terms
    assert max(map(len, rows)) <= 2
    fall = (-factor.loss * factor.ratio * x).exp()
    growth = [(factor.loss * x).exp() / moment]
    for _ in rows[1:]:
        growth.append(growth[-1] * fall)
    atoms = [row[0] * g for row, g in zip(rows, growth, strict=True)]
    density = sum((abs(row[1]) * g for row, g in zip(rows, growth, strict=True) if len(row) > 1), arb(0))
    waves = []
    for distance in sorted({1, len(rows) - 1}):
        weight = below(2 * sum((atoms[k] * atoms[k + distance] for k in range(len(rows) - distance)), arb(0)))
        if weight > 0:
            waves.append((weight, trusted(factor.loss * factor.ratio * distance / (2 * arb.pi()))))
    gap = factor.loss * factor.ratio
    row = None
    if factor.closed is not None:
        shrunk = (-gap * x).exp()
        row = Row(
            above(atoms[0] + atoms[-1]),
            (below(2 * atoms[0] * atoms[-1]), trusted(factor.loss / arb.pi())),
            above(atoms[1] * (1 + ((gap - 2 * factor.loss) * x).exp())),
            max(below((1 - shrunk) ** 2), 0.0),
            max(below(4 * shrunk), 0.0),
        )
    return Share(
        factor.count,
        root_below(variance),
        below(arb.pi() / (2 * factor.loss)),
        above(sum(atoms, arb(0))),
        above(density),
        tuple(waves),
        turns=trusted(gap / (2 * arb.pi())),
        row=row,
    )
