"""How long the finite sum of a profile is, and which of its terms are proven negligible."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf

from flint import arb

from zcdp.numeric.balls import lift
from zcdp.numeric.certify import NotCertified
from zcdp.numeric.exact import gcd
from zcdp.privacy.conversions.rdp_to_approx import tail_factor
from zcdp.privacy.profile.transform import Parts, Transform

__all__ = ["LARGEST_LATTICE", "Cut", "cut_degree", "finite_size", "lattice_points", "rational_atoms", "whole_degree"]

LARGEST_COUNT = 10_000_000
MOST_PARTS = 24
LARGEST_LATTICE = 20_000
LONG = 4  # terms of a pair, beyond which its powers cost more
NEGLIGIBLE = 36  # e^-36 of delta


@dataclass(frozen=True)
class Cut:
    """Which terms of the finite sum to keep: exponents above `threshold`, powers of 1/w up to `degree`.

    What the powers above weigh at most is exp(log_rest - c epsilon). Theorem: docs/theorems/profile.md.
    """

    threshold: Fraction
    degree: int
    c: arb
    log_rest: arb
    ceiling: float = inf
    """Exponents above it are left out too; they weigh at most exp(log_above - c epsilon)."""
    log_above: arb = arb("-inf")  # noqa: RUF009 - balls are immutable


def whole_degree(parts: Parts) -> int:
    """The largest power of 1/w there is."""
    return sum(count * (max(map(len, pair.terms())) - 1) for pair, count in parts if pair.terms is not None)


def finite_size(parts: Parts, threshold: float = 0.0, ceiling: float = inf) -> float:
    """How many exponents between the two the sum has at most; infinite where a pair has no such sum."""
    if len(parts) > MOST_PARTS:
        return inf
    if any(pair.terms is None or pair.largest_loss is None or count > LARGEST_COUNT for pair, count in parts):
        return inf
    losses = [float(lift(pair.largest_loss).mid()) for pair, _ in parts if pair.largest_loss is not None]
    room = min(sum(loss * count for loss, (_, count) in zip(losses, parts, strict=True)), ceiling) - threshold
    free, atoms = 1.0, 1.0
    for (pair, count), loss in zip(parts, losses, strict=True):
        assert pair.terms is not None
        points = min(count * (len(pair.terms()) - 1), max(room, 0.0) // (loss * float(pair.ratio))) + 1
        if count > 1:  # what each of them costs
            points *= max(min(len(pair.terms()), points) / LONG, 1)
        if pair.atomic and isinstance(pair.largest_loss, Fraction):
            atoms *= points
        else:
            free *= points
    met = lattice_points(rational_atoms(parts))
    return free * (min(atoms, float(met)) if met <= LARGEST_LATTICE else atoms)


def rational_atoms(parts: Parts) -> Parts:
    """The parts that are atoms at rational points: they meet on a common lattice."""
    return tuple((pair, n) for pair, n in parts if pair.atomic and isinstance(pair.largest_loss, Fraction))


def lattice_points(atoms: Parts) -> Fraction:
    """How many points the common lattice has from the least loss to the largest."""
    spacing, most = Fraction(0), Fraction(0)
    for pair, count in atoms:
        assert isinstance(pair.largest_loss, Fraction)
        spacing, most = gcd(spacing, pair.largest_loss * pair.ratio), most + pair.largest_loss * count
    return 2 * most / spacing + 1 if atoms else Fraction(1)


def cut_degree(transform: Transform, c: arb, epsilon: arb, log_delta: float, threshold: Fraction) -> Cut:
    """Keep as many powers as carry weight: the number of draws from a density is nearly Poisson.

    Marking each density by v > 1 gives the Chernoff bound v^{-degree-1} times the marked transform at c.
    """
    w = c + arb(1) / 2
    shares: list[tuple[arb, arb, int]] = []
    most, mean = 0, 0.0
    for factor in transform.factors:
        assert factor.loss is not None
        assert factor.terms is not None
        whole = factor.once(c, w, 1 / w)
        atoms = sum(
            (row[0] * (factor.loss * (1 - k * factor.ratio) * w).exp() for k, row in enumerate(factor.terms)), arb(0)
        )
        width = max(map(len, factor.terms)) - 1
        if width > 1:
            raise NotCertified("a density takes one power")
        shares.append((atoms, (whole - atoms) * width, factor.count))
        most += width * factor.count
        mean += float((width * (1 - atoms / whole)).mid()) * factor.count
    degree = int(mean)
    while True:
        degree = min(int(degree * 1.1) + 4, most)
        v = arb(max((degree + 1) / max(mean, 1e-9), 2.0))
        marked = sum(((atoms + v * rest).log() * count for atoms, rest, count in shares), arb(0))
        log_rest = marked - (degree + 1) * v.log() + tail_factor(c)
        if degree == most:
            log_rest = arb("-inf")
        if degree == most or log_rest - c * epsilon < log_delta - NEGLIGIBLE:
            ceiling, log_above = _ceiling(transform, w, epsilon, log_delta)
            return Cut(threshold, degree, c, log_rest, ceiling, log_above)


def _ceiling(transform: Transform, w: arb, epsilon: arb, log_delta: float) -> tuple[float, arb]:
    """An exponent above which all terms together are negligible, and the bound; for a single pair.

    f_j(t) <= e^{xt} x^{1-j}/(x^2 - 1/4), and e^{xa} <= e^{ya - (y-x)A} for a > A, y > x: sum absolute coefficients.
    """
    best = inf, arb("-inf")
    if len(transform.factors) > 1:
        return best
    [factor] = transform.factors
    assert factor.loss is not None
    assert factor.terms is not None
    front = (w / (w * w - arb(1) / 4)).log()
    weights = [sum((abs(x) / w**j for j, x in enumerate(row)), arb(0)) for row in factor.terms]
    for n in range(1, 13):
        y = w * (1 + arb(n) / 4)
        growth = sum((b * (factor.loss * (1 - k * factor.ratio) * y).exp() for k, b in enumerate(weights)), arb(0))
        size = growth.log() * factor.count + front
        ceiling = float(((size - (w - arb(1) / 2) * epsilon - log_delta + NEGLIGIBLE) / (y - w)).mid())
        if ceiling < best[0]:
            best = ceiling, size - (y - w) * arb(ceiling)
    return best
