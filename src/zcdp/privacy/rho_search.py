"""rho of a composition whose parts peak at different orders: between the best order of a part and the sum of all."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from zcdp.errors import BadValue
from zcdp.numeric.balls import lift
from zcdp.numeric.certify import NotCertified, enclose
from zcdp.numeric.exact import rational

if TYPE_CHECKING:
    from zcdp.privacy.curve import Curve
    from zcdp.privacy.plan import Plan

__all__ = ["TOLERANCES", "cells", "searched_rho"]

TOLERANCES = 1e-10, 1e-4  # of the certified search over orders: the first that it can meet
WORK, LEAST_CELLS = 12_000, 500  # cells of that search, of one part each: seconds


def cells(parts: int) -> int:
    """How many cells the search may take, so that the work is the same for any number of parts."""
    return max(WORK // parts, LEAST_CELLS)


def searched_rho(plan: Plan, upper: float) -> tuple[float, float]:
    """Floats around rho, which is at most `upper`: by the search, where anything is left to find."""
    lower = min(max(_ratio_from_below(plan, part) for part, _ in plan.parts), upper)
    for tolerance in TOLERANCES:
        if upper == inf or upper - lower <= tolerance * lower:  # no search makes an infinite part finite
            break
        try:
            searched = plan.search_rho(tolerance)
        except NotCertified:  # it takes too long, as where counts are huge: any enclosure is as sound
            continue
        return max(lower, searched[0]), min(upper, searched[1])
    return lower, upper


def _ratio_from_below(plan: Plan, part: Curve) -> float:
    """D(alpha)/alpha where it is largest for a part: it bounds rho from below; 0 where it is not known."""
    try:
        s = rational(part.rho_order, "order") - 1
        return enclose(lambda: plan.cumulant(lift(s)) / (lift(s) * lift(1 + s)) if s else plan.kl())[0]
    except (NotCertified, BadValue):
        return 0.0
