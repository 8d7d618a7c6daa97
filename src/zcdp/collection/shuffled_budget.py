"""The largest local epsilon at which shuffled reports stay within a budget: proposed in floats, then calibrated.

A client who answers some of the rounds draws them at random, so that the number of reports of a round is not known
beforehand. What is certified is for `least_reports` in each: a shuffler that got fewer must not pass them on. Theorem:
docs/theorems/shuffling.md, part 11.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp, inf, log, log1p, sqrt
from statistics import NormalDist

from zcdp.accounting.calibration import calibrate
from zcdp.collection.collection_budget import Budget
from zcdp.errors import BadValue
from zcdp.mechanisms import RandomizedResponse, Shuffled
from zcdp.numeric.search import bisection

__all__ = ["ShuffledBudget", "least_reports"]

FEWER_DEVIATIONS = 5.0  # a round has fewer reports than certified with a probability below 3e-7
NORMAL = NormalDist()


def least_reports(clients: int, answered: int, rounds: int) -> int:
    """A number of reports that a round almost surely has, if each client draws which of the rounds it answers.

    >>> least_reports(1000, 3, 3), least_reports(90_000, 1, 90)
    (1000, 841)
    """
    share = answered / rounds
    return clients if answered == rounds else max(1, int(clients * share - FEWER_DEVIATIONS * sqrt(clients * share)))


@dataclass(frozen=True)
class ShuffledBudget:
    """A budget (epsilon, delta) for all of a client's shuffled reports, in some of the rounds."""

    budget: Budget
    clients: int
    rounds: int
    _known: dict[tuple[int, int], float] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.budget.epsilon is None or not self.budget.delta:
            raise BadValue("shuffled reports need a budget of epsilon with delta: shuffling hides, it does not erase")

    def reports(self, answered: int) -> int:
        """The number of reports in each round for which the budget is certified."""
        return least_reports(self.clients, answered, self.rounds)

    def propose(self, blanket: int, answered: int) -> float:
        """About the largest local epsilon: heuristic, by the normal approximation of the privacy loss.

        With E = e^epsilon and n reports the loss of a round is nearly that of Gaussian noise with
        mu^2 = 2 (E-1)^2/(n (E+k-1)), k that of the blanket.
        """
        assert self.budget.epsilon is not None
        mu = _gaussian(float(self.budget.epsilon), float(self.budget.delta))
        c = self.reports(answered) * mu * mu / (2 * answered)
        hidden = log1p((c + sqrt(c * c + 4 * c * blanket)) / 2)
        return max(hidden, float(self.budget.epsilon) / answered)

    def largest(self, blanket: int, answered: int) -> float:
        """The largest local epsilon that is certified to fit, by calibration; one is kept for each question."""
        key = blanket, answered
        if key not in self._known:
            reports = self.reports(answered)
            self._known[key] = calibrate(
                lambda e: answered * Shuffled(RandomizedResponse(epsilon=e, k=blanket), clients=reports),
                epsilon=self.budget.epsilon,
                delta=self.budget.delta,
            )
        return self._known[key]


def _gaussian(epsilon: float, delta: float) -> float:
    """The mu at which Gaussian noise of sensitivity mu and deviation 1 has this profile (Balle and Wang 2018)."""

    def exceeds(mu: float) -> bool:
        one, other = NORMAL.cdf(mu / 2 - epsilon / mu), NORMAL.cdf(-mu / 2 - epsilon / mu)
        return one - (exp(epsilon + log(other)) if other > 0 else 0.0) > delta

    high = 1.0
    while not exceeds(high) and high < inf:
        high *= 2
    return bisection(exceeds, 0.0 + high / 2**40, high, steps=60)[0]
