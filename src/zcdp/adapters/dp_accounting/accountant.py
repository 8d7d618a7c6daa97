"""A `PrivacyAccountant` of dp-accounting with certified numbers: its calibration runs on it."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import Any

from dp_accounting import PrivacyAccountant

from zcdp.adapters.common import above
from zcdp.adapters.dp_accounting.events import ADDED, NOTHING, translate
from zcdp.errors import BadValue
from zcdp.numeric.exact import rational
from zcdp.privacy.plan import Plan

__all__ = ["Accountant"]


class Accountant(PrivacyAccountant):  # type: ignore[misc]
    """A `PrivacyAccountant` whose epsilon and delta are certified: never below the truth, and the exact curve.

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
            whole = self._spent + more  # parts that do not compose are refused before they are recorded
        except (ValueError, TypeError) as error:
            return self.CompositionErrorDetails(getattr(error, "what", event), str(error))
        if do_compose:
            self._spent = whole
        return None

    @property
    def plan(self) -> Plan | None:
        """What was composed, without the deltas of (epsilon, delta) events; None if that is nothing."""
        return self._spent.plan

    def get_epsilon(self, target_delta: float) -> float:
        """The least epsilon certified at `target_delta`."""
        return self._bounds(target_delta)[1]

    def get_epsilon_bounds(self, target_delta: float) -> tuple[float, float]:
        """Floats around the least epsilon; the lower end is 0 where all is a bound, as of zCDP."""
        return self._bounds(target_delta, both=True)

    def _bounds(self, target: float, *, both: bool = False) -> tuple[float, float]:
        delta, well, whole = rational(target, "target_delta"), self._spent.well, self.plan
        if not 0 <= delta <= 1:
            raise BadValue(f"target_delta ({target}) must lie in [0, 1]")
        if delta == 1 or (whole is None and delta >= 1 - well):
            return 0.0, 0.0
        if delta < 1 - well or whole is None:
            return (inf, inf) if well == 0 else (0.0, inf)
        rest = (delta - (1 - well)) / well  # of what is left where no coin told all
        lower, upper = whole.epsilon_bounds(delta=rest) if both else (0.0, whole.epsilon_at(delta=rest))
        return (lower if well == 1 else 0.0), upper

    def get_delta(self, target_epsilon: float) -> float:
        """The least delta certified at `target_epsilon`."""
        well, whole = self._spent.well, self.plan
        rest = Fraction(0) if whole is None else Fraction(whole.delta_at(epsilon=target_epsilon))
        return min(1.0, above(1 - well * (1 - rest)))
