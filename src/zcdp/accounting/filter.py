"""A privacy filter: admits what fits the rest of a zCDP budget, and refuses the rest; exact to the last digit."""

from __future__ import annotations

import os
from fractions import Fraction
from threading import Lock
from typing import Any, NoReturn

from zcdp.accounting.cost import GRID, units
from zcdp.display.calls import Spoken
from zcdp.errors import BadType, ZcdpError
from zcdp.numeric.exact import Value, positive_rational, shown
from zcdp.numeric.forks import give_lock
from zcdp.privacy.curve import Curve

__all__ = ["BudgetExceeded", "Filter"]


class BudgetExceeded(ZcdpError):
    """The request would overspend; nothing was spent."""


class Filter(metaclass=Spoken):
    """Fully adaptive composition within `rho`: each next mechanism may depend on all outputs so far.

    The whole run is rho-zCDP if the sum of what is spent never exceeds rho: adaptivity costs nothing extra.
    The sum is a rational number. Each cost is rounded up to a whole multiple of a unit below 1e-1000, of which decimals
    of up to 1000 places and `rho` itself are multiples already: so a spend takes constant time, whatever was spent
    before. It is atomic between threads. A filter is one budget: it cannot be copied or pickled, and a forked process
    may not spend from it. Theorem: docs/theorems/filter.md.

    >>> f = Filter(rho=1)
    >>> for _ in range(10):
    ...     f.spend(rho="0.1")
    >>> f.remaining, f.would_fit(rho="1e-100")
    (Fraction(0, 1), False)
    """

    _lock: Lock

    def __init__(self, *, rho: Value) -> None:
        self._budget = positive_rational(rho, "rho")
        self._per_one = GRID * self._budget.denominator
        self._limit = units(self._budget, self._per_one)
        self._used = 0
        give_lock(self)
        self._process = os.getpid()

    def __repr__(self) -> str:
        return f"<Filter: {shown(self.spent, 6)} of rho = {shown(self.budget, 6)} spent>"

    def __copy__(self) -> NoReturn:
        raise BadType("a filter is one budget, and a copy would be a second one: share the filter itself")

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        self.__copy__()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        self.__copy__()

    @property
    def budget(self) -> Fraction:
        """What may be spent in total."""
        return self._budget

    @property
    def spent(self) -> Fraction:
        """What was spent so far, exactly."""
        return Fraction(self._used, self._per_one)

    @property
    def remaining(self) -> Fraction:
        """What may still be spent, exactly."""
        return Fraction(self._limit - self._used, self._per_one)

    def would_fit(self, mechanism: Curve | None = None, *, rho: Value | None = None) -> bool:
        """Whether the request would be admitted now."""
        cost = _cost(mechanism, rho)
        return cost is not None and self._used + units(cost, self._per_one) <= self._limit and self._is_here()

    def spend(self, mechanism: Curve | None = None, *, rho: Value | None = None) -> None:
        """Charge a mechanism or plan, or a rho that is known otherwise; raises `BudgetExceeded` if it does not fit."""
        cost = _cost(mechanism, rho)
        if not self._is_here():
            raise BudgetExceeded("a forked process has no share in the budget of its parent: nothing was spent")
        charge = self._limit + 1 if cost is None else units(cost, self._per_one)
        with self._lock:
            total = self._used + charge
            if total <= self._limit:
                self._used = total
                return
        asked = "inf" if cost is None else shown(cost, 17)
        raise BudgetExceeded(f"rho ({asked}) exceeds what remains ({shown(self.remaining, 17)}): nothing was spent")

    def _is_here(self) -> bool:
        return os.getpid() == self._process


def _cost(mechanism: Curve | None, rho: Value | None) -> Fraction | None:
    """What to charge; None where it is infinite."""
    if (mechanism is None) == (rho is None):
        raise BadType("give a mechanism, or rho")
    if mechanism is None:
        assert rho is not None
        return positive_rational(rho, "rho")
    if not isinstance(mechanism, Curve):
        raise BadType(f"{mechanism!r} is not a mechanism or a plan; a number is given as rho={mechanism!r}")
    return None if mechanism.unbounded else mechanism.rho_fraction
