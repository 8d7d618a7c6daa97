"""The columns that a plan uses, and its conditions, keys and amounts as narwhals expressions over them.

Columns are checked by name and type before anything is spent. Every expression is defined for every value of a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from fractions import Fraction
from functools import cached_property, reduce
from operator import and_, or_
from pathlib import Path
from typing import Any

from zcdp.errors import BadValue
from zcdp.release.frame_engines import FORMS, DuckDB, Engine, engine_of, narwhals, opened, text_column
from zcdp.release.reading import Use
from zcdp.tables.clipped_sums import Amount
from zcdp.tables.declaration import Declaration
from zcdp.tables.domain import Bins, Dates, Domain, Keys
from zcdp.tables.nested import Coarser, Nested
from zcdp.tables.table_query import Condition, TableQuery

__all__ = ["Source", "amount", "between", "condition", "every", "interval", "key", "listed", "source_of", "uses"]


SAID = {
    "text": "text",
    "number": "numbers",
    "integer": "integers",
    "boolean": "booleans",
    "date": "dates, or times without a zone",
    "person": "integers or text, to name persons by",
}
FITS = {
    "text": ("text", "category"),
    "number": ("integer", "wide", "float", "decimal"),
    "integer": ("integer", "wide"),
    "boolean": ("boolean",),
    "date": ("date", "s", "ms", "us", "ns"),
    "person": ("text", "category", "integer", "wide"),
}
"""The column forms (see `Use`) that each kind of value can be read from; for pandas, columns of objects as well."""


class Source:
    """A frame of one engine with the columns that a plan uses; its methods return expressions and read no data.

    For each use of a column there are two expressions without nulls: whether the row has a value, and the value.
    """

    def __init__(self, engine: Engine, native: Any, kinds: Mapping[str, set[str]], *, typed: bool = False) -> None:
        self.engine, self._native = engine, native
        asked = [(column, kind) for column, found in kinds.items() for kind in sorted(found)]
        types = {} if typed else engine.types(native, list(kinds))
        self._uses = {
            (column, kind): Use(n, text_column(column, kind), kind, FORMS[kind])
            if typed
            else Use(n, column, kind, self._form(types, column, kind))
            for n, (column, kind) in enumerate(asked)
        }

    @cached_property
    def frame(self) -> Any:
        """The lazy frame of the values that the plan uses; data in memory is converted on first access."""
        native = self._native() if callable(self._native) else self._native
        return narwhals().from_native(self.engine.read(native, list(self._uses.values()))).lazy()

    def _form(self, types: Mapping[str, Any], column: str, kind: str) -> str:
        """The form of a column, from its type alone; a column that cannot be read as this kind of value is refused."""
        if column not in types:
            from zcdp.text.suggestions import unknown

            raise BadValue(unknown("column", column, types))
        alike = [name for name in types if name.lower() == column.lower()]
        if len(alike) > 1 and self.engine.name == "pyspark":
            raise BadValue(f"column {column!r} has the name of another, by letters of either case")
        form = "object" if isinstance(types[column], str) else _form(types[column])
        if form not in ("object", *FITS[kind]):
            raise BadValue(f"column {column!r} must hold {SAID[kind]}, not {types[column]}")
        return form

    def column(self, name: str, kind: str) -> tuple[Any, Any]:
        """Expressions: whether a row has a value, and the value as text, float or boolean."""
        nw, use = narwhals(), self._uses[name, kind]
        value = nw.col(use.value)
        return nw.col(use.there), value.cast(nw.Float64) if use.whole else value

    def label(self, name: str, kind: str) -> tuple[Any, str]:
        """An expression for whether a row has a value, and the name of the column with the text or integer."""
        use = self._uses[name, kind]
        return narwhals().col(use.there), use.value

    def day(self, name: str) -> tuple[Any, Any, Any]:
        """Expressions: whether a row has a day, its ordinal (`date.toordinal`), its month as 12 year + month - 1."""
        nw, use = narwhals(), self._uses[name, "date"]
        return nw.col(use.there), nw.col(use.value), nw.col(use.month)

    def whole(self, name: str, kind: str) -> tuple[Any, Any] | None:
        """Expressions: whether a row has a value, and the value as a 64-bit integer; None if it is read as a float."""
        use = self._uses[name, kind]
        return (narwhals().col(use.there), narwhals().col(use.value)) if use.whole else None


def _form(dtype: Any) -> str:
    """The form (see `Use`) of a narwhals type; "" if values of the type cannot be read."""
    nw = narwhals()
    if isinstance(dtype, nw.Categorical | nw.Enum) or dtype in (nw.Categorical, nw.Enum):
        return "category"
    if dtype.is_integer():
        return "wide" if dtype in (nw.UInt64, nw.Int128, nw.UInt128) else "integer"
    if dtype == nw.Datetime:
        return "" if dtype.time_zone is not None else str(dtype.time_unit)
    named = {nw.String: "text", nw.Boolean: "boolean", nw.Date: "date", nw.Decimal: "decimal"}
    return named.get(dtype.base_type(), "float" if dtype.is_float() else "")


def uses(declaration: Declaration) -> dict[str, set[str]]:
    """The columns that a plan names, each with the kinds of value it is read as."""
    found: dict[str, set[str]] = {}
    if declaration.person is not None:
        found.setdefault(declaration.person, set()).add("person")
    for column, kind in (pair for query in declaration.queries for pair in _asked(query)):
        found.setdefault(column, set()).add(kind)
    return found


def _asked(query: TableQuery) -> Iterable[tuple[str, str]]:
    """Pairs (column, kind of value) that a query reads."""
    for domain in query.domains:
        if isinstance(domain, Bins | Dates):
            yield domain.column, domain.kind
        else:
            yield from ((one.column, one.kind) for one in domain.lookups)
    for condition in query.where:
        yield condition.column, condition.kind
    for one in query.amounts:
        yield one.column, "number"


@contextmanager
def source_of(data: Any, declaration: Declaration) -> Iterator[Source]:
    """The data of a release with all columns that its plan names, from a path, or from a frame in its own engine."""
    kinds = uses(declaration)
    if isinstance(data, str | Path):
        with opened(Path(data), kinds) as relation:
            typed = str(data).lower().removesuffix(".gz").endswith(".csv")
            yield Source(DuckDB(), relation, kinds, typed=typed)
        return
    engine, native = engine_of(data)
    yield Source(engine, native, kinds)


# A plan's conditions, keys and amounts as narwhals expressions, each defined for every value of every row: an engine
# may evaluate an expression even for rows that a filter drops, so that none may fail.


def every(conditions: list[Any]) -> Any:
    """The conjunction of the conditions."""
    return reduce(and_, conditions)


def condition(source: Source, one: Condition) -> Any:
    """Whether a row fulfils a condition; False if the value is missing."""
    there, column = source.day(one.column)[:2] if one.kind == "date" else source.column(one.column, one.kind)
    values = one.value if isinstance(one.value, tuple) else (one.value,)
    read: Any = {"number": float, "date": date.toordinal}.get(one.kind)
    listed = [read(value) for value in values] if read else list(values)
    value = listed[0]
    compared = {
        "==": lambda: column == value,
        "!=": lambda: column != value,
        "<": lambda: column < value,
        "<=": lambda: column <= value,
        ">": lambda: column > value,
        ">=": lambda: column >= value,
        "in": lambda: column.is_in(listed),
        "not in": lambda: ~column.is_in(listed),
    }[one.operation]()
    return there & compared


def listed(source: Source, frame: Any, domain: Domain) -> Any:
    """The frame, with columns for the cells that the domain's lists give a row, if keys must be looked up in lists."""
    if isinstance(domain, Bins | Dates) or not _is_listed(domain):
        return frame
    for n, one in enumerate(domain.lookups):
        _, label = source.label(one.column, one.kind)
        frame = source.engine.placed(frame, label, one.values, one.cells, _place(domain, n))
    return frame


def key(source: Source, domain: Domain) -> tuple[list[Any], Any]:
    """The conditions under which a row has a key in the domain, and the index of the key in the domain."""
    nw = narwhals()
    if isinstance(domain, Bins):
        return _rest(domain, *_bin(source, domain))
    if isinstance(domain, Dates):
        return _rest(domain, *_date(source, domain))
    if domain.kind == "boolean":  # index 0 is the first key; every other row has index 1
        there, column = source.column(domain.column, "boolean")
        first = there & (column == domain.values[0])
        found = [] if domain.other is not None else [there & column.is_in(list(domain.values))]
        return found, (~first).cast(nw.Int32)
    if _is_listed(domain):
        return _looked_up(source, domain)
    first, last = int(domain.values[0]), int(domain.values[-1])
    whole = source.whole(domain.column, "integer")
    assert whole is not None
    there, column = whole
    return [there & (column >= first) & (column <= last)], _less(between(column, first, last), first)


def _looked_up(source: Source, domain: Keys | Nested | Coarser) -> tuple[list[Any], Any]:
    """The condition and the cell of a row by the lists of the domain: of the first that has its value, else `other`."""
    nw = narwhals()
    places = [nw.col(_place(domain, n)) for n in range(len(domain.lookups))]
    found = [
        source.label(one.column, one.kind)[0] & (place >= 0) for one, place in zip(domain.lookups, places, strict=True)
    ]
    cell: Any = domain.size - 1  # `other` is the last
    for has, place in reversed(list(zip(found, places, strict=True))):
        chosen = has.cast(nw.Int64)
        cell = chosen * place + (1 - chosen) * cell
    return ([] if domain.other is not None else [reduce(or_, found)]), cell


def _rest(domain: Bins | Dates, found: list[Any], place: Any) -> tuple[list[Any], Any]:
    """The conditions and the index of a row in bins, with all rows that have none in `other`, if there is one."""
    if domain.other is None:
        return found, place
    has = every(found).cast(narwhals().Int32)
    return [], has * place + (1 - has) * domain.bins


def _is_listed(domain: Keys | Nested | Coarser) -> bool:
    """Whether keys must be looked up in a list; consecutive integers and booleans need not be."""
    if not isinstance(domain, Keys):
        return True
    if domain.kind == "boolean":
        return False
    first = domain.values[0]
    return not (isinstance(first, int) and domain.other is None and is_range(domain.values, first))


def is_range(values: Sequence[Any], first: int) -> bool:
    """Whether the values are the consecutive integers first, first + 1, ...

    >>> is_range((3, 4, 5), 3), is_range((3, 5), 3)
    (True, False)
    """
    return all(value == first + n for n, value in enumerate(values))


def _place(domain: Domain, n: int) -> str:
    """The name of the column of cells by list n; in hexadecimal, as Spark ignores the case of letters in names."""
    return f"zcdp_place_{n}_{domain.name.encode().hex()}"


def _date(source: Source, dates: Dates) -> tuple[list[Any], Any]:
    there, day, month = source.day(dates.column)
    return interval(there, month if dates.months else day, dates.start, dates.step, dates.bins, clip=dates.clip)


def interval(there: Any, number: Any, start: int, step: int, size: int, *, clip: bool) -> tuple[list[Any], Any]:
    """The condition and the index of the interval for an integer.

    All numbers are below 2^53, so that the floor of a quotient in doubles is exact.
    """
    end = start + size * step
    inside = there if clip else there & (number >= start) & (number < end)
    above = _less(between(number, start, end - 1), start)
    return [inside], above if step == 1 else (above / step).floor().cast(narwhals().Int32)


def _bin(source: Source, bins: Bins) -> tuple[list[Any], Any]:
    nw = narwhals()
    whole = source.whole(bins.column, "number") if bins.start.denominator == bins.step.denominator == 1 else None
    if whole is not None:
        return interval(*whole, int(bins.start), int(bins.step), bins.bins, clip=bins.clip)
    there, column = source.column(bins.column, "number")
    start, end = float(bins.start), float(bins.end)
    inside = there if bins.clip else there & (column >= start) & (column < end)
    place = _steps(_less(between(column, start, end), start), bins.step).floor().cast(nw.Int32)
    return [inside], between(place, 0, bins.bins - 1)


def _less(number: Any, start: float) -> Any:
    return number - start if start else number


def amount(source: Source, one: Amount, low: int, high: int) -> tuple[Any, Any]:
    """Expressions: whether a row has an amount, and the amount in grid steps, rounded and clipped to [low, high].

    Up to 2^48 steps from zero the clip ends as doubles round to the exact ends, so that no second clip is needed.
    """
    nw = narwhals()
    there, column = source.column(one.column, "number")
    near = between(column, float(low * one.grid), float(high * one.grid))
    step = (_steps(near, one.grid) + 0.5).floor().cast(nw.Int64)
    return there, step if one.reach <= 2**48 else between(step, low, high)


def between(number: Any, low: float, high: float) -> Any:
    """The number clipped to [low, high]."""
    return number.clip(low, high)


def _steps(number: Any, step: Fraction) -> Any:
    """number/step in doubles, by the same two operations in every engine, so that all engines agree."""
    scaled = number if step.denominator == 1 else number * float(step.denominator)
    return scaled if step.numerator == 1 else scaled / float(step.numerator)
