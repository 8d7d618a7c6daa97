"""Tumult on a real local Spark: less noise, sessions spent to exactly 0, and partitions that do not overspend."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from fractions import Fraction
from importlib import metadata
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import SparkSession
from tmlt.analytics import (
    AddMaxRows,
    AddMaxRowsInMaxGroups,
    AddOneRow,
    CountMechanism,
    KeySet,
    PureDPBudget,
    QueryBuilder,
    RhoZCDPBudget,
    Session,
    SumMechanism,
)
from tmlt.core.domains.numpy_domains import NumpyFloatDomain, NumpyIntegerDomain
from tmlt.core.domains.pandas_domains import PandasSeriesDomain
from tmlt.core.measurements.composition import Composition
from tmlt.core.measurements.converters import PureDPToRhoZCDP
from tmlt.core.measurements.noise_mechanisms import AddGaussianNoise, AddGeometricNoise, AddLaplaceNoise
from tmlt.core.measurements.pandas_measurements.series import AddNoiseToSeries, NoisyQuantile
from tmlt.core.measures import PureDP
from tmlt.core.utils.exact_number import ExactNumber

import zcdp
from zcdp.adapters import tumult as zt
from zcdp.adapters.tumult import session as bridge

KEYS = {"g": ["a", "b"]}
PEOPLE = [chr(ord("a") + n) for n in range(16)]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[1]")
    for name in ("spark.sql.shuffle.partitions", "spark.default.parallelism"):
        builder = builder.config(name, "1")
    builder = builder.config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
    session = builder.config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> Any:
    rows = {
        "g": [PEOPLE[n % 16] for n in range(48)],
        "x": [float(n % 10) for n in range(48)],
        "n": [n % 5 for n in range(48)],
    }
    return spark.createDataFrame(pd.DataFrame(rows))


def session(table: Any, rho: float, change: Any = None) -> Session:
    return Session.from_dataframe(RhoZCDPBudget(rho), "t", table, protected_change=change or AddOneRow())


def noise(one: Session, query: Any, rho: float) -> float:
    [info] = one._noise_info(query, RhoZCDPBudget(rho))
    return float(info["noise_parameter"])


def queries() -> dict[str, Any]:
    grouped = QueryBuilder("t").groupby(KeySet.from_dict(KEYS))
    return {
        "count": grouped.count(mechanism=CountMechanism.LAPLACE),
        "sum": grouped.sum("x", 0, 10, mechanism=SumMechanism.LAPLACE),
        "quantile": grouped.quantile("x", 0.5, 0, 10),
    }


TABLE = {
    "count": {0.01: (7.0711, 7.0652), 0.1: (2.2361, 2.2174), 1: (0.7071, 0.6479)},
    "sum": {0.01: (70.711, 69.044), 0.1: (22.361, 20.696), 1: (7.0711, 5.4306)},
    "quantile": {0.01: (0.28284, 0.28300), 0.1: (0.89443, 0.89940), 1: (2.82843, 2.98760)},
}


@pytest.mark.parametrize("name", TABLE)
def test_the_table(table: Any, name: str) -> None:
    """Counts and sums: the scale of the noise, less. Quantiles: the epsilon, more."""
    plain, tight = session(table, 3), zt.enable(session(table, 3))
    for rho, (before, after) in TABLE[name].items():
        assert noise(plain, queries()[name], rho) == pytest.approx(before, rel=8e-5)
        assert noise(tight, queries()[name], rho) == pytest.approx(after, rel=8e-5)


def test_a_session_is_spent_to_exactly_nothing(table: Any) -> None:
    tight = zt.enable(session(table, 3))
    for query in queries().values():
        answer = tight.evaluate(query, RhoZCDPBudget(1)).toPandas()
        assert len(answer) == 2
    assert tight.remaining_privacy_budget == RhoZCDPBudget(0)
    with pytest.raises(RuntimeError, match="without exceeding"):
        tight.evaluate(queries()["count"], RhoZCDPBudget(0.001))


def test_several_rows_at_once(table: Any) -> None:
    """Five rows of one person, in any cells: the worst is all in one."""
    tight = zt.enable(session(table, 3, AddMaxRows(5)))
    alpha = noise(tight, queries()["count"], 1)
    assert zcdp.DiscreteLaplace(scale=alpha, sensitivity=5).rho == pytest.approx(1, rel=1e-9)
    assert alpha < 5 / 2**0.5


def parted(table: Any, groups: int, rho: float) -> dict[str, Session]:
    whole = session(table, rho, AddMaxRowsInMaxGroups("g", max_groups=groups, max_rows_per_group=1))
    return whole.partition_and_create("t", RhoZCDPBudget(rho), "g", {f"part_{one}": one for one in PEOPLE})


def spent_by_one_person(kind: str, parameter: float, groups: int) -> float:
    """What is really spent where a person has one row in each of so many parts: each answer moves by one row's."""
    one = zcdp.DiscreteLaplace(scale=parameter) if kind == "count" else zcdp.Laplace(scale=parameter, sensitivity=10)
    return groups * one.rho


@pytest.mark.parametrize(
    ("groups", "naive"), [(4, {"count": 1.407, "sum": 1.276}), (16, {"count": 1.608, "sum": 1.463})]
)
def test_partitions_do_not_overspend(
    table: Any, groups: int, naive: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    rho = 1.0
    parts = parted(table, groups, rho)
    name = next(iter(parts))
    asked = {
        "count": QueryBuilder(name).count(mechanism=CountMechanism.LAPLACE),
        "sum": QueryBuilder(name).sum("x", 0, 10, mechanism=SumMechanism.LAPLACE),
    }
    before = {kind: noise(parts[name], query, rho) for kind, query in asked.items()}
    zt.enable(parts[name])
    for kind, query in asked.items():
        after = noise(parts[name], query, rho)
        assert after < before[kind]
        assert 0.999999 * rho < spent_by_one_person(kind, after, groups) <= rho * (1 + 1e-12)
    # the naive patch: the tight rho at the distance that a part is told, which parallel composition takes for quadratic
    monkeypatch.setattr(bridge._Visitor, "alone", True)
    for kind, query in asked.items():
        overspent = spent_by_one_person(kind, noise(parts[name], query, rho), groups)
        assert overspent == pytest.approx(naive[kind], abs=1e-3)


def test_parts_answer_and_are_spent(table: Any) -> None:
    parts = parted(table, 4, 1.0)
    for name, part in list(parts.items())[:2]:
        zt.enable(part)
        queried = QueryBuilder(name)
        part.evaluate(queried.count(mechanism=CountMechanism.LAPLACE), RhoZCDPBudget(0.5))
        part.evaluate(queried.sum("n", 0, 4, mechanism=SumMechanism.LAPLACE), RhoZCDPBudget(0.5))
        assert part.remaining_privacy_budget == RhoZCDPBudget(0)


def test_what_is_not_covered_stays_as_it_was(table: Any) -> None:
    keys = KeySet.from_dict({"g": ["a", "b"]})
    gaussian = QueryBuilder("t").groupby(keys).count(mechanism=CountMechanism.GAUSSIAN)
    average = QueryBuilder("t").groupby(keys).average("x", 0, 10)
    for query in (gaussian, average):
        plain, tight = session(table, 3), zt.enable(session(table, 3))
        assert tight._noise_info(query, RhoZCDPBudget(1)) == plain._noise_info(query, RhoZCDPBudget(1))
    untouched = session(table, 3)
    zt.enable(session(table, 3))
    assert noise(untouched, queries()["count"], 1) == pytest.approx(0.7071, rel=1e-4)


def test_enable_is_loud(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pure = Session.from_dataframe(PureDPBudget(1), "t", table, protected_change=AddOneRow())
    with pytest.raises(ValueError, match="has no rho to spend"):
        zt.enable(pure)
    with pytest.raises(TypeError, match="must be a Session"):
        zt.enable("session")
    monkeypatch.setattr(
        bridge, "version", lambda package: "9.9" if package == "tmlt.core" else metadata.version(package)
    )
    with pytest.raises(RuntimeError, match=r"tmlt.core 9\.9 is not covered: enable needs 0\.19\.1"):
        zt.enable(session(table, 1))


def rho_of(measurement: Any, distance: Any) -> Fraction:
    expression = measurement.privacy_function(distance).expr
    return Fraction(int(expression.p), int(expression.q))


def test_measurements_of_core() -> None:
    geometric, laplace = AddGeometricNoise(2), AddLaplaceNoise(NumpyFloatDomain(), 2)
    tight = zt.tighten(geometric)
    assert rho_of(tight, 1) == zcdp.DiscreteLaplace(scale=2).rho_fraction
    assert rho_of(tight, 4) == 16 * rho_of(tight, 1)  # quadratic
    alone = zt.tighten(geometric, alone=True)
    assert float(rho_of(alone, 4)) == pytest.approx(1.170339, abs=1e-6)
    assert rho_of(alone, 0) == 0
    assert rho_of(alone, 4) < rho_of(tight, 4) < rho_of(PureDPToRhoZCDP(geometric), 4)
    with pytest.raises(zt.Refused, match="not whole numbers"):
        zt.tighten(laplace)
    assert float(rho_of(zt.tighten(laplace, alone=True), 2)) == zcdp.Laplace(epsilon=1).rho
    assert isinstance(tight(5), int)
    series = zt.tighten(PureDPToRhoZCDP(AddNoiseToSeries(geometric)), alone=True)
    assert rho_of(series, 4) == rho_of(alone, 4)
    quantile = NoisyQuantile(PandasSeriesDomain(NumpyIntegerDomain()), PureDP(), 0.5, 0, 10, "1/2")
    assert rho_of(zt.tighten(quantile), 2) == 4 * zcdp.BoundedRange(eta="1/2").rho_fraction
    both = Composition([alone, zt.tighten(geometric, alone=True)])
    assert rho_of(both, 4) == 2 * rho_of(alone, 4)


def test_what_is_refused_and_declared() -> None:
    with pytest.raises(zt.Refused, match="AddGaussianNoise is refused"):
        zt.tighten(AddGaussianNoise(NumpyFloatDomain(), 1))
    with pytest.raises(zt.Refused, match=r"alpha \(0\) must be positive"):
        zt.tighten(AddGeometricNoise(0))
    with pytest.raises(zt.Refused, match="Composition is refused"):
        zt.tighten(Composition([AddGeometricNoise(1), AddGeometricNoise(1)]))
    declared = zt.Tight(AddGeometricNoise(1), declared=(1, "1/2"))
    assert declared.privacy_function(1) == ExactNumber("1/2")
    assert rho_of(declared, 2) == 4 * zcdp.DiscreteLaplace(scale=1).rho_fraction
    with pytest.raises(zt.Refused, match="is less than the measurement spends"):
        zt.Tight(AddGeometricNoise(1), declared=(1, "1/3"))


@pytest.mark.parametrize("scale", [Fraction(1, 4), Fraction(1), Fraction(7)])
def test_bounds_are_quadratic_from_one_step_on(scale: Fraction) -> None:
    """What parallel composition rests on: k steps cost at most k^2 times one."""
    for kind in (
        lambda k: zcdp.DiscreteLaplace(scale=scale, sensitivity=k),
        lambda k: zcdp.Laplace(epsilon=k / scale),
        lambda k: zcdp.BoundedRange(eta=k / scale),
    ):
        one = kind(1).rho_fraction
        assert all(kind(k).rho_fraction <= k**2 * one for k in range(1, 30))
