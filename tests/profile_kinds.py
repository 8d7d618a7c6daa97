"""Mechanisms of every kind that the privacy profile knows, each with the pairs of neighbours that tell the most."""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction

from independent.profile_laws import Epsilon, Law, Laws, law

import zcdp

Spec = tuple[str, Epsilon, tuple[Fraction, ...]]


@dataclass(frozen=True)
class Part:
    """A mechanism and how often; the pairs that the profile composes, and pairs of neighbours that it really has."""

    kind: str
    count: int
    mechanism: zcdp.Mechanism
    pairs: tuple[tuple[Spec, int], ...]
    attained: tuple[tuple[Spec, int], ...] | None = None
    """None: the same."""


def merged(parts: list[tuple[tuple[tuple[Spec, int], ...], int]]) -> Laws:
    counts: dict[Law, int] = {}
    for pairs, count in parts:
        for spec, times in pairs:
            one = law(*spec)
            counts[one] = counts.get(one, 0) + count * times
    return list(counts.items())


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
    "discrete gaussian",
)
# Pairs that may face either way in each use have no one law: tests/privacy/test_envelope.py has their recursion.
LOG_KINDS = ("rr of a probability", "unary encoding")
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
    if kind == "discrete gaussian":
        shift = rng.choice((1, 1, 2, 5))
        step = epsilon * max(1, round(1 / (500 * epsilon))) / max(1, round(epsilon))  # 0.002 to 1: sigma up to 50
        mechanism = zcdp.DiscreteGaussian(rho=shift * step / 2, sensitivity=shift)
        return exactly(mechanism, "discrete gaussian", step, shift)
    if kind == "rr of a probability":
        k = rng.choice((2, 3, 10))
        p = Fraction(1, k) * (1 + Fraction(rng.randrange(1, 100 * (k - 1)), 100))
        odds = p * (k - 1) / (1 - p)
        return exactly(zcdp.RandomizedResponse.from_probability(p, k), "rr", f"log({odds})", k)
    if kind == "unary encoding":
        p = Fraction(rng.randrange(20, 100), 100)
        q = p * Fraction(rng.randrange(1, 100), 100)
        return exactly(zcdp.UnaryEncoding(p, q), "two bits", Fraction(0), p, q)
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
