"""What shuffled randomized response attains is no lower end of another randomizer."""

from __future__ import annotations

from math import exp

import pytest

from zcdp import RAPPOR, OptimizedUnaryEncoding, Shuffled


@pytest.mark.parametrize("kind", [RAPPOR, OptimizedUnaryEncoding])
def test_one_client_by_unary_encoding(kind: type) -> None:
    """One report alone: the total variation of two bits, well below tanh(epsilon/2) of randomized response."""
    p, q = (exp(0.5) / (1 + exp(0.5)), 1 / (1 + exp(0.5))) if kind is RAPPOR else (0.5, 1 / (1 + exp(1.0)))
    rows = [(p * (1 - q), q * (1 - p)), (q * (1 - p), p * (1 - q)), (p * q, q * p), ((1 - p) * (1 - q),) * 2]
    for at in (0.0, 0.25, 0.5):
        true = sum(max(a - exp(at) * b, 0.0) for a, b in rows)
        lower, upper = Shuffled(kind(epsilon=1), clients=1).delta_bounds(epsilon=at)
        assert lower <= true * (1 + 1e-12), at
        assert upper >= true * (1 - 1e-12), at
