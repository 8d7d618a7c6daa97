"""Events of dp-accounting as plans, and plans as events.

An event becomes a plan together with the probability that no failure event happens: (epsilon, delta)-DP is a pure
mechanism that with probability delta reveals its input instead (Kairouz, Oh and Viswanath 2015).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, nextafter
from typing import Any

from dp_accounting import NeighboringRelation, dp_event

from zcdp.adapters.common import RhoAlone, above, below
from zcdp.errors import BadType, BadValue
from zcdp.mechanisms import (
    BinaryRandomizedResponse,
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Laplace,
    Mechanism,
    MixtureOfGaussians,
    PermuteAndFlip,
    PureDP,
    RandomizedResponse,
    ReplacedSample,
    Subsampled,
    TruncatedSample,
)
from zcdp.numeric.balls import enclose, lift
from zcdp.numeric.exact import Exact, Log, integer, rational
from zcdp.privacy.curve import Curve, Plan

__all__ = ["ADDED", "ALL", "NOTHING", "NOT_TAKEN", "TAKEN", "Refused", "Spent", "event", "one", "plan", "translate"]


GRAINS = 2**400
"""The probability `Spent.well` is rounded down to a multiple of 1/GRAINS."""

SLIP = Fraction(1, 10**9)
"""By how much probabilities that are floats may miss a sum of 1."""


RELATION_OF_REPORTS = "neighboring_relation must be `REPLACE_ONE` or `REPLACE_SPECIAL`"
RELATION_OF_A_RECORD = "neighboring_relation must be `ADD_OR_REMOVE_ONE` or `REPLACE_SPECIAL`"


class Refused(BadValue):
    """An event, or a part of a plan, that is not covered; `what` is the event and `reason` says why."""

    def __init__(self, what: object, reason: str) -> None:
        super().__init__(f"{type(what).__name__} is refused: {reason}")
        self.what, self.reason = what, reason


@dataclass(frozen=True)
class Spent:
    """What an event spends: a plan (None if nothing), and the probability `well` that no failure event happens.

    A failure event reveals the input. `well` is 1 for an event without a delta, and 0 for one that is not private.
    """

    plan: Plan | None = None
    well: Fraction = Fraction(1)

    def __add__(self, other: Spent) -> Spent:
        plans = [plan for plan in (self.plan, other.plan) if plan is not None]
        return Spent(Plan.sum_of(*plans) if plans else None, _rounded(self.well * other.well))

    def times(self, count: int) -> Spent:
        """The composition of `count` such events; every count of an event is multiplied here."""
        if not count:
            return NOTHING
        return Spent(None if self.plan is None else count * self.plan, _power(self.well, count))


NOTHING, ALL = Spent(), Spent(well=Fraction(0))


def one(part: Mechanism) -> Spent:
    """What one use of a mechanism spends."""
    return Spent(Plan.sum_of(part))


def _rounded(well: Fraction) -> Fraction:
    """Round down to a multiple of 1/GRAINS; a smaller probability of no failure is a larger cost."""
    return Fraction(int(well * GRAINS), GRAINS)


def _power(well: Fraction, count: int) -> Fraction:
    """well^count by repeated squaring, rounded down at each step; a count may be huge."""
    result = Fraction(1)
    while count:
        if count % 2:
            result = _rounded(result * well)
        well, count = _rounded(well * well), count // 2
    return result


# From events to plans: one function for each kind of event.
#
# An event is read as its docstring in dp-accounting defines it. For Gaussian, Laplace and discrete Laplace noise the
# values of *one record* are bounded, so that replacing a record moves the sum by twice the bound.
# Theorem: docs/theorems/adapters.md.

ADDED, REPLACED = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
ZEROED = NeighboringRelation.REPLACE_SPECIAL


def _parameter(what: Any, name: str) -> Fraction:
    value = rational(getattr(what, name), name)
    if value < 0:
        raise Refused(what, f"{name} ({getattr(what, name)}) must not be negative")
    return value


def _moves(relation: Any) -> int:
    """How far a sum can move between neighbours, as a multiple of the bound on one record's values."""
    return 2 if relation is REPLACED else 1


def _gaussian(what: Any, relation: Any) -> Spent:
    sigma = _parameter(what, "noise_multiplier")
    return one(Gaussian(sigma=sigma, sensitivity=_moves(relation))) if sigma else ALL


def _laplace(what: Any, relation: Any) -> Spent:
    scale = _parameter(what, "noise_multiplier")
    return one(Laplace(scale=scale, sensitivity=_moves(relation))) if scale else ALL


def _discrete_laplace(what: Any, relation: Any) -> Spent:
    rate, bound = _parameter(what, "noise_parameter"), integer(what.sensitivity, "sensitivity", 0)
    if not bound:
        return NOTHING
    if not rate:  # no law on the integers: dp-accounting counts it as no privacy, which no law exceeds
        return ALL
    return one(DiscreteLaplace(scale=1 / rate, sensitivity=_moves(relation) * bound))


def _discrete_gaussian(what: Any, _: Any) -> Spent:
    sigma, bound = _parameter(what, "sigma"), _parameter(what, "sensitivity")
    if not bound:
        return NOTHING
    if not sigma:
        return ALL
    if what.dimension == 1:  # a single integer moves by whole numbers, so that the bound is rounded down
        return one(DiscreteGaussian(sigma=sigma, sensitivity=int(bound))) if bound >= 1 else NOTHING
    return one(RhoAlone(rho=bound**2 / (2 * sigma**2)))


def _randomized_response(what: Any, relation: Any) -> Spent:
    blind, k = _parameter(what, "noise_parameter"), integer(what.num_buckets, "num_buckets", 1)
    if blind > 1:
        raise Refused(what, f"noise_parameter ({what.noise_parameter}) must be at most 1")
    if relation is ADDED:
        raise Refused(what, f"{RELATION_OF_REPORTS}: a report has no meaning without the record")
    if k == 1 or blind == 1:
        return NOTHING
    if not blind:
        return ALL
    truth = 1 - blind + blind / k
    if relation is ZEROED:  # the special record's answer is uniform: two Bernoulli distributions, of truth and 1/k
        return one(BinaryRandomizedResponse(truth, Fraction(1, k), ordered=True))
    return one(RandomizedResponse.from_probability(truth, k))


def _zcdp(what: Any, _: Any) -> Spent:
    rho, xi = _parameter(what, "rho"), _parameter(what, "xi")
    return one(RhoAlone(rho=rho, xi=xi)) if rho or xi else NOTHING


def _approximate(what: Any, _: Any) -> Spent:
    """(epsilon, delta)-DP is dominated by pure epsilon-DP that reveals the input instead with probability delta."""
    epsilon, delta = _parameter(what, "epsilon"), _parameter(what, "delta")
    pure = one(PureDP(epsilon=epsilon)) if epsilon else NOTHING
    return pure + Spent(well=max(1 - delta, Fraction(0)))


def _exponential(what: Any, _: Any) -> Spent:
    epsilon = _parameter(what, "epsilon")
    return one(ExponentialMechanism(epsilon=epsilon)) if epsilon else NOTHING


def _permute_and_flip(what: Any, _: Any) -> Spent:
    epsilon = _parameter(what, "epsilon")
    return one(PermuteAndFlip(epsilon=epsilon)) if epsilon else NOTHING


def _poisson(what: Any, relation: Any) -> Spent:
    rate = _parameter(what, "sampling_probability")
    if rate > 1:
        raise Refused(what, f"sampling_probability ({what.sampling_probability}) must be at most 1")
    # The noise is stated for one record; that another one in its place moves a sum farther is the sample's concern.
    inner = translate(what.event, ADDED if relation is REPLACED and rate < 1 else relation)
    if not rate or inner == NOTHING:
        return NOTHING
    if rate == 1 or not inner.well:  # what is not private counts so on a sample too, as dp-accounting has it
        return inner
    if inner.well != 1:
        raise Refused(what, "a sample of an event that is private only but for a delta is not covered")
    assert inner.plan is not None
    parts = inner.plan.parts
    kinds = {type(part) for part, _ in parts}
    if kinds == {Gaussian}:  # Gaussian mechanisms compose to one, even if chosen adaptively
        whole: Mechanism = Gaussian(rho=sum((part.rho_fraction * n for part, n in parts), Fraction(0)))
        if relation is REPLACED:
            return one(ReplacedSample(whole, rate=rate))
    elif relation is REPLACED:
        raise Refused(what, f"{RELATION_OF_A_RECORD}; for a replaced record samples of Gaussian noise are covered")
    elif len(parts) == 1 and parts[0][1] == 1 and isinstance(parts[0][0], Laplace | DiscreteLaplace):
        whole = parts[0][0]
    else:
        raise Refused(what, "covered are samples of Gaussian noise, composed too, and of one Laplace noise")
    return one(Subsampled(whole, rate=rate))


def _mixture(what: Any, relation: Any) -> Spent:
    if relation is REPLACED:
        raise Refused(what, f"{RELATION_OF_A_RECORD}: it tells a record that is there from one that is not")
    sigma = _parameter(what, "standard_deviation")
    chances: dict[Fraction, Fraction] = {}
    for move, chance in zip(what.sensitivities, what.sampling_probs, strict=True):
        exact = rational(move, "sensitivities")
        chances[exact] = chances.get(exact, Fraction(0)) + rational(chance, "sampling_probs")
    if not chances or any(number < 0 for pair in chances.items() for number in pair):
        raise Refused(what, "sensitivities and sampling_probs must not be negative, and not be empty")
    missing = 1 - sum(chances.values(), Fraction(0))
    if abs(missing) > SLIP:
        raise Refused(what, f"sampling_probs must add up to 1, not to {float(1 - missing)!r}")
    # Floats seldom add up to 1: what is missing moves farthest, what is too much is taken where it moves least.
    for move in sorted(chances, reverse=missing > 0):
        change = max(missing, -chances[move])
        chances[move], missing = chances[move] + change, missing - change
    moves = [(move, chance) for move, chance in sorted(chances.items()) if move and chance]
    if not moves:
        return NOTHING
    if not sigma:
        return ALL
    return one(
        MixtureOfGaussians(
            sigma=sigma, sensitivities=[move for move, _ in moves], probabilities=[chance for _, chance in moves]
        )
    )


def _truncated(what: Any, relation: Any) -> Spent:
    rate, sigma = _parameter(what, "sampling_probability"), _parameter(what, "noise_multiplier")
    most, of = (integer(getattr(what, name), name, 0) for name in ("truncated_batch_size", "dataset_size"))
    if rate > 1:
        raise Refused(what, f"sampling_probability ({what.sampling_probability}) must be at most 1")
    if relation is not ADDED:
        raise Refused(what, "a sample that is cut is covered for a record added or removed")
    if not (rate and most and of):
        return NOTHING
    if not sigma:
        return ALL
    if rate == 1:  # a record that is kept may push another one out, and nothing hides which
        return one(Gaussian(sigma=sigma, sensitivity=2 if of > most else 1))
    return one(TruncatedSample(Gaussian(sigma=sigma), rate=rate, most=most, of=of, exactly=True))


def _composed(what: Any, relation: Any) -> Spent:
    return sum((translate(one, relation) for one in what.events), NOTHING)


def _self_composed(what: Any, relation: Any) -> Spent:
    return translate(what.event, relation).times(integer(what.count, "count", 0))


TAKEN: dict[str, Callable[[Any, Any], Spent]] = {
    "NoOpDpEvent": lambda *_: NOTHING,
    "NonPrivateDpEvent": lambda *_: ALL,
    "GaussianDpEvent": _gaussian,
    "LaplaceDpEvent": _laplace,
    "DiscreteLaplaceDpEvent": _discrete_laplace,
    "DiscreteGaussianDpEvent": _discrete_gaussian,
    "RandomizedResponseDpEvent": _randomized_response,
    "ZCDpEvent": _zcdp,
    "EpsilonDeltaDpEvent": _approximate,
    "ExponentialMechanismDpEvent": _exponential,
    "PermuteAndFlipDpEvent": _permute_and_flip,
    "PoissonSampledDpEvent": _poisson,
    "MixtureOfGaussiansDpEvent": _mixture,
    "TruncatedSubsampledGaussianDpEvent": _truncated,
    "ComposedDpEvent": _composed,
    "SelfComposedDpEvent": _self_composed,
}
"""The function for each kind of event, by the name of its class."""

NOT_TAKEN = {
    "UnsupportedDpEvent": "it stands for an operation that nobody described",
    "SampledWithReplacementDpEvent": "samples of a fixed size are not covered, Poisson samples are",
    "SampledWithoutReplacementDpEvent": "samples of a fixed size are not covered, Poisson samples are",
    "SingleEpochTreeAggregationDpEvent": "the noise of trees is not covered",
    "RepeatAndSelectDpEvent": "the best of a random number of runs is not covered",
}


def translate(what: Any, relation: Any) -> Spent:
    """What an event spends; raises `Refused` for an event that is not covered."""
    name = type(what).__name__
    if name not in TAKEN:
        raise Refused(what, NOT_TAKEN.get(name, "this event is not known here"))
    return TAKEN[name](what, relation)


def plan(what: dp_event.DpEvent, *, relation: Any = ADDED) -> Plan:
    """An event as a plan, for neighbours under dp-accounting's `relation`.

    >>> import dp_accounting as theirs
    >>> plan(theirs.SelfComposedDpEvent(theirs.LaplaceDpEvent(10.0), 100))
    100 * Laplace(epsilon='0.1')
    >>> plan(theirs.GaussianDpEvent(2.0), relation=theirs.NeighboringRelation.REPLACE_ONE)  # a sum moves twice as far
    Gaussian(sigma=2, sensitivity=2)
    """
    if not isinstance(what, dp_event.DpEvent):
        raise BadType(f"event ({what!r}) must be a DpEvent")
    spent = translate(what, relation)
    if spent.well != 1:
        raise Refused(what, "a plan has no part that fails with a delta, or that is not private: use Accountant")
    if spent.plan is None:
        raise Refused(what, "nothing is spent, and a plan has at least one part")
    return spent.plan


# From plans to events: parameters that are not floats are rounded in the direction that costs more.


def event(what: Curve, *, rho_alone: bool = False) -> dp_event.DpEvent:
    """A mechanism or plan as an event; parameters that are not floats are rounded in the direction that costs more.

    A mechanism for which dp-accounting has no event raises `Refused`, or becomes a `ZCDpEvent` with `rho_alone`.

    >>> event(100 * Laplace(epsilon="0.1"))
    SelfComposedDpEvent(event=LaplaceDpEvent(noise_multiplier=10.0), count=100)
    """
    if not isinstance(what, Curve):
        raise BadType(f"{what!r} is not a mechanism or a plan")
    events = [
        one if count == 1 else dp_event.SelfComposedDpEvent(one, count)
        for part, times in what.parts
        for coordinate, each in part.coordinates
        for one, count in [(_event(coordinate, rho_alone=rho_alone), times * each)]
    ]
    return events[0] if len(events) == 1 else dp_event.ComposedDpEvent(events)


def _event(part: Curve, *, rho_alone: bool) -> dp_event.DpEvent:
    match part:
        case Gaussian():
            return dp_event.GaussianDpEvent(_root(1 / (2 * part.exact_rho)))
        case Laplace() if not part.shape:
            return dp_event.LaplaceDpEvent(_multiplier(part.epsilon))
        case DiscreteLaplace() if isinstance(part.sensitivity, int):
            return dp_event.DiscreteLaplaceDpEvent(_rate(part.epsilon, part.sensitivity), part.sensitivity)
        case RandomizedResponse():
            return dp_event.RandomizedResponseDpEvent(_blindness(part.epsilon, part.k), part.k)
        case BinaryRandomizedResponse() if part.ordered and (1 / part.q).denominator == 1:
            k = int(1 / part.q)
            return dp_event.RandomizedResponseDpEvent(below((1 - part.p) * k / (k - 1)), k)
        case Subsampled(size=None) if type(part.mechanism) in (Gaussian, Laplace):
            return dp_event.PoissonSampledDpEvent(above(part.rate), _event(part.mechanism, rho_alone=False))
        case ReplacedSample(size=None):
            return dp_event.PoissonSampledDpEvent(above(part.rate), _event(part.mechanism, rho_alone=False))
        case RhoAlone():
            return dp_event.ZCDpEvent(above(part.exact_rho), above(part.xi))
    if not rho_alone:
        raise Refused(part, "dp-accounting has no event for it: rho_alone=True gives that of its rho")
    if not isfinite(part.rho):
        raise Refused(part, "its rho is infinite")
    return dp_event.ZCDpEvent(part.rho)


def _root(square: Fraction) -> float:
    """The square root as a float, rounded down: less noise costs more (a noise multiplier)."""
    near = float(enclose(lambda: lift(square).sqrt())[1])
    while Fraction(near) ** 2 > square:
        near = nextafter(near, 0.0)
    return near


def _blindness(epsilon: Exact, k: int) -> float:
    """The probability of a uniform answer, k/(e^epsilon - 1 + k), rounded down: fewer of them cost more."""
    if isinstance(epsilon, Log):
        return below(k / (epsilon.argument - 1 + k))
    return enclose(lambda: k / (lift(epsilon).exp() - 1 + k))[0]


def _multiplier(epsilon: Exact) -> float:
    """The noise multiplier 1/epsilon, rounded down."""
    return enclose(lambda: 1 / lift(epsilon))[0] if isinstance(epsilon, Log) else below(1 / epsilon)


def _rate(epsilon: Exact, move: int) -> float:
    """The parameter epsilon/move of discrete Laplace noise, rounded up: the noise is then smaller."""
    return enclose(lambda: lift(epsilon) / move)[1] if isinstance(epsilon, Log) else above(epsilon / move)
