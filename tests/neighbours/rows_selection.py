"""Rows of the table: selection by scores, and the sparse vector technique."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from random import Random

import zcdp
from neighbours import noise, selection, streams
from neighbours.law import Pair
from neighbours.table import Case, row, some_epsilon

WINNERS = {
    "gumbel": selection.exponential,
    "exponential": selection.permute_and_flip,
    "laplace": selection.laplace_max,
}


def _pairs(winner: selection.Winner, epsilon: Fraction, rng: Random, effort: int, steps: int, *, one_way: bool) -> list:
    rate = float(epsilon) if one_way else float(epsilon) / 2
    found = selection.worst_two(winner, rate, steps, monotone=one_way)
    found += selection.neighbours(winner, rate, rng, effort, steps, monotone=one_way)
    if winner is selection.laplace_max and not one_way:
        found += selection.two_against_three(winner, rate, steps)
    return found


def _selection(kind: type[zcdp.Mechanism], kept: str, variant: str, rng: Random, effort: int) -> Case:
    epsilon = some_epsilon(rng)
    at = partial(_pairs, WINNERS[kept], epsilon, rng, effort, one_way=variant.endswith("monotone"))
    extra: dict[str, object] = {"noise": kept} if kind is zcdp.ReportNoisyMax else {}
    extra["monotone"] = variant.endswith("monotone")

    def both(steps: int) -> list[Pair]:
        """What scores that move both ways may do: the lower ends are about them."""
        return _pairs(WINNERS[kept], epsilon, rng, 0, steps, one_way=False)

    def family(steps: int) -> Callable[[float], Pair]:
        """Two candidates at every lead; of Gumbel noise, where at high orders the worst lead is large, by the loss."""
        if kept == "gumbel":
            whole = float(epsilon) * steps
            return lambda share: selection.gumbel_two(whole, whole * share)
        rate = float(epsilon) / 2
        return lambda share: selection.two(WINNERS[kept], rate, 2 * steps * share, steps, monotone=False)

    mechanism = kind(epsilon=epsilon, **extra)  # type: ignore[call-arg]
    if kept == "laplace":  # no lower end is about its worst pair, which is not known
        return Case(mechanism, at(1), both(1), group=at, far_limits=both)
    return Case(mechanism, at(1), both(1), family(1), group=at, far_limits=both, far_family=family)


for _variant in ("", "monotone"):
    _one = partial(_selection, zcdp.ExponentialMechanism, "gumbel", _variant)
    row(zcdp.ExponentialMechanism, variant=_variant, deep=bool(_variant))(_one)
    _one = partial(_selection, zcdp.PermuteAndFlip, "exponential", _variant)
    row(zcdp.PermuteAndFlip, variant=_variant, deep=bool(_variant))(_one)
for _noise in WINNERS:
    for _variant in (_noise, f"{_noise} monotone"):
        row(zcdp.ReportNoisyMax, variant=_variant)(partial(_selection, zcdp.ReportNoisyMax, _noise, _variant))


def _top_k(noise: str, variant: str, rng: Random, effort: int) -> Case:
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
        return [family(steps)(0.5), *_pairs(winner, each, rng, 0, steps, one_way=False)]

    mechanism = zcdp.TopK(epsilon=k * each, k=k, noise=noise, monotone=one_way)
    return Case(mechanism, at(1), limits(1), family(1), group=at, far_limits=limits, far_family=family)


for _noise in WINNERS:
    for _variant in ("", "monotone"):
        _name = f"{_noise} {_variant}".strip()
        row(zcdp.TopK, variant=_name, deep=bool(_variant) or _noise == "laplace")(partial(_top_k, _noise, _variant))


def _sparse_vector(variant: str, rng: Random, effort: int) -> Case:
    """The worst stream is not known: lower ends are held below the Laplace pair at the whole epsilon, which is worse.

    The stream of which they are is looked at in `test_streams`.
    """
    threshold, queries = some_epsilon(rng, 0.1, 3), some_epsilon(rng, 0.1, 3)
    positives = rng.randint(1, 3)
    one_way = bool(variant)
    share = float(queries) / (positives if one_way else 2 * positives)

    def at(steps: int) -> list[Pair]:
        level = -1 / (4 * share)
        moved = [level + steps] * 5 + [level if one_way else level - steps] * 12
        long = streams.first_positive([level] * 17, moved, float(threshold), share)
        some = [
            streams.neighbours(rng, float(threshold), share, positives, steps, monotone=one_way)
            for _ in range(effort + 1)
        ]
        return [*some, long, streams.extreme(float(threshold), share, positives, steps, monotone=one_way)]

    def whole(steps: int) -> list[Pair]:
        return [noise.laplace(steps * float(threshold + queries))]

    mechanism = zcdp.SparseVector(
        epsilon_threshold=threshold, epsilon_queries=queries, positives=positives, monotone=one_way
    )
    return Case(mechanism, at(1), whole(1), group=at, far_limits=whole)


row(zcdp.SparseVector)(partial(_sparse_vector, ""))
row(zcdp.SparseVector, variant="monotone")(partial(_sparse_vector, "monotone"))
