"""The files of a release: the same figures in CSV and Parquet, a name for each table, and a folder that is whole."""

from __future__ import annotations

import zipfile
from datetime import date
from functools import cache
from io import BytesIO
from math import pi
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from zcdp.errors import BadValue
from zcdp.release.archive import Release, check_folder, packed
from zcdp.release.table_description import Column
from zcdp.release.table_noise import Table

FIRST = Table(
    "By region",
    "noise",
    {
        "region": ["R1", "", 'say "so", then', "NULL"],
        "ok": [True, False, False, True],
        "value": [2**31 + 7, -(2**40), 0, 12],
        "sd": [pi, 1 / 3, 1e-300, 123456.7890123],
    },
)
SECOND = Table("by-region!", "other noise", {"value": [1.5, 2]})
THIRD = Table("???", "none", {"value": [3]})
FACTS = {"title": "\u00e9", "total": {"rho": 0.5}}


def told(*tables: Table) -> list[dict[str, Column]]:
    return [{name: Column(f"about {name}") for name in table.columns} for table in tables]


LISTS = {"codes/regions.txt": "R1\r\nR2\r\n", "regions.txt": "\u00e9\n", "../Towns & more.csv": "a,b\n"}


@cache
def release() -> Release:
    return Release.from_bytes(
        packed([FIRST, SECOND, THIRD], "<p>\u00e9</p>", FACTS, columns=told(FIRST, SECOND, THIRD), lists=LISTS)
    )


def test_tables_come_back_as_they_were_by_their_names() -> None:
    made = release()
    assert list(made.tables) == ["By region", "by-region!", "???"]
    assert list(made.tables.values()) == [FIRST, SECOND, THIRD]
    assert made.report == "<p>\u00e9</p>"
    assert {name: value for name, value in made.index.items() if name not in ("lists", "tables")} == FACTS
    assert [one["about"] for one in made.index["tables"]] == ["noise", "other noise", "none"]


def test_the_public_lists_of_the_plan_are_kept_byte_by_byte() -> None:
    made = release()
    kept = {name: made.files[copy].decode() for name, copy in made.index["lists"].items()}
    assert kept == LISTS
    assert set(made.index["lists"].values()) == {"list_regions.txt", "list_2_regions.txt", "list_Towns-more.csv"}


def test_no_two_tables_share_a_file() -> None:
    made = release()
    files = [one[kind] for one in made.index["tables"] for kind in ("csv", "parquet")]
    assert len(set(files)) == 6
    beside = [f"{one['csv']}-metadata.json" for one in made.index["tables"]]
    assert set(made.files) == {*files, *beside, *made.index["lists"].values(), "release.json", "report.html"}
    assert all(name == name.lower() and name.isascii() for name in files)


def test_parquet_holds_the_figures_of_the_csv() -> None:
    made = release()
    for table, one in zip((FIRST, SECOND, THIRD), made.index["tables"], strict=True):
        found = pl.read_parquet(BytesIO(made.files[one["parquet"]]))
        assert found.to_dict(as_series=False) == dict(table.columns)
    types = dict(pl.read_parquet(BytesIO(made.files[made.index["tables"][0]["parquet"]])).schema)
    assert types == {"region": pl.String, "ok": pl.Boolean, "value": pl.Int64, "sd": pl.Float64}


def test_parquet_is_tidy_and_says_what_it_is() -> None:
    """Days are days, integers of any size have a place, and the file tells its title, errors and vintage by itself."""
    table = Table("t", "some 'noise'", {"day_from": ["2026-01-01", "2026-04-01"], "value": [2**70, 1]})
    columns = [{"day_from": Column("a day", is_key=True, is_date=True), "value": Column("a figure")}]
    made = Release.from_bytes(packed([table], "", {"vintage": "2026-Q1"}, columns))
    found = pl.read_parquet(BytesIO(made.files["t.parquet"]))
    assert dict(found.schema) == {"day_from": pl.Date, "value": pl.Float64}
    assert found["day_from"].to_list() == [date(2026, 1, 1), date(2026, 4, 1)]
    assert found["value"].to_list() == [2.0**70, 1]
    assert made.tables["t"] == table
    metadata = pq.read_metadata(BytesIO(made.files["t.parquet"])).metadata
    assert {b"title": b"t", b"about": b"some 'noise'", b"vintage": b"2026-Q1"}.items() <= metadata.items()


def test_the_bytes_depend_on_the_files_alone() -> None:
    data = packed([THIRD], "a", FACTS, columns=told(THIRD))
    assert data == packed([THIRD], "a", FACTS, columns=told(THIRD))
    with zipfile.ZipFile(BytesIO(data)) as archive:
        assert {one.date_time for one in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert archive.namelist() == sorted(archive.namelist())


def test_a_release_that_was_sealed_before_is_a_repeated_one() -> None:
    assert not release().repeated
    assert Release({}, sealed_at="2026-01-01").repeated
    assert Release({"a": b"1"}, sealed_at="2026-01-01", sealed_by="anna") == Release({"a": b"1"})
    assert Release({"a": b"1"}) != Release({"a": b"2"})


def test_all_files_are_written_or_none(tmp_path: Path) -> None:
    made = release()
    for name in ("new", "empty"):
        if name == "empty":
            (tmp_path / name).mkdir()
        made.write(tmp_path / name)
        assert {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} == dict(made.files)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "new"]  # nothing is left beside them
    with pytest.raises(BadValue, match="new or empty"):
        made.write(tmp_path / "new")
    with pytest.raises(OSError, match="odd"):
        Release({"a": b"1", "odd/name": b"2"}).write(tmp_path / "half")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "new"]


def test_a_folder_that_cannot_be_made_is_refused_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadValue, match="new or empty"):
        check_folder(tmp_path / "file")
    with pytest.raises(BadValue, match="no directory"):
        check_folder(tmp_path / "none" / "out")
    with pytest.raises(BadValue, match="no directory"):
        check_folder(tmp_path / "file" / "out")
    check_folder(tmp_path / "out")
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(BadValue, match="no directory"):
        check_folder(tmp_path / "out")


# Tables whose names differ in what a file name does not show have files of their own. (bug R19)


@pytest.mark.parametrize(
    "names", [("a b", "a-b"), ("A", "a"), ("a b", "a-b", "a-b-2"), ("!", "?", "table"), ("a" * 70, "a" * 71)]
)
def test_no_table_is_written_over_another(names: tuple[str, ...]) -> None:
    tables = [Table(name, "", {"value": [n]}) for n, name in enumerate(names)]
    made = Release.from_bytes(packed(tables, "", {}, columns=told(*tables))).tables
    assert {name: made[name].columns["value"] for name in names} == {name: [n] for n, name in enumerate(names)}


def test_a_figure_that_is_left_out_is_empty_and_a_null_and_an_empty_text_is_a_text() -> None:
    some = Table("m", "noise", {"key": ["", "b"], "value": [None, 1 / 3], "sd": [None, None]})
    known = {"key": Column("a key"), "value": Column("a", may_be_empty=True), "sd": Column("b", may_be_empty=True)}
    made = Release.from_bytes(packed([some], "", FACTS, columns=[known]))
    assert made.files["m.csv"].decode() == f"key,value,sd\n,,\nb,{1 / 3!r},\n"
    assert made.tables["m"] == some
    rows = pq.read_table(BytesIO(made.files["m.parquet"]))
    assert rows.to_pydict() == some.columns
    assert [str(kind) for kind in rows.schema.types] == ["string", "double", "double"]
