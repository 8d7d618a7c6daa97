"""A time belongs to the day that Python's calendar says, before 1970 too, in every unit. (bug R21)"""

from __future__ import annotations

from datetime import datetime

import pandas as pd
import polars as pl
import pytest

from zcdp.release.reading import Use, read_pandas, read_polars

TIMES = [datetime(1969, 12, 31, 23), datetime(1900, 2, 28, 12, 1), datetime(1970, 1, 1), datetime(2024, 2, 29, 23, 59)]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_pandas(unit: str) -> None:
    frame = pd.DataFrame({"day": pd.Series(TIMES).astype(f"datetime64[{unit}]")})
    use = Use(0, "day", "date", unit)
    read = read_pandas(frame, [use])
    assert read[use.value].tolist() == [one.date().toordinal() for one in TIMES]
    assert read[use.month].tolist() == [12 * one.year + one.month - 1 for one in TIMES]


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_polars(unit: str) -> None:
    use = Use(0, "day", "date", unit)
    read = read_polars(pl.DataFrame({"day": pl.Series(TIMES, dtype=pl.Datetime(unit))}), [use]).collect()
    assert read[use.value].to_list() == [one.date().toordinal() for one in TIMES]
