"""Reported numbers held against the truth: upper ends above it, lower ends below the most that neighbours tell."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import exp, inf, isfinite, log
from random import Random

import zcdp
from neighbours.law import SLACK
from neighbours.truth import Truth
from zcdp import NotCertified

BEYOND = 600.0  # above every finite loss: only an outcome that the neighbour never has tells more
NEAR = 1e-9  # what the bound of the truth from above may be off by: two losses nearer than that are not told apart


@dataclass
class Tally:
    """How many comparisons were made, those that failed, and questions that were refused."""

    checks: int = 0
    failures: list[str] = field(default_factory=list)
    refused: int = 0

    def hold(self, holds: bool, what: object, *values: object) -> None:
        self.checks += 1
        if not holds:
            self.failures.append(f"{what}: {' '.join(map(str, values))}")


def hold(tally: Tally, curve: zcdp.Mechanism | zcdp.Plan, truth: Truth, rng: Random, *, routes: bool = False) -> None:
    """Every kind of number that the library reports on this composition; that it has none is a failure too."""
    try:
        _hold_orders(tally, repr(curve), curve, truth, rng)
        _hold_profile(tally, repr(curve), curve, truth, rng, routes=routes)
    except NotCertified as error:
        tally.hold(False, "not certified", repr(curve), error)


def _hold_orders(tally: Tally, name: str, curve: zcdp.Mechanism | zcdp.Plan, truth: Truth, rng: Random) -> None:
    largest = truth.largest()
    slack = SLACK * (1 + (min(largest, 1e3)))
    pure = curve.pure_epsilon
    tally.hold(pure >= largest - slack, "pure epsilon", name, f"reported {pure!r}, true {largest!r}")
    true = truth.rho(above=False)
    lower, upper = curve.rho_bounds
    tally.hold(max(upper, curve.rho) == upper >= true - 51 * slack, "rho", name, f"reported {upper!r}, true {true!r}")
    most = truth.rho(above=True)
    tally.hold(lower <= most * (1 + NEAR) + 51 * slack, "lower rho", name, f"reported {lower!r}, most {most!r}")
    for excess in (Fraction(0), Fraction(rng.randint(1, 400), 100), Fraction(rng.randint(4, 200))):
        reported = curve.rdp(1 + excess)
        s = float(excess)
        true = truth.cumulant(s, above=False) / s if s else truth.kl(above=False)
        error = slack * (1 + 1 / s if s else 1)
        tally.hold(reported >= true - error, "rdp", name, f"at {1 + excess}: reported {reported!r}, true {true!r}")


def _hold_profile(
    tally: Tally, name: str, curve: zcdp.Mechanism | zcdp.Plan, truth: Truth, rng: Random, *, routes: bool
) -> None:
    points = truth.points(rng)
    for point in points:
        epsilon = Fraction(round(point * 2**30), 2**30)
        told = truth.delta(float(epsilon))
        lower, upper = curve.delta_bounds(epsilon=epsilon)
        tally.hold(upper >= told, "delta", name, f"at {epsilon}: reported {upper!r}, true {told!r}")
        tally.hold(curve.delta_at(epsilon=epsilon) >= told, "delta_at", name, f"at {epsilon}: true {told!r}")
        place = max(float(epsilon) - NEAR, 0)
        most = truth.most(place)
        if lower > most * (1 + NEAR) + 1e-15:
            most = truth.finer(place)
        tally.hold(lower <= most * (1 + NEAR) + 1e-15, "lower delta", name, f"at {epsilon}: {lower!r}, most {most!r}")
    typical = truth.delta(points[0])
    for target in (typical if 1e-12 < typical < 1 else 0.01, exp(rng.uniform(log(1e-9), log(0.4)))):
        lower, upper = curve.epsilon_bounds(delta=target)
        reported = {"epsilon": upper, "epsilon_at": curve.epsilon_at(delta=target)}
        if routes:
            reported.update(curve.routes(delta=target))
        for route, epsilon_upper in reported.items():
            told = 0.0 if epsilon_upper == inf else truth.delta(epsilon_upper)
            tally.hold(told <= target, route, name, f"at delta {target!r}: {epsilon_upper!r} has delta {told!r}")
        place = max(lower - NEAR * (1 + lower), 0) if isfinite(lower) else BEYOND
        most = truth.most(place)
        if lower and (most + 1e-15) * (1 + NEAR) < target:
            most = truth.finer(place)
        reached = lower == 0 or (most + 1e-15) * (1 + NEAR) >= target
        tally.hold(reached, "lower epsilon", name, f"at delta {target!r}: {lower!r} has at most {most!r}")
