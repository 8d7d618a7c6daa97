"""Rows of `MixtureOfGaussians`: persons whose records are drawn one by one, in any directions."""

from __future__ import annotations

from fractions import Fraction
from math import comb, erfc, sqrt
from random import Random
from typing import Any

import numpy as np
from neighbours import samples
from neighbours.case import Case, Row
from neighbours.law import Pair

from rows import made

EXAMPLES = (
    made("MixtureOfGaussians", sigma=1, rate="0.5", examples=2),
    made("MixtureOfGaussians", sigma=2, sensitivities=["1/2", 2], probabilities=["0.3", "0.1"]),
    made("MixtureOfGaussians", sigma=1, sensitivities=[1, 2], probabilities=["0.5", "0.5"]),
)
BINS, REACH = 400, 12.0


def masses(edges: np.ndarray, middle: float, sigma: float) -> np.ndarray:
    """The normal law of each bin, the two beyond the edges included; each from the side on which nothing cancels."""
    x = (edges - middle) / (sigma * sqrt(2))
    upper = np.array([erfc(t) / 2 for t in x])
    lower = np.array([erfc(-t) / 2 for t in x])
    inside = np.where(x[:-1] > 0, upper[:-1] - upper[1:], lower[1:] - lower[:-1])
    return np.concatenate([[lower[0]], inside, [upper[-1]]])


def mixed(moves: list[tuple[float, float]], sigma: float) -> Pair:
    """Normal laws at the moves, with their chances, against one at 0: the loss grows along the line."""
    edges = np.linspace(-REACH * sigma, max(m for m, _ in moves) + REACH * sigma, BINS + 1)
    q = masses(edges, 0.0, sigma)
    p = np.asarray(sum(chance * masses(edges, move, sigma) for move, chance in moves))
    logs = [np.log(chance) + (move * edges - move**2 / 2) / sigma**2 for move, chance in moves]
    losses = np.logaddexp.reduce(logs)
    ends = np.log(p[[0, -1]]) - np.log(q[[0, -1]])
    return Pair.binned(p, q, np.concatenate([[ends[0]], losses, [ends[1]]]))


def _persons(rng: Random, effort: int) -> Case:
    """A person has one to three records between -1 and 1, beside some of others."""
    most, sigma = rng.randint(1, 3), Fraction(rng.randint(8, 40), 10)
    rate = Fraction(rng.choice((10, 100, 300, 500, 900, rng.randint(1, 999))), 1000)
    q = float(rate)

    def alike(persons: int) -> list[Pair]:
        """The records of so many persons, all of length 1 and in one direction."""
        n = most * persons
        return [mixed([(j, comb(n, j) * q**j * (1 - q) ** (n - j)) for j in range(n + 1)], float(sigma))]

    def far_rho(persons: int) -> float:
        return (most * persons / float(sigma)) ** 2 / 2

    pairs = alike(1)
    output = samples.sums(float(sigma), -5.0, 5.0)
    for _ in range(effort + 1):
        others = [rng.choice((1.0, -1.0, rng.uniform(-1, 1))) for _ in range(rng.randint(0, 2))]
        own = [rng.choice((1.0, -1.0, rng.uniform(-1, 1))) for _ in range(rng.randint(1, most))]
        laws = (samples.mean_over_samples(output, records, q) for records in ([*others, *own], others))
        pairs.append(Pair.exactly(*laws))
    mechanism = made("MixtureOfGaussians", sigma=sigma, rate=rate, examples=most)
    return Case(mechanism, pairs, ordered=True, group=alike, far_rho=far_rho(1), group_rho=far_rho)


def _planes(rng: Random, effort: int) -> Case:
    """Moves of the given lengths in directions of the plane; the output is seen in squares, which tells less."""
    sigma = Fraction(rng.randint(8, 30), 10)
    lengths = sorted({Fraction(rng.randint(1, 30), 10) for _ in range(rng.randint(1, 3))})
    weights = [rng.randint(1, 9) for _ in lengths]
    whole = sum(weights) + rng.choice((0, 1, 40))
    chances = [Fraction(weight, whole) for weight in weights]
    moves = [(float(m), float(p)) for m, p in zip(lengths, chances, strict=True)]
    still = 1 - sum(chances)
    pairs = [mixed([*([(0.0, float(still))] if still else []), *moves], float(sigma))]
    line = samples.sums(float(sigma), -3.0, 3.0, bins=20)
    for _ in range(effort + 1):
        angles = [rng.uniform(0, 2 * np.pi) for _ in moves]
        places = [(m * np.cos(a), m * np.sin(a)) for (m, _), a in zip(moves, angles, strict=True)]
        outer = [np.outer(line([x]), line([y])).ravel() for x, y in places]
        unmoved = np.outer(line([]), line([])).ravel()
        with_it = float(still) * unmoved + sum(p * law for (_, p), law in zip(moves, outer, strict=True))
        pairs.append(Pair.exactly(with_it, unmoved))
    mechanism = made("MixtureOfGaussians", sigma=sigma, sensitivities=lengths, probabilities=chances)
    return Case(mechanism, pairs, ordered=True, far_rho=float(max(lengths) / sigma) ** 2 / 2)


NEIGHBOURS = (
    Row("MixtureOfGaussians", _persons, variant="ordered sums"),
    Row("MixtureOfGaussians", _planes, variant="ordered planes"),
)


def _text(inputs: Any) -> str:
    """Either form; probabilities that are drawn at random often add up to more than 1, which is refused."""
    sigma, count = inputs.number(), inputs.draw.randint(1, 3)
    chances = [inputs.of_type("rate", "Fraction") for _ in range(count)]
    if inputs.draw.random() < 0.5:
        return f"sigma={sigma}, rate={chances[0]}, examples={inputs.draw.choice((1, 2, 5))}"
    moves = ", ".join(inputs.number() for _ in range(count))
    return f"sigma={sigma}, sensitivities=[{moves}], probabilities=[{', '.join(chances)}]"


TEXTS = {"MixtureOfGaussians": _text}
