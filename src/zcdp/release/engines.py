"""The engines: what DuckDB, Polars, pandas and Spark each say in their own way; all else is said through narwhals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import date
from importlib import import_module
from typing import Any

from zcdp.errors import BadType, MissingExtra

__all__ = ["Engine", "engine_of", "literal", "narwhals", "needed", "quoted"]

OBJECTS: dict[str, tuple[str, tuple[type, ...]]] = {
    "text": ("string", (str,)),
    "person": ("string", (str,)),
    "number": ("Float64", (int, float)),
    "integer": ("Float64", (int,)),
    "boolean": ("boolean", (bool,)),
    "date": ("datetime64[s]", (date,)),
}
"""The type that a column of Python objects is given in pandas, and the objects that are values."""
PLACE, HASH = "zcdp_place", "zcdp_hash"


def narwhals() -> Any:
    """narwhals, or what to install."""
    return needed("narwhals")


def needed(module: str) -> Any:
    """A module of the extra `release`, or what to install."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise MissingExtra(f"a release needs {module}", extra="release", name=module) from None


class Engine(ABC):
    """What narwhals does not say: places in a list, a keyed order within groups, and rows as Python numbers."""

    name: str
    orders_nan = False
    """Whether NaN is above all numbers to `least` and `greatest`, and a missing value is none of theirs."""

    @abstractmethod
    def placed(self, frame: Any, column: str, values: Sequence[Any], name: str) -> Any:
        """The frame with a further column: the place of `column` among these texts or integers, else missing."""

    @abstractmethod
    def keep(self, frame: Any, within: Sequence[str], order: str, most: int, salt: int) -> Any:
        """The first `most` rows of each group, by a keyed hash of the group and of `order`, then by `order` itself.

        `order` differs between the rows of a group, so that nothing is left to chance or to other rows.
        """

    @abstractmethod
    def rows(self, frame: Any) -> list[tuple[Any, ...]]:
        """All rows, computed once."""

    def prepared(self, native: Any, kinds: Mapping[str, set[str]]) -> Any:  # noqa: ARG002 - for pandas alone
        """The frame with columns that narwhals can read."""
        return native


class DuckDB(Engine):
    """A relation: lazy, and larger than memory."""

    name = "duckdb"

    orders_nan = True

    def placed(self, frame: Any, column: str, values: Sequence[Any], name: str) -> Any:
        source = quoted(column)
        text = f"{source}::VARCHAR"
        if isinstance(values[0], int):
            whole = f"TRY_CAST({source} AS BIGINT)"
            text = f"CASE WHEN {whole}::DOUBLE = {source}::DOUBLE THEN {whole}::VARCHAR END"
        # an enumeration is looked up faster than a list, and its codes follow the plan
        listed = ", ".join(literal(str(value)) for value in values)
        place = f"enum_code(TRY_CAST({text} AS ENUM({listed})))::INTEGER"
        return narwhals().from_native(frame.to_native().project(f"*, {place} AS {quoted(name)}"))

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

    def placed(self, frame: Any, column: str, values: Sequence[Any], name: str) -> Any:
        pl = import_module("polars")
        kind = pl.Float64 if isinstance(values[0], int) else pl.String
        listed = pl.Series(values, dtype=kind)
        place = (
            pl.col(column).cast(kind).replace_strict(listed, range(len(values)), default=None, return_dtype=pl.Int64)
        )
        return narwhals().from_native(frame.to_native().lazy().with_columns(place.alias(name)))

    def keep(self, frame: Any, within: Sequence[str], order: str, most: int, salt: int) -> Any:
        pl = import_module("polars")
        hashed = pl.struct(*within, order).hash(salt).alias(HASH)
        lazy = frame.to_native().lazy()
        ranked = lazy.with_columns(hashed).sort(HASH, order).group_by(*within).head(most)
        return narwhals().from_native(ranked.select(*lazy.collect_schema().names()))

    def rows(self, frame: Any) -> list[tuple[Any, ...]]:
        return list(frame.to_native().lazy().collect().rows())


class Pandas(Engine):
    """A frame in memory."""

    name = "pandas"

    def placed(self, frame: Any, column: str, values: Sequence[Any], name: str) -> Any:
        native = frame.to_native()
        pandas: Any = import_module("pandas")
        places = native[column].astype(object).map({value: n for n, value in enumerate(values)})
        return narwhals().from_native(native.assign(**{name: pandas.to_numeric(places).astype("Int64")})).lazy()

    def keep(self, frame: Any, within: Sequence[str], order: str, most: int, salt: int) -> Any:
        native = frame.to_native()
        pandas: Any = import_module("pandas")
        key = f"{salt:016x}"
        salted = native[[*within, order]].assign(**{HASH: salt})
        hashed = pandas.util.hash_pandas_object(salted, index=False, hash_key=key)
        ranked = native.assign(**{HASH: hashed.to_numpy()}).sort_values([*within, HASH, order], kind="stable")
        first = ranked.groupby(list(within), sort=False).cumcount() < most
        return narwhals().from_native(ranked.loc[first, list(native.columns)]).lazy()

    def rows(self, frame: Any) -> list[tuple[Any, ...]]:
        return list(frame.to_native().itertuples(index=False, name=None))

    def prepared(self, native: Any, kinds: Mapping[str, set[str]]) -> Any:
        """The columns of the plan. One of any objects is read as its use asks for: what is not of it is missing.

        So its type does not depend on what it holds.
        """
        pandas: Any = import_module("pandas")
        frame = native[[name for name in native.columns if name in kinds]].reset_index(drop=True)
        for name in frame.columns:
            if frame[name].dtype == object:
                dtype, wanted = OBJECTS[sorted(kinds[name])[-1]]
                values = [one if type(one) in wanted else None for one in frame[name]]
                frame[name] = pandas.Series(values, dtype=dtype)
        return frame


class Spark(Engine):
    """A frame on its cluster."""

    name = "pyspark"

    orders_nan = True

    def placed(self, frame: Any, column: str, values: Sequence[Any], name: str) -> Any:
        functions = import_module("pyspark.sql.functions")
        native = frame.to_native()
        kind = "double" if isinstance(values[0], int) else "string"
        rows = [(float(value) if kind == "double" else value, n) for n, value in enumerate(values)]
        places = native.sparkSession.createDataFrame(rows, f"{name}_value {kind}, {name} int")
        same = functions.col("`" + column.replace("`", "``") + "`").cast(kind) == places[f"{name}_value"]
        return narwhals().from_native(native.join(functions.broadcast(places), same, "left").drop(f"{name}_value"))

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
        return DuckDB(), needed("duckdb").connect().from_arrow(native)
    if kind not in ENGINES:
        raise BadType(f"data must be a path or a frame of pandas, Polars, DuckDB, PySpark or pyarrow, not {kind}")
    return ENGINES[kind](), native


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"
