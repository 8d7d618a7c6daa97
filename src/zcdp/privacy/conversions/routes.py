"""All certified routes from a curve to (epsilon, delta), and the best of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction
from math import inf, nextafter
from typing import TYPE_CHECKING

from zcdp.numeric.certify import NotCertified
from zcdp.numeric.exact import Value, rational
from zcdp.privacy.conversions.rdp_to_approx import rdp_to_delta, rdp_to_epsilon
from zcdp.privacy.conversions.zcdp_to_approx import zcdp_to_delta, zcdp_to_epsilon
from zcdp.privacy.loss.snap import snap
from zcdp.privacy.profile.engine import Answer, NoAnswer
from zcdp.privacy.profile.profile import Profile

if TYPE_CHECKING:
    from zcdp.privacy.curve import Curve

__all__ = ["Routes"]

WELL = 1e-6


def _delta(value: Value) -> Fraction:
    delta = rational(value, "delta")
    if not 0 <= delta < 1:
        raise ValueError(f"delta ({value}) must be at least 0 and below 1")
    return delta


def _epsilon(value: Value) -> Fraction:
    epsilon = rational(value, "epsilon")
    if epsilon < 0:
        raise ValueError(f"epsilon ({value}) must not be negative")
    return epsilon


class Routes:
    """What one curve costs as (epsilon, delta), by each route that applies to it.

    profile: the exact profile of the dominating pairs; rdp: the Renyi curve; zcdp: rho alone; pure: the largest loss.
    """

    def __init__(self, curve: Curve) -> None:
        self.curve = curve
        laws = [(one.pair(), count * times) for part, count in curve.parts for one, times in part.coordinates]
        known = tuple((law, count) for law, count in laws if law is not None)
        alone = sum(count for _, count in laws) == 1
        attained = tuple((one, count) for law, count in known if (one := law.attained(alone=alone)) is not None)
        above, below = snap(known)[0], snap(attained)[1]
        self.profile = Profile(above) if len(known) == len(laws) else None
        self.exact = len(known) == len(laws) and all(law.attained(alone=alone) is law for law, _ in known)
        if self.exact and below == above:
            self.attained = self.profile
        else:
            self.attained = Profile(below) if below else None

    def epsilons(self, delta: Value) -> dict[str, float]:
        """epsilon at `delta` by each route."""
        target = _delta(delta)
        pure = self.curve.pure_epsilon
        if target == 0:
            return {"pure": pure}
        answer, _ = _try(self.profile, lambda profile: profile.epsilon(target))
        found = {} if answer is None else {"profile": answer.upper}
        if self.curve.unbounded:
            return found or {"pure": pure}
        with suppress(NotCertified):
            found["rdp"] = rdp_to_epsilon(self.curve.cumulant, target)
        found["zcdp"] = zcdp_to_epsilon(self.curve.rho, target)
        return found if pure == inf else {**found, "pure": pure}

    def epsilon_at(self, delta: Value) -> float:
        """The least epsilon of all routes."""
        return self.epsilon_bounds(delta, upper_only=True)[1]

    def epsilon_bounds(self, delta: Value, *, upper_only: bool = False) -> tuple[float, float]:
        """Floats around the least epsilon at `delta`."""
        target = _delta(delta)
        upper = self.curve.pure_epsilon
        if target == 0:
            return self._pure_from_below() if self.exact else 0.0, upper
        answer, order = _try(self.profile, lambda profile: profile.epsilon(target))
        if answer is not None:
            upper = min(upper, answer.upper)
        lower = 0.0 if upper_only else self._lower(answer, lambda profile: profile.epsilon(target))
        if self._curve_may_win(answer):
            try:
                upper = min(upper, rdp_to_epsilon(self.curve.cumulant, target, guess=order, worth=1.02 * upper))
            except NotCertified:  # a curve too extreme to be searched: what is left is rho
                upper = min(upper, zcdp_to_epsilon(self.curve.rho, target))
        return min(lower, upper), upper

    def _lower(self, answer: Answer | None, ask: Callable[[Profile], Answer]) -> float:
        """The lower end: of the same profile, where it is one of the mechanisms themselves."""
        if answer is not None and (answer.attained or self.attained is self.profile):
            return answer.lower
        if self.attained is self.profile:
            return 0.0
        below, _ = _try(self.attained, ask)
        return 0.0 if below is None else below.lower

    def _pure_from_below(self) -> float:
        """A float that is not above the largest loss: itself if it is one, else two below its upper end."""
        upper = self.curve.pure_epsilon
        try:
            loss = self.curve.largest_loss
        except (AttributeError, TypeError, ValueError):  # no one exact number
            loss = None
        if upper == inf or (isinstance(loss, Fraction) and loss == Fraction(upper)):
            return upper
        return max(nextafter(nextafter(upper, 0.0), 0.0), 0.0)

    def delta_bounds(self, epsilon: Value, *, upper_only: bool = False, haste: int = 1) -> tuple[float, float]:
        """Floats around the least delta at `epsilon`; `haste` divides the effort."""
        point = _epsilon(epsilon)
        if point >= self.curve.pure_epsilon:
            return 0.0, 0.0
        answer, order = _try(self.profile, lambda profile: profile.delta(point, haste=haste))
        upper = 1.0 if answer is None else answer.upper
        lower = 0.0 if upper_only else self._lower(answer, lambda profile: profile.delta(point, haste=haste))
        if self._curve_may_win(answer):
            with suppress(NotCertified):
                upper = min(upper, rdp_to_delta(self.curve.cumulant, point, guess=order))
        return min(lower, upper), upper

    def curve_above(self, epsilons: Sequence[Fraction], *, haste: int) -> list[float]:
        """What is certified at each of many increasing epsilons, by the profile alone: for curves of large plans."""
        if self.profile is None:
            return [self.delta_bounds(epsilon, upper_only=True)[1] for epsilon in epsilons]
        return self.profile.deltas(epsilons, haste=haste)

    def deltas(self, epsilon: Value) -> dict[str, float]:
        """delta at `epsilon` by each route."""
        point = _epsilon(epsilon)
        answer, _ = _try(self.profile, lambda profile: profile.delta(point))
        found = {} if answer is None else {"profile": answer.upper}
        if self.curve.unbounded:
            return found
        with suppress(NotCertified):
            found["rdp"] = rdp_to_delta(self.curve.cumulant, point)
        if point > 0:
            found["zcdp"] = zcdp_to_delta(self.curve.rho, point)
        return {**found, "pure": 0.0} if point >= self.curve.pure_epsilon else found

    def _curve_may_win(self, answer: Answer | None) -> bool:
        """Whether the Renyi curve can beat the profile: not where that is of the worst-case pairs, and known well."""
        if self.curve.unbounded:  # then it is infinite at every order
            return False
        exact = self.exact or (answer is not None and answer.attained)
        return not exact or answer is None or answer.upper - answer.lower > WELL * answer.upper


def _try(profile: Profile | None, ask: Callable[[Profile], Answer]) -> tuple[Answer | None, float]:
    """The profile's answer, None where there is no profile or it is too extreme; and the order at which it looked."""
    if profile is None:
        return None, 1.0
    try:
        answer = ask(profile)
    except NoAnswer as error:
        return None, error.order
    return answer, answer.order
