"""Values of clients: what cannot be randomized is refused, and never quoted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from collection.colours import DESIGN, ask, filled

import zcdp
from zcdp.collection.randomize import randomize_file, receipt_of

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return filled(tmp_path)


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"value": [0, 10]}, "values must lie in 0 .. 9"),
        ({"value": [-1]}, "values must lie in 0 .. 9"),
        ({"value": [0.5]}, "column value must hold integers, not double"),
        ({"value": [1, None]}, "column value has missing values"),
        ({"value": [1], "name": [2]}, "has the columns value, name: say which one holds the values"),
        ({"value": np.array([], dtype=int)}, "has no values"),
    ],
)
def test_values_that_cannot_be_randomized_are_refused(folder: Path, values: Any, error: str) -> None:
    parquet.write_table(arrow.table(values), folder / "values.parquet")
    done = ask(folder, "randomize", "design.toml", "values.parquet", "--out", "reports.parquet")
    assert done.returncode == 2
    assert error in done.stderr
    assert not (folder / "reports.parquet").exists()
    assert not receipt_of(folder / "values.parquet").exists()


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "survey.csv: not a CSV file with a line of names"),
        ("v\n", "survey.csv: has no values"),
        ("v\n3\n10\n", "survey.csv: values must lie in 0 .. 9"),
        ("v\n3\ntea\n", "column v must hold integers, not string: or name them in the plan, values = [...]"),
        ("v,w\n3,1\n,1\n", "survey.csv: column v has missing values"),
        ("v\n" + "3\n" * 10**6 + "tea\n", "survey.csv: cannot be read to its end as int64 in column v"),
    ],
)
def test_surveys_that_cannot_be_randomized_are_refused(folder: Path, text: str, error: str) -> None:
    survey, m = folder / "survey.csv", zcdp.RandomizedResponse(epsilon=2, k=10)
    survey.write_text(text)
    with pytest.raises(ValueError, match=re.escape(error)) as caught:
        randomize_file(m, 10, survey, folder / "reports.parquet", column="v")
    assert "tea" not in str(caught.value)
    assert not (folder / "reports.parquet").exists()
    assert not receipt_of(folder / "survey.csv").exists()


def test_a_name_that_the_plan_does_not_have_is_refused_and_not_quoted(folder: Path) -> None:
    (folder / "design.toml").write_text(DESIGN.replace("k = 10\n", "values = ['a', 'b']\n").replace("k=10)", "k=2)"))
    (folder / "survey.csv").write_text("v\na\nsecret\n")
    done = ask(folder, "randomize", "design.toml", "survey.csv", "--out", "reports.parquet")
    said = "zcdp: survey.csv: column v has a value that is none of the 2 in the plan\n"
    assert (done.returncode, done.stderr) == (2, said)
