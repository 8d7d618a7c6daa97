"""Reading columns in each engine: each use becomes two columns without nulls, whether a value is there, and the value.

Both are functions of the row alone, are defined for every value, and have a type that the plan and the schema decide.
NaN, days outside of the years 1 to 9999, and values that an engine cannot convert count as missing. So nothing depends
on how an engine treats nulls or NaN, or on statistics of a file, which ignore NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib import import_module
from math import inf, nan
from typing import Any

import numpy as np

from zcdp.text.sql import quoted

__all__ = ["ROW", "Use", "is_text", "read_duckdb", "read_pandas", "read_polars", "read_spark"]

FAR = 2**62
"""Integers that do not fit 64 bits are clipped to this, which is beyond all keys, edges and clips (below 2^53)."""
EPOCH = date(1970, 1, 1).toordinal()
"""The ordinal (`date.toordinal`) of the day that engines count from."""
FIRST_DAY, LAST_DAY = 1 - EPOCH, date.max.toordinal() - EPOCH
"""The first and the last valid day (years 1 to 9999), in days since EPOCH."""
ROW = "zcdp_row"
"""A constant column, so that a frame has its rows even if the plan uses no column."""
PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


@dataclass(frozen=True)
class Use:
    """The use of a column as a kind of value, which the plan decides; `form` is the type of the column in the data.

    Forms are integer, wide (integers that may not fit 64 signed bits), float, decimal, text, category, boolean, date,
    s, ms, us or ns (times in these units), and object. `number` distinguishes the uses of a plan.
    """

    number: int
    column: str
    kind: str
    form: str

    @property
    def there(self) -> str:
        """The name of the column that says whether there is a value."""
        return f"zcdp_there_{self.number}"

    @property
    def value(self) -> str:
        """The name of the column of values; a day is its ordinal (`date.toordinal`)."""
        return f"zcdp_value_{self.number}"

    @property
    def month(self) -> str:
        """The name of the column of months of days, as 12 year + month - 1."""
        return f"zcdp_month_{self.number}"

    @property
    def whole(self) -> bool:
        """Whether a use as number or integer gives 64-bit integers (and not floats)."""
        return self.kind == "integer" or (self.kind == "number" and self.form in ("integer", "wide"))


def is_text(one: str) -> bool:
    r"""Whether a text can be encoded: one with a lone surrogate cannot.

    >>> is_text("\u00e9"), is_text("\ud83d")
    (True, False)
    """
    return one.isascii() or one.encode(errors="ignore").decode() == one


def read_duckdb(relation: Any, uses: Sequence[Use]) -> Any:
    """The columns of all uses, from a DuckDB relation."""
    columns = {ROW: "1"} | {name: text for use in uses for name, text in _sql(use).items()}
    return relation.project(", ".join(f"{text} AS {name}" for name, text in columns.items()))


def _sql(use: Use) -> dict[str, str]:
    """The SQL expressions of the columns of one use, by name."""
    raw = quoted(use.column)
    if use.kind == "date":
        # A cast to another unit fails for a row in which it overflows: in DuckDB 1 even TRY_CAST does, TRY does not.
        day = f"TRY_CAST({raw} AS DATE)" if use.form == "date" else f"TRY(CAST(CAST({raw} AS TIMESTAMP) AS DATE))"
        there = f"COALESCE({day} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31', false)"
        safe = f"CASE WHEN {there} THEN {day} ELSE DATE '0001-01-01' END"
        return {
            use.there: there,
            use.value: f"({safe} - DATE '0001-01-01' + 1)::BIGINT",
            use.month: f"(12 * year({safe}) + month({safe}) - 1)::BIGINT",
        }
    there = f"({raw} IS NOT NULL)"
    if use.kind == "person":
        whole = use.form in ("integer", "wide")
        return {use.there: there, use.value: f"COALESCE({raw}, 0)" if whole else f"COALESCE({raw}::VARCHAR, '')"}
    if use.kind == "text":
        return {use.there: there, use.value: f"COALESCE({raw}::VARCHAR, '')"}
    if use.kind == "boolean":
        return {use.there: there, use.value: f"COALESCE({raw}, false)"}
    if use.form in ("integer", "wide"):
        near = f"CASE WHEN {raw} > {FAR} THEN {FAR} WHEN {raw}::DOUBLE < {-FAR} THEN {-FAR} ELSE {raw} END"
        return {use.there: there, use.value: f"COALESCE({near if use.form == 'wide' else raw}, 0)::BIGINT"}
    number = f"({raw}::DOUBLE)"
    # NaN is found by its hash: statistics of a file ignore NaN, and from them DuckDB may conclude that there is none,
    # and skip a comparison
    there = f"({raw} IS NOT NULL AND hash({number}) <> hash('NaN'::DOUBLE))"
    if use.kind == "integer":
        there = f"({there} AND abs({number}) < {FAR} AND floor({number}) = {number})"
    value = f"CASE WHEN {there} THEN {number} ELSE 0 END"
    return {use.there: there, use.value: f"{value}::BIGINT" if use.whole else value}


def read_polars(frame: Any, uses: Sequence[Use]) -> Any:
    """The columns of all uses, from a Polars frame."""
    pl = import_module("polars")
    numbered = frame.lazy().with_columns(pl.lit(1).alias(ROW))
    return numbered.select(ROW, *(one.alias(name) for use in uses for name, one in _polars(pl, use).items()))


def _polars(pl: Any, use: Use) -> dict[str, Any]:
    """The Polars expressions of the columns of one use, by name."""
    raw = pl.col(use.column)
    there = raw.is_not_null()
    if use.kind == "date":
        # range checks on the day number, before dates are made of it: the calendar of an engine is limited
        number = raw.cast(pl.Int32).cast(pl.Int64)
        if use.form != "date":
            number = raw.cast(pl.Int64) // PER_DAY[use.form]
        there = number.is_between(FIRST_DAY, LAST_DAY).fill_null(value=False)
        safe = pl.when(there).then(number).otherwise(FIRST_DAY)
        day = safe.cast(pl.Int32).cast(pl.Date)
        month = day.dt.year().cast(pl.Int64) * 12 + day.dt.month().cast(pl.Int64) - 1
        return {use.there: there, use.value: safe + EPOCH, use.month: month}
    if use.kind == "person" and use.form in ("integer", "wide"):
        return {use.there: there, use.value: raw.fill_null(0)}
    if use.kind in ("text", "person"):
        return {use.there: there, use.value: raw.cast(pl.String).fill_null("")}
    if use.kind == "boolean":
        return {use.there: there, use.value: raw.fill_null(value=False)}
    if use.form in ("integer", "wide"):
        far = pl.when(raw > 0).then(pl.lit(FAR)).otherwise(pl.lit(-FAR))
        value = raw.cast(pl.Int64, strict=False).fill_null(far)
        return {use.there: there, use.value: pl.when(there).then(value).otherwise(pl.lit(0, pl.Int64))}
    number = raw.cast(pl.Float64)
    there = (there & number.is_not_nan()).fill_null(value=False)
    return {use.there: there, use.value: pl.when(there).then(number).otherwise(0.0)}


def read_spark(frame: Any, uses: Sequence[Use]) -> Any:
    """The columns of all uses, from a Spark frame."""
    functions = import_module("pyspark.sql.functions")
    columns = {ROW: functions.lit(1)} | {name: one for use in uses for name, one in _spark(functions, use).items()}
    return frame.select(*(one.alias(name) for name, one in columns.items()))


def _spark(functions: Any, use: Use) -> dict[str, Any]:
    """The Spark expressions of the columns of one use, by name."""
    raw = functions.col("`" + use.column.replace("`", "``") + "`")
    there, lit = raw.isNotNull(), functions.lit

    def filled(value: Any, otherwise: Any) -> Any:
        return functions.when(there, value).otherwise(lit(otherwise))

    if use.kind == "date":
        day = raw.cast("date")
        there = functions.coalesce(functions.unix_date(day).between(FIRST_DAY, LAST_DAY), lit(False))
        safe = functions.when(there, day).otherwise(lit(date(2000, 1, 1)))
        value = functions.unix_date(safe).cast("long") + EPOCH
        month = functions.year(safe).cast("long") * 12 + functions.month(safe).cast("long") - 1
        return {use.there: there, use.value: value, use.month: month}
    if use.kind == "person" and use.form in ("integer", "wide"):
        return {use.there: there, use.value: filled(raw.cast("long"), 0)}
    if use.kind in ("text", "person"):
        return {use.there: there, use.value: filled(raw.cast("string"), "")}
    if use.kind == "boolean":
        return {use.there: there, use.value: filled(raw, otherwise=False)}
    if use.form in ("integer", "wide"):
        return {use.there: there, use.value: filled(raw.cast("long"), 0)}
    number = raw.cast("double")
    there = there & ~functions.isnan(functions.coalesce(number, lit(nan)))
    return {use.there: there, use.value: filled(number, 0.0)}


def read_pandas(frame: Any, uses: Sequence[Use]) -> Any:
    """The columns of all uses, from a pandas frame, as numpy arrays, whatever kind of array the frame has.

    The readers below return for a series two arrays: whether a value is there, and the value.
    """
    pandas = import_module("pandas")
    made: dict[str, Any] = {ROW: np.ones(len(frame), np.int64)}
    for use in uses:
        read = PANDAS["text" if use.kind == "person" and use.form in TEXTS else use.kind]
        there, value = read(frame[use.column], use)
        made |= {use.there: there, use.value: pandas.Series(value, dtype=value.dtype)}
        if use.kind == "date":
            months = (value - EPOCH).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
            made[use.month] = months + 12 * 1970
    return pandas.DataFrame(made)


def _booleans(series: Any, use: Use) -> tuple[Any, Any]:
    if use.form == "object":
        return _objects(series, _boolean, np.dtype(bool), otherwise=False)
    return _present(series), series.to_numpy(dtype=bool, na_value=False)


def _texts(series: Any, use: Use) -> tuple[Any, Any]:
    """Valid texts; of categories their names."""
    if use.form == "category":
        series = series.astype(object).map(str, na_action="ignore")
    return _objects(series, _person if use.kind == "person" else _text, np.dtype(object), otherwise="")


def _numbers(series: Any, use: Use) -> tuple[Any, Any]:
    if use.whole:
        return _integers(series, use)
    if use.form in ("object", "decimal"):
        there, value = _objects(series, _number, np.dtype(np.float64), otherwise=nan)
    else:
        value = series.to_numpy(dtype=np.float64, na_value=nan)
    there = ~np.isnan(value)
    return there, np.where(there, value, 0.0)


def _integers(series: Any, use: Use) -> tuple[Any, Any]:
    """64-bit integers, clipped to FAR; ids of persons are not clipped, as two different ones might become equal."""
    if use.form == "object":
        return _objects(series, _integer, np.dtype(np.int64), otherwise=0)
    dtype = getattr(series.dtype, "numpy_dtype", series.dtype)
    value = series.to_numpy(dtype=dtype, na_value=0)
    if use.kind != "person":
        value = np.minimum(value, FAR) if value.dtype == np.uint64 else value
    return _present(series), value if value.dtype == np.uint64 and use.kind == "person" else value.astype(np.int64)


def _days(series: Any, use: Use) -> tuple[Any, Any]:
    if use.form == "object":
        return _objects(series, _day, np.dtype(np.int64), otherwise=1)
    if hasattr(series.dtype, "pyarrow_dtype"):
        number = _arrow_days(series)
    else:
        moments = series.to_numpy()
        number = moments.astype(np.int64) // PER_DAY[np.datetime_data(moments.dtype)[0]]
    there = (number >= FIRST_DAY) & (number <= LAST_DAY) & _present(series)
    return there, np.where(there, number, FIRST_DAY) + EPOCH


def _arrow_days(series: Any) -> Any:
    """Days since 1970 from their integers: days outside of Python's calendar cannot be converted to date objects."""
    dtype, found = series.dtype.pyarrow_dtype, series.array.__arrow_array__()
    short = str(dtype) == "date32[day]"
    number = found.cast("int32" if short else "int64").fill_null(0).to_numpy().astype(np.int64)
    return number if short else number // PER_DAY[getattr(dtype, "unit", "ms")]


def _present(series: Any) -> Any:
    return ~series.isna().to_numpy(dtype=bool)


def _objects(series: Any, read: Callable[[Any], Any], dtype: Any, otherwise: Any) -> tuple[Any, Any]:
    """A column of objects, read one by one; an object for which `read` returns None is missing."""
    found = [read(one) for one in series.to_numpy(dtype=object)]
    there = np.fromiter((one is not None for one in found), bool, len(found))
    filled: Iterable[Any] = (otherwise if one is None else one for one in found)
    return there, np.fromiter(filled, dtype, len(found))


def _boolean(one: Any) -> bool | None:
    return bool(one) if isinstance(one, bool | np.bool_) else None


def _text(one: Any) -> str | None:
    if not isinstance(one, str):
        return None
    return str(one) if is_text(one) else None


def _person(one: Any) -> str | None:
    """A person's id with NUL escaped: pandas before 3 groups and hashes texts only up to a NUL, and ids might merge."""
    text = _text(one)
    return None if text is None else text.replace("\\", "\\\\").replace("\0", "\\0")


def _number(one: Any) -> float | None:
    from decimal import Decimal

    if isinstance(one, bool) or not isinstance(one, int | float | np.integer | np.floating | Decimal):
        return None
    try:
        return float(one)
    except OverflowError:
        return inf if one > 0 else -inf
    except ValueError:  # a signalling NaN
        return None


def _integer(one: Any) -> int | None:
    """The integer, clipped to FAR; 1.0 is read as 1, as in a condition on the same column."""
    if isinstance(one, int | np.integer) and not isinstance(one, bool):
        return min(max(int(one), -FAR), FAR)
    number = _number(one)
    return None if number is None or not number.is_integer() else min(max(int(number), -FAR), FAR)


def _day(one: Any) -> int | None:
    """The ordinal of a date, or of a time without a zone; NaT, which is not equal to itself, is missing."""
    if not isinstance(one, date) or one != one or getattr(one, "tzinfo", None) is not None:  # noqa: PLR0124
        return None
    return one.toordinal()


TEXTS = ("text", "category", "object")
PANDAS: Mapping[str, Callable[[Any, Use], tuple[Any, Any]]] = {
    "boolean": _booleans,
    "text": _texts,
    "person": _integers,
    "number": _numbers,
    "integer": _integers,
    "date": _days,
}
