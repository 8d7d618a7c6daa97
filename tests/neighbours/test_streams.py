"""The stream that the lower end of sparse vector is of: admissible, and as costly as is said, integrated once more."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import exp, log

import pytest

from neighbours import streams
from neighbours.case import some_epsilon
from neighbours.law import Law
from neighbours.laws import seeded
from neighbours.peak import peak
from zcdp import SparseVector
from zcdp.mechanisms.selection import sparse_vector_lower as stream


@pytest.mark.parametrize("monotone", [False, True])
def test_the_lower_end_is_of_a_stream(monotone: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """rho is at least what this stream costs, at its worst order; the lower end is at most that, and comes near it."""
    asked: list[tuple[tuple[Fraction, ...], Fraction, Fraction]] = []
    original = stream.first_positive

    def spied(levels: Sequence[Fraction], rate: Fraction, query_rate: Fraction) -> object:
        asked.append((tuple(levels), rate, query_rate))
        return original(levels, rate, query_rate)

    monkeypatch.setattr(stream, "first_positive", spied)
    for n in range(6):
        rng = seeded("stream", monotone, n)
        threshold, queries, positives = some_epsilon(rng, 0.1, 3), some_epsilon(rng, 0.1, 3), rng.randint(1, 3)
        asked.clear()
        lower, upper = SparseVector(
            epsilon_threshold=threshold, epsilon_queries=queries, positives=positives, monotone=monotone
        ).rho_bounds
        (before, rate, share), (after, *rates) = asked[-2:]
        assert (rate, share) == tuple(rates) == (threshold, queries / (positives if monotone else 2 * positives))
        moves = {b - a for a, b in zip(before, after, strict=True)}
        assert moves <= ({0, 1} if monotone else {-1, 0, 1})
        law = streams.first_positive(list(map(float, before)), list(map(float, after)), float(rate), float(share)).low

        def cost(x: float, law: Law = law) -> float:
            s = exp(x)
            return law.cumulant(s) / (s * (1 + s))

        told = max(law.kl(), cost(peak(cost, log(0.02), log(2000))))
        assert 0.99 * told <= lower <= told * (1 + 1e-9), (threshold, queries, positives)
        assert told <= upper * (1 + 1e-9)
