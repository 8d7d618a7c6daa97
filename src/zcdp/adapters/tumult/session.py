"""Sessions of Tumult Analytics whose counts, sums and quantiles have the least noise that their rho allows.

Analytics has no public hook. One private class decides every scale, the compiler's visitor: this session gets another
one, and no other session does. The versions must be those that were tested.
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

from zcdp.adapters.tumult.measurement import TESTED, Tight, law_of, rational_of
from zcdp.errors import BadType, BadValue, ZcdpError
from zcdp.mechanisms import DiscreteLaplace

__all__ = ["NotTested", "enable"]


class NotTested(ZcdpError, RuntimeError):
    """Another version than those that were tested: what is private to Analytics may mean something else there."""


PURE = (NoiseMechanism.LAPLACE, NoiseMechanism.GEOMETRIC)


class _Visitor(MeasurementVisitor):  # type: ignore[misc]
    """Builds what it is asked for, with less noise, where that is covered; else as it always was.

    Here below parallel composition, which rests on bounds that are quadratic in the distance.
    """

    alone = False

    def build_groupby_count(self, **given: Any) -> Any:
        """A count of each group."""
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
        """A sum of each group."""
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
        """A quantile of each group; rows are counted over the groups, not squared, whatever the session prefers."""
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
        """The measurement of least noise that is certified to fit, declared at what it was asked for.

        It is built for one row; what it costs at the distance of the session is for `Tight` to prove.
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
    """What all aggregations are given: epsilon for one row."""
    return {
        "input_domain": given["input_domain"],
        "input_metric": given["input_metric"],
        "output_measure": PureDP(),
        "d_in": 1,
        "d_out": epsilon,
        "groupby_transformation": given["groupby"],
    }


class _AloneVisitor(_Visitor):
    """For a session of its own: no parallel composition above it."""

    alone = True


def _with_globals(function: Any, **changed: Any) -> FunctionType:
    """The same function, in which some names of its module mean something else."""
    plain = inspect.unwrap(function)
    if plain.__closure__ or not set(changed) <= set(plain.__code__.co_names):
        raise NotTested(f"{plain.__qualname__} is not the function that this bridge was tested with")
    copy = FunctionType(plain.__code__, {**plain.__globals__, **changed}, plain.__name__, plain.__defaults__)
    copy.__kwdefaults__ = plain.__kwdefaults__
    return copy


def enable(session: Any) -> Any:
    """Let counts, sums and quantiles of this session have the tight noise for their rho; returns the session.

    A session that `partition_and_create` made is enabled by itself, and gets the bound that is quadratic in the
    distance. Only with the versions that were tested: everything here is private to Analytics.
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
