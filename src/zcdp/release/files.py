"""Files as relations of DuckDB: Parquet as it is, and CSV as text that is read as the plan asks."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from zcdp.collection.duckdb import just
from zcdp.errors import BadValue
from zcdp.release.engines import connected, literal
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
"""In which form a text of a CSV is held once it is read as a kind of value."""
LONGEST = 2**14
"""So many letters a value of a CSV may have; a longer one is missing."""
LINE = 2**21


@contextmanager
def opened(path: Path, kinds: Mapping[str, set[str]]) -> Iterator[Any]:
    """A Parquet file as a relation of DuckDB, or of a CSV file a function that reads it as one.

    DuckDB may spill to a temporary folder. Every column of a CSV is text, read as its use asks for: no type is guessed
    from the data.
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
    """The name of a column of a CSV, read as a kind of value."""
    return f"{column}:{kind}"


def _check_units(connection: Any, path: Path, kinds: Mapping[str, set[str]]) -> None:
    """DuckDB makes microseconds of milliseconds while it reads a file, and fails where that overflows."""
    found = connection.execute("SELECT name, converted_type, logical_type FROM parquet_schema(?)", [just(path)])
    for name, converted, logical in found.fetchall():
        short = converted == "TIMESTAMP_MILLIS" or ("Timestamp" in str(logical) and "MILLIS=M" in str(logical))
        if short and "date" in kinds.get(name, ()):
            raise BadValue(
                f"column {name!r} must hold dates, or times in microseconds or nanoseconds: DuckDB cannot read every "
                "time in milliseconds from a Parquet file (a frame of Polars, pandas or pyarrow may hold them)"
            )


def _text(path: Path) -> Any:
    """The file as text; bytes that are none become half pairs of surrogates, which no text has."""
    open_text: Any = gzip.open if path.name.lower().endswith(".gz") else open
    return open_text(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="")


class _Records:
    """A CSV file: its header is read at once, and its records when the relation is asked for."""

    def __init__(self, connection: Any, path: Path, kinds: Mapping[str, set[str]], copy: Path) -> None:
        self._connection, self._path, self._kinds, self._copy = connection, path, kinds, copy
        with _text(path) as file:
            names = next(csv.reader(file), [])
        if len({name.lower() for name in names}) < len(names):
            raise BadValue(f"{path}: two columns have the same name, by letters of either case")
        missing = next((name for name in kinds if name not in names), None)
        if missing is not None:
            from zcdp.display.suggest import unknown

            raise BadValue(f"{path}: {unknown('column', missing, names)}")
        self._places = [names.index(name) for name in kinds]

    def __call__(self) -> Any:
        """The columns that the plan uses, each as the kinds of value that it is read as."""
        self._write()
        columns = {"record": "VARCHAR"} | {f"column_{n}": "VARCHAR" for n in range(len(self._places))}
        options = "auto_detect=false, header=false, delim=',', quote='\"', escape='\"', new_line='\\n'"
        options += f", max_line_size={max(LINE, (len(columns) + 1) * 4 * LONGEST)}"
        # in parallel a reader guesses where records begin, and quoted text may look like the beginning of one
        source = f"read_csv({literal(just(self._copy))}, columns={columns}, {options}, parallel=false)"
        # a table of texts, as a cast beside the reader may become one of the reader, which fails as a whole
        self._connection.execute(f"CREATE TEMP TABLE records AS SELECT * FROM {source}")
        self._copy.unlink()
        wanted = [
            f"TRY_CAST(column_{n} AS {TYPES[kind]}) AS {quoted(text_column(name, kind))}"
            for n, (name, kinds) in enumerate(self._kinds.items())
            for kind in sorted(kinds)
        ]
        return self._connection.table("records").project(", ".join(["record", *wanted]))

    def _write(self) -> None:
        """The records again, each value in quotes, as a reader of Python takes them.

        It has an answer for every line: values that a line lacks are missing, and what it has too many is left out.
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
        """Those of the plan; an empty one is missing, and stands for one that is too long, or no text."""
        found = [record[place] if place < len(record) else "" for place in self._places]
        return ["x", *(one if len(one) <= LONGEST and is_text(one) else "" for one in found)]
