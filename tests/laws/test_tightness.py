"""rho is the supremum of D(alpha)/alpha: a certified search over all orders, which uses no theorem, agrees."""

from __future__ import annotations

from math import inf, nextafter

import pytest
from table import EVERYDAY_ROWS

from zcdp import Mechanism, RandomizedResponse

# both sides of k*(epsilon), close by and far off: k* = 6.43, 8.76, 46.1, 990 at epsilon = 0.2, 1, 4, 8
THRESHOLD = tuple(
    RandomizedResponse(epsilon=epsilon, k=k)
    for epsilon, sizes in (
        ("0.2", (6, 7)),
        (1, (8, 9)),
        (4, (46, 47)),
        (8, (989, 990, 10**5)),
        ("0.001", (6, 7, 8)),
        (30, (10**12, 7 * 10**11)),
    )
    for k in sizes
)


def check(m: Mechanism) -> None:
    lower, upper = m.search_rho(1e-10)
    assert lower <= m.rho <= nextafter(upper, 1e308)
    assert upper <= lower * (1 + 2.1e-10)


@pytest.mark.parametrize("m", THRESHOLD, ids=repr)
def test_both_sides_of_the_threshold(m: Mechanism) -> None:
    check(m)


BOUNDED = [m for m in EVERYDAY_ROWS if m.is_tight and m.pure_epsilon < inf]


@pytest.mark.parametrize("m", [m for m in BOUNDED if not m.is_envelope], ids=repr)
def test_rho_is_the_supremum_over_orders(m: Mechanism) -> None:
    check(m)


# an envelope of pairs is searched by chords, which takes seconds below epsilon = 0.1
@pytest.mark.parametrize("m", [m for m in BOUNDED if m.is_envelope and m.pure_epsilon > 0.3], ids=repr)
def test_rho_of_a_class_is_the_supremum_over_orders(m: Mechanism) -> None:
    check(m)
