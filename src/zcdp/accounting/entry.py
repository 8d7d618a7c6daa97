"""One query of a plan, as all who account for it read it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, nextafter
from typing import Any

from zcdp.mechanisms import Mechanism
from zcdp.mechanisms.accuracy import Accuracy
from zcdp.privacy.plan import Plan
from zcdp.tables.query import Statistic

__all__ = ["Entry"]


@dataclass(frozen=True)
class Entry:
    """One query of a plan: `plan` is one use of it; None where a parameter is still `?`."""

    name: str
    text: str
    plan: Plan | None
    open: tuple[type[Mechanism], dict[str, Any]] | None
    count: int = 1
    note: str | None = None
    weight: float | str | Fraction = 1
    line: int = 0
    field: str = "mechanism"
    statistic: Statistic | None = None
    sd: float | str | None = None
    """The largest standard deviation that will do, where the file says so."""
    half_width: float | str | None = None
    """The largest error at `level` that will do."""
    level: float | str = "0.95"

    def in_values(self, noise: Accuracy) -> Accuracy:
        """The accuracy of noise in the unit of the answers: a table's sums are noised in steps of its grid."""
        step = Fraction(1) if self.statistic is None else self.statistic.grid
        sd, half = (_times(width, step) for width in (noise.standard_deviation, noise.half_width))
        return replace(noise, standard_deviation=sd, half_width=half)


def _times(width: float, step: Fraction) -> float:
    """The product, rounded up."""
    if width == inf:
        return inf
    exact = Fraction(width) * step
    try:
        return nextafter(float(exact), inf) if float(exact) < exact else float(exact)
    except OverflowError:  # beyond floats, as a whole number may be
        return inf
