"""Reading clients' values from a Parquet or CSV file: 0 .. k-1, listed names, numbers of a range, or any strings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from zcdp.collection.parquet import arrow, opened, package, whole_batches
from zcdp.errors import BadValue

__all__ = ["read_strings", "read_values"]


def read_values(
    path: Path,
    column: str | None,
    k: int,
    names: Sequence[str] | None = None,
    ends: tuple[Fraction, Fraction] | None = None,
) -> Iterator[NDArray[Any]]:
    """The values as numbers 0 .. k-1, block by block; a value out of range, unknown or missing is refused.

    With `ends` they are real numbers between these, as they are.
    """
    wanted = "reals" if ends is not None else "integers" if names is None else "strings"
    for name, array in _column(path, column, wanted):
        if ends is not None:
            yield _reals(path, array, ends)
        else:
            yield _named(path, name, array, names) if names else _numbers(path, array, k)


def read_strings(path: Path, column: str | None) -> Iterator[list[str]]:
    """The values as strings, block by block; one that is missing is refused."""
    for _, array in _column(path, column, "strings"):
        yield array.cast(arrow().string()).to_pylist()


def _column(path: Path, column: str | None, wanted: str) -> Iterator[tuple[str, Any]]:
    """The name of the column of values, and its blocks as Arrow arrays: of integers, reals or strings."""
    pa = arrow()
    file = None if path.suffix.lower() == ".csv" else opened(path)
    schema = _csv(path).schema if file is None else file.schema_arrow
    if column is None and len(schema.names) != 1:
        listed = ", ".join(schema.names)
        raise BadValue(f"{path}: has the columns {listed}: say which one holds the values (--column, column=)")
    name = schema.names[0] if column is None else column
    if name not in schema.names:
        raise BadValue(f"{path}: has no column {name}, only {', '.join(schema.names)}")
    kind = schema.field(name).type
    real = wanted == "reals" and (pa.types.is_floating(kind) or pa.types.is_decimal(kind))
    if wanted != "strings" and not real and not pa.types.is_integer(kind) and not pa.types.is_null(kind):
        hint = "name them in the plan, values = [...] in [collection]" if pa.types.is_string(kind) else ""
        raise BadValue(f"{path}: column {name} must hold integers, not {kind}" + (hint and f": or {hint}"))
    if file is not None:
        batches = whole_batches(path, file, columns=[name])
    else:
        types = {"reals": pa.float64(), "integers": pa.int64(), "strings": pa.string()}
        batches = _rows(path, name, types[wanted])
    for batch in batches:
        array = batch.column(0)
        if array.null_count:
            raise BadValue(f"{path}: column {name} has missing values")
        yield name, array


def _reals(path: Path, array: Any, ends: tuple[Fraction, Fraction]) -> NDArray[Any]:
    """A block of real numbers, checked to lie in the range."""
    values: NDArray[Any] = array.cast(arrow().float64(), safe=False).to_numpy(zero_copy_only=False)
    if values.size and not (values.min() >= float(ends[0]) and values.max() <= float(ends[1])):
        raise BadValue(f"{path}: numbers must lie between {ends[0]} and {ends[1]}: clip them first")
    return values


def _numbers(path: Path, array: Any, k: int) -> NDArray[Any]:
    """A block of integers, checked to lie in 0 .. k-1."""
    values: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    if values.size and (int(values.min()) < 0 or int(values.max()) >= k):
        raise BadValue(f"{path}: values must lie in 0 .. {k - 1}")
    return values


def _named(path: Path, column: str, array: Any, names: Sequence[str]) -> NDArray[Any]:
    """The index of each value in the list of names; an error does not quote an unknown value, which is private."""
    compute, pa = package("pyarrow.compute", "files of names need", "collection"), arrow()
    found = compute.index_in(compute.cast(array, pa.string()), value_set=pa.array(names))
    if found.null_count:
        raise BadValue(f"{path}: column {column} has a value that is none of the {len(names)} in the plan")
    places: NDArray[Any] = found.to_numpy(zero_copy_only=False)
    return places


def _csv(path: Path, **options: Any) -> Any:
    """A streaming reader of a CSV file."""
    pa, csv = arrow(), package("pyarrow.csv", "CSV files need", "collection")
    try:
        return csv.open_csv(path, convert_options=csv.ConvertOptions(**options))
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: no such file") from None
    except (pa.ArrowException, OSError) as error:
        raise BadValue(f"{path}: not a CSV file with a line of names: {str(error).splitlines()[0]}") from None


def _rows(path: Path, name: str, kind: Any) -> Iterator[Any]:
    """The batches of one column of a CSV file, read as the type `kind`: no type is guessed from the values."""
    pa = arrow()
    reader = _csv(path, include_columns=[name], column_types={name: kind})
    try:
        yield from reader
    except pa.ArrowException:
        raise BadValue(f"{path}: cannot be read to its end as {kind} in column {name}") from None
