"""Rows of the table: local randomizers, channels, and classes of mechanisms of which little is known."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import exp
from random import Random

import numpy as np

import zcdp
from neighbours import chains, classes, noise, reports, selection
from neighbours.law import Pair
from neighbours.table import Case, row, some_epsilon


@row(zcdp.TruncatedGeometric, "scalar")
def _truncated(rng: Random, effort: int) -> Case:
    epsilon, n = some_epsilon(rng), rng.randint(1, 7)
    distance = rng.randint(1, n)
    rows = reports.truncated(epsilon, distance, n)
    mechanism = zcdp.TruncatedGeometric(epsilon=epsilon, n=n, sensitivity=distance)

    def at(steps: int) -> list[Pair]:
        return reports.within(rows, steps * distance)

    return Case(mechanism, at(1), group=at, every=True)


@row(zcdp.RandomizedResponse)
def _response(rng: Random, effort: int) -> Case:
    epsilon, k = some_epsilon(rng), rng.choice((2, 3, 4, 7, 12))
    mechanism = zcdp.RandomizedResponse(epsilon=epsilon, k=k)
    return Case(mechanism, reports.every_two(reports.response(epsilon, k))[: effort + 1])


@row(zcdp.RandomizedResponse, variant="probability")
def _response_of_probability(rng: Random, effort: int) -> Case:
    k = rng.choice((2, 3, 5))
    p = Fraction(1, k) + (1 - Fraction(1, k)) * Fraction(rng.randint(1, 98), 100)
    rows = [[p if x == y else (1 - p) / (k - 1) for y in range(k)] for x in range(k)]
    return Case(zcdp.RandomizedResponse.from_probability(p, k), reports.every_two(rows)[: effort + 1])


def _binary(variant: str, rng: Random, effort: int) -> Case:
    low, high = sorted(rng.sample(range(1, 200), 2))
    p, q = Fraction(high, 200), Fraction(low, 200)
    ordered = bool(variant)
    mechanism = zcdp.BinaryRandomizedResponse(p, q, ordered=ordered)
    return Case(mechanism, [Pair.exactly([p, 1 - p], [q, 1 - q])], every=not ordered, ordered=ordered)


row(zcdp.BinaryRandomizedResponse)(partial(_binary, ""))
row(zcdp.BinaryRandomizedResponse, variant="ordered")(partial(_binary, "ordered"))


@row(zcdp.RAPPOR)
def _rappor(rng: Random, effort: int) -> Case:
    epsilon = some_epsilon(rng)
    p = 1 / (1 + exp(-epsilon / 2))
    return Case(
        zcdp.RAPPOR(epsilon=epsilon), reports.every_two(reports.bits(p, 1 - p, rng.randint(2, 5)))[: effort + 1]
    )


@row(zcdp.UnaryEncoding)
def _unary(rng: Random, effort: int) -> Case:
    low, high = sorted(rng.sample(range(1, 100), 2))
    p, q = Fraction(high, 100), Fraction(low, 100)
    return Case(zcdp.UnaryEncoding(p, q), reports.every_two(reports.bits(p, q, rng.randint(2, 5)))[: effort + 1])


@row(zcdp.OptimizedUnaryEncoding)
def _optimized(rng: Random, effort: int) -> Case:
    epsilon = some_epsilon(rng)
    rows = reports.bits(0.5, 1 / (exp(epsilon) + 1), rng.randint(2, 5))
    return Case(zcdp.OptimizedUnaryEncoding(epsilon=epsilon), reports.every_two(rows)[: effort + 1])


@row(zcdp.SubsetSelection)
def _subset(rng: Random, effort: int) -> Case:
    epsilon, k = some_epsilon(rng), rng.randint(2, 7)
    size = rng.randint(1, k - 1)
    mechanism = zcdp.SubsetSelection(epsilon=epsilon, k=k, size=size)
    return Case(mechanism, reports.every_two(reports.subsets(epsilon, k, size))[: effort + 1])


def _hadamard(variant: str, rng: Random, effort: int) -> Case:
    epsilon, blocks = some_epsilon(rng), rng.randint(2, 3) if variant else 1
    pairs = reports.every_two(reports.hadamard(epsilon, rng.randint(1 if variant else 2, 3), blocks))
    # the first and the last value lie in different blocks, if there are several
    width = int((1 + (1 + 8 * len(pairs)) ** 0.5) / 2)
    return Case(zcdp.HadamardResponse(epsilon=epsilon, blocks=blocks), [pairs[width - 2], *pairs[: effort + 1]])


row(zcdp.HadamardResponse)(partial(_hadamard, ""))
row(zcdp.HadamardResponse, variant="blocks")(partial(_hadamard, "blocks"))


def _hashing(variant: str, rng: Random, effort: int) -> Case:
    epsilon, g = some_epsilon(rng), rng.randint(2, 4)
    hashes = reports.families(rng, g) if variant else [(0, 1, rng.randrange(g))]
    mechanism = zcdp.LocalHashing(epsilon=epsilon, g=g, random_hash=bool(variant))
    pairs = reports.every_two(reports.hashing(epsilon, g, hashes))
    every = reports.every_two(reports.hashing(epsilon, g, reports.families(Random(0), g)[: g**3])) if variant else []
    return Case(mechanism, [*every[:1], *(pair for pair in pairs if pair.low.largest() > 0)])


row(zcdp.LocalHashing)(partial(_hashing, ""))
row(zcdp.LocalHashing, variant="random")(partial(_hashing, "random"))


@row(zcdp.LinearHashing)
def _linear(rng: Random, effort: int) -> Case:
    epsilon, g = some_epsilon(rng), rng.choice((2, 3, 5))
    digits = rng.randint(1, 2)
    k = rng.randint(max(2, g ** (digits - 1) + 1), g**digits)
    pairs = reports.every_two(reports.hashing(epsilon, g, reports.linear(g, digits, k)))
    return Case(zcdp.LinearHashing(epsilon=epsilon, g=g, k=k), pairs[: effort + 1])


@row(zcdp.MemoizedRAPPOR)
def _memoized(rng: Random, effort: int) -> Case:
    low, high = sorted(rng.sample(range(5, 96), 2))
    f, p, q = Fraction(rng.randint(10, 90), 100), Fraction(low, 100), Fraction(high, 100)
    collections = rng.randint(1, 3)
    mechanism = zcdp.MemoizedRAPPOR(f=f, p=p, q=q, collections=collections)
    return Case(mechanism, reports.every_two(reports.remembered(f, p, q, collections)))


@row(zcdp.Channel)
def _channel(rng: Random, effort: int) -> Case:
    rows = [reports.some_row(rng, size) for size in [rng.randint(2, 5)] for _ in range(rng.randint(2, 4))]
    return Case(zcdp.Channel(rows), reports.every_two(rows), every=True)


@row(zcdp.Channel, variant="zero")
def _revealing(rng: Random, effort: int) -> Case:
    """An outcome that one input never has gives the other away."""
    rows = [reports.some_row(rng, 3), [*reports.some_row(rng, 2), Fraction(0)]]
    return Case(zcdp.Channel(rows), reports.every_two(rows), every=True)


def _loss_pair(variant: str, rng: Random, effort: int) -> Case:
    size = rng.randint(2, 5)
    p, q = reports.some_row(rng, size), reports.some_row(rng, size)
    ordered = bool(variant)
    return Case(zcdp.LossPair(p, q, ordered=ordered), [Pair.exactly(p, q)], every=not ordered, ordered=ordered)


row(zcdp.LossPair)(partial(_loss_pair, ""))
row(zcdp.LossPair, variant="ordered")(partial(_loss_pair, "ordered"))


@row(zcdp.LossPair, variant="steps")
def _steps(rng: Random, effort: int) -> Case:
    """Geometric noise: the pair of adjacent inputs has two losses, so that it is given by two masses."""
    odds = Fraction(rng.randint(101, 400), 100)
    keep = odds / (1 + odds)

    def at(steps: int) -> list[Pair]:
        weights = [odds**-i * (1 / (1 - 1 / odds) if i in {0, steps} else 1) for i in range(steps + 1)]
        p = [weight / sum(weights) for weight in weights]
        return [Pair.exactly(p, p[::-1])]

    return Case(zcdp.LossPair([keep, 1 - keep], [1 - keep, keep]), at(1), group=at)


@row(zcdp.PureDP)
def _pure(rng: Random, effort: int) -> Case:
    epsilon = some_epsilon(rng)

    def group(steps: int) -> list[Pair]:
        walks = [chains.pure_chain(float(epsilon), steps, rng) for _ in range(effort)]
        return [noise.geometric(epsilon, steps), *walks]

    members = [classes.pure(float(epsilon), rng) for _ in range(effort)]
    return Case(zcdp.PureDP(epsilon=epsilon), [classes.binary(float(epsilon)), *members], group=group)


def _pure_group(neighbours: str, rng: Random, effort: int) -> Case:
    """Several steps of which each is pure DP; the geometric chain attains the bound, and others stay below it."""
    step, size = some_epsilon(rng, 0.02, 2), rng.randint(1, 4)

    def at(steps: int) -> list[Pair]:
        walks = [chains.pure_chain(float(step), steps * size, rng) for _ in range(effort)]
        return [noise.geometric(step, steps * size), *walks]

    return Case(zcdp.PureGroup(epsilon=step * size, size=size, neighbours=neighbours), at(1), group=at)


for _neighbours in ("either", "add_remove"):
    row(zcdp.PureGroup, variant="" if _neighbours == "either" else _neighbours)(partial(_pure_group, _neighbours))


@row(zcdp.PureDP, variant="total variation")
def _total_variation(rng: Random, effort: int) -> Case:
    epsilon, distance = some_epsilon(rng), Fraction(rng.randint(1, 1000), 1000)
    e, tv = float(epsilon), float(distance)

    def group(steps: int) -> list[Pair]:
        return [chains.diluted_chain(e, tv, steps)]

    def at_most(steps: int) -> list[Pair]:
        """Losses and distances add up along a chain, and this pair tells the most of all that obey both sums."""
        return [classes.diluted(steps * e, min(1.0, steps * tv))]

    members = [classes.within_distance(e, tv, rng) for _ in range(effort)]
    mechanism = zcdp.PureDP(epsilon=epsilon, total_variation=distance)
    return Case(mechanism, [classes.diluted(e, tv), *members], group=group, far_limits=at_most)


@row(zcdp.BoundedRange)
def _bounded_range(rng: Random, effort: int) -> Case:
    eta = some_epsilon(rng)

    def family(steps: int) -> Callable[[float], Pair]:
        whole = float(eta) * steps
        return lambda share: selection.gumbel_two(whole, whole * share)

    def group(steps: int) -> list[Pair]:
        """A walk: each step changes the weights by factors between 1 and e^eta."""
        found = [family(steps)(0.5)]
        for _ in range(effort):
            size = rng.randint(2, 5)
            first = np.array([rng.random() + 0.01 for _ in range(size)])
            factor = np.array([sum(rng.choice((0, 1, rng.random())) for _ in range(steps)) for _ in range(size)])
            last = first * np.exp(float(eta) * factor)
            found.append(Pair.exactly(first / first.sum(), last / last.sum()))
        return found

    members = [classes.bounded_range(float(eta), rng) for _ in range(effort)]
    pairs = [family(1)(0.5), *members]
    return Case(zcdp.BoundedRange(eta=eta), pairs, (), family(1), group=group, far_family=family)


@row(zcdp.Shuffled)
def _shuffled(rng: Random, effort: int) -> Case:
    """One to four clients; one of them holds another value, and which reports came is all that is seen."""
    epsilon, k, clients = some_epsilon(rng), rng.randint(2, 4), rng.randint(1, 4)
    size = rng.randint(1, k - 1)
    base: zcdp.Mechanism
    if rng.random() < 0.5:
        rows, base = reports.response(epsilon, k), zcdp.RandomizedResponse(epsilon=epsilon, k=k)
    else:
        rows, base = reports.subsets(epsilon, k, size), zcdp.SubsetSelection(epsilon=epsilon, k=k, size=size)
    pairs = []
    for n in range(effort + 2):
        one, other, *rest = rng.sample(range(k), k)
        alike = [other, *rest[:1]]  # all others alike are the worst that are known: as the second value, or as a third
        others = [alike[n]] * (clients - 1) if n < len(alike) else [rng.randrange(k) for _ in range(clients - 1)]
        laws = [reports.shuffled(rows, [value, *others]) for value in (one, other)]
        pairs.append(Pair.exactly(*([law[key] for key in laws[0]] for law in laws)))
    return Case(zcdp.Shuffled(base, clients=clients), pairs)
