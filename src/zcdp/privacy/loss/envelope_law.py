"""The envelope of several pairs in both directions, and what a mechanism with these pairs claims of it.

The *envelope* of some pairs is the symmetric pair whose profile is, at each epsilon, the largest of their profiles and
of those of the reversed pairs. It is found as the concave hull of trade-off curves (tradeoff_hull.py). It dominates a
mechanism with several worst-case pairs, or with replace-one neighbours, whatever direction each use has.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from math import inf

from flint import arb

from zcdp.numeric.balls import Undecided, at_precision
from zcdp.privacy.loss.claim import Claim
from zcdp.privacy.loss.finite_law import MOST_ATOMS, finite_law
from zcdp.privacy.loss.law import Game, LossLaw
from zcdp.privacy.loss.tradeoff_hull import BALL_BITS, GRID_BITS, Atom, Point, both_directions, hull, prefixes, rounded

__all__ = ["directed_law", "envelope_of_balls", "envelope_of_rows"]

MOST_POINTS = 4_000  # outcomes of all pairs together from which an envelope is made
CLUSTER_DISTANCE = Fraction(1, 2 ** (GRID_BITS - 20))  # Points at most so far apart are merged, on the safe side.


def directed_law(p: Sequence[Fraction], q: Sequence[Fraction]) -> LossLaw:
    """The law of one pair of distributions in this direction: P is always the one with the person (add-remove)."""
    return finite_law(list(zip(p, q, strict=True)))


def envelope_of_rows(
    pairs: Sequence[tuple[Sequence[Fraction], Sequence[Fraction]]], *, coarser: Claim | None = None
) -> Claim | None:
    """The claim of a mechanism with these pairs, each in both directions: their envelope dominates it.

    The atoms of the envelope are the edges of the concave hull of all points (Q(S), P(S)): an edge (dx, dy) is a loss
    log(dy/dx) of P-mass dy and Q-mass dx. It is exact for a single use. None if there are too many outcomes.
    The upper law of `coarser` dominates too. Theorem: docs/theorems/envelope.md.
    """
    if sum(len(p) + 1 for p, _ in pairs) > MOST_POINTS:
        return None
    edges = hull(both_directions([prefixes(p, q) for p, q in pairs]))
    if len(edges) > MOST_ATOMS:
        return None
    p, q = max(pairs, key=lambda pair: _second_moment(*pair))
    single = len({frozenset((tuple(one), tuple(other))) for one, other in pairs}) == 1
    if single and sorted(zip(p, q, strict=True)) == sorted(zip(q, p, strict=True)):
        return Claim.exactly(finite_law(edges))  # The only pair is symmetric: exact for any number of uses.
    game = Game(tuple(p), tuple(q)) if single and all((*p, *q)) else None
    envelope = finite_law(edges, rows=game)
    one_way = None if tuple(p) == tuple(q) else directed_law(p, q)  # Neighbours attain all uses in one direction.
    easier = None if coarser is None else coarser.upper
    return Claim(envelope, lower=Claim.laws(one_way), lower_alone=Claim.laws(envelope), coarser=easier)


def envelope_of_balls(pairs: Sequence[Sequence[tuple[arb, arb]]], *, coarser: Claim | None = None) -> Claim | None:
    """The claim of a mechanism with these pairs of irrational masses (p, q), the largest ratio first.

    Points (Q(S), P(S)) are rounded outward to multiples of 2^-200 for the envelope, and inward for the lower laws.
    Reversed pairs are added, and need not be given. None if there are too many outcomes, or if losses are
    too large. The upper law of `coarser` dominates too.
    """
    if sum(map(len, pairs)) > MOST_POINTS:
        return None
    try:
        outward, inward = (at_precision(BALL_BITS, partial(_all_rounded, pairs, side)) for side in (-1, 1))
    except Undecided:  # BALL_BITS are too few for such large losses.
        return None
    above, below = (hull(_clustered(both_directions(points), side)) for points, side in ((outward, -1), (inward, 1)))
    if len(above) > MOST_ATOMS:
        return None
    # The inward points of one pair give a lower bound that neighbours attain with all uses in one direction.
    worst = max(range(len(pairs)), key=lambda n: sum(float((p * p / q).mid()) for p, q in pairs[n]))
    one_way = finite_law(hull(inward[worst]))
    alone = finite_law(below) if _is_symmetric(below) else None
    if not _is_symmetric(above):
        return None
    easier = None if coarser is None else coarser.upper
    return Claim(finite_law(above), lower=Claim.laws(one_way), lower_alone=Claim.laws(alone), coarser=easier)


def _all_rounded(pairs: Sequence[Sequence[tuple[arb, arb]]], side: int) -> list[list[Point]]:
    return [rounded(pair, side) for pair in pairs]


def _is_symmetric(edges: Sequence[Atom]) -> bool:
    return edges == [(q, p) for p, q in reversed(edges)]


def _second_moment(p: Sequence[Fraction], q: Sequence[Fraction]) -> float:
    """E_P[P/Q] in floats: a heuristic for which pair is the worst."""
    try:
        return sum(float(a * a / b) if b else inf for a, b in zip(p, q, strict=True) if a)
    except OverflowError:
        return inf


def _clustered(points: Sequence[Point], side: int) -> list[Point]:
    """Points close together, merged into one above and to the left of them (side -1), or the reverse (side 1)."""
    found: list[Point] = []
    for x, y in sorted(points):
        if found and x - found[-1][0] <= CLUSTER_DISTANCE and abs(y - found[-1][1]) <= CLUSTER_DISTANCE:
            a, b = found[-1]
            found[-1] = (a, max(b, y)) if side < 0 else (x, min(b, y))
        else:
            found.append((x, y))
    return found
