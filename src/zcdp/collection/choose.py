"""The choice of a design: the local randomizer, and the number of rounds each client answers, of least error in budget.

The search over parameters and rounds is heuristic, in floats; every design returned is certified to fit the budget, and
is within limits on the size of a report, on a client's draws and on a server's memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import exp, inf, sqrt
from typing import Any, Self

from zcdp.collection.collection_budget import Budget
from zcdp.collection.design_file import report_form
from zcdp.collection.families import FAMILIES, Family, Response, Subsets, Tuned, Unary, certified, tune
from zcdp.collection.limits import PHONE, UNLIMITED, Limits, Size
from zcdp.collection.shuffled_budget import ShuffledBudget
from zcdp.errors import BadValue
from zcdp.mechanisms import Mechanism, OptimizedUnaryEncoding, RandomizedResponse, Shuffled, SubsetSelection
from zcdp.mechanisms.local.number_randomizer import CollectsBounded
from zcdp.numeric.balls import NotCertified
from zcdp.numeric.exact import Value, integer, rational
from zcdp.numeric.threads import cached_property
from zcdp.privacy.curve import Plan
from zcdp.text.calls import spoken, spoken_class
from zcdp.text.notebook import shown

__all__ = ["MOST_ROUNDS", "Choice", "Design", "Search", "choose", "compare", "design_of"]


MOST_ROUNDS = 10_000


@spoken_class
@dataclass(frozen=True)
class Design:
    """A mechanism, and in how many rounds each client answers; who answers a round does not depend on values."""

    mechanism: Mechanism
    """The local randomizer that a client runs."""
    k: int
    rounds: int
    """In how many of the rounds each client answers."""
    of: int
    """The number of rounds."""
    clients: int
    frequency: float | None
    """The frequency at which the standard error is stated; None for a number."""
    standard_error: float
    """The standard error of the estimate of one frequency, or of the mean, in one round, among all clients.

    Of a design for the quantiles of a number it is that of shares below a grid point.
    """
    size: Size
    """What one report takes."""
    spent: float
    """The cost of one client's reports in the budget's unit: rho, or epsilon at its delta; an upper bound on it."""
    shuffled: int | None = None
    """The least number of reports of a round that a shuffler passes on; None where reports are not shuffled."""
    range: tuple[Fraction, Fraction] | None = None
    """The ends of the range of a number; None for a collection of values."""
    quantiles: bool = False
    """Whether the design is for the quantiles of a number, and not for its mean."""

    @property
    def told(self) -> str:
        """What the standard error is of.

        >>> choose(k=20, clients=100, epsilon=1).best.told
        'a frequency of 0.05'
        """
        if self.frequency is not None:
            return f"a frequency of {self.frequency:.3g}"
        return "the share below a number" if self.quantiles else "the mean, at most"

    @property
    def bytes(self) -> int:
        """The length of one report on the wire."""
        return self.size.bytes

    @property
    def plan(self) -> Plan:
        """The plan of all reports of one client."""
        return self.rounds * self.released

    @property
    def released(self) -> Mechanism:
        """What is seen of one round: the reports as they come, or shuffled."""
        return self.mechanism if self.shuffled is None else Shuffled(self.mechanism, clients=self.shuffled)

    @property
    def variance(self) -> float:
        """The square of the standard error."""
        return self.standard_error**2


@spoken_class
@dataclass(frozen=True)
class Choice:
    """Designs certified to fit the budget and within the limits, best first, and others for comparison."""

    designs: tuple[Design, ...]
    textbook: Design = field(repr=False)
    over_rounds: Mapping[str, tuple[tuple[int, float], ...]] = field(repr=False)
    """For each kind of mechanism, by its name: pairs of rounds answered and standard error of its best member there.

    These come from the heuristic search: unlike the designs they are not certified to fit.
    """
    beyond: tuple[Design, ...] = field(default=(), repr=False)
    """Designs of less error than the best, beyond the limits; they fit the budget."""

    @property
    def best(self) -> Design:
        """The design of least standard error within the limits."""
        return self.designs[0]

    def _repr_html_(self) -> str:
        """What a notebook shows: the designs with their errors."""
        return shown(self)

    @property
    def frontier(self) -> tuple[Design, ...]:
        """The designs of which none other has a shorter report, or as short a one, and less error."""
        return tuple(_frontier(self.designs))

    def of(self, kind: type[Mechanism]) -> Design:
        """The best design whose mechanism is of this kind, such as `UnaryEncoding`."""
        for one in self.designs:
            if isinstance(one.mechanism, kind):
                return one
        known = ", ".join(dict.fromkeys(type(one.mechanism).__name__ for one in self.designs))
        raise BadValue(f"no design has a {kind.__name__}, only {known}")

    def pick(self, number: Value) -> Design:
        """The design of a row of the table, counted from 1."""
        row = integer(number, "pick", 1)
        if row > len(self.designs):
            raise BadValue(f"pick ({number}) must be at most {len(self.designs)}, the designs of the table")
        return self.designs[row - 1]

    def __str__(self) -> str:
        rows = [*self.designs, self.textbook, *self.beyond]
        marks = ["", *[""] * (len(self.designs) - 1), "textbook: ", *["beyond the limits: "] * len(self.beyond)]
        shown = [f"{a}{d.mechanism!r}, {d.rounds} of {d.of} rounds" for a, d in zip(marks, rows, strict=True)]
        wide = max(map(len, shown))
        return "\n".join(
            f"{text:<{wide}}  standard error {one.standard_error:.3g}  {one.bytes} bytes"
            for text, one in zip(shown, rows, strict=True)
        )


def _frontier(designs: Iterable[Design]) -> list[Design]:
    """Those designs that no other one beats in both bytes and error, of a sequence sorted by error."""
    kept: list[Design] = []
    for one in designs:
        if all(one.bytes < other.bytes for other in kept):
            kept.append(one)
    return kept


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
    shuffled: bool = False,
    most_bytes: Value | None = PHONE.bytes,
    most_draws: Value | None = PHONE.draws,
    most_memory: Value | None = PHONE.memory,
) -> Choice:
    """The designs of least error to collect one of k values in each round, within a total budget for each client.

    The error is that of the estimate of `frequency` (1/k unless given) among all clients in one round, including those
    who do not answer it. With `every_round` each client answers all rounds. Each design has been certified to fit.
    With `shuffled` someone mixes the reports of a round and hides their senders: the budget is for what is seen then.
    A report has at most `most_bytes` bytes and takes a client `most_draws` random numbers, a server counts in
    `most_memory` bytes; None is no limit. Theorem: docs/theorems/estimator.md, part 7.

    >>> best = choose(k=256, rounds=30, epsilon=8, delta=1e-6, clients=10**6).best
    >>> best.mechanism, best.rounds, round(best.standard_error, 6)
    (RandomizedResponse(epsilon='8.00000108', k=256), 1, 0.000366)
    """
    search = Search.asked(
        integer(k, "k", 2),
        float(rational(frequency, "frequency")) if frequency is not None else None,
        clients,
        rounds,
        Budget.of(rho=rho, epsilon=epsilon, delta=delta),
        Limits.of(most_bytes=most_bytes, most_draws=most_draws, most_memory=most_memory),
        every_round=every_round,
        shuffles=shuffled,
    )
    if not 0 <= search.frequency <= 1:
        raise BadValue(f"frequency ({frequency}) must lie between 0 and 1")
    return search.choice(FAMILIES)


def error_of(variance: float, frequency: float, share: float, clients: int) -> float:
    """The standard error of an estimated frequency among all clients of whom the share `share` answers.

    `variance` is that of the estimate from one report. Theorem: docs/theorems/estimator.md, part 7.
    """
    missing = (1 / share - 1) * frequency * (1 - frequency) * clients / (clients - 1)
    return sqrt((variance / share + missing) / clients)


SHORTER = (4, 16, 64, 256)  # bytes of a report at which shorter subsets than the best are tried too


@dataclass(frozen=True)
class Search:
    """The search for designs: `of` is the number of rounds, `told` the frequency if given.

    `seen` has for each family the name of its mechanism and the errors that were tried.
    """

    k: int
    clients: int
    of: int
    budget: Budget
    told: float | None
    limits: Limits = UNLIMITED
    every_round: bool = False
    shuffles: bool = False
    seen: dict[type[Family], tuple[str, dict[int, float]]] = field(default_factory=dict)

    @classmethod
    def asked(
        cls,
        k: int,
        told: float | None,
        clients: Value,
        rounds: Value,
        budget: Budget,
        limits: Limits,
        *,
        every_round: bool = False,
        shuffles: bool = False,
    ) -> Self:
        """The search for what a user asks, checked."""
        of, count = integer(rounds, "rounds", 1), integer(clients, "clients", 2)
        if of > MOST_ROUNDS:
            raise BadValue(f"rounds ({rounds}) must be at most {MOST_ROUNDS}")
        return cls(k, count, of, budget, told, limits, every_round, shuffles)

    @property
    def frequency(self) -> float:
        """The frequency of which the error is to be least."""
        return 1 / self.k if self.told is None else self.told

    @cached_property
    def hidden(self) -> ShuffledBudget | None:
        """The budget of shuffled reports; None where they are not shuffled."""
        return ShuffledBudget(self.budget, self.clients, self.of) if self.shuffles else None

    def choice(self, families: Sequence[type[Family]]) -> Choice:
        """The best designs of these families, within the limits, and what is better beyond them."""
        free = [self.best(family(self.k)) for family in families]
        if not any(free):
            raise NotCertified("no design is certified to fit this budget")
        within = [one for one in free if one is not None and self.limits.hold(one.size)]
        for family, one in zip(families, free, strict=True):
            if one is None or self.limits.hold(one.size):
                continue
            if (smaller := self.best(family(self.k, self.limits))) is not None:
                within.append(smaller)
        self.limits.require(within)
        within += self.shorter(within)
        designs = tuple(sorted(within, key=lambda one: (one.standard_error, one.bytes)))
        beyond = sorted(
            (one for one in free if one and not self.limits.hold(one.size) and one.variance < designs[0].variance),
            key=lambda one: one.standard_error,
        )
        return Choice(designs, self.textbook(), self.over_rounds(), tuple(beyond))

    def over_rounds(self) -> dict[str, tuple[tuple[int, float], ...]]:
        """For each kind of mechanism the least error that was tried for a number of rounds, by any of its families."""
        found: dict[str, dict[int, float]] = {}
        for name, line in self.seen.values():
            best = found.setdefault(name, {})
            for rounds, error in line.items():
                best[rounds] = min(error, best.get(rounds, inf))
        return {name: tuple(sorted(best.items())) for name, best in found.items()}

    def variance_of(self, mechanism: Any) -> float:
        """The variance of the estimate from one report."""
        found: float = mechanism.support.variance(self.frequency)
        return found

    def total(self, variance: float, rounds: int) -> float:
        """The squared standard error of an estimate if clients answer in `rounds` of the rounds."""
        return error_of(variance, self.frequency, rounds / self.of, self.clients) ** 2

    def tuned(self, family: Family, rounds: int) -> Tuned:
        """The proposal of a family for this number of rounds answered."""
        if (hidden := self.hidden) is None:
            return tune(family, self.budget, rounds, self.frequency)
        epsilon = hidden.propose(family.blanket, rounds)
        return tune(family, self.budget, rounds, self.frequency, lambda _: epsilon)

    def best(self, family: Family) -> Design | None:
        """The best certified design of a family, None if none is certified or within its limits.

        The number of rounds is searched on a geometric grid and then by halving the gaps around its best.
        """
        known: dict[int, tuple[float, Tuned]] = {}

        def at(rounds: int) -> float:
            if rounds not in known:
                tuned = self.tuned(family, rounds)
                known[rounds] = self.total(tuned.variance, rounds), tuned
            return known[rounds][0]

        if self.every_round:
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
            line = {one: sqrt(square) for one, (square, _) in known.items()}
            self.seen[type(family)] = type(design.mechanism).__name__, line
        return design

    def shorter(self, within: list[Design]) -> list[Design]:
        """Designs with shorter reports than those of a family's best one, where no other design is as short and good.

        Only subsets can be shortened by degrees.
        """
        best = next((one for one in within if isinstance(one.mechanism, SubsetSelection)), None)
        found: list[Design] = []
        for most in SHORTER:
            if best is not None and most < best.bytes:
                family = Subsets(self.k, replace(self.limits, bytes=most))
                found += filter(None, [self.design(self.tuned(family, best.rounds), best.rounds)])
        kept = _frontier(sorted([*within, *found], key=lambda one: (one.standard_error, one.bytes)))
        return [one for one in found if one in kept]

    def design(self, tuned: Tuned, rounds: int) -> Design | None:
        """The design of a heuristic proposal, if it is certified to fit and within the limits; else None."""
        if tuned.variance == inf:
            return None
        family, shape = tuned.family, tuned.shape
        try:
            if (hidden := self.hidden) is None:
                mechanism = certified(tuned, self.budget, rounds)
            else:
                mechanism = family.build(hidden.largest(family.blanket, rounds), shape)
        except (NotCertified, BadValue):
            return None
        return self._of(mechanism, rounds, family.size(shape))

    def _of(self, mechanism: Any, rounds: int, size: Size, shuffled: int | None = None) -> Design:
        error = sqrt(self.total(self.variance_of(mechanism), rounds))
        where = (mechanism, self.k, rounds, self.of, self.clients, self.frequency, error, size)
        if (hidden := self.hidden) is not None:
            assert self.budget.epsilon is not None
            return Design(*where, float(self.budget.epsilon), shuffled or hidden.reports(rounds))
        return Design(*where, self.budget.spent(rounds * mechanism))

    @property
    def even_share(self) -> float:
        """The epsilon of each round if the budget is split evenly over all of them, as textbooks have it.

        A budget in rho is split through rho = epsilon^2/2, one in epsilon by basic composition.
        """
        if self.budget.rho is not None:
            return sqrt(2 * float(self.budget.rho) / self.of)
        assert self.budget.epsilon is not None
        return float(self.budget.epsilon) / self.of

    def textbook(self) -> Design:
        """The textbook design: the budget split evenly over all rounds.

        The mechanism is k-randomized response if k < 3 e^epsilon + 2, else optimized unary encoding (Wang et al. 2017).
        """
        share = self.even_share
        if self.k < 3 * exp(min(share, 700.0)) + 2:
            response = RandomizedResponse(epsilon=share, k=self.k)
            return self._of(response, self.of, Response(self.k).size(1.0))
        return self._of(OptimizedUnaryEncoding(epsilon=share), self.of, Unary(self.k).size(1.0))


# A given design as a `Design`, for comparison with those that `choose` finds for the same collection and budget.


def design_of(
    mechanism: Any,
    k: int,
    *,
    rounds: int,
    answered: int,
    clients: int,
    range: tuple[Fraction, Fraction] | None = None,  # noqa: A002 - as the field of a design
) -> Design:
    """The design with this mechanism if clients answer `answered` of the rounds; its error is that at frequency 1/k.

    `spent` is in rho; a shuffled mechanism is taken as it is. Of a number the error is in units of the range, unless
    that is given.

    >>> from zcdp import RandomizedResponse
    >>> design_of(RandomizedResponse(epsilon=8, k=256), 256, rounds=30, answered=1, clients=10**6).standard_error
    0.0003657...
    """
    local: Any = mechanism.mechanism if isinstance(mechanism, Shuffled) else mechanism
    number = isinstance(local, CollectsBounded)
    frequency = 1 / 2 if number else 1 / k
    variance = local.standard_error(clients=1, **({} if number else {"frequency": frequency})) ** 2
    reach = 1.0 if range is None else float(range[1] - range[0])
    error = reach * error_of(variance, frequency, answered / rounds, clients)
    spent, hidden = (answered * mechanism).rho, mechanism.clients if isinstance(mechanism, Shuffled) else None
    size = Size(report_form(local, k)["bytes"], 0, 0)
    told = None if number else frequency
    return Design(local, k, answered, rounds, clients, told, error, size, spent, hidden, range)


def compare(design: Design, **budget: Any) -> Choice:
    """What `choose` finds within a budget for the values, rounds and clients of this design."""
    if design.range is not None:
        raise BadValue("a design for a number is compared by compare_number")
    return choose(k=design.k, clients=design.clients, rounds=design.of, shuffled=design.shuffled is not None, **budget)
