"""Rows of `PureDP` and `PureGroup`: all mechanisms of which little is known."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from random import Random

from independent import reference
from neighbours import chains, classes, noise
from neighbours.case import Case, Row, some_epsilon
from neighbours.law import Pair

from rows import kind, made


def _worst(epsilon: reference.Rational) -> reference.Pair:
    """Binary randomised response."""
    return reference.Pair([reference.atom(epsilon, 0), reference.atom(0, epsilon)])


KINDS = (
    kind("PureDP", reference=_worst),
    kind("PureDP", {"total_variation": "0.001"}, {"total_variation": 1}),
    kind("PureGroup", {}, {"size": 3}),
)


def _pure(rng: Random, effort: int) -> Case:
    epsilon = some_epsilon(rng)

    def group(steps: int) -> list[Pair]:
        walks = [chains.pure_chain(float(epsilon), steps, rng) for _ in range(effort)]
        return [noise.geometric(epsilon, steps), *walks]

    members = [classes.pure(float(epsilon), rng) for _ in range(effort)]
    return Case(made("PureDP", epsilon=epsilon), [classes.binary(float(epsilon)), *members], group=group)


def _total_variation(rng: Random, effort: int) -> Case:
    epsilon, distance = some_epsilon(rng), Fraction(rng.randint(1, 1000), 1000)
    e, tv = float(epsilon), float(distance)

    def group(steps: int) -> list[Pair]:
        return [chains.diluted_chain(e, tv, steps)]

    def at_most(steps: int) -> list[Pair]:
        """Losses and distances add up along a chain, and this pair tells the most of all that obey both sums."""
        return [classes.diluted(steps * e, min(1.0, steps * tv))]

    members = [classes.within_distance(e, tv, rng) for _ in range(effort)]
    call = made("PureDP", epsilon=epsilon, total_variation=distance)
    return Case(call, [classes.diluted(e, tv), *members], group=group, far_limits=at_most)


def _pure_group(neighbours: str, rng: Random, effort: int) -> Case:
    """Several steps of which each is pure DP; the geometric chain attains the bound, and others stay below it."""
    step, size = some_epsilon(rng, 0.02, 2), rng.randint(1, 4)

    def at(steps: int) -> list[Pair]:
        walks = [chains.pure_chain(float(step), steps * size, rng) for _ in range(effort)]
        return [noise.geometric(step, steps * size), *walks]

    return Case(made("PureGroup", epsilon=step * size, size=size, neighbours=neighbours), at(1), group=at)


NEIGHBOURS = (
    Row("PureDP", _pure),
    Row("PureDP", _total_variation, variant="total variation"),
    Row("PureGroup", partial(_pure_group, "either")),
    Row("PureGroup", partial(_pure_group, "add_remove"), variant="add_remove"),
)
