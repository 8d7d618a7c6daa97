"""Which law an OpenDP measurement draws from, read from the record of its constructor and checked against its map.

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
"""Every finite float is a multiple of two to this power."""
RELATIVE_ROUNDING = 1e-6
"""So far, relatively, their floats (of single precision, too) may be from the exact numbers."""


class Refused(BadValue):
    """A measurement whose law is not known here: the reason."""


@dataclass(frozen=True)
class Law:
    """What a measurement spends at each distance of its inputs, what OpenDP's own map says, and what it releases."""

    kind: type[Mechanism]
    spent: Callable[[Fraction], Curve | None]
    own_map: Callable[[Fraction], float]
    releases: str


def is_pure(measurement: Any) -> bool:
    """Whether it is measured in pure epsilons."""
    return bool(measurement.output_measure == dp.max_divergence())


def is_zcdp(measurement: Any) -> bool:
    """Whether it is measured in rho."""
    return bool(measurement.output_measure == dp.zero_concentrated_divergence())


def is_renyi(measurement: Any) -> bool:
    """Whether it is measured in Renyi divergences."""
    return bool(measurement.output_measure == dp.renyi_divergence())


def name_of(measurement: Any) -> str:
    """The constructor that made it."""
    return str(getattr(measurement, "__opendp_dict__", {}).get("__function__", "a measurement without a record"))


def kwargs(thing: Any) -> dict[str, Any]:
    """What its constructor was given."""
    return dict(getattr(thing, "__opendp_dict__", {}).get("__kwargs__", {}))


def law_of(measurement: Any) -> Law:
    """The law, for the constructors that are known; every other one is refused."""
    name = name_of(measurement)
    if name not in _LAWS:
        raise Refused(f"{name} is refused: {_REASONS.get(name, 'the law that it draws from is not known here')}")
    law = _LAWS[name](measurement, kwargs(measurement))
    _check(measurement, law, name)
    return law


def _check(measurement: Any, law: Law, name: str) -> None:
    """Their own map must be that of the law which the record names: else one of the two is about something else."""
    apart = (1,) if measurement.input_metric == dp.discrete_distance() else (1, 3)
    for distance in apart:
        theirs, named = measurement.map(_typed(measurement, distance)), law.own_map(Fraction(distance))
        if not abs(theirs - named) <= RELATIVE_ROUNDING * named:
            raise Refused(f"{name} is refused: its map says {theirs} at {distance}, its record {named}")


def _typed(measurement: Any, distance: int) -> float:
    """As an int or a float, as the metric has it."""
    return float(distance) if str(measurement.input_distance_type) in ("f32", "f64") else distance


def _scale(given: dict[str, Any], name: str) -> Fraction:
    scale = rational(given["scale"], "scale")
    if scale <= 0:
        raise Refused(f"{name} is refused: scale ({given['scale']}) must be positive")
    return scale


def _noise(measurement: Any, given: dict[str, Any]) -> Law:
    """Discrete Laplace noise on whole multiples of 2^k; of integers on themselves."""
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
        return DiscreteLaplace(scale=scale / step, sensitivity=moves) if moves else None

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
    """Each bit is flipped with probability f/2; vectors of weight m differ in 2m bits: m times RAPPOR."""
    weight = kwargs(given["input_domain"]).get("max_weight")
    flip = rational(given["f"], "f")
    if not weight or not 0 < flip < 1:
        raise Refused(f"{name_of(measurement)} is refused: it needs a max_weight, and f in (0, 1)")
    one = RAPPOR(epsilon=Log(((2 - flip) / flip) ** 2))
    response: Curve = one if weight == 1 else int(weight) * one
    return Law(RAPPOR, lambda _: response, lambda _: response.pure_epsilon, "BitVector")


def _noisy_max(measurement: Any, given: dict[str, Any]) -> Law:
    """Gumbel noise where it is measured in rho, which is the exponential mechanism; else permute-and-flip."""
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
    """What is spent by inputs at that distance; None where they are the same."""
    if distance == inf:
        raise BadValue("distance (inf) must be finite")
    number = rational(distance, "distance")
    if number < 0:
        raise BadValue(f"distance ({distance}) must not be negative")
    return law.spent(number) if number else None
