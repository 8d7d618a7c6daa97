"""Laws made from other laws: the envelope of several pairs in both directions, and amplification by sampling.

The *envelope* of some pairs is the symmetric pair whose profile is, at each epsilon, the largest of their profiles and
of those of the reversed pairs. It is found as the concave hull of trade-off curves (hull.py). It dominates a mechanism
with several worst-case pairs, or with replace-one neighbours, whatever direction each use has. `sampled_law` and
`replaced_law` are the laws of Poisson samples and of samples of fixed size.
"""

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

MOST_POINTS = 4_000  # outcomes of all pairs together from which an envelope is made
BALL_BITS, GRID_BITS = 320, 200  # Masses are balls of 320 bits; points are rounded outward to multiples of 2^-200.
CLUSTER_DISTANCE = Fraction(1, 2 ** (GRID_BITS - 20))  # Points at most so far apart are merged, on the safe side.


def directed_law(p: Sequence[Fraction], q: Sequence[Fraction]) -> LossLaw:
    """The law of one pair of distributions in this direction: P is always the one with the person (add_remove)."""
    return finite_law(list(zip(p, q, strict=True)), symmetric=p == q, relation=Relation.ADD_REMOVE, exact=True)


def envelope_of_rows(
    pairs: Sequence[tuple[Sequence[Fraction], Sequence[Fraction]]], *, coarser: LossLaw | None = None
) -> LossLaw | None:
    """The envelope law of pairs of distributions, each in both directions; None if there are too many outcomes.

    Its atoms are the edges of the concave hull of all points (Q(S), P(S)): an edge (dx, dy) is a loss log(dy/dx) of
    P-mass dy and Q-mass dx. It is exact for a single use. Theorem: docs/theorems/envelope.md.
    """
    if sum(len(p) + 1 for p, _ in pairs) > MOST_POINTS:
        return None
    edges = hull(both_directions([prefixes(p, q) for p, q in pairs]))
    if len(edges) > MOST_ATOMS:
        return None
    p, q = max(pairs, key=lambda pair: _second_moment(*pair))
    single = len({frozenset((tuple(one), tuple(other))) for one, other in pairs}) == 1
    if single and sorted(zip(p, q, strict=True)) == sorted(zip(q, p, strict=True)):
        return finite_law(edges, exact=True)  # The only pair is symmetric: exact for any number of uses.
    game = Game(tuple(p), tuple(q)) if single and all((*p, *q)) else None
    witness = None if tuple(p) == tuple(q) else directed_law(p, q)  # Neighbours attain all uses in one direction.
    return finite_law(edges, exact_alone=True, witness=witness, coarser=coarser, rows=game)


def envelope_of_balls(pairs: Sequence[Sequence[tuple[arb, arb]]], *, coarser: LossLaw | None = None) -> LossLaw | None:
    """An upper bound on the envelope law of pairs with irrational masses (p, q), the largest ratio first.

    Points (Q(S), P(S)) are rounded outward to multiples of 2^-200, and inward for the witnesses. Reversed pairs are
    added, and need not be given. None if there are too many outcomes, or if losses are too large.
    """
    if sum(map(len, pairs)) > MOST_POINTS:
        return None

    try:
        outward, inward = (at_precision(BALL_BITS, partial(_all_rounded, pairs, side)) for side in (-1, 1))
    except Undecided:  # BALL_BITS are too few for such large losses.
        return None
    above, below = (hull(_clustered(both_directions(rounded), side)) for rounded, side in ((outward, -1), (inward, 1)))
    if len(above) > MOST_ATOMS:
        return None
    # The inward points of one pair give a lower bound that neighbours attain with all uses in one direction.
    worst = max(range(len(pairs)), key=lambda n: sum(float((p * p / q).mid()) for p, q in pairs[n]))
    one = finite_law(hull(inward[worst]), symmetric=False, relation=Relation.ADD_REMOVE, exact=True)
    alone = finite_law(below, exact=True) if _is_symmetric(below) else None
    if not _is_symmetric(above):
        return None
    return finite_law(above, witness=one, witness_alone=alone, coarser=coarser)


def sampled_law(law: LossLaw, rate: Fraction, *, cells: bool = False) -> LossLaw | None:
    """The law of ((1-q) Q + q P, Q), 0 < q < 1: amplification by Poisson sampling; None if it is not known.

    With `cells` the result has finitely many losses: a density is discretised, pessimistically. The points
    (Q(S), P(S)) of irrational masses are rounded outward to multiples of 2^-200. Theorem: docs/theorems/sampling.md.
    """
    own = law.sampled(rate) if law.few or not cells else None  # A law with finitely many outcomes needs no cells.
    easier = _sampled_outcomes(law, rate) if own is None or not law.few else None
    found = own or easier
    if found is None:
        return None
    exact = own is not None and law.exact
    lower = None if exact else _lower_law(law, rate, inward=law.exact)
    if own is not None and easier is not None and exact:
        easier = _checked(replace(easier, witness=_sampled_outcomes(law, rate, inward=True)))
    options: dict[str, Any] = {
        "exact": exact,
        "exact_alone": own is not None and law.exact_alone,
        "witness": lower,
        "neighbours": () if lower else _sampled_neighbours(law, rate),
        "coarser": (easier if own is not None else None) or (law.coarser and sampled_law(law.coarser, rate)),
    }
    return _checked(replace(found, **options))


def replaced_law(law: LossLaw, rate: Fraction, *, cells: bool = False) -> LossLaw | None:
    """The envelope of ((1-q) Q + q P, Q) in both directions: a sample of fixed size; None if it is not known.

    `law` must be symmetric. With `cells` the result has finitely many losses: a density is discretised pessimistically.
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
    options: dict[str, Any] = {
        "exact": False,
        "exact_alone": own is not None and (law.exact or law.exact_alone),
        "witness": lower,
        "neighbours": () if lower else _sampled_neighbours(law, rate),
        "coarser": law.coarser and replaced_law(law.coarser, rate),
    }
    return _checked(replace(found, **options))


def _lower_law(law: LossLaw, rate: Fraction, *, inward: bool) -> LossLaw | None:
    """A lower bound on the sampled law that neighbours attain in any number of uses: `law` or its witness, sampled.

    `witness_alone` is not used: its neighbours may need other records that a sample can leave out. With `inward`, `law`
    must be exact, and its outcomes are sampled after rounding inward.
    """
    if inward:
        return _sampled_outcomes(law, rate, inward=True)
    attained = law if law.exact else law.witness
    found = attained and sampled_law(attained, rate)
    return found and (found if found.exact else found.witness)


def _sampled_neighbours(law: LossLaw, rate: Fraction) -> tuple[Parts, ...]:
    """The sampled versions of those `neighbours` that consist of one law used once.

    Others are left out: sampling a product of laws does not give the product of the sampled laws.
    """
    single = (parts[0][0] for parts in law.neighbours if len(parts) == 1 and parts[0][1] == 1)
    found = (_lower_law(one, rate, inward=False) for one in single)
    return tuple(((one, 1),) for one in found if one is not None)


def _checked(law: LossLaw) -> LossLaw:
    law.check()
    return law


def _rational_outcomes(law: LossLaw, side: int) -> list[Atom] | None:
    """Rational (P-mass, Q-mass) of a pair that dominates the law (side -1) or that the law dominates (side 1).

    None if the outcomes are unknown or too many.
    """

    def edges() -> list[Atom] | None:
        outcomes = law.outcomes(inward=side > 0)
        if outcomes is None or len(outcomes) > MOST_ATOMS:
            return None
        found = hull(_rounded(list(outcomes), side))
        if side > 0:
            return found
        return within_ratios(found, *(_ratio_above(ratio) for ratio in outcomes.largest_ratios()))

    try:
        return at_precision(BALL_BITS, edges)
    except Undecided:  # BALL_BITS are too few for such large losses.
        return None


def _ratio_above(ratio: arb) -> Fraction | None:
    """A rational upper bound on a ratio, at least 1; None if the ratio is infinite."""
    return max(Fraction(ceiling(ratio * 2**GRID_BITS), 2**GRID_BITS), Fraction(1)) if ratio.is_finite() else None


def _sampled_outcomes(law: LossLaw, rate: Fraction, *, inward: bool = False) -> LossLaw | None:
    """The sampled law of finitely many rational outcomes: of a pair that dominates `law` or, `inward`, is dominated."""
    edges = _rational_outcomes(law, 1 if inward else -1)
    if edges is None:
        return None
    return finite_law(mixed(edges, rate), symmetric=False, relation=Relation.ADD_REMOVE, exact=inward)


def _all_rounded(pairs: Sequence[Sequence[tuple[arb, arb]]], side: int) -> list[list[Point]]:
    return [_rounded(pair, side) for pair in pairs]


def _rounded(pair: Sequence[tuple[arb, arb]], side: int) -> list[Point]:
    """The points (Q(S), P(S)) of a pair on the grid: rounded up and to the left (side -1), or the reverse (side 1)."""
    found, x, y = [], arb(0), arb(0)
    for p, q in pair[:-1]:  # The last point is (1, 1).
        x, y = x + q, y + p
        ends = (
            (floor(x * 2**GRID_BITS), ceiling(y * 2**GRID_BITS))
            if side < 0
            else (ceiling(x * 2**GRID_BITS), floor(y * 2**GRID_BITS))
        )
        found.append((Fraction(max(ends[0], 0), 2**GRID_BITS), Fraction(min(ends[1], 2**GRID_BITS), 2**GRID_BITS)))
    return [(min(x, Fraction(1)), max(y, Fraction(0))) for x, y in found]


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
