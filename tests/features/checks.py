"""Reported numbers held against the truth: no upper end below it, no lower end above it, no false claim."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf, isfinite
from random import Random

import zcdp
from features.exact import Truth
from features.transformations import Case
from zcdp import BudgetExceeded, Filter, NotCertified, ZcdpError

SLACK = 1e-12  # of logarithms, relative
WAYS = "with the record first", "without it first"
NEAR = 1e-8  # of divergences, and of a peak that is found on a grid: relative


@dataclass
class Tally:
    """How many comparisons were made, those that failed, and what was refused."""

    checks: int = 0
    failures: list[str] = field(default_factory=list)
    refused: int = 0
    uncertified: int = 0

    def hold(self, holds: bool, what: object, *values: object) -> None:
        self.checks += 1
        if not holds:
            self.failures.append(f"{what}: {' '.join(map(str, values))}")


def hold(tally: Tally, case: Case, uses: int, rng: Random) -> None:
    """All numbers that the library reports on so many uses; a question that is refused is counted."""
    plan = case.curve if uses == 1 else uses * case.curve
    truth = Truth([(known, uses) for known in case.parts], rng)
    worlds = [Truth([(known, 1) for known in case.met(rng, uses)], rng) for _ in range(2)]
    for question in (_pure, _orders, _profile, _targets, _reversed, _charged):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                question(tally, plan, truth, worlds, rng)
        except NotCertified as error:
            tally.uncertified += 1
            if "report" in str(error):
                tally.hold(False, "not certified", repr(plan), error)
        except ZcdpError as error:
            tally.hold(False, "refused when asked", repr(plan), repr(error))
        except Exception as error:
            tally.hold(False, "raised", repr(plan), repr(error))


Plan = zcdp.Mechanism | zcdp.Plan


def _pure(tally: Tally, plan: Plan, truth: Truth, worlds: Sequence[Truth], rng: Random) -> None:
    name = repr(plan)
    lower, upper = plan.epsilon_bounds(delta=0)
    most = max(truth.pure, *(world.pure for world in worlds))
    least = most * (1 - SLACK)
    tally.hold(plan.pure_epsilon >= least, "pure", name, f"{plan.pure_epsilon!r}, true {most!r}")
    tally.hold(upper >= least, "pure upper", name, f"{upper!r}, true {most!r}")
    if truth.complete:
        tally.hold(lower <= truth.pure * (1 + SLACK), "pure lower", name, f"{lower!r}, true {truth.pure!r}")
    tally.hold(lower <= upper, "pure ends", name, lower, upper)


def _orders(tally: Tally, plan: Plan, truth: Truth, worlds: Sequence[Truth], rng: Random) -> None:
    name = repr(plan)
    lower, upper = plan.rho_bounds
    most = max(truth.rho, *(world.rho for world in worlds))
    tally.hold(min(upper, plan.rho) >= most * (1 - NEAR), "rho", name, f"{upper!r}, {plan.rho!r}, true {most!r}")
    tally.hold(lower <= upper, "rho ends", name, lower, upper)
    if truth.complete:
        tally.hold(lower <= truth.rho * (1 + NEAR), "lower rho", name, f"{lower!r}, true {truth.rho!r}")
        if plan.is_tight:
            tally.hold(upper <= truth.rho * (1 + NEAR), "is_tight", name, f"{upper!r}, true {truth.rho!r}")
    for order in (1, Fraction(rng.randint(101, 400), 100), rng.choice((8, 32, 100))):
        found, most = plan.rdp(order), max(one.divergence(float(order)) for one in (truth, *worlds))
        tally.hold(found >= most * (1 - NEAR), "rdp", name, f"at {order}: {found!r}, true {most!r}")


def points(truth: Truth, rng: Random) -> list[Fraction]:
    """Where much is told, anywhere up to the largest finite loss, and beyond it."""
    top = min(truth.top, 30.0)
    found = [0.0, rng.random() * top, rng.random() ** 2 * top, top * (1 + 1e-9) + rng.choice((1e-6, 0.5))]
    return [Fraction(round(point * 2**30), 2**30) for point in found]


def _profile(tally: Tally, plan: Plan, truth: Truth, worlds: Sequence[Truth], rng: Random) -> None:
    name = repr(plan)
    for epsilon in points(truth, rng):
        low, high = truth.around(epsilon)
        lower, upper = plan.delta_bounds(epsilon=epsilon)
        tally.hold(upper >= low, "delta", name, f"at {epsilon}: {upper!r}, true {float(low)!r}")
        if truth.complete:
            tally.hold(lower <= high, "lower delta", name, f"at {epsilon}: {lower!r}, true {float(high)!r}")
        tally.hold(lower <= upper, "delta ends", name, lower, upper)
        for world in worlds:
            told = world.around(epsilon)[0]
            tally.hold(upper >= told, "delta of a data set", name, f"at {epsilon}: {upper!r}, true {float(told)!r}")
    at = plan.delta_at(epsilon=epsilon)
    tally.hold(at >= low, "delta_at", name, f"at {epsilon}: {at!r}, true {float(low)!r}")


def _targets(tally: Tally, plan: Plan, truth: Truth, worlds: Sequence[Truth], rng: Random) -> None:
    name = repr(plan)
    typical = float(truth.around(points(truth, rng)[1])[0])
    targets = [typical if 1e-14 < typical < 1 else 0.01, 10 ** rng.uniform(-9, -0.3)]
    if truth.infinite:
        targets.append(float(truth.infinite) * rng.choice((0.5, 0.999, 1.001)))
    for target in targets:
        if not 0 < target < 1:
            continue
        lower, upper = plan.epsilon_bounds(delta=target)
        tally.hold(lower <= upper, "epsilon ends", name, lower, upper)
        for one in (truth, *worlds):
            told = one.around(Fraction(upper))[0] if isfinite(upper) else Fraction(0)
            tally.hold(told <= Fraction(target), "epsilon", name, f"at {target!r}: {upper!r} has {float(told)!r}")
        if target == targets[0]:
            for route, end in plan.routes(delta=target).items():
                told = truth.around(Fraction(end))[0] if isfinite(end) else Fraction(0)
                tally.hold(told <= Fraction(target), f"epsilon by {route}", name, f"at {target!r}: {end!r}")
        if truth.complete and lower > 0:
            most = truth.infinite if lower == inf else truth.around(Fraction(lower))[1]
            reached = most >= Fraction(target)
            tally.hold(reached, "lower epsilon", name, f"at {target!r}: {lower!r} has {float(most)!r}")


def _reversed(tally: Tally, plan: Plan, truth: Truth, worlds: Sequence[Truth], rng: Random) -> None:
    """Of neighbours that differ by a record each order by itself: the law, and the law reversed."""
    profile = plan.profile
    if profile is None or len(profile.directions) < len(WAYS) or len(truth.ways) < len(WAYS):
        return
    own = truth.complete and all(claim is not None and claim.exact for claim, _ in plan.claims)
    epsilon = points(truth, rng)[rng.choice((1, 3))]
    for way, one in enumerate(profile.directions):
        low, high = truth.around(epsilon, way)
        lower, upper, *_ = one.delta(epsilon)
        name = f"{plan!r}, {WAYS[way]}"
        tally.hold(upper >= low, "delta of one order", name, f"at {epsilon}: {upper!r}, true {float(low)!r}")
        if own:
            tally.hold(lower <= high, "lower delta of one order", name, f"at {epsilon}: {lower!r}, {float(high)!r}")


def _charged(tally: Tally, plan: Plan, truth: Truth, worlds: Sequence[Truth], rng: Random) -> None:
    """A filter charges divergences of an order; what has none, or too much, it does not admit."""
    order = rng.choice((Fraction(3, 2), 4, 32))
    budget, twice = Filter(epsilon=200, delta="0.001", order=order), 2 * truth.divergence(float(order))
    try:
        budget.spend(plan)
        budget.spend(plan)
    except BudgetExceeded:
        return
    charged = float(budget.spent)
    tally.hold(charged >= twice * (1 - NEAR), "charged", repr(plan), f"at {order}: {charged!r}, true {twice!r}")
