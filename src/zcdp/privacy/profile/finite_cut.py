"""How long the finite sum of a profile is, and which of its terms are proven negligible."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite
from typing import TypeAlias

from flint import arb

from zcdp.numeric.balls import above, below, lift
from zcdp.numeric.certify import NotCertified, Undecided
from zcdp.numeric.exact import gcd
from zcdp.numeric.functions import tail_factor
from zcdp.privacy.loss.expansion import Expansion
from zcdp.privacy.loss.law import Parts
from zcdp.privacy.loss.transform import Transform

__all__ = ["LARGEST_LATTICE", "MOST_LAWS", "Cut", "Expanded", "cut_degree", "expanded", "finite_size", "lattice_points"]

LARGEST_COUNT = 10_000_000
MOST_LAWS = 24
LARGEST_LATTICE = 20_000
NEGLIGIBLE = 36  # What weighs less than e^-36 of delta may be cut.

Expanded: TypeAlias = list[tuple[Expansion, int]]
"""A composition of which every law is a finite sum of exponentials."""


def expanded(parts: Parts) -> Expanded | None:
    """The expansions of all laws, at the working precision; None where one has none, or there are too many."""
    if len(parts) > MOST_LAWS or any(count > LARGEST_COUNT for _, count in parts):
        return None
    found = [(expansion, count) for law, count in parts if (expansion := law.expansion()) is not None]
    return found if len(found) == len(parts) else None


@dataclass(frozen=True)
class Cut:
    """Which terms of the finite sum to keep: exponents above `threshold`, powers of 1/w up to `degree`.

    What the powers above weigh at most is exp(log_rest - c epsilon). Theorem: docs/theorems/finite-sum.md.
    """

    threshold: Fraction
    degree: int
    c: arb
    log_rest: arb
    ceiling: float = inf
    """Exponents above it are left out too; they weigh at most exp(log_above - c epsilon)."""
    log_above: arb = arb("-inf")  # noqa: RUF009 - balls are immutable


def finite_size(parts: Expanded, threshold: Fraction = Fraction(0), ceiling: float = inf) -> float:
    """How many exponents between the two the sum has at most."""
    # In balls: beside the loss of one part floats would not see that of the others, which is all the room there is.
    whole = sum((expansion.top * count for expansion, count in parts), arb(0))
    room = min(above(whole - lift(threshold)), ceiling - below(lift(threshold)))
    free, atoms = 1.0, 1.0
    for expansion, count in parts:
        if expansion.rational_row is None:
            free *= expansion.points(count, room)
        else:
            atoms *= expansion.points(count, room)
    met = lattice_points(parts)
    return free * (min(atoms, float(met)) if met <= LARGEST_LATTICE else atoms)


def lattice_points(parts: Expanded) -> Fraction:
    """How many points the common lattice of all atoms at rational places has, from the least loss to the largest."""
    rows = [(row, count) for expansion, count in parts if (row := expansion.rational_row) is not None]
    if not rows:
        return Fraction(1)
    spacing, most = Fraction(0), Fraction(0)
    for (loss, gap), count in rows:
        spacing, most = gcd(spacing, gap), most + loss * count
    return 2 * most / spacing + 1


def cut_degree(
    transform: Transform, parts: Expanded, c: arb, epsilon: arb, log_delta: float, threshold: Fraction
) -> Cut:
    """Keep as many powers as carry weight: the number of draws from a density is nearly Poisson.

    Marking each density by v > 1 gives the Chernoff bound v^{-degree-1} times the marked transform at c.
    """
    w = c + arb(1) / 2
    shares: list[tuple[arb, arb, int]] = []
    most, mean = 0, 0.0
    for (factor, count), (expansion, _) in zip(transform.factors, parts, strict=True):
        whole = factor.once(c, w, 1 / w)
        atoms = sum((row[0] * (expansion.exponent(k) * w).exp() for k, row in enumerate(expansion.rows)), arb(0))
        width = expansion.width
        if width > 1:
            raise NotCertified("a density takes one power")
        shares.append((atoms, (whole - atoms) * width, count))
        most += width * count
        mean += float((width * (1 - atoms / whole)).mid()) * count
    if not isfinite(mean):  # A ball is too wide to tell.
        raise Undecided
    degree = int(mean)
    while True:
        degree = min(int(degree * 1.1) + 4, most)
        v = arb(max((degree + 1) / max(mean, 1e-9), 2.0))
        marked = sum(((atoms + v * rest).log() * count for atoms, rest, count in shares), arb(0))
        log_rest = marked - (degree + 1) * v.log() + tail_factor(c)
        if degree == most:
            log_rest = arb("-inf")
        if degree == most or log_rest - c * epsilon < log_delta - NEGLIGIBLE:
            ceiling, log_above = _ceiling(parts, w, epsilon, log_delta)
            return Cut(threshold, degree, c, log_rest, ceiling, log_above)


def _ceiling(parts: Expanded, w: arb, epsilon: arb, log_delta: float) -> tuple[float, arb]:
    """An exponent above which all terms together are negligible, and the bound; for a single law.

    f_j(t) <= e^{xt} x^{1-j}/(x^2 - 1/4), and e^{xa} <= e^{ya - (y-x)A} for a > A, y > x: sum absolute coefficients.
    """
    best = inf, arb("-inf")
    if len(parts) > 1:
        return best
    [(expansion, count)] = parts
    front = (w / (w * w - arb(1) / 4)).log()
    weights = [sum((abs(x) / w**j for j, x in enumerate(row)), arb(0)) for row in expansion.rows]
    for n in range(1, 13):
        y = w * (1 + arb(n) / 4)
        growth = sum((b * (expansion.exponent(k) * y).exp() for k, b in enumerate(weights)), arb(0))
        size = growth.log() * count + front
        ceiling = float(((size - (w - arb(1) / 2) * epsilon - log_delta + NEGLIGIBLE) / (y - w)).mid())
        if ceiling < best[0]:
            best = ceiling, size - (y - w) * arb(ceiling)
    return best
