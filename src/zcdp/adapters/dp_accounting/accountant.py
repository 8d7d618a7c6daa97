"""A `PrivacyAccountant` for dp-accounting with certified epsilon and delta; dp-accounting's calibration can use it."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from statistics import NormalDist
from typing import Any

import numpy as np
from dp_accounting import PrivacyAccountant

from zcdp.adapters.common import above
from zcdp.adapters.dp_accounting.events import ADDED, NOTHING, translate
from zcdp.errors import BadValue
from zcdp.numeric.exact import rational
from zcdp.privacy.curve import Plan
from zcdp.privacy.tradeoff import FARTHEST, TradeOff, knot, lowest_line

__all__ = ["Accountant"]

LARGE = 10**6
"""An epsilon at which delta is close to the probability that an outcome tells all, and never below it."""


class Accountant(PrivacyAccountant):  # type: ignore[misc]
    """A `PrivacyAccountant` whose epsilon and delta are certified upper ends, from the exact privacy profile.

    >>> import dp_accounting as theirs
    >>> Accountant().compose(theirs.LaplaceDpEvent(10.0), 1000).get_epsilon(1e-6)
    18.95028...
    """

    def __init__(self, neighboring_relation: Any = ADDED) -> None:
        super().__init__(neighboring_relation)
        self._spent = NOTHING

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:
        try:
            more = translate(event, self.neighboring_relation).times(count if do_compose else 1)
            whole = self._spent + more  # raises if the parts do not compose, before they are recorded
        except (ValueError, TypeError) as error:
            return self.CompositionErrorDetails(getattr(error, "what", event), str(error))
        if do_compose:
            self._spent = whole
        return None

    @property
    def plan(self) -> Plan | None:
        """The composed events as a plan, without the deltas of (epsilon, delta) events; None if there are none."""
        return self._spent.plan

    def get_epsilon(self, target_delta: float) -> float:
        """The certified upper end of epsilon at `target_delta`."""
        return self._bounds(target_delta)[1]

    def get_epsilon_bounds(self, target_delta: float) -> tuple[float, float]:
        """Certified lower and upper ends of epsilon.

        The lower end is 0 if an event is only a bound, as those of zCDP and (epsilon, delta)-DP are. After an event
        that is not private the upper end is infinite at every delta, 1 included, as dp-accounting has it.
        """
        return self._bounds(target_delta, both=True)

    def _bounds(self, target: float, *, both: bool = False) -> tuple[float, float]:
        delta, well, whole = rational(target, "target_delta"), self._spent.well, self.plan
        if not 0 <= delta <= 1:
            raise BadValue(f"target_delta ({target}) must lie in [0, 1]")
        if well and (delta == 1 or (whole is None and delta >= 1 - well)):
            return 0.0, 0.0
        if delta < 1 - well or whole is None or not well:
            return 0.0, inf
        rest = (delta - (1 - well)) / well  # delta of the plan, given that no failure event happens
        lower, upper = whole.epsilon_bounds(delta=rest) if both else (0.0, whole.epsilon_at(delta=rest))
        return (lower if well == 1 else 0.0), upper

    def get_delta(self, target_epsilon: float) -> float:
        """The certified upper end of delta at `target_epsilon`; at infinity, the probability that all is told."""
        well, whole = self._spent.well, self.plan
        rest = Fraction(0)
        if whole is not None and target_epsilon != inf:
            rest = Fraction(whole.delta_at(epsilon=target_epsilon))
        elif whole is not None and whole.unbounded:  # else a Renyi divergence is finite: no outcome tells all
            rest = Fraction(whole.delta_at(epsilon=LARGE))
        return min(1.0, above(1 - well * (1 - rest)))

    def get_true_positive_rates(self, false_positive_rates: Any, deltas: Any = None) -> Any:
        """The certified upper end of the true positive rate of any test that tells neighbours apart.

        At each of the `false_positive_rates`, a number or an array; for the worse of both orders of the neighbours.
        `deltas` are those whose epsilons bound it; by default they are searched for.

        >>> import dp_accounting as theirs
        >>> Accountant().compose(theirs.GaussianDpEvent(1.0)).get_true_positive_rates(0.1)
        0.38914...
        """
        rates = np.atleast_1d(np.asarray(false_positive_rates, dtype=np.float64))
        if not ((rates >= 0) & (rates <= 1)).all():
            raise BadValue("false_positive_rates must lie in [0, 1]")
        if not self._spent.well:
            found = np.ones_like(rates)
        else:
            asked = [Fraction(rate) for rate in rates.ravel().tolist()]
            found = np.array([min(1.0, above(one)) for one in self._highest(asked, deltas)], dtype=np.float64)
        return float(found[0]) if np.ndim(false_positive_rates) == 0 else found.reshape(rates.shape)

    def _highest(self, rates: list[Fraction], deltas: Any) -> list[Fraction]:
        """The true positive rate at each false positive rate, at most."""
        if deltas is None:
            pure = self.plan.pure_epsilon if self.plan is not None and self._spent.well == 1 else inf
            curve = TradeOff(lambda epsilon: self.get_delta(float(epsilon)), None, pure, 0.0).curve(rates)
            return [upper for _, upper in curve]
        known = [(self.get_epsilon(one), one) for one in np.ravel(deltas).tolist()]
        knots = [knot(sign * one, (0.0, delta)) for one, delta in known if one <= FARTHEST for sign in (1.0, -1.0)]
        return [lowest_line(knots, rate) for rate in rates]

    def get_gdp_parameter_estimate(self, false_positive_rates: Any = None, deltas: Any = None) -> float:
        """The least mu of a Gaussian mechanism that covers the true positive rates at these false positive rates.

        An estimate, and no guarantee of mu-GDP: nothing is said of other rates. The rates are those up to 1/2, by
        default 500 from 1e-12 on; it is infinite if all is told with a probability above the least of them.
        """
        rates = np.geomspace(1e-12, 0.5, 500) if false_positive_rates is None else np.ravel(false_positive_rates)
        rates = rates[(rates > 0) & (rates <= 0.5)]
        if not len(rates):
            raise BadValue("false_positive_rates must have one above 0 and at most 1/2")
        if self.get_delta(inf) > rates.min():
            return inf
        normal, found = NormalDist(), self.get_true_positive_rates(rates, deltas).tolist()
        return max(
            inf if true >= 1 else normal.inv_cdf(true) - normal.inv_cdf(false)
            for false, true in zip(rates.tolist(), found, strict=True)
        )
