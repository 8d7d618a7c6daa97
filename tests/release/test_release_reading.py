"""Objects of pandas one by one: which are numbers, integers, booleans, texts, days or persons, and which are none."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from math import inf, nan
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from zcdp.release.reading import Use, read_pandas, read_polars

FAR = 2**62  # beyond all keys and edges
MEANT: list[tuple[Any, dict[str, Any]]] = [
    # an object, and its value by kind; a kind that is not there has none
    (3, {"number": 3.0, "integer": 3}),
    (-(10**30), {"number": -1e30, "integer": -FAR}),
    (10**400, {"number": inf, "integer": FAR}),
    (-(10**400), {"number": -inf, "integer": -FAR}),
    (2**53 + 1, {"number": 2.0**53, "integer": 2**53 + 1}),
    (2.0, {"number": 2.0, "integer": 2}),
    (-2.5, {"number": -2.5}),
    (1e30, {"number": 1e30, "integer": FAR}),
    (nan, {}),
    (inf, {"number": inf}),
    (np.int8(-4), {"number": -4.0, "integer": -4}),
    (np.uint64(2**64 - 1), {"number": 2.0**64, "integer": FAR}),
    (np.float32(0.5), {"number": 0.5}),
    (np.float64(7), {"number": 7.0, "integer": 7}),
    (Decimal("1.25"), {"number": 1.25}),
    (Decimal(6), {"number": 6.0, "integer": 6}),
    (Decimal("sNaN"), {}),
    (True, {"boolean": True}),
    (np.bool_(0), {"boolean": False}),
    ("3", {"text": "3", "person": "3"}),
    ("", {"text": "", "person": ""}),
    ("a\0b", {"text": "a\0b"}),
    ("\ud83d", {}),
    (date(2024, 2, 29), {"date": date(2024, 2, 29)}),
    (datetime(1969, 12, 31, 23, 59), {"date": date(1969, 12, 31)}),
    (pd.Timestamp("2024-12-31 23:59"), {"date": date(2024, 12, 31)}),
    (datetime(2024, 1, 1, tzinfo=UTC), {}),
    (pd.NaT, {}),
    (pd.NA, {}),
    (None, {}),
    ([1], {}),
    (b"a", {}),
    (1j, {}),
]


@pytest.mark.parametrize("kind", ["number", "integer", "boolean", "text", "date", "person"])
def test_an_object_is_a_value_of_a_kind_or_missing(kind: str) -> None:
    use = Use(0, "x", kind, "object")
    series = pd.Series([None] * len(MEANT), dtype=object)
    for n, (one, _) in enumerate(MEANT):
        series.iat[n] = one
    frame = read_pandas(pd.DataFrame({"x": series}), [use])
    for (one, meant), there, value in zip(MEANT, frame[use.there], frame[use.value], strict=True):
        if kind == "person" and isinstance(one, str) and "\0" in one:
            assert there
            assert "\0" not in value
            continue
        assert there == (kind in meant), one
        if there:
            true = meant[kind]
            assert value == (true.toordinal() if kind == "date" else true), one
    if kind == "date":
        days = [meant["date"] for _, meant in MEANT if "date" in meant]
        assert frame[use.month][frame[use.there]].to_list() == [12 * day.year + day.month - 1 for day in days]


def test_two_persons_are_never_one() -> None:
    """Not even those whose names differ by what stands for a NUL."""
    names = ["a\0b", "a\\0b", "a\\\\0b", "a", "a\0", "a\\", "a\0\0", "\0", "\\0", "A", "a "]
    use = Use(0, "x", "person", "object")
    frame = read_pandas(pd.DataFrame({"x": pd.Series(names, dtype=object)}), [use])
    assert frame[use.there].all()
    assert frame[use.value].nunique() == len(names)
    wide = Use(0, "x", "person", "wide")
    numbers = pd.Series([2**64 - 1, 2**64 - 2, 2**63, 2**62, 2**62 + 1, 0], dtype="uint64")
    assert read_pandas(pd.DataFrame({"x": numbers}), [wide])[wide.value].nunique() == 6


ENDS = {-719163: None, -719162: date.min, 0: date(1970, 1, 1), 2932896: date.max, 2932897: None, 3652059: None}
"""Days since 1970 at both ends of the years 1 to 9999."""


@pytest.mark.parametrize("form", ["date", "ms", "us", "s"])
def test_days_outside_of_the_years_1_to_9999_are_missing(form: str) -> None:
    use = Use(0, "x", "date", form)
    numbers = np.array(list(ENDS), np.int64)
    scale = {"date": 1, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000}[form]
    frames = []
    if form != "s":
        kind = pl.Date if form == "date" else pl.Datetime(form)  # type: ignore[arg-type]
        column = pl.Series((numbers * scale).astype(np.int32 if form == "date" else np.int64)).cast(kind)
        frames.append(read_polars(pl.DataFrame({"x": column}), [use]).collect().to_dict(as_series=False))
    if form != "date":
        moments = pd.Series((numbers * scale).astype(f"datetime64[{form}]"))
        frames.append(read_pandas(pd.DataFrame({"x": moments}), [use]).to_dict("list"))
    for frame in frames:
        assert frame[use.there] == [day is not None for day in ENDS.values()]
        for day, value, month in zip(ENDS.values(), frame[use.value], frame[use.month], strict=True):
            if day is not None:
                assert (value, month) == (day.toordinal(), 12 * day.year + day.month - 1)
