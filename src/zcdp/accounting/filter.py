"""A privacy filter: admits what fits the rest of a budget, and refuses the rest; exact to the last digit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fractions import Fraction
from threading import Lock
from typing import Any, NamedTuple, NoReturn

from zcdp.accounting.meters import Meter, OrderMeter, RhoMeter, meters_at
from zcdp.display.calls import Spoken
from zcdp.display.things import thing
from zcdp.errors import BadType, BadValue, ZcdpError
from zcdp.numeric.exact import Value, positive_rational, probability, shown
from zcdp.numeric.forks import give_lock
from zcdp.privacy.curve import Curve
from zcdp.privacy.relation import Relation

__all__ = ["BudgetExceeded", "Filter", "Spend"]


class BudgetExceeded(ZcdpError):
    """The request would overspend; nothing was spent."""


class Spend(NamedTuple):
    """What was admitted: a mechanism or plan, or a rho; and what it was called."""

    what: Curve | Fraction
    label: str | None = None


class Filter(metaclass=Spoken):
    """Fully adaptive composition within a budget: each next mechanism may depend on all outputs so far.

    With `rho` the whole run is rho-zCDP if the sum of what is spent never exceeds rho: adaptivity costs nothing extra.
    With `epsilon` and `delta` it is (epsilon, delta)-DP: divergences of an order are added, which is fixed before
    anything is spent. `workload`, a mechanism or plan of the kind to come, chooses the order that admits most of it;
    `order` states one; `orders` several, among which delta is split, and a spend is admitted while some order has room
    for it; of these, such as leave nothing of epsilon are left out and have no share. Without any of these there are a
    dozen orders. No other order, and no profile of what happened to run, may be claimed afterwards. Of mechanisms for
    add_remove neighbours, which all face the same way, one sum is kept with the person against without, and one the
    other way round.

    Sums are rational numbers. Each cost is rounded up to a whole multiple of a unit below 1e-1000, of which decimals
    of up to 1000 places and the budget itself are multiples already: so a spend takes constant time, whatever was spent
    before. It is atomic between threads. A filter is one budget: it cannot be copied or pickled, and a forked process
    may not spend from it. Theorems: docs/theorems/filter.md, docs/theorems/renyi-filter.md.

    >>> f = Filter(rho=1)
    >>> for _ in range(10):
    ...     f.spend(rho="0.1")
    >>> f.remaining, f.would_fit(rho="1e-100")
    (Fraction(0, 1), False)
    >>> from zcdp import RandomizedResponse
    >>> answer = RandomizedResponse(epsilon=1, k=1000)
    >>> f = Filter(epsilon=10, delta="1e-6", workload=answer)
    >>> f.spend(answer, label="first wave"); f
    <Filter: 0.2% of (epsilon, delta) = (10, 1e-06) spent, at order 3.06...>
    """

    _lock: Lock

    def __init__(
        self,
        *,
        rho: Value | None = None,
        epsilon: Value | None = None,
        delta: Value | None = None,
        order: Value | None = None,
        orders: Sequence[Value] | None = None,
        workload: Curve | None = None,
    ) -> None:
        self.epsilon: Fraction | None = None
        self.delta: Fraction | None = None
        ways = {"order": order, "orders": orders, "workload": workload}
        given = [name for name, value in ways.items() if value is not None]
        if rho is not None:
            if epsilon is not None or delta is not None or given:
                other = given[0] if given else "epsilon and delta"
                raise BadValue(f"give rho ({rho}), or epsilon and delta, not both: rho has no use for {other}")
            self._meters: tuple[Meter, ...] = (RhoMeter(positive_rational(rho, "rho")),)
        elif epsilon is None or delta is None:
            raise BadType("give a budget: rho, or epsilon and delta")
        else:
            if len(given) > 1:
                raise BadValue(f"give {given[0]} or {given[1]}, not both")
            if workload is not None and not isinstance(workload, Curve):
                raise BadType(f"workload ({thing(workload)}) must be a mechanism or a plan")
            self.epsilon, self.delta = positive_rational(epsilon, "epsilon"), probability(delta, "delta")
            told = (order,) if order is not None else None if orders is None else tuple(orders)
            self._meters = meters_at(self.epsilon, self.delta, told, workload)
        self._history: list[Spend] = []
        self._relation = Relation.EITHER
        give_lock(self)
        self._process = os.getpid()

    def __repr__(self) -> str:
        meter = self._best
        if self.epsilon is None or self.delta is None:
            return f"<Filter: {shown(meter.spent, 6)} of rho = {shown(meter.budget, 6)} spent>"
        limit = f"(epsilon, delta) = ({shown(self.epsilon, 6)}, {shown(self.delta, 6)})"
        assert isinstance(meter, OrderMeter)
        share = min(float(meter.spent / meter.budget), 1.0)
        return f"<Filter: {share:.1%} of {limit} spent, at order {shown(meter.order, 6)}>"

    def __copy__(self) -> NoReturn:
        raise BadType("a filter is one budget, and a copy would be a second one: share the filter itself")

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        self.__copy__()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        self.__copy__()

    @property
    def _best(self) -> Meter:
        """The meter with the largest share left."""
        return max(self._meters, key=lambda meter: meter.remaining / meter.budget)

    @property
    def orders(self) -> tuple[Fraction, ...]:
        """The orders at which divergences are added; none for a budget in rho."""
        return tuple(meter.order for meter in self._meters if isinstance(meter, OrderMeter))

    @property
    def budget(self) -> Fraction:
        """What may be spent in total: rho, or divergence of the order that has the largest share left."""
        return self._best.budget

    @property
    def spent(self) -> Fraction:
        """What was spent so far, exactly, in the same unit."""
        return self._best.spent

    @property
    def remaining(self) -> Fraction:
        """What may still be spent, exactly, in the same unit."""
        return self._best.remaining

    @property
    def history(self) -> tuple[Spend, ...]:
        """What was admitted, in its order."""
        return tuple(self._history)

    def would_fit(self, mechanism: Curve | None = None, *, rho: Value | None = None) -> bool:
        """Whether the request would be admitted now."""
        what = _what(mechanism, rho)
        if not isinstance(what, Fraction):
            self._relation.joined(what.relation)
        return self._is_here() and any(meter.fits(meter.price(what)) for meter in self._meters)

    def spend(self, mechanism: Curve | None = None, *, rho: Value | None = None, label: str | None = None) -> None:
        """Charge a mechanism or plan, or a rho that is known otherwise; raises `BudgetExceeded` if it does not fit."""
        what = _what(mechanism, rho)
        if label is not None and not isinstance(label, str):
            raise BadType(f"label ({thing(label)}) must be text")
        if not self._is_here():
            raise BudgetExceeded("a forked process has no share in the budget of its parent: nothing was spent")
        prices = [meter.price(what) for meter in self._meters]
        with self._lock:
            relation = self._relation if isinstance(what, Fraction) else self._relation.joined(what.relation)
            if any(meter.fits(price) for meter, price in zip(self._meters, prices, strict=True)):
                self._relation = relation
                self._history.append(Spend(what, label))
                for meter, price in zip(self._meters, prices, strict=True):
                    meter.add(price)
                return
        meter = self._best
        cost, left = meter.over(meter.price(what))
        asked = meter.said("inf" if cost is None else shown(cost, 17))
        raise BudgetExceeded(f"{asked} exceeds what remains ({shown(left, 17)}): nothing was spent")

    def _is_here(self) -> bool:
        return os.getpid() == self._process


def _what(mechanism: Curve | None, rho: Value | None) -> Curve | Fraction:
    """What to charge."""
    if (mechanism is None) == (rho is None):
        raise BadType("give a mechanism, or rho")
    if mechanism is None:
        assert rho is not None
        return positive_rational(rho, "rho")
    if not isinstance(mechanism, Curve):
        raise BadType(f"{mechanism!r} is not a mechanism or a plan; a number is given as rho={mechanism!r}")
    return mechanism
