"""Rows of `Subsampled`: on a Poisson sample neighbours differ by one record and face one way."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from random import Random

from neighbours import noise, reports, samples
from neighbours.case import Case, Row, some_epsilon, some_rows
from neighbours.game import envelope
from neighbours.law import Pair

from rows import every, made

EXAMPLES = (
    made("Subsampled", made("Gaussian", sigma=1), rate="0.5"),
    made("Subsampled", made("DiscreteLaplace", epsilon=1), rate="0.3"),
    made("Subsampled", made("RandomizedResponse", epsilon="1/2", k=4), rate="0.9"),
)
SLOW = {"Laplace", "Logistic", "Gaussian", "BoundedRange", "ExponentialMechanism", "TopK"}
"""Bases whose losses, or those of a pair that dominates, fill the line: left to the deeper law, but normal noise."""
DEEP = 4


def _rate(rng: Random) -> Fraction:
    return Fraction(rng.choice((1, 3, 10, 100, 300, 500, 800, 950, rng.randint(1, 999))), 1000)


def _above(pairs: Sequence[Pair]) -> list[Pair]:
    """One that tells what any of these tells: which of them is worst depends on what is asked."""
    return [envelope([pair.high for pair in pairs])]


def _some_base(rng: Random, effort: int, **how: object) -> tuple[Case, object]:
    """Any of the table that can be sampled, and its neighbours."""
    rows = [one for one in every("NEIGHBOURS") if one.of != "Subsampled" and one.variant != "zero"]
    while True:
        [chosen] = some_rows(rng, rows, 1)
        if chosen.is_ordered or (effort < DEEP and chosen.of in SLOW):
            continue
        base = chosen.draw(rng, effort)
        try:
            return base, made("Subsampled", base.mechanism, **how).build()
        except ValueError:  # of unbounded losses only those of Gaussian noise, of several coordinates none
            continue


def _any(rng: Random, effort: int) -> Case:
    """On one record or none: the neighbours of the base in either order."""
    rate = _rate(rng)
    base, mechanism = _some_base(rng, effort, rate=rate)
    pairs = [samples.drawn(side, float(rate)) for pair in base.pairs for side in pair.both()]
    limits = [samples.drawn(side, float(rate)) for pair in base.limits for side in pair.both()]
    return Case(mechanism, pairs, limits or _above(pairs), ordered=True, far_rho=base.far_rho)


def _any_fixed(rng: Random, effort: int) -> Case:
    """All records but one are alike, and equal to what replaces it: it is drawn, or nothing is told."""
    of = rng.randint(2, 12)
    size = rng.randint(1, of)
    base, mechanism = _some_base(rng, effort, size=size, of=of)
    pairs = [samples.drawn(side, size / of) for pair in base.pairs for side in pair.both()]
    limits = [samples.drawn(side, size / of) for pair in base.limits for side in pair.both()]
    both = [side for pair in (*pairs, *limits) for side in pair.both()]
    return Case(mechanism, pairs, _above(both), far_rho=base.far_rho)


def _fixed(rng: Random, effort: int) -> Case:
    """Sums over all sets of some of two to five records from 0 to the sensitivity."""
    distance, scale = rng.randint(1, 3), Fraction(rng.randint(5, 60), 10)
    of = rng.randint(2, 5)
    size = rng.randint(1, of - 1)
    output = samples.counts(float(1 / scale), 0, of * distance)
    pairs = [samples.with_another(output, [0] * (of - 1), (distance, 0), size)]
    for _ in range(effort + 1):
        others = [rng.randint(0, distance) for _ in range(of - 1)]
        one, other = rng.sample(range(distance + 1), 2)
        pairs.append(samples.with_another(output, others, (one, other), size))
    base = made("DiscreteLaplace", scale=scale, sensitivity=distance)
    both = [side for pair in pairs for side in pair.both()]
    return Case(made("Subsampled", base, size=size, of=of), pairs, _above(both))


def _counts(rng: Random, effort: int) -> Case:
    """Sums of one to four integer records."""
    distance, scale, rate = rng.randint(1, 3), Fraction(rng.randint(5, 60), 10), _rate(rng)
    t = float(1 / scale)
    pairs = [samples.drawn(noise.geometric(1 / scale, distance), float(rate))]
    for _ in range(effort + 1):
        others = [rng.randint(-distance, distance) for _ in range(rng.randint(0, 3))]
        record = rng.choice((distance, -distance, rng.randint(-distance, distance)))
        output = samples.counts(t, -4 * distance, 4 * distance)
        pairs.append(samples.with_and_without(output, others, record, float(rate)))
    mechanism = made("DiscreteLaplace", scale=scale, sensitivity=distance)
    return Case(made("Subsampled", mechanism, rate=rate), pairs, ordered=True)


def _sums(rng: Random, effort: int) -> Case:
    """Sums of one to four bounded records with normal noise, as a step of DP-SGD."""
    sigma, rate = Fraction(rng.randint(5, 40), 10), _rate(rng)
    pairs = [samples.drawn(noise.gaussian(float(1 / sigma)), float(rate))]
    for _ in range(effort + 1):
        others = [rng.choice((1.0, -1.0, rng.uniform(-1, 1))) for _ in range(rng.randint(0, 3))]
        output = samples.sums(float(sigma), -4.0, 4.0)
        pairs.append(samples.with_and_without(output, others, rng.choice((1.0, -1.0, rng.random())), float(rate)))
    base = made("Gaussian", sigma=sigma)
    return Case(made("Subsampled", base, rate=rate), pairs, ordered=True, far_rho=1 / (2 * float(sigma) ** 2))


def _reports(rng: Random, effort: int) -> Case:
    """One person's report; who is not drawn, or not there, reports a fixed value."""
    epsilon, k, rate = some_epsilon(rng), rng.randint(2, 5), _rate(rng)
    if rng.random() < 0.5:
        rows, base = reports.response(epsilon, k), made("RandomizedResponse", epsilon=epsilon, k=k)
    else:
        rows = [reports.some_row(rng, 3) for _ in range(k)]
        base = made("Channel", rows)
    pairs: list[Pair] = []
    for fixed, value in permutations(range(k), 2):
        output = samples.report([rows[fixed], rows[value]])  # type: ignore[list-item]
        pairs.append(samples.with_and_without(output, [0.0] * rng.randint(0, 2), 1.0, float(rate)))
    return Case(made("Subsampled", base, rate=rate), pairs, _above(pairs), ordered=True)


NEIGHBOURS = (
    Row("Subsampled", _any, variant="ordered"),
    Row("Subsampled", _any_fixed, variant="fixed size"),
    Row("Subsampled", _fixed, variant="fixed size integers"),
    Row("Subsampled", _counts, variant="ordered integers"),
    Row("Subsampled", _sums, variant="ordered sums"),
    Row("Subsampled", _reports, variant="ordered reports"),
)
TEXTS = {"Subsampled": lambda i: f"{i.base()}, {i.sample()}"}
