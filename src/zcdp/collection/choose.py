"""The choice of a design: the local randomizer, and the number of rounds each client answers, of least error in budget.

The search over parameters and rounds is heuristic, in floats; every design returned is certified to fit the budget.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import exp, sqrt
from typing import Any

import numpy as np

from zcdp.collection.collection_budget import Budget
from zcdp.collection.families import FAMILIES, Family, Tuned, certified, tune
from zcdp.collection.parquet import Label
from zcdp.errors import BadValue
from zcdp.mechanisms import Mechanism, OptimizedUnaryEncoding, RandomizedResponse
from zcdp.numeric.balls import NotCertified
from zcdp.numeric.exact import Value, integer, rational
from zcdp.privacy.curve import Plan
from zcdp.samplers.source import secure
from zcdp.text.calls import spoken, spoken_class

__all__ = ["Choice", "Design", "choose", "compare", "design_of"]


MOST_ROUNDS = 10_000


@spoken_class
@dataclass(frozen=True)
class Design:
    """A mechanism, and in how many rounds each client answers; who answers a round does not depend on values."""

    mechanism: Mechanism
    k: int
    rounds: int
    """In how many of the rounds each client answers."""
    of: int
    """The number of rounds."""
    clients: int
    frequency: float
    """The frequency at which the standard error is stated."""
    standard_error: float
    """The standard error of the estimate of one frequency in one round, among all clients."""
    bytes: float
    """The size of one report."""
    spent: float
    """The cost of one client's reports in the budget's unit: rho, or epsilon at its delta."""

    @property
    def plan(self) -> Plan:
        """The plan of all reports of one client."""
        return self.rounds * self.mechanism

    @property
    def variance(self) -> float:
        """The square of the standard error."""
        return self.standard_error**2


@spoken_class
@dataclass(frozen=True)
class Choice:
    """Designs certified to fit the budget, best first, and the textbook design for comparison."""

    designs: tuple[Design, ...]
    textbook: Design = field(repr=False)
    over_rounds: Mapping[str, tuple[tuple[int, float], ...]] = field(repr=False)
    """For each kind of mechanism, by its name: pairs of rounds answered and standard error of its best member there.

    These come from the heuristic search: unlike the designs they are not certified to fit.
    """

    @property
    def best(self) -> Design:
        """The design of least standard error."""
        return self.designs[0]

    def of(self, kind: type[Mechanism]) -> Design:
        """The design whose mechanism is of this kind, such as `UnaryEncoding`."""
        for one in self.designs:
            if isinstance(one.mechanism, kind):
                return one
        known = ", ".join(type(one.mechanism).__name__ for one in self.designs)
        raise BadValue(f"no design has a {kind.__name__}, only {known}")

    def __str__(self) -> str:
        rows = [*self.designs, self.textbook]
        prefix = ["" for _ in self.designs] + ["textbook: "]
        shown = [f"{a}{d.mechanism!r}, {d.rounds} of {d.of} rounds" for a, d in zip(prefix, rows, strict=True)]
        wide = max(map(len, shown))
        return "\n".join(
            f"{text:<{wide}}  standard error {one.standard_error:.3g}  {one.bytes:.3g} bytes"
            for text, one in zip(shown, rows, strict=True)
        )


@spoken
def choose(
    *,
    k: Value,
    clients: Value,
    rounds: Value = 1,
    epsilon: Value | None = None,
    delta: Value | None = None,
    rho: Value | None = None,
    every_round: bool = False,
    frequency: Value | None = None,
) -> Choice:
    """The designs of least error to collect one of k values in each round, within a total budget for each client.

    The error is that of the estimate of `frequency` (1/k unless given) among all clients in one round, including those
    who do not answer it. With `every_round` each client answers all rounds. Each design has been certified to fit.
    Theorem: docs/theorems/estimator.md, part 7.

    >>> best = choose(k=256, rounds=30, epsilon=8, delta=1e-6, clients=10**6).best
    >>> best.mechanism, best.rounds, round(best.standard_error, 6)
    (RandomizedResponse(epsilon='8.00000108', k=256), 1, 0.000366)
    """
    search = _Search(
        integer(k, "k", 2),
        integer(clients, "clients", 2),
        integer(rounds, "rounds", 1),
        Budget.of(rho=rho, epsilon=epsilon, delta=delta),
        float(rational(frequency, "frequency")) if frequency is not None else None,
    )
    if search.of > MOST_ROUNDS:
        raise BadValue(f"rounds ({rounds}) must be at most {MOST_ROUNDS}")
    if not 0 <= search.frequency <= 1:
        raise BadValue(f"frequency ({frequency}) must lie between 0 and 1")
    found = [search.best(family(search.k), every_round=every_round) for family in FAMILIES]
    designs = sorted((one for one in found if one is not None), key=lambda one: one.standard_error)
    if not designs:
        raise NotCertified("no design is certified to fit this budget")
    return Choice(tuple(designs), search.textbook(), search.seen)


def error_of(variance: float, frequency: float, share: float, clients: int) -> float:
    """The standard error of an estimated frequency among all clients of whom the share `share` answers.

    `variance` is that of the estimate from one report. Theorem: docs/theorems/estimator.md, part 7.
    """
    missing = (1 / share - 1) * frequency * (1 - frequency) * clients / (clients - 1)
    return sqrt((variance / share + missing) / clients)


@dataclass(frozen=True)
class _Search:
    """The search for designs: `of` is the number of rounds, `told` the frequency if given, `seen` the errors tried."""

    k: int
    clients: int
    of: int
    budget: Budget
    told: float | None
    seen: dict[str, tuple[tuple[int, float], ...]] = field(default_factory=dict)

    @property
    def frequency(self) -> float:
        return 1 / self.k if self.told is None else self.told

    def total(self, variance: float, rounds: int) -> float:
        """The squared standard error of an estimate if clients answer in `rounds` of the rounds."""
        return error_of(variance, self.frequency, rounds / self.of, self.clients) ** 2

    def best(self, family: Family, *, every_round: bool) -> Design | None:
        """The best certified design of a family, None if none is certified.

        The number of rounds is searched on a geometric grid and then by halving the gaps around its best.
        """
        known: dict[int, tuple[float, Tuned]] = {}

        def at(rounds: int) -> float:
            if rounds not in known:
                tuned = tune(family, self.budget, rounds, self.frequency)
                known[rounds] = self.total(tuned.variance, rounds), tuned
            return known[rounds][0]

        if every_round:
            at(self.of)
        else:
            tried = sorted({1, self.of, *(min(self.of, round(1.6**n)) for n in range(21))})
            while tried:
                best = min(tried + list(known), key=at)
                before = max((one for one in known if one < best), default=best)
                after = min((one for one in known if one > best), default=best)
                tried = [one for one in {(before + best) // 2, (after + best + 1) // 2} if one not in known]
        rounds = min(known, key=at)
        design = self.design(known[rounds][1], rounds)
        if design is not None:
            self.seen[type(design.mechanism).__name__] = tuple((one, sqrt(known[one][0])) for one in sorted(known))
        return design

    def design(self, tuned: Tuned, rounds: int) -> Design | None:
        """The design of a heuristic proposal, if it is certified to fit; else None."""
        try:
            mechanism = certified(tuned, self.budget, rounds)
        except NotCertified:
            return None
        return self._of(mechanism, rounds, tuned.family.bytes(tuned.shape))

    def _of(self, mechanism: Any, rounds: int, size: float) -> Design:
        error = sqrt(self.total(mechanism.support.variance(self.frequency), rounds))
        spent = self.budget.spent(rounds * mechanism)
        return Design(mechanism, self.k, rounds, self.of, self.clients, self.frequency, error, size, spent)

    def textbook(self) -> Design:
        """The textbook design: the budget split evenly over all rounds.

        The mechanism is k-randomized response if k < 3 e^epsilon + 2, else optimized unary encoding (Wang et al. 2017).
        A budget in rho is split through rho = epsilon^2/2, one in epsilon by basic composition.
        """
        budget = self.budget
        if budget.rho is not None:
            share = sqrt(2 * float(budget.rho) / self.of)
        else:
            assert budget.epsilon is not None
            share = float(budget.epsilon) / self.of
        if self.k < 3 * exp(min(share, 700.0)) + 2:
            response = RandomizedResponse(epsilon=share, k=self.k)
            return self._of(response, self.of, FAMILIES[0](self.k).bytes(1.0))
        return self._of(OptimizedUnaryEncoding(epsilon=share), self.of, self.k / 8)


# A given design as a `Design`, for comparison with those that `choose` finds for the same collection and budget.


def design_of(mechanism: Any, k: int, *, rounds: int, answered: int, clients: int) -> Design:
    """The design with this mechanism if clients answer `answered` of the rounds; its error is that at frequency 1/k.

    `spent` is in rho, and `bytes` is the size of a report as files store it.

    >>> from zcdp import RandomizedResponse
    >>> design_of(RandomizedResponse(epsilon=8, k=256), 256, rounds=30, answered=1, clients=10**6).standard_error
    0.0003657...
    """
    frequency = 1 / k
    variance = mechanism.standard_error(clients=1, frequency=frequency) ** 2
    error = error_of(variance, frequency, answered / rounds, clients)
    label = Label.of(mechanism, k, mechanism._drawn(np.zeros(1, dtype=np.int64), k, secure), rows=False)
    size = float(label.numbers.itemsize * (label.width or 1))
    spent = (answered * mechanism).rho
    return Design(mechanism, k, answered, rounds, clients, frequency, error, size, spent)


def compare(design: Design, **budget: Any) -> Choice:
    """What `choose` finds within a budget for the values, rounds and clients of this design."""
    return choose(k=design.k, clients=design.clients, rounds=design.of, **budget)
