"""Texts in SQL: whatever they hold, a database reads them back as they are, and nothing else."""

from __future__ import annotations

import sqlite3
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from zcdp.errors import BadValue
from zcdp.text.sql import just, literal, quoted

WORDS = ["", "a", "it's", 'say "so"', "''", '""', "a'); drop table t; --", "x\ny", "100%", "\u00e9\u4e2d", "\\"]


@pytest.mark.parametrize("word", WORDS)
def test_a_database_reads_values_and_names_as_they_are(word: str) -> None:
    found = sqlite3.connect(":memory:").execute(f"select {literal(word)} as {quoted(word)}")
    assert found.fetchall() == [(word,)]
    assert found.description[0][0] == word


@pytest.mark.parametrize("name", ["year[1].parquet", "a*.csv", "what?.csv", "[a-z].csv", "plain.parquet"])
def test_a_name_as_a_pattern_is_that_file_alone(name: str) -> None:
    pattern = just(Path(name))
    assert fnmatchcase(name, pattern)
    others = ("year1.parquet", "ab.csv", "whatx.csv", "b.csv", "plain_parquet")
    assert not any(fnmatchcase(other, pattern) for other in others)


def test_what_cannot_be_a_pattern_is_refused() -> None:
    with pytest.raises(BadValue, match="backslash"):
        just(Path("a\\[1].csv"))
