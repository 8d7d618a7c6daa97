"""A value is called heavy only where chance does so to any of k with at most the risk: exact binomial tails. (bug E5)

Nobody holds the value: its supports are Bin(n, q). Two ends for each of k values share the risk.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb

from zcdp import UnaryEncoding
from zcdp.estimation.histogram import Counts

N, K, Q = 100, 20, Fraction(1, 4)


def tail(c: int) -> Fraction:
    return sum((comb(N, m) * Q**m * (1 - Q) ** (N - m) for m in range(c, N + 1)), Fraction(0))


def test_heavy_is_where_the_tail_is_below_its_share_of_the_risk() -> None:
    mechanism = UnaryEncoding("3/4", "1/4")
    share = Fraction(1, 20) / (2 * K)
    for c in range(25, 60):
        found = mechanism.estimate(Counts(repr(mechanism), N, [c] + [25] * (K - 1))).heavy("0.95")
        assert found.tolist() == ([0] if tail(c) <= share else []), c
