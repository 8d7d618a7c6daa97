"""Allocation: split one budget over queries so that the largest relative error, or the total, is least.

A `Query` says what is asked and how well it must be answered. One multiplier decides the noise of all queries:
`Spending` finds the multiplier that fills the budget, `allocate` says which noise each query gets for a multiplier.
Proposals are heuristic; the plan that is returned is certified to fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from inspect import signature
from math import exp, inf, log
from typing import Any, Final, Literal

from zcdp.accounting.risk_targets import RiskTarget
from zcdp.errors import BadType, BadValue
from zcdp.mechanisms import Mechanism
from zcdp.mechanisms.noise.additive import AddedNoise
from zcdp.numeric.balls import NotCertified
from zcdp.numeric.exact import Value, integer, log_of, positive_rational, probability, rational, shown
from zcdp.numeric.parameter_domains import unlimited
from zcdp.numeric.search import bisection, gallop, secant
from zcdp.privacy.convert import zcdp_to_epsilon
from zcdp.privacy.curve import Curve, Plan
from zcdp.text.calls import spoken, spoken_class
from zcdp.text.suggestions import thing, unknown

__all__ = ["Query", "Spending", "TargetsDoNotFit", "allocate"]


DIGITS = 10  # of the parameters found
STAYS = "give all its parameters, and it stays as it is"
NOISE: Final = ("scale", "sigma", "rho")
"""Parameters other than the budget that set the amount of noise."""


@spoken_class
class Query:
    """A query to be answered with noise: its mechanism, fixed parameters, number of uses, and wanted accuracy.

    `sd` is the largest acceptable standard deviation, `half_width` the largest acceptable error at `level`, both in the
    unit of the answers. Without a target the error is measured in units of the sensitivity. The larger the weight, the
    smaller the error. `free` names the parameter to find, if it is not the mechanism's budget: scale, sigma or rho.

    >>> from zcdp import Laplace
    >>> Query(Laplace, sensitivity=3, weight=2)
    Query(Laplace, weight=2, sensitivity=3)
    >>> Query(Laplace, free="scale", half_width=100)
    Query(Laplace, half_width=100, free='scale')
    """

    def __init__(
        self,
        mechanism: type[Mechanism],
        *,
        weight: Value = 1,
        count: int = 1,
        sd: Value | None = None,
        half_width: Value | None = None,
        level: Value = Fraction(19, 20),
        free: str | None = None,
        **fixed: Any,
    ) -> None:
        if not (isinstance(mechanism, type) and issubclass(mechanism, Mechanism)):
            raise BadType(f"mechanism ({thing(mechanism)}) must be the class of one that adds noise, as Laplace")
        self.mechanism, self.fixed = mechanism, dict(fixed)
        self.weight, self.count = positive_rational(weight, "weight"), integer(count, "count", 1)
        self.free = _free(mechanism) if free is None else _checked(mechanism, free)
        known = [*signature(mechanism).parameters, "weight", "count", "sd", "half_width", "level", "free"]
        for name in fixed:
            if name not in known:
                raise BadType(f"Query: {unknown('parameter', name, known)}")
        for name in (_free(mechanism), *NOISE):
            if name in fixed:
                raise BadValue(f"{name} ({fixed[name]}) is what allocate finds: leave it out")
        if sd is not None and half_width is not None:
            raise BadValue(f"give sd ({sd}) or half_width ({half_width}), not both")
        self.sd = None if sd is None else positive_rational(sd, "sd")
        self.half_width = None if half_width is None else positive_rational(half_width, "half_width")
        self.level = probability(level, "level")
        name = mechanism.__name__
        if self.at(1.0).relative_error is None:
            raise BadType(f"{name} has no noise that allocate could weigh: {STAYS}")
        if self.has_target and not issubclass(mechanism, AddedNoise):
            raise BadType(f"{name} selects, and its answer has no standard deviation: give a weight, not a target")

    def __repr__(self) -> str:
        shown_: dict[str, object] = {"weight": self.weight, "count": self.count}
        shown_ = {name: value for name, value in shown_.items() if value != 1}
        targets: dict[str, object] = {"sd": self.sd, "half_width": self.half_width}
        shown_ |= {name: value for name, value in targets.items() if value is not None}
        if self.half_width is not None and self.level != Fraction(19, 20):
            shown_["level"] = self.level
        if self.free != _free(self.mechanism):
            shown_["free"] = repr(self.free)
        shown_ |= {name: value if not isinstance(value, str) else repr(value) for name, value in self.fixed.items()}
        return f"Query({', '.join([self.mechanism.__name__, *(f'{k}={v}' for k, v in shown_.items())])})"

    @property
    def has_target(self) -> bool:
        """Whether the accuracy of the answers is prescribed, by `sd` or `half_width`."""
        return self.sd is not None or self.half_width is not None

    def times(self, factor: float) -> Query:
        """A copy of the query with its target multiplied by `factor`."""
        targets = {"sd": self.sd, "half_width": self.half_width}
        larger = {name: value * Fraction(factor) for name, value in targets.items() if value is not None}
        return Query(
            self.mechanism,
            weight=self.weight,
            count=self.count,
            level=self.level,
            free=self.free,
            **larger,
            **self.fixed,
        )

    @property
    def wish(self) -> str:
        """The target, in words."""
        if self.half_width is not None:
            return f"half_width {shown(self.half_width, 6)}"
        return "" if self.sd is None else f"sd {shown(self.sd, 6)}"

    def at(self, value: float) -> Mechanism:
        """The mechanism with this value of its free parameter, which may lie beyond its domain: a step of a search."""
        return unlimited(self.found)(value)

    def found(self, value: float) -> Mechanism:
        """The mechanism with this value of its free parameter; `BadValue` beyond the domains of its parameters."""
        return self.mechanism(**{self.free: value, **self.fixed})

    def with_error(self, error: float, guess: float = 1.0) -> float:
        """The value of the free parameter at which the relative error is `error`, to eleven digits (heuristic)."""
        target = log(error)

        def miss(value: float) -> float:
            found = self.at(value).relative_error
            assert found is not None
            return log(found) - target if 0 < found < inf else (inf if found else -inf)

        return secant(miss, guess=guess, slope=1.0 if self.noise_rises else -1.0, tolerance=1e-11)

    @property
    def noise_rises(self) -> bool:
        """Whether noise rises with the free parameter, as for a scale; it falls with an epsilon."""
        return self.free in ("scale", "sigma")

    def rounded(self, value: float, *, quieter: bool = False) -> float:
        """The parameter rounded to ten digits, for readability; with `quieter` never towards more noise."""
        near = float(f"{value:.{DIGITS}g}")
        if not quieter or (near <= value) == self.noise_rises or near == value:
            return near
        step = 10.0 ** (1 - DIGITS)
        return float(f"{value * (1 - step if self.noise_rises else 1 + step):.{DIGITS}g}")

    def at_target(self) -> float:
        """The parameter of most noise at which the accuracy is certified to meet the target."""
        assert self.has_target

        def meets(value: float) -> bool:
            found = self.at(value)
            assert isinstance(found, AddedNoise)
            reached = found.accuracy(self.level)
            if self.sd is not None:
                return reached.standard_deviation <= self.sd
            return reached.half_width <= (self.half_width or 0)

        best = _noisiest(meets, self.noise_rises)
        if best is None:
            raise BadValue(f"no noise of {self.mechanism.__name__} has a {self.wish}: state a larger one")
        found = self.rounded(best, quieter=True)
        return found if meets(found) else best


def _noisiest(meets: Callable[[float], bool], rising: bool) -> float | None:
    """The parameter of most noise that meets the target, to twelve digits, in logarithms; None beyond 1e±250.

    It is the largest one if noise rises with the parameter, else the smallest.
    """
    around = gallop(meets, 1.0, 2.0 if rising else 0.5, faster=True, least=1e-250, most=1e250)
    if around is None:
        return None
    return exp(bisection(lambda x: meets(exp(x)), *map(log, around), absolute=1e-12)[1])


def _free(mechanism: type[Mechanism]) -> str:
    """The default free parameter of a mechanism: its budget, or sigma."""
    if mechanism.budget is not None:
        return mechanism.budget
    if "sigma" in signature(mechanism).parameters:
        return "sigma"
    raise BadType(f"{mechanism.__name__} has no one parameter to find: {STAYS}")


def _checked(mechanism: type[Mechanism], free: str) -> str:
    """The name of the free parameter, if the mechanism has such a noise parameter."""
    known = (_free(mechanism), *(name for name in NOISE if name in signature(mechanism).parameters))
    if free not in known:
        names = " or ".join(dict.fromkeys(known))
        raise BadValue(f"free ({free!r}) must be {names}, of {mechanism.__name__}")
    return free


# The budget, and its split.


SLACK_IN_EPSILON = Fraction(1, 2_000_000)
"""A plan may stay this far below a budget in epsilon, relative to it, or absolute for a budget above 1."""
SLACK_IN_RHO = Fraction(1, 10**8)
"""The same slack for a budget in rho, which is cheaper to compute."""
MOST_TURNS = 120
FARTHEST, STRIDE = 500.0, 4.0  # of the multiplier, a logarithm: the range of the search, and its longest secant step


@dataclass(frozen=True)
class Spending:
    """A budget: a limit on rho (`delta` is None), on epsilon at delta, or on an attacker's gain.

    It also pays for the curve `beside`.
    """

    limit: Fraction
    delta: Fraction | None
    beside: Curve | None = None
    risk: RiskTarget | None = None

    @classmethod
    def within(
        cls,
        rho: Value | None,
        epsilon: Value | None,
        delta: Value | None,
        risk: RiskTarget | None,
        beside: Curve | None,
    ) -> Spending:
        """The budget as a user gives it, checked; refused if `beside` alone uses it up."""
        if risk is not None:
            if any(one is not None for one in (rho, epsilon, delta)):
                raise BadValue("give one budget: rho, or epsilon and delta, or advantage, or tpr and fpr")
            number, chance = risk.gain, None
        elif rho is not None:
            if epsilon is not None or delta is not None:
                raise BadValue(f"give rho ({rho}), or epsilon and delta, not both")
            number, chance = positive_rational(rho, "rho"), None
        elif epsilon is None or delta is None:
            raise BadType("give a budget: rho, or epsilon and delta, or advantage, or tpr and fpr")
        else:
            number = positive_rational(epsilon, "epsilon")
            chance = Fraction(0) if rational(delta, "delta") == 0 else probability(delta, "delta")
        found = cls(number, chance, beside, risk)
        if beside is not None and (held := found.cost(None)) >= number:
            raise BadValue(
                f"what stays as it is costs {found.said(held)} already: nothing of {found.said(number)} is left"
            )
        return found

    def said(self, number: Fraction) -> str:
        """An amount of the budget's currency in words: "rho = 1", or "epsilon = 1 at delta = 1e-6"."""
        if self.risk is not None:
            return self.risk.said(number)
        if self.delta is None:
            return f"rho = {shown(number, 6)}"
        return f"epsilon = {shown(number, 6)} at delta = {shown(self.delta, 6)}"

    def cost(self, plan: Plan | None) -> Fraction:
        """The certified cost of the plan together with `beside`, in the budget's currency, rounded up."""
        whole = self._with(plan)
        if self.risk is not None:
            return self.risk.cost(whole)
        if self.delta is None:
            return sum((part.rho_fraction * count for part, count in whole.parts), Fraction(0))
        spent = whole.epsilon_at(delta=self.delta) if self.delta else whole.pure_epsilon
        return rational(spent, "epsilon") if spent < inf else Fraction(10) ** 400

    def _with(self, plan: Plan | None) -> Plan:
        return Plan.sum_of(*(curve for curve in (plan, self.beside) if curve is not None))

    def _rough(self, plan: Plan) -> float:
        """The cost of the plan from its rho alone, in floats, in the budget's currency: heuristic, to start from."""
        spent = float(sum((part.rho_fraction * count for part, count in self._with(plan).parts), Fraction(0)))
        if self.risk is not None:
            return self.risk.rough(spent)
        if not self.delta:
            return spent
        return zcdp_to_epsilon(spent, self.delta) if 0 < spent < inf else spent

    def fit(self, build: Callable[[float], Plan], start: float = 0.0) -> float:
        """The least x, nearly, at which the plan build(x) is certified to fit the budget; its cost must fall with x.

        The last plan built for the returned x is the one that was certified: after the first guess from rho no x is
        tried twice.
        """
        limit = log_of(self.limit)
        if self.risk is not None or (
            self.delta is not None and self.delta > 0
        ):  # rho is quick to compute, and near enough to start from
            with suppress(ValueError):  # judged by rho alone, no plan may fit
                start = _multiplier(lambda x: log(max(self._rough(build(x)), 1e-300)) - limit, start, 0.05, -0.05)
        near = SLACK_IN_RHO if self.delta is None and self.risk is None else SLACK_IN_EPSILON
        slack = -float(near / max(self.limit, Fraction(1)))

        def excess(x: float) -> float:
            try:
                spent = self.cost(build(x))
            except NotCertified:
                return inf
            if spent > self.limit:
                return max(log_of(spent) - limit, 5e-324)
            return min(log_of(spent) - limit if spent else -inf, 0.0)

        return _multiplier(excess, start, 0.0, slack)


def _multiplier(excess: Callable[[float], float], start: float, above: float, below: float) -> float:
    """An x with below <= excess(x) <= above, for a falling function: secant steps, and bisection when they stall.

    If none is found, as where the cost jumps, the least x tried with excess(x) <= above.
    """
    aim, x, slope = (above + below) / 2, start, -1.0
    last: tuple[float, float] | None = None
    stride = STRIDE
    low, high = -FARTHEST, FARTHEST  # excess(low) > above, and excess(high) is not
    for turn in range(MOST_TURNS):
        value = excess(x)
        if below <= value <= above:
            return x
        low, high = (x, high) if value > above else (low, x)
        if high - low <= 1e-13 * max(1.0, abs(low)):
            break
        known = abs(value) < inf
        if last is not None and known and x != last[0]:
            found = (value - last[1]) / (x - last[0])
            slope = found if -10 < found < -0.02 else -1.0
            stride = STRIDE if slope == found else 2 * stride  # on a plateau the steps grow
        last = (x, value) if known else None
        move = (aim - value) / slope if known and stride <= STRIDE else (stride if value > above else -stride)
        x += min(max(move, -stride), stride)
        enclosed = low > -FARTHEST and high < FARTHEST
        if not low < x < high and not enclosed:
            break
        if not low < x < high or (turn % 5 == 4 and enclosed):
            x = (low + high) / 2
    if high == FARTHEST:
        raise BadValue("the budget is so small that no noise fits it")
    if low == -FARTHEST:
        raise BadValue("the budget is so large that any noise fits it")
    return high


# `allocate` itself: for a multiplier, the parameter of each query; targets are upper limits on their errors.

STEP = 1e-4
"""Relative step of a parameter in the difference quotients of `_Asked.at_slope`."""


class TargetsDoNotFit(BadValue):
    """The stated targets cost more than the budget: they need `needed`, and `factor` times as large they would fit."""

    def __init__(self, message: str, factor: float, needed: float) -> None:
        super().__init__(message)
        self.factor, self.needed = factor, needed


@spoken
def allocate(
    queries: Sequence[Query],
    *,
    rho: Value | None = None,
    epsilon: Value | None = None,
    delta: Value | None = None,
    advantage: Value | None = None,
    tpr: Value | None = None,
    fpr: Value | None = None,
    objective: Literal["worst", "total"] = "worst",
    beside: Curve | None = None,
) -> tuple[Mechanism, ...]:
    """One mechanism for each query, such that all together are certified to stay within one budget.

    The budget is rho, or epsilon at delta, or what an attacker may gain: the advantage, or at most the share `tpr` of
    members found at the share `fpr` of false alarms.

    The error of a query is its standard deviation over its sensitivity, or over its target, so that counts and incomes
    compare. "worst" minimizes the largest weight * error^2, which makes all of them equal; "total" minimizes their sum.
    No query gets more noise than its target allows; if the targets do not fit, `TargetsDoNotFit` says what would.
    `beside` is a plan that the budget pays for as well. For an (epsilon, delta) budget the cost is that of the exact
    profile, and comes within 1e-6 of the budget.

    One multiplier decides the noise of all queries. The plan that it proposes is certified as a whole, so that an error
    of the search costs accuracy, never privacy. Theorem: docs/theorems/allocation.md.

    >>> from zcdp import DiscreteLaplace, Laplace
    >>> for m in allocate([Query(DiscreteLaplace), Query(Laplace, sensitivity=50_000)], epsilon=1, delta=1e-9):
    ...     print(m, f"{m.accuracy().half_width:.0f}")
    DiscreteLaplace(epsilon=0.497...) 6
    Laplace(epsilon=0.502..., sensitivity=50000) 2980...
    """
    if not isinstance(queries, Sequence) or not all(isinstance(query, Query) for query in queries):
        raise BadType(f"queries ({thing(queries)}) must be a list of Query(...)")
    if not queries:
        raise BadValue("there are no queries to allocate the budget to")
    if objective not in {"total", "worst"}:
        raise BadValue(f"objective ({objective!r}) must be 'total' or 'worst'")
    risk = RiskTarget.given(advantage=advantage, tpr=tpr, fpr=fpr)
    budget = Spending.within(rho, epsilon, delta, risk, beside)
    asked = [_Asked(query) for query in queries]
    _check_targets(asked, budget)
    propose = _Asked.at_error if objective == "worst" else _Asked.at_slope

    tried: dict[float, list[float]] = {}

    def build(multiplier: float) -> Plan:
        # kept, as the parameters returned must be those that were certified: proposed again they may differ in a digit
        tried[multiplier] = [propose(one, multiplier) for one in asked]
        return _plan(queries, [query.at(value) for query, value in zip(queries, tried[multiplier], strict=True)])

    best = tried[budget.fit(build)]
    return tuple(query.found(value) for query, value in zip(queries, best, strict=True))


def _plan(queries: Sequence[Query], mechanisms: Sequence[Mechanism]) -> Plan:
    return Plan.sum_of(*(Plan.repeated(m, q.count) for q, m in zip(queries, mechanisms, strict=True)))


def _check_targets(asked: Sequence[_Asked], budget: Spending) -> None:
    """Raise `TargetsDoNotFit` unless the budget pays for all targets; the message says which multiple would fit."""
    bound = [one for one in asked if one.query.has_target]
    if not bound:
        return
    queries = [one.query for one in bound]

    def build(factor: float) -> Plan:
        return _plan(queries, [q.at(one.scaled(exp(factor))) for q, one in zip(queries, bound, strict=True)])

    needed = budget.cost(_plan(queries, [q.at(one.last) for q, one in zip(queries, bound, strict=True)]))
    if needed < budget.limit or (needed == budget.limit and len(bound) == len(asked)):
        return
    factor = exp(budget.fit(build, start=0.1))
    while budget.cost(_at_targets([q.times(factor) for q in queries])) > budget.limit:
        factor *= 1.01  # needed where the cost jumps, as at half-widths of integer noise
    factor, others = _up(factor), len(asked) - len(bound)
    rest = f", with nothing left for the {others} quer{'ies' if others > 1 else 'y'} without a target" if others else ""
    raise TargetsDoNotFit(
        f"the targets need {budget.said(needed)}, and the budget is {shown(budget.limit, 6)}: all targets times "
        f"{factor:g} would fit ({queries[0].times(factor).wish} instead of {queries[0].wish}){rest}",
        factor,
        float(needed),
    )


def _at_targets(queries: Sequence[Query]) -> Plan:
    return _plan(queries, [query.at(query.at_target()) for query in queries])


def _up(factor: float) -> float:
    """A factor to four digits, rounded up."""
    near = float(f"{factor:.4g}")
    return near if near >= factor else float(f"{factor * 1.0005:.4g}")


class _Asked:
    """A query during the search: `last` is the parameter at which it just meets its target (inf without a target).

    `unit` is the relative error at the target (1 without one), `guess` the last parameter tried, to start from.
    """

    def __init__(self, query: Query) -> None:
        self.query, self.guess = query, 1.0
        self.last = query.at_target() if query.has_target else inf
        try:
            self.unit = query.at(self.last).relative_error or inf if query.has_target else 1.0
            start = query.at(1.0)
            extreme = not all(1e-200 < size < 1e200 for size in (start.relative_error or 0.0, self.unit, start.rho))
        except OverflowError:
            extreme = True
        if extreme:
            raise BadValue(f"{query!r} has an error too extreme to be allocated: state it in another unit")
        self.log_weight = log_of(query.weight)

    def at_error(self, multiplier: float) -> float:
        """The parameter at which log(weight * error^2) = 2 multiplier, the error in its unit; at most at the target."""
        return self.scaled(exp(multiplier - self.log_weight / 2), most=True)

    def scaled(self, factor: float, *, most: bool = False) -> float:
        """The parameter at which the error is `factor` units; with `most`, never beyond the target."""
        query = self.query
        if most and query.has_target and factor >= 1:
            return self.last
        self.guess = query.with_error(factor * self.unit, self.guess)
        return query.rounded(self.guess)

    def at_slope(self, multiplier: float) -> float:
        """The parameter at which -d(weight * error^2)/d(rho) is e^multiplier; at most at the target."""
        query = self.query
        constant = self.log_weight - 2 * log(self.unit)

        def excess(value: float) -> float:
            less, more = query.at(value), query.at(value * (1 + STEP))
            saved = abs((less.relative_error or 0.0) ** 2 - (more.relative_error or 0.0) ** 2)
            spent = abs(less.rho - more.rho)
            if not (0 < saved < inf and 0 < spent < inf):
                return inf if spent == 0 or saved == inf else -inf
            return log(saved) - log(spent) + constant - multiplier

        self.guess = secant(excess, guess=self.guess, slope=4.0 if query.noise_rises else -4.0, tolerance=1e-8)
        found = query.rounded(self.guess)
        if query.has_target and (found > self.last) == query.noise_rises:
            return self.last
        return found
