"""All certified routes from a curve to (epsilon, delta), and the best of them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import inf, nextafter
from typing import TYPE_CHECKING, Literal, TypeVar

from zcdp.numeric.certify import NotCertified, failure
from zcdp.numeric.exact import Value, rational
from zcdp.privacy.profile import Profile
from zcdp.privacy.rdp_to_approx import rdp_to_delta, rdp_to_epsilon
from zcdp.privacy.snap import snap
from zcdp.privacy.transform import Parts
from zcdp.privacy.zcdp_to_approx import zcdp_to_delta, zcdp_to_epsilon

if TYPE_CHECKING:
    from zcdp.privacy.curve import Curve

__all__ = ["Routes"]

T = TypeVar("T")

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
        pairs = [(one.pair(), count * times) for part, count in curve.parts for one, times in part.coordinates]
        known = tuple((pair, count) for pair, count in pairs if pair is not None)
        above = snap(known)[0]
        attained = [below for parts in _attained(known) if (below := snap(parts)[1])]
        self.profile = Profile(above) if len(known) == len(pairs) else None
        self.exact = len(known) == len(pairs) and all(pair.exact for pair, _ in known)
        self.is_own = self.exact and attained == [above]
        """Whether the profile is the mechanism's own, so that its lower ends are attained too."""
        self.attained = [] if self.is_own else [Profile(below) for below in attained]
        """Profiles that are at most the mechanism's, where that one is not."""

    def epsilons(self, delta: Value) -> dict[str, float]:
        """epsilon at `delta` by each route."""
        target = _delta(delta)
        pure = self.curve.pure_epsilon
        if target == 0 or self.curve.unbounded:
            return {"pure": pure}
        bounds = _try(self.profile, "epsilon_bounds", target)
        return _known(
            {
                "profile": None if bounds is None else bounds[1],
                "rdp": _attempt("Renyi route", lambda: rdp_to_epsilon(self.curve.cumulant, target)),
                "zcdp": _attempt("route from rho", lambda: self._epsilon_of_rho(target)),
                "pure": None if pure == inf else pure,
            }
        )

    def _epsilon_of_rho(self, delta: Fraction) -> float:
        rho = self.curve.rho
        return zcdp_to_epsilon(rho, delta) if 0 < rho < inf else rho

    def epsilon_at(self, delta: Value) -> float:
        """The least epsilon of all routes."""
        return self.epsilon_bounds(delta, upper_only=True)[1]

    def epsilon_bounds(self, delta: Value, *, upper_only: bool = False) -> tuple[float, float]:
        """Floats around the least epsilon at `delta`."""
        target = _delta(delta)
        upper = self.curve.pure_epsilon
        if self.curve.unbounded:
            return 0.0, inf
        if target == 0:
            return self._pure_from_below() if self.exact else 0.0, upper
        lower = 0.0
        bounds = _try(self.profile, "epsilon_bounds", target)
        if bounds is not None:
            lower, upper = bounds[0], min(upper, bounds[1])
        if not self.is_own and not upper_only:
            lower = self._from_neighbours("epsilon_bounds", target)
        curve = None
        if self._curve_may_win(bounds):
            worth, guess = 1.02 * upper, self._guess()
            curve = _attempt(
                "Renyi route", lambda: rdp_to_epsilon(self.curve.cumulant, target, guess=guess, worth=worth)
            )
            if curve is None and upper == inf:
                curve = _known({"rho": _attempt("route from rho", lambda: self._epsilon_of_rho(target))})["rho"]
        upper = upper if curve is None else min(upper, curve)
        return min(lower, upper), upper

    def _from_neighbours(self, what: Literal["epsilon_bounds", "delta_bounds"], at: Fraction) -> float:
        """The largest lower end that some neighbours attain."""
        return max(((_try(profile, what, at) or (0.0, 0.0))[0] for profile in self.attained), default=0.0)

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

    def delta_bounds(self, epsilon: Value, *, upper_only: bool = False) -> tuple[float, float]:
        """Floats around the least delta at `epsilon`."""
        point = _epsilon(epsilon)
        if self.curve.unbounded:
            return 0.0, 1.0
        if point >= self.curve.pure_epsilon:
            return 0.0, 0.0
        lower, upper = 0.0, 1.0
        bounds = _try(self.profile, "delta_bounds", point)
        if bounds is not None:
            lower, upper = bounds
        if not self.is_own and not upper_only:
            lower = self._from_neighbours("delta_bounds", point)
        if self._curve_may_win(bounds):
            guess = self._guess()
            curve = _attempt("Renyi route", lambda: rdp_to_delta(self.curve.cumulant, point, guess=guess))
            if curve is None and bounds is None:
                curve = _attempt("route from rho", lambda: self._delta_of_rho(point))
            upper = upper if curve is None else min(upper, curve)
        return min(lower, upper), upper

    def _delta_of_rho(self, epsilon: Fraction) -> float:
        rho = self.curve.rho
        if epsilon == 0 or not 0 < rho < inf:
            return 1.0 if rho else 0.0
        return zcdp_to_delta(rho, epsilon)

    def deltas(self, epsilon: Value) -> dict[str, float]:
        """delta at `epsilon` by each route."""
        point = _epsilon(epsilon)
        if self.curve.unbounded:
            return {}
        bounds = _try(self.profile, "delta_bounds", point)
        return _known(
            {
                "profile": None if bounds is None else bounds[1],
                "rdp": _attempt("Renyi route", lambda: rdp_to_delta(self.curve.cumulant, point)),
                "zcdp": _attempt("route from rho", lambda: self._delta_of_rho(point)) if point > 0 else None,
                "pure": 0.0 if point >= self.curve.pure_epsilon else None,
            }
        )

    def _guess(self) -> float:
        return 1.0 if self.profile is None else self.profile.line

    def _curve_may_win(self, bounds: tuple[float, float] | None) -> bool:
        """Whether the Renyi curve can beat the profile: not where that is of the worst-case pairs, and known well."""
        return not self.exact or bounds is None or bounds[1] - bounds[0] > WELL * bounds[1]


def _attained(parts: Parts) -> list[Parts]:
    """What the mechanisms attain together: the first choice of each, the second of each, and so on."""
    choices = [(pair.attained(), count) for pair, count in parts]
    return [
        tuple(
            (pair, count * times)
            for options, count in choices
            if options
            for pair, times in options[min(n, len(options) - 1)]
        )
        for n in range(max((len(options) for options, _ in choices), default=0))
    ]


def _try(
    profile: Profile | None, what: Literal["epsilon_bounds", "delta_bounds"], at: Fraction
) -> tuple[float, float] | None:
    """The profile's answer; None where there is no profile, or it is too extreme to be certified."""
    if profile is None:
        return None
    return _attempt(
        "profile", lambda: profile.epsilon_bounds(at) if what == "epsilon_bounds" else profile.delta_bounds(at)
    )


def _attempt(what: str, route: Callable[[], T]) -> T | None:
    """What a route answers; None where it is not certified, whatever it met: then the others answer."""
    try:
        return route()
    except NotCertified:
        return None
    except Exception as error:
        failure(what, error)
        return None


def _known(answers: dict[str, float | None]) -> dict[str, float]:
    """Those that are; `NotCertified` where there is none."""
    known = {name: value for name, value in answers.items() if value is not None}
    if not known:
        raise NotCertified("no route is certified: the parameters are too extreme")
    return known
