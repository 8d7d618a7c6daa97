"""A `PrivacyAccountant` for dp-accounting with certified epsilon and delta; dp-accounting's calibration can use it."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import Any

from dp_accounting import PrivacyAccountant

from zcdp.adapters.common import above
from zcdp.adapters.dp_accounting.events import ADDED, NOTHING, translate
from zcdp.errors import BadValue
from zcdp.numeric.exact import rational
from zcdp.privacy.curve import Plan

__all__ = ["Accountant"]


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

        The lower end is 0 if an event is only a bound, as those of zCDP and (epsilon, delta)-DP are.
        """
        return self._bounds(target_delta, both=True)

    def _bounds(self, target: float, *, both: bool = False) -> tuple[float, float]:
        delta, well, whole = rational(target, "target_delta"), self._spent.well, self.plan
        if not 0 <= delta <= 1:
            raise BadValue(f"target_delta ({target}) must lie in [0, 1]")
        if delta == 1 or (whole is None and delta >= 1 - well):
            return 0.0, 0.0
        if delta < 1 - well or whole is None:
            return (inf, inf) if well == 0 else (0.0, inf)
        rest = (delta - (1 - well)) / well  # delta of the plan, given that no failure event happens
        lower, upper = whole.epsilon_bounds(delta=rest) if both else (0.0, whole.epsilon_at(delta=rest))
        return (lower if well == 1 else 0.0), upper

    def get_delta(self, target_epsilon: float) -> float:
        """The certified upper end of delta at `target_epsilon`."""
        well, whole = self._spent.well, self.plan
        rest = Fraction(0) if whole is None else Fraction(whole.delta_at(epsilon=target_epsilon))
        return min(1.0, above(1 - well * (1 - rest)))
