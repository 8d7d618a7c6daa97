"""One engine of the profile, asked by name: what the tests of each share."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from zcdp import Plan
from zcdp.numeric.balls import above, at_precision, below, lift
from zcdp.privacy.loss.lattice import common_lattice
from zcdp.privacy.loss.law import Parts
from zcdp.privacy.loss.transform import Transform
from zcdp.privacy.profile.contour import Contour
from zcdp.privacy.profile.engine import MILLISECOND, Effort, Engine, Line, line_for_epsilon, saddle_estimate
from zcdp.privacy.profile.finite_sum import Cut, CutSum, WholeSum, cut_degree, expanded, whole_degree
from zcdp.privacy.profile.lattice_contour import LatticeContour
from zcdp.privacy.profile.smoothed import Smoothed

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


def parts_of(plan: Plan) -> Parts:
    return tuple((part.pair().upper, count) for part, count in plan.parts)


def ends(bounds: tuple[arb, arb]) -> tuple[float, float]:
    return below(bounds[0]), above(bounds[1])


def _ends_of(engine: Engine, epsilon: Fraction) -> tuple[float, float]:
    """Of what encloses delta; the upper one asked alone is the same."""
    found = ends(engine.delta(epsilon))
    assert above(engine.upper(epsilon)) == found[1]
    return found


def by(method: str, parts: Parts, epsilon: Fraction, *, tolerance: float = 1e-17) -> tuple[float, float]:
    def run() -> tuple[float, float]:
        transform = Transform(parts)
        c = line_for_epsilon(transform, epsilon)
        point = lift(epsilon)
        terms = expanded(parts)
        assert terms is not None
        if method == "whole sum":
            return _ends_of(WholeSum(parts, Cut(Fraction(0), whole_degree(terms), c, arb("-inf"))), epsilon)
        if method == "cut sum":
            cut = cut_degree(transform, terms, c, point, saddle_estimate(transform, c, point), epsilon)
            return _ends_of(CutSum(parts, cut), epsilon)
        if method == "smoothed":
            return _ends_of(Smoothed(parts, c, epsilon, Effort(80 * MILLISECOND), 120 * MILLISECOND), epsilon)
        line = Line(transform, c, point, tolerance=tolerance)
        if method == "contour":
            return _ends_of(Contour(line, Effort(1600 * MILLISECOND)), epsilon)
        lattice = common_lattice(parts)
        assert lattice is not None
        return _ends_of(LatticeContour(line, lattice, Effort(1600 * MILLISECOND)), epsilon)

    return at_precision(256, run)
