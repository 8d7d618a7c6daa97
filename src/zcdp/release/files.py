"""Files as relations of DuckDB: Parquet as it is, and CSV as text that is read as the plan asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from zcdp.errors import BadValue
from zcdp.release.engines import literal, needed, quoted

__all__ = ["opened"]

TYPES = {
    "text": "VARCHAR",
    "number": "DOUBLE",
    "integer": "DOUBLE",
    "boolean": "BOOLEAN",
    "person": "VARCHAR",
    "date": "DATE",
}


@contextmanager
def opened(path: Path, kinds: Mapping[str, set[str]]) -> Iterator[Any]:
    """A Parquet or CSV file as a relation of DuckDB, which may spill to a temporary folder.

    Every column of a CSV is text, read as its use asks for (`column:kind`): no type is guessed from the data.
    """
    duckdb = needed("duckdb")
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
    written = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    wanted = ", ".join(
        f"TRY_CAST({quoted(name)} AS {TYPES[kind]}) AS {quoted(f'{name}:{kind}')}"
        for name, uses in kinds.items()
        for kind in sorted(uses)
    )
    return connection.sql(
        f"SELECT {wanted} FROM {source.replace('{COLUMNS}', '{' + written + '}')}", params=[str(path)]
    )
