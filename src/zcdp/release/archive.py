"""The files of a release: packed as one archive of reproducible bytes, and written to a folder, all or none."""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from zcdp.errors import BadValue
from zcdp.release.table_description import Column, csv_on_the_web
from zcdp.release.table_noise import Table
from zcdp.text.sql import just, literal, quoted

__all__ = ["Release", "check_folder", "file_names", "packed", "parquet"]


MOMENT = (1980, 1, 1, 0, 0, 0)  # the time stamp of every file in an archive, so that its bytes are reproducible
INDEX, REPORT = "release.json", "report.html"
TYPES = {"text": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE", "boolean": "BOOLEAN"}
"""The SQL type of each kind of column."""


@dataclass(frozen=True)
class Release:
    """A published release: `tables` by name, `report` as HTML, `files` by name; `write` puts them in a new folder."""

    files: Mapping[str, bytes] = field(repr=False)
    sealed_at: str = field(default="", compare=False)
    """When the files were sealed, in UTC, if an earlier call sealed them; "" if this call did."""
    sealed_by: str = field(default="", compare=False)
    """Who sealed them in that case."""
    paid_at: str = field(default="", compare=False)
    """When the key was paid for, in UTC, if an earlier call paid for it and nothing was sealed; "" otherwise."""

    @property
    def repeated(self) -> bool:
        """Whether an earlier call had sealed this key: then nothing was read and nothing was spent."""
        return bool(self.sealed_at)

    def _repr_html_(self) -> str:
        """What a notebook shows: the tables with their numbers of rows."""
        from zcdp.report.notebook import table_html

        tables = self.tables
        rows: dict[str, list[Any]] = {"table": list(tables), "rows": [len(one.rows) for one in tables.values()]}
        return table_html("a repeated release" if self.repeated else "a release", rows)

    @classmethod
    def from_bytes(cls, data: bytes) -> Release:
        """The release in the bytes of an archive, as `packed` makes them."""
        with zipfile.ZipFile(BytesIO(data)) as archive:
            return cls({name: archive.read(name) for name in archive.namelist()})

    @property
    def index(self) -> dict[str, Any]:
        """The content of release.json: versions, the plan's digest, the tables and their files."""
        index: dict[str, Any] = json.loads(self.files[INDEX])
        return index

    @property
    def tables(self) -> dict[str, Table]:
        """The published tables, by the names of their queries."""
        return {
            one["name"]: Table.from_csv(one["name"], one["about"], self.files[one["csv"]].decode(), one["columns"])
            for one in self.index["tables"]
        }

    @property
    def report(self) -> str:
        """The report as one HTML page."""
        return self.files[REPORT].decode()

    def write(self, folder: str | Path) -> None:
        """Write all files to a folder that is new or empty.

        They are written to a temporary folder beside it, which is then renamed, so that the folder is never incomplete.
        """
        target = Path(folder)
        check_folder(target)
        with TemporaryDirectory(dir=target.absolute().parent, prefix=".zcdp-") as scratch:
            ready = Path(scratch) / "ready"
            ready.mkdir()
            for name, data in self.files.items():
                with (ready / name).open("wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
            if target.exists():
                target.rmdir()
            ready.rename(target)


def check_folder(target: Path) -> None:
    """Refuse a folder that is not empty, or cannot be made; called before anything is spent."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise BadValue(f"{target}: the output folder must be new or empty")
    if not target.absolute().parent.is_dir() or not os.access(target.absolute().parent, os.W_OK):
        raise BadValue(f"{target}: there is no directory {str(target.parent)!r} to make it in")


def packed(
    tables: Sequence[Table],
    report: str,
    facts: Mapping[str, Any],
    columns: Sequence[Mapping[str, Column]],
    lists: Mapping[str, str] | None = None,
) -> bytes:
    """The files of a release as a zip archive, whose bytes depend on the arguments alone.

    `columns` has what is told of the columns of each table, which is written beside its CSV, and `lists` the public
    files that the plan names, without which nobody could read it later.
    """
    listed, files = [], {}
    names = file_names([table.name for table in tables])
    for table, name, known in zip(tables, names, columns, strict=True):
        text = table.to_csv()
        files[f"{name}.csv"] = text.encode()
        files[f"{name}.csv-metadata.json"] = csv_on_the_web(table, f"{name}.csv", known, facts).encode()
        types = {name: "DATE" if one.is_date else _sql_type(table, name) for name, one in known.items()}
        about = {"title": table.name, "about": table.about, "vintage": facts.get("vintage") or ""}
        empty = [name for name, one in known.items() if one.may_be_empty]
        files[f"{name}.parquet"] = parquet(text, types, about, empty)
        said = {"csv": f"{name}.csv", "parquet": f"{name}.parquet", "columns": table.kinds()}
        listed.append({"name": table.name, "about": table.about, **said})
    files[REPORT] = report.encode()
    copies = _list_names(lists or {})
    files |= {copy: (lists or {})[name].encode() for name, copy in copies.items()}
    said_of_all = {**facts, "lists": copies, "tables": listed}
    files[INDEX] = (json.dumps(said_of_all, indent=2, ensure_ascii=False) + "\n").encode()
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, MOMENT), files[name], zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _sql_type(table: Table, name: str) -> str:
    """The SQL type of a column; integers beyond 64 bits become doubles."""
    kind = table.kinds()[name]
    given = (abs(value) for value in table.columns[name] if value is not None) if kind == "integer" else ()
    return "DOUBLE" if max(given, default=0) >= 2**63 else TYPES[kind]


def file_names(names: Sequence[str]) -> list[str]:
    """A short lower-case file name for each table, all different."""
    made: list[str] = []
    for name in names:
        base = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "table"
        wanted, n = base, 1
        while wanted in made:
            n += 1
            wanted = f"{base}-{n}"
        made.append(wanted)
    return made


def _list_names(lists: Iterable[str]) -> dict[str, str]:
    """The name of the copy of each list, all different; no table has a name with an underscore.

    >>> _list_names(["codes/regions.txt", "old/regions.txt"])
    {'codes/regions.txt': 'list_regions.txt', 'old/regions.txt': 'list_2_regions.txt'}
    """
    made: dict[str, str] = {}
    for name in lists:
        base = re.sub(r"[^A-Za-z0-9.]+", "-", re.split(r"[\\/]", name)[-1])[-60:]
        wanted, n = f"list_{base}", 1
        while wanted.lower() in map(str.lower, made.values()):
            n += 1
            wanted = f"list_{n}_{base}"
        made[name] = wanted
    return made


def parquet(text: str, types: Mapping[str, str], about: Mapping[str, str], empty: Sequence[str] = ()) -> bytes:
    """A table in CSV converted to the bytes of a Parquet file: one row a cell, columns of these SQL types.

    `about` stands in the file's own metadata. Cells that are empty are texts, and nulls in the columns of `empty`.
    """
    import duckdb

    with TemporaryDirectory(prefix="zcdp-") as folder, duckdb.connect() as connection:
        source, target = Path(folder) / "a.csv", Path(folder) / "a.parquet"
        source.write_text(text, encoding="utf-8")
        read = {name: "VARCHAR" if name in empty else kind for name, kind in types.items()}
        columns = ", ".join(f"{literal(name)}: '{kind}'" for name, kind in read.items())
        reading = f"read_csv({literal(just(source))}, header=true, auto_detect=false, delim=',', quote='\"', "
        reading += f"escape='\"', nullstr='zcdp has no nulls', columns={{{columns}}})"
        names = ", ".join(
            f"CAST(NULLIF({quoted(name)}, '') AS {kind}) AS {quoted(name)}" if name in empty else quoted(name)
            for name, kind in types.items()
        )
        notes = ", ".join(f"{name}: {literal(said)}" for name, said in about.items() if said)
        form = f"FORMAT parquet, KV_METADATA {{{notes}}}" if notes else "FORMAT parquet"
        connection.execute(f"COPY (SELECT {names} FROM {reading}) TO {literal(str(target))} ({form})")
        return target.read_bytes()
