"""The laws of a mechanism's output on two neighbouring inputs, to be drawn: floats for the eye, and no guarantee.

What is certified is computed elsewhere, from exact laws; here a picture is 1/100 wide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, exp, floor, inf, pi, sqrt
from typing import Any

from zcdp.mechanisms import (
    RAPPOR,
    BinaryRandomizedResponse,
    Channel,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Logistic,
    LossPair,
    Mechanism,
    RandomizedResponse,
    Staircase,
)

__all__ = ["Bars", "Lines", "output_laws"]

REACH = 4.0
"""How many standard deviations of the noise are drawn."""
POINTS = 161
MOST_BARS = 40
FEW = 12


@dataclass(frozen=True)
class Lines:
    """Two densities on the same places, or the masses of integers."""

    places: tuple[float, ...]
    one: tuple[float, ...]
    other: tuple[float, ...]
    whole: bool


@dataclass(frozen=True)
class Bars:
    """The probabilities of named outcomes."""

    names: tuple[str, ...]
    one: tuple[float, ...]
    other: tuple[float, ...]


def output_laws(mechanism: Mechanism) -> Lines | Bars | None:
    """The two laws, for noise on one answer and for few outcomes; None for other mechanisms.

    >>> from zcdp import RandomizedResponse
    >>> output_laws(RandomizedResponse(epsilon="log(3)", k=4)).one
    (0.500..., 0.166666..., 0.333333...)
    """
    if isinstance(mechanism, Laplace | DiscreteLaplace | Logistic | Gaussian | DiscreteGaussian | Staircase):
        return _noise(mechanism)
    if isinstance(mechanism, RandomizedResponse):
        e, k = exp(mechanism.pure_epsilon), int(mechanism.k)
        top, low = e / (e + k - 1), 1 / (e + k - 1)
        rest = (("any other", (k - 2) * low, (k - 2) * low),) if k > 2 else ()
        return _bars(("one's own", top, low), ("the other's", low, top), *rest)
    if isinstance(mechanism, BinaryRandomizedResponse):
        p, q = float(mechanism.p), float(mechanism.q)
        return _bars(("1", p, q), ("0", 1 - p, 1 - q))
    if isinstance(mechanism, RAPPOR):
        half = exp(mechanism.pure_epsilon / 2)
        top, low = half / (half + 1), 1 / (half + 1)
        return _bars(
            ("bits 1 0", top * top, low * low),
            ("bits 1 1", top * low, low * top),
            ("bits 0 0", low * top, top * low),
            ("bits 0 1", low * low, top * top),
        )
    if isinstance(mechanism, Channel):
        one, other = mechanism.worst_pair
        return _listed(mechanism.rows[one], mechanism.rows[other])
    return _listed(mechanism.p, mechanism.q) if isinstance(mechanism, LossPair) else None


def _listed(one: Sequence[Any], other: Sequence[Any]) -> Bars | None:
    """Outcomes by their numbers, if there are few of them."""
    pairs = enumerate(zip(one, other, strict=True))
    return _bars(*((str(n), float(p), float(q)) for n, (p, q) in pairs)) if len(one) <= FEW else None


def _bars(*outcomes: tuple[str, float, float]) -> Bars:
    names, one, other = zip(*outcomes, strict=True)
    return Bars(names, one, other)


def _noise(mechanism: Any) -> Lines | None:
    try:
        sd = mechanism.accuracy().standard_deviation
        move = float(mechanism.unit)
    except (TypeError, ArithmeticError):  # a staircase without a stated sensitivity
        return None
    if not (0 < sd < inf and 0 < move < inf):
        return None
    density = _density(mechanism, sd)
    low, high = -REACH * sd, move + REACH * sd
    if isinstance(mechanism, DiscreteLaplace | DiscreteGaussian):
        step = max(1, ceil((high - low) / MOST_BARS / 2))
        places = [float(n) for n in range(floor(low), ceil(high) + 1, step)]
    else:
        places = [low + (high - low) * n / (POINTS - 1) for n in range(POINTS)]
    return Lines(
        tuple(places),
        tuple(density(x) for x in places),
        tuple(density(x - move) for x in places),
        isinstance(mechanism, DiscreteLaplace | DiscreteGaussian),
    )


def _density(mechanism: Any, sd: float) -> Callable[[float], Any]:
    if isinstance(mechanism, Gaussian | DiscreteGaussian):
        whole = sum(exp(-((n / sd) ** 2) / 2) for n in range(-ceil(9 * sd) - 1, ceil(9 * sd) + 2)) if sd < 30 else 0
        if isinstance(mechanism, Gaussian) or not whole:
            whole = sd * sqrt(2 * pi)
        return lambda x: exp(-((x / sd) ** 2) / 2) / whole
    if isinstance(mechanism, Staircase):
        epsilon, width = float(mechanism.pure_epsilon), float(mechanism.sensitivity or 1)
        gamma = float(mechanism.gamma or 0)
        q = exp(-epsilon)
        top = (1 - q) / (2 * width * (gamma + q * (1 - gamma)))

        def staircase(x: float) -> Any:
            steps, inside = divmod(abs(x) / width, 1)
            return top * q ** (steps + (inside >= gamma))

        return staircase
    scale = float(mechanism.scale)
    if isinstance(mechanism, Logistic):
        return lambda x: exp(-abs(x) / scale) / (scale * (1 + exp(-abs(x) / scale)) ** 2)
    if isinstance(mechanism, DiscreteLaplace):
        q = exp(-1 / scale)
        return lambda x: (1 - q) / (1 + q) * q ** abs(x)
    return lambda x: exp(-abs(x) / scale) / (2 * scale)
