"""A privacy filter: admits what fits the rest of a zCDP budget, and refuses the rest; exact to the last digit."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from threading import Lock

from zcdp.numeric.exact import Value, positive_rational
from zcdp.numeric.forks import give_lock
from zcdp.privacy.curve import Curve

__all__ = ["BudgetExceeded", "Filter"]


class BudgetExceeded(Exception):
    """The request would overspend; nothing was spent."""


class Filter:
    """Fully adaptive composition within `rho`: each next mechanism may depend on all outputs so far.

    The whole run is rho-zCDP if the sum of what is spent never exceeds rho: adaptivity costs nothing extra.
    The sum is a rational number; a spend takes constant time and is atomic between threads.
    Theorem: docs/theorems/filter.md.

    >>> f = Filter(rho=1)
    >>> for _ in range(10):
    ...     f.spend(rho="0.1")
    >>> f.remaining, f.would_fit(rho="1e-100")
    (Fraction(0, 1), False)
    """

    _lock: Lock

    def __init__(self, *, rho: Value) -> None:
        self.budget: Fraction = positive_rational(rho, "rho")
        self._spent = Fraction(0)
        give_lock(self)

    def __repr__(self) -> str:
        return f"<Filter: {float(self.spent):.6g} of rho = {float(self.budget):.6g} spent>"

    @property
    def spent(self) -> Fraction:
        """What was spent so far, exactly."""
        return self._spent

    @property
    def remaining(self) -> Fraction:
        """What may still be spent, exactly."""
        return self.budget - self._spent

    def would_fit(self, mechanism: Curve | None = None, *, rho: Value | None = None) -> bool:
        """Whether the request would be admitted now."""
        return _cost(mechanism, rho) <= self.remaining

    def spend(self, mechanism: Curve | None = None, *, rho: Value | None = None) -> None:
        """Charge a mechanism or plan, or a rho that is known otherwise; raises `BudgetExceeded` if it does not fit."""
        cost = _cost(mechanism, rho)
        with self._lock:
            total = self._spent + cost
            if not isinstance(total, Fraction) or total > self.budget:
                raise BudgetExceeded(
                    f"rho ({float(cost):.17g}) exceeds what remains ({float(self.remaining):.17g}): nothing was spent"
                )
            self._spent = total


def _cost(mechanism: Curve | None, rho: Value | None) -> Fraction | float:
    if (mechanism is None) == (rho is None):
        raise TypeError("give a mechanism, or rho")
    if mechanism is None:
        assert rho is not None
        return positive_rational(rho, "rho")
    if not isinstance(mechanism, Curve):
        raise TypeError(f"{mechanism!r} is not a mechanism or a plan; a number is given as rho={mechanism!r}")
    return inf if mechanism.unbounded else mechanism.rho_fraction
