"""Never below the truth, at most one (rho) or two (rdp) units in the last place above it, on all that floats can hold.

The truth is tests/independent/reference.py: 250 digits from the definitions, with none of the library's formulas.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from math import exp, inf, log, nextafter
from typing import Any

import pytest
from independent import reference
from table import KINDS, Kind

EDGES = (1e-12, 2.0**-39, 1e-9, 1e-6, 0.001, 10, 745.2, 1e4, 1e6, 1e9)
EDGE_ORDERS = (1, nextafter(1, 2), 2, 1e9, 1e15)


def log_uniform(rng: random.Random, low: float, high: float) -> float:
    return min(high, max(low, exp(rng.uniform(log(low), log(high)))))


def sample(kind: Kind, points: int, seed: int) -> Iterator[tuple[Fraction, dict[str, Any], Fraction]]:
    """(budget, other parameters, order): the edges first, then log-uniform."""
    rng = random.Random(seed)

    for edge in EDGES:
        for order in EDGE_ORDERS:
            yield Fraction(edge), kind.others(rng), Fraction(order)
    for n in range(points):
        # half of the points where people live: the rest over the whole domain
        budget = log_uniform(rng, *((1e-12, 1e9) if n % 2 else (1e-8, 60)))
        yield Fraction(budget), kind.others(rng), Fraction(1 + log_uniform(rng, 1e-12, 1e9))


def check_float(value: float, truth: Any, ulps: int, what: str) -> None:
    assert value >= truth, f"{what}: {value!r} is below {truth}"
    for _ in range(ulps):
        value = nextafter(value, -inf)
    assert value <= truth, f"{what}: more than {ulps} ulp above {truth}"


def check(kind: Kind, points: int, seed: int) -> None:
    for budget, others, order in sample(kind, points, seed):
        m = kind.at(budget, **others)
        truth = {kind.mechanism.budget: budget, **others}
        check_float(m.rdp(order), reference.rdp(kind.reference, order, **truth), 2, f"{m!r}.rdp({float(order)!r})")
        rho, _ = reference.rho(kind.reference, **truth)
        check_float(m.rho, rho, 1, f"{m!r}.rho")
        assert m.rho_bounds[0] <= rho, f"{m!r}.rho_bounds"


REFERRED = [kind for kind in KINDS if kind.reference]
BY_NAME = pytest.mark.parametrize("kind", REFERRED, ids=lambda kind: kind.mechanism.__name__)


@BY_NAME
def test_fixed_sample(kind: Kind) -> None:
    check(kind, 125, seed=1)


@pytest.mark.deep
@BY_NAME
@pytest.mark.parametrize("seed", range(100, 120))
def test_ten_thousand_points(kind: Kind, seed: int) -> None:
    check(kind, 500, seed)
