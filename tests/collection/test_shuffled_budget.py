"""Local epsilons for shuffled reports: what is proposed is close to what is certified, and a round has its reports."""

from __future__ import annotations

from math import comb

import pytest

from zcdp import RandomizedResponse, Shuffled
from zcdp.collection.collection_budget import Budget
from zcdp.collection.shuffled_budget import ShuffledBudget, least_reports

BUDGET = Budget.of(rho=None, epsilon=1, delta="1e-6")


@pytest.mark.parametrize(("blanket", "answered"), [(2, 1), (20, 4)])
def test_the_largest_epsilon_fits_and_hardly_more_does(blanket: int, answered: int) -> None:
    purse = ShuffledBudget(BUDGET, 50_000, 4)
    found = purse.largest(blanket, answered)

    def delta(epsilon: float) -> float:
        local = RandomizedResponse(epsilon=epsilon, k=blanket)
        return (answered * Shuffled(local, clients=purse.reports(answered))).delta_at(epsilon=1)

    assert delta(found) <= 1e-6 < delta(found * 1.003)
    assert purse.propose(blanket, answered) == pytest.approx(found, rel=0.1)


def test_a_round_has_the_reports_it_is_certified_for() -> None:
    """Each of 400 clients answers 1 of 4 rounds: the chance of fewer reports, summed up."""
    least = least_reports(400, 1, 4)
    fewer = sum(comb(400, n) * 0.25**n * 0.75 ** (400 - n) for n in range(least))
    assert 0 < fewer < 3e-7
    assert least_reports(400, 4, 4) == 400
    assert least_reports(3, 1, 90) == 1
