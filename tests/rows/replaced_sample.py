"""Rows of `ReplacedSample`: sums over samples of two data sets of which one record differs."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
from neighbours import noise, samples
from neighbours.case import Case, Row
from neighbours.game import envelope
from neighbours.law import Pair

from rows import made
from rows.mixture_of_gaussians import masses

EXAMPLES = (
    made("ReplacedSample", made("Gaussian", sigma=1), rate="0.1"),
    made("ReplacedSample", made("Gaussian", sigma=3), rate="0.7"),
    made("ReplacedSample", made("Gaussian", sigma=2), size=10, of=100),
)


def opposite(rate: float, sigma: float) -> Pair:
    """A record of 1 in the place of one of -1, and no others: the loss grows along the line."""
    edges = np.linspace(-1 - 12 * sigma, 1 + 12 * sigma, 501)
    still, one, other = (masses(edges, middle, sigma) for middle in (0.0, 1.0, -1.0))
    logs = [np.logaddexp(np.log(1 - rate), np.log(rate) + (m * edges - 0.5) / sigma**2) for m in (1, -1)]
    p, q = (1 - rate) * still + rate * one, (1 - rate) * still + rate * other
    ends = np.log(p[[0, -1]]) - np.log(q[[0, -1]])
    return Pair.binned(p, q, np.concatenate([[ends[0]], logs[0] - logs[1], [ends[1]]]))


def _sums(rng: Random, effort: int) -> Case:
    """Sums of up to three records between -1 and 1, of which one is replaced."""
    sigma = Fraction(rng.randint(6, 40), 10)
    rate = Fraction(rng.choice((10, 100, 300, 500, 900, rng.randint(1, 999))), 1000)
    q = float(rate)
    pairs = [opposite(q, float(sigma))]
    output = samples.sums(float(sigma), -4.0, 4.0)
    for _ in range(effort + 1):
        others = [rng.choice((1.0, -1.0, rng.uniform(-1, 1))) for _ in range(rng.randint(0, 2))]
        both = [rng.choice((1.0, -1.0, 0.0, rng.uniform(-1, 1))) for _ in range(2)]
        laws = (samples.mean_over_samples(output, [*others, record], q) for record in both)
        pairs.append(Pair.exactly(*laws))
    mechanism = made("ReplacedSample", made("Gaussian", sigma=sigma), rate=rate)
    return Case(mechanism, pairs, far_rho=1 / (2 * float(sigma) ** 2))


def _planes(rng: Random, effort: int) -> Case:
    """Two records of norm at most 1 in the plane; the output is seen in squares, which tells less."""
    sigma, rate = Fraction(rng.randint(8, 30), 10), Fraction(rng.randint(20, 950), 1000)
    q = float(rate)
    pairs = [opposite(q, float(sigma))]
    line = samples.sums(float(sigma), -3.0, 3.0, bins=20)
    unmoved = np.outer(line([]), line([])).ravel()
    for _ in range(effort + 1):
        laws = []
        for _ in range(2):
            norm, angle = rng.choice((1.0, rng.random())), rng.uniform(0, 2 * np.pi)
            moved = np.outer(line([norm * np.cos(angle)]), line([norm * np.sin(angle)])).ravel()
            laws.append((1 - q) * unmoved + q * moved)
        pairs.append(Pair.exactly(*laws))
    mechanism = made("ReplacedSample", made("Gaussian", sigma=sigma), rate=rate)
    return Case(mechanism, pairs, far_rho=1 / (2 * float(sigma) ** 2))


def alike(rate: float, sigma: float) -> Pair:
    """A record of 1 in the place of one of -1, as all others are: in units of the distance of the records."""
    return samples.drawn(noise.gaussian(2 / sigma), rate)


def _fixed_sums(rng: Random, effort: int) -> Case:
    """Sums over all sets of some of two to five records between -1 and 1."""
    sigma, of = Fraction(rng.randint(6, 40), 10), rng.randint(2, 5)
    size = rng.randint(1, of - 1)
    pairs = [alike(size / of, float(sigma))]
    output = samples.sums(float(sigma), -5.0, 5.0)
    for _ in range(effort + 1):
        others = [rng.choice((1.0, -1.0, rng.uniform(-1, 1))) for _ in range(of - 1)]
        both = (rng.choice((1.0, 0.0, rng.uniform(-1, 1))), rng.choice((-1.0, rng.uniform(-1, 1))))
        pairs.append(samples.with_another(output, others, both, size))
    mechanism = made("ReplacedSample", made("Gaussian", sigma=sigma), size=size, of=of)
    sides = [side.high for pair in pairs for side in pair.both()]
    return Case(mechanism, pairs, [envelope(sides)], far_rho=2 / float(sigma) ** 2)


def _fixed_planes(rng: Random, effort: int) -> Case:
    """One of several records of norm at most 1 in the plane; the output is seen in squares, which tells less."""
    sigma, of = Fraction(rng.randint(10, 40), 10), rng.randint(2, 4)
    pairs = [alike(1 / of, float(sigma))]
    line = samples.sums(float(sigma), -1.0, 1.0, bins=24)

    def seen() -> np.ndarray:
        norm, angle = rng.choice((1.0, rng.random())), rng.uniform(0, 2 * np.pi)
        return np.outer(line([norm * np.cos(angle)]), line([norm * np.sin(angle)])).ravel()

    for _ in range(effort + 1):
        others = sum((seen() for _ in range(of - 1)), np.zeros(1))
        pairs.append(Pair.exactly(*((others + seen()) / of for _ in range(2))))
    mechanism = made("ReplacedSample", made("Gaussian", sigma=sigma), size=1, of=of)
    sides = [side.high for pair in pairs for side in pair.both()]
    return Case(mechanism, pairs, [envelope(sides)], far_rho=2 / float(sigma) ** 2)


NEIGHBOURS = (
    Row("ReplacedSample", _sums, variant="sums"),
    Row("ReplacedSample", _planes, variant="planes"),
    Row("ReplacedSample", _fixed_sums, variant="fixed size sums", deep=True),
    Row("ReplacedSample", _fixed_planes, variant="fixed size planes"),
)
TEXTS = {"ReplacedSample": lambda i: f"Gaussian(sigma={i.number()}), {i.sample()}"}
