"""Descriptions of published tables for programs: CSV on the Web metadata (W3C, 2015) beside each CSV file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zcdp.release.table_noise import Table
from zcdp.tables.domain import Dates
from zcdp.tables.nested import declared_above
from zcdp.tables.query_words import domain_in_words
from zcdp.tables.table_query import TableQuery

__all__ = ["MEANINGS", "Column", "columns_of", "csv_on_the_web"]

CONTEXT = ["http://www.w3.org/ns/csvw", {"@language": "en"}]
DATATYPES = {"text": "string", "integer": "integer", "number": "double", "boolean": "boolean"}
MEANINGS = {
    "vintage": "the data set that the table was made from",
    "value": "the published figure, with noise",
    "sd": "standard deviation of the noise of the value",
    "lower": "lower end of the interval, which holds the figure without noise at 95%",
    "upper": "upper end of the interval, which holds the figure without noise at 95%",
    "persons": "number of persons of the cell, with noise of its own",
    "persons_lower": "lower end of the interval of the number of persons",
    "persons_upper": "upper end of the interval of the number of persons",
    "sum": "the sum, made of the same noisy numbers as the mean",
    "sum_sd": "standard deviation of the noise of the sum",
    "sum_lower": "lower end of the interval of the sum, which holds it without noise at 95%",
    "sum_upper": "upper end of the interval of the sum, which holds it without noise at 95%",
    "over": "what the value is divided by, with noise of its own",
    "quantile": "which quantile: 0.5 is the median",
    "from": "where the bin of the quantile starts",
    "to": "where the bin of the quantile ends; the end belongs to the next bin",
    "rank_error": "how far, in persons or rows, the rank of the quantile may lie from those of the bin, at 95%",
    "rank": "place among the selected keys",
    "count_error": "how far a selected key may fall behind the best that was left, at 95%",
}
"""What the columns of a table mean that are not keys."""
EMPTY = dict.fromkeys(("mean", "ratio", "variance"), ("value", "sd")) | {"quantiles": ("from", "to")}
"""Columns that are empty where nothing is known: divisors within their noise, intervals of quantiles that are all."""
UNKNOWN = "; empty where nothing is known"


@dataclass(frozen=True)
class Column:
    """What is told of one column of a published table."""

    words: str
    is_key: bool = False
    is_date: bool = False
    may_be_empty: bool = False


def columns_of(query: TableQuery, table: Table) -> dict[str, Column]:
    """What each column of a published table is, from the plan alone.

    >>> from zcdp.tables.table_query import read_query
    >>> query = read_query({"name": "a", "measure": "persons", "mechanism": ""}, {}, "id")
    >>> columns_of(query, Table("a", "", {"value": [1]}))
    {'value': Column(words='the published figure, with noise', is_key=False, is_date=False, may_be_empty=False)}
    """
    keys: dict[str, Column] = {}
    for domain in query.domains:
        for name in domain.columns():
            ends = {f"{domain.name}_from": "start of ", f"{domain.name}_to": "end of "}
            own = {one.name: one for one in declared_above(domain)}  # a key within another has that one's column too
            words = f"{ends.get(name, '')}{domain_in_words(own.get(name, domain))}"
            # a key such as "not stated" among days makes the column one of texts
            dated = isinstance(domain, Dates) and domain.other is None
            keys[name] = Column(words, is_key=True, is_date=dated)
    empty = EMPTY.get(query.measure, ()) if "lower" in table.columns else ()
    return {
        name: keys.get(name)
        or Column(
            f"{MEANINGS.get(name, name)}{UNKNOWN if name in empty else ''}",
            is_key=name in ("quantile", "vintage"),  # tables of several vintages may be put together
            may_be_empty=name in empty,
        )
        for name in table.columns
    }


def csv_on_the_web(table: Table, file: str, columns: Mapping[str, Column], facts: Mapping[str, Any]) -> str:
    """The metadata of a CSV file, as JSON: types and meanings of its columns, its key, and what the table is.

    The file is found by its name: that of the CSV with "-metadata.json" after it.
    """
    kinds = table.kinds()
    listed = [
        {
            "name": _variable(name),
            "titles": name,
            "datatype": "date" if one.is_date else DATATYPES[kinds[name]],
            "required": not one.may_be_empty,
            **({"null": [""]} if one.may_be_empty else {}),
            "dc:description": one.words,
        }
        for name, one in columns.items()
    ]
    told = {
        "dc:title": table.name,
        "dc:description": table.about,
        "dc:isPartOf": facts.get("title"),
        "dc:publisher": facts.get("author"),
        "dc:source": facts.get("dataset"),
        "dc:temporal": facts.get("vintage"),
    }
    schema: dict[str, Any] = {"columns": listed}
    if keys := [_variable(name) for name, one in columns.items() if one.is_key]:
        schema["primaryKey"] = keys
    described = {"@context": CONTEXT, "url": file, **{name: text for name, text in told.items() if text}}
    return json.dumps({**described, "null": [], "tableSchema": schema}, indent=2, ensure_ascii=False) + "\n"


def _variable(name: str) -> str:
    """The name of a column as metadata spell it: letters, digits and underscores, all else as escaped bytes.

    >>> _variable("region"), _variable("age group"), _variable("_x")
    ('region', 'age%20group', '%5Fx')
    """
    plain = re.sub(r"[^A-Za-z0-9_]", lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), name)
    return f"%5F{plain[1:]}" if plain.startswith("_") else plain
