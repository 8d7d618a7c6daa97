"""Nested code lists: which cells there are, where a row counts, and what is refused before any data is read."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from zcdp.tables.domain import Bins, DeclarationError, Keys
from zcdp.tables.nested import Coarser, Nested, family, places_in, read_all
from zcdp.tables.table_query import always_has_a_key, read_where

REGION = {"values": ["R2", "R1"]}
TOWN = {"values": [["a", "R1"], ["b", "R2"], ["c", "R1"]], "within": "region"}


def cell(domain: Any, row: dict[str, Any]) -> int | None:
    """The cell of a row by the published lists, one after another."""
    for one in domain.lookups:
        if row.get(one.column) in one.values:
            return int(one.cells[one.values.index(row[one.column])])
    return None if domain.other is None else domain.size - 1


def test_cells_stand_together_in_the_order_of_the_coarser_list() -> None:
    found = read_all({"town": TOWN, "region": REGION}, None)
    town, region = found["town"], found["region"]
    assert isinstance(town, Nested)
    assert town.columns() == {"region": ["R2", "R1", "R1"], "town": ["b", "a", "c"]}
    assert (town.size, town.above, family(town)) == (3, (0, 1, 1), "region")
    # the region of a row is that of its town: no column of regions is read
    assert isinstance(region, Coarser)
    assert [one.column for one in region.lookups] == ["town"]
    assert [cell(region, {"town": x, "region": "R2"}) for x in ("a", "b", "c", "d")] == [1, 0, 1, None]
    assert region.columns() == {"region": ["R2", "R1"]}
    assert places_in(region, town) == (0, 1, 1)
    assert places_in(town, region) is None


def test_the_same_list_by_parent_by_pairs_and_from_a_file(tmp_path: Path) -> None:
    text = 'a,R1\n"b, the second",R2\nc,R1\n\n'
    (tmp_path / "towns.csv").write_text(text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    forms = [
        {"values": [["a", "R1"], ["b, the second", "R2"], ["c", "R1"]]},
        {"values": {"R1": ["a", "c"], "R2": ["b, the second"]}},
        {"file": "towns.csv", "sha256": digest},
    ]
    made = [read_all({"region": REGION, "town": {**one, "within": "region"}}, tmp_path)["town"] for one in forms]
    assert made[0] == made[1] == made[2]
    assert made[0].labels == ("b, the second", "a", "c")


def test_integers_name_regions_in_files_and_tables_too(tmp_path: Path) -> None:
    region = {"values": [7, 3]}
    (tmp_path / "t.csv").write_text("a,3\nb,7\n")
    digest = hashlib.sha256(b"a,3\nb,7\n").hexdigest()
    for one in (
        {"values": {"3": ["a"], "7": ["b"]}},
        {"file": "t.csv", "sha256": digest},
        {"values": [["a", 3], ["b", 7]]},
    ):
        town = read_all({"region": region, "town": {**one, "within": "region"}}, tmp_path)["town"]
        assert town.columns() == {"region": [7, 3], "town": ["b", "a"]}


def test_what_no_list_has_is_in_other_or_in_an_unknown_town_of_its_region() -> None:
    region = {**REGION, "other": "abroad", "column": "where"}
    town = {**TOWN, "other": "abroad", "unknown": "not stated"}
    found = read_all({"region": region, "town": town}, None)
    labels = list(zip(found["town"].columns()["region"], found["town"].labels, strict=True))
    assert labels == [
        ("R2", "b"),
        ("R2", "not stated"),
        ("R1", "a"),
        ("R1", "c"),
        ("R1", "not stated"),
        ("abroad", "abroad"),
    ]
    rows = [
        ({"town": "a", "where": "R2"}, ("R1", "a")),  # the list wins
        ({"town": None, "where": "R2"}, ("R2", "not stated")),
        ({"town": "z", "where": "R1"}, ("R1", "not stated")),
        ({"town": "z", "where": "R9"}, ("abroad", "abroad")),
        ({"town": "abroad", "where": None}, ("abroad", "abroad")),
        ({"town": "not stated", "where": "R1"}, ("R1", "not stated")),
    ]
    for row, (its_region, its_town) in rows:
        at = cell(found["town"], row)
        assert at is not None
        assert labels[at] == (its_region, its_town)
        assert found["region"].labels[cell(found["region"], row)] == its_region


def test_without_unknown_a_region_with_a_column_is_read_from_it() -> None:
    found = read_all({"region": {**REGION, "column": "where"}, "town": TOWN}, None)
    assert isinstance(found["region"], Keys)
    assert places_in(found["region"], found["town"]) == (0, 1, 1)


def test_three_levels_with_unknown_on_each() -> None:
    land = {"values": ["L"], "column": "land", "other": "?"}
    region = {"values": {"L": ["R"]}, "within": "land", "column": "region", "unknown": "no region", "other": "?"}
    town = {"values": {"R": ["t"]}, "within": "region", "unknown": "no town", "other": "?"}
    found = read_all({"land": land, "region": region, "town": town}, None)
    told = list(zip(*found["town"].columns().values(), strict=True))
    assert told == [("L", "R", "t"), ("L", "R", "no town"), ("L", "no region", "no town"), ("?", "?", "?")]
    for row, at in (
        ({"town": "t", "land": "other"}, 0),
        ({"region": "R"}, 1),
        ({"region": "x", "land": "L"}, 2),
        ({"land": "M"}, 3),
    ):
        assert cell(found["town"], row) == at
        assert found["land"].labels[cell(found["land"], row)] == told[at][0]
        assert found["region"].labels[cell(found["region"], row)] == told[at][1]


def test_coarser_lists_by_first_letters() -> None:
    data = {
        "minor": {"prefix": 2, "of": "isco"},
        "isco": {"values": ["2411", "1110", "2412", "2511", "1120"], "column": "code", "other": "none"},
        "major": {"prefix": 1, "of": "isco", "column": "code", "other": "without"},
    }
    found = read_all(data, None)
    assert found["isco"].columns() == {
        "major": ["2", "2", "2", "1", "1", "without"],
        "minor": ["24", "24", "25", "11", "11", "none"],
        "isco": ["2411", "2412", "2511", "1110", "1120", "none"],
    }
    assert found["minor"].columns() == {"major": ["2", "2", "1", "without"], "minor": ["24", "25", "11", "none"]}
    assert [cell(found["major"], {"code": x}) for x in ("1120", "2511", "1199", "1", None)] == [1, 0, 2, 2, 2]
    assert places_in(found["major"], found["minor"]) == (0, 0, 1, 2)
    assert {family(one) for one in found.values()} == {"code"}


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"town": {**TOWN, "within": "land"}}, "must name another list of keys, not 'land'"),
    (
        {"town": {**TOWN, "within": "age"}, "age": {"from": 0, "to": 9, "step": 1}},
        "list of text or integers, which 'age'",
    ),
    ({"region": [True, False]}, "list of text or integers"),
    ({"town": {**TOWN, "within": "town"}}, "within itself: town within town"),
    ({"region": {"values": [["R1", "a"]], "within": "town"}}, "within itself"),
    ({"town": {**TOWN, "values": [["a", "R1"], ["a", "R2"]]}}, "has the key 'a' twice"),
    ({"town": {**TOWN, "values": [["a", "R1"], ["b", "R3"]]}}, "'b' is within 'R3', which is no key of 'region'"),
    ({"town": {**TOWN, "values": [["a", "R1"]]}}, "'R2' of 'region' has no key here, so that its figures would be 0"),
    ({"town": {**TOWN, "values": ["a", "b"]}}, "entry 1 must be a key and the key of 'region'"),
    ({"town": {**TOWN, "values": {"R1": "a", "R2": ["b"]}}}, "must have keys of one kind"),
    ({"town": {**TOWN, "values": []}}, "at least one key"),
    ({"town": {**TOWN, "values": [[True, "R1"], [False, "R2"]]}}, "keys of text or integers"),
    ({"town": {**TOWN, "other": "x"}}, "both have other, or neither"),
    ({"region": {**REGION, "other": "x"}}, "both have other, or neither"),
    ({"town": {**TOWN, "unknown": "x"}}, "say which column has it"),
    ({"region": {**REGION, "column": "r"}, "town": {**TOWN, "unknown": "a"}}, "has the key 'a' twice"),
    ({"town": {**TOWN, "flat": True}}, "no such field"),
    ({"town": {"within": "region"}}, "values, or a file"),
    ({"area": {**TOWN}}, "'town' and 'area' are within it: say which column"),
    ({"two": {"prefix": 1, "of": "towns"}}, "of must name the list"),
    ({"two": {"prefix": 1, "of": ["town"]}}, "must be text in quotes"),
    ({"two": {"prefix": 1}}, "must be text in quotes"),
    ({"town": {**TOWN, "within": ["region"]}}, "must be text in quotes"),
    ({"town": {**TOWN, "values": [["a", ["R1"]], ["b", "R2"]]}}, "which is no key of 'region'"),
    ({"town": {**TOWN, "values": [[["a"], "R1"], ["b", "R2"]]}}, "keys of one kind"),
    ({"two": {"prefix": 1, "of": "town"}}, "within does not go with lists of its first letters"),
    ({"two": {"prefix": 0, "of": "region"}}, "integer from 1"),
    ({"two": {"prefix": 2, "of": "region"}}, "less than the letters of every key"),
    ({"two": {"prefix": 1, "of": "region", "values": ["R"]}}, "no such field"),
    ({"two": {"prefix": 1, "of": "region", "column": "else"}}, "column must be that of 'region'"),
    ({"two": {"prefix": 1, "of": "region", "other": "x"}}, "has other, and 'region' does not"),
    ({"two": {"prefix": 1, "of": "n"}, "n": [10, 20]}, "must be a list of text"),
    ({"two": {"prefix": 1, "of": "c"}, "one": {"prefix": 1, "of": "c"}, "c": ["abc"]}, "as many letters as"),
    (
        {"two": {"prefix": 1, "of": "c"}, "x": {"values": [["k", "a"]], "within": "two"}, "c": ["abc"]},
        "text or integers, which 'two'",
    ),
]


@pytest.mark.parametrize(("data", "said"), WRONG, ids=[said for _, said in WRONG])
def test_lists_that_do_not_fit_are_refused(data: dict[str, Any], said: str) -> None:
    with pytest.raises(DeclarationError, match=said):
        read_all({"region": REGION, "town": TOWN} | data, None)


def test_at_most_eight_lists_within_each_other() -> None:
    chain: dict[str, Any] = {"k0": ["0"]}
    for n in range(1, 9):
        chain[f"k{n}"] = {"values": [[str(n), str(n - 1)]], "within": f"k{n - 1}"}
    assert len(read_all({name: one for name, one in chain.items() if name != "k8"}, None)) == 8
    # from the coarsest on, from the finest on, and however many there are
    with pytest.raises(DeclarationError, match="within more than 7 lists"):
        read_all(chain, None)
    for n in range(9, 2000):
        chain[f"k{n}"] = {"values": [[str(n), str(n - 1)]], "within": f"k{n - 1}"}
    with pytest.raises(DeclarationError, match="k1999: is within more than 7 lists"):
        read_all(dict(reversed(chain.items())), None)


@pytest.mark.parametrize("parent", ["--1", "9" * 5000, "\u0661", "1_0", " 1"])
def test_a_parent_that_is_no_integer_is_no_key_of_a_list_of_integers(parent: str, tmp_path: Path) -> None:
    content = f"a,1\nb,{parent}\n".encode()
    (tmp_path / "towns.csv").write_bytes(content)
    told = {"file": "towns.csv", "sha256": hashlib.sha256(content).hexdigest(), "within": "region"}
    with pytest.raises(DeclarationError, match=r"'b' is within .*, which is no key of 'region'") as caught:
        read_all({"region": {"values": [1, 2]}, "town": told}, tmp_path)
    assert len(str(caught.value)) < 150


def test_whether_every_row_has_a_key() -> None:
    plain = read_all({"region": REGION, "town": TOWN}, None)
    for name in ("region", "town"):
        assert not always_has_a_key(plain[name], [])
        assert always_has_a_key(plain[name], read_where([["town", "in", ["a", "b"]]]))
        assert not always_has_a_key(plain[name], read_where([["region", "==", "R1"]]))  # which is not read
    rest = read_all({"region": {**REGION, "column": "where"}, "town": {**TOWN, "unknown": "?"}}, None)
    assert always_has_a_key(rest["town"], read_where([["where", "==", "R1"]]))
    assert not always_has_a_key(rest["town"], [])
    other = read_all({"region": {**REGION, "other": "x"}, "town": {**TOWN, "other": "x"}}, None)
    assert always_has_a_key(other["town"], [])
    assert always_has_a_key(other["region"], [])


def test_finer_bins_with_other_are_within_coarser_ones_with_other() -> None:
    def bins(step: int, **more: Any) -> Any:
        return read_all({"age": {"from": 0, "to": 12, "step": step, **more}}, None)["age"]

    assert isinstance(bins(3), Bins)
    assert places_in(bins(6, other="?"), bins(3, other="??")) == (0, 0, 1, 1, 2)
    assert places_in(bins(6), bins(3)) == (0, 0, 1, 1)
    assert places_in(bins(6, other="?"), bins(3)) is None
    assert places_in(bins(6, clip=True), bins(3)) is None
    assert places_in(bins(6), bins(4)) is None
    assert always_has_a_key(bins(3, other="?"), [])
