"""The engines DuckDB, Polars, pandas and Spark, and files read by DuckDB.

Each engine has the few operations that narwhals does not express for all of them.
"""

from __future__ import annotations

import csv
import gzip
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unicodedata import normalize

from zcdp.errors import BadType, BadValue, MissingExtra
from zcdp.release.reading import Use, is_text, read_duckdb, read_pandas, read_polars, read_spark
from zcdp.text.sql import just, literal, quoted

__all__ = [
    "FORMS",
    "Engine",
    "connected",
    "engine_of",
    "fold_text",
    "narwhals",
    "needed",
    "opened",
    "tested",
    "text_column",
]


OLDEST = {
    "duckdb": "1.4.1",
    "narwhals": "2.27.1",
    "pandas": "2.2.3",
    "polars": "1.32",
    "pyarrow": "18",
    "pyspark": "3.5",
}
"""The oldest versions with which contribution bounds are tested, as in pyproject.toml; older ones are refused.

narwhals before 2.27.1 takes a literal beside a pandas column for a single value, not for one in each row.
"""
NO_STATISTICS = "statistics_propagation,filter_pushdown"
"""The optimizers of DuckDB that are switched off on our own connections.

They rely on statistics of a file, which ignore NaN and are whatever its writer wrote; whether a row counts must be
computed from the row. Relations on a user's connection are read in a way that is safe with these optimizers too.
"""
PLACE, HASH, KEPT = "zcdp_place", "zcdp_hash", "zcdp_kept"
BLANKS = " \t\n\r\u00a0\u2007\u202f\u3000"
"""What `trim` takes away at both ends of a text."""
ONE_LETTER = {"\u0130": "i", "\u03a3": "\u03c3", "\u03c2": "\u03c3"}
"""Letters that engines lower in different ways: I with a dot, and sigma, whose small form depends on its place."""


def narwhals() -> Any:
    """The module narwhals; if it is missing, the error says what to install."""
    return needed("narwhals")


def needed(module: str) -> Any:
    """A module of the extra `release`; if it is missing or too old, the error says what to install."""
    try:
        found = import_module(module)
    except ModuleNotFoundError:
        raise MissingExtra(f"a release needs {module}", extra="release", name=module) from None
    return tested(found, module)


def tested(module: Any, name: str) -> Any:
    """The module; refused if it is older than the versions that releases are tested with."""
    if _numbers(module.__version__) < _numbers(OLDEST[name]):
        said = f"a release needs {name} {OLDEST[name]} or newer: with {module.__version__} bounds are not tested"
        raise MissingExtra(said, extra="release", name=name)
    return module


def _numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version, to compare.

    >>> _numbers("2.27") < _numbers("2.27.1") < _numbers("2.100rc1")
    True
    """
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, found.group().split("."))) if found else ()


def connected(**settings: Any) -> Any:
    """A DuckDB connection that does not use statistics of files, and prints no progress of its own."""
    connection = needed("duckdb").connect(config={"disabled_optimizers": NO_STATISTICS, **settings})
    connection.execute("SET enable_progress_bar = false")
    return connection


def fold_text(text: str, ways: Sequence[str]) -> str:
    """A text in one spelling: `nfc`, `case`, `trim`, in this order; the same in every engine.

    >>> fold_text(" M\u00dcLLER \u00d3A\u03a3", ("case", "trim"))
    'm\u00fcller \u00f3a\u03c3'
    """
    if "nfc" in ways:
        text = normalize("NFC", text)
    if "case" in ways:
        for one, other in ONE_LETTER.items():
            text = text.replace(one, other)
        text = text.lower()
    return text.strip(BLANKS) if "trim" in ways else text


class Engine(ABC):
    """What narwhals does not express: values without nulls, index in a list, folded texts, first rows of groups."""

    name: str

    @abstractmethod
    def read(self, native: Any, uses: Sequence[Use]) -> Any:
        """A native frame of the values that a plan uses, and no other columns."""

    @abstractmethod
    def placed(self, frame: Any, column: str, values: Sequence[Any], cells: Sequence[int], name: str) -> Any:
        """The frame with a further column `name`: cells[n] where `column` is values[n], else -1.

        The values are texts or integers.
        """

    @abstractmethod
    def taken(self, frame: Any, place: str, values: Sequence[Any], name: str) -> Any:
        """The frame with a further column `name`: of these texts, integers, doubles or booleans that of index `place`.

        It is not null; for an index of -1 it is any of them.
        """

    @abstractmethod
    def folded(self, frame: Any, column: str, ways: Sequence[str], name: str) -> Any:
        """The frame with a further column `name`: the texts of `column` as `fold_text` gives them."""

    @abstractmethod
    def keep(self, frame: Any, within: Sequence[str], rank_by: str, most: int, salt: int) -> Any:
        """The first `most` rows of each group, ranked by a hash of salt, group and `rank_by`, then by `rank_by` itself.

        `rank_by` differs between the rows of a group, so that the choice depends on these rows and the salt alone.
        """

    @abstractmethod
    def numbered(self, frame: Any, within: Sequence[str], name: str) -> Any:
        """The frame with a column of that name, which numbers the rows of each group, in whatever order."""

    @abstractmethod
    def rows(self, frame: Any) -> list[tuple[Any, ...]]:
        """All rows of the frame, which is computed once."""

    def filtered(self, frame: Any, condition: Any) -> Any:
        """The rows that fulfil a condition on columns that were computed one from another, in time linear in them.

        An optimizer that moves a condition below the projections that make its columns writes out each of them wherever
        it is used, so that a chain in which every column uses the last one twice becomes exponentially long. No
        condition is moved below a projection that makes it of what differs from call to call: here such a condition
        is added that always holds.
        """
        return frame.filter(condition)

    def types(self, native: Any, columns: Sequence[str]) -> dict[str, Any]:  # noqa: ARG002 - for pandas alone
        """The narwhals types of columns; "object" for a pandas column of objects, whose content is not looked at."""
        return dict(narwhals().from_native(native).lazy().collect_schema())


class DuckDB(Engine):
    """DuckDB relations, which are lazy and may be larger than memory; a connection of ours is kept open with them."""

    name = "duckdb"

    def __init__(self, connection: Any = None, *, ours: bool = False) -> None:
        self.connection, self.ours = connection, ours

    def read(self, native: Any, uses: Sequence[Use]) -> Any:
        return read_duckdb(native, uses)

    def placed(self, frame: Any, column: str, values: Sequence[Any], cells: Sequence[int], name: str) -> Any:
        # an ENUM is looked up faster than a list, and its codes are the indices of the values
        listed = ", ".join(literal(str(value)) for value in values)
        place = f"enum_code(TRY_CAST({quoted(column)}::VARCHAR AS ENUM({listed})))::INTEGER"
        if list(cells) != list(range(len(values))):
            place = f"list_extract({list(cells)}::INTEGER[], {place} + 1)"
        relation = frame.to_native().project(f"*, COALESCE({place}, -1) AS {quoted(name)}")
        return narwhals().from_native(relation)

    def taken(self, frame: Any, place: str, values: Sequence[Any], name: str) -> Any:
        kind = {str: "VARCHAR", bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE"}[type(values[0])]
        # numbers are written as texts: a decimal would become a double by way of another type
        listed = ", ".join(literal(str(value)) for value in values)
        entry = f"list_extract([{listed}]::{kind}[], greatest({quoted(place)}, 0) + 1)"
        return narwhals().from_native(frame.to_native().project(f"*, {entry} AS {quoted(name)}"))

    def folded(self, frame: Any, column: str, ways: Sequence[str], name: str) -> Any:
        text = quoted(column)
        if "nfc" in ways:
            text = f"nfc_normalize({text})"
        if "case" in ways:
            for one, other in ONE_LETTER.items():
                text = f"replace({text}, {literal(one)}, {literal(other)})"
            text = f"lower({text})"
        if "trim" in ways:
            text = f"trim({text}, {literal(BLANKS)})"
        return narwhals().from_native(frame.to_native().project(f"*, {text} AS {quoted(name)}"))

    def keep(self, frame: Any, within: Sequence[str], rank_by: str, most: int, salt: int) -> Any:
        groups, key = ", ".join(map(quoted, within)), quoted(rank_by)
        # DuckDB combines the hashes of several values by XOR, which favours the same keys in every group: hash again
        hashed = f"hash(hash({salt}, {groups}, {key}))"
        place = f"row_number() OVER (PARTITION BY {groups} ORDER BY {hashed}, {key})"
        relation = frame.to_native()
        ranked = relation.project(f"*, {place} AS {PLACE}").filter(f"{PLACE} <= {most}")
        return narwhals().from_native(ranked.project(", ".join(map(quoted, relation.columns))))

    def numbered(self, frame: Any, within: Sequence[str], name: str) -> Any:
        groups = ", ".join(map(quoted, within))
        return narwhals().from_native(
            frame.to_native().project(f"*, row_number() OVER (PARTITION BY {groups}) AS {quoted(name)}")
        )

    def filtered(self, frame: Any, condition: Any) -> Any:
        if self.ours:  # on a connection of ours no condition is moved
            return frame.filter(condition)
        native = frame.with_columns(condition.alias(KEPT)).to_native()
        return narwhals().from_native(native.project(f"* REPLACE ({KEPT} AND random() >= 0 AS {KEPT})").filter(KEPT))

    def rows(self, frame: Any) -> list[tuple[Any, ...]]:
        return list(frame.to_native().fetchall())


class Polars(Engine):
    """Polars frames; eager ones are made lazy."""

    name = "polars"

    def read(self, native: Any, uses: Sequence[Use]) -> Any:
        return read_polars(native, uses)

    def placed(self, frame: Any, column: str, values: Sequence[Any], cells: Sequence[int], name: str) -> Any:
        pl = import_module("polars")
        listed = pl.Series(values, dtype=pl.Int64 if isinstance(values[0], int) else pl.String)
        place = pl.col(column).replace_strict(
            listed, pl.Series(cells, dtype=pl.Int64), default=-1, return_dtype=pl.Int64
        )
        return narwhals().from_native(frame.to_native().lazy().with_columns(place.alias(name)))

    def taken(self, frame: Any, place: str, values: Sequence[Any], name: str) -> Any:
        pl = import_module("polars")
        kind = {str: pl.String, bool: pl.Boolean, int: pl.Int64, float: pl.Float64}[type(values[0])]
        entry = pl.col(place).replace_strict(
            range(len(values)), pl.Series(values, dtype=kind), default=pl.lit(values[0], kind), return_dtype=kind
        )
        return narwhals().from_native(frame.to_native().lazy().with_columns(entry.alias(name)))

    def folded(self, frame: Any, column: str, ways: Sequence[str], name: str) -> Any:
        text = import_module("polars").col(column)
        if "nfc" in ways:
            text = text.str.normalize("NFC")
        if "case" in ways:
            for one, other in ONE_LETTER.items():
                text = text.str.replace_all(one, other, literal=True)
            text = text.str.to_lowercase()
        if "trim" in ways:
            text = text.str.strip_chars(BLANKS)
        return narwhals().from_native(frame.to_native().lazy().with_columns(text.alias(name)))

    def keep(self, frame: Any, within: Sequence[str], rank_by: str, most: int, salt: int) -> Any:
        pl = import_module("polars")
        hashed = pl.struct(*within, rank_by).hash(salt).alias(HASH)
        lazy = frame.to_native().lazy()
        ranked = lazy.with_columns(hashed).sort(HASH, rank_by).group_by(*within).head(most)
        return narwhals().from_native(ranked.select(*lazy.collect_schema().names()))

    def numbered(self, frame: Any, within: Sequence[str], name: str) -> Any:
        pl = import_module("polars")
        place = pl.int_range(pl.len(), dtype=pl.Int64).over(*within).alias(name)
        return narwhals().from_native(frame.to_native().lazy().with_columns(place))

    def rows(self, frame: Any) -> list[tuple[Any, ...]]:
        pl = import_module("polars")
        plain = pl.QueryOptFlags(predicate_pushdown=False)  # otherwise statistics of a file are used
        return list(frame.to_native().lazy().collect(optimizations=plain).rows())


class Pandas(Engine):
    """pandas frames, in memory."""

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

    def placed(self, frame: Any, column: str, values: Sequence[Any], cells: Sequence[int], name: str) -> Any:
        native = frame.to_native()
        pandas: Any = import_module("pandas")
        listed = pandas.Index(values, dtype=native[column].dtype)
        found = import_module("numpy").array([*cells, -1])[listed.get_indexer(native[column])]  # -1 is the last
        return narwhals().from_native(native.assign(**{name: found})).lazy()

    def taken(self, frame: Any, place: str, values: Sequence[Any], name: str) -> Any:
        import numpy as np

        native = frame.to_native()
        listed = np.array(values, dtype=object if isinstance(values[0], str) else None)
        taken = listed[np.maximum(native[place].to_numpy(), 0)]
        pandas: Any = import_module("pandas")
        made = pandas.Series(taken, index=native.index, dtype=taken.dtype)
        return narwhals().from_native(native.assign(**{name: made})).lazy()

    def folded(self, frame: Any, column: str, ways: Sequence[str], name: str) -> Any:
        native = frame.to_native()
        pandas: Any = import_module("pandas")
        texts = [fold_text(one, ways) for one in native[column]]
        made = pandas.Series(texts, index=native.index, dtype=object)
        return narwhals().from_native(native.assign(**{name: made})).lazy()

    def keep(self, frame: Any, within: Sequence[str], rank_by: str, most: int, salt: int) -> Any:
        native = frame.to_native()
        pandas: Any = import_module("pandas")
        key = f"{salt:016x}"
        salted = native[[*within, rank_by]].assign(**{HASH: salt})
        hashed = pandas.util.hash_pandas_object(salted, index=False, hash_key=key)
        ranked = native.assign(**{HASH: hashed.to_numpy()}).sort_values([HASH, rank_by], kind="stable")
        first = ranked.groupby(list(within), sort=False).cumcount() < most
        return narwhals().from_native(ranked.loc[first, list(native.columns)]).lazy()

    def numbered(self, frame: Any, within: Sequence[str], name: str) -> Any:
        native = frame.to_native()
        place = native.groupby(list(within), sort=False).cumcount()
        return narwhals().from_native(native.assign(**{name: place})).lazy()

    def rows(self, frame: Any) -> list[tuple[Any, ...]]:
        return list(frame.to_native().itertuples(index=False, name=None))


class Spark(Engine):
    """PySpark frames, on their cluster."""

    name = "pyspark"

    def read(self, native: Any, uses: Sequence[Use]) -> Any:
        return read_spark(native, uses)

    def placed(self, frame: Any, column: str, values: Sequence[Any], cells: Sequence[int], name: str) -> Any:
        functions = import_module("pyspark.sql.functions")
        native = frame.to_native()
        kind = "long" if isinstance(values[0], int) else "string"
        rows = list(zip(values, cells, strict=True))
        places = native.sparkSession.createDataFrame(rows, f"{name}_value {kind}, {name} int")
        same = native[column] == places[f"{name}_value"]
        joined = native.join(functions.broadcast(places), same, "left").drop(f"{name}_value")
        place = functions.coalesce(functions.col(name), functions.lit(-1))
        return narwhals().from_native(joined.withColumn(name, place))

    def taken(self, frame: Any, place: str, values: Sequence[Any], name: str) -> Any:
        functions = import_module("pyspark.sql.functions")
        native = frame.to_native()
        kind = {str: "string", bool: "boolean", int: "long", float: "double"}[type(values[0])]
        rows = list(enumerate(values))
        entries = native.sparkSession.createDataFrame(rows, f"{name}_place int, {name} {kind}")
        joined = native.join(functions.broadcast(entries), native[place] == entries[f"{name}_place"], "left")
        entry = functions.coalesce(functions.col(name), functions.lit(values[0]).cast(kind))
        return narwhals().from_native(joined.drop(f"{name}_place").withColumn(name, entry))

    def folded(self, frame: Any, column: str, ways: Sequence[str], name: str) -> Any:
        functions = import_module("pyspark.sql.functions")
        chosen = tuple(ways)
        fold = functions.udf(lambda one: fold_text(one, chosen), "string")  # Java lowers letters in a way of its own
        return narwhals().from_native(frame.to_native().withColumn(name, fold(functions.col(column))))

    def keep(self, frame: Any, within: Sequence[str], rank_by: str, most: int, salt: int) -> Any:
        functions, window = import_module("pyspark.sql.functions"), import_module("pyspark.sql.window").Window
        hashed = functions.xxhash64(functions.lit(salt), *within, rank_by)
        place = functions.row_number().over(window.partitionBy(*within).orderBy(hashed, rank_by))
        ranked = frame.to_native().withColumn(PLACE, place).where(functions.col(PLACE) <= most).drop(PLACE)
        return narwhals().from_native(ranked)

    def numbered(self, frame: Any, within: Sequence[str], name: str) -> Any:
        functions, window = import_module("pyspark.sql.functions"), import_module("pyspark.sql.window").Window
        place = functions.row_number().over(window.partitionBy(*within).orderBy(functions.lit(1)))
        return narwhals().from_native(frame.to_native().withColumn(name, place))

    def filtered(self, frame: Any, condition: Any) -> Any:
        functions = import_module("pyspark.sql.functions")
        native = frame.with_columns(condition.alias(KEPT)).to_native()
        kept = functions.col(KEPT) & (functions.spark_partition_id() >= 0)
        return narwhals().from_native(native.withColumn(KEPT, kept).where(functions.col(KEPT)))

    def rows(self, frame: Any) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in frame.to_native().collect()]


ENGINES: dict[str, type[Engine]] = {one.name: one for one in (DuckDB, Polars, Pandas, Spark)}


def engine_of(native: Any) -> tuple[Engine, Any]:
    """The engine of a frame, and the frame itself; a pyarrow table is read by DuckDB without a copy."""
    nw = narwhals()
    try:
        kind = nw.from_native(native).implementation.value
    except TypeError:
        kind = type(native).__name__
    if kind == "pyarrow":
        tested(import_module("pyarrow"), "pyarrow")
        connection = connected()
        return DuckDB(connection, ours=True), connection.from_arrow(native)
    if kind not in ENGINES:
        raise BadType(f"data must be a path or a frame of pandas, Polars, DuckDB, PySpark or pyarrow, not {kind}")
    tested(import_module(kind), kind)
    return ENGINES[kind](), native


# Files as DuckDB relations: Parquet with its own types, CSV as text that is converted as the plan asks.


TYPES = {
    "text": "VARCHAR",
    "number": "DOUBLE",
    "integer": "DOUBLE",
    "boolean": "BOOLEAN",
    "person": "VARCHAR",
    "date": "DATE",
}
FORMS = {
    "text": "text",
    "number": "float",
    "integer": "float",
    "boolean": "boolean",
    "person": "text",
    "date": "date",
}
"""The form (see `Use`) of a CSV column after it is converted to a kind of value."""
MOST_LETTERS = 2**14
"""A longer value of a CSV file counts as missing."""
LEAST_LINE_SIZE = 2**21  # DuckDB's limit on the bytes of a line is at least this


@contextmanager
def opened(path: Path, kinds: Mapping[str, set[str]]) -> Iterator[Any]:
    """A Parquet file as a DuckDB relation; for a CSV file, a function that reads it and returns such a relation.

    DuckDB may spill to a temporary folder. Every column of a CSV file is text, converted as the plan uses it: no type
    is guessed from the data.
    """
    whole = str(path).lower().removesuffix(".gz")
    if not whole.endswith((".parquet", ".pq", ".csv")):
        raise BadValue(f"{path}: data must be a .parquet or .csv file")
    if not path.is_file():
        raise BadValue(f"{path}: there is no such file")
    with TemporaryDirectory(prefix="zcdp-") as folder:
        settings = {"temp_directory": folder, "preserve_insertion_order": False, "autoinstall_known_extensions": False}
        with connected(**settings) as connection:
            if whole.endswith(".csv"):
                yield _Records(connection, path, kinds, Path(folder) / "records.csv")
            else:
                _check_units(connection, path, kinds)
                yield connection.read_parquet(just(path), hive_partitioning=False)


def text_column(column: str, kind: str) -> str:
    """The name of a CSV column converted to a kind of value, in the relation of the file."""
    return f"{column}:{kind}"


def _check_units(connection: Any, path: Path, kinds: Mapping[str, set[str]]) -> None:
    """Refuse times in milliseconds: DuckDB converts them to microseconds while reading, and fails on overflow."""
    found = connection.execute("SELECT name, converted_type, logical_type FROM parquet_schema(?)", [just(path)])
    for name, converted, logical in found.fetchall():
        short = converted == "TIMESTAMP_MILLIS" or ("Timestamp" in str(logical) and "MILLIS=M" in str(logical))
        if short and "date" in kinds.get(name, ()):
            raise BadValue(
                f"column {name!r} must hold dates, or times in microseconds or nanoseconds: DuckDB cannot read every "
                "time in milliseconds from a Parquet file (a frame of Polars, pandas or pyarrow may hold them)"
            )


def _text(path: Path) -> Any:
    """The file opened as UTF-8 text; invalid bytes become lone surrogates, which no valid text contains."""
    open_text: Any = gzip.open if path.name.lower().endswith(".gz") else open
    return open_text(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="")


class _Records:
    """A CSV file: the header is read and checked at once, the records when the relation is made by a call."""

    def __init__(self, connection: Any, path: Path, kinds: Mapping[str, set[str]], copy: Path) -> None:
        self._connection, self._path, self._kinds, self._copy = connection, path, kinds, copy
        with _text(path) as file:
            names = next(csv.reader(file), [])
        if len({name.lower() for name in names}) < len(names):
            raise BadValue(f"{path}: two columns have the same name, by letters of either case")
        self.names = names
        missing = next((name for name in kinds if name not in names), None)
        if missing is not None:
            from zcdp.text.suggestions import unknown

            raise BadValue(f"{path}: {unknown('column', missing, names)}")
        self._places = [names.index(name) for name in kinds]

    def __call__(self) -> Any:
        """The relation of the columns that the plan uses, one column for each kind of value they are read as."""
        self._write()
        columns = {"record": "VARCHAR"} | {f"column_{n}": "VARCHAR" for n in range(len(self._places))}
        options = "auto_detect=false, header=false, delim=',', quote='\"', escape='\"', new_line='\\n'"
        options += f", max_line_size={max(LEAST_LINE_SIZE, (len(columns) + 1) * 4 * MOST_LETTERS)}"
        # a parallel reader guesses where records begin, and quoted text may look like the beginning of a record
        source = f"read_csv({literal(just(self._copy))}, columns={columns}, {options}, parallel=false)"
        # first a table of texts: the optimizer may move a cast into the CSV reader, where one bad value fails the query
        self._connection.execute(f"CREATE TEMP TABLE records AS SELECT * FROM {source}")
        self._copy.unlink()
        wanted = [
            f"TRY_CAST(column_{n} AS {TYPES[kind]}) AS {quoted(text_column(name, kind))}"
            for n, (name, kinds) in enumerate(self._kinds.items())
            for kind in sorted(kinds)
        ]
        return self._connection.table("records").project(", ".join(["record", *wanted]))

    def _write(self) -> None:
        """Write a normalized copy of the records, parsed by Python's csv module, with every value in quotes.

        It works for every line: values that a line lacks are missing, and extra ones are left out.
        """
        limit = csv.field_size_limit(2**31 - 1)
        try:
            with _text(self._path) as file, self._copy.open("w", encoding="utf-8", newline="") as copy:
                records = csv.reader(file)
                next(records, None)
                writer = csv.writer(copy, quoting=csv.QUOTE_ALL, lineterminator="\n")
                writer.writerows(self._values(record) for record in records if record)
        finally:
            csv.field_size_limit(limit)

    def _values(self, record: Sequence[str]) -> list[str]:
        """The values of the plan's columns in a record; a value that is too long or not valid text becomes empty."""
        found = [record[place] if place < len(record) else "" for place in self._places]
        return ["x", *(one if len(one) <= MOST_LETTERS and is_text(one) else "" for one in found)]
