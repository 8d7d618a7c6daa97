"""Random compositions of 1 to 10^6 mechanisms of every kind, with an epsilon or a delta to ask for."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import exp, inf, log

from independent.profile_laws import Laws, epsilon_near, largest, log_delta_at_zero
from independent.profile_truth import Truth
from profile_kinds import ATOM_KINDS, LAPLACE_KINDS, LOG_KINDS, LOGISTIC_KINDS, Part, merged, some_part

import zcdp

LARGEST = 10**6


@dataclass(frozen=True)
class Composition:
    """Parts, and the epsilon or the delta that is asked for."""

    family: str
    parts: tuple[Part, ...]
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    laws: Laws = field(default_factory=list, repr=False)

    @property
    def plan(self) -> zcdp.Plan:
        return zcdp.Plan.sum_of(*(part.count * part.mechanism for part in self.parts))

    @property
    def size(self) -> int:
        return sum(part.count for part in self.parts)

    @property
    def is_exact(self) -> bool:
        return all(part.attained is None for part in self.parts)

    @property
    def attained_laws(self) -> Laws:
        return merged([(part.pairs if part.attained is None else part.attained, part.count) for part in self.parts])


def some_epsilon(rng: random.Random, low: float = 1e-7, high: float = 10.0) -> Fraction:
    """Log-uniform: as people write it, any float, or a ratio of small numbers times a power of ten."""
    x, style = exp(rng.uniform(log(low), log(high))), rng.random()
    if style < 0.5:
        return Fraction(f"{x:.{rng.choice((0, 1, 2))}e}")
    if style < 0.75:
        return Fraction(float(f"{x:.{rng.choice((1, 17))}e}"))
    return Fraction(f"{x:.0e}") * Fraction(rng.randrange(1, 10), rng.randrange(1, 10))


def split(rng: random.Random, whole: int, parts: int) -> list[int]:
    cuts = sorted(rng.sample(range(1, whole), parts - 1)) if rng.random() < 0.5 else None
    if cuts is None:  # of different orders of magnitude
        sizes = [exp(rng.uniform(0, log(whole))) for _ in range(parts)]
        counts = [max(1, int(size / sum(sizes) * (whole - parts))) for size in sizes]
        counts[-1] = max(1, counts[-1] + whole - sum(counts))
        return counts
    return [b - a for a, b in zip([0, *cuts], [*cuts, whole], strict=True)]


def _sizes(rng: random.Random, most_parts: int, low: int = 1, high: int = LARGEST) -> list[int]:
    """Log-uniform in total, over one to a few parts."""
    whole = round(exp(rng.uniform(log(low), log(high))))
    return split(rng, whole, min(rng.randrange(1, most_parts + 1), whole))


def _multiple(rng: random.Random) -> Fraction:
    return rng.choice((Fraction(1), Fraction(2), Fraction(3), Fraction(1, 2)))


def one_lattice(rng: random.Random) -> list[Part]:
    base = some_epsilon(rng, high=5)
    return [some_part(rng, rng.choice(ATOM_KINDS), base * _multiple(rng), n) for n in _sizes(rng, 6)]


def one_logarithm(rng: random.Random) -> list[Part]:
    return [some_part(rng, rng.choice(LOG_KINDS), Fraction(1), n) for n in _sizes(rng, 1)]


def several_lattices(rng: random.Random) -> list[Part]:
    bases = [some_epsilon(rng) for _ in range(rng.choice((2, 2, 3)))]
    return [
        some_part(rng, rng.choice((*ATOM_KINDS, *ATOM_KINDS, *LOG_KINDS)), rng.choice(bases), n)
        for n in _sizes(rng, 4, low=2)
    ]


def lattice_and_noise(rng: random.Random) -> list[Part]:
    base = some_epsilon(rng)
    noisy = [
        some_part(rng, rng.choice((*LAPLACE_KINDS, *LOGISTIC_KINDS)), base * Fraction(rng.choice((1, 3, 7, 50)), 3), 1)
        for _ in range(rng.choice((1, 1, 2)))
    ]
    return [*noisy, *(some_part(rng, rng.choice(ATOM_KINDS), base * _multiple(rng), n) for n in _sizes(rng, 4))]


def laplaces(rng: random.Random) -> list[Part]:
    [count] = _sizes(rng, 1)
    epsilon = some_epsilon(rng, 1e-7, min(10.0, 60 / count))
    parts = [some_part(rng, rng.choice(LAPLACE_KINDS), epsilon, count)]
    if rng.random() < 0.3:
        parts.append(some_part(rng, rng.choice(ATOM_KINDS[:4]), some_epsilon(rng), 1))
    return parts


def much_noise(rng: random.Random) -> list[Part]:
    parts = []
    few_atoms = [kind for kind in ATOM_KINDS if kind != "discrete gaussian"]  # for the integral's sake
    for n in _sizes(rng, 6, low=15):
        kind = rng.choice((*LAPLACE_KINDS, *LOGISTIC_KINDS, *LOGISTIC_KINDS, *few_atoms, "gaussian", "gaussian"))
        low = min(max(60 / n, 1e-7), 5.0) if kind in LAPLACE_KINDS else 1e-7
        parts.append(some_part(rng, kind, some_epsilon(rng, low, 10), n))
    return parts


FAMILIES: dict[str, Callable[[random.Random], list[Part]]] = {
    "one lattice": one_lattice,
    "one logarithm": one_logarithm,
    "several lattices": several_lattices,
    "lattice and noise": lattice_and_noise,
    "laplaces": laplaces,
    "much noise": much_noise,
}


def _target(rng: random.Random, laws: Laws) -> tuple[Fraction | None, Fraction | None]:
    """epsilon from 0 to near the largest loss, or where delta is from nearly 1 to 1e-300; or such a delta."""
    top, style = largest(laws), rng.random()
    digits = 10 ** rng.uniform(-2, 2.2) if style < 0.97 else rng.uniform(150, 300)
    if style < 0.4:  # below delta(0), so that epsilon is above 0
        digits += 0.25 - log_delta_at_zero(laws) / log(10)
    if style < 0.45:
        return None, Fraction(10 ** -min(digits, 300.0))
    if style < 0.5:
        return Fraction(0), None
    if style < 0.65 and top < inf:
        return Fraction(top * rng.random()), None
    if style < 0.7 and top < inf:
        return Fraction(top * (1 - 10 ** -rng.uniform(0.5, 5))), None
    return Fraction(epsilon_near(laws, -log(10) * digits)), None


def some_composition(rng: random.Random, family: str) -> Composition:
    """One that an independent reference can answer."""
    while True:
        parts = tuple(FAMILIES[family](rng))
        laws = merged([(part.pairs, part.count) for part in parts])
        epsilon, delta = _target(rng, laws)
        near = epsilon_near(laws, log(delta)) if epsilon is None and delta else float(epsilon or 0)
        if sum(part.count for part in parts) <= LARGEST and Truth(laws, near).method is not None:
            return Composition(family, parts, epsilon, delta, laws)
