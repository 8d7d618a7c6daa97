"""Rows of `TopK`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

from neighbours import selection
from neighbours.case import Case, Row, some_epsilon
from neighbours.law import Pair
from neighbours.selected import WINNERS, pairs

from rows import kind, made

KINDS = (kind("TopK", {"k": 1}, {"k": 7}, {"k": 3, "noise": "exponential", "monotone": True}),)


def _case(noise: str, variant: str, rng: Random, effort: int) -> Case:
    """A few candidates, by all ways to select k of them; very many tied ones are k independent choices of two.

    Of two groups of ties, however large, each selection tells which group it came from: in the limit it is the member
    of bounded range at any position, again and again.
    """
    one_way, each, k, winner = bool(variant), some_epsilon(rng, 0.02, 2), rng.randint(2, 3), WINNERS[noise]
    rate = float(each) if one_way else float(each) / 2

    def tied(steps: int) -> Pair:
        scores = [float(steps)] * 3 + [0.0] * 3
        other = [float(steps)] * 3 + [float(steps)] * 3 if one_way else [0.0] * 3 + [float(steps)] * 3
        return selection.peeled_pair(winner, scores, other, rate, k)

    def at(steps: int) -> list[Pair]:
        found = [tied(steps)]
        for _ in range(effort):
            scores, other = selection.moved_scores(rng, rng.randint(k, 5), steps, monotone=one_way)
            found.append(selection.peeled_pair(winner, scores, other, rate, k))
        return found

    def family(steps: int) -> Callable[[float], Pair]:
        return lambda share: selection.gumbel_two(float(each) * steps, float(each) * steps * share).power(k)

    def limits(steps: int) -> list[Pair]:
        """The balanced ones; and the first selection alone, among two."""
        return [family(steps)(0.5), *pairs(winner, each, rng, 0, steps, one_way=False)]

    call = made("TopK", epsilon=k * each, k=k, noise=noise, monotone=one_way)
    return Case(call, at(1), limits(1), family(1), group=at, far_limits=limits, far_family=family)


NEIGHBOURS = [
    Row(
        "TopK",
        partial(_case, noise, variant),
        variant=f"{noise} {variant}".strip(),
        deep=bool(variant) or noise == "laplace",
    )
    for noise in WINNERS
    for variant in ("", "monotone")
]
TEXTS = {"TopK": lambda i: f"epsilon={i.number()}, k={i.whole()}, noise={i.draw.choice(list(WINNERS))!r}"}
