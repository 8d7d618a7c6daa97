"""The whole of a plan: rho, epsilon at delta by every route, and points of its (epsilon, delta) curve."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import inf

from zcdp.accounting.usual import PURE, SQUARE, usual
from zcdp.errors import BadValue
from zcdp.numeric.balls import lift
from zcdp.numeric.certify import NotCertified, enclose
from zcdp.privacy.conversions.zcdp_to_approx import zcdp_to_delta, zcdp_to_epsilon
from zcdp.privacy.plan import Plan

__all__ = ["Total", "curve_points", "total_of"]

MANY = 2_000
"""Beyond so many different mechanisms all routes take ten seconds and more; rho alone is quick, and epsilon larger."""
SEVERAL = 64
"""Beyond so many a curve is that of the profile alone, neighbouring points together."""
POINTS = 40
HASTE, LITTLE_HASTE = 32, 4
BOUNDLESS = "rho is infinite: the whole plan spends more than a float can say"


@dataclass(frozen=True)
class Total:
    """What the whole plan costs."""

    plan: Plan
    rho: float
    rho_bounds: tuple[float, float]
    rho_order: float | None
    routes: dict[str, float]
    epsilon_bounds: tuple[float, float]
    full: bool

    @property
    def route(self) -> str:
        """The route that gives the least epsilon."""
        return min(self.routes, key=lambda name: self.routes[name])

    @property
    def epsilon(self) -> float:
        """The least epsilon of all routes."""
        return self.epsilon_bounds[1]

    @property
    def exact_rho(self) -> Fraction:
        """A rational between the tight rho and `rho`: the sum of the parts' own, where that is less than a float."""
        parts = sum((part.rho_fraction * count for part, count in self.plan.parts), Fraction(0))
        return min(parts, Fraction(self.rho)) if self.rho < inf else parts

    @property
    def exact_epsilon(self) -> Fraction:
        """The least epsilon as a rational: the sum of the largest losses, where that is less than a float."""
        try:
            loss = self.plan.largest_loss
        except (AttributeError, TypeError, ValueError):  # no one exact number
            loss = None
        return min(loss, Fraction(self.epsilon)) if isinstance(loss, Fraction) else Fraction(self.epsilon)

    @property
    def theorems(self) -> set[str]:
        """What the composition and the chosen route rest on."""
        route = {"profile": {"profile"}, "rdp": {"rdp-to-approx"}, "zcdp": {"rdp-to-approx"}}.get(self.route, set())
        return route | ({"composition"} if sum(count for _, count in self.plan.parts) > 1 else set())

    def usual(self, delta: Fraction) -> dict[str, dict[str, float]]:
        """The sums of the usual charges, converted as zCDP; a part that has none is charged its own rho.

        Nothing, where no part has a pure epsilon: epsilon^2/2 says nothing of Gaussian noise.
        """
        if all(part.pure_epsilon == inf for part, _ in self.plan.parts):
            return {}
        sums = {SQUARE: 0.0, PURE: 0.0}
        for part, count in self.plan.parts:
            charges = list(usual(part, count).values())
            for name, charge in zip(sums, charges, strict=True):
                sums[name] += part.rho * count if charge is None else charge
        return {
            name: {"rho": rho, "epsilon": zcdp_to_epsilon(rho, delta) if 0 < rho < inf else rho}
            for name, rho in sums.items()
        }


def total_of(plan: Plan, delta: Fraction, full: bool | None = None) -> Total:
    """The whole plan at `delta`; `full` is whether to compute the exact profile and the Renyi curve of all parts."""
    if full is None:
        full = len(plan.parts) <= MANY
    if not full:
        return _by_rho(plan, delta)
    if plan.rho == inf:
        raise BadValue(BOUNDLESS)
    routes = plan.routes(delta=delta)
    try:
        order: float | None = plan.rho_order
    except NotCertified:  # the parts peak at different orders
        order = None
    lower, upper = plan.epsilon_bounds(delta=delta)
    best = min(upper, *routes.values())
    return Total(plan, plan.rho, plan.rho_bounds, order, routes, (min(lower, best), best), full)


def _by_rho(plan: Plan, delta: Fraction) -> Total:
    """The sum of the parts' rho, and what follows from it alone: sound for any number of parts, and quick."""
    rhos = [(part.rho_fraction, count) for part, count in plan.parts]
    top = sum((rho * count for rho, count in rhos), Fraction(0))
    order: float | None = None
    try:
        bounds, order = enclose(lambda: plan.peak().rho), plan.parts[0][0].rho_order
    except NotCertified:  # the parts peak at different orders
        bounds = enclose(plan.kl)[0], enclose(lambda: lift(top))[1]
    if not plan._of_tight_parts:  # some part's own value is only an upper bound
        bounds = 0.0, bounds[1]
    if bounds[1] == inf:
        raise BadValue(BOUNDLESS)
    routes = {"zcdp": zcdp_to_epsilon(bounds[1], delta)}
    if plan.pure_epsilon < inf:
        routes["pure"] = plan.pure_epsilon
    return Total(plan, bounds[1], bounds, order, routes, (0.0, min(routes.values())), full=False)


def curve_points(
    plan: Plan, total: Total, delta: Fraction, progress: Callable[[float, str], None]
) -> Iterator[tuple[float, float]]:
    """Certified (epsilon, delta), from epsilon 0 to where delta is a thousandth of the one asked for."""
    last = min(Fraction(delta) / 1000, Fraction(1, 10**9))
    several = len(plan.parts) > SEVERAL
    short = total.full and not several
    end = plan.epsilon_at(delta=last) if short else min(zcdp_to_epsilon(total.rho, last), plan.pure_epsilon)
    if total.full and several:
        progress(0.5, "curve")
        epsilons = [Fraction(end * (n / POINTS)) for n in range(POINTS + 1)]
        yield from zip(map(float, epsilons), plan._curve_in_haste(epsilons, LITTLE_HASTE), strict=True)
        return
    for n in range(POINTS + 1):
        progress(0.4 + 0.6 * n / POINTS, "curve")
        epsilon = end * (n / POINTS)  # which is finite where end is
        if total.full:
            yield epsilon, plan._delta_in_haste(epsilon, HASTE)
        elif epsilon >= plan.pure_epsilon:
            yield epsilon, 0.0
        else:
            yield epsilon, zcdp_to_delta(total.rho, epsilon) if epsilon else 1.0
