"""What an attacker gains by the releases of a plan, as an account states it: rates of finds, right guesses, mu.

Theorem: docs/theorems/tradeoff.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf

from zcdp.numeric.balls import NotCertified
from zcdp.numeric.exact import float_above, float_below
from zcdp.privacy.curve import Plan
from zcdp.privacy.tradeoff import Ends, TradeOff

__all__ = ["CURVE_RATES", "Guess", "Rate", "Risk", "risk_of", "tradeoff_rows"]

RATES = (Fraction(1, 10_000), Fraction(1, 1000), Fraction(1, 100), Fraction(1, 10))
PRIORS = (Fraction(1, 2), Fraction(1, 10), Fraction(1, 100))
SLACK = Fraction(1, 10**12)
DIGITS, ROUGHLY = 1e-4, 2e-3  # relative accuracy of rates, of mu and of a whole curve; a `Curve` itself tells more
CURVE_RATES = tuple(
    sorted(
        {Fraction(round(10 ** (n / 8) * 10**9), 10**9) for n in range(-48, -7)} | {Fraction(n, 20) for n in range(21)}
    )
)
"""False positive rates of a whole curve: eight a decade from 10^-6 to 1/10, then every twentieth."""


@dataclass(frozen=True)
class Rate:
    """The largest true positive rate of an attack at a false positive rate: its two certified ends."""

    fpr: float
    tpr_at_least: float
    tpr_at_most: float


@dataclass(frozen=True)
class Guess:
    """The largest probability of a right guess at a prior: its two certified ends, and that without the releases."""

    prior: float
    before: float
    at_least: float
    at_most: float


@dataclass(frozen=True)
class Risk:
    """What any attack gains that tells from all releases whether a person is in the data."""

    advantage: tuple[float, float]
    """Certified ends of the largest difference of true and false positive rate."""
    rates: tuple[Rate, ...]
    guesses: tuple[Guess, ...]
    mu: float | None
    """A Gaussian mechanism of this mu covers the plan up to `slack`; None if there is none, or it was not found."""
    slack: float


def curve_of(plan: Plan, event: Fraction, enough: float = DIGITS) -> TradeOff:
    """The trade-off curve of a plan beside events of this probability that may give a person away.

    Theorem: docs/theorems/approximate-filter.md.
    """

    def whole(delta: float) -> float:
        return min(1.0, float_above(event + (1 - event) * Fraction(delta)))

    def both(epsilon: Fraction) -> Ends:
        lower, upper = plan._approximate.delta_bounds(epsilon)
        return lower, whole(upper)

    pure = inf if event else plan.pure_epsilon
    return TradeOff(lambda epsilon: whole(plan._delta_above(epsilon)), both, pure, plan._revealed, enough)


def risk_of(plan: Plan, event: Fraction = Fraction(0)) -> Risk:
    """The risk of a plan; `event` is the probability of events that may give a person away, which `plan` leaves out.

    >>> from zcdp import Gaussian
    >>> risk_of(4 * Gaussian(sigma=2)).rates[1]
    Rate(fpr=0.001, tpr_at_least=0.018298..., tpr_at_most=0.018298...)
    """
    curve = curve_of(plan, event)
    half = curve.success(Fraction(1, 2))
    try:
        mu: float | None = None if event else plan._gdp(SLACK, close=ROUGHLY)[1]
    except NotCertified:
        mu = None
    return Risk(
        advantage=(float_below(2 * half[0] - 1), float_above(2 * half[1] - 1)),
        rates=_rates(curve, RATES),
        guesses=tuple(_guess(curve, prior) for prior in PRIORS),
        mu=None if mu == inf else mu,
        slack=float(SLACK),
    )


def tradeoff_rows(plan: Plan, event: Fraction = Fraction(0)) -> tuple[Rate, ...]:
    """The whole curve, at `CURVE_RATES`."""
    return _rates(curve_of(plan, event, ROUGHLY), CURVE_RATES)


def _rates(curve: TradeOff, rates: tuple[Fraction, ...]) -> tuple[Rate, ...]:
    ends = curve.curve(rates)
    return tuple(
        Rate(float(rate), float_below(low), float_above(high)) for rate, (low, high) in zip(rates, ends, strict=True)
    )


def _guess(curve: TradeOff, prior: Fraction) -> Guess:
    low, high = curve.success(prior)
    return Guess(float(prior), float(max(prior, 1 - prior)), float_below(low), float_above(high))
