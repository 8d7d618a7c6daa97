"""Files as DuckDB relations: Parquet with its own types, CSV as text that is converted as the plan asks."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from zcdp.collection.frames import just
from zcdp.errors import BadValue
from zcdp.release.frame_engines import connected, literal
from zcdp.release.reading import is_text, quoted

__all__ = ["FORMS", "opened", "text_column"]


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
