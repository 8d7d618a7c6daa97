"""A budget in rho, or in epsilon at delta, and the one number of a plan that makes it fit."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from math import inf, log

from zcdp.errors import BadType, BadValue
from zcdp.numeric.certify import NotCertified
from zcdp.numeric.exact import Value, log_of, positive_rational, probability, rational, shown
from zcdp.privacy.conversions.zcdp_to_approx import zcdp_to_epsilon
from zcdp.privacy.curve import Curve
from zcdp.privacy.plan import Plan

__all__ = ["Spending"]

LEAST, MOST = 1e-100, 1e100
CLOSE = Fraction(1, 2_000_000)
"""How near to the budget a plan in epsilon comes; one in rho is cheaper to count, and comes nearer."""
CLOSER = Fraction(1, 10**8)
TURNS = 120
FAR, STRIDE = 500.0, 4.0


@dataclass(frozen=True)
class Spending:
    """A limit on rho, or on epsilon at delta, and what it pays for besides."""

    limit: Fraction
    delta: Fraction | None
    beside: Curve | None = None

    @classmethod
    def within(cls, rho: Value | None, epsilon: Value | None, delta: Value | None, beside: Curve | None) -> Spending:
        """The budget as it is given."""
        if rho is not None:
            if epsilon is not None or delta is not None:
                raise BadValue(f"give rho ({rho}), or epsilon and delta, not both")
            name, number, chance = "rho", positive_rational(rho, "rho"), None
        elif epsilon is None or delta is None:
            raise BadType("give a budget: rho, or epsilon and delta")
        else:
            name, number = "epsilon", positive_rational(epsilon, "epsilon")
            chance = Fraction(0) if rational(delta, "delta") == 0 else probability(delta, "delta")
        if not log(LEAST) < log_of(number) < log(MOST):
            raise BadValue(f"{name} ({rho or epsilon}) must be between 1e-100 and 1e100 to be allocated")
        found = cls(number, chance, beside)
        if beside is not None and (held := found.cost(None)) >= number:
            raise BadValue(
                f"what stays as it is costs {found.said(held)} already: nothing of {found.said(number)} is left"
            )
        return found

    def said(self, number: Fraction) -> str:
        """The number in words."""
        if self.delta is None:
            return f"rho = {shown(number, 6)}"
        return f"epsilon = {shown(number, 6)} at delta = {shown(self.delta, 6)}"

    def cost(self, plan: Plan | None) -> Fraction:
        """What the plan costs beside the rest, certified, in rho or in epsilon."""
        whole = self._with(plan)
        if self.delta is None:
            return sum((part.rho_fraction * count for part, count in whole.parts), Fraction(0))
        spent = whole.epsilon_at(delta=self.delta) if self.delta else whole.pure_epsilon
        return rational(spent, "epsilon") if spent < inf else Fraction(10) ** 400

    def _with(self, plan: Plan | None) -> Plan:
        return Plan.sum_of(*(curve for curve in (plan, self.beside) if curve is not None))

    def _rough(self, plan: Plan) -> float:
        """The rho of it over the rho that would give this epsilon: where to begin."""
        spent = float(sum((part.rho_fraction * count for part, count in self._with(plan).parts), Fraction(0)))
        if not self.delta:
            return spent
        return zcdp_to_epsilon(spent, self.delta) if 0 < spent < inf else spent

    def fit(self, build: Callable[[float], Plan], start: float = 0.0) -> float:
        """The least x at which build(x), whose cost falls with x, is certified to fit, and nearly fills the budget.

        The last plan built for this x is the one that was certified: no x is asked for twice after the first guess.
        """
        limit = log_of(self.limit)
        if self.delta is not None and self.delta > 0:  # rho is quick to count, and near enough to start from
            with suppress(ValueError):  # by rho alone nothing may fit
                start = _search(lambda x: log(max(self._rough(build(x)), 1e-300)) - limit, start, 0.05, -0.05)
        near = CLOSER if self.delta is None else CLOSE
        slack = -float(near / max(self.limit, Fraction(1)))

        def excess(x: float) -> float:
            try:
                spent = self.cost(build(x))
            except NotCertified:
                return inf
            if spent > self.limit:
                return max(log_of(spent) - limit, 5e-324)
            return min(log_of(spent) - limit if spent else -inf, 0.0)

        return _search(excess, start, 0.0, slack)


def _search(excess: Callable[[float], float], start: float, above: float, below: float) -> float:
    """An x with below <= excess(x) <= above, for a falling function: secants, and bisection whenever they stall.

    Where no such x is found, as where the cost jumps, the least x known that is not above.
    """
    aim, x, slope = (above + below) / 2, start, -1.0
    last: tuple[float, float] | None = None
    stride = STRIDE
    low, high = -FAR, FAR  # where the excess is above, and where it is not
    for turn in range(TURNS):
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
            stride = STRIDE if slope == found else 2 * stride  # where nothing changes, further and further
        last = (x, value) if known else None
        move = (aim - value) / slope if known and stride <= STRIDE else (stride if value > above else -stride)
        x += min(max(move, -stride), stride)
        enclosed = low > -FAR and high < FAR
        if not low < x < high and not enclosed:
            break
        if not low < x < high or (turn % 5 == 4 and enclosed):
            x = (low + high) / 2
    if high == FAR:
        raise BadValue("the budget is so small that no noise fits it")
    if low == -FAR:
        raise BadValue("the budget is so large that any noise fits it")
    return high
