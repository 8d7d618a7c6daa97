"""Texts in SQL: values, names of columns, and names of files, each as DuckDB reads it and nothing else."""

from __future__ import annotations

import glob
import os
from pathlib import Path

from zcdp.errors import BadValue

__all__ = ["just", "literal", "quoted"]


def literal(text: str) -> str:
    """The text as an SQL string literal.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """The name as a quoted SQL identifier.

    >>> quoted('the "age" of all')
    '"the ""age"" of all"'
    """
    return '"' + name.replace('"', '""') + '"'


def just(path: Path) -> str:
    """The name by which DuckDB reads this file and no other: it takes names for patterns, in which *, ? and [ match.

    >>> just(Path("year[1].parquet"))
    'year[[]1].parquet'
    """
    name = str(path)
    if "\\" in name and glob.has_magic(name) and os.sep == "/":
        raise BadValue(f"{path}: DuckDB cannot read a name with a backslash and one of * ? [: rename the file")
    return glob.escape(name)
