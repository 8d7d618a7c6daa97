"""Which distribution an OpenDP measurement draws from, read from its constructor's arguments and checked by its map.

Theorem: docs/theorems/adapters.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

import opendp.prelude as dp

from zcdp.errors import BadValue
from zcdp.mechanisms import RAPPOR, DiscreteLaplace, ExponentialMechanism, Mechanism, PermuteAndFlip, RandomizedResponse
from zcdp.numeric.exact import Log, rational
from zcdp.privacy.curve import Curve

__all__ = ["Law", "Refused", "is_pure", "is_renyi", "is_zcdp", "kwargs", "law_of", "name_of"]


LEAST_EXPONENT = {"f64": -1074, "f32": -149}
"""Every finite float of the type is a multiple of 2 to this power."""
RELATIVE_ROUNDING = 1e-6
"""Relative error allowed between OpenDP's floats, single precision included, and exact numbers."""


class Refused(BadValue):
    """A measurement whose distribution is not known; the message gives the reason."""


@dataclass(frozen=True)
class Law:
    """The distribution of a measurement.

    `spent` gives the mechanism (None if nothing is spent) for inputs at a distance, `own_map` the value that OpenDP's
    map must have there, `releases` OpenDP's name for the type of the output.
    """

    kind: type[Mechanism]
    spent: Callable[[Fraction], Curve | None]
    own_map: Callable[[Fraction], float]
    releases: str


def is_pure(measurement: Any) -> bool:
    """Whether the measurement's output measure is max divergence (pure epsilon)."""
    return bool(measurement.output_measure == dp.max_divergence())


def is_zcdp(measurement: Any) -> bool:
    """Whether the measurement's output measure is zero-concentrated divergence (rho)."""
    return bool(measurement.output_measure == dp.zero_concentrated_divergence())


def is_renyi(measurement: Any) -> bool:
    """Whether the measurement's output measure is Renyi divergence."""
    return bool(measurement.output_measure == dp.renyi_divergence())


def name_of(measurement: Any) -> str:
    """The name of the constructor that made the measurement."""
    return str(getattr(measurement, "__opendp_dict__", {}).get("__function__", "a measurement without a record"))


def kwargs(thing: Any) -> dict[str, Any]:
    """The keyword arguments of the constructor, as OpenDP recorded them."""
    return dict(getattr(thing, "__opendp_dict__", {}).get("__kwargs__", {}))


def law_of(measurement: Any) -> Law:
    """The distribution of a measurement from a known constructor; raises `Refused` for any other."""
    name = name_of(measurement)
    if name not in _LAWS:
        raise Refused(f"{name} is refused: {_REASONS.get(name, 'the law that it draws from is not known here')}")
    law = _LAWS[name](measurement, kwargs(measurement))
    _check(measurement, law, name)
    return law


def _check(measurement: Any, law: Law, name: str) -> None:
    """Raise `Refused` unless OpenDP's own map has the values that the recorded arguments imply."""
    apart = (1,) if measurement.input_metric == dp.discrete_distance() else (1, 3)
    for distance in apart:
        theirs, named = measurement.map(_typed(measurement, distance)), law.own_map(Fraction(distance))
        if not abs(theirs - named) <= RELATIVE_ROUNDING * named:
            raise Refused(f"{name} is refused: its map says {theirs} at {distance}, its record {named}")


def _typed(measurement: Any, distance: int) -> float:
    """The distance as an int or a float, whichever type the metric has."""
    return float(distance) if str(measurement.input_distance_type) in ("f32", "f64") else distance


def _scale(given: dict[str, Any], name: str) -> Fraction:
    scale = rational(given["scale"], "scale")
    if scale <= 0:
        raise Refused(f"{name} is refused: scale ({given['scale']}) must be positive")
    return scale


def _noise(measurement: Any, given: dict[str, Any]) -> Law:
    """Discrete Laplace noise: for floats on multiples of 2^k, for integers on the integers."""
    name = name_of(measurement)
    if not is_pure(measurement):
        raise Refused(f"{name} is refused: measured in {measurement.output_measure} it draws other noise")
    if given.get("bounds") is not None:
        raise Refused(f"{name} is refused: with bounds it draws from a truncated law")
    scale, carrier = _scale(given, name), str(measurement.input_carrier_type)
    atom = carrier.removeprefix("Vec<").removesuffix(">")
    if atom not in LEAST_EXPONENT:
        step, rounded = Fraction(1), 0
    else:
        k = LEAST_EXPONENT[atom] if given.get("k") is None else int(given["k"])
        step, rounded = Fraction(2) ** k, 0 if k <= LEAST_EXPONENT[atom] else 1
        if rounded and carrier != atom:
            raise Refused(f"{name} is refused: of vectors the rounding to 2^k is not covered; leave k out")

    def spent(distance: Fraction) -> Curve | None:
        moves = int(distance / step) + rounded
        return DiscreteLaplace(epsilon=moves * step / scale, sensitivity=moves) if moves else None

    return Law(DiscreteLaplace, spent, lambda distance: float((distance + rounded * step) / scale), carrier)


def _randomized_response(measurement: Any, given: dict[str, Any]) -> Law:
    categories = given.get("categories", [False, True])
    if len(set(categories)) != len(categories):
        raise Refused(f"{name_of(measurement)} is refused: categories must be different")
    truth, k = rational(given["prob"], "prob"), len(categories)
    if not Fraction(1, k) < truth < 1:
        raise Refused(f"{name_of(measurement)} is refused: prob ({given['prob']}) must lie above 1/{k} and below 1")
    response = RandomizedResponse.from_probability(truth, k)
    carrier = str(measurement.input_carrier_type)
    return Law(RandomizedResponse, lambda _: response, lambda _: response.pure_epsilon, carrier)


def _bits(measurement: Any, given: dict[str, Any]) -> Law:
    """Each bit is flipped with probability f/2. Vectors with m ones differ in at most 2m bits: m times RAPPOR."""
    weight = kwargs(given["input_domain"]).get("max_weight")
    flip = rational(given["f"], "f")
    if not weight or not 0 < flip < 1:
        raise Refused(f"{name_of(measurement)} is refused: it needs a max_weight, and f in (0, 1)")
    one = RAPPOR(epsilon=Log(((2 - flip) / flip) ** 2))
    response: Curve = one if weight == 1 else int(weight) * one
    return Law(RAPPOR, lambda _: response, lambda _: response.pure_epsilon, "BitVector")


def _noisy_max(measurement: Any, given: dict[str, Any]) -> Law:
    """In rho OpenDP draws Gumbel noise, the exponential mechanism; in pure epsilon it is permute-and-flip."""
    name = name_of(measurement)
    if not is_pure(measurement) and not is_zcdp(measurement):
        raise Refused(f"{name} is refused: measured in {measurement.output_measure} its noise is not known here")
    if (given["output_measure"] == dp.max_divergence()) != is_pure(measurement):
        raise Refused(f"{name} is refused: its record is of another measurement")
    scale = _scale(given, name)
    both_ways = 1 if kwargs(given["input_metric"]).get("monotonic") else 2
    kind: type[ExponentialMechanism | PermuteAndFlip] = PermuteAndFlip if is_pure(measurement) else ExponentialMechanism

    def spent(distance: Fraction) -> Curve | None:
        return kind(epsilon=both_ways * distance / scale)

    def own_map(distance: Fraction) -> float:
        eta = float(both_ways * distance / scale)
        return eta if is_pure(measurement) else eta * eta / 8

    return Law(kind, spent, own_map, "usize")


_LAWS: dict[str, Callable[[Any, dict[str, Any]], Law]] = {
    "make_laplace": _noise,
    "make_geometric": _noise,
    "make_noise": _noise,
    "make_randomized_response": _randomized_response,
    "make_randomized_response_bool": _randomized_response,
    "make_randomized_response_bitvec": _bits,
    "make_noisy_max": _noisy_max,
}
_REASONS = {
    "make_user_measurement": "nothing is known of a function but what its author says",
    "make_report_noisy_max_gumbel": "its name and its law differ; make_noisy_max says which noise it draws",
    "make_gaussian": "its own map is tight: leave it as it is",
    "make_private_lazyframe": "Polars expressions choose their noise inside of OpenDP",
    "make_private_expr": "Polars expressions choose their noise inside of OpenDP",
    "make_canonical_noise": "it is (epsilon, delta)-DP, and has no rho",
}


def at(law: Law, distance: Any) -> Curve | None:
    """The mechanism for inputs at that distance; None if nothing is spent."""
    if distance == inf:
        raise BadValue("distance (inf) must be finite")
    number = rational(distance, "distance")
    if number < 0:
        raise BadValue(f"distance ({distance}) must not be negative")
    return law.spent(number) if number else None
