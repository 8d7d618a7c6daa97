"""A measurement of Tumult Core, measured in rho by a tight bound instead of epsilon^2/2."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy
from tmlt.core.measurements.base import Measurement
from tmlt.core.measurements.converters import PureDPToRhoZCDP
from tmlt.core.measures import PureDP, RhoZCDP
from tmlt.core.utils.exact_number import ExactNumber

from zcdp.adapters.tumult.laws import Refused, law_of, rational_of

__all__ = ["Tight", "tighten"]


class Tight(Measurement):  # type: ignore[misc]
    """The wrapped measurement and its sampler, with a certified rational bound on rho as its privacy function.

    By default that is d^2 times the tight rho at distance 1: quadratic in the distance, and so sound below parallel
    composition over an l2 norm. `alone` promises that it is not used there, and gives the tight rho at every distance.
    """

    def __init__(self, measurement: Any, *, alone: bool = False, declared: tuple[Any, Any] | None = None) -> None:
        if measurement.is_interactive:
            raise Refused(f"{type(measurement).__name__} is refused: it is interactive")
        if measurement.output_measure != PureDP() and not isinstance(measurement, PureDPToRhoZCDP):
            raise Refused(f"{type(measurement).__name__} is refused: it is measured in {measurement.output_measure}")
        super().__init__(
            input_domain=measurement.input_domain,
            input_metric=measurement.input_metric,
            output_measure=RhoZCDP(),
            is_interactive=False,
        )
        self._measurement, self._alone, self._declared = measurement, alone, None
        law_of(measurement)  # refused here, not at the first question
        if not alone:
            self._bound(ExactNumber(1))
        if declared is not None:
            distance, rho = ExactNumber(declared[0]), ExactNumber(declared[1])
            if not self._bound(distance) <= rational_of(rho):
                raise Refused(f"rho ({rho}) at {distance} is less than the measurement spends")
            self._declared = (distance, rho)

    @property
    def measurement(self) -> Any:
        """The wrapped measurement."""
        return self._measurement

    def _bound(self, distance: Any) -> Fraction:
        law = law_of(self._measurement)
        return law.tight(rational_of(distance)) if self._alone else law.quadratic(rational_of(distance**2))

    def privacy_function(self, d_in: Any) -> ExactNumber:
        """An upper bound on rho at this distance: the declared one, where it was proven to hold."""
        self.input_metric.validate(d_in)
        distance = ExactNumber(d_in)
        if self._declared is not None and distance == self._declared[0]:
            return self._declared[1]
        bound = self._bound(distance)
        return ExactNumber(sympy.Rational(bound.numerator, bound.denominator))

    def __call__(self, data: Any) -> Any:
        """The release of the wrapped measurement."""
        return self._measurement(data)


def tighten(measurement: Any, *, alone: bool = False) -> Tight:
    """The measurement, measured in rho by the tight bound; refused where its law or its metric is not covered."""
    return Tight(measurement, alone=alone)
