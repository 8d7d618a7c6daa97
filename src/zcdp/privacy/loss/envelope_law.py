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
from zcdp.privacy.loss.finite_law import MOST_ATOMS, envelope_of_atoms, finite_law, mixed
from zcdp.privacy.loss.hull import Atom, Point, both_directions, hull, prefixes, within_ratios
from zcdp.privacy.loss.law import Game, LossLaw, Parts
from zcdp.privacy.relation import Relation

__all__ = [
    "directed_law",
    "envelope_of_balls",
    "envelope_of_rows",
    "replaced_law",
    "sampled_law",
]

MOST_POINTS = 4_000
BITS, GRID = 320, 200  # Balls have so many bits; points are rounded outward onto a grid of 2^-200.
SAME = Fraction(1, 2 ** (GRID - 20))  # Points so near to each other are one.


def directed_law(p: Sequence[Fraction], q: Sequence[Fraction]) -> LossLaw:
    """The law of one pair of rows in this order: P is always the law with the person."""
    return finite_law(list(zip(p, q, strict=True)), symmetric=p == q, relation=Relation.ADD_REMOVE, exact=True)


def envelope_of_rows(
    pairs: Sequence[tuple[Sequence[Fraction], Sequence[Fraction]]], *, coarser: LossLaw | None = None
) -> LossLaw | None:
    """The envelope law of pairs of rows, each in both orders; None where they are too many.

    Its atoms are the edges of the concave hull of all points (Q(S), P(S)): an edge (dx, dy) is a loss log(dy/dx) of
    P-mass dy and Q-mass dx. Exact for a single use. Theorem: docs/theorems/envelope.md.
    """
    if sum(len(p) + 1 for p, _ in pairs) > MOST_POINTS:
        return None
    edges = hull(both_directions([prefixes(p, q) for p, q in pairs]))
    if len(edges) > MOST_ATOMS:
        return None
    p, q = max(pairs, key=lambda pair: _second_moment(*pair))
    single = len({frozenset((tuple(one), tuple(other))) for one, other in pairs}) == 1
    if single and sorted(zip(p, q, strict=True)) == sorted(zip(q, p, strict=True)):
        return finite_law(edges, exact=True)  # It is symmetric as it is: nothing is lost, however often it is used.
    game = Game(tuple(p), tuple(q)) if single and all((*p, *q)) else None
    witness = None if tuple(p) == tuple(q) else directed_law(p, q)  # All uses in one order are attained.
    return finite_law(edges, exact_alone=True, witness=witness, coarser=coarser, rows=game)


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
    above, below = (hull(_clustered(both_directions(rounded), side)) for rounded, side in ((outward, -1), (inward, 1)))
    if len(above) > MOST_ATOMS:
        return None
    # The points of one pair alone are all too low, and attained by all uses in one order.
    worst = max(range(len(pairs)), key=lambda n: sum(float((p * p / q).mid()) for p, q in pairs[n]))
    one = finite_law(hull(inward[worst]), symmetric=False, relation=Relation.ADD_REMOVE, exact=True)
    alone = finite_law(below, exact=True) if _is_symmetric(below) else None
    if not _is_symmetric(above):
        return None
    return finite_law(above, witness=one, witness_alone=alone, coarser=coarser)


def sampled_law(law: LossLaw, rate: Fraction, *, cells: bool = False) -> LossLaw | None:
    """The law of the pair ((1-q) Q + q P, Q), with 0 < q < 1; None where it is not known.

    `cells`: of finitely many losses, a density being put into cells.

    Irrational masses are rounded outward, by 2^-200: all points (Q(S), P(S)). Theorem: docs/theorems/sampling.md.
    """
    own = law.sampled(rate) if law.few or not cells else None  # Rational masses need no cells.
    easier = _sampled_outcomes(law, rate) if own is None or not law.few else None
    found = own or easier
    if found is None:
        return None
    exact = own is not None and law.exact
    lower = None if exact else _lower_law(law, rate, inward=law.exact)
    if own is not None and easier is not None and exact:
        easier = _checked(replace(easier, witness=_sampled_outcomes(law, rate, inward=True)))
    claims: dict[str, Any] = {
        "exact": exact,
        "exact_alone": own is not None and law.exact_alone,
        "witness": lower,
        "neighbours": () if lower else _sampled_neighbours(law, rate),
        "coarser": (easier if own is not None else None) or (law.coarser and sampled_law(law.coarser, rate)),
    }
    return _checked(replace(found, **claims))


def replaced_law(law: LossLaw, rate: Fraction, *, cells: bool = False) -> LossLaw | None:
    """The envelope of ((1-q) Q + q P, Q) in both orders, of a symmetric law; None where it is not known.

    `cells`: of finitely many losses, a density being put into cells.

    Theorem: docs/theorems/fixed-size.md.
    """
    if not law.symmetric:
        return None
    in_cells = cells and not law.few and law.outcomes() is not None
    own = None if in_cells else law.replaced(rate)
    edges = _rational_outcomes(law, -1) if own is None else None
    found = envelope_of_atoms(mixed(edges, rate)) if edges is not None else own
    if found is None:
        return None
    lower = _lower_law(law, rate, inward=False)
    claims: dict[str, Any] = {
        "exact": False,
        "exact_alone": own is not None and (law.exact or law.exact_alone),
        "witness": lower,
        "neighbours": () if lower else _sampled_neighbours(law, rate),
        "coarser": law.coarser and replaced_law(law.coarser, rate),
    }
    return _checked(replace(found, **claims))


def _lower_law(law: LossLaw, rate: Fraction, *, inward: bool) -> LossLaw | None:
    """A law that some neighbours attain on a sample, however often: of the pair that they attain without one.

    What a law attains in a single use is not taken over: the other records may then be none of those that a sample
    leaves. `inward`: of a law that is attained the outcomes, rounded to the other side.
    """
    if inward:
        return _sampled_outcomes(law, rate, inward=True)
    attained = law if law.exact else law.witness
    found = attained and sampled_law(attained, rate)
    return found and (found if found.exact else found.witness)


def _sampled_neighbours(law: LossLaw, rate: Fraction) -> tuple[Parts, ...]:
    """Of true neighbours those that differ in one coordinate: a sample of several is no product of samples."""
    single = (parts[0][0] for parts in law.neighbours if len(parts) == 1 and parts[0][1] == 1)
    found = (_lower_law(one, rate, inward=False) for one in single)
    return tuple(((one, 1),) for one in found if one is not None)


def _checked(law: LossLaw) -> LossLaw:
    law.check()
    return law


def _rational_outcomes(law: LossLaw, side: int) -> list[Atom] | None:
    """Outcomes in rationals of a pair that dominates this one (-1) or that it dominates (1); None: unknown or many."""

    def edges() -> list[Atom] | None:
        outcomes = law.outcomes(inward=side > 0)
        if outcomes is None or len(outcomes) > MOST_ATOMS:
            return None
        found = hull(_rounded(list(outcomes), side))
        if side > 0:
            return found
        return within_ratios(found, *(_ratio_above(ratio) for ratio in outcomes.largest_ratios()))

    try:
        return at_precision(BITS, edges)
    except Undecided:  # losses beyond what so many bits hold
        return None


def _ratio_above(ratio: arb) -> Fraction | None:
    return max(Fraction(ceiling(ratio * 2**GRID), 2**GRID), Fraction(1)) if ratio.is_finite() else None


def _sampled_outcomes(law: LossLaw, rate: Fraction, *, inward: bool = False) -> LossLaw | None:
    """The sampled law of finitely many outcomes in rationals: of a pair that dominates, or `inward` is dominated."""
    edges = _rational_outcomes(law, 1 if inward else -1)
    if edges is None:
        return None
    return finite_law(mixed(edges, rate), symmetric=False, relation=Relation.ADD_REMOVE, exact=inward)


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
