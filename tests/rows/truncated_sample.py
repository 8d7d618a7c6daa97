"""Rows of `TruncatedSample`: of a sample that is too large some records are left out, chosen at random."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from math import comb, prod
from random import Random

import numpy as np
from neighbours import noise, samples
from neighbours.case import Case, Row
from neighbours.law import Array, Pair

from rows import made

EXAMPLES = (
    made("TruncatedSample", made("Gaussian", sigma=1), rate="0.2", most=4, of=6),
    made("TruncatedSample", made("DiscreteLaplace", epsilon="1/2"), rate="0.3", most=2, of=4),
    made("TruncatedSample", made("Gaussian", sigma=2), rate="0.5", most=2, of=4, exactly=True),
)


def truncated(output: samples.Output, records: Sequence[float], rate: float, most: int) -> Array:
    """The mean over all samples, and over all ways to cut those that are too large."""
    total = np.zeros(len(output([])))
    for drawn in product((False, True), repeat=len(records)):
        chance = prod(rate if taken else 1 - rate for taken in drawn)
        kept = [record for record, taken in zip(records, drawn, strict=True) if taken]
        ways = list(combinations(kept, min(most, len(kept))))
        total += chance / len(ways) * np.asarray(sum(output(list(way)) for way in ways))
    return total


def seen(of: int, rate: float, most: int) -> float:
    """How likely one record out of so many is in the sample, after the cut."""
    others = of - 1
    chances = [comb(others, m) * rate**m * (1 - rate) ** (others - m) for m in range(of)]
    return rate * sum(chance * min(1.0, most / (m + 1)) for m, chance in enumerate(chances))


def _settings(rng: Random) -> tuple[Fraction, int, int]:
    of = rng.randint(1, 5)
    return Fraction(rng.choice((50, 200, 500, 800, rng.randint(1, 999))), 1000), rng.randint(1, of + 1), of


def _sums(rng: Random, effort: int) -> Case:
    """Sums of up to five records between -1 and 1 with normal noise; beside zeros one is only drawn less often."""
    sigma, (rate, most, of) = Fraction(rng.randint(5, 40), 10), _settings(rng)
    chances = (float(rate), seen(of, float(rate), most))  # alone, and beside others that are 0
    pairs = [samples.drawn(noise.gaussian(float(1 / sigma)), chance) for chance in chances]
    output = samples.sums(float(sigma), -5.0, 5.0)
    # one record pushes out its opposite
    pairs.append(_pair(output, [-1.0] * (of - 1), 1.0, float(rate), most))
    for _ in range(effort):
        others = [rng.choice((1.0, -1.0, rng.uniform(-1, 1))) for _ in range(rng.randint(0, of - 1))]
        pairs.append(_pair(output, others, rng.choice((1.0, -1.0, rng.random())), float(rate), most))
    base = made("Gaussian", sigma=sigma)
    mechanism = made("TruncatedSample", base, rate=rate, most=most, of=of)
    return Case(mechanism, pairs, ordered=True, far_rho=1 / (2 * float(sigma) ** 2))


def _exact_sums(rng: Random, effort: int) -> Case:
    """The same for just so many records as are stated: others that are not 0, or 0, but always there."""
    sigma, (rate, most, of) = Fraction(rng.randint(5, 40), 10), _settings(rng)
    pairs = [samples.drawn(noise.gaussian(float(1 / sigma)), seen(of, float(rate), most))]
    output = samples.sums(float(sigma), -5.0, 5.0)
    pairs.append(_pair(output, [-1.0] * (of - 1), 1.0, float(rate), most))
    for _ in range(effort):
        others = [rng.choice((1.0, -1.0, 0.0, rng.uniform(-1, 1))) for _ in range(of - 1)]
        pairs.append(_pair(output, others, rng.choice((1.0, -1.0, rng.random())), float(rate), most))
    base = made("Gaussian", sigma=sigma)
    mechanism = made("TruncatedSample", base, rate=rate, most=most, of=of, exactly=True)
    return Case(mechanism, pairs, ordered=True, far_rho=1 / (2 * float(sigma) ** 2))


def _counts(rng: Random, effort: int) -> Case:
    """Sums of up to five integer records."""
    distance, scale, (rate, most, of) = rng.randint(1, 2), Fraction(rng.randint(5, 60), 10), _settings(rng)
    chances = (float(rate), seen(of, float(rate), most))
    pairs = [samples.drawn(noise.geometric(1 / scale, distance), chance) for chance in chances]
    output = samples.counts(float(1 / scale), -5 * distance, 5 * distance)
    pairs.append(_pair(output, [-distance] * (of - 1), distance, float(rate), most))
    for _ in range(effort):
        others = [rng.randint(-distance, distance) for _ in range(rng.randint(0, of - 1))]
        pairs.append(_pair(output, others, rng.randint(-distance, distance), float(rate), most))
    base = made("DiscreteLaplace", scale=scale, sensitivity=distance)
    return Case(made("TruncatedSample", base, rate=rate, most=most, of=of), pairs, ordered=True)


def _pair(output: samples.Output, others: Sequence[float], record: float, rate: float, most: int) -> Pair:
    laws = (truncated(output, records, rate, most) for records in ([*others, record], list(others)))
    return Pair.exactly(*laws)


NEIGHBOURS = (
    Row("TruncatedSample", _sums, variant="ordered sums"),
    Row("TruncatedSample", _exact_sums, variant="ordered sums of just so many"),
    Row("TruncatedSample", _counts, variant="ordered integers"),
)
TEXTS = {
    "TruncatedSample": lambda i: (
        f"{i.base()}, rate={i.of_type('rate', 'Fraction')}, most={i.whole()}, of={i.whole()}"
        f"{i.draw.choice(('', ', exactly=True'))}"
    )
}
