"""Which law a measurement of Tumult Core draws from, and what inputs at a distance cost it.

Theorem: docs/theorems/adapters.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tmlt.core.domains.numpy_domains import NumpyIntegerDomain
from tmlt.core.measurements.chaining import ChainTM
from tmlt.core.measurements.converters import PureDPToRhoZCDP
from tmlt.core.measurements.noise_mechanisms import AddGeometricNoise, AddLaplaceNoise
from tmlt.core.measurements.pandas_measurements.dataframe import AggregateByColumn
from tmlt.core.measurements.pandas_measurements.series import AddNoiseToSeries, NoisyQuantile
from tmlt.core.measurements.postprocess import PostProcess
from tmlt.core.measurements.spark_measurements import AddNoiseToColumn, ApplyInPandas
from tmlt.core.metrics import AbsoluteDifference, HammingDistance, OnColumn, SumOf, SymmetricDifference
from tmlt.core.utils.exact_number import ExactNumber

from zcdp.errors import BadValue
from zcdp.mechanisms import BoundedRange, DiscreteLaplace, Laplace, Mechanism

__all__ = ["Law", "Refused", "law_of", "rational_of"]


class Refused(BadValue):
    """A measurement whose law, or whose metric, is not covered: the reason."""


@dataclass(frozen=True)
class Law:
    """What a mechanism costs for inputs at a distance, and whether its distances are whole numbers."""

    spent: Callable[[Fraction], Mechanism | None]
    whole: bool

    def tight(self, distance: Fraction) -> Fraction:
        """The tight rho at this distance, rounded up; alone, and not below a composition over an l2 norm."""
        one = self.spent(distance) if distance else None
        return Fraction(0) if one is None else one.rho_fraction

    def quadratic(self, square: Fraction) -> Fraction:
        """A bound that is quadratic in the distance, from its square: what parallel composition rests on."""
        if not self.whole:
            raise Refused("distances are not whole numbers here: no bound below epsilon^2/2 is quadratic in them")
        return square * self.tight(Fraction(1))


def rational_of(number: Any) -> Fraction:
    """An `ExactNumber` as a Fraction; what is no rational number is refused."""
    expression = ExactNumber(number).expr
    if not expression.is_Rational:
        raise Refused(f"{expression} is not a rational number")
    return Fraction(int(expression.p), int(expression.q))


def law_of(measurement: Any) -> Law:
    """The law, taken apart from its chain; everything that is not known is refused."""
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
    """Distances of several cells must add up; of an l2 norm one cell is not the worst case."""
    inner = metric.metric if isinstance(metric, OnColumn) else metric
    if not isinstance(inner, SumOf):
        raise Refused(f"{metric} is refused: only sums of distances are covered")


def _is_whole(metric: Any, domain: Any) -> bool:
    """Whether inputs are a whole number of steps apart: rows, or integers."""
    if isinstance(metric, AbsoluteDifference):
        return isinstance(domain, NumpyIntegerDomain)
    if isinstance(metric, SymmetricDifference | HammingDistance):
        return True
    inner = metric.metric if isinstance(metric, OnColumn) else metric
    if isinstance(inner, SumOf):
        return isinstance(inner.inner_metric, SymmetricDifference | HammingDistance)
    raise Refused(f"{metric} is refused: covered are rows, sums over groups of rows, and numbers")
