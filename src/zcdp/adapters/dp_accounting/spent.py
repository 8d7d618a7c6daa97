"""What events come to: a plan, and the probability that no coin told all."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from zcdp.errors import BadValue
from zcdp.mechanisms import Mechanism
from zcdp.privacy.plan import Plan

__all__ = ["ALL", "NOTHING", "Refused", "Spent", "one"]

GRAINS = 2**400


class Refused(BadValue):
    """An event, or a part of a plan, of which nothing is proven here: the reason, by name."""

    def __init__(self, what: object, reason: str) -> None:
        super().__init__(f"{type(what).__name__} is refused: {reason}")
        self.what, self.reason = what, reason


@dataclass(frozen=True)
class Spent:
    """A plan, None where nothing is spent, and how likely it is that all is well; 0 where nothing is private."""

    plan: Plan | None = None
    well: Fraction = Fraction(1)

    def __add__(self, other: Spent) -> Spent:
        plans = [plan for plan in (self.plan, other.plan) if plan is not None]
        return Spent(Plan.sum_of(*plans) if plans else None, _rounded(self.well * other.well))

    def times(self, count: int) -> Spent:
        """So many of it: the one place where a count is multiplied."""
        if not count:
            return NOTHING
        return Spent(None if self.plan is None else count * self.plan, _power(self.well, count))


NOTHING, ALL = Spent(), Spent(well=Fraction(0))


def one(part: Mechanism) -> Spent:
    """One use of a mechanism."""
    return Spent(Plan.sum_of(part))


def _rounded(well: Fraction) -> Fraction:
    """To whole grains, and down: that less is well costs more."""
    return Fraction(int(well * GRAINS), GRAINS)


def _power(well: Fraction, count: int) -> Fraction:
    """well^count, by squares, rounded down at each: a count may be huge."""
    result = Fraction(1)
    while count:
        if count % 2:
            result = _rounded(result * well)
        well, count = _rounded(well * well), count // 2
    return result
