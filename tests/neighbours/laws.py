"""The laws over the table: one mechanism, groups, compositions of several kinds, and adversaries that adapt."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import zcdp
from neighbours.case import Case, Row, some_rows
from neighbours.checks import Tally, hold
from neighbours.truth import WAYS, Truth, adaptive, coarse, facing
from zcdp import Plan


def seeded(*key: object) -> Random:
    return Random(" ".join(map(str, key)))


def one(row: Row, seed: int, tally: Tally, *, effort: int = 4, routes: bool = False) -> None:
    """The mechanism by itself, and so many times."""
    rng = seeded(row.name, seed)
    case = row.draw(rng, effort)
    hold(tally, case.mechanism, Truth([(case, 1)], rng, effort), rng, routes=routes)
    count = rng.randint(2, 6)
    hold(tally, count * case.mechanism, Truth([(case, count)], rng, min(effort, 3)), rng, routes=routes)


def group(row: Row, seed: int, tally: Tally, *, effort: int = 4) -> None:
    """Inputs at a distance of two to four neighbours; to refuse an answer is sound."""
    rng = seeded(row.name, "group", seed)
    case = row.draw(rng, effort)
    steps = rng.randint(2, 4)
    try:
        far = case.mechanism.group(steps)
    except (ValueError, TypeError):
        tally.refused += 1
        return
    pairs = case.pairs if case.group is None else case.group(steps)
    limits = () if case.far_limits is None else case.far_limits(steps)
    family = None if case.far_family is None else case.far_family(steps)
    rho = 0.0 if case.group_rho is None else case.group_rho(steps)
    apart = Case(far, pairs, limits, family, every=case.every, ordered=case.ordered, far_rho=rho)
    hold(tally, far, Truth([(apart, 1)], rng, effort), rng)
    count = rng.randint(2, 3)
    hold(tally, count * far, Truth([(apart, count)], rng, 2), rng)


def mixed(first: Row, seed: int, tally: Tally, *, effort: int = 3, slow: bool = False) -> None:
    """Two to four kinds of mechanism, each so many times, neighbours and directions mixed."""
    rng = seeded("mixed", first.name, seed)
    rows = [first, *some_rows(rng, first.beside(slow=slow), rng.randint(1, 3))]
    parts = [(row.draw(rng, effort), rng.randint(1, 3)) for row in rows]
    plan = Plan.sum_of(*(count * case.mechanism for case, count in parts))
    hold(tally, plan, Truth(parts, rng, effort), rng)


def adapted(first: Row, seed: int, tally: Tally, *, slow: bool = False) -> None:
    """Two or three runs where the next neighbours are chosen by what came out so far: delta and epsilon only."""
    rng = seeded("adapted", first.name, seed)
    rows = [first, *some_rows(rng, first.beside(slow=slow), rng.randint(1, 2))]
    if rng.random() < 0.5:
        rows = [first] * len(rows)
    case = first.draw(rng, 3)
    cases = [case if row is first else row.draw(rng, 3) for row in rows]
    plan: zcdp.Plan = Plan.sum_of(*(case.mechanism for case in cases))
    some = [(rng.sample(list(case.pairs), min(len(case.pairs), 4)), case.ordered) for case in cases]
    ways = WAYS if any(case.ordered for case in cases) else WAYS[:1]
    known = [[coarse(facing(pairs, way, ordered=ordered), 24) for pairs, ordered in some] for way in ways]
    top = max(sum(max(law.largest() for law in laws) for laws in way) for way in known)

    def reach(epsilon: float) -> float:
        return max(adaptive(way, epsilon) for way in known)

    for _ in range(2):
        epsilon = Fraction(round(rng.random() * min(top, 5) * 2**20), 2**20)
        told, reported = reach(float(epsilon)), plan.delta_at(epsilon=epsilon)
        tally.hold(reported >= told, "adaptive delta", repr(plan), f"at {epsilon}: {reported!r}, true {told!r}")
        if told > 1e-12:
            bound = plan.epsilon_at(delta=told)
            reached = reach(bound)
            tally.hold(reached <= told, "adaptive epsilon", repr(plan), f"at {told!r}: {bound!r} has {reached!r}")
