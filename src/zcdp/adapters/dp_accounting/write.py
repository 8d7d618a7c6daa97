"""Plans written as events of dp-accounting; what is no float is rounded to the side that costs more."""

from __future__ import annotations

from fractions import Fraction
from math import isfinite, nextafter

from dp_accounting import dp_event

from zcdp.adapters.bounds import RhoAlone
from zcdp.adapters.dp_accounting.spent import Refused
from zcdp.adapters.outward import above, below
from zcdp.errors import BadType
from zcdp.mechanisms import (
    BinaryRandomizedResponse,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    RandomizedResponse,
    Subsampled,
)
from zcdp.numeric.balls import lift
from zcdp.numeric.certify import enclose
from zcdp.numeric.exact import Exact, Log
from zcdp.privacy.curve import Curve

__all__ = ["event"]


def event(what: Curve, *, rho_alone: bool = False) -> dp_event.DpEvent:
    """The event that a mechanism or a plan stands for; parameters that are no floats are rounded to cost more.

    A mechanism that dp-accounting has no event for is refused, or goes out as its rho with `rho_alone`.

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
        case Subsampled() if type(part.mechanism) in (Gaussian, Laplace):
            return dp_event.PoissonSampledDpEvent(above(part.rate), _event(part.mechanism, rho_alone=False))
        case RhoAlone():
            return dp_event.ZCDpEvent(above(part.exact_rho), above(part.xi))
    if not rho_alone:
        raise Refused(part, "dp-accounting has no event for it: rho_alone=True gives that of its rho")
    if not isfinite(part.rho):
        raise Refused(part, "its rho is infinite")
    return dp_event.ZCDpEvent(part.rho)


def _root(square: Fraction) -> float:
    """The square root as a float, rounded down: less noise costs more."""
    near = float(enclose(lambda: lift(square).sqrt())[1])
    while Fraction(near) ** 2 > square:
        near = nextafter(near, 0.0)
    return near


def _blindness(epsilon: Exact, k: int) -> float:
    """The probability of a uniform answer, k/(e^epsilon - 1 + k), rounded down."""
    if isinstance(epsilon, Log):
        return below(k / (epsilon.argument - 1 + k))
    return enclose(lambda: k / (lift(epsilon).exp() - 1 + k))[0]


def _multiplier(epsilon: Exact) -> float:
    """1/epsilon, rounded down."""
    return enclose(lambda: 1 / lift(epsilon))[0] if isinstance(epsilon, Log) else below(1 / epsilon)


def _rate(epsilon: Exact, move: int) -> float:
    """epsilon/move, rounded up."""
    return enclose(lambda: lift(epsilon) / move)[1] if isinstance(epsilon, Log) else above(epsilon / move)
