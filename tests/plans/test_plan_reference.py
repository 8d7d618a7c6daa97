"""The reference of plan files is true of their reader: each key stands there, no other, and defaults change nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from zcdp.plans import plan_file
from zcdp.plans.plan_file import PlanFile, read_plan
from zcdp.tables import declaration, derived_columns, discovered_keys, domain, lookup_tables, nested, table_query

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "plan-file.md").read_text(encoding="utf-8")
KNOWN: dict[str, tuple[str, ...]] = {
    "file": (*plan_file.FIELDS, *plan_file.TABLE_FIELDS),
    "budget": plan_file.BUDGET_FIELDS,
    "query": plan_file.QUERY_FIELDS,
    "collection": plan_file.COLLECTION_FIELDS,
    "data": declaration.DATA,
    "list": domain.LIST,
    "nested": nested.WITHIN,
    "prefix": nested.PREFIX,
    "discovered": discovered_keys.FIELDS,
    "bins": domain.BINS,
    "dates": domain.FIELDS,
    "common": table_query.COMMON,
    "lookup": lookup_tables.FIELDS,
    "derive": tuple(derived_columns.FORMS),
}
"""The fields of each part of a plan file, as its reader knows them."""


class Row(NamedTuple):
    """A row of a table of the page: the key, its default, and in the last cell the measures that have it."""

    key: str
    default: str
    last: str


def rows() -> dict[str, list[Row]]:
    """The rows of each table, by the name in the remark before it."""
    found = {}
    for name, body in re.findall(r"<!-- fields: (\w+)[^\n]*-->\n\n((?:\|.*\n)+)", PAGE):
        cells = [[cell.strip() for cell in line.strip("|\n").split(" | ")] for line in body.splitlines()[2:]]
        found[name] = [Row(re.findall(r"`\[*([\w-]+)", row[0])[0], row[2], row[-1]) for row in cells]
    return found


def test_every_key_of_the_reader_stands_on_the_page_and_no_other() -> None:
    found = rows()
    for name, fields in KNOWN.items():
        assert sorted(row.key for row in found[name]) == sorted(fields), name
    for measure, fields in table_query.MEASURES.items():
        mine = [row.key for row in found["measures"] if f"`{measure}`" in row.last]
        assert sorted(mine) == sorted(fields), measure
    further = {row.key: tuple(re.findall(r"`(\w+)`", row.last)) for row in found["derive"]}
    assert further == {form: tuple(fields) for form, fields in derived_columns.FORMS.items()}
    assert set(found) == {*KNOWN, "measures"}


def example(name: str, header: str) -> str:
    """The first example after the remark of a table that has this header."""
    after = PAGE[PAGE.index(f"<!-- fields: {name} in {header} -->") :]
    return next(body for body in re.findall(r"```toml\n(.*?)```", after, re.DOTALL) if header in body)


def meant(text: str) -> PlanFile:
    """What a plan says, without its text and all that follows from the text alone."""
    plan = read_plan("plan.toml", text)
    tables = plan.tables and replace(plan.tables, digest="")
    return replace(plan, text="", tables=tables, entries=tuple(replace(one, line=0) for one in plan.entries))


def cases() -> list[tuple[str, str, str, str, str]]:
    """(table of the page, header, start of the part, key, default) for each default that is a value in TOML."""
    made = []
    headers = dict(re.findall(r"<!-- fields: (\w+) in (\S+) -->", PAGE))
    for name, listed in rows().items():
        for row in listed:
            literal = re.match(r"`([^`]*)`$", row.default)
            if name not in headers or not literal:
                continue
            wanted = re.findall(r"`(\w+)`", row.last) if name == "measures" else [""]
            made += [
                (name, headers[name], f'measure = "{one}"\n' if one else "", row.key, literal[1]) for one in wanted
            ]
    return made


@pytest.mark.parametrize(("name", "header", "measure", "key", "default"), cases())
def test_a_default_that_is_written_changes_nothing(
    name: str, header: str, measure: str, key: str, default: str
) -> None:
    text = example(name, header)
    at = text.index(measure) if measure else text.index(f"{header}\n") + len(header) + 1
    written = f"{text[:at]}{key} = {default}\n{text[at:]}"
    part = re.split(r"^\[", text[at:], flags=re.MULTILINE)[0]
    assert not re.search(rf"^{key} =", part, re.MULTILINE), "the example says it already"
    assert meant(written) == meant(text)


def test_what_is_required_is() -> None:
    """Each key that is called required is missed by the reader, in the examples that have it."""
    for name, header in re.findall(r"<!-- fields: (\w+) in (\S+) -->", PAGE):
        for row in rows()[name]:
            if row.default != "required" or name == "measures":
                continue
            text = example(name, header)
            at = text.index(f"{header}\n")
            without = text[:at] + re.sub(rf"^{row.key} = .*\n", "", text[at:], count=1, flags=re.MULTILINE)
            assert without != text, (name, row.key)
            with pytest.raises(plan_file.PlanFileError):
                read_plan("plan.toml", without)
