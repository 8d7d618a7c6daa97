"""Persons whose ids hold a NUL stay different, though pandas before 3 cuts texts there when it groups and hashes."""

from __future__ import annotations

import pandas as pd
import pytest

from zcdp.plans.plan_file import read_plan
from zcdp.release.bounding import exact_table
from zcdp.release.expressions import source_of

PLAN = """
[data]
unit = "who"
[domain]
region = ["R1", "R2"]
[[query]]
name = "a"
measure = "count"
by = ["region"]
max_cells = 1
mechanism = "DiscreteGaussian(sigma=2)"
"""
PAIRS = [("a\0b", "a\0c"), ("a", "a\0"), ("a\0", "a\\0"), ("\\", "\\\\"), ("\0", "\\0")]


@pytest.mark.parametrize("kind", ["object", "string"])
@pytest.mark.parametrize("persons", PAIRS, ids=repr)
def test_they_are_two_persons(persons: tuple[str, str], kind: str) -> None:
    """Each in a region of their own: with one cell a person both are counted, whatever the salt."""
    tables = read_plan("a plan", PLAN).tables
    assert tables is not None
    frame = pd.DataFrame({"who": pd.Series(persons, dtype=kind), "region": ["R1", "R2"]})
    for salt in range(8):
        with source_of(frame, tables) as source:
            assert exact_table(source, tables, tables.queries[0], salt).counts == [1, 1]


def test_no_nul_is_left_for_an_engine_to_cut_at() -> None:
    from zcdp.release.reading import _person

    texts = {text for pair in PAIRS for text in pair}
    read = {_person(text) for text in texts}
    assert len(read) == len(texts)
    assert not any("\0" in str(text) for text in read)
