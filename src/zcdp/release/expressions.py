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
from zcdp.release.reading import ROW, Use
from zcdp.tables.clipped_sums import Amount
from zcdp.tables.declaration import Declaration
from zcdp.tables.derived_columns import Asked, Derived, needed_columns
from zcdp.tables.domain import Bins, Dates, Domain, Keys
from zcdp.tables.nested import Coarser, Nested
from zcdp.tables.table_query import Condition

__all__ = [
    "Source",
    "amount",
    "between",
    "condition",
    "every",
    "interval",
    "key",
    "listed",
    "quotient",
    "source_of",
    "steps",
    "uses",
]


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

    def __init__(
        self, engine: Engine, native: Any, declaration: Declaration, asked: Iterable[Asked], *, typed: bool = False
    ) -> None:
        self.engine, self._native, self._derived = engine, native, declaration.derived
        read, made = needed_columns(self._derived, asked)
        types = {} if typed else engine.types(native, list(dict.fromkeys(column for column, _ in read)))
        _refuse_shadows(self._derived, types)
        self._uses = {
            (column, kind): Use(n, text_column(column, kind), kind, FORMS[kind])
            if typed
            else Use(n, column, kind, self._form(types, column, kind))
            for n, (column, kind) in enumerate(read)
        }
        self._read = list(self._uses.values())
        for n, (column, kind) in enumerate(made, len(read)):
            form = "integer" if kind == "number" and self._derived[column].rule.kind == "integer" else "float"
            self._uses[column, kind] = Use(n, column, kind, form)
        self._made = made
        self._person = declaration.person

    @property
    def person(self) -> Use:
        """The use of the column that names persons."""
        assert self._person is not None
        return self._uses[self._person, "person"]

    @cached_property
    def frame(self) -> Any:
        """The lazy frame of the values that the plan uses; data in memory is converted on first access."""
        from zcdp.release.derivation import with_derived

        native = self._native() if callable(self._native) else self._native
        frame = narwhals().from_native(self.engine.read(native, self._read)).lazy()
        for column, kind in self._made:
            frame = with_derived(self, frame, self._derived[column], self._uses[column, kind])
        return frame

    def filtered(self, frame: Any, conditions: list[Any]) -> Any:
        """The rows of a frame of these columns that fulfil all conditions."""
        chained = any(one in self._derived for name, _ in self._made for one, _ in self._derived[name].rule.inputs)
        return (self.engine.filtered if chained else _filtered)(frame, every(conditions))

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


def _refuse_shadows(derived: Mapping[str, Derived], columns: Iterable[str]) -> None:
    """Refuse a derived column with the name of a column of the data: it would not be clear which one is meant."""
    for name in columns:
        if name in derived:
            raise BadValue(f"column {name!r} is in the data, and the plan derives one of this name: rename the latter")


def uses(declaration: Declaration) -> list[Asked]:
    """The columns that a plan names, each with the kinds of value it is read as; derived ones are among them."""
    found = [] if declaration.person is None else [(declaration.person, "person")]
    found += sorted({pair for query in declaration.queries for pair in query.columns})
    found += [(domain.column, domain.kind) for domain in declaration.discovered]
    return list(dict.fromkeys(found))


@contextmanager
def source_of(data: Any, declaration: Declaration) -> Iterator[Source]:
    """The data of a release with all columns that its plan names, from a path, or from a frame in its own engine."""
    asked = uses(declaration)
    if isinstance(data, str | Path):
        kinds: dict[str, set[str]] = {}
        for column, kind in needed_columns(declaration.derived, asked)[0]:
            kinds.setdefault(column, set()).add(kind)
        with opened(Path(data), kinds) as relation:
            typed = str(data).lower().removesuffix(".gz").endswith(".csv")
            if typed:
                _refuse_shadows(declaration.derived, relation.names)
            yield Source(DuckDB(ours=True), relation, declaration, asked, typed=typed)
        return
    engine, native = engine_of(data)
    yield Source(engine, native, declaration, asked)


# A plan's conditions, keys and amounts as narwhals expressions, each defined for every value of every row: an engine
# may evaluate an expression even for rows that a filter drops, so that none may fail.


def _filtered(frame: Any, condition: Any) -> Any:
    return frame.filter(condition)


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
    if not domain.values:  # no key was found: everybody is in `other`
        return [], nw.col(ROW) * 0
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
    last = domain.size - 1  # that of `other`
    off: Any = None  # how far the cell is from the last one
    for has, place in reversed(list(zip(found, places, strict=True))):
        chosen = has.cast(nw.Int64)
        off = chosen * (place - last) if off is None else chosen * (place - last) + (1 - chosen) * off
    return ([] if domain.other is not None else [reduce(or_, found)]), off + last


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
    if domain.kind == "boolean" or not domain.values:
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
    return [inside], above if step == 1 else quotient(above, step).floor().cast(narwhals().Int32)


def _bin(source: Source, bins: Bins) -> tuple[list[Any], Any]:
    nw = narwhals()
    whole = source.whole(bins.column, "number") if bins.start.denominator == bins.step.denominator == 1 else None
    if whole is not None:
        return interval(*whole, int(bins.start), int(bins.step), bins.bins, clip=bins.clip)
    there, column = source.column(bins.column, "number")
    start, end = float(bins.start), float(bins.end)
    inside = there if bins.clip else there & (column >= start) & (column < end)
    place = steps(_less(between(column, start, end), start), bins.step).floor().cast(nw.Int32)
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
    step = (steps(near, one.grid) + 0.5).floor().cast(nw.Int64)
    return there, step if one.reach <= 2**48 else between(step, low, high)


def between(number: Any, low: float, high: float) -> Any:
    """The number clipped to [low, high]."""
    return number.clip(low, high)


def steps(number: Any, step: Fraction) -> Any:
    """number/step in doubles, by the same two operations in every engine, so that all engines agree."""
    scaled = number if step.denominator == 1 else number * float(step.denominator)
    return scaled if step.numerator == 1 else quotient(scaled, step.numerator)


def quotient(number: Any, divisor: Any) -> Any:
    """number/divisor in doubles, rounded as IEEE 754 says, in every engine, for numbers that are finite.

    Polars multiplies by the reciprocal of a constant divisor, which is off in the last digit (49/49 is below 1), and
    divides where a table has one row. So the divisor is made a column, unless its reciprocal is exact.
    """
    if isinstance(divisor, int) and divisor & (divisor - 1) == 0:
        return number / divisor
    double = number.cast(narwhals().Float64)
    return double / (double * 0.0 + divisor)
