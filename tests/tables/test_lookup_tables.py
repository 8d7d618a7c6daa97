"""Lookup tables: a key stands there once, the digest is that of the plan, entries are of the kind that is asked for."""

from __future__ import annotations

import hashlib
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from zcdp.plans.plan_file import PlanFileError, read_plan
from zcdp.tables.domain import DeclarationError
from zcdp.tables.lookup_tables import read_lookup

GEO = "town,region,size,since,urban\nM1,R1,1.5,2024-02-29,true\nM2,R2,,,0\n"


def read(folder: Path, content: str, **fields: Any) -> Any:
    (folder / "geo.csv").write_bytes(content.encode())
    digest = hashlib.sha256(content.encode()).hexdigest()
    return read_lookup("geo", {"file": "geo.csv", "sha256": digest, "on": "town", "add": ["region"], **fields}, folder)


def test_a_table_gives_each_key_its_line(tmp_path: Path) -> None:
    found = read(tmp_path, GEO, add={"land": "region", "size": "size", "since": "since", "urban": "urban"})
    assert (found.on, found.kind, found.keys) == ("town", "text", ("M1", "M2"))
    assert dict(found.add)["land"] == "region"
    assert found.column("region", "text") == ["R1", "R2"]
    assert found.column("size", "number") == [1.5, None]
    assert found.column("since", "date") == [date(2024, 2, 29), None]
    assert found.column("urban", "boolean") == [True, False]


def test_quotes_a_byte_order_mark_and_other_names_are_read(tmp_path: Path) -> None:
    found = read(tmp_path, '\ufeff"code",region\r\n"M,1","R ""1"""\r\n', key="code")
    assert (found.keys, found.column("region", "text")) == (("M,1",), ['R "1"'])
    whole = read(tmp_path, "town,region\n01,a\n-7,b\n", kind="integer")
    assert whole.keys == (1, -7)


WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "twice": ("town,region\nM1,a\nM2,b\nM1,c\n", {}, "has the key 'M1' twice"),
    "twice as an integer": ("town,region\n1,a\n01,b\n", {"kind": "integer"}, "has the key 1 twice"),
    "no key": ("town,region\n,a\n", {}, "a line without a key"),
    "no integer": ("town,region\n1.5,a\n", {"kind": "integer"}, "'1.5', which is not an integer"),
    "beyond 2^53": ("town,region\n9007199254740992,a\n", {"kind": "integer"}, "below 2\\^53"),
    "no such column": (GEO, {"add": ["regio"]}, "regio"),
    "no such key": (GEO, {"key": "code"}, "code"),
    "short line": ("town,region\nM1\n", {}, "record 2 has 1 cells, and the header 2"),
    "one column twice": ("town,region,region\nM1,a,b\n", {}, "two columns have the same name"),
    "no line": ("town,region\n", {}, "must have a header, and from 1 to"),
    "bad quotes": ('town,region\n"M1" x,a\n', {}, "not valid CSV"),
    "another kind": (GEO, {"kind": "number"}, "of the keys must be text or integer"),
    "nothing added": (GEO, {"add": []}, "must be a list of columns"),
    "another field": (GEO, {"column": "x"}, "has no such field"),
    "another digest": (GEO, {"sha256": "0" * 64}, "the file has another digest: sha256 = "),
    "no digest": (GEO, {"sha256": ""}, "a file needs its digest, and none was given: sha256 = "),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(name: str, tmp_path: Path) -> None:
    content, fields, message = WRONG[name]
    with pytest.raises(DeclarationError, match=message):
        read(tmp_path, content, **fields)


def test_a_missing_field_is_named(tmp_path: Path) -> None:
    for field in ("file", "on", "add"):
        data = {"file": "geo.csv", "on": "town", "add": ["region"]}
        del data[field]
        with pytest.raises(DeclarationError, match=f"has no {field}"):
            read_lookup("geo", data, tmp_path)


@pytest.mark.parametrize(
    ("kind", "entry"),
    [
        ("number", "1_0"),
        ("number", "nan"),
        ("number", "1e300"),
        ("integer", "1.0"),
        ("boolean", "yes"),
        ("date", "May"),
    ],
)
def test_an_entry_of_another_kind_is_refused_when_the_plan_is_read(kind: str, entry: str, tmp_path: Path) -> None:
    found = read(tmp_path, f"town,region\nM1,{entry}\n")
    with pytest.raises(DeclarationError, match=f"has '{entry}' as 'region' of the key 'M1': not "):
        found.column("region", kind)


PLAN = """
[data]
unit = "row"
[lookup.geo]
file = "geo.csv"
sha256 = "{digest}"
on = "town"
add = ["region"]
[domain]
region = ["R1", "R2"]
[[query]]
name = "a"
measure = "count"
by = ["region"]
mechanism = "DiscreteGaussian(sigma=2)"
"""


def test_a_plan_points_at_the_line_and_reads_no_data(tmp_path: Path) -> None:
    (tmp_path / "geo.csv").write_text("town,region\nM1,R1\nM1,R2\n", encoding="utf-8")
    digest = hashlib.sha256((tmp_path / "geo.csv").read_bytes()).hexdigest()
    path = tmp_path / "plan.toml"
    path.write_text(PLAN.format(digest=digest), encoding="utf-8")
    with pytest.raises(PlanFileError, match=r"plan.toml:5: file: has the key 'M1' twice: each key has one line"):
        read_plan(path)
    path.write_text(PLAN.format(digest=""), encoding="utf-8")
    with pytest.raises(PlanFileError, match=rf'plan.toml:5: file: .* none was given: sha256 = "{digest}"'):
        read_plan(path)
