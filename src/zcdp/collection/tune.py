"""The best member of a family within a budget: its shape by golden section, its budget certified by the library."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log
from typing import NamedTuple

from zcdp.collection.budget import Budget
from zcdp.collection.families import Family
from zcdp.mechanisms import Mechanism
from zcdp.numeric.certify import NotCertified

__all__ = ["Tuned", "certified", "tune"]

GOLDEN = (5**0.5 - 1) / 2
CELLS, ROUNDS = 12, 22
SHRINKS = (0.0, 1e-8, 1e-6, 1e-4, 1e-2)


class Tuned(NamedTuple):
    """A proposal in floats."""

    family: Family
    shape: float
    epsilon: float
    variance: float
    """Of one report's estimate."""


def tune(family: Family, budget: Budget, count: int, frequency: float) -> Tuned:
    """The member of least variance of which `count` reports fit."""

    def at(shape: float) -> Tuned:
        epsilon = budget.largest_epsilon(lambda e: family.kappa(e, shape), count)
        return Tuned(family, shape, epsilon, family.variance(epsilon, shape, frequency))

    span = family.shapes()
    if span is None:
        return at(1.0)
    best = _least(lambda x: at(exp(x)).variance, *span)
    return min((at(shape) for shape in family.whole(exp(best))), key=lambda one: one.variance)


def _least(measure: Callable[[float], float], low: float, high: float) -> float:
    """Where a function is least: a grid, then golden section. A proposal: nothing rests on it."""
    if high - low < 1e-9:
        return low
    grid = [low + (high - low) * n / CELLS for n in range(CELLS + 1)]
    best = min(range(CELLS + 1), key=lambda n: measure(grid[n]))
    left, right = grid[max(best - 1, 0)], grid[min(best + 1, CELLS)]
    inner, outer = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
    at_inner, at_outer = measure(inner), measure(outer)
    for _ in range(ROUNDS):
        if at_inner < at_outer:
            right, outer, at_outer = outer, inner, at_inner
            inner = right - GOLDEN * (right - left)
            at_inner = measure(inner)
        else:
            left, inner, at_inner = inner, outer, at_outer
            outer = left + GOLDEN * (right - left)
            at_outer = measure(outer)
        if right - left < log(1.001):
            break
    return (left + right) / 2


def certified(proposal: Tuned, budget: Budget, count: int) -> Mechanism:
    """The mechanism, after the library itself has certified that so many reports stay within the budget."""
    for shrink in SHRINKS:
        mechanism = proposal.family.build(proposal.epsilon * (1 - shrink), proposal.shape)
        if budget.holds(count * mechanism):
            return mechanism
    raise NotCertified(f"{count} reports of {proposal.family.build(proposal.epsilon, proposal.shape)!r} do not fit")
