"""The accuracy of ranks: half-widths against simulated noise, and the bins they leave out."""

from __future__ import annotations

from fractions import Fraction
from math import log

import numpy as np
import pytest

from zcdp import DiscreteGaussian, ExponentialMechanism
from zcdp.accounting.rank_accuracy import RankErrors, selected_rank_errors
from zcdp.tables.cumulated_counts import CumulatedCounts, group_sizes


@pytest.mark.parametrize("q", ["1/2", "9/10"])
def test_a_half_width_is_exceeded_by_one_error_in_twenty(q: str) -> None:
    target, bins, runs = Fraction(q), 20, 20_000
    errors = RankErrors(CumulatedCounts(group_sizes(bins)), DiscreteGaussian(sigma=6))
    rng = np.random.default_rng(4)
    for edge in (0, 9, 18):
        made = np.zeros(runs)
        for share, many in errors.counts.terms(target, edge):
            made += float(share) * np.rint(rng.normal(0, 6, (runs, many))).sum(axis=1)
        half = float(errors.half_width(target, edge))
        assert np.mean(np.abs(made) > half) == pytest.approx(0.05, abs=0.006)  # four standard errors, of a fixed seed
        below = 10**9
        assert not errors.is_beyond(target, edge, int(half * below), below)
        assert errors.is_beyond(target, edge, -int((half + 1) * below), below)
        assert errors.is_beyond(target, edge, int(100 * half * below), below)


def test_the_widest_error_is_that_of_the_worst_edge_in_ranks() -> None:
    """Of 100 bins at rho = 0.005 in all, 55 ranks for a median and 63 for the 90% quantile."""
    sizes = group_sizes(100)
    errors = RankErrors(CumulatedCounts(sizes), DiscreteGaussian(sigma=10 * len(sizes) ** 0.5))
    for q, deviation in ((Fraction(1, 2), 28.3), (Fraction(9, 10), 32.0)):
        sd, half = errors.widest(q)
        assert sd == pytest.approx(deviation, rel=0.01)
        assert half == pytest.approx(1.971 * sd, rel=0.005)
    assert RankErrors(CumulatedCounts((1,)), DiscreteGaussian(sigma=2)).widest(Fraction(1, 2)) == (0, 0)


def test_the_errors_of_selected_bins_hold_together() -> None:
    quantiles = Fraction(1, 4), Fraction(1, 2)
    found = selected_rank_errors(ExponentialMechanism(epsilon=2), [Fraction(3), Fraction(1)], quantiles, 50)
    # behind by x has odds of at most 49 e^(-x/moves), and each may miss with 2.5%
    assert found == pytest.approx([3 / 4 * log(49 * 39), 1 / 2 * log(49 * 39)], rel=1e-3)
