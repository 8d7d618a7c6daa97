"""Whether and how a row counts depends on that row alone, whatever is in it: no error, no other row, no statistics.

For every type of column, engine, measure and odd value the exact table is that of plain Python, with the row and
without it; a type that cannot be read is refused by both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import floor, isinf, nan
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from release.odd_values import COLUMNS, FRAMES, Column, table

from zcdp.errors import BadValue
from zcdp.plans.plan_file import read_plan
from zcdp.release.bounding import exact_table
from zcdp.release.expressions import source_of
from zcdp.tables.declaration import Declaration

NOISE, SELECTS = 'mechanism = "DiscreteGaussian(sigma=2)"', 'mechanism = "ExponentialMechanism(epsilon=1)"'
START = 739252  # the first of January 2025
DOMAINS = {
    "number": "cut = { column = 'x', from = 0, to = 10, step = 2.5, clip = true }\n"
    "open = { column = 'x', from = 0, to = 10, step = 2.5 }\nwide = { column = 'x', from = 0, to = 10, step = 5 }\n",
    "integer": "keys = { column = 'x', values = [5, 1, 3] }\nrange = { column = 'x', values = [1, 2, 3] }\n"
    "rest = { column = 'x', values = [1, 2, 3], other = 0 }\n",
    "text": "keys = { column = 'x', values = ['R1', '', '\u00e9', 'two\\nlines'] }\n"
    "rest = { column = 'x', values = ['R1', 'R2'], other = 'else' }\n",
    "boolean": "keys = { column = 'x', values = [false, true] }\n"
    "rest = { column = 'x', values = [true], other = false }\n",
    "date": "cut = { column = 'x', from = 2025-01-01, to = 2026-01-01, step = 'quarter', clip = true }\n"
    "open = { column = 'x', from = 2025-01-01, to = 2025-03-26, step = 'week' }\n",
}
QUERIES = {
    "number": [
        ("count", 'where = [["x", "<", 100.5]]'),
        ("count", 'where = [["x", "not in", [5, 1]]]'),
        ("count", 'by = ["cut"]'),
        ("count", 'by = ["open"]'),
        ("histogram", 'of = "wide"'),
        ("sum", 'of = "x"\nclip = [-20, 30]\ngrid = 0.5'),
        ("sum", 'of = "x"\nclip = [0, 9000000000000]\ngrid = 1'),
        ("mean", 'of = "x"\nclip = [0, 8]\ngrid = 1\ncount_mechanism = "DiscreteGaussian(sigma=2)"'),
        ("quantiles", 'of = "open"\nquantiles = [0.5]'),
        ("top", 'of = "cut"\nk = 1'),
    ],
    "integer": [("count", 'by = ["keys"]'), ("top", 'of = "range"\nk = 1'), ("count", 'by = ["rest"]')],
    "text": [
        ("count", 'by = ["keys"]'),
        ("count", 'by = ["rest"]'),
        ("count", 'where = [["x", "!=", "R1"]]'),
        ("top", 'of = "rest"\nk = 1\nwhere = [["x", "in", ["R1", "R2", "R9"]]]'),
    ],
    "boolean": [("count", 'by = ["keys"]'), ("count", 'by = ["rest"]'), ("count", 'where = [["x", "!=", true]]')],
    "date": [
        ("count", 'by = ["cut"]'),
        ("count", 'by = ["open"]'),
        ("count", 'where = [["x", "<", 2025-02-08]]'),
        ("top", 'of = "cut"\nk = 1\nwhere = [["x", "not in", [2025-02-07]]]'),
    ],
}


def declared(kind: str, place: int) -> Declaration:
    measure, fields = QUERIES[kind][place]
    selects = measure in ("quantiles", "top")
    text = f'[data]\nunit = "row"\n[domain]\n{DOMAINS[kind]}[[query]]\nname = "a"\nmeasure = "{measure}"\n{fields}\n'
    tables = read_plan("plan.toml", text.replace("'", '"') + (SELECTS if selects else NOISE)).tables
    assert tables is not None
    return tables


def place_of(value: float, step: float, size: int) -> int:
    return size if isinf(value) and value > 0 else -1 if isinf(value) else floor(Fraction(value) / Fraction(step))


def by_hand(kind: str, place: int, values: Sequence[Any]) -> list[int]:
    """Counts, or sums, of the query by its definition, from what the values mean."""
    found = [one for one in values if one is not None]
    if kind == "number":
        wide = [place_of(one, 2.5, 4) for one in found]
        counts = [
            lambda: [sum(one < 100.5 for one in found)],
            lambda: [sum(one not in (5, 1) for one in found)],
            lambda: [sum(min(max(one, 0), 3) == n for one in wide) for n in range(4)],
            lambda: [wide.count(n) for n in range(4)],
            lambda: [sum(place_of(one, 5, 2) == n for one in found) for n in range(2)],
            lambda: [sum(floor(min(max(float(one), -20), 30) * 2 + 0.5) for one in found)],
            lambda: [sum(floor(min(max(float(one), 0), 9e12) + 0.5) for one in found)],
            lambda: [sum(floor(min(max(float(one), 0), 8) + 0.5) - 4 for one in found)],
        ]
        return [*counts, counts[3], counts[2]][place]()
    if kind == "integer":
        return [
            lambda: [found.count(key) for key in (5, 1, 3)],
            lambda: [found.count(key) for key in (1, 2, 3)],
            lambda: [*(n := [found.count(key) for key in (1, 2, 3)]), len(values) - sum(n)],
        ][place]()
    if kind == "text":
        return [
            lambda: [found.count(key) for key in ("R1", "", "\u00e9", "two\nlines")],
            lambda: [*(n := [found.count(key) for key in ("R1", "R2")]), len(values) - sum(n)],
            lambda: [sum(one != "R1" for one in found)],
            lambda: [found.count("R1"), found.count("R2"), 0],
        ][place]()
    if kind == "boolean":
        true, false = found.count(True), found.count(False)
        return [[false, true], [true, len(values) - true], [false]][place]
    from datetime import date

    def quarter(day: int) -> int:
        one = date.fromordinal(day)
        return min(max((12 * one.year + one.month - 1 - 12 * 2025) // 3, 0), 3)

    return [
        lambda: [sum(quarter(one) == n for one in found) for n in range(4)],
        lambda: [sum((one - START) // 7 == n for one in found) for n in range(12)],
        lambda: [sum(one < START + 38 for one in found)],
        lambda: [sum(quarter(one) == n and one != START + 37 for one in found) for n in range(4)],
    ][place]()


def computed(data: Any, tables: Declaration) -> list[int] | str:
    try:
        with source_of(data, tables) as source:
            exact = exact_table(source, tables, tables.queries[0], 5)
    except BadValue as refusal:
        return str(refusal)
    return exact.amounts if tables.queries[0].amount is not None else exact.counts


def made(frame: str, column: Column, values: Sequence[Any], folder: Path) -> Any:
    """The frame; None where there is no such frame of these values."""
    try:
        return FRAMES[frame](table(column, values), folder)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError, OverflowError):
        return None


def cases() -> Iterator[tuple[str, str, str, int]]:
    for name, column in COLUMNS.items():
        kinds = ["number", "integer"] if name.startswith(("int", "uint")) else [column.kind]
        for frame in FRAMES:
            if name in ("time in s", "time in ms") and frame == "duckdb, scanned":
                continue  # Parquet keeps both in ms, which DuckDB cannot read all of: docs/how-to/release.md says so
            for kind in kinds:
                yield from ((name, frame, kind, place) for place in range(len(QUERIES[kind])))


def wrong(name: str, frame: str, kind: str, place: int, odd: Sequence[Any], folder: Path) -> tuple[int, str]:
    """How many tables were compared with the definition, or refused alike, and what is wrong with the first."""
    column, tables, seen = COLUMNS[name], declared(kind, place), 0
    fine = column.fine()
    plain = made(frame, column, fine, folder)
    if plain is None:
        return 0, ""
    without = computed(plain, tables)
    for value in odd:
        values = [*fine[:3], value, *fine[3:]]
        data = made(frame, column, values, folder)
        if data is None:
            continue
        found = computed(data, tables)
        expected = by_hand(kind, place, [column.meaning(one) for one in in_file(frame, values)])
        if isinstance(without, str):
            expected = without  # refused by its type
        seen += 1
        if found != expected:
            return seen, f"{name} in {frame}, {QUERIES[kind][place]}: {value!r} gives {found}, not {expected}"
    return seen, ""


def in_file(frame: str, values: Sequence[Any]) -> Sequence[Any]:
    """In a CSV a text that is empty is missing, and one that is very long."""
    if frame != "csv":
        return values
    return [None if isinstance(one, str) and not 0 < len(one) <= 2**14 else one for one in values]


EVERYDAY = list(cases())[::37]


@pytest.mark.parametrize(("name", "frame", "kind", "place"), EVERYDAY)
def test_a_release_ends_alike_with_and_without_an_odd_row(
    name: str, frame: str, kind: str, place: int, tmp_path: Path
) -> None:
    odd = COLUMNS[name].odd
    _, complaint = wrong(name, frame, kind, place, [odd[place % len(odd)], None], tmp_path)
    assert complaint == ""


ENDED: dict[str, tuple[str, tuple[str, ...], str, int, Any]] = {
    "a time beyond the range of DuckDB": ("time in s", ("pyarrow", "duckdb, stored"), "date", 0, 2**62),
    "a time beyond the range of Polars": ("time in ms", ("polars", "pandas, arrow"), "date", 1, 2**62),
    "a day beyond the range of Python": ("date32", ("pandas, arrow", "polars", "parquet"), "date", 0, 2**31 - 1),
    "an integer beyond 2^53": ("int64", ("pandas, arrow", "pandas, objects"), "number", 5, 2**53 + 1),
    "NaN in bins of floats": ("float64", ("parquet", "duckdb, scanned"), "number", 2, nan),
}
"""A type of column, frames, the kind and the number of a query, and a value."""


@pytest.mark.parametrize("name", ENDED)
def test_what_ended_a_release_after_its_debit(name: str, tmp_path: Path) -> None:
    column, frames, kind, place, value = ENDED[name]
    for frame in frames:
        assert wrong(column, frame, kind, place, [value], tmp_path) == (1, "")


PERSONS = {
    "int64": (2**62, 2**62 + 1, 2**63 - 1, 2**53, 2**53 + 1, -(2**63)),
    "uint64": (2**62, 2**62 + 1, 2**63, 2**63 + 1, 2**64 - 1, 0),
    "text": ("", "a", "a ", "A", "\u00e9", "e\u0301", "a\x00", "1", "01"),
}


@pytest.mark.parametrize("frame", [name for name in FRAMES if name != "csv"])
def test_persons_of_any_type_are_told_apart(frame: str, tmp_path: Path) -> None:
    """Two that are taken for one share its bounds, and whoever leaves moves what the other adds."""
    text = f'[data]\nunit = "x"\n[[query]]\nname = "a"\nmeasure = "persons"\n{NOISE}'
    tables = read_plan("plan.toml", text).tables
    assert tables is not None
    for name, persons in PERSONS.items():
        found = computed(made(frame, COLUMNS[name], [*persons, *persons], tmp_path), tables)
        assert found == ([0] if frame == "pandas, objects" and name != "text" else [len(persons)])


@pytest.mark.deep
@pytest.mark.parametrize("frame", FRAMES)
def test_every_type_measure_engine_and_odd_value(frame: str, tmp_path: Path) -> None:
    seen, complaints = 0, []
    for name, found, kind, place in cases():
        if found == frame:
            more, complaint = wrong(name, frame, kind, place, [*COLUMNS[name].odd, None], tmp_path)
            seen += more
            complaints += [complaint] if complaint else []
    assert complaints == []
    assert seen >= 200
