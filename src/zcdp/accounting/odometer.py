"""Privacy odometer (Rogers, Roth, Ullman and Vadhan 2016): what has been spent so far, without a limit."""

from __future__ import annotations

from fractions import Fraction
from math import inf, pi
from threading import Lock
from typing import Any, NoReturn

from zcdp.accounting.filter import GRID, left_of_delta, units
from zcdp.errors import BadType, BadValue
from zcdp.numeric.balls import enclose, lift
from zcdp.numeric.exact import Value, probability, shown
from zcdp.numeric.search import least_integer
from zcdp.numeric.threads import give_lock
from zcdp.privacy.curve import Curve, Plan
from zcdp.text.calls import spoken_class

__all__ = ["Odometer"]


@spoken_class
class Odometer:
    """Adds up what is spent, without a limit.

    `rho`, `epsilon_at` and `plan` are the cost of the mechanisms so far. They are a guarantee if the choice of
    mechanisms did not depend on outputs (the choice of queries may). If it did, `anytime_epsilon` is a bound that holds
    at all times at once. A spend may have a `delta`: what is stated of it holds but for an event of this probability,
    under which it may give everything away (approximate zCDP). An odometer cannot be copied or pickled: what is spent
    on a copy would be missing here. Theorems: docs/theorems/filter.md, docs/theorems/approximate-filter.md.

    >>> from zcdp import Laplace
    >>> o = Odometer()
    >>> for _ in range(1000):
    ...     o.spend(Laplace(epsilon=0.1))
    >>> o.plan, o.epsilon_at(delta=1e-6)
    (1000 * Laplace(epsilon=0.1), 18.95028...)
    """

    _lock: Lock

    def __init__(self) -> None:
        self._plan: Plan | None = None
        self._used = 0  # the sum of rho, each rounded up to a unit of 1/GRID: an integer that stays short
        self._mass = 0  # the sum of delta of the spends, in the same way
        give_lock(self)

    def __repr__(self) -> str:
        return f"<Odometer: rho = {shown(self._sum, 6)} spent>"

    def __copy__(self) -> NoReturn:
        raise BadType("what is spent on a copy of an odometer would be missing in it: share the odometer itself")

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        self.__copy__()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        self.__copy__()

    @property
    def _sum(self) -> Fraction:
        return Fraction(self._used, GRID)

    def spend(self, mechanism: Curve, *, delta: Value | None = None) -> None:
        """Add a mechanism or a plan, which holds but for an event of probability `delta`."""
        if not isinstance(mechanism, Curve):
            raise BadType(f"{mechanism!r} is not a mechanism or a plan")
        cost = units(mechanism.rho_fraction)
        mass = 0 if delta is None else units(probability(delta, "delta"))
        with self._lock:
            plan = Plan.sum_of(mechanism) if self._plan is None else self._plan + mechanism
            used = self._used + cost
            # together and last: an interrupt before this changes nothing
            self._plan, self._used, self._mass = plan, used, self._mass + mass

    @property
    def delta(self) -> Fraction:
        """The sum of the delta of the spends (approximate zCDP); 0 if none has one."""
        return Fraction(self._mass, GRID)

    @property
    def plan(self) -> Plan:
        """The plan of all mechanisms so far."""
        if self._plan is None:
            raise BadValue("nothing was spent yet")
        return self._plan

    @property
    def rho(self) -> float:
        """The tight rho of the plan so far, rounded up; 0 at the start."""
        return 0.0 if self._plan is None else self._plan.rho

    def epsilon_at(self, *, delta: Value) -> float:
        """epsilon at delta of the plan so far, by the best certified route; `delta` includes that of the spends."""
        if self._plan is None:
            return 0.0
        if not self._mass:
            return self._plan.epsilon_at(delta=delta)
        target = probability(delta, "delta")
        return inf if self.delta >= target else self._plan.epsilon_at(delta=left_of_delta(target, self.delta))

    def anytime_epsilon(self, *, delta: Value) -> float:
        """A bound on the privacy loss so far; with probability 1 - delta it holds at all times at once.

        The mechanisms may be chosen adaptively. With B the least power of two that is not below the sum of rho, and j
        its exponent (of either sign), the bound is B + 2 sqrt(B log(1/d)) with d = delta/(2.3 (1 + |j|)^2).
        """
        target = probability(delta, "delta")
        if self._mass:
            raise BadValue("some spends have a delta: no bound on their loss holds at all times at once")
        spent = self._sum
        if spent == 0:
            return 0.0
        rung = least_integer(lambda j: Fraction(2) ** j >= spent)
        assert 2 * pi**2 / 6 - 1 < Fraction(23, 10)  # the sum over all integers j of 1/(1 + |j|)^2
        share = target / (Fraction(23, 10) * (1 + abs(rung)) ** 2)
        budget = Fraction(2) ** rung
        return enclose(lambda: lift(budget) + 2 * (lift(budget) * -lift(share).log()).sqrt())[1]
