"""The engines: the one file that knows DuckDB, Polars, pandas and Spark; all else is said once, through narwhals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from zcdp.errors import BadType, BadValue, MissingExtra

__all__ = ["Engine", "engine_of", "narwhals", "opened"]

TYPES = {"text": "VARCHAR", "number": "DOUBLE", "integer": "DOUBLE", "boolean": "BOOLEAN", "person": "VARCHAR"}
OBJECTS: dict[str, tuple[str, tuple[type, ...]]] = {
    "text": ("string", (str,)),
    "person": ("string", (str,)),
    "number": ("Float64", (int, float)),
    "integer": ("Float64", (int,)),
    "boolean": ("boolean", (bool,)),
}
"""The type that a column of Python objects is given in pandas, and the objects that are values."""
PLACE, HASH = "zcdp_place", "zcdp_hash"


def narwhals() -> Any:
    """narwhals, or what to install."""
    return _needed("narwhals")


def _needed(module: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise MissingExtra(f"a release needs {module}", extra="release", name=module) from None


class Engine(ABC):
    """What narwhals does not say: a keyed order within groups, and rows as Python numbers."""

    name: str

    @abstractmethod
    def keep(self, frame: Any, within: Sequence[str], order: Sequence[str], most: int, salt: int) -> Any:
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

    def keep(self, frame: Any, within: Sequence[str], order: Sequence[str], most: int, salt: int) -> Any:
        groups, keys = ", ".join(map(quoted, within)), ", ".join(map(quoted, order))
        place = f"row_number() OVER (PARTITION BY {groups} ORDER BY hash({salt}, {groups}, {keys}), {keys})"
        relation = frame.to_native()
        ranked = relation.project(f"*, {place} AS {PLACE}").filter(f"{PLACE} <= {most}")
        return narwhals().from_native(ranked.project(", ".join(map(quoted, relation.columns))))

    def rows(self, frame: Any) -> list[tuple[Any, ...]]:
        return list(frame.to_native().fetchall())


class Polars(Engine):
    """A lazy frame; an eager one is made lazy."""

    name = "polars"

    def keep(self, frame: Any, within: Sequence[str], order: Sequence[str], most: int, salt: int) -> Any:
        pl = import_module("polars")
        hashed = pl.struct(*within, *order).hash(salt).alias(HASH)
        lazy = frame.to_native().lazy()
        ranked = lazy.with_columns(hashed).sort(HASH, *order).group_by(*within).head(most)
        return narwhals().from_native(ranked.select(*lazy.collect_schema().names()))

    def rows(self, frame: Any) -> list[tuple[Any, ...]]:
        return list(frame.to_native().lazy().collect().rows())


class Pandas(Engine):
    """A frame in memory."""

    name = "pandas"

    def keep(self, frame: Any, within: Sequence[str], order: Sequence[str], most: int, salt: int) -> Any:
        native = frame.to_native()
        pandas: Any = import_module("pandas")
        key = f"{salt:016x}"
        salted = native[[*within, *order]].assign(**{HASH: salt})
        hashed = pandas.util.hash_pandas_object(salted, index=False, hash_key=key)
        ranked = native.assign(**{HASH: hashed.to_numpy()}).sort_values([*within, HASH, *order], kind="stable")
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

    def keep(self, frame: Any, within: Sequence[str], order: Sequence[str], most: int, salt: int) -> Any:
        functions, window = import_module("pyspark.sql.functions"), import_module("pyspark.sql.window").Window
        hashed = functions.xxhash64(functions.lit(salt), *within, *order)
        place = functions.row_number().over(window.partitionBy(*within).orderBy(hashed, *order))
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
        return DuckDB(), _needed("duckdb").connect().from_arrow(native)
    if kind not in ENGINES:
        raise BadType(f"data must be a path or a frame of pandas, Polars, DuckDB, PySpark or pyarrow, not {kind}")
    return ENGINES[kind](), native


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def opened(path: Path, kinds: Mapping[str, set[str]]) -> Iterator[Any]:
    """A Parquet or CSV file as a relation of DuckDB, which may spill to a temporary folder.

    Every column of a CSV is text, read as its use asks for (`column:kind`): no type is guessed from the data.
    """
    duckdb = _needed("duckdb")
    whole = str(path).lower().removesuffix(".gz")
    if not whole.endswith((".parquet", ".pq", ".csv")):
        raise BadValue(f"{path}: data must be a .parquet or .csv file")
    if not path.is_file():
        raise BadValue(f"{path}: there is no such file")
    with TemporaryDirectory(prefix="zcdp-") as folder:
        settings = {"temp_directory": folder, "preserve_insertion_order": False, "autoinstall_known_extensions": False}
        with duckdb.connect(config=settings) as connection:
            if not whole.endswith(".csv"):
                yield connection.read_parquet(str(path))
                return
            options = "header=true, all_varchar=true, delim=',', quote='\"', escape='\"', null_padding=true"
            source = f"read_csv(?, auto_detect=false, columns={{COLUMNS}}, {options})"
            yield _typed(connection, path, _header(path), source, kinds)


def _header(path: Path) -> list[str]:
    import csv
    import gzip

    open_text: Any = gzip.open if path.name.lower().endswith(".gz") else open
    with open_text(path, "rt", encoding="utf-8-sig", newline="") as file:
        names = next(csv.reader(file), [])
    if len({name.lower() for name in names}) < len(names):
        raise BadValue(f"{path}: two columns have the same name, by letters of either case")
    return names


def _typed(connection: Any, path: Path, names: list[str], source: str, kinds: Mapping[str, set[str]]) -> Any:
    missing = next((name for name in kinds if name not in names), None)
    if missing is not None:
        from zcdp.display.suggest import unknown

        raise BadValue(f"{path}: {unknown('column', missing, names)}")
    written = ", ".join(f"{_literal(name)}: 'VARCHAR'" for name in names)
    wanted = ", ".join(
        f"TRY_CAST({quoted(name)} AS {TYPES[kind]}) AS {quoted(f'{name}:{kind}')}"
        for name, uses in kinds.items()
        for kind in sorted(uses)
    )
    return connection.sql(
        f"SELECT {wanted} FROM {source.replace('{COLUMNS}', '{' + written + '}')}", params=[str(path)]
    )


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
