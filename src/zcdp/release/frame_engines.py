"""The engines: what DuckDB, Polars, pandas and Spark each say in their own way; all else is said through narwhals."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from zcdp.errors import BadType, BadValue, MissingExtra
from zcdp.release.reading import Use, quoted, read_duckdb, read_pandas, read_polars, read_spark

__all__ = ["Engine", "connected", "engine_of", "literal", "narwhals", "needed", "tested"]


LEAST = {
    "duckdb": "1.4.1",
    "narwhals": "2.27.1",
    "pandas": "2.2.3",
    "polars": "1.32",
    "pyarrow": "18",
    "pyspark": "3.5",
}
"""The oldest versions that the bounds were tested with, as pyproject.toml declares them; older ones are refused.

narwhals before 2.27.1 takes a literal beside a column of pandas for one value, and not for one of each row.
"""
NO_STATISTICS = "statistics_propagation,filter_pushdown"
"""What DuckDB is told to leave out where the connection is ours; relations of others are read without it too.

Statistics of a file leave NaN out, and are whatever its writer wrote: what decides about a row is computed from it.
"""
PLACE, HASH = "zcdp_place", "zcdp_hash"


def narwhals() -> Any:
    """narwhals, or what to install."""
    return needed("narwhals")


def needed(module: str) -> Any:
    """A module of the extra `release`, or what to install."""
    try:
        found = import_module(module)
    except ModuleNotFoundError:
        raise MissingExtra(f"a release needs {module}", extra="release", name=module) from None
    return tested(found, module)


def tested(module: Any, name: str) -> Any:
    """The module, if it is not older than what releases are tested with."""
    if _numbers(module.__version__) < _numbers(LEAST[name]):
        said = f"a release needs {name} {LEAST[name]} or newer: with {module.__version__} bounds are not tested"
        raise MissingExtra(said, extra="release", name=name)
    return module


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers that a version begins with.

    >>> _numbers("2.27") < _numbers("2.27.1") < _numbers("2.100rc1")
    True
    """
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, found.group().split("."))) if found else ()


def connected(**settings: Any) -> Any:
    """A connection of DuckDB that takes nothing from statistics."""
    return needed("duckdb").connect(config={"disabled_optimizers": NO_STATISTICS, **settings})


class Engine(ABC):
    """What narwhals does not say: values without gaps, places in a list, an order within groups, rows as numbers."""

    name: str

    @abstractmethod
    def read(self, native: Any, uses: Sequence[Use]) -> Any:
        """A frame of the values that a plan uses, and of nothing else."""

    @abstractmethod
    def placed(self, frame: Any, column: str, values: Sequence[Any], name: str) -> Any:
        """The frame with a further column: the place of `column` among these texts or integers, else -1."""

    @abstractmethod
    def keep(self, frame: Any, within: Sequence[str], order: str, most: int, salt: int) -> Any:
        """The first `most` rows of each group, by a keyed hash of the group and of `order`, then by `order` itself.

        `order` differs between the rows of a group, so that nothing is left to chance or to other rows.
        """

    @abstractmethod
    def rows(self, frame: Any) -> list[tuple[Any, ...]]:
        """All rows, computed once."""

    def types(self, native: Any, columns: Sequence[str]) -> dict[str, Any]:  # noqa: ARG002 - for pandas alone
        """The types of columns, or "object" of one of any objects: so that it does not depend on what it holds."""
        return dict(narwhals().from_native(native).lazy().collect_schema())


class DuckDB(Engine):
    """A relation: lazy, and larger than memory; a connection of ours must outlive it."""

    name = "duckdb"

    def __init__(self, connection: Any = None) -> None:
        self.connection = connection

    def read(self, native: Any, uses: Sequence[Use]) -> Any:
        return read_duckdb(native, uses)

    def placed(self, frame: Any, column: str, values: Sequence[Any], name: str) -> Any:
        # an enumeration is looked up faster than a list, and its codes follow the plan
        listed = ", ".join(literal(str(value)) for value in values)
        place = f"enum_code(TRY_CAST({quoted(column)}::VARCHAR AS ENUM({listed})))::INTEGER"
        relation = frame.to_native().project(f"*, COALESCE({place}, -1) AS {quoted(name)}")
        return narwhals().from_native(relation)

    def keep(self, frame: Any, within: Sequence[str], order: str, most: int, salt: int) -> Any:
        groups, key = ", ".join(map(quoted, within)), quoted(order)
        # of several values DuckDB takes an exclusive or of hashes, which favours the same keys in every group
        hashed = f"hash(hash({salt}, {groups}, {key}))"
        place = f"row_number() OVER (PARTITION BY {groups} ORDER BY {hashed}, {key})"
        relation = frame.to_native()
        ranked = relation.project(f"*, {place} AS {PLACE}").filter(f"{PLACE} <= {most}")
        return narwhals().from_native(ranked.project(", ".join(map(quoted, relation.columns))))

    def rows(self, frame: Any) -> list[tuple[Any, ...]]:
        return list(frame.to_native().fetchall())


class Polars(Engine):
    """A lazy frame; an eager one is made lazy."""

    name = "polars"

    def read(self, native: Any, uses: Sequence[Use]) -> Any:
        return read_polars(native, uses)

    def placed(self, frame: Any, column: str, values: Sequence[Any], name: str) -> Any:
        pl = import_module("polars")
        listed = pl.Series(values, dtype=pl.Int64 if isinstance(values[0], int) else pl.String)
        place = pl.col(column).replace_strict(listed, range(len(values)), default=-1, return_dtype=pl.Int64)
        return narwhals().from_native(frame.to_native().lazy().with_columns(place.alias(name)))

    def keep(self, frame: Any, within: Sequence[str], order: str, most: int, salt: int) -> Any:
        pl = import_module("polars")
        hashed = pl.struct(*within, order).hash(salt).alias(HASH)
        lazy = frame.to_native().lazy()
        ranked = lazy.with_columns(hashed).sort(HASH, order).group_by(*within).head(most)
        return narwhals().from_native(ranked.select(*lazy.collect_schema().names()))

    def rows(self, frame: Any) -> list[tuple[Any, ...]]:
        pl = import_module("polars")
        plain = pl.QueryOptFlags(predicate_pushdown=False)  # else a file is asked for its statistics
        return list(frame.to_native().lazy().collect(optimizations=plain).rows())


class Pandas(Engine):
    """A frame in memory."""

    name = "pandas"

    def read(self, native: Any, uses: Sequence[Use]) -> Any:
        return read_pandas(native, uses)

    def types(self, native: Any, columns: Sequence[str]) -> dict[str, Any]:
        found: dict[str, Any] = {str(name): "object" for name in native.columns}
        for name in (one for one in columns if one in native.columns):
            series = native[name]
            if getattr(series, "ndim", 1) > 1:
                raise BadValue(f"two columns have the name {name!r}")
            if series.dtype != object:
                found[name] = narwhals().from_native(series, series_only=True).dtype
        return found

    def placed(self, frame: Any, column: str, values: Sequence[Any], name: str) -> Any:
        native = frame.to_native()
        pandas: Any = import_module("pandas")
        listed = pandas.Index(values, dtype=native[column].dtype)
        return narwhals().from_native(native.assign(**{name: listed.get_indexer(native[column])})).lazy()

    def keep(self, frame: Any, within: Sequence[str], order: str, most: int, salt: int) -> Any:
        native = frame.to_native()
        pandas: Any = import_module("pandas")
        key = f"{salt:016x}"
        salted = native[[*within, order]].assign(**{HASH: salt})
        hashed = pandas.util.hash_pandas_object(salted, index=False, hash_key=key)
        ranked = native.assign(**{HASH: hashed.to_numpy()}).sort_values([HASH, order], kind="stable")
        first = ranked.groupby(list(within), sort=False).cumcount() < most
        return narwhals().from_native(ranked.loc[first, list(native.columns)]).lazy()

    def rows(self, frame: Any) -> list[tuple[Any, ...]]:
        return list(frame.to_native().itertuples(index=False, name=None))


class Spark(Engine):
    """A frame on its cluster."""

    name = "pyspark"

    def read(self, native: Any, uses: Sequence[Use]) -> Any:
        return read_spark(native, uses)

    def placed(self, frame: Any, column: str, values: Sequence[Any], name: str) -> Any:
        functions = import_module("pyspark.sql.functions")
        native = frame.to_native()
        kind = "long" if isinstance(values[0], int) else "string"
        rows = [(value, n) for n, value in enumerate(values)]
        places = native.sparkSession.createDataFrame(rows, f"{name}_value {kind}, {name} int")
        same = native[column] == places[f"{name}_value"]
        joined = native.join(functions.broadcast(places), same, "left").drop(f"{name}_value")
        place = functions.coalesce(functions.col(name), functions.lit(-1))
        return narwhals().from_native(joined.withColumn(name, place))

    def keep(self, frame: Any, within: Sequence[str], order: str, most: int, salt: int) -> Any:
        functions, window = import_module("pyspark.sql.functions"), import_module("pyspark.sql.window").Window
        hashed = functions.xxhash64(functions.lit(salt), *within, order)
        place = functions.row_number().over(window.partitionBy(*within).orderBy(hashed, order))
        ranked = frame.to_native().withColumn(PLACE, place).where(functions.col(PLACE) <= most).drop(PLACE)
        return narwhals().from_native(ranked)

    def rows(self, frame: Any) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in frame.to_native().collect()]


ENGINES: dict[str, type[Engine]] = {one.name: one for one in (DuckDB, Polars, Pandas, Spark)}


def engine_of(native: Any) -> tuple[Engine, Any]:
    """The engine of a frame, and the frame; a table of pyarrow is read by DuckDB where it lies."""
    nw = narwhals()
    try:
        kind = nw.from_native(native).implementation.value
    except TypeError:
        kind = type(native).__name__
    if kind == "pyarrow":
        tested(import_module("pyarrow"), "pyarrow")
        connection = connected()
        return DuckDB(connection), connection.from_arrow(native)
    if kind not in ENGINES:
        raise BadType(f"data must be a path or a frame of pandas, Polars, DuckDB, PySpark or pyarrow, not {kind}")
    tested(import_module(kind), kind)
    return ENGINES[kind](), native


def literal(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"
