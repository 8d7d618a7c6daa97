"""Rows of `Channel` and `LossPair`."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from random import Random

from neighbours import reports
from neighbours.case import Case, Row
from neighbours.law import Pair

from rows import made

EXAMPLES = (
    made("Channel", [[0.75, 0.25], [0.4, 0.6]]),
    made("Channel", [["1/2", "1/3", "1/6"], ["1/6", "1/2", "1/3"], ["1/3", "1/6", "1/2"]]),
    made("Channel", [["2/3", "1/6", "1/6"], ["1/3", "1/3", "1/3"], ["1/6", "1/6", "2/3"]], neighbours="adjacent"),
    made("LossPair", ["1/1000", "999/1000"], ["1/1000000", "999999/1000000"]),
)


def _channel(rng: Random, effort: int) -> Case:
    rows = [reports.some_row(rng, size) for size in [rng.randint(2, 5)] for _ in range(rng.randint(2, 4))]
    return Case(made("Channel", rows), reports.every_two(rows), every=True)


def _revealing(rng: Random, effort: int) -> Case:
    """An outcome that one input never has gives the other away."""
    rows = [reports.some_row(rng, 3), [*reports.some_row(rng, 2), Fraction(0)]]
    return Case(made("Channel", rows), reports.every_two(rows), every=True)


def _graph(rng: Random, effort: int) -> Case:
    """A path through the inputs and some more edges; at a distance, whatever so many steps along edges reach."""
    rows = [reports.some_row(rng, size) for size in [rng.randint(2, 4)] for _ in range(rng.randint(3, 5))]
    edges = {(n, n + 1) for n in range(len(rows) - 1)}
    edges |= {(i, j) for i in range(len(rows)) for j in range(i + 2, len(rows)) if rng.random() < 0.2}

    def at(steps: int) -> list[Pair]:
        reached = {(i, j) for i, j in edges} | {(j, i) for i, j in edges}
        for _ in range(steps - 1):
            reached |= {(i, k) for i, j in reached for m, k in {*edges, *((b, a) for a, b in edges)} if j == m}
        return [Pair.exactly(rows[i], rows[j]) for i, j in sorted(reached) if i < j]

    return Case(made("Channel", rows, neighbours=sorted(edges)), at(1), group=at, every=True)


def _loss_pair(variant: str, rng: Random, effort: int) -> Case:
    size = rng.randint(2, 5)
    p, q = reports.some_row(rng, size), reports.some_row(rng, size)
    ordered = bool(variant)
    return Case(made("LossPair", p, q, ordered=ordered), [Pair.exactly(p, q)], every=not ordered, ordered=ordered)


def _steps(rng: Random, effort: int) -> Case:
    """Geometric noise: the pair of adjacent inputs has two losses, so that it is given by two masses."""
    odds = Fraction(rng.randint(101, 400), 100)
    keep = odds / (1 + odds)

    def at(steps: int) -> list[Pair]:
        weights = [odds**-i * (1 / (1 - 1 / odds) if i in {0, steps} else 1) for i in range(steps + 1)]
        p = [weight / sum(weights) for weight in weights]
        return [Pair.exactly(p, p[::-1])]

    return Case(made("LossPair", [keep, 1 - keep], [1 - keep, keep]), at(1), group=at)


NEIGHBOURS = (
    Row("Channel", _channel),
    Row("Channel", _revealing, variant="zero"),
    Row("Channel", _graph, variant="graph"),
    Row("LossPair", partial(_loss_pair, "")),
    Row("LossPair", partial(_loss_pair, "ordered"), variant="ordered"),
    Row("LossPair", _steps, variant="steps"),
)
TEXTS = {"Channel": lambda i: f"[{i.rows(i.draw.randint(2, 4))}]", "LossPair": lambda i: i.rows(2)}
