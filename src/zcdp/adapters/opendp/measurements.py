"""OpenDP measurements with tight privacy maps: in rho, as Renyi curves, or in (epsilon, delta).

Each wraps a measurement of OpenDP, which draws the noise, and replaces its privacy map only.
"""

from __future__ import annotations

import ctypes
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import opendp.prelude as dp
from opendp.context import constructors

from zcdp.adapters.common import RhoAlone
from zcdp.adapters.opendp.opendp_distributions import (
    Law,
    Refused,
    at,
    is_pure,
    is_renyi,
    is_zcdp,
    kwargs,
    law_of,
    name_of,
)
from zcdp.adapters.opendp.renyi_route import renyi_delta, renyi_epsilon
from zcdp.errors import BadValue
from zcdp.mechanisms import Mechanism, PureDP
from zcdp.privacy.curve import Curve, Plan

__all__ = ["Approximate", "approximate", "forward", "plan", "register", "renyi", "tighten"]


# Forwarding data to the wrapped measurement without copying it.
#
# OpenDP converts the data of a Python function to lists, and its result back: twice for every number, a fifth of the
# time for a vector of integers. A callback gets the Rust object itself and passes it on to the wrapped measurement.
# This uses private parts of OpenDP; if they are missing, the measurement is used as a plain Python function.

try:
    from opendp import _lib
except ImportError:  # pragma: no cover - a version of OpenDP without this module
    _lib = None


NEEDED = "AnyObject", "AnyObjectPtr", "CallbackFn", "CallbackFnPtr", "CallbackFnValue", "ExtrinsicObject", "FfiResult"


def forward(measurement: Any) -> Any:
    """The `function` argument of `make_user_measurement` that releases what the measurement releases."""
    if any(not hasattr(_lib, name) for name in (*NEEDED, "lib", "unwrap")):
        return measurement
    callback = _lib.CallbackFn(_dispatch(), _lib.ExtrinsicObject(ctypes.py_object(measurement)))
    return _lib.CallbackFnPtr(callback)


@cache
def _dispatch() -> Any:
    """The callback shared by all forwarded measurements. It is never freed, as Rust keeps its address."""
    return _lib.CallbackFnValue(_pass_on)


def _pass_on(given: Any, measurement: Any) -> int:
    try:
        invoke = _lib.lib.opendp_core__measurement_invoke
        invoke.argtypes, invoke.restype = [dp.Measurement, _lib.AnyObjectPtr], _lib.FfiResult
        released = _lib.unwrap(invoke(measurement, given), ctypes.c_void_p)
        done = _lib.lib.ffiresult_ok
        done.argtypes, done.restype = [ctypes.c_void_p], ctypes.c_void_p
        return int(done(released))
    except Exception:
        failed = _lib.lib.ffiresult_err
        failed.argtypes, failed.restype = [ctypes.c_char_p, ctypes.c_char_p], ctypes.c_void_p
        return int(failed(b"the measurement inside a tight one failed", traceback.format_exc().encode()))
    finally:
        given.__class__ = ctypes.POINTER(_lib.AnyObject)  # Rust owns the object: do not let Python free it


# Measurements with tight privacy maps, and the plan that a measurement spends.

COMPOSED = ("make_composition", "make_basic_composition")


def tighten(measurement: Any, *, law: type[Mechanism] | None = None) -> Any:
    """The same measurement under zero-concentrated divergence, with the tight map; OpenDP still draws the noise.

    Chains, post-processing and compositions are rebuilt from tightened parts; parts that OpenDP measures in rho itself,
    such as Gaussian noise, are kept. Raises `Refused` for a measurement whose distribution is not known, and, if `law`
    is given, for one that draws from another distribution.
    """
    name, given = name_of(measurement), kwargs(measurement)
    if hasattr(measurement, "zcdp_law"):
        return _believed(measurement, measurement.zcdp_law, law)
    if name == "make_chain_mt":
        return dp.c.make_chain_mt(tighten(given["measurement1"], law=law), given["transformation0"])
    if name == "make_chain_pm":
        return dp.c.make_chain_pm(given["postprocess1"], tighten(given["measurement0"], law=law))
    if name == "make_pureDP_to_zCDP":
        return tighten(given["measurement"], law=law)
    if name in COMPOSED:
        return dp.c.make_composition([_or_as_it_is(part, law) for part in given["measurements"]])
    return _tight(measurement, law_of(measurement), law)


def _or_as_it_is(measurement: Any, law: type[Mechanism] | None) -> Any:
    """The tightened measurement; Gaussian noise is kept, as OpenDP's own rho is tight for it."""
    return (
        measurement
        if is_zcdp(measurement) and name_of(measurement) == "make_gaussian"
        else tighten(measurement, law=law)
    )


def _believed(measurement: Any, found: Law, law: type[Mechanism] | None) -> Any:
    if law is not None and law is not found.kind:
        raise Refused(f"{name_of(measurement)} draws from {found.kind.__name__}, not from {law.__name__}")
    return measurement


def _tight(measurement: Any, found: Law, law: type[Mechanism] | None) -> Any:
    _believed(measurement, found, law)

    tight = dp.m.make_user_measurement(
        *measurement.input_space,
        dp.zero_concentrated_divergence(),
        function=forward(measurement),
        privacy_map=lambda distance: _rho(found, distance),
        TO=found.releases,
    )
    tight.zcdp_law = found
    # A direct call of `map` skips Rust; chains and compositions call the privacy map through Rust.
    tight.map = lambda distance: _rho(found, distance)
    return tight


def _rho(law: Law, distance: Any) -> float:
    spent = at(law, distance)
    return 0.0 if spent is None else spent.rho


def renyi(measurement: Any) -> Any:
    """The measurement under Renyi divergence: its map returns the tight curve at a distance; OpenDP adds curves up.

    The argument is a single measurement of a known distribution, tightened or not; chain and compose the result.
    """
    found = getattr(measurement, "zcdp_law", None) or law_of(measurement)

    def curve(distance: Any) -> Callable[[float], float]:
        spent = at(found, distance)
        return lambda order: 0.0 if spent is None else spent.rdp(order)

    result = dp.m.make_user_measurement(
        *measurement.input_space,
        dp.renyi_divergence(),
        function=forward(measurement),
        privacy_map=curve,
        TO=found.releases,
    )
    result.zcdp_law = found
    return result


def plan(measurement: Any, distance: Any) -> Plan:
    """What the measurement spends for inputs at that distance, as a plan.

    A part whose distribution is not known counts by OpenDP's own map: as rho, or as any pure epsilon-DP mechanism.
    """
    parts = _parts(measurement, distance)
    if not parts:
        raise BadValue(f"nothing is spent at a distance of {distance}, and a plan has at least one part")
    return Plan.sum_of(*parts)


def _parts(measurement: Any, distance: Any) -> list[Curve]:
    name, given = name_of(measurement), kwargs(measurement)
    known = getattr(measurement, "zcdp_law", None)
    if known is None:
        if name == "make_chain_mt":
            return _parts(given["measurement1"], given["transformation0"].map(distance))
        if name == "make_chain_pm":
            return _parts(given["measurement0"], distance)
        if name == "make_pureDP_to_zCDP":
            return _parts(given["measurement"], distance)
        if name in COMPOSED:
            return [part for one in given["measurements"] for part in _parts(one, distance)]
        try:
            known = law_of(measurement)
        except Refused:
            return _by_map(measurement, distance)
    spent = at(known, distance)
    return [] if spent is None else [spent]


def _by_map(measurement: Any, distance: Any) -> list[Curve]:
    if not is_zcdp(measurement) and not is_pure(measurement):
        raise Refused(f"{name_of(measurement)} is refused: it is measured in {measurement.output_measure}")
    value = measurement.map(distance)
    if not value:
        return []
    return [PureDP(epsilon=value) if is_pure(measurement) else RhoAlone(rho=value)]


@dataclass(frozen=True)
class Approximate:
    """A measurement with its certified (epsilon, delta), from the exact privacy profile of all its parts."""

    measurement: Any

    def __call__(self, data: Any) -> Any:
        """Run the measurement on the data."""
        return self.measurement(data)

    def plan(self, distance: Any) -> Plan:
        """What the measurement spends at that distance, as a plan (with rho, the Renyi curve, both ends of epsilon)."""
        return plan(self.measurement, distance)

    def _curve(self, distance: Any) -> Callable[[float], float] | None:
        """OpenDP's own Renyi curve, if the distribution of some part is not known; else None."""
        if not is_renyi(self.measurement):
            return None
        try:
            _parts(self.measurement, distance)
        except Refused:
            curve: Callable[[float], float] = self.measurement.map(distance)
            return curve
        return None

    def epsilon(self, distance: Any, *, delta: float) -> float:
        """The certified upper end of epsilon at delta."""
        if (curve := self._curve(distance)) is not None:
            return renyi_epsilon(curve, delta)
        parts = _parts(self.measurement, distance)
        return Plan.sum_of(*parts).epsilon_at(delta=delta) if parts else 0.0

    def delta(self, distance: Any, *, epsilon: float) -> float:
        """The certified upper end of delta at epsilon."""
        if (curve := self._curve(distance)) is not None:
            return renyi_delta(curve, epsilon)
        parts = _parts(self.measurement, distance)
        return Plan.sum_of(*parts).delta_at(epsilon=epsilon) if parts else 0.0

    def map(self, distance: Any) -> Any:
        """An OpenDP `PrivacyProfile` at that distance, with `.epsilon(delta)` and `.delta(epsilon)`."""
        return dp.new_privacy_profile(lambda epsilon: self.delta(distance, epsilon=epsilon))

    def fixed(self, delta: float) -> Any:
        """The measurement under OpenDP's (epsilon, delta) measure at this delta, for compositions in OpenDP."""
        return dp.m.make_user_measurement(
            *self.measurement.input_space,
            dp.approximate(dp.max_divergence()),
            function=self.measurement,
            privacy_map=lambda distance: (self.epsilon(distance, delta=delta), delta),
        )


def approximate(measurement: Any) -> Approximate:
    """(epsilon, delta) of a measurement or a composition, by the exact privacy profile and not through rho alone."""
    if not is_pure(measurement) and not is_zcdp(measurement) and not is_renyi(measurement):
        raise Refused(f"{name_of(measurement)} is refused: it is measured in {measurement.output_measure}")
    return Approximate(measurement)


# Constructors for OpenDP's Context API, which finds the scale of their noise for a budget in rho.


def make_tight_laplace(input_domain: Any, input_metric: Any, scale: float, k: int | None = None) -> Any:
    """`make_laplace` with the tight map in rho."""
    return tighten(dp.m.make_laplace(input_domain, input_metric, scale, k))


def make_tight_geometric(input_domain: Any, input_metric: Any, scale: float) -> Any:
    """`make_geometric` with the tight map in rho."""
    return tighten(dp.m.make_geometric(input_domain, input_metric, scale))


def make_tight_noisy_max(input_domain: Any, input_metric: Any, scale: float, negate: bool = False) -> Any:
    """`make_noisy_max` with Gumbel noise and the tight map in rho."""
    measure = dp.zero_concentrated_divergence()
    return tighten(dp.m.make_noisy_max(input_domain, input_metric, measure, scale, negate))


def register() -> None:
    """Add `.tight_laplace()`, `.tight_geometric()` and `.tight_noisy_max()` to OpenDP's queries; call it once."""
    for constructor in (make_tight_laplace, make_tight_geometric, make_tight_noisy_max):
        if constructor.__name__.removeprefix("make_") not in constructors:
            dp.register(constructor)
