"""Sessions of Tumult Analytics whose counts, sums and quantiles have the least noise that their rho allows.

Analytics has no public hook for this. The scale of all noise is chosen by one private class, the visitor of its
compiler; `enable` replaces it for one session and no other. Only the tested versions are accepted.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from fractions import Fraction
from importlib.metadata import version
from types import FunctionType, MethodType
from typing import Any

import sympy
import tmlt.analytics.session as analytics
from tmlt.analytics._query_expr_compiler import _compiler
from tmlt.analytics._query_expr_compiler._measurement_visitor import MeasurementVisitor
from tmlt.core.measurements.aggregations import (
    NoiseMechanism,
    create_count_measurement,
    create_quantile_measurement,
    create_sum_measurement,
)
from tmlt.core.measures import PureDP, RhoZCDP
from tmlt.core.metrics import HammingDistance, SymmetricDifference
from tmlt.core.transformations.spark_transformations.groupby import GroupBy

from zcdp.adapters.tumult import TESTED
from zcdp.adapters.tumult.measurement import Tight, law_of, rational_of
from zcdp.errors import BadType, BadValue, ZcdpError
from zcdp.mechanisms import DiscreteLaplace

__all__ = ["NotTested", "enable"]


class NotTested(ZcdpError, RuntimeError):
    """The installed version was not tested: its private parts, which this module replaces, may differ."""


PURE = (NoiseMechanism.LAPLACE, NoiseMechanism.GEOMETRIC)
"""The noise that is covered: mechanisms of pure DP, for which Analytics charges epsilon^2/2."""


class _Visitor(MeasurementVisitor):  # type: ignore[misc]
    """Builds measurements with less noise if they are covered, and unchanged ones otherwise.

    This class is for sessions below parallel composition, which requires bounds quadratic in the distance.
    """

    alone = False

    def build_groupby_count(self, **given: Any) -> Any:
        """The measurement that counts the rows of each group."""
        if not self._covered(given, given["mechanism"]):
            return super().build_groupby_count(**given)
        return self._least_noise(
            given,
            lambda epsilon: create_count_measurement(
                **_shared(given, epsilon),
                noise_mechanism=given["mechanism"],
                count_column=given["output_column"],
            ),
        )

    def build_groupby_bounded_sum(self, **given: Any) -> Any:
        """The measurement that adds up a column in each group."""
        if not self._covered(given, given["mechanism"]):
            return super().build_groupby_bounded_sum(**given)
        return self._least_noise(
            given,
            lambda epsilon: create_sum_measurement(
                **_shared(given, epsilon),
                **{name: given[name] for name in ("measure_column", "lower", "upper")},
                noise_mechanism=given["mechanism"],
                sum_column=given["output_column"],
            ),
        )

    def build_groupby_quantile(self, **given: Any) -> Any:
        """The measurement of a quantile of each group, always under the l1 norm over groups."""
        if not self._covered(given, NoiseMechanism.LAPLACE):
            return super().build_groupby_quantile(**given)
        added_up = GroupBy(
            input_domain=given["input_domain"],
            input_metric=given["input_metric"],
            use_l2=False,
            group_keys=given["groupby"].group_keys,
        )
        return self._least_noise(
            given,
            lambda epsilon: create_quantile_measurement(
                **_shared({**given, "groupby": added_up}, epsilon),
                **{name: given[name] for name in ("measure_column", "quantile", "lower", "upper")},
                quantile_column=given["output_column"],
            ),
        )

    def _covered(self, given: dict[str, Any], mechanism: Any) -> bool:
        rows = isinstance(given["input_metric"], SymmetricDifference | HammingDistance)
        return bool(self.output_measure == RhoZCDP() and mechanism in PURE and rows)

    def _least_noise(self, given: dict[str, Any], build: Callable[[Any], Any]) -> Any:
        """The measurement of least noise whose certified rho fits the budget; it declares exactly that budget.

        `build` takes epsilon for one row; `Tight` verifies the cost at the distance of the session.
        """
        rho, distance = given["budget"].value, given["stability"]
        at = rational_of(distance) if self.alone else Fraction(1)
        repeated = Fraction(1) if self.alone else rational_of(distance**2)
        shape = law_of(build(sympy.Integer(1))).spent(at)
        if shape is None:
            raise AssertionError("a row changes nothing")
        fixed = {"sensitivity": shape.sensitivity} if isinstance(shape, DiscreteLaplace) else {}
        best = type(shape).calibrate(rho=rational_of(rho) / repeated, **fixed).largest_loss
        assert isinstance(best, Fraction)
        assert isinstance(shape.largest_loss, Fraction)
        row = best / shape.largest_loss
        chosen = build(sympy.Rational(row.numerator, row.denominator))
        return Tight(chosen, alone=self.alone, declared=(distance, rho))


def _shared(given: dict[str, Any], epsilon: Any) -> dict[str, Any]:
    """The arguments that all aggregations share; epsilon is that for one row."""
    return {
        "input_domain": given["input_domain"],
        "input_metric": given["input_metric"],
        "output_measure": PureDP(),
        "d_in": 1,
        "d_out": epsilon,
        "groupby_transformation": given["groupby"],
    }


class _AloneVisitor(_Visitor):
    """The visitor for a session that is not below parallel composition: it uses the tight rho at its distance."""

    alone = True


def _with_globals(function: Any, **changed: Any) -> FunctionType:
    """A copy of the function in which some global names of its module are replaced."""
    plain = inspect.unwrap(function)
    if plain.__closure__ or not set(changed) <= set(plain.__code__.co_names):
        raise NotTested(f"{plain.__qualname__} is not the function that this bridge was tested with")
    copy = FunctionType(plain.__code__, {**plain.__globals__, **changed}, plain.__name__, plain.__defaults__)
    copy.__kwdefaults__ = plain.__kwdefaults__
    return copy


def enable(session: Any) -> Any:
    """Give counts, sums and quantiles of this session the least noise for their rho; returns the session.

    A session made by `partition_and_create` must be enabled separately, and gets the bound that is quadratic in the
    distance. Raises `NotTested` for other versions than the tested ones: private parts of Analytics are replaced.
    """
    for package, versions in TESTED.items():
        if version(package) not in versions:
            raise NotTested(f"{package} {version(package)} is not covered: enable needs {' or '.join(versions)}")
    if not isinstance(session, analytics.Session):
        raise BadType(f"session ({session!r}) must be a Session of Tumult Analytics")
    if session._accountant.output_measure != RhoZCDP():
        raise BadValue("the session has no rho to spend: its budget must be a RhoZCDPBudget")
    visitor = _AloneVisitor if session._accountant.parent is None else _Visitor
    compile_query = _with_globals(_compiler.QueryExprCompiler.__call__, MeasurementVisitor=visitor)
    compiler = type("TightCompiler", (_compiler.QueryExprCompiler,), {"__call__": compile_query})
    own = _with_globals(analytics.Session._compile_and_get_info, QueryExprCompiler=compiler)
    session._compile_and_get_info = MethodType(own, session)
    return session
