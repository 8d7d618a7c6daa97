"""Allocation: split one zCDP budget over queries so that their error is least in total, or equal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from inspect import signature
from math import exp, nextafter
from typing import TYPE_CHECKING, Any, Literal

from zcdp.display.calls import Spoken, spoken
from zcdp.display.suggest import unknown
from zcdp.display.things import thing
from zcdp.errors import BadType, BadValue
from zcdp.mechanisms import Mechanism
from zcdp.numeric.exact import Value, integer, log_of, positive_rational

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Query", "allocate"]

DECADES, PER_DECADE = 9, 48
LEAST, MOST = 1e-100, 1e100
"""Budgets and weights of which floats can make tables; these reach further, but not to the ends of the floats."""
SMALLEST, LARGEST = 1e-250, 1e250


class Query(metaclass=Spoken):
    """A query to be answered with noise: which mechanism, its fixed parameters, how often, and how much it matters.

    >>> from zcdp import Laplace
    >>> Query(Laplace, sensitivity=3, weight=2)
    Query(Laplace, weight=2, sensitivity=3)
    """

    def __init__(self, mechanism: type[Mechanism], *, weight: Value = 1, count: int = 1, **fixed: Value) -> None:
        if not isinstance(mechanism, type) or not issubclass(mechanism, Mechanism):
            raise BadType(f"mechanism ({thing(mechanism)}) must be the class of one that adds noise, as Laplace")
        self.mechanism, self.fixed = mechanism, dict(fixed)
        self.weight, self.count = positive_rational(weight, "weight"), integer(count, "count", 1)
        if not LEAST < self.weight < MOST:
            raise BadValue(f"weight ({weight}) must be between 1e-100 and 1e100")
        if getattr(mechanism, "variance", None) is None:
            raise BadType(f"{mechanism.__name__} has no variance: only mechanisms that add noise can be allocated")
        if mechanism.budget is None:
            raise BadType(f"{mechanism.__name__} has no budget parameter to set")
        self.budget: str = mechanism.budget
        for name in fixed:
            if name not in (known := [*signature(mechanism).parameters, "weight", "count"]):
                raise BadType(f"Query: {unknown('parameter', name, known)}")
        if self.budget in fixed:
            raise BadValue(f"{self.budget} ({fixed[self.budget]}) is what allocate finds: leave it out")

    def __repr__(self) -> str:
        shown: dict[str, object] = {"weight": self.weight, "count": self.count}
        shown = {name: value for name, value in shown.items() if value != 1} | self.fixed
        return f"Query({', '.join([self.mechanism.__name__, *(f'{k}={v}' for k, v in shown.items())])})"

    def at(self, budget: float) -> Mechanism:
        """The mechanism at this value of its budget parameter."""
        return self.mechanism(**{self.budget: budget, **self.fixed})


@spoken
def allocate(
    queries: Sequence[Query], *, rho: Value, objective: Literal["total", "worst"] = "total"
) -> tuple[Mechanism, ...]:
    """One mechanism for each query, of which the plan is certified to cost at most `rho`.

    "total" minimises the sum of weight * count * variance, "worst" the largest weight * variance. Both are separable
    and convex in the shares of rho, so one multiplier decides: it is found by bisection on tables of (rho, variance).
    The shares it proposes are scaled to add up to `rho` exactly, and each is then spent by a certified calibration,
    so that an error of the search costs accuracy, never privacy. Theorem: docs/theorems/allocation.md.

    >>> from zcdp import Laplace
    >>> for m in allocate([Query(Laplace), Query(Laplace, sensitivity=4)], rho="0.1"):
    ...     print(m)
    Laplace(epsilon=0.208...)
    Laplace(epsilon=0.4..., sensitivity=4)
    """
    if not isinstance(queries, Sequence) or not all(isinstance(query, Query) for query in queries):
        raise BadType(f"queries ({thing(queries)}) must be a list of Query(...)")
    if not queries:
        raise BadValue("there are no queries to allocate the budget to")
    if objective not in {"total", "worst"}:
        raise BadValue(f"objective ({objective!r}) must be 'total' or 'worst'")
    budget = positive_rational(rho, "rho")
    if not LEAST < budget < MOST:
        raise BadValue(f"rho ({rho}) must be between 1e-100 and 1e100 to be allocated")
    tables = [_Table(query, budget) for query in queries]
    share = _Table.at_slope if objective == "total" else _Table.at_variance
    low, high = min(t.range(share)[0] for t in tables), max(t.range(share)[1] for t in tables)
    while high - low > 1e-13 * max(1.0, abs(high)):  # the shares fall as the multiplier rises
        middle = (low + high) / 2
        spent = sum(share(table, middle) * table.query.count for table in tables)
        low, high = (middle, high) if spent > budget else (low, middle)
    proposed = [Fraction(share(table, low)) for table in tables]
    scale = budget / sum((part * q.count for part, q in zip(proposed, queries, strict=True)), Fraction(0))
    return tuple(
        query.mechanism.calibrate(rho=nextafter(float(part * scale), 0.0), **query.fixed)
        for query, part in zip(queries, proposed, strict=True)
    )


class _Table:
    """rho against variance of one query on a grid of its budget parameter: for proposals."""

    def __init__(self, query: Query, budget: Fraction) -> None:
        import numpy as np

        self.query = query
        most = query.mechanism.calibrate(rho=budget / query.count, **query.fixed)
        top = float(getattr(most, query.budget))
        grid: list[Any] = [query.at(top * 10 ** (-n / PER_DECADE)) for n in range(DECADES * PER_DECADE, -1, -1)]
        ends = [value for m in (grid[0], grid[-1]) for value in (m.rho, m.variance)]
        if not SMALLEST < min(ends) <= max(ends) < LARGEST:
            raise BadValue(f"{query.mechanism.__name__} has a variance too extreme to be allocated within this rho")
        rho, variance = np.array([m.rho for m in grid]), np.array([float(m.variance) for m in grid])
        self.log_rho = np.log(rho)
        self.log_variance = np.log(variance) + log_of(query.weight)
        slope = -np.diff(variance) / np.diff(rho)
        self.middle = (self.log_rho[1:] + self.log_rho[:-1]) / 2
        self.log_slope = np.log(slope) + log_of(query.weight)

    def range(self, share: Callable[[_Table, float], float]) -> tuple[float, float]:
        values = self.log_slope if share is _Table.at_slope else self.log_variance
        return float(values.min()), float(values.max())

    def at_slope(self, multiplier: float) -> float:
        """The rho at which one more unit of it saves e^multiplier of weighted variance."""
        return _look_up(multiplier, self.log_slope, self.middle)

    def at_variance(self, size: float) -> float:
        """The rho at which the weighted variance is e^size."""
        return _look_up(size, self.log_variance, self.log_rho)


def _look_up(x: float, falling: np.ndarray, values: np.ndarray) -> float:
    import numpy as np

    return exp(float(np.interp(x, falling[::-1], values[::-1])))
