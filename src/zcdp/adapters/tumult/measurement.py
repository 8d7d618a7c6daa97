"""Measurements of Tumult Core under a tight bound on rho instead of epsilon^2/2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy
from tmlt.core.domains.numpy_domains import NumpyIntegerDomain
from tmlt.core.measurements.base import Measurement
from tmlt.core.measurements.chaining import ChainTM
from tmlt.core.measurements.converters import PureDPToRhoZCDP
from tmlt.core.measurements.noise_mechanisms import AddGeometricNoise, AddLaplaceNoise
from tmlt.core.measurements.pandas_measurements.dataframe import AggregateByColumn
from tmlt.core.measurements.pandas_measurements.series import AddNoiseToSeries, NoisyQuantile
from tmlt.core.measurements.postprocess import PostProcess
from tmlt.core.measurements.spark_measurements import AddNoiseToColumn, ApplyInPandas
from tmlt.core.measures import PureDP, RhoZCDP
from tmlt.core.metrics import AbsoluteDifference, HammingDistance, OnColumn, SumOf, SymmetricDifference
from tmlt.core.utils.exact_number import ExactNumber

from zcdp.errors import BadValue
from zcdp.mechanisms import BoundedRange, DiscreteLaplace, Laplace, Mechanism

__all__ = ["Law", "Refused", "Tight", "law_of", "rational_of", "tighten"]


# The distribution of a measurement of Tumult Core, and its cost for inputs at a distance.
#
# Theorem: docs/theorems/adapters.md.


class Refused(BadValue):
    """A measurement whose distribution or metric is not covered; the message gives the reason."""


@dataclass(frozen=True)
class Law:
    """The distribution of a measurement.

    `spent` gives the mechanism (None if nothing is spent) for inputs at a distance; `whole` is whether all distances
    are whole numbers.
    """

    spent: Callable[[Fraction], Mechanism | None]
    whole: bool

    def tight(self, distance: Fraction) -> Fraction:
        """The tight rho at this distance, rounded up; not valid below parallel composition over an l2 norm."""
        one = self.spent(distance) if distance else None
        return Fraction(0) if one is None else one.rho_fraction

    def quadratic(self, square: Fraction) -> Fraction:
        """An upper bound on rho that is quadratic in the distance, as parallel composition requires.

        The argument is the square of the distance.
        """
        if not self.whole:
            raise Refused("distances are not whole numbers here: no bound below epsilon^2/2 is quadratic in them")
        return square * self.tight(Fraction(1))


def rational_of(number: Any) -> Fraction:
    """An `ExactNumber` as a Fraction; raises `Refused` if it is not rational."""
    expression = ExactNumber(number).expr
    if not expression.is_Rational:
        raise Refused(f"{expression} is not a rational number")
    return Fraction(int(expression.p), int(expression.q))


def law_of(measurement: Any) -> Law:
    """The distribution of a measurement, found inside its chain; raises `Refused` if it is not known."""
    spent = _spent(measurement)
    return Law(spent, _is_whole(measurement.input_metric, measurement.input_domain))


def _spent(measurement: Any) -> Callable[[Fraction], Mechanism | None]:
    match measurement:
        case PureDPToRhoZCDP():
            return _spent(measurement.pure_dp_measurement)
        case PostProcess():
            return _spent(measurement.measurement)
        case ChainTM():
            inner, outer = _spent(measurement.measurement), measurement.transformation.stability_function
            return lambda distance: inner(rational_of(outer(ExactNumber(distance))))
        case AddNoiseToColumn() | AddNoiseToSeries():
            _check_l1(measurement.input_metric)
            return _spent(
                measurement.measurement if isinstance(measurement, AddNoiseToColumn) else measurement.noise_measurement
            )
        case AddLaplaceNoise():
            scale = _positive(measurement.scale, "scale")
            return lambda distance: Laplace(epsilon=distance / scale) if distance else None
        case AddGeometricNoise():
            alpha = _positive(measurement.alpha, "alpha")
            return lambda distance: DiscreteLaplace(scale=alpha, sensitivity=int(distance)) if distance >= 1 else None
        case ApplyInPandas():
            _check_l1(measurement.input_metric)
            return _spent(measurement.aggregation_function)
        case AggregateByColumn() if len(measurement.column_to_aggregation) == 1:
            return _spent(next(iter(measurement.column_to_aggregation.values())))
        case NoisyQuantile():
            epsilon = _positive(measurement.epsilon, "epsilon")
            return lambda distance: BoundedRange(eta=epsilon * distance) if distance else None
    raise Refused(f"{type(measurement).__name__} is refused: the law that it draws from is not known here")


def _positive(number: Any, name: str) -> Fraction:
    value = rational_of(number)
    if value <= 0:
        raise Refused(f"{name} ({value}) must be positive")
    return value


def _check_l1(metric: Any) -> None:
    """Raise `Refused` unless distances of cells add up: under an l2 norm a change in one cell is not the worst case."""
    inner = metric.metric if isinstance(metric, OnColumn) else metric
    if not isinstance(inner, SumOf):
        raise Refused(f"{metric} is refused: only sums of distances are covered")


def _is_whole(metric: Any, domain: Any) -> bool:
    """Whether distances are whole numbers, as for rows and integers; raises `Refused` for an unknown metric."""
    if isinstance(metric, AbsoluteDifference):
        return isinstance(domain, NumpyIntegerDomain)
    if isinstance(metric, SymmetricDifference | HammingDistance):
        return True
    inner = metric.metric if isinstance(metric, OnColumn) else metric
    if isinstance(inner, SumOf):
        return isinstance(inner.inner_metric, SymmetricDifference | HammingDistance)
    raise Refused(f"{metric} is refused: covered are rows, sums over groups of rows, and numbers")


# The wrapped measurement.


class Tight(Measurement):  # type: ignore[misc]
    """The wrapped measurement and its sampler, with a certified rational upper bound on rho as its privacy function.

    By default the bound is d^2 times the tight rho at distance 1: quadratic in the distance d, and so valid below
    parallel composition over an l2 norm. With `alone` the caller promises not to use it there, and the bound is the
    tight rho at every distance. `declared` is a pair (distance, rho) to report exactly; rho must not be too small.
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
        law_of(measurement)  # raises here rather than at the first use
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
        """An upper bound on rho at this distance; at the declared distance, the declared rho, which was verified."""
        self.input_metric.validate(d_in)
        distance = ExactNumber(d_in)
        if self._declared is not None and distance == self._declared[0]:
            return self._declared[1]
        bound = self._bound(distance)
        return ExactNumber(sympy.Rational(bound.numerator, bound.denominator))

    def __call__(self, data: Any) -> Any:
        """Run the wrapped measurement on the data."""
        return self._measurement(data)


def tighten(measurement: Any, *, alone: bool = False) -> Tight:
    """The measurement with the tight bound on rho; raises `Refused` if its distribution or metric is not covered."""
    return Tight(measurement, alone=alone)
