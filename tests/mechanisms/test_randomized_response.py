"""Randomized response: below k* its peak is in the limit of order 1, above it at a greater order."""

from __future__ import annotations

from math import expm1, floor, nextafter

import pytest

from zcdp import RandomizedResponse


def largest_k_of_order_one(epsilon: float) -> float:
    """k*(epsilon): above it the peak of k-RR is not in the limit of order 1."""
    rise = expm1(epsilon)
    return 2 * rise * (rise - epsilon) / (epsilon * (rise + 2) - 2 * rise)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2, 4])
def test_the_threshold_of_randomized_response(epsilon: float) -> None:
    """Below k* the peak is in the limit of order 1, above it at a greater order: two claims, each with its search."""
    below = floor(largest_k_of_order_one(epsilon))
    for k, at_one in ((below, True), (below + 1, False)):
        m = RandomizedResponse(epsilon=epsilon, k=k)
        lower, upper = m.search_rho(1e-10)
        assert (m.rho_order == 1) is at_one
        assert lower <= m.rho <= nextafter(upper, 1e308)
        assert (m.rho > m.rdp(1)) is not at_one
