"""The envelope law of several pairs that may face either way: the pair whose profile is the largest of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import inf
from typing import Any

from flint import arb

from zcdp.numeric.balls import Undecided, at_precision, ceiling, floor
from zcdp.privacy.loss.finite import MOST_ATOMS, envelope_of_atoms, finite_law
from zcdp.privacy.loss.game import Game
from zcdp.privacy.loss.hull import Atom, Point, both_orders, hull, prefixes
from zcdp.privacy.loss.law import LossLaw
from zcdp.privacy.relation import Relation

__all__ = [
    "envelope_of_balls",
    "envelope_of_rows",
    "ordered_law",
    "replaced_law",
    "sampled_law",
]

MOST_POINTS = 4_000
BITS, GRID = 320, 200  # Balls have so many bits; points are rounded outward onto a grid of 2^-200.
SAME = Fraction(1, 2 ** (GRID - 20))  # Points so near to each other are one.


def ordered_law(p: Sequence[Fraction], q: Sequence[Fraction]) -> LossLaw:
    """The law of one pair of rows in this order: P is always the law with the person."""
    return finite_law(list(zip(p, q, strict=True)), symmetric=p == q, relation=Relation.ADD_REMOVE)


def envelope_of_rows(
    pairs: Sequence[tuple[Sequence[Fraction], Sequence[Fraction]]], *, coarser: LossLaw | None = None
) -> LossLaw | None:
    """The envelope law of pairs of rows, each in both orders; None where they are too many.

    Its atoms are the edges of the concave hull of all points (Q(S), P(S)): an edge (dx, dy) is a loss log(dy/dx) of
    P-mass dy and Q-mass dx. Exact for a single use. Theorem: docs/theorems/envelope.md.
    """
    if sum(len(p) + 1 for p, _ in pairs) > MOST_POINTS:
        return None
    edges = hull(both_orders([prefixes(p, q) for p, q in pairs]))
    if len(edges) > MOST_ATOMS:
        return None
    p, q = max(pairs, key=lambda pair: _second_moment(*pair))
    single = len({frozenset((tuple(one), tuple(other))) for one, other in pairs}) == 1
    if single and sorted(zip(p, q, strict=True)) == sorted(zip(q, p, strict=True)):
        return finite_law(edges)  # It is symmetric as it is: nothing is lost, however often it is used.
    game = Game(tuple(p), tuple(q)) if single and all((*p, *q)) else None
    witness = None if tuple(p) == tuple(q) else ordered_law(p, q)  # All uses in one order are attained.
    return finite_law(edges, exact=False, exact_alone=True, witness=witness, coarser=coarser, rows=game)


def envelope_of_balls(pairs: Sequence[Sequence[tuple[arb, arb]]], *, coarser: LossLaw | None = None) -> LossLaw | None:
    """The same of outcomes with irrational masses (p, q), the largest ratio first: rounded outward, by 2^-200.

    Each pair must be given in both orders, or be the mirror image of one that is.
    """
    if sum(map(len, pairs)) > MOST_POINTS:
        return None

    try:
        outward, inward = (at_precision(BITS, partial(_all_rounded, pairs, side)) for side in (-1, 1))
    except Undecided:  # losses beyond what so many bits hold
        return None
    above, below = (hull(_clustered(both_orders(rounded), side)) for rounded, side in ((outward, -1), (inward, 1)))
    if len(above) > MOST_ATOMS:
        return None
    # The points of one pair alone are all too low, and attained by all uses in one order.
    worst = max(range(len(pairs)), key=lambda n: sum(float((p * p / q).mid()) for p, q in pairs[n]))
    one = finite_law(hull(inward[worst]), symmetric=False, relation=Relation.ADD_REMOVE)
    alone = finite_law(below) if _is_symmetric(below) else None
    if not _is_symmetric(above):
        return None
    return finite_law(above, exact=False, witness=one, witness_alone=alone, coarser=coarser)


def sampled_law(law: LossLaw, rate: Fraction, *, cells: bool = False) -> LossLaw | None:
    """The law of the pair ((1-q) Q + q P, Q), with 0 < q < 1; None where it is not known.

    `cells`: of finitely many losses, a density being put into cells.

    Irrational masses are rounded outward, by 2^-200: all points (Q(S), P(S)). Theorem: docs/theorems/sampling.md.
    """
    if not cells and (found := _no_more(law.sampled(rate), law, rate)) is not None:
        return found if law.outcomes() is None else replace(found, coarser=sampled_law(law, rate, cells=True))
    if law.outcomes() is None:
        return _no_more(law.sampled(rate), law, rate)
    try:
        above, below = (at_precision(BITS, partial(_points, law, side)) for side in (-1, 1))
    except Undecided:  # losses beyond what so many bits hold
        return None
    if len(above) > MOST_ATOMS:
        return None
    witness = _sampled_points(below, rate) if law.exact else law.witness and sampled_law(law.witness, rate)
    return _sampled_points(above, rate, exact=False, witness=witness)


def replaced_law(law: LossLaw, rate: Fraction, *, cells: bool = False) -> LossLaw | None:
    """The envelope of ((1-q) Q + q P, Q) in both orders, of a symmetric law; None where it is not known.

    `cells`: of finitely many losses, a density being put into cells.

    Theorem: docs/theorems/fixed-size.md.
    """
    if not law.symmetric:
        return None
    found = None if cells and law.outcomes() is not None else _no_more(law.replaced(rate), law, rate)
    if found is not None or law.outcomes() is None:
        return found
    try:
        points = at_precision(BITS, partial(_points, law, -1))
    except Undecided:  # losses beyond what so many bits hold
        return None
    if len(points) > MOST_ATOMS:
        return None
    attained = law if law.exact else law.witness
    witness = attained and sampled_law(attained, rate)
    below = witness and (witness if witness.exact else witness.witness)
    return envelope_of_atoms([(rate * p + (1 - rate) * q, q) for p, q in hull(points)], witness=below)


def _no_more(found: LossLaw | None, law: LossLaw, rate: Fraction) -> LossLaw | None:
    """A sampled law claims no more than its base: where that only dominates, lower ends are of true neighbours."""
    if found is None or law.exact or not (found.exact or (found.exact_alone and not law.exact_alone)):
        return found
    single = (parts[0][0] for parts in law.neighbours if len(parts) == 1 and parts[0][1] == 1)
    attained = law.witness or next(single, None)
    witness = attained and sampled_law(attained, rate)
    below = witness and (witness if witness.exact else witness.witness)
    return replace(found, exact=False, exact_alone=False, witness=below)


def _points(law: LossLaw, side: int) -> list[Point]:
    return _rounded(law.outcomes(inward=side > 0) or (), side)


def _sampled_points(points: Sequence[Point], rate: Fraction, **options: Any) -> LossLaw:
    edges = [(rate * p + (1 - rate) * q, q) for p, q in hull(points)]
    return finite_law(edges, symmetric=False, relation=Relation.ADD_REMOVE, **options)


def _all_rounded(pairs: Sequence[Sequence[tuple[arb, arb]]], side: int) -> list[list[Point]]:
    return [_rounded(pair, side) for pair in pairs]


def _rounded(pair: Sequence[tuple[arb, arb]], side: int) -> list[Point]:
    """The points of one pair on the grid, up and to the left of where they are (-1), or down and to the right (1)."""
    found, x, y = [], arb(0), arb(0)
    for p, q in pair[:-1]:  # The last point is (1, 1).
        x, y = x + q, y + p
        ends = (floor(x * 2**GRID), ceiling(y * 2**GRID)) if side < 0 else (ceiling(x * 2**GRID), floor(y * 2**GRID))
        found.append((Fraction(max(ends[0], 0), 2**GRID), Fraction(min(ends[1], 2**GRID), 2**GRID)))
    return [(min(x, Fraction(1)), max(y, Fraction(0))) for x, y in found]


def _is_symmetric(edges: Sequence[Atom]) -> bool:
    return edges == [(q, p) for p, q in reversed(edges)]


def _second_moment(p: Sequence[Fraction], q: Sequence[Fraction]) -> float:
    try:
        return sum(float(a * a / b) if b else inf for a, b in zip(p, q, strict=True) if a)
    except OverflowError:
        return inf


def _clustered(points: Sequence[Point], side: int) -> list[Point]:
    """Points next to each other as one that is above and to the left of them (-1), or below and to the right (1)."""
    found: list[Point] = []
    for x, y in sorted(points):
        if found and x - found[-1][0] <= SAME and abs(y - found[-1][1]) <= SAME:
            a, b = found[-1]
            found[-1] = (a, max(b, y)) if side < 0 else (x, min(b, y))
        else:
            found.append((x, y))
    return found
