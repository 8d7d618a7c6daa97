"""One training run as an audit: how many guesses which canaries were used may be right, if the stated privacy holds.

Each of m canaries is in the training data or not by a fair coin of its own; the run is made once; then r guesses are
made which canaries were in, and v of them are right. Theorem: docs/theorems/one-run.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from zcdp.errors import BadType, BadValue
from zcdp.numeric.balls import above, at_precision, lift
from zcdp.numeric.exact import Value, integer, probability, rational
from zcdp.privacy.curve import Curve
from zcdp.text.calls import spoken, spoken_class
from zcdp.text.suggestions import thing

__all__ = ["TrainingAudit", "audit_training"]

BITS = 128
MOST_GUESSES = 10**6
LARGEST_EPSILON = 200.0
LINES, ROUNDS = 16, 3  # points of a claimed profile that are tried at once, and how often around the best of them


@spoken_class
@dataclass(frozen=True)
class TrainingAudit:
    """The result of an audit of one training run."""

    canaries: int
    guesses: int
    correct: int
    delta: float
    confidence: float
    epsilon_lower: float
    """A lower bound on the true epsilon at this delta, at the stated confidence."""
    at_best: float
    """The same bound had every guess been right: a run with so few guesses cannot show more."""
    elsewhere: float
    """The bound of Steinke, Nasr and Jagielski (2023) from the same run, for comparison; it is not proven here."""
    p_value: float | None = None
    """The probability of so many right guesses, at most, if the claim holds; None without a claim."""
    violated: bool | None = None
    """Whether the claim is refuted at the stated confidence; None without a claim."""


@spoken
def audit_training(
    *,
    canaries: Value,
    guesses: Value,
    correct: Value,
    delta: Value = 0,
    confidence: Value = "0.95",
    claim: Curve | None = None,
) -> TrainingAudit:
    """A lower bound on the epsilon of one training run, from `correct` right guesses out of `guesses`.

    The number of guesses is fixed before anything is looked at, coins are fair and independent, and each canary is one
    neighbour: a record, or a user. With a `claim`, a mechanism or plan, its whole certified profile is tested: a sound
    claim is called violated with probability at most 1 - confidence. A coin must decide what the claim's neighbours
    differ in: of a claim about replaced records, whether a canary or its substitute is used, not whether it is there.
    Theorem: docs/theorems/one-run.md.

    >>> found = audit_training(canaries=1000, guesses=100, correct=95, delta=1e-5)
    >>> found.epsilon_lower, found.at_best
    (2.1718..., 3.4923...)
    """
    m, r = integer(canaries, "canaries", 1), integer(guesses, "guesses", 1)
    v = integer(correct, "correct", 0)
    if r > m:
        raise BadValue(f"guesses ({r}) must be at most canaries ({m}): there is one guess a canary")
    if r > MOST_GUESSES:
        raise BadValue(f"guesses ({r}) must be at most {MOST_GUESSES}")
    if v > r:
        raise BadValue(f"correct ({v}) must be at most guesses ({r})")
    chance = rational(delta, "delta")
    if not 0 <= chance < 1:
        raise BadValue(f"delta ({delta}) must be at least 0 and below 1")
    sure = probability(confidence, "confidence")
    if claim is not None and not isinstance(claim, Curve):
        raise BadType(f"claim ({thing(claim)}) must be a mechanism or a plan")
    run, best = OneRun(m, r, v), OneRun(m, r, r)
    p_value = None if claim is None else _least_p(run, claim)
    return TrainingAudit(
        m,
        r,
        v,
        float(chance),
        float(sure),
        epsilon_lower=_largest_rejected(lambda e: run.p_value(e, chance), 1 - sure),
        at_best=_largest_rejected(lambda e: best.p_value(e, chance), 1 - sure),
        elsewhere=_largest_rejected(lambda e: run.steinke(e, chance), 1 - sure),
        p_value=p_value,
        violated=None if p_value is None else Fraction(p_value) <= 1 - sure,
    )


@dataclass(frozen=True)
class OneRun:
    """m canaries, r guesses, v of them right; all of its answers are rounded up."""

    canaries: int
    guesses: int
    correct: int

    def p_value(self, epsilon: Fraction, delta: Fraction) -> float:
        """The probability of at least v right guesses, at most, if the run is (epsilon, delta)-DP.

        With W binomial, r trials of probability e^epsilon/(1 + e^epsilon), and b = P(W >= v), it is at most b +
        (m delta/v) b (1-b)/P(W = v).
        """
        if not self.correct:
            return 1.0

        def bound() -> arb:
            over, under = self._tails(lift(epsilon).exp())
            spread = lift(self.canaries * delta / self.correct)
            return (over + spread * over * under) / (over + under)

        return min(1.0, above(at_precision(BITS, bound)))

    def _tails(self, odds: arb) -> tuple[arb, arb]:
        """P(W >= v) and P(W < v), both over P(W = v)."""
        return self._sum(self.correct, 1, odds), self._sum(self.correct, -1, odds) - 1

    def _sum(self, start: int, step: int, odds: arb) -> arb:
        """The sum of P(W = i)/P(W = start) over i = start, start + step, ...; what is left out is in the ball.

        Ratios of neighbouring terms fall along the way (the binomial law is log-concave), so that once one is below 1
        the rest is at most a geometric series.
        """
        r, total, term, i = self.guesses, arb(1), arb(1), start
        last = r if step > 0 else 0
        while i != last:
            ratio = odds * (r - i) / (i + 1) if step > 0 else i / (odds * (r - i + 1))
            if ratio < arb(0.99) and term * ratio < total * arb(2) ** (-BITS):
                return (
                    total + arb(0, 1) * (term * ratio / (1 - ratio)).upper()
                )  # between 0 and this, both ways to be safe
            term = term * ratio
            total = total + term
            i += step
        return total

    def steinke(self, epsilon: Fraction, delta: Fraction) -> float:
        """The bound b + 2 m delta max P(v > W >= v - i)/i of Steinke et al. (2023), in balls: for comparison."""
        if not self.correct:
            return 1.0

        def bound() -> arb:
            odds = lift(epsilon).exp()
            over, under = self._tails(odds)
            largest = total = arb(0)
            term = arb(1)
            for i in range(1, self.correct + 1 if delta else 1):
                place = self.correct - i + 1
                term = term * place / (odds * (self.guesses - place + 1))
                total = total + term
                largest = largest.max(total / i)
                if i > 50 and term < total / (4 * i):  # the mean falls from here on, as the terms do
                    break
            return (over + 2 * self.canaries * lift(delta) * largest) / (over + under)

        return min(1.0, above(at_precision(BITS, bound)))


def _largest_rejected(p_value: Callable[[Fraction], float], risk: Fraction) -> float:
    """The largest epsilon, to ten digits, whose certified p-value is at most the risk; 0 if there is none.

    Whoever is not (epsilon, delta)-DP is so for no smaller epsilon: each epsilon that is rejected is a bound by itself.
    """

    def rejected(epsilon: float) -> bool:
        return Fraction(p_value(Fraction(epsilon))) <= risk

    if not rejected(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while rejected(high) and high < LARGEST_EPSILON:
        low, high = high, 2 * high
    while high - low > 1e-10 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if rejected(middle) else (low, middle)
    return low


def _least_p(run: OneRun, claim: Curve) -> float:
    """The least p-value over points (epsilon, delta) of the claim's certified profile.

    Each point bounds the same probability, so that the least of all is a bound too, whichever are tried.
    """
    found: dict[float, float] = {}

    def p(epsilon: float) -> float:
        if epsilon not in found:
            point = Fraction(epsilon)
            found[epsilon] = run.p_value(point, Fraction(claim._delta_above(point)))
        return found[epsilon]

    low, high = (
        0.0,
        min(claim.pure_epsilon, claim.epsilon_at(delta=Fraction(1, 10**12 * run.canaries)), LARGEST_EPSILON),
    )
    for _ in range(ROUNDS):
        places = [low + (high - low) * n / LINES for n in range(LINES + 1)]
        best = min(range(LINES + 1), key=lambda n: p(places[n]))
        low, high = places[max(best - 1, 0)], places[min(best + 1, LINES)]
    return min(found.values())
