"""Checks of the formulas for rho against a certified search over all orders, which uses the cumulant alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from math import inf, nextafter

from zcdp.mechanisms import (
    L2,
    MECHANISMS,
    RAPPOR,
    BinaryRandomizedResponse,
    BoundedRange,
    Channel,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    IntegerNoise,
    L0LInf,
    Laplace,
    Logistic,
    Mechanism,
    Noise,
    PermuteAndFlip,
    PureDP,
    RandomizedResponse,
    ReportNoisyMax,
    SparseVector,
    Staircase,
    TruncatedGeometric,
)
from zcdp.privacy.curve import Plan
from zcdp.verification.checks import Check
from zcdp.verification.proofs import cover, prove, three_point

__all__ = ["checks", "examples"]

EPSILONS = ("0.1", "1", "4")
DEEP = ("0.001", "0.03", "1/3", "2", "7", "20")  # further epsilons of a deep run
TOLERANCE = 1e-10
"""Relative width of the enclosures that the search over orders is asked for."""


def checks(*, deep: bool) -> Iterator[Check]:
    """One or more checks for each formula."""
    for m in _mechanisms(EPSILONS + DEEP if deep else EPSILONS):
        yield Check(_page(m), f"{m!r}: rho is the supremum over all orders", partial(_searched, m))
    for bound in (ReportNoisyMax(epsilon=1), SparseVector(epsilon_threshold=1, epsilon_queries=2)):
        yield Check(bound.theorem, f"{bound!r}: a concrete pair stays below the bound", partial(_between, bound))
    for m in (Gaussian(sigma=3), Gaussian(sigma="0.7")):
        yield Check("gaussian", f"{m!r}: the Renyi curve is the line rho alpha", partial(_is_line, m))
    yield Check("discrete-gaussian", "the curve lies below that of Gaussian noise", _discrete_gaussian)
    yield Check("supremum", "4-RR as a bare matrix of probabilities has the rho of its formula", _matrix)
    yield Check("boxes", "6-RR is proved on boxes of parameters, and 7-RR, where the claim is false, is not", _boxes)
    yield Check("own-noise", "Laplace noise written as a density has the rho of its formula", _written)
    yield Check("shift", "of noise with one mode the larger shift has the larger delta, of two modes not", _shifts)
    yield Check("vector-queries", "twenty cells that move by one cost twenty times one cell", _cells)
    yield Check("vector-queries", "under L2 a Laplace move costs the quadratic epsilon^2/2", _euclidean)
    yield Check("discrete-gaussian-vectors", "one whole move by 2 and four by 1 are covered", _whole_moves)
    yield Check("logistic-vectors", "moves of logistic noise add up, and cost more the fewer they are", _logistic_moves)


def examples(covered: set[str]) -> Iterator[Check]:
    """One check of each mechanism whose theorem is not covered, by the first example in its docstring."""
    for kind in MECHANISMS:
        found = re.search(rf">>>.*?\b({kind.__name__}\([^()]*(?:\([^()]*\)[^()]*)*\))", kind.__doc__ or "")
        if found and kind.theorem not in covered:
            [(m, _)] = Plan.parse(found[1]).parts
            assert isinstance(m, Mechanism)
            holds = partial(_searched if m.is_tight else _between, m)
            yield Check(kind.theorem, f"{m!r}: rho is the supremum over all orders, or bounds it", holds)


def _mechanisms(epsilons: tuple[str, ...]) -> Iterator[Mechanism]:
    for e in epsilons:
        yield PureDP(epsilon=e)
        yield PureDP(epsilon=e, total_variation="0.01")
        yield Laplace(epsilon=e)
        yield DiscreteLaplace(epsilon=e, sensitivity=3)
        yield Logistic(epsilon=e)
        yield RAPPOR(epsilon=e)
        yield Staircase(epsilon=e)
        for k in (3, 8, 9, 2925):
            yield RandomizedResponse(epsilon=e, k=k)
        if e in {"1", "4"}:  # the supremum over many pairs is searched by chords, which is slow at small epsilon
            yield BoundedRange(eta=e)
            yield PermuteAndFlip(epsilon=e)
    yield BinaryRandomizedResponse("0.6", "0.1")
    yield TruncatedGeometric(epsilon=1, n=5)


def _page(m: Mechanism) -> str:
    return "three-point" if isinstance(m, RandomizedResponse) else m.theorems[0]


def _searched(m: Mechanism) -> bool:
    lower, upper = m.search_rho(TOLERANCE)
    return lower <= m.rho <= nextafter(upper, inf) and upper <= lower * (1 + 3 * TOLERANCE)


def _between(m: Mechanism) -> bool:
    lower, upper = m.rho_bounds
    return 0 < lower <= upper == m.rho


def _is_line(m: Mechanism) -> bool:
    return all(abs(m.rdp(order) - order * m.rho) <= 1e-15 * order * m.rho for order in (1, 2, 10, 1000))


def _discrete_gaussian() -> bool:
    smooth, whole = Gaussian(sigma="0.7"), DiscreteGaussian(sigma="0.7")
    return all(whole.rdp(order) <= smooth.rdp(order) for order in (1, "1.5", 2, 5, 20))


def _matrix() -> bool:
    epsilon = Channel([["2/5" if i == j else "1/5" for j in range(4)] for i in range(4)])
    formula = RandomizedResponse(epsilon="log(2)", k=4)
    return abs(epsilon.rho - formula.rho) <= 2 * TOLERANCE * formula.rho


def _written() -> bool:
    lower, upper = Noise("exp(-abs(x))").rho_bounds
    return lower <= Laplace(epsilon=1).rho <= upper <= lower * (1 + 1e-8)


def _shifts() -> bool:
    one = [IntegerNoise([1, 3, 4, 2], sensitivity=d).delta_at(epsilon=1) for d in (1, 2, 3)]
    two = IntegerNoise([9, 1, 0, 1, 9], sensitivity=3).delta_at(epsilon=0)
    return one == sorted(one) and two >= 0.95


def _cells() -> bool:
    many, one = DiscreteLaplace(scale=5, sensitivity=L0LInf(20, 1)), DiscreteLaplace(scale=5)
    return abs(many.rho - 20 * one.rho) <= 1e-15 * many.rho


def _whole_moves() -> bool:
    whole = DiscreteGaussian(sigma=3, sensitivity=L2(2))
    moves = DiscreteGaussian(sigma=3, sensitivity=2), DiscreteGaussian(sigma=3, sensitivity=L0LInf(4, 1))
    return all(one.rho == whole.rho and one.delta_at(epsilon=1) < whole.delta_at(epsilon=1) for one in moves)


def _logistic_moves() -> bool:
    one, two = Logistic(epsilon=1), 2 * Logistic(epsilon="1/2")
    cells = Logistic(epsilon=1, sensitivity=L0LInf(2, 1))
    small, limit = 400 * Logistic(epsilon="1/20"), Logistic(scale=1, sensitivity=L2(1))
    return (
        abs(cells.rho - two.rho) < 1e-15
        and two.delta_at(epsilon="0.3") < one.delta_at(epsilon="0.3")
        and small.rho < limit.rho < 1.001 * small.rho
    )


def _euclidean() -> bool:
    return abs(Laplace(scale=4, sensitivity=L2(2)).rho - 0.125) <= 1e-16


def _boxes() -> bool:
    return (
        prove(partial(three_point, k=6), cover()).proved
        and not prove(partial(three_point, k=7), cover(), most=5000).proved
    )
