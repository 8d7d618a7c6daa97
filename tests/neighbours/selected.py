"""Cases of selection by noisy scores."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from random import Random

from rows import made

from neighbours import selection
from neighbours.case import Case, some_epsilon
from neighbours.law import Pair

WINNERS = {
    "gumbel": selection.exponential,
    "exponential": selection.permute_and_flip,
    "laplace": selection.laplace_max,
}


def pairs(winner: selection.Winner, epsilon: Fraction, rng: Random, effort: int, steps: int, *, one_way: bool) -> list:
    """Neighbours of one selection: the worst known ones first."""
    rate = float(epsilon) if one_way else float(epsilon) / 2
    found = selection.worst_two(winner, rate, steps, monotone=one_way)
    found += selection.neighbours(winner, rate, rng, effort, steps, monotone=one_way)
    if winner is selection.laplace_max and not one_way:
        found += selection.two_against_three(winner, rate, steps)
    return found


def one_of_scores(name: str, kept: str, variant: str, rng: Random, effort: int, **options: object) -> Case:
    """One selection with noise of this kind; `variant` says whether scores all move the same way."""
    epsilon = some_epsilon(rng)
    at = partial(pairs, WINNERS[kept], epsilon, rng, effort, one_way=variant.endswith("monotone"))

    def both(steps: int) -> list[Pair]:
        """What scores that move both ways may do: the lower ends are about them."""
        return pairs(WINNERS[kept], epsilon, rng, 0, steps, one_way=False)

    def family(steps: int) -> Callable[[float], Pair]:
        """Two candidates at every lead; of Gumbel noise, where at high orders the worst lead is large, by the loss."""
        if kept == "gumbel":
            whole = float(epsilon) * steps
            return lambda share: selection.gumbel_two(whole, whole * share)
        rate = float(epsilon) / 2
        return lambda share: selection.two(WINNERS[kept], rate, 2 * steps * share, steps, monotone=False)

    call = made(name, epsilon=epsilon, monotone=variant.endswith("monotone"), **options)
    if kept == "laplace":  # no lower end is about its worst pair, which is not known
        return Case(call, at(1), both(1), group=at, far_limits=both)
    return Case(call, at(1), both(1), family(1), group=at, far_limits=both, far_family=family)
