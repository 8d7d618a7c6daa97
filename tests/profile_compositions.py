"""Random compositions of 1 to 10^6 mechanisms of every kind, and the independent truth of their privacy profile."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import exp, inf, log, prod

from gmpy2 import mpfr
from profile_atoms import LARGEST_WINDOW, MOST_POINTS, Profile, lattices
from profile_integral import Draws, Integral
from profile_laws import Epsilon, Law, Laws, epsilon_near, largest, law, number, spread, tilt

import zcdp

Spec = tuple[str, Epsilon, tuple[Fraction, ...]]
LARGEST = 10**6
MOST_DRAWS = 40  # Laplace mechanisms that draw from their density, in the mean, for a sum over draws


@dataclass(frozen=True)
class Part:
    """A mechanism and how often; the pairs that the profile composes, and pairs of neighbours that it really has."""

    kind: str
    count: int
    mechanism: zcdp.Mechanism
    pairs: tuple[tuple[Spec, int], ...]
    attained: tuple[tuple[Spec, int], ...] | None = None
    """None: the same."""


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


def merged(parts: list[tuple[tuple[tuple[Spec, int], ...], int]]) -> Laws:
    counts: dict[Law, int] = {}
    for pairs, count in parts:
        for spec, times in pairs:
            one = law(*spec)
            counts[one] = counts.get(one, 0) + count * times
    return list(counts.items())


class Truth:
    """delta(epsilon) of a composition near a given epsilon, by the reference that suits it; None if none does."""

    def __init__(self, laws: Laws, epsilon: float) -> None:
        self.method: str | None = None
        self.laws, self.epsilon = laws, epsilon
        self.atoms = [(one, n) for one, n in laws if one.family == "atoms"]
        self.noise = [(one, n) for one, n in laws if one.family != "atoms"]
        self.c = tilt(laws, epsilon)
        draws = sum(n for _, n in self.noise)
        gaussian = any(one.family == "gaussian" for one, _ in self.noise)
        sizes = sorted(self._window(step, members) for step, members in lattices(self.atoms))
        if not self.noise:
            if prod(sizes[:-1]) <= MOST_POINTS and sizes[-1] <= LARGEST_WINDOW:
                self.method = "lattice"
        elif draws <= 3 and not gaussian and prod(sizes) <= MOST_POINTS / 4**draws and max(sizes, default=0) <= 9000:
            self.method = "lattice and noise"
        elif len(self.noise) == 1 and self.noise[0][0].family == "laplace" and prod(sizes) <= 9:
            [(one, count)] = self.noise
            x = float(one.top) * (self.c + 0.5)
            share = 1 / (1 + 2 * (self.c + 0.5) / max(1 - 2 / (exp(min(2 * x, 600)) + 1), 1e-300))
            if count * share * prod(sizes) <= MOST_DRAWS:
                self.method = "draws"
        if self.noise and self.method is None and sum(n > 0 for _, n in self.noise):
            self.integral = Integral(laws, epsilon)
            if self.integral.possible:
                self.method = "integral"

    def _window(self, step: Fraction, members: Laws) -> int:
        unit = float(members[0][0].step) / float(members[0][0].lattice[1])
        whole = sum(one.span * n for one, n in members) / (float(step) * unit) + 1
        return int(min(whole, 34 * spread(members, self.c) / (float(step) * unit) + 60))

    def delta(self, epsilon: Fraction) -> object:
        if self.method == "integral":
            return self.integral.delta(epsilon)
        if self.method == "draws":
            [(one, count)] = self.noise
            points = [(mpfr(0), mpfr(1))]
            for atom, n in self.atoms:
                for _ in range(n):
                    masses = [(atom.top - atom.step * i, mass) for i, mass in enumerate(atom.masses)]
                    points = [(a + b, m * k) for a, m in points for b, k in masses]
            noise = Draws(one.top, count)
            return sum(mass * noise.delta(number(epsilon) - loss) for loss, mass in points)
        assert self.method is not None
        if not hasattr(self, "profile"):
            self.profile = Profile(self.atoms, mpfr(self.c), self.noise)
        return self.profile.delta(epsilon)


def some_epsilon(rng: random.Random, low: float = 1e-7, high: float = 10.0) -> Fraction:
    """Log-uniform: as people write it, any float, or a ratio of small numbers times a power of ten."""
    x, style = exp(rng.uniform(log(low), log(high))), rng.random()
    if style < 0.5:
        return Fraction(f"{x:.{rng.choice((0, 1, 2))}e}")
    if style < 0.75:
        return Fraction(float(f"{x:.{rng.choice((1, 17))}e}"))
    return Fraction(f"{x:.0e}") * Fraction(rng.randrange(1, 10), rng.randrange(1, 10))


def _ratio(rng: random.Random, low: int = 2, high: int = 20) -> Fraction:
    return Fraction(rng.randrange(low, high))


ATOM_KINDS = (
    "pure",
    "total variation",
    "rr",
    "rappor",
    "discrete laplace",
    "discrete laplace vector",
    "optimized unary encoding",
    "subset selection",
    "hadamard",
    "local hashing",
    "staircase",
)
LOG_KINDS = ("rr of a probability", "unary encoding", "binary response")
LAPLACE_KINDS = ("laplace", "laplace vector", "permute and flip", "sparse vector", "noisy max laplace")
LOGISTIC_KINDS = ("logistic", "exponential", "bounded range", "noisy max gumbel")
KINDS = (*ATOM_KINDS, *LOG_KINDS, *LAPLACE_KINDS, *LOGISTIC_KINDS, "gaussian")


def some_part(rng: random.Random, kind: str, epsilon: Fraction, count: int) -> Part:
    """One mechanism with random parameters; `epsilon` is its largest loss where it has one to set."""

    def exactly(mechanism: zcdp.Mechanism, name: str, e: Epsilon = epsilon, *extra: int | Fraction) -> Part:
        return Part(kind, count, mechanism, (((name, e, tuple(map(Fraction, extra))), 1),))

    def at_most(mechanism: zcdp.Mechanism, name: str, *attained: Spec) -> Part:
        return Part(kind, count, mechanism, (((name, epsilon, ()), 1),), tuple((spec, 1) for spec in attained))

    if kind == "pure":
        return exactly(zcdp.PureDP(epsilon=epsilon), "pure")
    if kind == "total variation":
        distance = Fraction(rng.choice(("0.5", "0.001", "1e-6")))
        return exactly(zcdp.PureDP(epsilon=epsilon, total_variation=distance), "total variation", epsilon, distance)
    if kind in {"rr", "local hashing"}:
        k = rng.choice((2, 3, 5, 40, 10**6))
        m = zcdp.RandomizedResponse(epsilon=epsilon, k=k) if kind == "rr" else zcdp.LocalHashing(epsilon=epsilon, g=k)
        return exactly(m, "rr", epsilon, k)
    if kind == "rappor":
        return exactly(zcdp.RAPPOR(epsilon=epsilon), "rappor")
    if kind == "discrete laplace":
        size = rng.choice((1, 2, 3, 5, 10))
        return exactly(zcdp.DiscreteLaplace(epsilon=epsilon, sensitivity=size), "geometric", epsilon, size)
    if kind == "discrete laplace vector":
        m = zcdp.DiscreteLaplace(epsilon=7 * epsilon, sensitivity=zcdp.L1LInf(7, 3))
        pairs = (("geometric", 3 * epsilon, (Fraction(3),)), 2), (("geometric", epsilon, (Fraction(1),)), 1)
        return Part(kind, count, m, pairs)
    if kind == "optimized unary encoding":
        return exactly(zcdp.OptimizedUnaryEncoding(epsilon=epsilon), "one half")
    if kind == "hadamard":
        return exactly(zcdp.HadamardResponse(epsilon=epsilon), "one half")
    if kind == "subset selection":
        k = rng.choice((4, 20, 100))
        size = rng.randrange(1, k)
        return exactly(zcdp.SubsetSelection(epsilon=epsilon, k=k, size=size), "subset", epsilon, k, size)
    if kind == "staircase":
        gamma = rng.choice((None, Fraction(1, 5), Fraction(1, 2)))
        return exactly(
            zcdp.Staircase(epsilon=epsilon, gamma=gamma), "staircase", epsilon, *([] if gamma is None else [gamma])
        )
    if kind == "rr of a probability":
        k = rng.choice((2, 3, 10))
        p = Fraction(1, k) * (1 + Fraction(rng.randrange(1, 100 * (k - 1)), 100))
        odds = p * (k - 1) / (1 - p)
        return exactly(zcdp.RandomizedResponse.from_probability(p, k), "rr", f"log({odds})", k)
    if kind in {"unary encoding", "binary response"}:
        p = Fraction(rng.randrange(20, 100), 100)
        q = p * Fraction(rng.randrange(1, 100), 100)
        if kind == "unary encoding":
            return exactly(zcdp.UnaryEncoding(p, q), "two bits", Fraction(0), p, q)
        loss = max(p / q, (1 - q) / (1 - p))
        own: Spec = ("one bit", Fraction(0), (p, q))
        return Part(kind, count, zcdp.BinaryRandomizedResponse(p, q), ((("pure", f"log({loss})", ()), 1),), ((own, 1),))
    if kind == "laplace":
        return exactly(zcdp.Laplace(epsilon=epsilon), "laplace")
    if kind == "laplace vector":
        width = rng.choice((2, 3, 20))
        m = zcdp.Laplace(epsilon=width * epsilon, sensitivity=zcdp.L0LInf(width, 1))
        return Part(kind, count, m, ((("laplace", epsilon, ()), width),))
    if kind == "permute and flip":
        return at_most(zcdp.PermuteAndFlip(epsilon=epsilon), "laplace", ("selection", epsilon, ()))
    if kind == "sparse vector":
        share = epsilon * Fraction(rng.randrange(1, 10), 10)
        m = zcdp.SparseVector(epsilon_threshold=share, epsilon_queries=epsilon - share, positives=rng.choice((1, 20)))
        return at_most(m, "laplace")
    if kind == "noisy max laplace":
        return at_most(zcdp.ReportNoisyMax(epsilon=epsilon, noise=rng.choice(("laplace", "exponential"))), "laplace")
    if kind == "logistic":
        return exactly(zcdp.Logistic(epsilon=epsilon), "logistic")
    if kind == "gaussian":
        return exactly(zcdp.Gaussian(rho=epsilon), "gaussian")
    # two candidates, their utilities moved by one sensitivity in opposite directions
    half: Spec = ("pure", epsilon / 2, ())
    if kind == "exponential":
        return at_most(zcdp.ExponentialMechanism(epsilon=epsilon), "logistic", half)
    if kind == "bounded range":
        return at_most(zcdp.BoundedRange(eta=epsilon), "logistic", half)
    assert kind == "noisy max gumbel"
    return at_most(zcdp.ReportNoisyMax(epsilon=epsilon, noise="gumbel"), "logistic", half)


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
    for n in _sizes(rng, 6, low=15):
        kind = rng.choice((*LAPLACE_KINDS, *LOGISTIC_KINDS, *LOGISTIC_KINDS, *ATOM_KINDS, "gaussian", "gaussian"))
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
    if style < 0.45:
        return None, Fraction(10**-digits)
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
