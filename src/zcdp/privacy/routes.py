"""All certified routes from a mechanism or plan to (epsilon, delta): profile, Renyi curve, rho and pure epsilon.

Each answer is the best of all routes; lower ends come from pairs that the mechanism is known to attain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import inf, nextafter
from typing import TYPE_CHECKING, TypeVar

from flint import arb

from zcdp.errors import BadValue
from zcdp.numeric.balls import NotCertified, enclose, failure
from zcdp.numeric.threads import cached_property
from zcdp.numeric.work import SECOND, within
from zcdp.privacy.convert import rdp_to_delta, rdp_to_epsilon, zcdp_to_delta, zcdp_to_epsilon
from zcdp.privacy.loss.claim import Claim
from zcdp.privacy.loss.lattice import snap
from zcdp.privacy.loss.law import Parts
from zcdp.privacy.profile.engine import Answer, NoAnswer
from zcdp.privacy.profile.profile import Profile
from zcdp.privacy.relation import Relation

if TYPE_CHECKING:
    from zcdp.privacy.curve import Curve

__all__ = ["Routes"]


T = TypeVar("T")
Ask = Callable[[Profile], Answer]

CLOSE = 1e-3  # relatively; the Renyi curve, which is above what is attained, could not win more
PROFILE_WINS = 1e-6  # If both ends of an exact profile are this close, relatively, the Renyi curve is not tried.
# If both ends are this close, coarser laws are not tried: where the laws only dominate, and where they are exact.
SHARP_BOUND, SHARP_EXACT = 1e-12, 1e-4
PROFILE_WORK, COARSER_WORK, BELOW_WORK = 5 * SECOND, SECOND, 2 * SECOND  # for the profile, coarser laws, lower ends


class Routes:
    """epsilon and delta of one curve, by each route that applies to it.

    The routes are `profile`, the exact profile of the dominating laws; `rdp`, the Renyi curve; `zcdp`, rho alone; and
    `pure`, the largest loss.
    """

    def __init__(self, curve: Curve, claims: Sequence[tuple[Claim | None, int]], relation: Relation) -> None:
        """`claims` is what the curve claims of its profile, for neighbours in the given relation."""
        self.curve = curve
        self._known = tuple((claim, count) for claim, count in claims if claim is not None)
        self._alone = sum(count for _, count in claims) == 1
        complete = len(self._known) == len(claims)
        self.exact = complete and all(claim.exact_alone if self._alone else claim.exact for claim, _ in self._known)
        for claim, _ in self._known:
            claim.check_lower()
            if relation is not Relation.ADD_REMOVE and not claim.upper.symmetric:
                raise BadValue(
                    f"{type(claim.upper).__name__} is not symmetric: it must be tied to the order of add_remove "
                    "neighbours, or enter by a symmetric law that dominates it"
                )
        above, self._below_it = snap(tuple((claim.upper, count) for claim, count in self._known))
        self.profile = Profile(above) if complete else None
        self.is_own = self.exact and self._below_it == above
        """Whether the profile is the mechanism's own, so that its lower ends are also lower ends for the mechanism."""

    @cached_property
    def attained(self) -> list[Profile]:
        """Profiles that are at most the mechanism's, for lower ends; none if `profile` is the mechanism's own."""
        if self.is_own:
            return []
        if self.exact:
            return [Profile(self._below_it)]
        return self._profiles(_attained(self._known, alone=self._alone))

    def _profiles(self, attained: Sequence[Parts]) -> list[Profile]:
        return [Profile(below) for parts in attained if (below := snap(parts)[1])]

    def epsilons(self, delta: Fraction, *, haste: int = 1) -> dict[str, float]:
        """Certified epsilon at `delta` by each route that has an answer.

        `haste` divides the work of the profile, and above 1 leaves rho out, which may take a search, and the Renyi
        curve where it cannot be less.
        """
        pure = self.curve.pure_epsilon
        if delta == 0:
            return {"pure": pure}

        def ask(profile: Profile) -> Answer:
            return profile.epsilon(delta, haste=haste)

        answer, _ = _try(self.profile, ask)
        upper = self._above(answer, ask, inf)
        found = {"profile": None if answer is None and upper == inf else upper}
        if self.curve.unbounded:
            return _known({**found, "pure": pure if answer is None else None})
        by_curve = haste == 1 or self._curve_may_win(answer)
        return _known(
            {
                **found,
                "rdp": _attempt("Renyi route", lambda: rdp_to_epsilon(self.curve.cumulant, delta))
                if by_curve
                else None,
                "zcdp": _attempt("route from rho", lambda: self._epsilon_of_rho(delta)) if haste == 1 else None,
                "pure": None if pure == inf else pure,
            }
        )

    def _epsilon_of_rho(self, delta: Fraction) -> float:
        """epsilon at `delta` from rho alone; 0 or inf if rho is."""
        rho = self.curve.rho
        return zcdp_to_epsilon(rho, delta) if 0 < rho < inf else rho

    def epsilon_at(self, delta: Fraction) -> float:
        """The least epsilon that any route certifies at `delta`."""
        return self.epsilon_bounds(delta, upper_only=True)[1]

    def epsilon_bounds(self, delta: Fraction, *, upper_only: bool = False) -> tuple[float, float]:
        """Certified floats around the least epsilon at `delta`; with `upper_only` the lower one is 0."""
        upper = self.curve.pure_epsilon
        if delta == 0:
            return _lower_and_upper(self._pure_from_below(), upper)

        def ask(profile: Profile) -> Answer:
            return profile.epsilon(delta)

        answer, s = _try(self.profile, ask)
        upper = min(upper, self._above(answer, ask, inf))
        lower = 0.0 if upper_only else self._below(answer, ask)
        curve = None
        if self._curve_may_win(answer) and not self._is_close(answer, upper, lower, ask):
            # If the laws only dominate, the best s of the profile says nothing about that of the Renyi curve, whose
            # bound may have several local minima.
            guess, worth = (s, 1.02 * upper) if self.exact else (1.0, inf)
            curve = _attempt(
                "Renyi route", lambda: rdp_to_epsilon(self.curve.cumulant, delta, guess=guess, worth=worth)
            )
            if curve is None and upper == inf:
                curve = _known({"rho": _attempt("route from rho", lambda: self._epsilon_of_rho(delta))})["rho"]
        upper = upper if curve is None else min(upper, curve)
        return _lower_and_upper(lower, upper)

    def delta_bounds(self, epsilon: Fraction, *, upper_only: bool = False, haste: int = 1) -> tuple[float, float]:
        """Certified floats around the least delta at `epsilon`; `haste` divides the work of the profile."""
        if epsilon >= self.curve.pure_epsilon:
            return 0.0, 0.0

        def ask(profile: Profile) -> Answer:
            return profile.delta(epsilon, haste=haste)

        answer, s = _try(self.profile, ask)
        upper = self._above(answer, ask, 1.0)
        lower = 0.0 if upper_only else self._below(answer, ask)
        if self._curve_may_win(answer) and not self._is_close(answer, upper, lower, ask):
            guess = s if self.exact else 1.0
            curve = _attempt("Renyi route", lambda: rdp_to_delta(self.curve.cumulant, epsilon, guess=guess))
            if curve is None and answer is None:
                curve = _attempt("route from rho", lambda: self._delta_of_rho(epsilon))
            upper = upper if curve is None else min(upper, curve)
        return _lower_and_upper(lower, upper)

    def _above(self, answer: Answer | None, ask: Ask, most: float) -> float:
        """The upper end of the profile's answer, or that of coarser laws if it is less; `most` if there is neither.

        Coarser laws dominate these and are easier to compose; they are tried if the answer is not sharp.
        """
        upper = most if answer is None else answer.upper
        if not self._may_be_coarser(answer):
            return upper
        easier = tuple((claim.coarser or claim.upper, count) for claim, count in self._known)
        coarse, _ = _try(Profile(snap(easier)[0]), ask, COARSER_WORK)
        return upper if coarse is None else min(upper, coarse.upper)

    def _may_be_coarser(self, answer: Answer | None) -> bool:
        """Whether coarser laws exist and may improve the answer."""
        enough = SHARP_EXACT if self.is_own else SHARP_BOUND  # Coarser laws seldom improve on exact ones.
        sharp = answer is not None and answer.upper <= answer.lower * (1 + enough)
        return not sharp and self.profile is not None and any(claim.coarser for claim, _ in self._known)

    def _below(self, answer: Answer | None, ask: Ask) -> float:
        """The lower end: that of the answer if the profile is the mechanism's own, else the largest one attained."""
        if self.is_own or self._plays_own_games(answer):
            lower = 0.0 if answer is None else answer.lower
            if not self._may_be_coarser(answer):
                return lower
            easier = _attained(self._known, alone=self._alone)[1:]  # The first of them has answered already.
            return max(lower, _highest(self._profiles(easier), ask))
        return _highest(self.attained, ask)

    def _plays_own_games(self, answer: Answer | None) -> bool:
        """Whether the adaptive engine answered for the mechanism's own pairs, so that its lower end is attained."""
        return answer is not None and answer.attained and all(claim.exact_alone for claim, _ in self._known)

    def _pure_from_below(self) -> float:
        """A certified lower end of the largest loss: the loss if it is a float, else two floats below its upper end.

        If the laws only dominate the mechanism, it is the largest loss of a pair that is attained, or 0.
        """
        upper = self.curve.pure_epsilon
        if not self.exact and upper < inf:
            return max((profile.loss_that_occurs() for profile in self.attained), default=0.0)
        try:
            loss = self.curve.largest_loss
        except (AttributeError, TypeError, ValueError):  # The largest loss has no exact form.
            loss = None
        if upper == inf or (isinstance(loss, Fraction) and loss == Fraction(upper)):
            return upper
        return max(nextafter(nextafter(upper, 0.0), 0.0), 0.0)

    def revealed_from_below(self) -> float:
        """A certified lower end of the probability of an outcome that tells all: the limit of delta; 0 if unknown."""
        own = [self.profile] if self.is_own and self.profile is not None else self.attained
        return max((profile.revealed_from_below() for profile in own), default=0.0)

    def gaussian_mu(self) -> float:
        """The mu of the dominating laws if all of them are Gaussian, rounded up; inf otherwise."""
        if self.profile is None or any(claim.upper.mu_squared() is None for claim, _ in self._known):
            return inf

        def mu() -> arb:
            total = arb(0)
            for claim, count in self._known:
                square = claim.upper.mu_squared()
                assert square is not None
                total += square * count
            return total.sqrt()

        return enclose(mu)[1]

    def _delta_of_rho(self, epsilon: Fraction) -> float:
        """delta at `epsilon` from rho alone."""
        rho = self.curve.rho
        if epsilon == 0 or not 0 < rho < inf:
            return 1.0 if rho else 0.0
        return zcdp_to_delta(rho, epsilon)

    def curve_above(self, epsilons: Sequence[Fraction], *, haste: int) -> list[float]:
        """Certified upper bounds on delta at increasing epsilons, by the profile alone: for curves of large plans.

        `haste` divides the work.
        """
        if self.profile is None:
            return [self.delta_bounds(epsilon, upper_only=True)[1] for epsilon in epsilons]
        return self.profile.deltas(epsilons, haste=haste)

    def deltas(self, epsilon: Fraction) -> dict[str, float]:
        """Certified delta at `epsilon` by each route that has an answer."""

        def ask(profile: Profile) -> Answer:
            return profile.delta(epsilon)

        answer, _ = _try(self.profile, ask)
        upper = self._above(answer, ask, 1.0)
        found = {"profile": None if answer is None and upper == 1 else upper}
        if self.curve.unbounded:
            return {name: value for name, value in found.items() if value is not None}
        return _known(
            {
                **found,
                "rdp": _attempt("Renyi route", lambda: rdp_to_delta(self.curve.cumulant, epsilon)),
                "zcdp": _attempt("route from rho", lambda: self._delta_of_rho(epsilon)) if epsilon > 0 else None,
                "pure": 0.0 if epsilon >= self.curve.pure_epsilon else None,
            }
        )

    def _is_close(self, answer: Answer | None, upper: float, lower: float, ask: Ask) -> bool:
        """Whether the upper end is near one that is attained, so that a Renyi curve of integrals is not worth them."""
        if not any(part.is_integrated for part, _ in self.curve.parts):
            return False
        lower = lower or (self._below(answer, ask) if answer is not None else 0.0)
        return upper - lower <= CLOSE * upper < inf

    def _curve_may_win(self, answer: Answer | None) -> bool:
        """Whether the Renyi curve may give a better upper end than the profile.

        It cannot if the profile is that of the worst-case pairs and known accurately, or if the Renyi curve is that of
        the same laws.
        """
        if (
            answer is not None
            and (self.exact or self._plays_own_games(answer))
            and answer.upper - answer.lower <= PROFILE_WINS * answer.upper
        ):
            return False
        if answer is not None:
            same = [part.curve_of_pair for part, _ in self.curve.parts for _ in part.coordinates]
            if all(claim.exact or one for (claim, _), one in zip(self._known, same, strict=True)):
                return False
        return not self.curve.unbounded  # An unbounded curve has infinite divergence at every order.


def _lower_and_upper(lower: float, upper: float) -> tuple[float, float]:
    """Both ends; raises if they contradict each other, since then one is wrong and it is not known which."""
    if not lower <= upper:
        raise NotCertified(f"two certified ends contradict each other ({lower!r}, {upper!r}): please report it")
    return lower, upper


def _attained(claims: Sequence[tuple[Claim, int]], *, alone: bool) -> list[Parts]:
    """Compositions that the mechanisms attain: the first lower law of each, then the second of each, and so on."""
    choices = [(claim.attained(alone=alone), count) for claim, count in claims]
    return [
        tuple(
            (law, count * times)
            for options, count in choices
            if options
            for law, times in options[min(n, len(options) - 1)]
        )
        for n in range(max((len(options) for options, _ in choices), default=0))
    ]


def _highest(profiles: Sequence[Profile], ask: Ask) -> float:
    """The largest lower end over several profiles, within one work limit for all; 0 if there is none."""
    answers = within(BELOW_WORK, lambda: [_try(profile, ask)[0] for profile in profiles])
    return max((one.lower for one in answers if one is not None), default=0.0)


def _try(profile: Profile | None, ask: Ask, work: float = PROFILE_WORK) -> tuple[Answer | None, float]:
    """The profile's answer, or None if there is none; and the saddle point s that it used (1 if unknown)."""
    if profile is None:
        return None, 1.0
    try:
        answer = within(work, lambda: ask(profile))
    except NoAnswer as error:
        return None, error.s
    except NotCertified:
        return None, 1.0
    except Exception as error:
        failure("profile", error)
        return None, 1.0
    return answer, answer.s


def _attempt(what: str, route: Callable[[], T]) -> T | None:
    """The answer of a route, or None if it fails; an unexpected failure also gives a warning."""
    try:
        return route()
    except NotCertified:
        return None
    except Exception as error:
        failure(what, error)
        return None


def _known(answers: dict[str, float | None]) -> dict[str, float]:
    """The answers that are not None; raises `NotCertified` if there is none."""
    known = {name: value for name, value in answers.items() if value is not None}
    if not known:
        raise NotCertified("no route is certified: the parameters are too extreme")
    return known
