"""Events of dp-accounting, read as what they spend.

An event means what its own docstring says: of Gaussian, Laplace and discrete Laplace noise the values of *one record*
are bounded, so that replacing a record moves the sum by twice the bound. Theorem: docs/theorems/adapters.md.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from dp_accounting import NeighboringRelation, dp_event

from zcdp.adapters.bounds import RhoAlone
from zcdp.adapters.dp_accounting.spent import ALL, NOTHING, Refused, Spent, one
from zcdp.errors import BadType
from zcdp.mechanisms import (
    BinaryRandomizedResponse,
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Laplace,
    Mechanism,
    PermuteAndFlip,
    PureDP,
    RandomizedResponse,
    Subsampled,
)
from zcdp.numeric.exact import integer, rational
from zcdp.privacy.plan import Plan

__all__ = ["ADDED", "NOT_TAKEN", "TAKEN", "plan", "translate"]

ADDED, REPLACED = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
ZEROED = NeighboringRelation.REPLACE_SPECIAL


def _parameter(what: Any, name: str) -> Fraction:
    value = rational(getattr(what, name), name)
    if value < 0:
        raise Refused(what, f"{name} ({getattr(what, name)}) must not be negative")
    return value


def _moves(relation: Any) -> int:
    """How many times the bound on one record's values a sum can move."""
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
    if not rate:
        raise Refused(what, "noise_parameter (0) is no law on the integers")
    return one(DiscreteLaplace(scale=1 / rate, sensitivity=_moves(relation) * bound))


def _discrete_gaussian(what: Any, _: Any) -> Spent:
    sigma, bound = _parameter(what, "sigma"), _parameter(what, "sensitivity")
    if not bound:
        return NOTHING
    if not sigma:
        return ALL
    if what.dimension == 1:  # one integer moves by whole numbers
        return one(DiscreteGaussian(sigma=sigma, sensitivity=int(bound))) if bound >= 1 else NOTHING
    return one(RhoAlone(rho=bound**2 / (2 * sigma**2)))


def _randomized_response(what: Any, relation: Any) -> Spent:
    blind, k = _parameter(what, "noise_parameter"), integer(what.num_buckets, "num_buckets", 1)
    if blind > 1:
        raise Refused(what, f"noise_parameter ({what.noise_parameter}) must be at most 1")
    if relation is ADDED:
        raise Refused(what, "a report has no meaning without the record: take REPLACE_ONE or REPLACE_SPECIAL")
    if k == 1 or blind == 1:
        return NOTHING
    if not blind:
        return ALL
    truth = 1 - blind + blind / k
    if relation is ZEROED:  # the special record answers uniformly, and all other answers are equally likely
        return one(BinaryRandomizedResponse(truth, Fraction(1, k), ordered=True))
    return one(RandomizedResponse.from_probability(truth, k))


def _zcdp(what: Any, _: Any) -> Spent:
    rho, xi = _parameter(what, "rho"), _parameter(what, "xi")
    return one(RhoAlone(rho=rho, xi=xi)) if rho or xi else NOTHING


def _approximate(what: Any, _: Any) -> Spent:
    """(epsilon, delta)-DP is dominated by a coin of probability delta that tells all, and else pure DP."""
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
    if relation is REPLACED:
        raise Refused(what, "a sample is covered for a record added, removed or made the zero record, not replaced")
    inner = translate(what.event, relation)
    if not rate or inner == NOTHING:
        return NOTHING
    if rate == 1:
        return inner
    if inner.well != 1:
        raise Refused(what, "a sample of an event that is not private, or only but for a delta, is not covered")
    assert inner.plan is not None
    parts = inner.plan.parts
    kinds = {type(part) for part, _ in parts}
    if kinds == {Gaussian}:  # together they are one Gaussian mechanism, adaptive or not
        whole: Mechanism = Gaussian(rho=sum((part.rho_fraction * n for part, n in parts), Fraction(0)))
    elif len(parts) == 1 and parts[0][1] == 1 and isinstance(parts[0][0], Laplace | DiscreteLaplace):
        whole = parts[0][0]
    else:
        raise Refused(what, "covered are samples of Gaussian noise, composed too, and of one Laplace noise")
    return one(Subsampled(whole, rate=rate))


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
    "ComposedDpEvent": _composed,
    "SelfComposedDpEvent": _self_composed,
}
"""One function an event, and none of them sees a count: that is multiplied in one place."""

NOT_TAKEN = {
    "UnsupportedDpEvent": "it stands for an operation that nobody described",
    "SampledWithReplacementDpEvent": "samples of a fixed size are not covered, Poisson samples are",
    "SampledWithoutReplacementDpEvent": "samples of a fixed size are not covered, Poisson samples are",
    "SingleEpochTreeAggregationDpEvent": "the noise of trees is not covered",
    "RepeatAndSelectDpEvent": "the best of a random number of runs is not covered",
    "MixtureOfGaussiansDpEvent": "a mixture of more than two sensitivities is not covered",
    "TruncatedSubsampledGaussianDpEvent": "samples that are cut to a size are not covered, Poisson samples are",
}


def translate(what: Any, relation: Any) -> Spent:
    """What an event comes to."""
    name = type(what).__name__
    if name not in TAKEN:
        raise Refused(what, NOT_TAKEN.get(name, "this event is not known here"))
    return TAKEN[name](what, relation)


def plan(what: dp_event.DpEvent, *, relation: Any = ADDED) -> Plan:
    """The plan that an event stands for, for neighbours of dp-accounting's `relation`.

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
